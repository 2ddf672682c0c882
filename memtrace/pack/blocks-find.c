/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>

#include "base/search.h"
#include "memtrace/pack/blocks.h"

struct found {
	uint32_t object, function, block;
	uint64_t addr, size;
};

struct mt_blocks_index {
	size_t n;
	struct found v[]; /* by object and address */
};

static int compare(const struct found *a, const struct found *b)
{
	if (a->object != b->object)
		return a->object < b->object ? -1 : 1;
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

/* Of blocks at the same place, that of the first function is the last, which is found. */
static int by_place(const void *left, const void *right)
{
	const struct found *a = left, *b = right;
	int order = compare(a, b);

	return order ? order : a->function < b->function ? 1 : a->function > b->function ? -1 : 0;
}

struct mt_blocks_index *mt_blocks_index(const struct mt_blocks *b)
{
	struct mt_blocks_index *index;
	size_t n = 0;

	for (size_t i = 0; i < b->nfunctions; i++)
		n += b->functions[i].nblocks;
	index = calloc(1, sizeof(*index) + n * sizeof(index->v[0]));
	if (!index)
		return NULL;
	for (uint32_t i = 0; i < b->nfunctions; i++) {
		const struct mt_block_function *f = &b->functions[i];

		for (uint32_t k = 0; k < f->nblocks; k++)
			index->v[index->n++] = (struct found){ f->object, i, k, f->blocks[k].addr, f->blocks[k].size };
	}
	if (n)
		qsort(index->v, n, sizeof(index->v[0]), by_place);
	return index;
}

bool mt_blocks_find(const struct mt_blocks_index *index, uint32_t object, uint64_t addr, uint32_t *function, uint32_t *block)
{
	const struct found like = { .object = object, .addr = addr };
	const size_t after = search_first(i, index->n, compare(&index->v[i], &like) > 0);
	const struct found *last = after ? &index->v[after - 1] : NULL;

	if (!last || last->object != object || addr - last->addr >= last->size)
		return false;
	*function = last->function;
	*block = last->block;
	return true;
}

void mt_blocks_index_free(struct mt_blocks_index *index)
{
	free(index);
}
