// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/insn/x86-64/displace.h"

/* What is no jump and no call is copied, another displacement in it or not. */
static uint8_t kind_of(const struct tramp_decoded *insn)
{
	if (tramp_op_jumps(insn->kind) || tramp_op_calls(insn->kind))
		return insn->kind;
	return insn->rip_relative ? TRAMP_OP_RIP : TRAMP_OP_PLAIN;
}

/* The byte whose place the replay code has to know. */
static uint8_t aux_of(const struct tramp_decoded *insn, const uint8_t *code)
{
	switch (insn->kind) {
	case TRAMP_OP_JCC:	/* the condition: low bits of the opcode's last byte */
		return code[insn->disp_offset - 1] & 0x0f;
	case TRAMP_OP_CALL_IND:
		return insn->modrm_offset;
	default:
		return insn->disp_offset;
	}
}

void tramp_displace(struct tramp_plan *plan, const struct tramp_decoded *insn, const uint8_t *code,
		    size_t offset)
{
	struct tramp_insn *ti = &plan->insns[plan->ninsns++];

	ti->offset = (uint8_t)(plan->addr + offset - plan->patch_addr);
	ti->length = insn->length;
	ti->kind = kind_of(insn);
	ti->aux = aux_of(insn, code + offset);
	ti->rel = insn->disp_size ? insn->rel : 0;
}

uint64_t tramp_target(const struct tramp_plan *plan, const struct tramp_insn *ti)
{
	return plan->patch_addr + ti->offset + ti->length + (uint64_t)(int64_t)ti->rel;
}

int tramp_find_displaced(const struct tramp_plan *plan, uint64_t addr)
{
	if (addr == plan->addr)
		return 0;
	for (int i = 0; i < plan->ninsns; i++) {
		if (addr == plan->patch_addr + plan->insns[i].offset)
			return i;
	}
	return -1;
}
