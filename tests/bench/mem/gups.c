// SPDX-License-Identifier: GPL-3.0-or-later
/* Random updates of a large table, each thread's in its own part. */
#include "kernel.h"

static void update(uint64_t *table, uint64_t mask, uint64_t x, long n)
{
	for (long i = 0; i < n; i++) {
		x = x << 1 ^ ((int64_t)x < 0 ? 7 : 0);
		table[x & mask] ^= x;
	}
}

int main(int argc, char **argv)
{
	long bits = argument(argc, argv, 1, 22), n = argument(argc, argv, 2, 60000000);
	uint64_t size = UINT64_C(1) << (bits < 40 ? bits : 40), *table = array(size, sizeof(*table)), sum = 0;

	/* Two parts, however many threads there are. */
#pragma omp parallel for schedule(static)
	for (int part = 0; part < 2; part++)
		update(table + (size_t)part * (size / 2), size / 2 - 1, random_at((uint64_t)part), n / 2);
	for (uint64_t i = 0; i < size; i++)
		sum += table[i] * (i | 1);
	checksum("gups", (double)(sum >> 12));
	return 0;
}
