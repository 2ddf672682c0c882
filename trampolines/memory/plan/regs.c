// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which register holds the pointer in each node.
 *
 * If there is one that the whole function does not name, it is that.  Else one for each loop,
 * outermost first, that nothing in the loop names.  The other nodes take that of the node that most
 * often comes before them, if they can.  Nodes that write nothing are without one, where it
 * need not pass through them.
 */
#include "trampolines/memory/plan/passes.h"

enum { LOOKAHEAD = 6 };	/* nodes */

#define USABLE (TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP))

static mp_set named_in(const struct mp *p, const struct mem_node *n)
{
	mp_set named = TRAMP_REG(TRAMP_RSP);

	for (uint32_t k = 0; k < n->nops; k++)
		named |= mp_insn_of(p, n, k)->named | mp_insn_of(p, n, k)->store;
	return named;
}

/* Live-in of the node. */
static tramp_regs live_in(const struct mp *p, const struct mem_node *n)
{
	if (n->first == 0)
		return p->flow->blocks[n->block].live_in;
	return tramp_flow_live_at(p->flow, n->block, p->flow->blocks[n->block].op + n->first);
}

static uint32_t bytes_in(const struct mp *p, const struct mem_node *n)
{
	uint32_t bytes = n->header ? MP_HEADER : 0;

	for (uint32_t k = 0; k < n->nops; k++)
		bytes += mp_insn_bytes(mp_insn_of(p, n, k));
	return bytes;
}

static void init_node(struct mp *p, uint32_t index)
{
	struct mem_node *n = &p->plan->nodes[index];
	struct mp_block *b = &p->blocks.v[n->block];
	bool after_cut = n->first && mp_insn_of(p, n - 1, n[-1].nops - 1)->cuts;
	bool cuts = mp_insn_of(p, n, n->nops - 1)->cuts;

	n->header = n->first ? after_cut || !mp_rung(p, TRAMP_MEM_IMPLIED) : b->header;
	n->leaves = mp_insn_of(p, n, n->nops - 1)->leaves;
	n->owner = after_cut;
	p->nodes.v[index] = (struct mp_node){
		.check = TRAMP_NONE,
		.next_edge_node = TRAMP_NONE,
		.cycle = TRAMP_NONE,
		.stays = n->last ? (b->succ[MP_TARGET] != TRAMP_NONE ||
				    b->succ[MP_NEXT] != TRAMP_NONE) &&
					   p->flow->blocks[n->block].ends != TRAMP_END_TAIL_JCC
				 : !cuts,
		.end = n->last					? b->end
		       : cuts || !mp_rung(p, TRAMP_MEM_IMPLIED) ? MD_NEXT
								: MD_GOTO,
		.cond = b->cond,
		.named = named_in(p, n),
		.live = live_in(p, n),
		.freq = b->freq,
		.bytes = bytes_in(p, n),
	};
}

/* ---- regions ---- */

static void add_node(struct mp_region *r, const struct mp_node *n, bool home)
{
	r->named |= n->named;
	r->live |= n->live;
	r->writes |= n->bytes != 0;
	for (unsigned int reg = 0; home && reg < 16; reg++)
		r->busy[reg] += n->live >> reg & 1 ? n->freq : 0;
}

static void fill_regions(struct mp *p)
{
	uint32_t nloops = p->flow->nloops;

	for (uint32_t l = 0; l <= nloops; l++)
		p->regions.v[l] = (struct mp_region){ .reg = RT_MEM_NO_REG };
	for (uint32_t i = 0; i < p->nbody; i++) {
		const struct mem_node *n = &p->plan->nodes[i];
		bool home = n->first == 0 && p->blocks.v[n->block].external &&
			    !p->blocks.v[n->block].polled;

		home |= !p->nodes.v[i].stays;
		for (uint32_t l = p->flow->blocks[n->block].loop; l != TRAMP_NONE;
		     l = p->flow->loops[l].parent)
			add_node(&p->regions.v[l], &p->nodes.v[i], home);
		add_node(&p->regions.v[nloops], &p->nodes.v[i], home);
	}
	for (uint32_t edge = 0; edge < p->nedges; edge++) {
		uint32_t l = p->flow->blocks[p->edges.v[edge].to].loop;

		for (; p->edges.v[edge].values && l != TRAMP_NONE; l = p->flow->loops[l].parent)
			p->regions.v[l].avoid |= p->edges.v[edge].values;
		p->regions.v[nloops].avoid |= p->edges.v[edge].values;
	}
}

static void choose_for(struct mp_region *r)
{
	mp_set free = USABLE & ~r->named;

	if (!r->writes || !free)
		return;
	if (free & ~r->avoid)
		free &= ~r->avoid;
	for (unsigned int reg = 16; reg-- > 0;) {
		if (free >> reg & 1 && (r->reg == RT_MEM_NO_REG || r->busy[reg] < r->busy[r->reg] ||
					(r->busy[reg] == r->busy[r->reg] && r->live >> r->reg & 1 &&
					 !(r->live >> reg & 1))))
			r->reg = (uint8_t)reg;
	}
}

/* Inner loops have what those around them have, if they have one. */
static void choose_for_all(struct mp *p)
{
	uint32_t nloops = p->flow->nloops;

	choose_for(&p->regions.v[nloops]);
	for (uint32_t l = nloops; l-- > 0;) {
		uint32_t parent = p->flow->loops[l].parent;
		struct mp_region *around = &p->regions.v[parent == TRAMP_NONE ? nloops : parent];

		choose_for(&p->regions.v[l]);
		if (around->reg != RT_MEM_NO_REG) {
			p->regions.v[l].reg = around->reg;
			p->regions.v[l].live = around->live;
		}
	}
}

/* ---- the others ---- */

/* The node that most often follows; TRAMP_NONE. */
static uint32_t usual_successor(const struct mp *p, uint32_t i)
{
	const struct mem_node *n = &p->plan->nodes[i];
	const struct mp_block *b = &p->blocks.v[n->block];
	const struct mp_edge *t, *e;

	if (!p->nodes.v[i].stays)
		return TRAMP_NONE;
	if (!n->last)
		return i + 1;
	t = b->succ[MP_TARGET] == TRAMP_NONE ? NULL : &p->edges.v[b->succ[MP_TARGET]];
	e = b->succ[MP_NEXT] == TRAMP_NONE ? NULL : &p->edges.v[b->succ[MP_NEXT]];
	if (!t || (e && e->freq >= t->freq))
		t = e;
	return p->plan->body[t->to];
}

/* The predecessor that comes most often and has a register; TRAMP_NONE. */
static uint32_t predecessor(const struct mp *p, uint32_t i)
{
	const struct mem_node *n = &p->plan->nodes[i];
	const struct mp_block *b = &p->blocks.v[n->block];
	uint32_t best = TRAMP_NONE;
	float freq = -1;

	if (n->first && (!p->nodes.v[i - 1].stays || p->plan->nodes[i - 1].reg == RT_MEM_NO_REG))
		return TRAMP_NONE;
	if (n->first)
		return i - 1;
	for (uint32_t k = 0; k < b->npreds; k++) {
		const struct mp_edge *edge = &p->edges.v[p->preds.v[b->pred + k]];
		uint32_t from = edge->from == TRAMP_NONE ? TRAMP_NONE : mp_last_node(p, edge->from);

		if (from == TRAMP_NONE || p->plan->nodes[from].reg == RT_MEM_NO_REG ||
		    edge->freq <= freq)
			continue;
		best = from;
		freq = edge->freq;
	}
	return best;
}

static unsigned int pick(const struct mp *p, uint32_t i)
{
	mp_set free = USABLE & ~p->nodes.v[i].named;
	uint32_t at = i;

	for (int k = 0; k < LOOKAHEAD; k++) {
		at = usual_successor(p, at);
		if (at == TRAMP_NONE || !(free & ~p->nodes.v[at].named))
			break;
		free &= ~p->nodes.v[at].named;
	}
	if (free & ~p->nodes.v[i].live)
		free &= ~p->nodes.v[i].live;
	if (free & TRAMP_REG(MP_CARRIER))
		return MP_CARRIER;
	return 31 - (unsigned int)__builtin_clz(free);
}

/* Will something be written soon, that the register could stay for? */
static bool passes(const struct mp *p, uint32_t i, unsigned int reg)
{
	for (int k = 0; k < LOOKAHEAD; k++) {
		i = usual_successor(p, i);
		if (i == TRAMP_NONE || p->nodes.v[i].named >> reg & 1)
			return false;
		if (p->nodes.v[i].bytes)
			return true;
	}
	return false;
}

static void choose(struct mp *p, uint32_t i)
{
	struct mem_node *n = &p->plan->nodes[i];
	const struct mp_node *side = &p->nodes.v[i];
	uint32_t from = mp_rung(p, TRAMP_MEM_RESIDENT) ? predecessor(p, i) : TRAMP_NONE;

	if (from != TRAMP_NONE && !(side->named >> p->plan->nodes[from].reg & 1) &&
	    (side->bytes || passes(p, i, p->plan->nodes[from].reg))) {
		n->reg = p->plan->nodes[from].reg;
		n->parked = p->plan->nodes[from].parked || side->live >> n->reg & 1;
	} else if (side->bytes) {
		n->reg = (uint8_t)pick(p, i);
		n->parked = side->live >> n->reg & 1;
	}
}

static void assign(struct mp *p, uint32_t i)
{
	struct mem_node *n = &p->plan->nodes[i];
	uint32_t loop = p->flow->blocks[n->block].loop;
	const struct mp_region *r = &p->regions.v[loop == TRAMP_NONE ? p->flow->nloops : loop];

	if (r->reg == RT_MEM_NO_REG || !mp_rung(p, TRAMP_MEM_RESIDENT)) {
		choose(p, i);
	} else if (p->nodes.v[i].bytes || p->nodes.v[i].stays) {
		n->reg = r->reg;
		n->parked = r->live >> r->reg & 1;
	}
}

bool mp_choose_regs(struct mp *p)
{
	if (!mp_reserve(p, &p->nodes, p->nbody) ||
	    !mp_reserve(p, &p->regions, (size_t)p->flow->nloops + 1))
		return false;
	for (uint32_t i = 0; i < p->nbody; i++)
		init_node(p, i);
	fill_regions(p);
	choose_for_all(p);
	for (uint32_t k = 0; k < p->flow->nblocks; k++) {
		uint32_t block = p->order.v[k];

		for (uint32_t i = p->plan->body[block]; i <= mp_last_node(p, block); i++)
			assign(p, i);
	}
	return true;
}
