// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/flow/private.h"

enum { ALIGNMENT = 16 };

static int32_t moved(int32_t height, int64_t by)
{
	int64_t sum = height + by;

	return height == FLOW_HEIGHT_UNKNOWN || sum > INT32_MAX / 2 || sum < INT32_MIN / 2 ?
		       FLOW_HEIGHT_UNKNOWN :
		       (int32_t)sum;
}

static struct flow_level deeper(struct flow_level level, int64_t by)
{
	level.height = moved(level.height, by);
	level.low = (uint8_t)((level.low - (uint64_t)by) % ALIGNMENT);
	return level;
}

/* Whatever it is, compilers keep it a multiple of 16 away from what it was: an array of variable size. */
static struct flow_level unknown(struct flow_level level)
{
	level.height = FLOW_HEIGHT_UNKNOWN;
	return level;
}

static bool is_address(const struct flow_insn *insn, uint8_t base)
{
	return insn->shape == FLOW_LEA && insn->index == TRAMP_NO_REG && insn->base == base;
}

static void set_rsp(struct flow_stack *s, const struct flow_insn *insn, const uint8_t *bytes)
{
	int64_t disp = tramp_flow_field(bytes, insn->disp_at, insn->disp_len);
	int64_t imm = tramp_flow_field(bytes, insn->imm_at, insn->imm_len);

	if (insn->shape == FLOW_ADD_IMM)
		s->rsp = deeper(s->rsp, -imm);
	else if (insn->shape == FLOW_SUB_IMM)
		s->rsp = deeper(s->rsp, imm);
	else if (insn->shape == FLOW_AND_IMM && imm < 0 && imm % ALIGNMENT == 0)
		s->rsp = (struct flow_level){ .height = FLOW_HEIGHT_UNKNOWN, .aligned = true };
	else if (insn->shape == FLOW_MOV && insn->base == TRAMP_RBP)
		s->rsp = s->has_rbp ? s->rbp : unknown(s->rsp);
	else if (is_address(insn, TRAMP_RSP))
		s->rsp = deeper(s->rsp, -disp);
	else if (is_address(insn, TRAMP_RBP))
		s->rsp = s->has_rbp ? deeper(s->rbp, -disp) : unknown(s->rsp);
	else
		s->rsp = unknown(s->rsp);
}

static void set_rbp(struct flow_stack *s, const struct flow_insn *insn, const uint8_t *bytes)
{
	s->has_rbp = true;
	if (insn->shape == FLOW_MOV && insn->base == TRAMP_RSP)
		s->rbp = s->rsp;
	else if (is_address(insn, TRAMP_RSP))
		s->rbp = deeper(s->rsp, -tramp_flow_field(bytes, insn->disp_at, insn->disp_len));
	else
		s->has_rbp = false;
}

static void pop(struct flow_stack *s, const struct flow_insn *insn)
{
	s->rsp = deeper(s->rsp, insn->word ? -2 : -8);
	if (insn->def & TRAMP_REG(TRAMP_RBP))
		s->has_rbp = false;
	if (insn->shape == FLOW_POP && insn->reg == TRAMP_RSP)
		s->rsp = unknown(s->rsp);
}

void tramp_flow_stack(struct flow_stack *s, const struct flow_insn *insn, const uint8_t *bytes)
{
	switch (insn->shape) {
	case FLOW_PUSH:
	case FLOW_PUSHF:
		s->rsp = deeper(s->rsp, insn->word ? 2 : 8);
		return;
	case FLOW_POPF:
	case FLOW_POP:
		pop(s, insn);
		return;
	case FLOW_LEAVE:
		s->rsp = s->has_rbp ? deeper(s->rbp, -8) : unknown(s->rsp);
		s->has_rbp = false;
		return;
	default:
		if (insn->kind == TRAMP_OP_CALL || insn->kind == TRAMP_OP_CALL_IND)
			return;
		if (insn->def & TRAMP_REG(TRAMP_RSP))
			set_rsp(s, insn, bytes);
		if (insn->def & TRAMP_REG(TRAMP_RBP))
			set_rbp(s, insn, bytes);
	}
}
