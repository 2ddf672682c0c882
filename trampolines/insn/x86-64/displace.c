// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/insn/x86-64/displace.h"

static enum tramp_insn_kind kind_of(const struct tramp_decoded *insn)
{
	switch (insn->flow) {
	case FLOW_JMP:
		return TRAMP_INSN_JMP;
	case FLOW_JCC:
		return TRAMP_INSN_JCC;
	case FLOW_LOOP:
		return TRAMP_INSN_LOOP;
	case FLOW_CALL:
		return TRAMP_INSN_CALL;
	case FLOW_CALL_IND:
		return TRAMP_INSN_CALL_IND;
	default:
		return insn->rip_relative ? TRAMP_INSN_RIP : TRAMP_INSN_PLAIN;
	}
}

/* The byte whose place the replay code has to know. */
static uint8_t aux_of(const struct tramp_decoded *insn, const uint8_t *code)
{
	switch (insn->flow) {
	case FLOW_JCC:		/* the condition: low bits of the opcode's last byte */
		return code[insn->disp_offset - 1] & 0x0f;
	case FLOW_CALL_IND:
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
	ti->kind = (uint8_t)kind_of(insn);
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
