// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memplan/check.h"

#include <stdlib.h>
#include <string.h>

struct check {
	const struct mem_plan *plan;
	const struct tramp_mem_env *env;
	const struct tramp_flow *flow;
	struct tramp_mem_facts *facts;	/* by instruction */
	struct state *in;		/* by node */
	uint32_t *since;
	bool *visited;			/* likewise */
	uint64_t load_addr;
};

/* Registers whose values the machine has, and conditions that are in its flags as they are in the program's. */
struct state {
	uint32_t right;
	uint16_t conds;
	bool seen;
};

static unsigned int op_bytes(const struct md_op *op)
{
	unsigned int lanes = MD_LANES_COUNT(op->imm), n = 0;

	switch (op->code) {
	case MD_VALUE:
		return 8;
	case MD_VALUE_U32:
	case MD_VALUE_S32:
		return 4;
	case MD_STRING:
		return op->index != MD_NONE && op->scale == 1 ? 8 : 0;
	case MD_GATHER:
		n = lanes * MD_LANES_INDEX(op->imm);
		break;
	case MD_MASKED:
	case MD_PACKED:
		break;
	default:
		return 0;
	}
	switch (MD_LANES_MASK(op->imm)) {
	case MD_MASK_VECTOR:
		return n + lanes * op->width;
	case MD_MASK_BITS:
		return n + 8;
	case MD_MASK_BYTES:
		return n + (lanes + 3) / 4 * 4;
	default:
		return n;
	}
}

unsigned int memplan_consumed(const struct mem_plan *plan, uint32_t node)
{
	const struct md_node *md = &plan->md[node];
	unsigned int n = md->flags & MD_NODE_HEADER ? 4 : 0;

	for (uint32_t k = 0; k < md->nops; k++)
		n += op_bytes(&plan->ops[md->op + k]);
	return n;
}

static const struct tramp_op *insn(const struct check *c, const struct mem_node *n, uint32_t k)
{
	return &c->flow->ops[c->flow->blocks[n->block].op + n->first + k];
}

static const struct tramp_mem_facts *facts_of(const struct check *c, const struct mem_node *n, uint32_t k)
{
	return &c->facts[c->flow->blocks[n->block].op + n->first + k];
}

static bool is_jump(const struct tramp_op *op)
{
	return op->kind != TRAMP_OP_PLAIN && op->kind != TRAMP_OP_RIP && op->kind != TRAMP_OP_LOOP;
}

/* ---- one node ---- */

static unsigned int action_bytes(const struct check *c, const struct mem_node *n, const struct mem_action *a)
{
	const struct tramp_mem_facts *f;

	if (a->code != MEM_STORE_EXTRA)
		return a->code == MEM_STORE8 ? 8 : a->code == MEM_STORE4 ? 4 : 0;
	f = facts_of(c, n, a->before - (a->what == TRAMP_STORE_GPR_AFTER));
	for (unsigned int k = 0; k < f->nextras; k++) {
		if (f->extras[k].what == a->what && f->extras[k].reg == a->reg)
			return f->extras[k].bytes;
	}
	return UINT16_MAX;
}

static const char *check_actions(const struct check *c, const struct mem_node *n)
{
	unsigned int at = n->header ? 4 : 0, before = 0;

	for (uint32_t k = 0; k < n->nactions; k++) {
		const struct mem_action *a = &c->plan->actions[n->action + k];
		bool first = a->code == MEM_CHECK && a->at == 0 && a->before == 0 && k == 0;

		if (a->before < before || a->before > n->nops)
			return "actions out of order";
		if (a->before == n->nops && n->nops && is_jump(insn(c, n, n->nops - 1)))
			return "an action behind a jump";
		if (a->at != at && !first)
			return "an action at a wrong offset";
		if (a->code != MEM_CHECK && a->code != MEM_STORE_EXTRA && a->reg == n->reg)
			return "the pointer's register is stored";
		before = a->before;
		at += action_bytes(c, n, a);
	}
	return at == n->bytes ? NULL : "actions do not add up";
}

static const char *check_bytes(const struct check *c, uint32_t i)
{
	const struct mem_node *n = &c->plan->nodes[i];
	const struct md_node *md = &c->plan->md[i];

	if (md->bytes != n->bytes || memplan_consumed(c->plan, i) != n->bytes)
		return "not as many bytes as the reader takes";
	if (!(md->flags & MD_NODE_HEADER) != !n->header || md->op != n->op || md->nops != n->nmdops)
		return "node and description differ";
	if (n->bytes && n->reg == RT_MEM_NO_REG)
		return "writes without a pointer";
	return check_actions(c, n);
}

static const char *check_reg(const struct check *c, const struct mem_node *n)
{
	const struct tramp_block *b = &c->flow->blocks[n->block];
	tramp_regs bit, live = b->live_in;

	if (n->reg == RT_MEM_NO_REG)
		return n->kept ? "keeps no pointer" : NULL;
	if (n->reg > 15 || n->reg == TRAMP_RSP)
		return "no register for a pointer";
	bit = TRAMP_REG(n->reg);
	if (n->nops && n->first)
		live = tramp_flow_live_at(c->flow, n->block, b->op + n->first);
	if (!n->parked && live & bit)
		return "the pointer's register is live";
	for (uint32_t k = 0; k < n->nops; k++) {
		const struct tramp_op *op = insn(c, n, k);

		if (!is_jump(op) && (op->use | op->def) & bit)
			return "the pointer's register is named";
		if (facts_of(c, n, k)->need & bit && c->env->stack)
			return "the pointer's register is needed";
	}
	return NULL;
}

/* ---- ways on ---- */

static const char *check_next(const struct check *c, uint32_t i, uint32_t next)
{
	const struct mem_node *n = &c->plan->nodes[i], *to;
	uint8_t end = c->plan->ops[n->op + n->nmdops - 1].code;

	if (next == TRAMP_NONE)
		return NULL;
	if (next >= c->plan->nnodes)
		return "leads to no node";
	to = &c->plan->nodes[next];
	if (end == MD_NEXT && !to->header)
		return "a header is missing";
	if (n->kept && (to->reg != n->reg || to->parked != n->parked))
		return "the pointer is kept for another register";
	return NULL;
}

static const char *check_end(const struct check *c, uint32_t i)
{
	const struct mem_node *n = &c->plan->nodes[i];
	const struct md_op *end = &c->plan->ops[n->op + n->nmdops - 1];
	const char *wrong = check_next(c, i, n->target);

	if (end->code == MD_GOTO && !((uint32_t)end->imm == n->target && n->next == TRAMP_NONE) &&
	    !((uint32_t)end->imm == n->next && n->target == TRAMP_NONE))
		return "goes elsewhere";
	if (end->code == MD_IF && ((uint32_t)end->imm != n->target || (uint64_t)end->imm >> 32 != n->next))
		return "branches elsewhere";
	if (end->code == MD_PEEK && !((uint32_t)end->imm == n->target && (uint64_t)end->imm >> 32 == n->next) &&
	    !((uint32_t)end->imm == n->next && (uint64_t)end->imm >> 32 == n->target))
		return "looks for something else";
	if (end->code != MD_GOTO && end->code != MD_IF && end->code != MD_PEEK && end->code != MD_NEXT)
		return "no end";
	if (n->kept && n->nops && n->last && c->flow->blocks[n->block].ends != TRAMP_END_FALL &&
	    c->flow->blocks[n->block].ends != TRAMP_END_JMP && c->flow->blocks[n->block].ends != TRAMP_END_JCC)
		return "keeps the pointer where control leaves";
	return wrong ? wrong : check_next(c, i, n->next);
}

/* ---- what the next word tells ---- */

static bool is_entry(const struct check *c, uint32_t node)
{
	for (uint32_t b = 0; b < c->flow->nblocks; b++) {
		if (c->plan->entry[b] == node && !c->plan->polled[b])
			return true;
	}
	return false;
}

static const char *follow(struct check *c, uint32_t from, uint32_t other);

/* On the ways that lead to @i, may the first word be another one than a header, or that of @other? */
static const char *check_first(struct check *c, uint32_t i, uint32_t other)
{
	const struct mem_node *n = &c->plan->nodes[i];

	if (n->header)
		return i == other ? "a header tells nothing" : NULL;
	if (n->bytes)
		return "a value may be taken for a header";
	if (c->visited[i])
		return NULL;
	c->visited[i] = true;
	return follow(c, i, other);
}

static const char *follow(struct check *c, uint32_t from, uint32_t other)
{
	const struct mem_node *n = &c->plan->nodes[from];
	const char *wrong = n->target == TRAMP_NONE ? NULL : check_first(c, n->target, other);
	bool leaves = (n->target == TRAMP_NONE && n->next == TRAMP_NONE) ||
		      (n->nops && n->last && c->flow->blocks[n->block].ends == TRAMP_END_TAIL_JCC);

	if (!wrong && n->next != TRAMP_NONE)
		wrong = check_first(c, n->next, other);
	if (!wrong && leaves && is_entry(c, other))
		wrong = "a header may come from elsewhere";
	return wrong;
}

static const char *check_peek(struct check *c, uint32_t i)
{
	const struct mem_node *n = &c->plan->nodes[i];
	const struct md_op *end = &c->plan->ops[n->op + n->nmdops - 1];

	if (end->code != MD_PEEK)
		return NULL;
	memset(c->visited, 0, c->plan->nnodes);
	if (!c->plan->nodes[(uint32_t)end->imm].header)
		return "looks for something without a header";
	return check_first(c, (uint32_t)((uint64_t)end->imm >> 32), (uint32_t)end->imm);
}

static const char *check_entries(const struct check *c, uint32_t *node)
{
	for (uint32_t b = 0; b < c->flow->nblocks; b++) {
		const struct mem_node *n;

		*node = c->plan->entry[b];
		if (*node == TRAMP_NONE) {
			if (c->flow->blocks[b].flags)
				return "control from elsewhere finds no node";
			continue;
		}
		n = &c->plan->nodes[*node];
		if (!n->header)
			return "entered without a header";
		if (c->flow->blocks[b].flags & TRAMP_BLOCK_ENTRY && !n->owner)
			return "the owner is not looked at";
		if (c->plan->actions[n->action].code != MEM_CHECK || c->plan->actions[n->action].at)
			return "entered without a look at the room";
	}
	return NULL;
}

/* ---- what the machine knows ---- */

static uint32_t bit(unsigned int reg)
{
	return reg < MD_FS ? UINT32_C(1) << reg : 0;
}

static uint32_t reads(const struct md_op *op)
{
	uint32_t set = bit(op->base) | bit(op->index);

	if (op->code <= MD_VALUE_S32)
		return 0;
	if (op->code == MD_STRING)
		set |= bit(TRAMP_RSI) | bit(TRAMP_RDI);
	if (op->code == MD_STRING && (op->dst == MD_STOS || op->dst == MD_SCAS))
		set &= ~bit(TRAMP_RSI);
	if (op->code == MD_STRING && op->dst == MD_LODS)
		set &= ~bit(TRAMP_RDI);
	if (op->code >= MD_LEA && op->code <= MD_SELECT && op->width < 4)
		set |= bit(op->dst);
	return set;
}

static bool computes(const struct md_op *op)
{
	return op->code <= MD_ZEXT;
}

/* After instruction k: what it writes is right only if it was computed. */
static void pass_insn(const struct tramp_mem_facts *f, const struct tramp_op *op, uint32_t made, bool flags,
		      struct state *s)
{
	uint32_t written = f->kills;

	for (unsigned int k = 0; k < f->ncomputes; k++)
		written |= f->writes[k];
	s->right = ((s->right & ~written) | (made & ~f->kills)) & TRAMP_GPRS;
	if (f->flags_effect != TRAMP_FLAGS_KEPT)
		s->conds = flags ? f->flags_valid : 0;
	if (op->kind == TRAMP_OP_SYSCALL || op->kind == TRAMP_OP_TRAP || op->kind == TRAMP_OP_CALL ||
	    op->kind == TRAMP_OP_CALL_IND)
		s->right = s->conds = 0;
}

static const char *run_insn(const struct check *c, const struct mem_node *n, uint32_t k, uint32_t *at,
			    struct state *s)
{
	uint32_t made = 0;
	bool flags = false;
	unsigned int off = n->nops ? insn(c, n, k)->off - insn(c, n, 0)->off : 0;

	for (; *at < n->nmdops - 1; ++*at) {
		const struct md_op *op = &c->plan->ops[n->op + *at];

		if (op->insn != off)
			break;
		if (reads(op) & ~s->right)
			return "something is read that the reader does not know";
		if (op->code == MD_SELECT && (flags || !(s->conds >> op->scale & 1)))
			return "a selection without flags";
		if (op->code == MD_FLAGS)
			flags = true;
		if (!computes(op))
			continue;
		s->right |= bit(op->dst);
		if (op->code > MD_VALUE_S32)
			made |= bit(op->dst);
	}
	if (n->nops)
		pass_insn(facts_of(c, n, k), insn(c, n, k), made, flags, s);
	return NULL;
}

static const char *run_node(const struct check *c, const struct mem_node *n, struct state *s)
{
	const struct md_op *end = &c->plan->ops[n->op + n->nmdops - 1];
	uint32_t at = 0;
	const char *wrong = NULL;

	for (uint32_t k = 0; !wrong && k < (n->nops ? n->nops : 1); k++)
		wrong = run_insn(c, n, k, &at, s);
	if (!wrong && at != n->nmdops - 1)
		wrong = "operations out of order";
	if (!wrong && end->code == MD_IF && !(s->conds >> end->scale & 1))
		wrong = "a branch without flags";
	return wrong;
}

static bool meet(struct state *s, const struct state *with)
{
	struct state was = *s;

	if (!s->seen) {
		*s = *with;
		s->seen = true;
		return true;
	}
	s->right &= with->right;
	s->conds &= with->conds;
	return s->right != was.right || s->conds != was.conds;
}

static bool pass_node(const struct check *c, uint32_t i)
{
	const struct mem_node *n = &c->plan->nodes[i];
	struct state s = c->in[i];
	bool changed = false;

	if (!s.seen)
		return false;
	run_node(c, n, &s);
	if (n->target != TRAMP_NONE)
		changed |= meet(&c->in[n->target], &s);
	if (n->next != TRAMP_NONE)
		changed |= meet(&c->in[n->next], &s);
	return changed;
}

static const char *check_known(const struct check *c, uint32_t *node)
{
	const struct state nothing = { .seen = true };
	bool changed = true;

	for (uint32_t b = 0; b < c->flow->nblocks; b++) {
		if (c->plan->entry[b] != TRAMP_NONE)
			meet(&c->in[c->plan->entry[b]], &nothing);
	}
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < c->plan->nnodes; i++)
			changed |= pass_node(c, i);
	}
	for (*node = 0; *node < c->plan->nnodes; ++*node) {
		struct state s = c->in[*node];
		const char *wrong = s.seen ? run_node(c, &c->plan->nodes[*node], &s) : NULL;

		if (wrong)
			return wrong;
	}
	return NULL;
}

/* ---- room ---- */

static bool has_check(const struct check *c, const struct mem_node *n)
{
	for (uint32_t k = 0; k < n->nactions; k++) {
		if (c->plan->actions[n->action + k].code == MEM_CHECK)
			return true;
	}
	return false;
}

static bool raise(uint32_t *since, uint32_t node, uint32_t to)
{
	if (node == TRAMP_NONE || since[node] >= to)
		return false;
	since[node] = to;
	return true;
}

static const char *check_room(const struct check *c, uint32_t *node)
{
	bool changed = true;

	for (uint32_t b = 0; b < c->flow->nblocks; b++)
		raise(c->since, c->plan->entry[b], c->env->slack / 2);
	while (changed) {
		changed = false;
		for (*node = 0; *node < c->plan->nnodes; ++*node) {
			const struct mem_node *n = &c->plan->nodes[*node];
			uint32_t to = n->bytes + (has_check(c, n) ? 0 : c->since[*node]);

			if (to > c->env->slack)
				return "too much is written without a look at the room";
			if (n->target == TRAMP_NONE && n->next == TRAMP_NONE && n->bytes && to > c->env->slack / 2)
				return "too much is written when control leaves";
			changed |= raise(c->since, n->target, to);
			changed |= raise(c->since, n->next, to);
		}
	}
	return NULL;
}

/* ---- all ---- */

static const char *check_nodes(struct check *c, uint32_t *node)
{
	const char *wrong = NULL;

	for (*node = 0; !wrong && *node < c->plan->nnodes; ++*node) {
		wrong = check_bytes(c, *node);
		if (!wrong)
			wrong = check_reg(c, &c->plan->nodes[*node]);
		if (!wrong)
			wrong = check_end(c, *node);
		if (!wrong)
			wrong = check_peek(c, *node);
		if (wrong)
			break;
	}
	return wrong;
}

static bool read_facts(struct check *c)
{
	uint64_t base = tramp_code_base(c->flow->code);

	for (uint32_t k = 0; k < c->flow->nops; k++) {
		const struct tramp_op *op = &c->flow->ops[k];
		size_t left;
		const uint8_t *bytes = tramp_code_at(c->flow->code, base + op->off, &left);

		if (!tramp_mem_insn(bytes, op->len, base + op->off, c->load_addr, &c->facts[k]))
			return false;
	}
	return true;
}

const char *memplan_check(const struct mem_plan *plan, const struct tramp_mem_env *env,
			  const struct tramp_flow *flow, uint64_t load_addr, uint32_t *node)
{
	struct check c = {
		.plan = plan, .env = env, .flow = flow, .load_addr = load_addr,
		.facts = calloc(flow->nops, sizeof(*c.facts)),
		.in = calloc(plan->nnodes, sizeof(*c.in)),
		.since = calloc(plan->nnodes, sizeof(*c.since)),
		.visited = calloc(plan->nnodes, sizeof(*c.visited)),
	};
	const char *wrong = "no memory";

	*node = 0;
	if (c.facts && c.in && c.since && c.visited)
		wrong = read_facts(&c) ? check_nodes(&c, node) : "no instruction";
	if (!wrong)
		wrong = check_entries(&c, node);
	if (!wrong)
		wrong = check_known(&c, node);
	if (!wrong)
		wrong = check_room(&c, node);
	free(c.facts);
	free(c.in);
	free(c.since);
	free(c.visited);
	return wrong;
}
