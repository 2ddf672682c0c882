// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memplan/dump.h"

#include <inttypes.h>
#include <stdio.h>

static const char *const names[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14",
	"r15", "t0", "t1", "t2", "t3", "fs", "object",
};

static const char *name(unsigned int reg)
{
	return reg < MD_REGS ? names[reg] : "-";
}

static void dump_op(const struct md_op *op)
{
	static const char *const codes[MD_CODES] = {
		"value", "value_u32", "value_s32", "lea", "sub", "and", "or", "xor", "mul", "shl", "shr", "sar",
		"rol", "mulhu", "mulhs", "bswap", "select", "sext", "zext", "flags", "access", "size", "string", "masked", "gather", "packed", "goto", "if",
		"peek", "next",
	};

	printf("    +%-4u %-9s", op->insn, codes[op->code]);
	switch (op->code) {
	case MD_NEXT:
		printf("\n");
		return;
	case MD_GOTO:
		printf(" %" PRId64 "\n", op->imm);
		return;
	case MD_IF:
	case MD_PEEK:
		printf(" %u: %u, %u\n", op->scale, (uint32_t)op->imm, (uint32_t)((uint64_t)op->imm >> 32));
		return;
	case MD_ACCESS:
	case MD_FLAGS:
		printf(" %u", op->dst);
		break;
	default:
		printf(" %s", name(op->dst));
	}
	printf(" %s + (%s << %u) %+" PRId64 ", %u\n", name(op->base), name(op->index), op->scale, op->imm,
	       op->width);
}

static void dump_action(const struct mem_action *a)
{
	static const char *const codes[] = { "store8", "store4", "extra", "check" };

	printf("    before %u: %s %s%s at %u\n", a->before, codes[a->code],
	       a->code == MEM_CHECK ? "" : name(a->reg), a->flags_live ? " flags live" : "", a->at);
}

static void dump_node(const struct mem_plan *plan, const struct tramp_flow *flow, uint32_t i)
{
	const struct mem_node *n = &plan->nodes[i];
	const struct tramp_block *b = &flow->blocks[n->block];

	printf("node %u: block %u (%#x, depth %u) insns %u+%u, %u bytes, %s%s%s%s%s%s -> %d, %d\n", i, n->block,
	       plan->md[i].start, b->loop_depth, n->first, n->nops, n->bytes,
	       n->reg == RT_MEM_NO_REG ? "none" : name(n->reg), n->parked ? " parked" : "",
	       n->kept ? " kept" : "", n->header ? " header" : "", n->owner ? " owner" : "",
	       n->owner_flags ? " owner_flags" : "", (int)n->target, (int)n->next);
	for (uint32_t k = 0; k < n->nactions; k++)
		dump_action(&plan->actions[n->action + k]);
	for (uint32_t k = 0; k < n->nmdops; k++)
		dump_op(&plan->ops[n->op + k]);
}

void memplan_dump(const struct mem_plan *plan, const struct tramp_flow *flow)
{
	for (uint32_t i = 0; i < flow->nblocks; i++)
		printf("block %u: entry %d, body %u\n", i, (int)plan->entry[i], plan->body[i]);
	for (uint32_t i = 0; i < plan->nnodes; i++)
		dump_node(plan, flow, i);
}
