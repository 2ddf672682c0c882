// SPDX-License-Identifier: GPL-3.0-or-later
// usage: fn_virtual: virtual calls with several bases, thunks, templates, lambdas, containers, static objects.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "work.h"

struct shape {
	virtual ~shape() { work(1); }
	virtual int area() const = 0;
	virtual int grow(int by) { return by; }
};

struct named {
	virtual ~named() { work(2); }
	virtual std::string name() const { return "nobody"; }
	int weight = 3;
};

struct box : shape, named {
	int a, b;
	box(int a, int b) : a(a), b(b) {}
	~box() override { work(3); }
	int area() const override { return a * b; }
	std::string name() const override { return "box" + std::to_string(a); }
};

struct cube final : virtual box {
	explicit cube(int a) : box(a, a) {}
	int area() const override { return 6 * box::area(); }
	int grow(int by) override { return a += work(by); }
	std::string name() const override { return "cube"; }
};

static struct at_start {
	int v;
	OPAQUE at_start() : v(work(4)) {}
	OPAQUE ~at_start() { work(v); }
} global;

template <typename T> OPAQUE T fold(const std::vector<T> &v, const std::function<T(T, T)> &f)
{
	T acc{};

	for (const T &x : v)
		acc = f(acc, x);
	return acc;
}

template <int N> OPAQUE int power(int x)
{
	return x * power<N - 1>(x);
}

template <> OPAQUE int power<0>(int x)
{
	return work(x) % 7 + 1;
}

OPAQUE int (shape::*chosen(bool grows))(int)
{
	return grows ? &shape::grow : nullptr;
}

int main()
{
	std::vector<std::unique_ptr<shape>> shapes;
	std::map<std::string, int> counts;
	std::vector<int> v;
	long sum = global.v;

	for (int i = 1; i < 5; i++) {
		if (i % 2)
			shapes.emplace_back(new box(i, i + 1));
		else
			shapes.emplace_back(new cube(i));
	}
	for (auto &s : shapes) {
		sum = sum * 31 + s->area() + (s.get()->*chosen(true))(2);
		counts[dynamic_cast<named &>(*s).name()]++;
		v.push_back(s->area() % 10);
	}
	std::sort(v.begin(), v.end(), [](int a, int b) { return work(a) > work(b); });
	sum = sum * 31 + fold<int>(v, [&](int a, int b) { return a * 3 + b; });
	sum = sum * 31 + (long)fold<std::string>({"a", "bc"}, std::plus<std::string>()).size();
	sum += power<5>(2);
	for (auto &c : counts)
		sum = sum * 31 + (int)c.first[0] + c.second;
	std::printf("%ld\n", sum);
	return 0;
}
