// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * How a function is instrumented for memory: the steps, one behind the other.
 */
#include "trampolines/memory/plan/passes.h"

bool mp_grow(struct mp *p, void **v, size_t *room, size_t n, size_t size)
{
	size_t more = *room + *room / 2 + 16;
	void *new;

	if (n <= *room)
		return true;
	more = more > n ? more : n;
	new = reallocarray(*v, more, size);
	if (!new) {
		p->lost = true;
		return false;
	}
	*v = new;
	*room = more;
	return true;
}

static enum tramp_mirror_status plan_all(struct mp *p)
{
	enum tramp_mirror_status status = mp_read_facts(p);

	if (status != TRAMP_MIRROR_OK)
		return status;
	if (!mp_find_ways(p))
		return TRAMP_MIRROR_MEMORY;
	mp_ask(p);
	mp_early(p);
	if (!mp_cut(p) || !mp_hoist(p))
		return TRAMP_MIRROR_MEMORY;
	mp_meet(p);
	if (!mp_choose_headers(p))
		return TRAMP_MIRROR_MEMORY;
	mp_want_all(p);
	if (!mp_choose_regs(p) || !mp_link(p) || !mp_place_checks(p) || !mp_describe(p))
		return TRAMP_MIRROR_MEMORY;
	return TRAMP_MIRROR_OK;
}

enum tramp_mirror_status mem_plan(struct mp *p, struct mem_plan *plan, const struct tramp_mem_env *env,
				  const struct tramp_flow *flow, uint64_t load_addr)
{
	enum tramp_mirror_status status;

	p->plan = plan;
	p->env = env;
	p->flow = flow;
	p->load_addr = load_addr;
	p->lost = false;
	if (flow->flags & TRAMP_FLOW_BAD_CODE || flow->entry >= flow->nblocks)
		return TRAMP_MIRROR_BAD_CODE;
	status = plan_all(p);
	return p->lost ? TRAMP_MIRROR_MEMORY : status;
}

struct mp *mem_planner_new(void)
{
	return calloc(1, sizeof(struct mp));
}

void mem_planner_free(struct mp *p)
{
	if (!p)
		return;
	free(p->facts.v);
	free(p->insns.v);
	free(p->blocks.v);
	free(p->ways.v);
	free(p->preds.v);
	free(p->order.v);
	free(p->polls.v);
	free(p->weights.v);
	free(p->loop_at.v);
	free(p->members.v);
	free(p->regions.v);
	free(p->nodes.v);
	free(p->stack.v);
	free(p);
}

void mem_plan_free(struct mem_plan *plan)
{
	free(plan->nodes);
	free(plan->actions);
	free(plan->ops);
	free(plan->md);
	free(plan->entry);
	free(plan->poll);
	free(plan->polled);
	free(plan->weight);
	free(plan->body);
	*plan = (struct mem_plan){ 0 };
}
