/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/blocks/counts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "injector/image/symbols.h"
#include "launcher/blocks/blocks.h"
#include "launcher/common/message.h"
#include "launcher/select/processes.h"
#include "launcher/select/traced.h"
#include "memtrace/pack/blocks.h"
#include "memtrace/pack/places.h"
#include "trampolines/count/count.h"

_Static_assert(FACT_VARIES + 1 == BLOCK_FACT_NUMBERS, "facts");

static int no_memory(void)
{
	msg_error("no memory");
	return EXIT_USAGE;
}

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

/* ---- rows ---- */

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

/* Keeps a string that was allocated; NULL: no memory. */
static const char *keep(struct counts *c, char *text)
{
	if (!text || !array_room(c->texts, c->room_texts, c->ntexts + 1)) {
		free(text);
		return NULL;
	}
	return c->texts[c->ntexts++] = text;
}

static void add_facts(struct counts_row *row, const struct mt_block *block, uint64_t times)
{
	for (unsigned int k = 0; k < BLOCK_FACT_NUMBERS; k++)
		row->facts[k] += times * block->facts[k];
}

/* ---- a function ---- */

/* What is computed of one, and where. */
struct solved {
	const struct mt_block_function *f;
	const struct sonde_trace_object *object;
	const struct mt_placed *placed;
	struct counts_row about;	/* name, path, hash */
	uint64_t *counters;
	const struct mt_block_left *left; /* of the threads, in any function */
	size_t nleft;
	struct tramp_edge *edges;	/* the function's, and for each of those a further one */
	uint64_t *edge;			/* counts */
	uint64_t *block;
	uint64_t *work;
	size_t room_edges, room_edge, room_block, room_work;
};

static void find_line(const struct solved *s, struct counts_row *row, uint64_t addr)
{
	struct sonde_trace_place place = { 0 };

	mt_placed_find(s->placed, s->f->object, addr, &place);
	row->file = place.file;
	row->line = place.file ? place.line : 0;
}

/* What cannot be, since a thread has not come out of a block, is nothing. */
static uint64_t not_negative(uint64_t n)
{
	return n >> 63 ? 0 : n;
}

static uint32_t block_at(const struct mt_block_function *f, uint64_t addr)
{
	for (uint32_t i = 0; i < f->nblocks; i++)
		if (addr - f->blocks[i].addr < f->blocks[i].size)
			return i;
	return MT_NO_BLOCK;
}

/* @sign: 1 before it is solved, -1 afterwards. */
static void correct(const struct solved *s, const struct mt_block_left *left, uint32_t block, int sign)
{
	for (uint32_t i = 0; i < s->f->nedges; i++) {
		const struct mt_block_edge *e = &s->f->edges[i];
		uint64_t by = (uint64_t)(sign * left->net);

		if (e->counter == MT_NO_BLOCK || e->at != block)
			continue;
		/* come into, and not counted yet; or counted, and not left by it */
		if (e->to == block && e->before > left->addr)
			s->counters[e->counter] += by;
		if (e->from == block && e->before <= left->addr)
			s->counters[e->counter] -= by;
	}
}

/* Where threads were interrupted and did not go on is a way out of the function; where they went on, one into it. */
static bool add_left(struct solved *s, size_t *n, size_t counters)
{
	for (size_t i = 0; i < s->nleft; i++) {
		const struct mt_block_left *left = &s->left[i];
		uint32_t block = left->object == s->f->object ? block_at(s->f, left->addr) : MT_NO_BLOCK;

		if (block == MT_NO_BLOCK)
			continue;
		if (!array_room(s->edges, s->room_edges, *n + 1) || !array_room(s->edge, s->room_edge, *n + 1))
			return false;
		s->counters[counters + i] = (uint64_t)left->net;
		s->edges[(*n)++] = (struct tramp_edge){ .from = block, .to = TRAMP_NONE, .counter = (uint32_t)(counters + i) };
		correct(s, left, block, 1);
	}
	return true;
}

static void forget_left(const struct solved *s)
{
	for (size_t i = 0; i < s->nleft; i++) {
		uint32_t block = s->left[i].object == s->f->object ? block_at(s->f, s->left[i].addr) : MT_NO_BLOCK;

		if (block != MT_NO_BLOCK)
			correct(s, &s->left[i], block, -1);
	}
}

static bool prepare(struct solved *s)
{
	size_t nodes = s->f->nblocks + (size_t)1;

	if (!array_room(s->edges, s->room_edges, s->f->nedges + (size_t)1) ||
	    !array_room(s->edge, s->room_edge, s->f->nedges + (size_t)1) ||
	    !array_room(s->block, s->room_block, nodes) || !array_room(s->work, s->room_work, 4 * nodes))
		return false;
	for (uint32_t i = 0; i < s->f->nedges; i++) {
		const struct mt_block_edge *e = &s->f->edges[i];

		s->edges[i] = (struct tramp_edge){ .from = e->from, .to = e->to, .counter = e->counter };
	}
	return true;
}

_Static_assert(MT_NO_BLOCK == TRAMP_NONE, "no block");

/* False: they do not say enough. */
static bool solve(struct solved *s, size_t counters)
{
	const struct mt_block_function *f = s->f;
	size_t n = f->nedges;
	bool any = add_left(s, &n, counters) && tramp_count_solve(s->edges, n, f->nblocks, s->counters, s->edge, s->work);

	forget_left(s);
	if (!any)
		return false;
	any = false;
	memset(s->block, 0, f->nblocks * sizeof(*s->block));
	for (uint32_t i = 0; i < f->nedges; i++) {
		s->edge[i] = not_negative(s->edge[i]);
		if (f->edges[i].to != MT_NO_BLOCK)
			s->block[f->edges[i].to] += s->edge[i];
		any |= s->edge[i] != 0;
	}
	return any;
}

static bool add_function(struct counts *c, const struct solved *s)
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

static uint32_t depth_of(const struct mt_block_function *f, uint32_t loop)
{
	uint32_t depth = 0;

	for (; loop != MT_NO_BLOCK; loop = f->loops[loop].parent)
		depth++;
	return depth;
}

static bool add_loop(struct counts *c, const struct solved *s, uint32_t loop)
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
	for (uint32_t i = 0; i < f->nedges; i++)
		if (f->edges[i].to == head && !is_in(f, f->edges[i].from, loop))
			row->entries += s->edge[i];
	for (uint32_t i = 0; i < f->nblocks; i++) {
		if (!is_in(f, i, loop))
			continue;
		row->blocks += s->block[i];
		add_facts(row, &f->blocks[i], s->block[i]);
	}
	return true;
}

static bool add_loops(struct counts *c, const struct solved *s)
{
	bool good = true;

	for (uint32_t i = 0; i < s->f->nloops && good; i++)
		good = add_loop(c, s, i);
	return good;
}

/* A line that has several blocks is executed as often as the one that is most often. */
struct lines_of_block {
	struct counts *c;
	const struct solved *s;
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

static bool add_lines(struct counts *c, const struct solved *s)
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

static bool add_blocks(struct counts *c, const struct solved *s)
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

static bool add_edges(struct counts *c, const struct solved *s)
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

static bool add_thread(struct counts *c, const struct solved *s, const char *thread)
{
	struct counts_row like = { .name = thread, .path = "" }, *row = row_of(c, &like);

	for (uint32_t i = 0; i < s->f->nblocks && row; i++) {
		row->count += s->block[i];
		add_facts(row, &s->f->blocks[i], s->block[i]);
	}
	return row != NULL;
}

static bool add_solved(struct counts *c, const struct solved *s, const char *thread)
{
	static bool (*const add[])(struct counts *c, const struct solved *s) = {
		[COUNTS_BY_FUNCTION] = add_function, [COUNTS_BY_LOOP] = add_loops, [COUNTS_BY_LINE] = add_lines,
		[COUNTS_BY_BLOCK] = add_blocks, [COUNTS_BY_EDGE] = add_edges,
	};

	for (uint32_t i = 0; i < s->f->nblocks; i++) {
		c->total.blocks += s->block[i];
		add_facts(&c->total, &s->f->blocks[i], s->block[i]);
	}
	return thread ? add_thread(c, s, thread) : add[c->o->by](c, s);
}

/* ---- ranks ---- */

/* Of some threads. */
struct sum {
	uint64_t *counters;	/* [n + nleft]: the latter are for each of left */
	size_t n;
	struct mt_block_left *left;
	size_t nleft, room_left, room_counters;
};

static bool add_up(struct sum *sum, const struct mt_block_thread *t)
{
	if (!array_room(sum->left, sum->room_left, sum->nleft + t->nleft + 1) ||
	    !array_room(sum->counters, sum->room_counters, sum->n + sum->nleft + t->nleft + 1))
		return false;
	for (uint32_t i = 0; i < t->n; i++)
		sum->counters[i] += t->counts[i];
	for (uint32_t i = 0; i < t->nleft; i++)
		sum->left[sum->nleft++] = t->left[i];
	return true;
}

static bool begin_sum(struct sum *sum, size_t n)
{
	sum->nleft = 0;
	sum->n = n;
	if (!array_room(sum->counters, sum->room_counters, n + 1))
		return false;
	memset(sum->counters, 0, n * sizeof(*sum->counters));
	return true;
}

static const struct sonde_trace_object *object_of(const struct sonde_trace *trace, const struct sonde_trace_rank *rank, uint32_t id)
{
	for (size_t i = 0; i < sonde_trace_objects(trace); i++) {
		const struct sonde_trace_object *o = sonde_trace_object(trace, i);

		if (o->rank_index == rank->index && o->id == id)
			return o;
	}
	return NULL;
}

/* Its name, and where it is.  False: no memory. */
static bool describe(struct counts *c, struct solved *s)
{
	struct sonde_trace_place place = { 0 };
	const char *symbol;
	char *plain;

	mt_placed_find(s->placed, s->f->object, s->f->addr, &place);
	symbol = place.function ? place.function : "?";
	plain = c->o->mangled ? NULL : inj_demangle(symbol);
	s->about = (struct counts_row){
		.name = plain ? keep(c, plain) : symbol,
		.path = s->object ? s->object->path : "",
		.hash = s->object ? blocks_hash(s->object->build_id, s->object->code) : 0,
	};
	return s->about.name != NULL;
}

static bool is_wanted(const struct counts *c, const struct solved *s)
{
	const char *names[1] = { s->about.name };
	struct sonde_trace_place place = { 0 };
	struct select_function fn = { .addr = s->f->addr, .names = names, .nnames = 1 };

	if (!c->select)
		return true;
	mt_placed_find(s->placed, s->f->object, s->f->addr, &place);
	if (place.function)
		names[0] = place.function;
	fn.size = place.size;
	return select_wants_in(c->select, s->about.path, &fn);
}

static bool add_counters(struct counts *c, struct mt_blocks *b, const struct sonde_trace_rank *rank,
			 const struct sum *sum, const char *thread)
{
	struct solved s = {
		.placed = c->placed[rank->index], .counters = sum->counters, .left = sum->left, .nleft = sum->nleft,
	};
	bool good = true;

	for (size_t i = 0; i < b->nfunctions && good; i++) {
		s.f = &b->functions[i];
		if (!s.object || s.object->id != s.f->object)
			s.object = object_of(c->trace, rank, s.f->object);
		good = prepare(&s) && describe(c, &s);
		if (good && is_wanted(c, &s) && solve(&s, sum->n))
			good = add_solved(c, &s, thread);
	}
	free(s.edges);
	free(s.edge);
	free(s.block);
	free(s.work);
	return good;
}

static bool is_picked(const struct counts *c, const struct sonde_trace_rank *rank, const struct mt_block_thread *t)
{
	const struct sonde_trace_thread like = { .pid = t->pid, .tid = t->tid, .rank_index = rank->index };

	return pick_thread(&like, &c->o->pick);
}


/* As many as are mentioned. */
static size_t count_counters(const struct mt_blocks *b)
{
	uint32_t n = 0;

	for (size_t i = 0; i < b->nthreads; i++)
		n = b->threads[i].n > n ? b->threads[i].n : n;
	for (size_t i = 0; i < b->nfunctions; i++)
		for (uint32_t k = 0; k < b->functions[i].nedges; k++) {
			uint32_t counter = b->functions[i].edges[k].counter;

			n = counter != MT_NO_BLOCK && counter >= n ? counter + 1 : n;
		}
	return n;
}

static const char *name_thread(struct counts *c, const struct sonde_trace_rank *rank, const struct mt_block_thread *t)
{
	char *text;
	int n = rank->rank < 0 ? asprintf(&text, "%d.%d", t->pid, t->tid) :
				 asprintf(&text, "rank %d, %d.%d", rank->rank, t->pid, t->tid);

	return n < 0 ? NULL : keep(c, text);
}

static bool add_threads(struct counts *c, struct mt_blocks *b, const struct sonde_trace_rank *rank)
{
	struct sum sum = { 0 };
	size_t n = count_counters(b);
	bool good = begin_sum(&sum, n);

	for (size_t i = 0; i < b->nthreads && good; i++) {
		const struct mt_block_thread *t = &b->threads[i];
		const char *name;

		if (!is_picked(c, rank, t))
			continue;
		c->killed += t->killed;
		good = add_up(&sum, t);
		if (c->o->by != COUNTS_BY_THREAD || !good)
			continue;
		name = name_thread(c, rank, t);
		good = name && add_counters(c, b, rank, &sum, name) && begin_sum(&sum, n);
	}
	if (good && c->o->by != COUNTS_BY_THREAD)
		good = add_counters(c, b, rank, &sum, NULL);
	free(sum.counters);
	free(sum.left);
	return good;
}

static int read_rank(struct counts *c, const struct sonde_trace_rank *rank, bool *any)
{
	bool none, good;
	struct mt_blocks *b = mt_blocks_of(c->trace, rank, &none);

	if (!b)
		return none ? 0 : no_memory();
	*any = true;
	c->placed[rank->index] = mt_placed_of(c->trace, rank);
	c->damage += b->damage;
	good = c->placed[rank->index] && add_threads(c, b, rank);
	mt_blocks_free(b);
	return good ? 0 : no_memory();
}

/* ---- all ---- */

static int by_work(const void *left, const void *right)
{
	const struct counts_row *a = left, *b = right;
	int order;

	if (a->facts[FACT_INSNS] != b->facts[FACT_INSNS])
		return a->facts[FACT_INSNS] > b->facts[FACT_INSNS] ? -1 : 1;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	order = strcmp(a->path, b->path);
	if (!order)
		order = a->addr < b->addr ? -1 : a->addr > b->addr;
	return order ? order : strcmp(a->name, b->name);
}

static int read_ranks(struct counts *c, const char *dir)
{
	size_t nranks = sonde_trace_ranks(c->trace);
	int status = 0;
	bool any = false;

	c->placed = calloc(nranks + 1, sizeof(*c->placed));
	if (!c->placed)
		return no_memory();
	for (size_t i = 0; i < nranks && !status; i++)
		status = read_rank(c, sonde_trace_rank(c->trace, i), &any);
	if (!status && !any) {
		msg_error("%s: no blocks were counted; `sonde record --blocks' does", dir);
		status = EXIT_USAGE;
	}
	if (!status)
		status = traced_check(c->select, dir, c->n);
	if (c->n)
		qsort(c->rows, c->n, sizeof(*c->rows), by_work);
	return status;
}

int counts_read(struct counts *c, struct counts_options *o, const char *dir)
{
	int status;

	*c = (struct counts){ .o = o };
	status = pick_open(dir, &c->trace);
	if (!status)
		status = processes_choose(&c->trace, &o->pick.processes);
	if (status)
		return status;
	o->pick.trace = c->trace;
	status = pick_check(&o->pick);
	if (!status)
		status = traced_select(c->trace, &o->select, &c->select);
	if (!status)
		status = read_ranks(c, dir);
	if (status)
		counts_free(c);
	return status;
}

void counts_free(struct counts *c)
{
	for (size_t i = 0; c->placed && i < sonde_trace_ranks(c->trace); i++)
		mt_placed_close(c->placed[i]);
	free(c->placed);
	for (size_t i = 0; i < c->ntexts; i++)
		free(c->texts[i]);
	free(c->texts);
	free(c->rows);
	free(c->slots);
	select_free(c->select);
	if (c->trace)
		sonde_trace_close(c->trace);
	*c = (struct counts){ 0 };
}
