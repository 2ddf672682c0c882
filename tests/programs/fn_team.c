/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: fn_team: loops of OpenMP, whose parts are dealt out to the threads in a fixed way. */
#include <stdio.h>

#include "work.h"

OPAQUE int part(int i)
{
	return work(i) % 101;
}

int main(void)
{
	long sum = 0, again = 0;

#pragma omp parallel for num_threads(3) schedule(static, 2) reduction(+ : sum)
	for (int i = 0; i < 20; i++)
		sum += part(i);
#pragma omp parallel num_threads(3) reduction(+ : again)
	again += part(7);
	printf("%ld %ld\n", sum, again);
	return 0;
}
