// SPDX-License-Identifier: GPL-3.0-or-later
// As confined.c: confine() is left by exceptions.
#include <cstdio>

#include "opaque.h"

static volatile int count;

extern "C" OPAQUE void inside()
{
	count = count + 1;
}

extern "C" OPAQUE void outside()
{
	HIDE(count);
}

extern "C" OPAQUE void deeper(int depth)
{
	inside();
	if (depth == 0)
		throw depth;
	deeper(depth - 1);
	HIDE(depth);
}

extern "C" OPAQUE void confine(int depth)
{
	inside();
	try {
		deeper(depth);
	} catch (const char *) {
		outside();
	}
	HIDE(depth);
}

int main()
{
	for (int i = 0; i < 5; i++) {
		try {
			confine(i);
		} catch (int) {
			outside();
		}
		outside();
	}
	std::printf("%d\n", count);
	return 7;
}
