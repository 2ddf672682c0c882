/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_longjmps: longjmp out of nested calls, into functions further up, in loops. */
#include <setjmp.h>
#include <stdio.h>

#include "work.h"

static jmp_buf outer_env, inner_env;

OPAQUE int leaf(int i)
{
	if (i % 3 == 1)
		longjmp(inner_env, i + 1);
	if (i % 3 == 2)
		longjmp(outer_env, i + 1);
	return work(i);
}

OPAQUE int down(int depth, int i)
{
	int r;

	if (depth == 0)
		return leaf(i);
	r = down(depth - 1, i);
	HIDE(r);
	return r + 1;
}

OPAQUE int inner(int i)
{
	int r = setjmp(inner_env);

	if (r)
		return work(r);
	return down(i % 5, i) + 1;
}

OPAQUE int outer(int i)
{
	volatile int tries = 0;
	int r = setjmp(outer_env);

	if (r && tries++ > 2)
		return r;
	return inner(i + tries) + work(tries);
}

int main(void)
{
	long sum = leaf(0);

	for (int i = 0; i < 12; i++)
		sum = sum * 31 + outer(i);
	printf("%ld\n", sum % 1000003);
	return 0;
}
