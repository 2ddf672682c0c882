/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: throws N: exceptions through outer() and middle(), which have nothing to say to them or
 * destroy objects on the way, caught in main() and in catches(); rethrown, and of several types.
 */
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "work.h"

static int destroyed;

struct guard {
	~guard() { destroyed++; }
};

extern "C" {
OPAQUE int inner(int i)
{
	HIDE(i);
	if (i % 3 == 1)
		throw std::runtime_error("inner " + std::to_string(i));
	if (i % 3 == 2)
		throw i;
	return i;
}

OPAQUE int middle(int i)
{
	guard g;
	int r = inner(i) + 1;

	HIDE(r);
	return r;
}

OPAQUE int outer(int i)
{
	int r = middle(i) + 1;

	HIDE(r);
	return r;
}

OPAQUE int catches(int i)
{
	try {
		return outer(i);
	} catch (int n) {
		work(n);
		if (n % 2)
			throw;
		return -n;
	}
}
}

namespace shapes
{
template <typename T> struct box {
	OPAQUE T add(T a, const std::string &s)
	{
		HIDE(a);
		return a + (T)s.size();
	}
};
}

int main(int argc, char **argv)
{
	int n = atoi(argv[1]), returned = 0, errors = 0, numbers = 0, length = 0;
	shapes::box<long> box;

	for (int i = 0; i < n; i++) {
		try {
			returned += catches(i) >= 0;
		} catch (const std::exception &e) {
			errors++;
			length += (int)std::string(e.what()).size();
		} catch (...) {
			numbers++;
		}
	}
	printf("%d returned, %d errors (%d), %d numbers, %d destroyed, box %ld\n", returned, errors,
	       length, numbers, destroyed, box.add(n, "four"));
	return 0;
}
