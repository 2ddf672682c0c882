// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How a function is instrumented for memory: the steps, one behind the other.
 */
#include <string.h>

#include "trampolines/x86-64/decode.h"
#include "trampolines/x86-64/memplanpriv.h"

bool mp_grow(struct mp *p, void **v, size_t *room, size_t n, size_t size)
{
	size_t more = *room ? *room : 16;
	void *new;

	if (n <= *room)
		return true;
	while (more < n)
		more *= 2;
	new = reallocarray(*v, more, size);
	if (!new) {
		p->lost = true;
		return false;
	}
	*v = new;
	*room = more;
	return true;
}

/* Stays where it is, when the block is copied: control comes to what is behind it. */
static bool is_bare(const struct mp *p, const struct tramp_block *b)
{
	uint64_t addr = tramp_code_base(p->flow->code) + b->start;
	size_t left = 0;
	const uint8_t *bytes = tramp_code_at(p->flow->code, addr, &left);

	return b->nops == 1 && b->ends == TRAMP_END_FALL && bytes && tramp_endbr64_size(bytes, left);
}

/* From another thread's pool, it may be. */
static bool is_entered(const struct tramp_block *b)
{
	return b->flags & TRAMP_BLOCK_ENTRY || (b->flags & TRAMP_BLOCK_EXTERNAL &&
						!(b->flags & (TRAMP_BLOCK_TABLE | TRAMP_BLOCK_PAD)));
}

static bool find_ways_in(struct mp *p)
{
	uint32_t n = p->flow->nblocks;

	if (!mp_reserve(p, &p->blocks, n))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];

		p->blocks.v[i] = (struct mp_block){ .outside = b->flags != 0, .owner = is_entered(b) };
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct tramp_block *b = &p->flow->blocks[i];
		struct mp_block *next = b->next == TRAMP_NONE ? NULL : &p->blocks.v[b->next];
		struct mp_block *target = b->target == TRAMP_NONE ? NULL : &p->blocks.v[b->target];
		bool kernel = b->nops && p->insns.v[b->op + b->nops - 1].cuts;

		if (next && (kernel || is_bare(p, b)))
			*next = (struct mp_block){ .outside = true, .owner = true };
		if (target && kernel)
			*target = (struct mp_block){ .outside = true, .owner = true };
	}
	return true;
}

/* Each node has a header, and goes home. */
static void link_nodes(struct mp *p)
{
	struct mem_plan *plan = p->plan;

	for (uint32_t i = 0; i < plan->nnodes; i++) {
		struct mem_node *n = &plan->nodes[i];
		const struct tramp_block *b = &p->flow->blocks[n->block];

		n->header = true;
		n->leaves = mp_insn_of(p, n, n->nops - 1)->leaves;
		n->owner = n->first ? mp_insn_of(p, n - 1, n[-1].nops - 1)->cuts : p->blocks.v[n->block].owner;
		if (!n->last) {
			n->next = i + 1;
			continue;
		}
		n->target = b->target == TRAMP_NONE ? TRAMP_NONE : plan->body[b->target];
		n->next = b->next == TRAMP_NONE ? TRAMP_NONE : plan->body[b->next];
	}
	for (uint32_t i = 0; i < p->flow->nblocks; i++)
		plan->entry[i] = p->blocks.v[i].outside ? plan->body[i] : TRAMP_NONE;
}

static bool plan_all(struct mp *p)
{
	if (!mp_cut(p) || !find_ways_in(p) || !mp_know(p) || !mp_reserve(p, &p->nodes, p->plan->nnodes))
		return false;
	link_nodes(p);
	mp_choose_regs(p);
	mp_place_checks(p);
	return mp_describe(p);
}

enum tramp_mirror_status mem_plan(struct mem_plan *plan, const struct tramp_mem_env *env,
				  const struct tramp_flow *flow, uint64_t load_addr)
{
	enum tramp_mirror_status status;
	struct mp *p = plan->priv ? plan->priv : calloc(1, sizeof(*p));

	if (!p)
		return TRAMP_MIRROR_MEMORY;
	plan->priv = p;
	p->plan = plan;
	p->env = env;
	p->flow = flow;
	p->load_addr = load_addr;
	p->lost = false;
	if (flow->flags & (TRAMP_FLOW_BAD_CODE | TRAMP_FLOW_OVERLAP) || flow->entry >= flow->nblocks)
		return TRAMP_MIRROR_BAD_CODE;
	status = mp_read_facts(p);
	if (status == TRAMP_MIRROR_OK && (!plan_all(p) || p->lost))
		status = TRAMP_MIRROR_MEMORY;
	return status;
}

void mem_plan_free(struct mem_plan *plan)
{
	struct mp *p = plan->priv;

	if (p) {
		free(p->facts.v);
		free(p->insns.v);
		free(p->nodes.v);
		free(p->blocks.v);
		free(p);
	}
	free(plan->nodes);
	free(plan->actions);
	free(plan->ops);
	free(plan->md);
	free(plan->entry);
	free(plan->body);
	*plan = (struct mem_plan){ 0 };
}
