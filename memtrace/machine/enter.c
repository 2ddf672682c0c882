// SPDX-License-Identifier: MIT
/* Into compiled descriptions, and out of them. */
#include "memtrace/machine/enter.h"

enum {
	BATCH = 4 * MT_ACCESSES,	/* for less it is not worth while */
	PIECES = 1 << 16,		/* with words, and as many without */
};
/* What they add to a sum of 32 bits; a loop's iterations that are computed count as nodes of that weight. */
_Static_assert(2ull * PIECES * MT_PIECE_WEIGHT * MT_PACKED_MAX <= UINT32_MAX, "struct mt_io");

typedef uint64_t enter_fn(void *registers, uint64_t code, struct mt_io *io);

static uint64_t look_up(const uint64_t *table, size_t at)
{
	return __atomic_load_n(&table[at], __ATOMIC_ACQUIRE);
}

/* Where the code goes on from; 0: nowhere. */
static uint64_t find(struct mt_runner *r, enum mt_mode mode, const struct mt_machine *m, const struct mt_fast_state *s)
{
	const struct mt_node *node = s->node;
	uint64_t out = node ? r->gates.leave : r->gates.leave_header, code;
	const uint64_t *table = r->tables[mode];
	uint32_t id;

	if (s->reserve ? m->end - s->words < 4 : !node)
		return 0;
	id = node ? node->id : mt_load4(s->words);
	if (id >= r->ids || (node && node->loop && node != s->tried))
		return 0;
	if (node)
		table += MT_IDS;
	code = look_up(table, id);
	if (code == out && r->warm(r, mode, id, node))
		code = look_up(table, id);
	if (code == out)
		return 0;
	return code + (node && node->loop ? MT_BODY : 0);
}

static void add_sums(struct mt_counts *counts, const struct mt_io *io)
{
	for (unsigned int kind = 0; kind < 4; kind++) {
		counts->accesses[kind] += io->sums[0][kind];
		counts->bytes[kind] += io->sums[1][kind];
	}
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* What the code has said comes next.  Where nobody knows that node the stream is damaged. */
static void go_to(struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s, uint64_t next)
{
	s->node = next ? mt_fast_find(m->code, &s->object, (uint32_t)(next >> 1)) : NULL;
	s->tried = next & 1 ? s->node : NULL;
	if (next && !s->node)
		sink->lost = s->stopped = true;
}

/* Says whether it got anywhere. */
static bool enter(struct mt_runner *r, enum mt_mode mode, struct mt_machine *m, struct mt_sink *sink,
		  struct mt_fast_state *s, uint64_t code)
{
	static const uint32_t none;	/* no id */
	struct mt_fast_state before = *s;
	struct mt_io io = { .words = s->words, .fuel = s->fuel, .table = r->tables[mode] };
	enter_fn *enter_code = (enter_fn *)(uintptr_t)r->gates.enter;

	if (s->reserve)
		io.words_end = s->words + least((size_t)(m->end - s->words), PIECES * 4) - 4 - MT_PIECE_BYTES;
	else
		io.words = (const uint8_t *)&none;
	if (mode == MT_NEXT) {
		io.v = (uint8_t *)s->v;
		io.v_end = (uint8_t *)(sink->end - MT_ACCESSES);
	} else {
		io.v = (uint8_t *)(uintptr_t)PIECES;
	}
	go_to(m, sink, s, enter_code((uint8_t *)m->reg + 128, code, &io));
	s->fuel = io.fuel;
	if (s->reserve)
		s->words = io.words;
	if (mode == MT_NEXT)
		s->v = (struct mt_access *)io.v;
	else
		add_sums(sink->counts, &io);
	return s->node != before.node || s->words != before.words || s->fuel != before.fuel;
}

/* A large node is not begun where there is no room for all of it, but at the beginning of a batch. */
static bool is_full(const struct mt_sink *sink, const struct mt_fast_state *s)
{
	size_t left = (size_t)(sink->end - s->v);

	return left < MT_ACCESSES || (s->node && s->v != sink->v && left < s->node->accesses);
}

void mt_run(struct mt_engine *engine, struct mt_machine *m, struct mt_sink *sink, struct mt_fast_state *s)
{
	struct mt_runner *r = (struct mt_runner *)engine;
	enum mt_mode mode = !sink->counts ? MT_NEXT : sink->stack ? MT_COUNT : MT_COUNT_PLAIN;
	uint64_t entered = 0, interpreted = 0;

	if (m->limit < MT_LIMIT || (mode == MT_NEXT && sink->end - s->v < BATCH) || !r->prepare(r, mode)) {
		mt_fast_nodes(m, sink, s, UINT64_MAX);
		return;
	}
	m->ids = r->ids;
	while (!s->stopped) {
		uint64_t code = find(r, mode, m, s);
		bool further = code && enter(r, mode, m, sink, s, code);

		entered += code != 0;
		if (mode == MT_NEXT && is_full(sink, s)) {
			sink->enough = true;
			break;
		}
		if (further || s->stopped)
			continue;
		mt_fast_nodes(m, sink, s, 1);
		interpreted++;
	}
	__atomic_fetch_add(&r->entered, entered, __ATOMIC_RELAXED);
	__atomic_fetch_add(&r->interpreted, interpreted, __ATOMIC_RELAXED);
}
