// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Runs the passes that plan how a function is instrumented for memory.
 */
#include "trampolines/memory/plan/passes.h"

static const struct {
	const char *name;
	bool (*run)(struct mp *p);
} passes[] = {
	{ "facts", mp_read_facts },
	{ "entries", mp_find_entries },
	{ "polls", mp_place_polls },
	{ "graph", mp_build_graph },
	{ "weights", mp_weigh },
	{ "branches", mp_decide_branches },
	{ "early", mp_store_early },
	{ "cut", mp_cut_nodes },
	{ "loops", mp_store_before_loops },
	{ "merges", mp_store_at_merges },
	{ "headers", mp_choose_headers },
	{ "computations", mp_want_all },
	{ "registers", mp_choose_regs },
	{ "link", mp_link_nodes },
	{ "room", mp_place_checks },
	{ "describe", mp_describe },
};

enum tramp_mirror_status mem_plan(struct mp *p, struct mem_plan *plan,
				  const struct tramp_mem_env *env, const struct tramp_flow *flow,
				  uint64_t load_addr)
{
	p->plan = plan;
	p->env = env;
	p->flow = flow;
	p->load_addr = load_addr;
	p->status = TRAMP_MIRROR_OK;
	if (flow->flags & TRAMP_FLOW_BAD_CODE || flow->entry >= flow->nblocks)
		return TRAMP_MIRROR_BAD_CODE;
	for (size_t i = 0; i < sizeof(passes) / sizeof(passes[0]); i++) {
		if (!passes[i].run(p))
			return p->status;
		if (p->after)
			p->after(p, passes[i].name, p->arg);
	}
	return TRAMP_MIRROR_OK;
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
	free(p->edges.v);
	free(p->preds.v);
	free(p->order.v);
	free(p->polls.v);
	free(p->weights.v);
	free(p->loop_at.v);
	free(p->members.v);
	free(p->regions.v);
	free(p->nodes.v);
	free(p->stack.v);
	free(p->seen);
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
