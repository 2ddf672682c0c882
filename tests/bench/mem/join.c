// SPDX-License-Identifier: GPL-3.0-or-later
/* Hash join: a table with chains is built of one relation and probed with the other. */
#include "kernel.h"

struct row {
	uint64_t key, value;
};

struct entry {
	struct row row;
	struct entry *next;
};

static inline uint64_t hash(uint64_t key, uint64_t mask)
{
	return (key * 0x9e3779b97f4a7c15) >> 20 & mask;
}

static struct entry **build(const struct row *rows, long n, uint64_t mask)
{
	struct entry **head = array(mask + 1, sizeof(struct entry *)), *entries = array((size_t)n, sizeof(*entries));

	for (long i = 0; i < n; i++) {
		uint64_t h = hash(rows[i].key, mask);

		entries[i].row = rows[i];
		entries[i].next = head[h];
		head[h] = &entries[i];
	}
	return head;
}

static uint64_t probe(struct entry *const *head, uint64_t mask, const struct row *rows, long n)
{
	uint64_t sum = 0;

#pragma omp parallel for reduction(+ : sum)
	for (long i = 0; i < n; i++)
		for (const struct entry *e = head[hash(rows[i].key, mask)]; e; e = e->next)
			if (e->row.key == rows[i].key)
				sum += e->row.value ^ rows[i].value;
	return sum;
}

static struct row *relation(long n, uint64_t keys, uint64_t seed)
{
	struct row *rows = array((size_t)n, sizeof(*rows));

#pragma omp parallel for
	for (long i = 0; i < n; i++)
		rows[i] = (struct row){ random_at(seed + (uint64_t)i) % keys, (uint64_t)i };
	return rows;
}

int main(int argc, char **argv)
{
	long n = argument(argc, argv, 1, 200000), times = argument(argc, argv, 2, 24);
	struct row *r = relation(n, (uint64_t)n, 1), *s = relation(4 * n, (uint64_t)n, UINT64_C(1) << 40);
	uint64_t mask = 1, sum = 0;
	struct entry **head;

	while (mask < (uint64_t)n)
		mask = 2 * mask + 1;
	head = build(r, n, mask);
	for (long t = 0; t < times; t++)
		sum += probe(head, mask, s, 4 * n);
	checksum("join", (double)sum);
	return 0;
}
