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
 *
 * Where threads arrive the counter finds out whose counters they are (enum tramp_probe_trust); all others rely on that, unless the
 * function makes system calls itself, after which another process or thread may go on.
 */
#include <string.h>

#include "trampolines/mirror/x86-64/plan.h"

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
	unsigned int least = cost(live_before(m, i, from), trust);

	for (uint32_t k = from + 1; k < end && least; k++) {
		unsigned int here = cost(live_before(m, i, k), trust);

		if (here < least) {
			least = here;
			best = k;
		}
	}
	return best;
}

/* After those that are there already, and the block's first @after instructions. */
static void count_within(struct tramp_mirror *m, uint32_t i, uint32_t counter, enum tramp_probe_trust trust, uint32_t after)
{
	struct mir_count *c = &m->count.v[i];
	uint32_t from = c->nwithin ? c->within[0].at : m->blocks.v[i].lo;

	from = from < after ? after : from;

	/* whoever arrives may be anybody until it has been looked: before all else */
	c->within[c->nwithin++] = (struct mir_counter){
		.counter = counter, .trust = (uint8_t)trust,
		.at = trust == TRAMP_TRUST_COUNTS && from < mir_flow_block(m, i)->nops ? best_place(m, i, from, trust) : from,
	};
}

static void begin_blocks(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks; i++)
		m->count.v[i] = (struct mir_count){ .in = TRAMP_NONE, .target = TRAMP_NONE, .next = TRAMP_NONE };
	for (size_t k = 0; k < m->counts.nedges; k++) {
		const struct tramp_edge *e = &m->counts.edges[k];

		if (e->from != TRAMP_NONE && e->kind != TRAMP_EDGE_LOST)
			m->count.v[e->from].nout++;
		if (e->to != TRAMP_NONE)
			m->count.v[e->to].nin++;
	}
}

static void place_in(struct tramp_mirror *m, const struct tramp_edge *e)
{
	if (m->count.v[e->to].nin == 1)
		count_within(m, e->to, e->counter, trust_in(m, e->to), 0);
	else
		m->count.v[e->to].in = e->counter;
}

static void place(struct tramp_mirror *m, const struct tramp_edge *e)
{
	if (e->kind == TRAMP_EDGE_IN)
		return;
	if (m->count.v[e->from].nout == 1)
		count_within(m, e->from, e->counter, trust_within(m), tramp_count_after(&m->flow, e->from));
	else if (e->to != TRAMP_NONE && m->count.v[e->to].nin == 1)
		count_within(m, e->to, e->counter, trust_within(m), 0);
	else if (e->kind == TRAMP_EDGE_NEXT)
		m->count.v[e->from].next = e->counter;
	else
		m->count.v[e->from].target = e->counter;
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
	begin_blocks(m);
	/* entries first: they stand before all others of their block */
	for (size_t k = 0; k < m->counts.nedges; k++) {
		if (m->counts.edges[k].counter != TRAMP_NONE && m->counts.edges[k].kind == TRAMP_EDGE_IN)
			place_in(m, &m->counts.edges[k]);
	}
	for (size_t k = 0; k < m->counts.nedges; k++) {
		if (m->counts.edges[k].counter != TRAMP_NONE)
			place(m, &m->counts.edges[k]);
	}
	return TRAMP_MIRROR_OK;
}

size_t mir_count_room(const struct tramp_mirror *m)
{
	return m->counts.ncounters * (TRAMP_PROBE_MAX / 2 + TRAMP_PROBE_SLOW_MAX);
}

static void find_within(const struct tramp_mirror *m, uint32_t block, struct tramp_mirror_edge *e)
{
	const struct mir_count *c = block == TRAMP_NONE ? NULL : &m->count.v[block];

	for (uint32_t n = 0; c && n < c->nwithin; n++) {
		if (c->within[n].counter != e->edge.counter)
			continue;
		e->at = block;
		e->before = mir_off(m, block, c->within[n].at);
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

static void put_counter(struct tramp_mirror *m, uint32_t counter, enum tramp_probe_trust trust, tramp_regs live,
			uint32_t orig)
{
	const struct tramp_probe probe = {
		.kind = TRAMP_PROBE_ENTRY, .function = m->req.index + counter, .trust = trust, .live = live,
	};

	mir_put_probe(m, &probe, orig);
}

void mir_put_counts(struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	const struct mir_count *c;

	if (!mir_wants(m, TRAMP_MIRROR_BLOCKS))
		return;
	c = &m->count.v[i];
	for (uint32_t n = 0; n < c->nwithin; n++) {
		if (c->within[n].at == k)
			put_counter(m, c->within[n].counter, c->within[n].trust, live_before(m, i, k), mir_off(m, i, k));
	}
}

void mir_put_entry_count(struct tramp_mirror *m, uint32_t i)
{
	uint32_t lo = m->blocks.v[i].lo;

	if (mir_wants(m, TRAMP_MIRROR_BLOCKS) && m->count.v[i].in != TRAMP_NONE)
		put_counter(m, m->count.v[i].in, trust_in(m, i), live_before(m, i, lo), mir_off(m, i, lo));
}

void mir_put_next_count(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	if (mir_wants(m, TRAMP_MIRROR_BLOCKS) && m->count.v[i].next != TRAMP_NONE)
		put_counter(m, m->count.v[i].next, trust_within(m),
			    fb->next == TRAMP_NONE ? TRAMP_ALL_REGS : mir_flow_block(m, fb->next)->live_in, fb->end);
}

bool mir_counts_target(const struct tramp_mirror *m, uint32_t i)
{
	return mir_wants(m, TRAMP_MIRROR_BLOCKS) && m->count.v[i].target != TRAMP_NONE;
}

/* What is live where a tail jump leads: as at its block's end, before the jump. */
static void put_target_stub(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	bool out = fb->ends == TRAMP_END_TAIL_JCC;

	m->blocks.v[i].stub_at = (uint32_t)m->out.len;
	put_counter(m, m->count.v[i].target, trust_within(m), out ? mir_live_at_end(m, i) : mir_flow_block(m, fb->target)->live_in,
		    out ? mir_last(m, i)->off : mir_off(m, fb->target, m->blocks.v[fb->target].lo));
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
	mir_put_entry_count(m, i);
	mir_piece(m, RT_PIECE_INSN, mir_off(m, i, m->blocks.v[i].lo), false);
	tramp_put_u8(&m->out, 0xe9);
	mir_put_label(m, i);
}

void mir_put_count_stubs(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks && mir_wants(m, TRAMP_MIRROR_BLOCKS); i++) {
		m->blocks.v[i].land_at = m->blocks.v[i].copy_at;
		if (m->count.v[i].in != TRAMP_NONE && i != m->flow.entry)
			put_landing(m, i);
		if (m->count.v[i].target != TRAMP_NONE)
			put_target_stub(m, i);
	}
}
