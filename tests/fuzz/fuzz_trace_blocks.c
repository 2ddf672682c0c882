/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads arbitrary bytes as pieces of code.blocks, and looks at all that was read: every index has to be one that there is.
 *
 * Input: 2 bytes: length of the first piece's body; the rest is that of a second one.
 */
#include "memtrace/pack/blocks.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint64_t sink;

static bool is_block(const struct mt_block_function *f, uint32_t block)
{
	return block == MT_NO_BLOCK || block < f->nblocks;
}

static void look_at_function(const struct mt_block_function *f)
{
	for (uint32_t i = 0; i < f->nblocks; i++) {
		const struct mt_block *b = &f->blocks[i];

		REQUIRE(b->loop == MT_NO_BLOCK || b->loop < f->nloops);
		for (unsigned int k = 0; k < MT_BLOCK_FACTS; k++)
			sink += b->facts[k];
	}
	for (uint32_t i = 0; i < f->nedges; i++) {
		REQUIRE(is_block(f, f->edges[i].from) && is_block(f, f->edges[i].to) && is_block(f, f->edges[i].at));
		sink += f->edges[i].counter + f->edges[i].before;
	}
	for (uint32_t i = 0; i < f->nloops; i++) {
		REQUIRE(f->loops[i].head < f->nblocks);
		sink += f->loops[i].trips;
		/* whoever goes from parent to parent comes to an end */
		REQUIRE(f->loops[i].parent == MT_NO_BLOCK || (f->loops[i].parent > i && f->loops[i].parent < f->nloops));
	}
}

static void find(const struct mt_blocks *b, const struct mt_blocks_index *index, uint32_t object, uint64_t addr)
{
	uint32_t function, block;

	if (!mt_blocks_find(index, object, addr, &function, &block))
		return;
	REQUIRE(function < b->nfunctions && block < b->functions[function].nblocks);
	REQUIRE(b->functions[function].object == object);
	REQUIRE(addr - b->functions[function].blocks[block].addr < b->functions[function].blocks[block].size);
}

static void find_all(const struct mt_blocks *b)
{
	struct mt_blocks_index *index = mt_blocks_index(b);

	REQUIRE(index);
	for (size_t i = 0; i < b->nfunctions; i++)
		for (uint32_t k = 0; k < b->functions[i].nblocks; k++) {
			const struct mt_block *block = &b->functions[i].blocks[k];

			find(b, index, b->functions[i].object, block->addr - 1);
			find(b, index, b->functions[i].object, block->addr);
			find(b, index, b->functions[i].object, block->addr + block->size);
		}
	find(b, index, 0, 0);
	find(b, index, UINT32_MAX, UINT64_MAX);
	mt_blocks_index_free(index);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_blocks *b = calloc(1, sizeof(*b));
	size_t first = size < 2 ? 0 : (data[0] | data[1] << 8) % (size - 1);

	REQUIRE(b);
	if (size >= 2) {
		sink += mt_blocks_add(b, data + 2, first);
		sink += mt_blocks_add(b, data + 2 + first, size - 2 - first);
	}
	for (size_t i = 0; i < b->nfunctions; i++)
		look_at_function(&b->functions[i]);
	for (size_t i = 0; i < b->nthreads; i++)
		for (uint32_t k = 0; k < b->threads[i].n; k++)
			sink += b->threads[i].counts[k];
	for (size_t i = 0; i < b->nthreads; i++)
		for (uint32_t k = 0; k < b->threads[i].nleft; k++)
			sink += (uint64_t)b->threads[i].left[k].net + b->threads[i].left[k].addr;
	find_all(b);
	mt_blocks_free(b);
	return 0;
}
