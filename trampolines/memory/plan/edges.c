// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How nodes are linked, and the EDGE nodes between them: that hold values, or a header for ways that are not
 * known, or bring the pointer home.
 */
#include "trampolines/memory/plan/passes.h"

static struct mem_node *body_of(const struct mp *p, uint32_t block)
{
	return &p->plan->nodes[p->plan->body[block]];
}

static bool same_place(const struct mem_node *a, const struct mem_node *b)
{
	return a->reg != RT_MEM_NO_REG && a->reg == b->reg && a->parked == b->parked;
}

/* ---- where the pointer stays in its register ---- */

/* Can a way begin with the pointer in its node's register? */
static bool can_keep(const struct mp *p, const struct mem_node *n, uint32_t way)
{
	return way == TRAMP_NONE || !(p->ways.v[way].values >> n->reg & 1);
}

static void choose_kept(struct mp *p, uint32_t i)
{
	struct mem_node *n = &p->plan->nodes[i];
	const struct mp_block *b = &p->blocks.v[n->block];

	if (!mp_rung(p, TRAMP_MEM_RESIDENT) || !p->nodes.v[i].goes_on || n->reg == RT_MEM_NO_REG)
		return;
	if (!n->last) {
		n->kept = same_place(n, n + 1);
		return;
	}
	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (!can_keep(p, n, b->way[k])) {
			n->kept = false;
			return;
		}
		if (b->way[k] != TRAMP_NONE)
			n->kept |= same_place(n, body_of(p, p->ways.v[b->way[k]].to));
	}
}

/* ---- EDGE nodes ---- */

/* From a node, or from elsewhere: NULL. */
static bool needs_edge(const struct mp *p, const struct mem_node *from, const struct mp_way *w)
{
	const struct mem_node *to = body_of(p, w->to);

	return w->values || !(w->implied || to->header) || (from && from->kept && !same_place(from, to));
}

/* A register for it that is not among its values; then the pointer is at home behind it. */
static void choose_reg(const struct mp *p, const struct mp_way *w, struct mem_node *e)
{
	tramp_regs live = p->flow->blocks[w->to].live_in;
	mp_set free = TRAMP_GPRS & ~(TRAMP_REG(TRAMP_RSP) | w->values);

	if (free & ~live)
		free &= ~live;
	e->reg = (uint8_t)(31 - __builtin_clz(free));
	e->parked = live >> e->reg & 1;
}

static void place_edge(const struct mp *p, const struct mem_node *from, const struct mp_way *w,
		       struct mem_node *e)
{
	const struct mem_node *to = body_of(p, w->to);

	if (from && from->kept) {
		e->reg = from->reg;
		e->parked = from->parked;
		e->kept = same_place(from, to);
	} else if (!e->header && !w->values) {
		return;
	} else if (mp_rung(p, TRAMP_MEM_RESIDENT) && to->reg != RT_MEM_NO_REG &&
		   !(w->values >> to->reg & 1)) {
		e->reg = to->reg;
		e->parked = to->parked;
		e->kept = true;
	} else {
		choose_reg(p, w, e);
	}
}

/* Control that comes from elsewhere has a header of its own: others may be told by that it is not theirs. */
static bool same_edge(const struct mp *p, uint32_t i, const struct mem_node *e, const struct mp_way *w)
{
	const struct mem_node *n = &p->plan->nodes[i];
	const struct mp_node *side = &p->nodes.v[i];

	return side->elsewhere == (w->from == TRAMP_NONE) && !side->own && !w->own && n->reg == e->reg && n->parked == e->parked && n->kept == e->kept &&
	       n->header == e->header && n->owner == e->owner && side->values == w->values &&
	       side->u32 == w->u32 && side->s32 == w->s32;
}

static bool add_edge(struct mp *p, const struct mp_way *w, const struct mem_node *e, uint32_t *index)
{
	struct mem_plan *plan = p->plan;
	struct mp_block *to = &p->blocks.v[w->to];
	struct mp_node *side;

	if (!mp_grow(p, (void **)&plan->nodes, &plan->room_nodes, plan->nnodes + 1,
		     sizeof(*plan->nodes)) ||
	    !mp_reserve(p, &p->nodes, plan->nnodes + 1))
		return false;
	*index = (uint32_t)plan->nnodes++;
	plan->nodes[*index] = *e;
	side = &p->nodes.v[*index];
	*side = (struct mp_node){
		.check = TRAMP_NONE, .cycle = TRAMP_NONE, .more = to->edges, .goes_on = true,
		.elsewhere = w->from == TRAMP_NONE, .own = w->own,
		.values = w->values, .u32 = w->u32, .s32 = w->s32, .live = p->flow->blocks[w->to].live_in,
		.end = body_of(p, w->to)->header ? MD_NEXT : MD_GOTO,
		.bytes = (e->header ? MP_HEADER : 0) + mp_bytes(w->values, w->u32 | w->s32),
	};
	to->edges = *index;
	return true;
}

/* The node that the way leads to. */
static bool find_edge(struct mp *p, uint32_t from, struct mp_way *w, uint32_t *index)
{
	const struct mem_node *n = from == TRAMP_NONE ? NULL : &p->plan->nodes[from];
	struct mem_node e = {
		.block = w->to, .reg = RT_MEM_NO_REG, .target = TRAMP_NONE, .next = p->plan->body[w->to],
		.header = !w->implied, .owner = !n && p->blocks.v[w->to].owner,
	};

	*index = p->plan->body[w->to];
	if (!needs_edge(p, n, w))
		return true;
	place_edge(p, n, w, &e);
	*index = p->blocks.v[w->to].edges;
	while (*index != TRAMP_NONE && !same_edge(p, *index, &e, w))
		*index = p->nodes.v[*index].more;
	if (*index == TRAMP_NONE && !add_edge(p, w, &e, index))
		return false;
	p->nodes.v[*index].freq += w->freq;
	return true;
}

/* ---- links ---- */

static bool link_ways(struct mp *p, uint32_t block)
{
	const struct mp_block *b = &p->blocks.v[block];
	uint32_t last = mp_last_node(p, block), to[2] = { TRAMP_NONE, TRAMP_NONE };

	for (uint32_t k = MP_TARGET; k <= MP_NEXT; k++) {
		if (b->way[k] != TRAMP_NONE && !find_edge(p, last, &p->ways.v[b->way[k]], &to[k]))
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
	if (b->elsewhere == TRAMP_NONE)
		return true;
	if (b->polled) {
		p->plan->entry[block] = p->plan->body[block];
		return true;
	}
	if (!find_edge(p, TRAMP_NONE, &p->ways.v[b->elsewhere], &p->plan->entry[block]))
		return false;
	p->plan->nodes[p->plan->entry[block]].owner |= b->owner;
	return true;
}

/* Behind a system call at a block's end control comes as if from elsewhere. */
static void link_behind_kernel(struct mp *p, uint32_t block)
{
	const struct tramp_block *b = &p->flow->blocks[block];
	struct mem_node *n = &p->plan->nodes[mp_last_node(p, block)];

	if (!mp_insn_of(p, n, n->nops - 1)->cuts)
		return;
	n->target = b->target == TRAMP_NONE ? TRAMP_NONE : p->plan->entry[b->target];
	n->next = b->next == TRAMP_NONE ? TRAMP_NONE : p->plan->entry[b->next];
}

bool mp_link(struct mp *p)
{
	for (uint32_t i = 0; i < p->nbody; i++) {
		choose_kept(p, i);
		if (!p->plan->nodes[i].last)
			p->plan->nodes[i].next = i + 1;
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++) {
		if (!link_ways(p, i) || !link_entry(p, i))
			return false;
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		link_behind_kernel(p, i);
	for (uint32_t i = 0; i < p->plan->nnodes; i++) {
		struct mem_node *n = &p->plan->nodes[i];

		n->owner_flags = n->owner && p->nodes.v[i].live & TRAMP_STATUS;
	}
	return true;
}
