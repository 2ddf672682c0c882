/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_throws: exceptions out of loops, with destructors; containers; virtual calls; lambdas. */
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "work.h"

namespace {

int v[128];

struct guard {
	int *at;
	explicit guard(int *a) : at(a) { ++*at; }
	~guard() { for (int i = 0; i < 3; i++) at[i]--; }
};

struct shape {
	virtual ~shape() = default;
	virtual int area(int i) const = 0;
};
struct square : shape {
	int side[8] = { 1, 2, 3, 4 };
	int area(int i) const override { return side[i & 3] * side[i & 3]; }
};
struct round : shape {
	std::unique_ptr<int[]> r{ new int[8]() };
	int area(int i) const override { if (i == 5) throw std::out_of_range("five"); return r[i & 7]++; }
};

OPAQUE int thrower(int n)
{
	guard g(&v[n]);
	for (int i = 0; i < 10; i++) {
		v[i] += n;
		if (i == n)
			throw n;
	}
	return 1;
}

OPAQUE int catcher(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		try {
			guard g(&v[20 + i]);
			s += thrower(i);
		} catch (int x) {
			for (int k = 0; k < x; k++)
				s += v[k];
		}
	}
	return s;
}

OPAQUE int shapes(int n)
{
	std::vector<std::unique_ptr<shape>> all;
	int s = 0;
	for (int i = 0; i < n; i++) {
		if (i % 2)
			all.emplace_back(new round);
		else
			all.emplace_back(new square);
	}
	for (int i = 0; i < n; i++)
		try {
			for (auto &x : all)
				s += x->area(i);
		} catch (const std::exception &e) {
			s += e.what()[0];
		}
	return s;
}

} // namespace

int main()
{
	std::map<std::string, int> words;
	std::vector<int> w(100);
	std::printf("%d %d\n", catcher(14), shapes(8));
	for (int i = 0; i < 40; i++)
		words[std::to_string(i * 7 % 13)] += i;
	for (size_t i = 0; i < w.size(); i++)
		w[i] = static_cast<int>(i * 37 % 101);
	std::sort(w.begin(), w.end(), [](int a, int b) { return a > b; });
	int s = 0;
	for (auto &[k, n] : words)
		s += static_cast<int>(k.size()) * n;
	std::printf("%d %d\n", s, w[10]);
}
