// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Counters in the mirror (TRAMP_MIRROR_BLOCKS): where the edges are counted that trampolines/count/count.h chooses.
 *
 *	edge                                     counted
 *	the only one that ends at a block        in the block, where registers and flags are to spare
 *	the only one that begins at one          likewise
 *	into the block after it, beside others   after the conditional jump
 *	by a conditional jump, beside others     in a stub after all blocks: count; jmp target
 *	from outside, beside others              in a stub that the window leads to: count; jmp copy
 *	kept in a register                       likewise, add to it; set on edges into the loop, added up on those out of it
 *	kept, back to a loop's head              in the head, less edges into the loop: takes no jump
 *	repetitions of a string instruction      before it: rcx is added, as if a counter had been kept there
 *
 * Where threads arrive the counter finds out whose counters they are (enum tramp_probe_trust); all others rely on that, unless the
 * function makes system calls itself, after which another process or thread may go on.
 */
#include <stdlib.h>
#include <string.h>

#include "trampolines/mirror/x86-64/plan.h"

_Static_assert(TRAMP_KEPT_MAX == RT_KEPT_MAX, "kept counters");

enum { KEPT_MAX = 96 };		/* bytes of what is done to a kept counter */

static bool makes_system_calls(const struct tramp_flow *flow)
{
	for (uint32_t k = 0; k < flow->nops; k++) {
		if (flow->ops[k].kind == TRAMP_OP_SYSCALL)
			return true;
	}
	return false;
}

static enum tramp_probe_trust trust_in(const struct tramp_mirror *m, uint32_t i)
{
	if (m->distrusts)
		return TRAMP_TRUST_NOTHING;
	if (!tramp_count_arrives(&m->flow, i))
		return TRAMP_TRUST_COUNTS;
	return i != m->flow.entry && (mir_flow_block(m, i)->flags & (TRAMP_BLOCK_RETURN | TRAMP_BLOCK_PAD)) ?
		       TRAMP_TRUST_OWNER : TRAMP_TRUST_NOTHING;
}

static enum tramp_probe_trust trust_within(const struct tramp_mirror *m)
{
	return m->distrusts ? TRAMP_TRUST_NOTHING : TRAMP_TRUST_COUNTS;
}

static tramp_regs live_before(const struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	return k < fb->nops ? tramp_flow_live_at(&m->flow, i, fb->op + k) : fb->live_out;
}

static tramp_regs kept_in(const struct tramp_mirror *m, uint32_t i)
{
	return tramp_count_kept(&m->counts, &m->flow, i);
}

/* What a counter takes there: 0 is best. */
static unsigned int cost(tramp_regs live, enum tramp_probe_trust trust)
{
	tramp_regs dead = ~live & TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP);
	bool flags = live & TRAMP_STATUS;

	if (!flags)
		return dead ? 0 : 2;
	return trust == TRAMP_TRUST_COUNTS && (dead & (dead - 1)) ? 1 : 3;
}

/* The first of the best places in block i, from instruction @from on. */
static uint32_t best_place(const struct tramp_mirror *m, uint32_t i, uint32_t from, enum tramp_probe_trust trust)
{
	uint32_t best = from, end = mir_flow_block(m, i)->nops;
	unsigned int least = cost(live_before(m, i, from) | kept_in(m, i), trust);

	for (uint32_t k = from + 1; k < end && least; k++) {
		unsigned int here = cost(live_before(m, i, k) | kept_in(m, i), trust);

		if (here < least) {
			least = here;
			best = k;
		}
	}
	return best;
}

void mir_count_add(struct tramp_mirror *m, struct mir_counter c)
{
	if (!mir_reserve(&m->counters, m->counters.n + 1)) {
		m->lost = true;
		return;
	}
	c.number = (uint32_t)m->counters.n;
	m->counters.v[m->counters.n++] = c;
}

/* After the block's first @after instructions. */
void mir_count_within(struct tramp_mirror *m, uint32_t i, uint32_t counter, enum tramp_probe_trust trust, uint32_t after)
{
	uint32_t from = m->blocks.v[i].lo < after ? after : m->blocks.v[i].lo;

	/* whoever arrives may be anybody until it has been looked: before all else */
	mir_count_add(m, (struct mir_counter){
		.block = i, .place = MIR_COUNT_WITHIN, .act = MIR_COUNT_ONE, .counter = counter, .trust = (uint8_t)trust, .whole = true,
		.at = trust == TRAMP_TRUST_COUNTS && from < mir_flow_block(m, i)->nops ? best_place(m, i, from, trust) : from,
		.kept = kept_in(m, i),
	});
}

/* An edge from outside. */
static void place_in(struct tramp_mirror *m, const struct tramp_edge *e, struct mir_counter like)
{
	like.place = m->counts.degrees[e->to].in == 1 ? MIR_COUNT_WITHIN : MIR_COUNT_IN;
	like.block = e->to;
	like.at = like.place == MIR_COUNT_WITHIN ? m->blocks.v[e->to].lo : 0;
	like.kept = kept_in(m, e->to);
	mir_count_add(m, like);
}

/* On the edge itself, wherever that is. */
void mir_count_on(struct tramp_mirror *m, const struct tramp_edge *e, struct mir_counter like)
{
	const struct tramp_block *from;

	if (e->kind == TRAMP_EDGE_IN) {
		place_in(m, e, like);
		return;
	}
	from = mir_flow_block(m, e->from);
	like.block = e->from;
	like.kept = kept_in(m, e->from) | (e->to == TRAMP_NONE ? 0 : kept_in(m, e->to));
	if (m->counts.degrees[e->from].out == 1) {
		like.place = MIR_COUNT_WITHIN;
		like.at = from->ends == TRAMP_END_JMP ? from->nops - 1 : from->nops;
	} else if (e->to != TRAMP_NONE && m->counts.degrees[e->to].in == 1) {
		like.place = MIR_COUNT_WITHIN;
		like.block = e->to;
		like.at = m->blocks.v[e->to].lo;
	} else {
		like.place = e->kind == TRAMP_EDGE_NEXT ? MIR_COUNT_NEXT : MIR_COUNT_TARGET;
	}
	mir_count_add(m, like);
}

static void place(struct tramp_mirror *m, const struct tramp_edge *e)
{
	if (e->kind == TRAMP_EDGE_IN || e->kept)
		return;
	if (e->where == TRAMP_COUNT_FROM)
		mir_count_within(m, e->from, e->counter, trust_within(m), tramp_count_after(&m->flow, e->from));
	else if (e->where == TRAMP_COUNT_TO)
		mir_count_within(m, e->to, e->counter, trust_within(m), 0);
	else
		mir_count_on(m, e, (struct mir_counter){
			.act = MIR_COUNT_ONE, .counter = e->counter, .trust = (uint8_t)trust_within(m),
		});
}

static void place_entry(struct tramp_mirror *m, const struct tramp_edge *e)
{
	if (m->counts.degrees[e->to].in == 1)
		mir_count_within(m, e->to, e->counter, trust_in(m, e->to), 0);
	else
		place_in(m, e, (struct mir_counter){ .act = MIR_COUNT_ONE, .counter = e->counter, .trust = (uint8_t)trust_in(m, e->to) });
}

/* Where the edge itself is counted. */
static void place_add(struct tramp_mirror *m, const struct tramp_edge *e, struct mir_counter like)
{
	like.act = MIR_COUNT_ADD;
	like.by = 1;
	if (e->where == TRAMP_COUNT_EDGE) {
		mir_count_on(m, e, like);
		return;
	}
	like.place = MIR_COUNT_WITHIN;
	like.block = e->where == TRAMP_COUNT_FROM ? e->from : e->to;
	like.at = m->blocks.v[like.block].lo;
	like.whole = e->where != TRAMP_COUNT_HEAD;
	mir_count_add(m, like);
}

/* Where it begins and ends to be kept, and what is not to be counted of what comes to a head. */
static void place_around(struct tramp_mirror *m, const struct tramp_kept *k, struct mir_counter like)
{
	const struct tramp_edge *counted = &m->counts.edges[k->edge];
	bool head = counted->where == TRAMP_COUNT_HEAD, own = counted->to == m->flow.loops[k->loop].head;

	for (uint32_t i = 0; i < m->counts.nedges; i++) {
		const struct tramp_edge *e = &m->counts.edges[i];
		bool from = tramp_flow_in_loop(&m->flow, e->from, k->loop), to = tramp_flow_in_loop(&m->flow, e->to, k->loop);

		if (to && !from) {
			like.act = MIR_COUNT_BEGIN;
			like.by = head && own ? -1 : 0;
		} else if (from && !to) {
			like.act = MIR_COUNT_END;
		} else if (head && e != counted && e->to == counted->to && from) {
			like.act = MIR_COUNT_ADD;
			like.by = -1;
		} else {
			continue;
		}
		mir_count_on(m, e, like);
	}
}

static void place_kept(struct tramp_mirror *m, const struct tramp_kept *k)
{
	const struct tramp_edge *e = &m->counts.edges[k->edge];
	struct mir_counter like = { .counter = e->counter, .reg = k->reg, .saved = k->saved, .trust = TRAMP_TRUST_COUNTS };

	place_add(m, e, like);
	place_around(m, k, like);
}

static void place_length(struct tramp_mirror *m, uint32_t k)
{
	const struct mir_length *l = &m->lengths.v[k];

	mir_count_add(m, (struct mir_counter){
		.block = l->block, .place = MIR_COUNT_WITHIN, .at = l->at, .act = MIR_COUNT_LENGTH, .reg = TRAMP_RCX,
		.counter = m->counts.ncounters + k, .trust = TRAMP_TRUST_COUNTS, .kept = kept_in(m, l->block),
	});
}

static int by_place(const void *left, const void *right)
{
	const struct mir_counter *a = left, *b = right;

	if (a->block != b->block)
		return a->block < b->block ? -1 : 1;
	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->at != b->at)
		return a->at < b->at ? -1 : 1;
	if (a->act != b->act)
		return a->act < b->act ? -1 : 1;
	return a->number < b->number ? -1 : 1;
}

static void sort(struct tramp_mirror *m)
{
	if (m->counters.n)
		qsort(m->counters.v, m->counters.n, sizeof(*m->counters.v), by_place);
	memset(m->count.v, 0, m->flow.nblocks * sizeof(*m->count.v));
	for (uint32_t k = (uint32_t)m->counters.n; k-- > 0;) {
		struct mir_count *c = &m->count.v[m->counters.v[k].block];

		c->first = k;
		c->n++;
	}
}

enum tramp_mirror_status mir_count_plan(struct tramp_mirror *m)
{
	if (m->strict)
		return TRAMP_MIRROR_UNSURE;
	tramp_flow_live(&m->flow);
	if (tramp_flow_loops(&m->flow) != TRAMP_CODE_OK || tramp_count_plan(&m->counts, &m->flow) != TRAMP_CODE_OK ||
	    !mir_reserve(&m->count, m->flow.nblocks))
		return TRAMP_MIRROR_MEMORY;
	m->distrusts = makes_system_calls(&m->flow);
	if (!m->distrusts && tramp_count_keep(&m->counts, &m->flow) != TRAMP_CODE_OK)
		return TRAMP_MIRROR_MEMORY;
	if (!m->distrusts && mir_wants(m, TRAMP_MIRROR_TRIPS) && tramp_count_trips(&m->counts, &m->flow) != TRAMP_CODE_OK)
		return TRAMP_MIRROR_MEMORY;
	m->counters.n = 0;
	/* entries first: they stand before all others of their block */
	for (size_t k = 0; k < m->counts.nedges; k++) {
		if (m->counts.edges[k].counter != TRAMP_NONE && m->counts.edges[k].kind == TRAMP_EDGE_IN)
			place_entry(m, &m->counts.edges[k]);
	}
	for (size_t k = 0; k < m->counts.nedges; k++) {
		if (m->counts.edges[k].counter != TRAMP_NONE)
			place(m, &m->counts.edges[k]);
	}
	for (size_t k = 0; k < m->counts.nkept; k++)
		if (m->counts.kept[k].edge != TRAMP_NONE)
			place_kept(m, &m->counts.kept[k]);
	for (size_t k = 0; k < m->lengths.n; k++)
		place_length(m, (uint32_t)k);
	mir_trips_plan(m);
	sort(m);
	return TRAMP_MIRROR_OK;
}

size_t mir_count_room(const struct tramp_mirror *m)
{
	size_t ones = 0;

	for (size_t k = 0; k < m->counters.n; k++)
		ones += m->counters.v[k].act == MIR_COUNT_ONE || m->counters.v[k].act >= MIR_COUNT_LEFT || m->counters.v[k].act == MIR_COUNT_LEFT_KEPT;
	/* and jumps beside edges */
	return ones * (TRAMP_PROBE_MAX / 2 + TRAMP_PROBE_SLOW_MAX) + (m->counters.n - ones) * KEPT_MAX;
}

static void find_within(const struct tramp_mirror *m, uint32_t block, struct tramp_mirror_edge *e)
{
	const struct mir_count *c = block == TRAMP_NONE ? NULL : &m->count.v[block];

	for (uint32_t n = 0; c && n < c->n; n++) {
		const struct mir_counter *v = &m->counters.v[c->first + n];

		if (!v->whole || v->counter != e->edge.counter)
			continue;
		e->at = block;
		e->before = mir_off(m, block, v->at);
	}
}

bool tramp_mirror_edge(const struct tramp_mirror *m, size_t i, struct tramp_mirror_edge *e)
{
	if (!m->planned || i >= m->counts.nedges)
		return false;
	*e = (struct tramp_mirror_edge){ .edge = m->counts.edges[i], .at = TRAMP_NONE };
	if (e->edge.counter == TRAMP_NONE)
		return true;
	find_within(m, e->edge.from, e);
	find_within(m, e->edge.to, e);
	return true;
}

/* ---- code ---- */

static const uint8_t hows[] = {
	[MIR_COUNT_ONE] = RT_COUNT_ONE, [MIR_COUNT_BEGIN] = RT_COUNT_BEGIN, [MIR_COUNT_ADD] = RT_COUNT_ADD, [MIR_COUNT_END] = RT_COUNT_END,
	[MIR_COUNT_LENGTH] = RT_COUNT_END, [MIR_COUNT_LEFT] = RT_COUNT_LEFT, [MIR_COUNT_LEFT_KEPT] = RT_COUNT_LEFT_KEPT,
	[MIR_COUNT_ENTER] = RT_COUNT_ENTER,
};

static void put_counter(struct tramp_mirror *m, const struct mir_counter *c, tramp_regs live, uint32_t orig)
{
	const struct tramp_probe probe = {
		.kind = TRAMP_PROBE_ENTRY, .function = m->req.index + c->counter, .trust = c->trust, .live = live | c->kept,
		.how = hows[c->act], .kept = c->reg, .by = c->by,
		.kept_saved = c->saved, .kept_all = c->kept,
	};

	mir_put_probe(m, &probe, orig);
}

static bool has_place(const struct tramp_mirror *m, uint32_t i, enum mir_count_place place)
{
	const struct mir_count *c = &m->count.v[i];

	for (uint32_t n = 0; mir_wants(m, TRAMP_MIRROR_BLOCKS) && n < c->n; n++)
		if (m->counters.v[c->first + n].place == place)
			return true;
	return false;
}

/* @at: 0 but for WITHIN. */
static void put_place(struct tramp_mirror *m, uint32_t i, enum mir_count_place place, uint32_t at, tramp_regs live, uint32_t orig)
{
	const struct mir_count *c = &m->count.v[i];

	for (uint32_t n = 0; n < c->n; n++) {
		const struct mir_counter *v = &m->counters.v[c->first + n];

		if (v->place == place && v->at == at)
			put_counter(m, v, live, orig);
	}
}

void mir_put_counts(struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	if (mir_wants(m, TRAMP_MIRROR_BLOCKS) && m->count.v[i].n)
		put_place(m, i, MIR_COUNT_WITHIN, k, live_before(m, i, k), mir_off(m, i, k));
}

void mir_put_entry_count(struct tramp_mirror *m, uint32_t i)
{
	uint32_t lo = m->blocks.v[i].lo;

	if (mir_wants(m, TRAMP_MIRROR_BLOCKS))
		put_place(m, i, MIR_COUNT_IN, 0, live_before(m, i, lo), mir_off(m, i, lo));
}

static uint32_t counter_of(const struct tramp_mirror *m, const struct tramp_kept *k)
{
	return k->edge == TRAMP_NONE ? mir_trips_counter(m, k->trips) : m->counts.edges[k->edge].counter;
}

/* The same for all blocks of one innermost loop. */
void mir_count_enter(struct tramp_mirror *m, uint32_t i)
{
	struct rt_kept kept = { .n = 0 };

	if (!mir_wants(m, TRAMP_MIRROR_BLOCKS) || i == TRAMP_NONE)
		return;
	for (size_t k = 0; k < m->counts.nkept && kept_in(m, i); k++) {
		const struct tramp_kept *v = &m->counts.kept[k];

		if (!tramp_flow_in_loop(&m->flow, i, v->loop) || kept.n == RT_KEPT_MAX)
			continue;
		kept.counter[kept.n] = m->req.index + counter_of(m, v);
		kept.reg[kept.n++] = (uint8_t)(v->reg | (v->saved ? RT_KEPT_SAVED : 0) | (v->edge == TRAMP_NONE ? RT_KEPT_TRIPS : 0));
	}
	mir_keep(m, &kept);
}

void mir_put_next_count(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	if (has_place(m, i, MIR_COUNT_NEXT))
		put_place(m, i, MIR_COUNT_NEXT, 0, fb->next == TRAMP_NONE ? TRAMP_ALL_REGS : mir_flow_block(m, fb->next)->live_in, fb->end);
	mir_count_enter(m, fb->next);
}

bool mir_counts_target(const struct tramp_mirror *m, uint32_t i)
{
	return has_place(m, i, MIR_COUNT_TARGET);
}

/* What is live where a tail jump leads: as at its block's end, before the jump. */
static void put_target_stub(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	bool out = fb->ends == TRAMP_END_TAIL_JCC;

	m->blocks.v[i].stub_at = (uint32_t)m->out.len;
	put_place(m, i, MIR_COUNT_TARGET, 0, out ? mir_live_at_end(m, i) : mir_flow_block(m, fb->target)->live_in,
		  out ? mir_last(m, i)->off : mir_off(m, fb->target, m->blocks.v[fb->target].lo));
	mir_count_enter(m, out ? i : fb->target);
	if (out) {
		mir_put_jump_out(m, i, mir_last(m, i)->off);
		return;
	}
	mir_piece(m, RT_PIECE_INSN, mir_off(m, fb->target, m->blocks.v[fb->target].lo), false);
	tramp_put_u8(&m->out, 0xe9);
	mir_put_label(m, fb->target);
}

static void put_landing(struct tramp_mirror *m, uint32_t i)
{
	m->blocks.v[i].land_at = (uint32_t)m->out.len;
	mir_count_enter(m, i);
	mir_put_entry_count(m, i);
	mir_piece(m, RT_PIECE_INSN, mir_off(m, i, m->blocks.v[i].lo), false);
	tramp_put_u8(&m->out, 0xe9);
	mir_put_label(m, i);
}

void mir_put_count_stubs(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks && mir_wants(m, TRAMP_MIRROR_BLOCKS); i++) {
		m->blocks.v[i].land_at = m->blocks.v[i].copy_at;
		if (has_place(m, i, MIR_COUNT_IN) && i != m->flow.entry)
			put_landing(m, i);
		if (has_place(m, i, MIR_COUNT_TARGET))
			put_target_stub(m, i);
	}
	m->kept = 0;
}
