// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Actions and operations of the nodes.  Both are made in the same walk, so that what is written and
 * what the reader consumes is the same.
 */
#include <string.h>

#include "trampolines/memory/plan/passes.h"

struct walk {
	struct mp *p;
	struct mem_node *node;
	uint32_t insn;		/* index in the node */
	uint16_t off;		/* offset of the instruction from the node's start */
	uint16_t at;		/* bytes written so far */
	unsigned int accesses;
	bool varies;
};

static bool put_op(struct walk *w, struct md_op op)
{
	struct mem_plan *plan = w->p->plan;

	if (!mp_grow(w->p, plan->ops, plan->room_ops, plan->nops + 1))
		return false;
	op.insn = w->off;
	plan->ops[plan->nops++] = op;
	return true;
}

static bool put_action(struct walk *w, struct mem_action a, unsigned int bytes)
{
	struct mem_plan *plan = w->p->plan;

	if (!mp_grow(w->p, plan->actions, plan->room_actions, plan->nactions + 1))
		return false;
	a.at = w->at;
	plan->actions[plan->nactions++] = a;
	w->at = (uint16_t)(w->at + bytes);
	return true;
}

struct values {
	uint16_t regs;
	uint16_t u32, s32;	/* of these: in 4 bytes */
};

static bool put_value(struct walk *w, unsigned int reg, const struct values *v)
{
	bool u32 = v->u32 >> reg & 1, s32 = v->s32 >> reg & 1;
	struct mem_action a = {
		.code = u32 || s32 ? MEM_STORE4 : MEM_STORE8, .reg = (uint8_t)reg,
		.before = (uint16_t)w->insn,
	};
	struct md_op op = {
		.code = u32 ? MD_VALUE_U32 : s32 ? MD_VALUE_S32 : MD_VALUE, .dst = (uint8_t)reg,
		.base = MD_NONE, .index = MD_NONE,
	};

	return put_action(w, a, u32 || s32 ? 4 : 8) && put_op(w, op);
}

static bool put_values(struct walk *w, struct values v)
{
	for (unsigned int set = v.regs; set; set &= set - 1) {
		if (!put_value(w, (unsigned int)__builtin_ctz(set), &v))
			return false;
	}
	return true;
}

/* Extras stored before the instruction, or those stored after it. */
static bool put_extras(struct walk *w, const struct tramp_mem_facts *facts, bool after)
{
	for (unsigned int k = 0; k < facts->nextras; k++) {
		const struct tramp_mem_extra *e = &facts->extras[k];
		struct mem_action a = {
			.code = MEM_STORE_EXTRA, .reg = e->reg, .what = e->what,
			.before = (uint16_t)(w->insn + after),
		};

		if ((e->what == TRAMP_STORE_GPR_AFTER) == after && !put_action(w, a, e->bytes))
			return false;
	}
	return true;
}

static bool put_accesses(struct walk *w, const struct tramp_mem_facts *facts)
{
	for (unsigned int k = 0; k < facts->nops; k++) {
		w->accesses += facts->ops[k].code == MD_ACCESS;
		w->varies |= facts->ops[k].code == MD_STRING || facts->ops[k].code == MD_MASKED ||
			     facts->ops[k].code == MD_GATHER || facts->ops[k].code == MD_PACKED;
		if (!put_op(w, facts->ops[k]))
			return false;
	}
	return true;
}

static bool put_computes(struct walk *w, const struct tramp_mem_facts *facts,
			 const struct mp_insn *i)
{
	bool flags = i->keep & MP_FLAGS;

	if (flags && !facts->flags_after && !put_op(w, facts->flags))
		return false;
	for (unsigned int k = 0; k < facts->ncomputes; k++) {
		if (i->keep >> k & 1 && !put_op(w, facts->computes[k]))
			return false;
	}
	return !(flags && facts->flags_after) || put_op(w, facts->flags);
}

static bool put_check(struct walk *w)
{
	const struct mp_node *side = &w->p->nodes.v[w->node - w->p->plan->nodes];
	struct mem_action a = {
		.code = MEM_CHECK, .flags_live = side->check_flags, .before = (uint16_t)w->insn,
	};

	if (side->check != w->insn)
		return true;
	if (!put_action(w, a, 0))
		return false;
	/* before the header */
	if (w->insn == 0)
		w->p->plan->actions[w->p->plan->nactions - 1].at = 0;
	return true;
}

static bool put_insn(struct walk *w)
{
	const struct mp_insn *i = mp_insn_of(w->p, w->node, w->insn);
	const struct tramp_mem_facts *facts = &w->p->facts.v[i - w->p->insns.v];
	struct values values = { .regs = i->store, .u32 = i->store_u32, .s32 = i->store_s32 };

	return put_check(w) && put_values(w, values) && put_extras(w, facts, false) &&
	       put_accesses(w, facts) && put_computes(w, facts, i) && put_extras(w, facts, true);
}

static uint64_t only_successor(const struct mem_node *n)
{
	return n->target == TRAMP_NONE ? n->next : n->target;
}

static int64_t two(uint32_t low, uint32_t high)
{
	return (int64_t)((uint64_t)high << 32 | low);
}

/* The successor whose header the reader looks for, and the other. */
static int64_t lookahead_of(const struct mp_block *b, const struct mem_node *n)
{
	return b->lookahead == MP_TARGET ? two(n->target, n->next) : two(n->next, n->target);
}

static bool put_end(struct walk *w)
{
	const struct mp_node *side = &w->p->nodes.v[w->node - w->p->plan->nodes];
	const struct mp_block *b = &w->p->blocks.v[w->node->block];
	struct md_op op = { .code = side->end, .dst = MD_NONE, .base = MD_NONE, .index = MD_NONE };

	if (side->end == MD_GOTO) {
		op.imm = (int64_t)only_successor(w->node);
	} else if (side->end == MD_IF) {
		op.scale = side->cond;
		op.imm = two(w->node->target, w->node->next);
	} else if (side->end == MD_PEEK) {
		op.imm = lookahead_of(b, w->node);
	}
	return put_op(w, op);
}

static uint32_t start_of(const struct mp *p, const struct mem_node *n)
{
	return n->nops ? mp_op(p, n, 0)->off : p->flow->blocks[n->block].start;
}

/* What the whole of it is. */
static void finish(const struct walk *w, struct md_node *md)
{
	const struct mem_plan *plan = w->p->plan;
	struct mem_node *n = w->node;

	n->nactions = (uint32_t)plan->nactions - n->action;
	n->nmdops = (uint32_t)plan->nops - n->op;
	n->bytes = w->at;
	*md = (struct md_node){
		.op = n->op,
		.nops = n->nmdops,
		.start = start_of(w->p, n),
		.bytes = n->bytes,
		.flags = (uint8_t)((n->header ? MD_NODE_HEADER : 0) |
				   (w->varies ? MD_NODE_VARIES : 0)),
		.accesses = (uint8_t)(w->accesses < UINT8_MAX ? w->accesses : UINT8_MAX),
	};
}

static bool describe_node(struct mp *p, uint32_t index)
{
	struct mem_node *n = &p->plan->nodes[index];
	const struct mp_node *side = &p->nodes.v[index];
	struct values values = { .regs = side->values, .u32 = side->u32, .s32 = side->s32 };
	struct walk w = { .p = p, .node = n, .at = n->header ? MP_HEADER : 0 };

	n->action = (uint32_t)p->plan->nactions;
	n->op = (uint32_t)p->plan->nops;
	for (; w.insn < n->nops; w.insn++) {
		w.off = (uint16_t)(mp_op(p, n, w.insn)->off - mp_op(p, n, 0)->off);
		if (!put_insn(&w))
			return false;
	}
	if (!put_check(&w) || !put_values(&w, values) || !put_end(&w))
		return false;
	finish(&w, &p->plan->md[index]);
	return true;
}

bool mp_describe(struct mp *p)
{
	struct mem_plan *plan = p->plan;

	plan->nactions = 0;
	plan->nops = 0;
	if (!mp_grow(p, plan->md, plan->room_md, plan->nnodes))
		return false;
	for (uint32_t i = 0; i < plan->nnodes; i++) {
		if (!describe_node(p, i))
			return false;
	}
	return true;
}
