/* SPDX-License-Identifier: GPL-3.0-or-later */
/* code.blocks while it is written. */
#include "memtrace/pack/blocks.h"
#include "memtrace/pack/out.h"
#include "tracefmt/format.h"

/* Several are a piece: zstd wants something to work with, and damage costs a piece. */
#define PIECE_BYTES (1u << 20)

static enum sonde_trace_status append(struct tf_writer *w, struct tf_buf *b)
{
	struct mt_out *o = mt_out(w);
	bool fits = b->size <= TF_MAX_RAW;

	if (b->failed)
		tf_writer_no_memory(w);
	else if (o && fits)
		(void)!mt_pieces_append(w, &o->blocks, "code.blocks", TF_MAGIC_BLOCKS, b->data, b->size);
	tf_buf_clear(b);
	return fits ? tf_writer_result(w) : SONDE_TRACE_E_INVALID;
}

/* Those that are not 0, each after how many were between it and the one before. */
enum sonde_trace_status mt_write_counts(struct tf_writer *w, const struct mt_block_counts *t)
{
	enum sonde_trace_status status;
	struct tf_buf b = { 0 };
	size_t next = 0;

	tf_buf_byte(&b, TF_BLOCKS_THREAD);
	tf_buf_varint(&b, (uint64_t)t->pid);
	tf_buf_varint(&b, (uint64_t)t->tid);
	tf_buf_byte(&b, t->killed);
	tf_buf_varint(&b, t->nleft);
	for (size_t i = 0; i < t->nleft; i++) {
		tf_buf_varint(&b, t->left[i].object);
		tf_buf_varint(&b, t->left[i].addr);
		tf_buf_varint(&b, tf_zigzag((uint64_t)t->left[i].net));
	}
	for (size_t i = 0; i < t->n; i++) {
		if (!t->counts[i])
			continue;
		tf_buf_varint(&b, i - next);
		tf_buf_varint(&b, t->counts[i]);
		next = i + 1;
	}
	status = append(w, &b);
	tf_buf_free(&b);
	return status;
}

/* Which facts are not 0, and these. */
static void put_facts(struct tf_buf *b, const uint64_t *facts)
{
	uint64_t which = 0;

	for (unsigned int k = 0; k < MT_BLOCK_FACTS; k++)
		which |= (uint64_t)(facts[k] != 0) << k;
	tf_buf_varint(b, which);
	for (unsigned int k = 0; k < MT_BLOCK_FACTS; k++)
		if (facts[k])
			tf_buf_varint(b, facts[k]);
}

/* NONE becomes 0. */
static void put_index(struct tf_buf *b, uint32_t index)
{
	tf_buf_varint(b, (uint32_t)(index + 1));
}

static bool has_trips(const struct mt_block_function *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		for (uint32_t l = 0; l < v[i].nloops; l++)
			if (v[i].loops[l].trips != MT_NO_BLOCK)
				return true;
	return false;
}

static void put_function(struct tf_buf *b, const struct mt_block_function *f, bool trips)
{
	uint64_t at = f->addr;

	tf_buf_varint(b, f->object);
	tf_buf_varint(b, f->addr);
	tf_buf_byte(b, f->unsure);
	tf_buf_varint(b, f->nblocks);
	tf_buf_varint(b, f->nedges);
	tf_buf_varint(b, f->nloops);
	for (uint32_t i = 0; i < f->nblocks; i++) {
		const struct mt_block *block = &f->blocks[i];

		tf_buf_varint(b, tf_zigzag(block->addr - at));
		tf_buf_varint(b, block->size);
		put_index(b, block->loop);
		put_facts(b, block->facts);
		at = block->addr + block->size;
	}
	for (uint32_t i = 0; i < f->nedges; i++) {
		put_index(b, f->edges[i].from);
		put_index(b, f->edges[i].to);
		put_index(b, f->edges[i].counter);
		put_index(b, f->edges[i].at);
		if (f->edges[i].at != MT_NO_BLOCK)
			tf_buf_varint(b, f->edges[i].before - f->blocks[f->edges[i].at].addr);
	}
	for (uint32_t i = 0; i < f->nloops; i++) {
		tf_buf_varint(b, f->loops[i].head);
		put_index(b, f->loops[i].parent);
		if (trips)
			put_index(b, f->loops[i].trips);
	}
}

enum sonde_trace_status mt_write_blocks(struct tf_writer *w, const struct mt_block_function *v, size_t n)
{
	enum sonde_trace_status status = SONDE_TRACE_OK;
	bool trips = has_trips(v, n);
	struct tf_buf b = { 0 };

	for (size_t i = 0; i < n && status == SONDE_TRACE_OK; i++) {
		if (!b.size)
			tf_buf_byte(&b, trips ? TF_BLOCKS_TRIPS : TF_BLOCKS_FUNCTIONS);
		put_function(&b, &v[i], trips);
		if (b.size >= PIECE_BYTES || b.failed)
			status = append(w, &b);
	}
	if (b.size && status == SONDE_TRACE_OK)
		status = append(w, &b);
	tf_buf_free(&b);
	return status;
}
