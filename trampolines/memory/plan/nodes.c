// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Nodes: two passes.  Blocks are cut into body nodes, where no register is left that could hold the
 * pointer, after system calls, and where too much would be written.
 *
 * When it is known which edges store values or need a header, the nodes are linked.  EDGE nodes
 * stand on edges that store values or that have a header of their own, and where the pointer has to
 * be brought home.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

/* ---- cutting ---- */

/* That no pointer is put into. */
#define NEVER TRAMP_REG(TRAMP_RSP)

/*
 * How many of the instructions from `first` on make one node; *s: what is known, at worst: nothing at the
 * block's start.
 */
static uint32_t node_length(const struct mp *p, const struct tramp_block *b, uint32_t first,
			    struct mp_state *s)
{
	const struct tramp_op *ops = &p->flow->ops[b->op];
	struct mp_insn *insns = &p->insns.v[b->op];
	unsigned int bytes = MP_HEADER;
	mp_set named = NEVER;
	uint32_t k = first;

	for (; k < b->nops; k++) {
		struct mp_state after = *s;

		mp_step(p, &insns[k], &after);
		bytes += mp_insn_bytes(&insns[k]);
		named |= insns[k].named | insns[k].store;
		if (k > first && (named == TRAMP_GPRS || bytes > MP_NODE_BYTES ||
				  insns[k - 1].cuts || ops[k].off - ops[first].off > UINT16_MAX))
			break;
		*s = after;
	}
	return k - first;
}

static bool add_node(struct mp *p, uint32_t block, uint32_t first, uint32_t nops)
{
	struct mem_plan *plan = p->plan;

	if (!mp_grow(p, plan->nodes, plan->room_nodes, plan->nnodes + 1))
		return false;
	plan->nodes[plan->nnodes++] = (struct mem_node){
		.block = block, .first = first, .nops = nops,
		.target = TRAMP_NONE, .next = TRAMP_NONE, .reg = RT_MEM_NO_REG,
		.last = first + nops == p->flow->blocks[block].nops,
	};
	return true;
}

static bool cut_block(struct mp *p, uint32_t block)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	struct mp_state s = { 0 };
	uint32_t first = 0;

	p->plan->body[block] = (uint32_t)p->plan->nnodes;
	while (first < b->nops) {
		uint32_t n = node_length(p, b, first, &s);

		if (!add_node(p, block, first, n))
			return false;
		first += n;
	}
	return true;
}

bool mp_cut_nodes(struct mp *p)
{
	struct mem_plan *plan = p->plan;
	uint32_t n = p->flow->nblocks;

	plan->nnodes = 0;
	if (!mp_grow(p, plan->body, plan->room_body, n + 1) ||
	    !mp_grow(p, plan->entry, plan->room_entry, n + 1))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		if (!cut_block(p, i))
			return false;
	}
	p->nbody = (uint32_t)plan->nnodes;
	return true;
}

/* ---- linking ---- */

static struct mem_node *body_of(const struct mp *p, uint32_t block)
{
	return &p->plan->nodes[p->plan->body[block]];
}

static bool same_place(const struct mem_node *a, const struct mem_node *b)
{
	return a->reg != RT_MEM_NO_REG && a->reg == b->reg && a->parked == b->parked;
}

/* ---- where the pointer stays in its register ---- */

/* Can the pointer stay in the node's register on the edge? */
static bool can_keep(const struct mp *p, const struct mem_node *n, uint32_t index)
{
	return index == TRAMP_NONE || !(p->edges.v[index].values >> n->reg & 1);
}

static void choose_kept(struct mp *p, uint32_t i)
{
	struct mem_node *n = &p->plan->nodes[i];
	const struct mp_block *b = &p->blocks.v[n->block];

	if (!mp_rung(p, TRAMP_MEM_RESIDENT) || !p->nodes.v[i].stays || n->reg == RT_MEM_NO_REG)
		return;
	if (!n->last) {
		n->kept = same_place(n, n + 1);
		return;
	}
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (!can_keep(p, n, b->succ[k])) {
			n->kept = false;
			return;
		}
		if (b->succ[k] != TRAMP_NONE)
			n->kept |= same_place(n, body_of(p, p->edges.v[b->succ[k]].to));
	}
}

/* ---- EDGE nodes ---- */

/* @from: NULL for an edge from outside. */
static bool needs_edge(const struct mp *p, const struct mem_node *from, const struct mp_edge *edge)
{
	const struct mem_node *to = body_of(p, edge->to);

	return edge->values || !(edge->implied || to->header) ||
	       (from && from->kept && !same_place(from, to));
}

/* A register for it that is not among its values; then the pointer is at home after it. */
static void choose_reg(const struct mp *p, const struct mp_edge *edge, struct mem_node *e)
{
	tramp_regs live = p->flow->blocks[edge->to].live_in;
	mp_set free = TRAMP_GPRS & ~(TRAMP_REG(TRAMP_RSP) | edge->values);

	if (free & ~live)
		free &= ~live;
	e->reg = (uint8_t)(31 - __builtin_clz(free));
	e->parked = live >> e->reg & 1;
}

static void place_edge(const struct mp *p, const struct mem_node *from, const struct mp_edge *edge,
		       struct mem_node *e)
{
	const struct mem_node *to = body_of(p, edge->to);

	if (from && from->kept) {
		e->reg = from->reg;
		e->parked = from->parked;
		e->kept = same_place(from, to);
	} else if (!e->header && !edge->values) {
		return;
	} else if (mp_rung(p, TRAMP_MEM_RESIDENT) && to->reg != RT_MEM_NO_REG &&
		   !(edge->values >> to->reg & 1)) {
		e->reg = to->reg;
		e->parked = to->parked;
		e->kept = true;
	} else {
		choose_reg(p, edge, e);
	}
}

/* An edge from outside shares its header with no other: lookahead may rely on it. */
static bool same_edge(const struct mp *p, uint32_t i, const struct mem_node *e,
		      const struct mp_edge *edge)
{
	const struct mem_node *n = &p->plan->nodes[i];
	const struct mp_node *side = &p->nodes.v[i];

	return side->external == (edge->from == TRAMP_NONE) && !side->own_node && !edge->own_node &&
	       n->reg == e->reg && n->parked == e->parked && n->kept == e->kept &&
	       n->header == e->header && n->owner == e->owner && side->values == edge->values &&
	       side->u32 == edge->u32 && side->s32 == edge->s32;
}

static bool add_edge(struct mp *p, const struct mp_edge *edge, const struct mem_node *e,
		     uint32_t *index)
{
	struct mem_plan *plan = p->plan;
	struct mp_block *to = &p->blocks.v[edge->to];
	struct mp_node *side;

	if (!mp_grow(p, plan->nodes, plan->room_nodes, plan->nnodes + 1) ||
	    !mp_reserve(p, &p->nodes, plan->nnodes + 1))
		return false;
	*index = (uint32_t)plan->nnodes++;
	plan->nodes[*index] = *e;
	side = &p->nodes.v[*index];
	*side = (struct mp_node){
		.check = TRAMP_NONE,
		.cycle = TRAMP_NONE,
		.next_edge_node = to->edge_nodes,
		.stays = true,
		.external = edge->from == TRAMP_NONE,
		.own_node = edge->own_node,
		.values = edge->values,
		.u32 = edge->u32,
		.s32 = edge->s32,
		.live = p->flow->blocks[edge->to].live_in,
		.end = body_of(p, edge->to)->header ? MD_NEXT : MD_GOTO,
		.bytes =
			(e->header ? MP_HEADER : 0) + mp_bytes(edge->values, edge->u32 | edge->s32),
	};
	to->edge_nodes = *index;
	return true;
}

/* The node that the edge leads to. */
static bool find_edge(struct mp *p, uint32_t from, struct mp_edge *edge, uint32_t *index)
{
	const struct mem_node *n = from == TRAMP_NONE ? NULL : &p->plan->nodes[from];
	struct mem_node e = {
		.block = edge->to,
		.reg = RT_MEM_NO_REG,
		.target = TRAMP_NONE,
		.next = p->plan->body[edge->to],
		.header = !edge->implied,
		.owner = !n && p->blocks.v[edge->to].owner,
	};

	*index = p->plan->body[edge->to];
	if (!needs_edge(p, n, edge))
		return true;
	place_edge(p, n, edge, &e);
	*index = p->blocks.v[edge->to].edge_nodes;
	while (*index != TRAMP_NONE && !same_edge(p, *index, &e, edge))
		*index = p->nodes.v[*index].next_edge_node;
	if (*index == TRAMP_NONE && !add_edge(p, edge, &e, index))
		return false;
	p->nodes.v[*index].freq += edge->freq;
	return true;
}

/* ---- links ---- */

static bool link_successors(struct mp *p, uint32_t block)
{
	const struct mp_block *b = &p->blocks.v[block];
	uint32_t last = mp_last_node(p, block), to[2] = { TRAMP_NONE, TRAMP_NONE };

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->succ[k] != TRAMP_NONE &&
		    !find_edge(p, last, &p->edges.v[b->succ[k]], &to[k]))
			return false;
	}
	p->plan->nodes[last].target = to[MP_TARGET];
	p->plan->nodes[last].next = to[MP_NEXT];
	return true;
}

static bool link_entry(struct mp *p, uint32_t block)
{
	const struct mp_block *b = &p->blocks.v[block];

	p->plan->entry[block] = TRAMP_NONE;
	if (b->external_edge == TRAMP_NONE)
		return true;
	if (b->polled) {
		p->plan->entry[block] = p->plan->body[block];
		return true;
	}
	if (!find_edge(p, TRAMP_NONE, &p->edges.v[b->external_edge], &p->plan->entry[block]))
		return false;
	p->plan->nodes[p->plan->entry[block]].owner |= b->owner;
	return true;
}

/* After a system call at a block's end control comes as if from outside. */
static void link_after_kernel(struct mp *p, uint32_t block)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	struct mem_node *n = &p->plan->nodes[mp_last_node(p, block)];

	if (!mp_insn_of(p, n, n->nops - 1)->cuts)
		return;
	n->target = b->target == TRAMP_NONE ? TRAMP_NONE : p->plan->entry[b->target];
	n->next = b->next == TRAMP_NONE ? TRAMP_NONE : p->plan->entry[b->next];
}

bool mp_link_nodes(struct mp *p)
{
	for (uint32_t i = 0; i < p->nbody; i++) {
		choose_kept(p, i);
		if (!p->plan->nodes[i].last)
			p->plan->nodes[i].next = i + 1;
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (!link_successors(p, i) || !link_entry(p, i))
			return false;
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		link_after_kernel(p, i);
	for (uint32_t i = 0; i < p->plan->nnodes; i++) {
		struct mem_node *n = &p->plan->nodes[i];

		n->owner_flags = n->owner && p->nodes.v[i].live & TRAMP_STATUS;
	}
	return true;
}
