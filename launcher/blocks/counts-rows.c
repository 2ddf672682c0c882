/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What was computed of functions, as rows: of functions, loops, lines, blocks, edges, threads. */
#include "launcher/blocks/counts-private.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

_Static_assert(FACT_VARIES + 1 == BLOCK_FACT_NUMBERS, "facts");

uint64_t counts_flops(const struct counts_row *row)
{
	uint64_t sum = 0;

	for (unsigned int k = 0; k <= TRAMP_WIDTHS; k++)
		sum += row->facts[FACT_FLOPS + k];
	return sum;
}

uint64_t counts_bytes(const struct counts_row *row)
{
	return row->facts[FACT_BYTES + MD_LOAD] + row->facts[FACT_BYTES + MD_STORE] + 2 * row->facts[FACT_BYTES + MD_MODIFY];
}

void counts_costs(const uint64_t *facts, uint64_t costs[static COUNTS_COSTS])
{
	const uint64_t *n = facts + FACT_ACCESSES;

	costs[COUNTS_INSNS] = facts[FACT_INSNS];
	costs[COUNTS_READS] = n[MD_LOAD] + n[MD_MODIFY];
	costs[COUNTS_WRITES] = n[MD_STORE] + n[MD_MODIFY];
}

static bool is_same(const struct counts_row *a, const struct counts_row *b)
{
	bool file = a->file == b->file || (a->file && b->file && strcmp(a->file, b->file) == 0);

	return a->addr == b->addr && a->to == b->to && a->line == b->line && file && strcmp(a->name, b->name) == 0 &&
	       strcmp(a->path, b->path) == 0;
}

static uint64_t hash_row(const struct counts_row *row)
{
	return hash_word(row->addr ^ row->to << 20 ^ (uint64_t)row->line << 44) ^ hash_bytes(row->name, strlen(row->name));
}

static bool more_slots(struct counts *c)
{
	size_t room = c->nslots ? 2 * c->nslots : 1024;
	uint32_t *slots = calloc(room, sizeof(*slots));

	if (!slots)
		return false;
	for (size_t i = 0; i < c->n; i++)
		slots[hash_slot(at, room, hash_row(&c->rows[i]), !slots[at])] = (uint32_t)i + 1;
	free(c->slots);
	c->slots = slots;
	c->nslots = room;
	return true;
}

/* The row that is of the same; it is added if there is none.  NULL: no memory. */
static struct counts_row *row_of(struct counts *c, const struct counts_row *like)
{
	size_t at;

	if (2 * (c->n + 1) > c->nslots && !more_slots(c))
		return NULL;
	at = hash_slot(i, c->nslots, hash_row(like), !c->slots[i] || is_same(&c->rows[c->slots[i] - 1], like));
	if (c->slots[at])
		return &c->rows[c->slots[at] - 1];
	if (!array_room(c->rows, c->room, c->n + 1))
		return NULL;
	c->rows[c->n++] = *like;
	c->slots[at] = (uint32_t)c->n;
	return &c->rows[c->n - 1];
}

static void add_facts(struct counts_row *row, const struct mt_block *block, uint64_t times)
{
	for (unsigned int k = 0; k < BLOCK_FACT_NUMBERS; k++)
		row->facts[k] += times * block->facts[k];
}

static void find_line(const struct counts_solved *s, struct counts_row *row, uint64_t addr)
{
	struct sonde_trace_place place = { 0 };

	mt_placed_find(s->placed, s->f->object, addr, &place);
	row->file = place.file;
	row->line = place.file ? place.line : 0;
}

static bool add_function(struct counts *c, const struct counts_solved *s)
{
	struct counts_row like = s->about, *row;

	like.addr = s->f->addr;
	find_line(s, &like, s->f->addr);
	row = row_of(c, &like);
	for (uint32_t i = 0; i < s->f->nedges && row; i++) {
		const struct mt_block_edge *e = &s->f->edges[i];

		if (e->from == MT_NO_BLOCK && e->to != MT_NO_BLOCK && s->f->blocks[e->to].addr == s->f->addr)
			row->count += s->edge[i];
	}
	for (uint32_t i = 0; i < s->f->nblocks && row; i++) {
		row->blocks += s->block[i];
		add_facts(row, &s->f->blocks[i], s->block[i]);
	}
	return row != NULL;
}

static bool is_in(const struct mt_block_function *f, uint32_t block, uint32_t loop)
{
	uint32_t l = block == MT_NO_BLOCK ? MT_NO_BLOCK : f->blocks[block].loop;

	while (l != MT_NO_BLOCK && l != loop)
		l = f->loops[l].parent;
	return l == loop;
}

bool counts_returns_within(const struct mt_block_function *f, uint32_t loop)
{
	uint32_t head = f->loops[loop].head;
	const struct mt_block *b = &f->blocks[head], *call = b - 1;

	return head && call->facts[BLOCK_FACT_NUMBERS] == TRAMP_END_CALL && call->addr + call->size == b->addr &&
	       is_in(f, head - 1, loop);
}

static uint32_t depth_of(const struct mt_block_function *f, uint32_t loop)
{
	uint32_t depth = 0;

	for (; loop != MT_NO_BLOCK; loop = f->loops[loop].parent)
		depth++;
	return depth;
}

static void add_trips(struct counts_row *row, const struct counts_trips *trips)
{
	if (trips->most && (!row->most || trips->least < row->least))
		row->least = trips->least;
	if (trips->most > row->most)
		row->most = trips->most;
	row->unknown_trips |= trips->unknown;
}

static bool add_loop(struct counts *c, const struct counts_solved *s, uint32_t loop)
{
	const struct mt_block_function *f = s->f;
	const uint32_t head = f->loops[loop].head;
	struct counts_row like = s->about, *row;

	if (!s->block[head])
		return true;
	like.addr = f->blocks[head].addr;
	like.depth = depth_of(f, loop);
	find_line(s, &like, like.addr);
	row = row_of(c, &like);
	if (!row)
		return false;
	row->count += s->block[head];
	add_trips(row, &s->trips[loop]);
	for (uint32_t i = 0; i < f->nedges; i++)
		if (f->edges[i].to == head && (f->edges[i].from == MT_NO_BLOCK ? !counts_returns_within(f, loop) : !is_in(f, f->edges[i].from, loop)))
			row->entries += s->edge[i];
	for (uint32_t i = 0; i < f->nblocks; i++) {
		if (!is_in(f, i, loop))
			continue;
		row->blocks += s->block[i];
		add_facts(row, &f->blocks[i], s->block[i]);
	}
	return true;
}

static bool add_loops(struct counts *c, const struct counts_solved *s)
{
	bool good = true;

	for (uint32_t i = 0; i < s->f->nloops && good; i++)
		good = add_loop(c, s, i);
	return good;
}

/* A line that has several blocks is executed as often as the one that is most often. */
struct lines_of_block {
	struct counts *c;
	const struct counts_solved *s;
	uint64_t count;
	bool good;
};

static void add_line(void *arg, uint64_t addr, const char *file, int line)
{
	struct lines_of_block *l = arg;
	struct counts_row like = { .name = "", .path = l->s->about.path, .file = file, .line = line }, *row;

	(void)addr;
	row = row_of(l->c, &like);
	l->good = l->good && row;
	if (row && l->count > row->count)
		row->count = l->count;
}

static bool add_lines(struct counts *c, const struct counts_solved *s)
{
	struct lines_of_block l = { .c = c, .s = s, .good = true };

	for (uint32_t i = 0; i < s->f->nblocks && l.good; i++) {
		const struct mt_block *b = &s->f->blocks[i];
		struct counts_row first = { 0 };

		l.count = s->block[i];
		if (!l.count)
			continue;
		find_line(s, &first, b->addr);
		if (first.file)
			add_line(&l, b->addr, first.file, first.line);
		if (b->size > 1)
			mt_placed_each_line(s->placed, s->f->object, b->addr + 1, b->addr + b->size - 1, add_line, &l);
	}
	return l.good;
}

static bool add_blocks(struct counts *c, const struct counts_solved *s)
{
	struct counts_row *row;

	for (uint32_t i = 0; i < s->f->nblocks; i++) {
		struct counts_row like = s->about;

		if (!s->block[i])
			continue;
		like.addr = s->f->blocks[i].addr;
		find_line(s, &like, like.addr);
		row = row_of(c, &like);
		if (!row)
			return false;
		row->count += s->block[i];
		add_facts(row, &s->f->blocks[i], s->block[i]);
	}
	return true;
}

static uint64_t address_of(const struct mt_block_function *f, uint32_t block)
{
	return block == MT_NO_BLOCK ? 0 : f->blocks[block].addr;
}

static bool add_edges(struct counts *c, const struct counts_solved *s)
{
	struct counts_row *row;

	for (uint32_t i = 0; i < s->f->nedges; i++) {
		struct counts_row like = s->about;

		if (!s->edge[i])
			continue;
		like.addr = address_of(s->f, s->f->edges[i].from);
		like.to = address_of(s->f, s->f->edges[i].to);
		find_line(s, &like, like.addr ? like.addr : like.to);
		row = row_of(c, &like);
		if (!row)
			return false;
		row->count += s->edge[i];
	}
	return true;
}

static bool add_thread(struct counts *c, const struct counts_solved *s, const char *thread)
{
	struct counts_row like = { .name = thread, .path = "" }, *row = row_of(c, &like);

	for (uint32_t i = 0; i < s->f->nblocks && row; i++) {
		row->count += s->block[i];
		add_facts(row, &s->f->blocks[i], s->block[i]);
	}
	return row != NULL;
}

bool counts_add(struct counts *c, const struct counts_solved *s, const char *thread)
{
	static bool (*const add[])(struct counts *c, const struct counts_solved *s) = {
		[COUNTS_BY_FUNCTION] = add_function, [COUNTS_BY_LOOP] = add_loops, [COUNTS_BY_LINE] = add_lines,
		[COUNTS_BY_BLOCK] = add_blocks, [COUNTS_BY_EDGE] = add_edges,
	};

	for (uint32_t i = 0; i < s->f->nblocks; i++) {
		c->total.blocks += s->block[i];
		add_facts(&c->total, &s->f->blocks[i], s->block[i]);
	}
	return thread ? add_thread(c, s, thread) : add[c->o->by](c, s);
}
