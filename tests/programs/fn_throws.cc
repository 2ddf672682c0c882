// SPDX-License-Identifier: GPL-3.0-or-later
// usage: fn_throws [N]: exceptions through many frames, with destructors, rethrown, from destructors' calls,
// out of constructors, filtered by noexcept functions, nested.
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <stdexcept>
#include <string>

#include "work.h"

static int destroyed;

struct guard {
	int id;
	explicit guard(int id) : id(id) {}
	OPAQUE ~guard() { destroyed += work(id); }
};

struct member {
	guard a;
	OPAQUE explicit member(int i) : a(i)
	{
		if (i % 3 == 0)
			throw i;
	}
};

struct owner {
	guard first;
	member second;
	OPAQUE explicit owner(int i) : first(i), second(i) {}
};

OPAQUE int bottom(int i)
{
	if (i % 4 == 1)
		throw std::runtime_error("odd");
	if (i % 4 == 2)
		throw i;
	if (i % 4 == 3)
		throw std::string("text");
	return work(i);
}

OPAQUE int middle(int i)
{
	guard g(i);
	return bottom(i) + 1;
}

OPAQUE int rethrows(int i)
{
	try {
		return middle(i) + 1;
	} catch (int n) {
		if (n % 8 == 2)
			throw;
		return work(n);
	}
}

OPAQUE int passes(int i)
{
	return rethrows(i);
}

OPAQUE int catches(int i)
{
	try {
		return passes(i);
	} catch (const std::exception &e) {
		return e.what()[0];
	} catch (const std::string &s) {
		return (int)s.size();
	} catch (...) {
		return -1;
	}
}

OPAQUE int nested(int i)
{
	try {
		try {
			bottom(i);
		} catch (...) {
			std::throw_with_nested(std::logic_error("outer"));
		}
	} catch (const std::exception &e) {
		try {
			std::rethrow_if_nested(e);
		} catch (int n) {
			return n;
		} catch (...) {
			return -2;
		}
	}
	return 0;
}

OPAQUE int in_loop(int n)
{
	int caught = 0;

	for (int i = 0; i < n; i++) {
		try {
			owner o(i);
			caught += o.second.a.id;
		} catch (int v) {
			caught += 100 + v;
			continue;
		}
	}
	return caught;
}

OPAQUE int kept(int i) noexcept
{
	std::exception_ptr p;

	try {
		bottom(i);
	} catch (...) {
		p = std::current_exception();
	}
	try {
		if (p)
			std::rethrow_exception(p);
	} catch (...) {
		return 1;
	}
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? std::atoi(argv[1]) : 24;
	long sum = 0;

	for (int i = 0; i < n; i++)
		sum = sum * 31 + catches(i);
	for (int i = 0; i < n / 3; i++)
		sum = sum * 31 + nested(i) + kept(i);
	sum += in_loop(n / 3) + rethrows(0);
	std::printf("%ld %d\n", sum % 1000003, destroyed);
	return 0;
}
