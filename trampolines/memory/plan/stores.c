// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where values are stored that the reader cannot compute, so that few bytes are written: three
 * passes.
 *
 * Values that are needed on all paths from a place are stored there, after what changed them or
 * where control entered from outside, rather than on each of the paths: no path stores more, and
 * where paths merge, all of them know the value. The stack pointer is such a value after each call,
 * for whatever follows ends with a return or a call.
 *
 * Values that a loop needs and that stay known in it are stored on the edges into the loop; outer
 * loops first, so that inner ones find them known.  After a call within the loop nothing is known.
 * If the loop can be run through without the call, its return counts as an edge into the loop.
 *
 * Where some of the edges that merge know a value that is needed after them, the others store it.
 *
 * Busy code motion: E. Morel and C. Renvoise, 1979; J. Knoop, O. Ruething and B. Steffen, 1992.
 */
#include "trampolines/memory/plan/passes.h"

/* ---- early ---- */

enum {
	MERGE_ROUNDS = 2,	/* what is known at one place becomes known at others */
	SELDOM = 4,	/* edges on which a value is known are taken at least once in 1 + SELDOM times */
	NAMED_MAX = 14,	/* registers, rsp included, so that some are left for the pointer */
};

/* No narrower than what it is computed from, and that is one register: it can as well be stored. */
static bool is_as_good(const struct mp_compute *c)
{
	return __builtin_popcount(c->reads & TRAMP_GPRS) == 1 && !c->u32 && !c->s32 && !c->conds;
}

/* Registers that the instruction changes. */
static mp_set changed_by(const struct mp_insn *i)
{
	mp_set set = i->cuts ? TRAMP_GPRS : i->kills;

	for (unsigned int k = 0; k < i->ncomputes; k++)
		set |= i->computes[k].writes;
	return set & TRAMP_GPRS;
}

/* From what is needed after an instruction to what is needed before it. */
static mp_set anticipated_before_insn(const struct mp_insn *i, mp_set after)
{
	mp_set before = after & ~changed_by(i);

	after &= ~(mp_set)i->kills;
	for (unsigned int k = 0; k < i->ncomputes && !i->cuts; k++) {
		const struct mp_compute *c = &i->computes[k];

		if (c->writes & after && is_as_good(c))
			before |= c->reads;
	}
	return (before | i->need) & TRAMP_GPRS;
}

static mp_set anticipated_before_block(const struct mp *p, uint32_t block, mp_set after)
{
	const struct tramp_block *b = &p->flow->blocks[block];

	for (uint32_t k = b->op + b->nops; k-- > b->op;)
		after = anticipated_before_insn(&p->insns.v[k], after);
	return after;
}

/* After a block: needed on any path, or on all. */
static mp_set anticipated_after(const struct mp *p, uint32_t block, bool all)
{
	uint8_t ends = p->flow->blocks[block].ends;
	const uint32_t *succ = p->blocks.v[block].succ;
	mp_set any = 0, each = TRAMP_GPRS;
	uint32_t n = 0;

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		mp_set before;

		if (succ[k] == TRAMP_NONE)
			continue;
		before = p->blocks.v[p->edges.v[succ[k]].to].anticipated;
		any |= before;
		each &= before;
		n++;
	}
	if (!all)
		return any;
	return n == (tramp_end_is_conditional(ends) ? 2 : 1) ? each : 0;
}

/* From less to more, or from more to less. */
static void iterate_anticipated(struct mp *p, bool all)
{
	bool changed = true;

	while (changed) {
		changed = false;
		for (uint32_t n = p->flow->nblocks; n-- > 0;) {
			uint32_t i = p->order.v[n];
			struct mp_block *b = &p->blocks.v[i];
			mp_set before =
				anticipated_before_block(p, i, anticipated_after(p, i, all));

			before = all ? before & b->anticipated : before | b->anticipated;
			changed |= before != b->anticipated;
			b->anticipated = before;
		}
	}
}

/* What all paths need is a part of what any path needs: also in endless loops. */
static void find_anticipated(struct mp *p)
{
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		p->blocks.v[i].anticipated = 0;
	iterate_anticipated(p, false);
	iterate_anticipated(p, true);
}

/* Of @set, as many as leave registers for the pointer beside those that are @named. */
static uint16_t fitting(mp_set named, mp_set set)
{
	mp_set fit = set & (named | MP_BIT(TRAMP_RSP));

	for (set &= ~fit; set && __builtin_popcount(named | fit) < NAMED_MAX; set &= set - 1)
		fit |= set & -set;
	return (uint16_t)fit;
}

static mp_set named_in(const struct mp *p, const struct tramp_block *b)
{
	mp_set named = MP_BIT(TRAMP_RSP);

	for (uint32_t k = b->op; k < b->op + b->nops; k++)
		named |= p->insns.v[k].named;
	return named;
}

/* A block of endbr64 alone stays where it is: control comes from it to the copy of the next block. */
static bool is_landing_pad(const struct mp *p, const struct tramp_block *b)
{
	return b->nops == 1 && b->ends == TRAMP_END_FALL && b->next != TRAMP_NONE &&
	       p->blocks.v[b->next].owner;
}

/* A comparison and the conditional jump after it are one operation: nothing comes in between. */
static bool may_store_before(const struct mp *p, const struct tramp_block *b, uint32_t k)
{
	return k < b->op + b->nops && p->flow->ops[k].kind != TRAMP_OP_JCC;
}

static void store_early(struct mp *p, uint32_t i)
{
	const struct tramp_block *b = &p->flow->blocks[i];
	mp_set named = named_in(p, b), after = anticipated_after(p, i, true);

	if (is_landing_pad(p, b))
		return;
	for (uint32_t k = b->op + b->nops; k-- > b->op;) {
		struct mp_insn *insn = &p->insns.v[k];

		if (may_store_before(p, b, k + 1))
			insn[1].need |= fitting(named, after & changed_by(insn));
		after = anticipated_before_insn(insn, after);
	}
	if (p->blocks.v[i].external && !p->blocks.v[i].polled)
		p->insns.v[b->op].need |= fitting(named, p->blocks.v[i].anticipated);
}

bool mp_store_early(struct mp *p)
{
	if (!mp_rung(p, TRAMP_MEM_KNOWN) || !mp_rung(p, TRAMP_MEM_CHAINS))
		return true;
	find_anticipated(p);
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		store_early(p, i);
	return true;
}

/* ---- before loops ---- */

/* As many values can be stored on an edge with a register left for the pointer. */
enum { VALUES_MAX = 13 };

/* Is there an iteration of the loop on which control does not leave the copies? */
static bool runs_through(struct mp *p, uint32_t loop, bool *memory)
{
	uint32_t head = p->flow->loops[loop].head, n = p->flow->nblocks;
	size_t depth = 0;
	uint32_t *seen, *stack;

	*memory = mp_reserve(p, &p->stack, 2 * (size_t)n + 2);
	if (!*memory)
		return false;
	stack = p->stack.v;
	seen = p->stack.v + n + 1;
	for (uint32_t k = p->loop_at.v[loop]; k < p->loop_at.v[loop + 1]; k++)
		seen[p->members.v[k]] = 0;
	stack[depth++] = head;
	while (depth) {
		const struct mp_block *b = &p->blocks.v[stack[--depth]];

		for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
			uint32_t to =
				b->succ[k] == TRAMP_NONE ? TRAMP_NONE : p->edges.v[b->succ[k]].to;

			if (to == TRAMP_NONE || !mp_in_loop(p, to, loop))
				continue;
			if (to == head)
				return true;
			if (!seen[to]) {
				seen[to] = 1;
				stack[depth++] = to;
			}
		}
	}
	return false;
}

/* Do the returns of calls in the loop count as edges into it? */
static bool counts_returns(struct mp *p, uint32_t loop, bool *memory)
{
	uint32_t head = p->flow->loops[loop].head;
	float returns = 0;

	*memory = true;
	for (uint32_t k = p->loop_at.v[loop]; k < p->loop_at.v[loop + 1]; k++) {
		uint32_t i = p->members.v[k];

		if (i == head || !p->blocks.v[i].external || p->blocks.v[i].polled)
			continue;
		if (p->flow->blocks[i].flags & TRAMP_BLOCK_TABLE)
			return false;
		returns += p->blocks.v[i].freq;
	}
	return returns > 0 && returns < 0.7f * p->blocks.v[head].freq &&
	       runs_through(p, loop, memory);
}

static uint16_t limited(mp_set values)
{
	while (__builtin_popcount(values) > VALUES_MAX)
		values &= values - 1;
	return (uint16_t)values;
}

static bool store_on(struct mp *p, struct mp_edge *edge, mp_set values)
{
	mp_set known = edge->values;

	if (edge->from != TRAMP_NONE)
		known |= p->blocks.v[edge->from].real.out.known;
	values &= TRAMP_GPRS;
	edge->values = limited(edge->values | (values & ~known));
	return values & ~known;
}

static bool store_values(struct mp *p, uint32_t loop, bool returns)
{
	uint32_t head = p->flow->loops[loop].head;
	const struct mp_block *b = &p->blocks.v[head];
	bool any = false;

	for (uint32_t k = 0; k < b->npreds; k++) {
		struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];

		if (edge->from == TRAMP_NONE ? !b->polled : !mp_in_loop(p, edge->from, loop))
			any |= store_on(p, edge, b->want);
	}
	for (uint32_t k = p->loop_at.v[loop]; k < p->loop_at.v[loop + 1]; k++) {
		uint32_t i = p->members.v[k];

		if (i != head && p->blocks.v[i].external && returns && !p->blocks.v[i].polled)
			any |= store_on(p, &p->edges.v[p->blocks.v[i].external_edge],
					p->blocks.v[i].want);
	}
	return any;
}

/* What is known in the loop now, and after it. */
static bool know_anew(struct mp *p, uint32_t loop)
{
	uint32_t first = p->loop_at.v[loop], last = p->loop_at.v[loop + 1];

	mp_know_some(p, &p->members.v[first], last - first);
	for (uint32_t k = first; k < last; k++) {
		const struct mp_block *b = &p->blocks.v[p->members.v[k]];
		bool out = false;

		for (uint32_t e = MP_TARGET; e <= MP_NEXT; e++)
			out |= b->succ[e] != TRAMP_NONE &&
			       !mp_in_loop(p, p->edges.v[b->succ[e]].to, loop);
		if (out && !mp_know_more(p, p->members.v[k], loop))
			return false;
	}
	return true;
}

static bool hoist_loop(struct mp *p, uint32_t loop)
{
	bool memory, returns = counts_returns(p, loop, &memory);

	if (!memory)
		return false;
	mp_know_loop(p, loop, returns);
	mp_want_loop(p, loop);
	return !store_values(p, loop, returns) || know_anew(p, loop);
}

bool mp_store_before_loops(struct mp *p)
{
	mp_know_all(p);
	if (!mp_rung(p, TRAMP_MEM_KNOWN) || !mp_rung(p, TRAMP_MEM_CHAINS))
		return true;
	for (uint32_t l = p->flow->nloops; l-- > 0;) {	/* outer loops come after inner ones */
		if (!hoist_loop(p, l))
			return false;
	}
	mp_know_all(p);
	return true;
}

/* ---- where edges merge ---- */

static mp_set known_on(const struct mp *p, const struct mp_edge *edge)
{
	return edge->values |
	       (edge->from == TRAMP_NONE ? 0u : p->blocks.v[edge->from].real.out.known);
}

static bool counts(const struct mp_block *b, const struct mp_edge *edge)
{
	return edge->from != TRAMP_NONE || !b->polled;
}

/* Is it known on so many of the incoming edges that the others are to store it? */
static bool is_worth(const struct mp *p, const struct mp_block *b, mp_set reg)
{
	float known = 0, unknown = 0;

	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];

		if (!counts(b, edge))
			continue;
		if (known_on(p, edge) & reg)
			known += edge->freq;
		else
			unknown += edge->freq;
	}
	return known > 0 && SELDOM * known >= unknown;
}

static bool store_at_merge(struct mp *p, const struct mp_block *b)
{
	mp_set values = 0;
	bool any = false;

	for (mp_set set = b->anticipated & ~(mp_set)b->real.in.known; set; set &= set - 1)
		values |= is_worth(p, b, set & -set) ? set & -set : 0;
	for (uint32_t k = 0; values && k < b->npreds; k++) {
		struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];

		if (counts(b, edge))
			any |= store_on(p, edge, values);
	}
	return any;
}

bool mp_store_at_merges(struct mp *p)
{
	bool any = mp_rung(p, TRAMP_MEM_KNOWN) && mp_rung(p, TRAMP_MEM_CHAINS);

	for (int n = 0; n < MERGE_ROUNDS && any; n++) {
		any = false;
		for (uint32_t k = 0; k < p->flow->nblocks; k++)
			any |= store_at_merge(p, &p->blocks.v[p->order.v[k]]);
		if (any)
			mp_know_all(p);
	}
	return true;
}
