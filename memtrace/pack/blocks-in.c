/* SPDX-License-Identifier: GPL-3.0-or-later */
/* code.blocks while it is read.  Nothing in the file is trusted. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "memtrace/pack/blocks.h"
#include "memtrace/pack/pieces.h"
#include "tracefmt/format.h"
#include "tracefmt/read/trace-internal.h"

enum {
	BLOCK_LEAST = 4, EDGE_LEAST = 4, LEFT_LEAST = 3, LOOP_LEAST = 2, /* bytes that each takes */
	MAX_COUNTERS = 1 << 26,
};

/* An index below @n, or NONE. */
static uint32_t take_index(struct tf_cursor *c, uint64_t n)
{
	uint64_t index = tf_cursor_varint(c);

	if (index > n)
		c->failed = true;
	return c->failed || !index ? MT_NO_BLOCK : (uint32_t)index - 1;
}

/* How many elements follow, of a kind that takes @least bytes. */
static uint32_t take_number(struct tf_cursor *c, size_t least)
{
	uint64_t n = tf_cursor_varint(c);

	if (n > c->left / least)
		c->failed = true;
	return c->failed ? 0 : (uint32_t)n;
}

static void take_facts(struct tf_cursor *c, uint64_t *facts)
{
	uint64_t which = tf_cursor_varint(c);

	if (which >> MT_BLOCK_FACTS)
		c->failed = true;
	for (unsigned int k = 0; k < MT_BLOCK_FACTS && !c->failed; k++)
		facts[k] = which >> k & 1 ? tf_cursor_varint(c) : 0;
}

static void take_blocks(struct tf_cursor *c, struct mt_block_function *f)
{
	uint64_t at = f->addr;

	for (uint32_t i = 0; i < f->nblocks && !c->failed; i++) {
		struct mt_block *b = &f->blocks[i];
		uint64_t size;

		b->addr = at + tf_unzigzag(tf_cursor_varint(c));
		size = tf_cursor_varint(c);
		if (size > UINT32_MAX)
			c->failed = true;
		b->size = (uint32_t)size;
		b->loop = take_index(c, f->nloops);
		take_facts(c, b->facts);
		at = b->addr + size;
	}
}

static void take_edges(struct tf_cursor *c, struct mt_block_function *f, bool trips)
{
	for (uint32_t i = 0; i < f->nedges && !c->failed; i++) {
		f->edges[i].from = take_index(c, f->nblocks);
		f->edges[i].to = take_index(c, f->nblocks);
		f->edges[i].counter = take_index(c, MAX_COUNTERS);
		f->edges[i].at = take_index(c, f->nblocks);
		if (f->edges[i].at != MT_NO_BLOCK)
			f->edges[i].before = f->blocks[f->edges[i].at].addr + tf_cursor_varint(c);
	}
	for (uint32_t i = 0; i < f->nloops && !c->failed; i++) {
		uint64_t head = tf_cursor_varint(c);

		/* inner ones come first */
		f->loops[i].head = (uint32_t)head;
		f->loops[i].parent = take_index(c, f->nloops);
		f->loops[i].trips = trips ? take_index(c, MAX_COUNTERS) : MT_NO_BLOCK;
		if (head >= f->nblocks || (f->loops[i].parent != MT_NO_BLOCK && f->loops[i].parent <= i))
			c->failed = true;
	}
}

static void free_function(struct mt_block_function *f)
{
	free(f->blocks);
	free(f->edges);
	free(f->loops);
}

static bool take_function(struct tf_cursor *c, struct mt_block_function *f, bool trips)
{
	uint64_t object = tf_cursor_varint(c);

	*f = (struct mt_block_function){ .object = (uint32_t)object };
	f->addr = tf_cursor_varint(c);
	f->unsure = tf_cursor_byte(c);
	f->nblocks = take_number(c, BLOCK_LEAST);
	f->nedges = take_number(c, EDGE_LEAST);
	f->nloops = take_number(c, LOOP_LEAST);
	f->blocks = calloc(f->nblocks + (size_t)1, sizeof(*f->blocks));
	f->edges = calloc(f->nedges + (size_t)1, sizeof(*f->edges));
	f->loops = calloc(f->nloops + (size_t)1, sizeof(*f->loops));
	if (!f->blocks || !f->edges || !f->loops || object >= TF_MAX_IDS)
		c->failed = true;
	if (!c->failed)
		take_blocks(c, f);
	if (!c->failed)
		take_edges(c, f, trips);
	if (c->failed)
		free_function(f);
	return !c->failed;
}

static bool take_functions(struct mt_blocks *b, struct tf_cursor *c, bool trips)
{
	while (c->left && !c->failed) {
		if (!array_room(b->functions, b->room_functions, b->nfunctions + 1) ||
		    !take_function(c, &b->functions[b->nfunctions], trips))
			return false;
		b->nfunctions++;
	}
	return !c->failed;
}

/* How many counters: up to the last one that is not 0. */
static uint64_t end_of_counts(struct tf_cursor c)
{
	uint64_t next = 0;

	while (c.left && !c.failed) {
		if (__builtin_add_overflow(next, tf_cursor_varint(&c), &next) || next >= MAX_COUNTERS)
			return UINT64_MAX;
		(void)tf_cursor_varint(&c);
		next++;
	}
	return c.failed ? UINT64_MAX : next;
}

static void take_left(struct tf_cursor *c, struct mt_block_thread *t)
{
	for (uint32_t i = 0; i < t->nleft; i++) {
		t->left[i].object = (uint32_t)tf_cursor_varint(c);
		t->left[i].addr = tf_cursor_varint(c);
		t->left[i].net = (int64_t)tf_unzigzag(tf_cursor_varint(c));
	}
}

static bool take_thread(struct mt_blocks *b, struct tf_cursor *c)
{
	struct mt_block_thread t = { 0 };
	uint64_t n, next = 0;

	t.pid = (int)tf_cursor_varint(c);
	t.tid = (int)tf_cursor_varint(c);
	t.killed = tf_cursor_byte(c);
	t.nleft = take_number(c, LEFT_LEAST);
	t.left = calloc(t.nleft + (size_t)1, sizeof(*t.left));
	if (t.left)
		take_left(c, &t);
	n = end_of_counts(*c);
	if (!t.left || c->failed || n > MAX_COUNTERS || !array_room(b->threads, b->room_threads, b->nthreads + 1)) {
		free(t.left);
		return false;
	}
	t.n = (uint32_t)n;
	t.counts = calloc(n + 1, sizeof(*t.counts));
	if (!t.counts) {
		free(t.left);
		return false;
	}
	while (c->left) {
		next += tf_cursor_varint(c);
		t.counts[next++] = tf_cursor_varint(c);
	}
	b->threads[b->nthreads++] = t;
	return true;
}

bool mt_blocks_add(struct mt_blocks *b, const uint8_t *body, size_t size)
{
	struct tf_cursor c = { .at = body, .left = size };

	switch (tf_cursor_byte(&c)) {
	case TF_BLOCKS_THREAD:
		return !c.failed && take_thread(b, &c);
	case TF_BLOCKS_FUNCTIONS:
		return !c.failed && take_functions(b, &c, false);
	case TF_BLOCKS_TRIPS:
		return !c.failed && take_functions(b, &c, true);
	default:
		return false;
	}
}

static void read_pieces(struct mt_blocks *b, struct mt_stream *s)
{
	enum sonde_trace_status status;

	while ((status = mt_piece_next(s)) != SONDE_TRACE_END)
		b->damage += status != SONDE_TRACE_OK || !mt_blocks_add(b, s->raw.data, s->raw.size);
}

struct mt_blocks *mt_blocks_of(const struct sonde_trace *trace, const struct sonde_trace_rank *rank, bool *none)
{
	const struct tf_part *part = trace->parts.v[rank->index];
	struct mt_blocks *b = calloc(1, sizeof(*b));
	enum sonde_trace_status status;
	struct mt_stream s;
	uint64_t id = 0;
	char *path;

	*none = false;
	if (!b || asprintf(&path, "%s/code.blocks", rank->dir) < 0) {
		free(b);
		return NULL;
	}
	status = mt_pieces_open(&s, path, TF_MAGIC_BLOCKS, &id, NULL);
	*none = status == SONDE_TRACE_E_SYSTEM && errno == ENOENT;
	if (status != SONDE_TRACE_OK || id != part->id)
		b->damage++;
	else
		read_pieces(b, &s);
	mt_pieces_close(&s);
	free(path);
	if (!*none)
		return b;
	free(b);
	return NULL;
}

void mt_blocks_free(struct mt_blocks *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->nfunctions; i++)
		free_function(&b->functions[i]);
	for (size_t i = 0; i < b->nthreads; i++) {
		free(b->threads[i].counts);
		free(b->threads[i].left);
	}
	free(b->functions);
	free(b->threads);
	free(b);
}
