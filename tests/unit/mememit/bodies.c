// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/mememit/bodies.h"

#define BODY(name)										\
	extern const uint8_t start_##name[] __asm__("__start_in_" #name);			\
	extern const uint8_t stop_##name[] __asm__("__stop_in_" #name);			\
	void body_##name(struct body_data *d, uint64_t n);					\
	__attribute__((noinline, section("in_" #name)))					\
	void body_##name(struct body_data *d, uint64_t n)

BODY(product)
{
	for (int i = 0; i < BODY_N; i++)
		for (int j = 0; j < BODY_N; j++) {
			double sum = 0;

			for (int k = 0; k < BODY_N; k++)
				sum += d->a[i][k] * d->b[k][j];
			d->c[i][j] = sum * (double)n;
		}
}

BODY(stencil)
{
	for (uint64_t step = 0; step < 2 + n % 2; step++)
		for (int i = 1; i + 1 < BODY_N; i++)
			for (int j = 1; j + 1 < BODY_N; j++)
				d->c[i][j] = 0.25 * (d->a[i - 1][j] + d->a[i + 1][j] + d->a[i][j - 1] +
						     d->a[i][j + 1]);
}

BODY(saxpy)
{
	for (uint64_t i = 0; i < 100 + n; i++)
		d->y[i] += 1.5f * d->x[i];
}

BODY(sparse)
{
	for (uint32_t i = 0; i < BODY_N; i++) {
		double sum = 0;

		for (uint32_t k = d->rows[i]; k < d->rows[i + 1]; k++)
			sum += d->values[k] * d->in[d->columns[k] % BODY_N];
		d->out[i] = sum + (double)n;
	}
}

BODY(list)
{
	uint64_t sum = 0;

	for (struct body_node *p = &d->nodes[n % BODY_NODES]; p; p = p->next)
		sum = sum * 31 + p->key;
	d->result[0] = sum;
}

BODY(tree)
{
	struct body_node *p = &d->nodes[n % 4];

	while (p) {
		p->key++;
		p = p->key & 1 ? p->left : p->next;
	}
}

/* Of keys[0 .. n). */
BODY(quicksort)
{
	uint32_t *v = d->keys, pivot;
	uint64_t lo = n >> 32, hi = n & 0xffffffff, i = lo, j = hi;

	if (lo + 1 >= hi)
		return;
	pivot = v[(lo + hi - 1) / 2];
	for (j--;; i++, j--) {
		while (v[i] < pivot)
			i++;
		while (v[j] > pivot)
			j--;
		if (i >= j)
			break;
		uint32_t key = v[i];

		v[i] = v[j];
		v[j] = key;
	}
	body_quicksort(d, lo << 32 | (j + 1));
	body_quicksort(d, (j + 1) << 32 | hi);
}

BODY(heap)
{
	d->nkeys = 0;
	for (uint32_t k = 0; k < 40 + n % 8; k++) {
		uint32_t i = d->nkeys++, key = (k * 2654435761u) >> 8;

		for (; i && d->keys[(i - 1) / 2] > key; i = (i - 1) / 2)
			d->keys[i] = d->keys[(i - 1) / 2];
		d->keys[i] = key;
	}
}

BODY(histogram)
{
	for (int i = 0; i < BODY_TEXT; i++)
		d->counts[(uint8_t)d->text[i]] += (uint32_t)n;
}

BODY(checksum)
{
	uint32_t sum = ~(uint32_t)n;

	for (const char *p = d->text; p < d->text + BODY_TEXT; p++)
		sum = d->table[(sum ^ (uint8_t)*p) & 0xff] ^ sum >> 8;
	d->result[1] = ~sum;
}

BODY(sieve)
{
	for (int i = 0; i < 400; i++)
		d->sieve[i] = 1;
	for (uint64_t i = 2; i * i < 300 + n; i++)
		for (uint64_t k = i * i; d->sieve[i] && k < 300 + n; k += i)
			d->sieve[k] = 0;
}

BODY(compare)
{
	const char *p = d->text, *q = d->other;

	while (*p && *p == *q)
		p++, q++;
	d->result[2] = (uint64_t)(p - d->text) + n;
}

BODY(edit)
{
	int length = 12 + (int)(n % 8);

	for (int j = 0; j <= length; j++)
		d->distance[j] = (uint16_t)j;
	for (int i = 1; i <= length; i++) {
		uint16_t diagonal = d->distance[0];

		d->distance[0] = (uint16_t)i;
		for (int j = 1; j <= length; j++) {
			uint16_t old = d->distance[j], best = d->distance[j - 1];

			best = (uint16_t)((old < best ? old : best) + 1);
			if (diagonal + (d->text[i] != d->other[j]) < best)
				best = (uint16_t)(diagonal + (d->text[i] != d->other[j]));
			d->distance[j] = best;
			diagonal = old;
		}
	}
}

BODY(search)
{
	for (uint64_t k = 0; k < 20; k++) {
		uint32_t lo = 0, hi = BODY_HEAP, key = (uint32_t)(k * n * 7919);

		while (lo < hi) {
			uint32_t middle = (lo + hi) / 2;

			if (d->keys[middle] < key)
				lo = middle + 1;
			else
				hi = middle;
		}
		d->result[3] += lo;
	}
}

BODY(copy)
{
	for (uint64_t i = 0; i < n % 4; i++) {
		d->nodes[i] = d->nodes[i + 8];
		__builtin_memcpy(d->other + i, d->text, 100);
	}
	d->result[4] = n;
}

/* Vectors by pairs, and a remainder. */
BODY(reduce)
{
	float sum = 0, most = 0;

	for (uint64_t i = 0; i < 100 + n; i++) {
		sum += d->x[i] * d->x[i];
		most = d->y[i] > most ? d->y[i] : most;
	}
	d->y[0] = sum;
	d->y[1] = most;
}

#define ENTRY(name) { #name, start_##name, stop_##name, (void *)body_##name }

const struct body bodies[] = {
	ENTRY(product), ENTRY(stencil), ENTRY(saxpy), ENTRY(sparse), ENTRY(list), ENTRY(tree),
	ENTRY(quicksort), ENTRY(heap), ENTRY(histogram), ENTRY(checksum), ENTRY(sieve), ENTRY(compare),
	ENTRY(edit), ENTRY(search), ENTRY(copy), ENTRY(reduce),
};
const size_t nbodies = sizeof(bodies) / sizeof(bodies[0]);
