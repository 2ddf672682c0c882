// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The displaced instructions, so changed that they do at another address what they did at theirs.
 *
 *	jmp/jcc, any size	the form with 32 bits of displacement
 *	loop, jrcxz ...		loop 1f; jmp 2f; 1: jmp target; 2:
 *	call target		push $ret or push slot(%rip); jmp target
 *	call *operand		the same with jmp *operand
 *
 * Branches lead from copy to copy where their targets were copied, else to the original.
 *
 * A call never falls through, so it is the last one, and its slot comes at the very end. The pushed
 * address is the original one: stacks never show the arena.
 */
#include <string.h>

#include "trampolines/trampoline.h"
#include "trampolines/insn/x86-64/displace.h"
#include "trampolines/insn/x86-64/emit.h"

enum {
	JMP_SIZE = 5,
	JCC_SIZE = 6,
	PUSH_IMM_SIZE = 5,	/* 68 imm32 */
	PUSH_SLOT_SIZE = 6,	/* ff 35 disp32 */
	SHORT_JMP_SIZE = 2,
	SLOT_SIZE = 8,
};

struct rm {		/* the operand of an indirect call */
	uint8_t offset;		/* of the ModRM byte in the instruction */
	uint8_t modrm;
	bool rip;
	bool rsp;		/* memory relative to RSP */
};

static struct rm rm_of(const struct tramp_insn *ti, const uint8_t *code)
{
	struct rm rm = { .offset = ti->aux, .modrm = code[ti->aux] };
	uint8_t before_opcode = rm.offset >= 2 ? code[rm.offset - 2] : 0;
	bool rex_b = (before_opcode & 0xf1) == 0x41;

	rm.rip = (rm.modrm & 0xc7) == 0x05;
	rm.rsp = (rm.modrm & 0xc0) != 0xc0 && (rm.modrm & 7) == 4 &&
		 (code[rm.offset + 1] & 7) == 4 && !rex_b;
	return rm;
}

static int32_t rsp_disp(const struct rm *rm, const uint8_t *code)
{
	const uint8_t *disp = code + rm->offset + 2;
	int32_t disp32;

	switch (rm->modrm >> 6) {
	case 0:
		return 0;
	case 1:
		return (int8_t)*disp;
	default:
		memcpy(&disp32, disp, sizeof(disp32));
		return disp32;
	}
}

/* How much longer jmp *disp+8(%rsp) is than call *disp(%rsp). */
static size_t rsp_growth(const struct rm *rm, const uint8_t *code)
{
	static const size_t disp_size[] = { 0, 1, 4 };
	int32_t disp = rsp_disp(rm, code) + 8;
	size_t new_size = disp == (int8_t)disp ? 1 : 4;
	size_t old_size = disp_size[rm->modrm >> 6];

	return new_size > old_size ? new_size - old_size : 0;
}

static bool return_needs_slot(uint64_t ret)
{
	return (int64_t)ret != (int32_t)ret;
}

static size_t push_size(uint64_t ret)
{
	return return_needs_slot(ret) ? PUSH_SLOT_SIZE : PUSH_IMM_SIZE;
}

static size_t call_ind_size(const struct tramp_insn *ti, const uint8_t *code)
{
	struct rm rm = rm_of(ti, code);

	return ti->length + (rm.rsp ? rsp_growth(&rm, code) : 0);
}

static size_t insn_size(const struct tramp_plan *plan, const struct tramp_insn *ti)
{
	switch (ti->kind) {
	case TRAMP_OP_JMP:
		return JMP_SIZE;
	case TRAMP_OP_JCC:
		return JCC_SIZE;
	case TRAMP_OP_LOOP:
		return ti->length + SHORT_JMP_SIZE + JMP_SIZE;
	case TRAMP_OP_CALL:
		return push_size(plan->resume) + JMP_SIZE;
	case TRAMP_OP_CALL_IND:
		return push_size(plan->resume) +
		       call_ind_size(ti, plan->original + ti->offset);
	default:
		return ti->length;
	}
}

/* Offset in the replay code of displaced instruction n; for n == ninsns, of what comes after. */
static size_t insn_start(const struct tramp_plan *plan, size_t n)
{
	size_t start = 0;

	for (size_t i = 0; i < n; i++)
		start += insn_size(plan, &plan->insns[i]);
	return start;
}

static bool ends_in_call(const struct tramp_plan *plan)
{
	return tramp_op_calls(plan->insns[plan->ninsns - 1].kind);
}

static size_t code_size(const struct tramp_plan *plan)
{
	return insn_start(plan, plan->ninsns) + (plan->falls_through ? JMP_SIZE : 0);
}

static size_t slot_offset(const struct tramp_plan *plan)
{
	return (code_size(plan) + SLOT_SIZE - 1) & ~(size_t)(SLOT_SIZE - 1);
}

size_t tramp_replay_size(const struct tramp_plan *plan)
{
	if (ends_in_call(plan) && return_needs_slot(plan->resume))
		return slot_offset(plan) + SLOT_SIZE;
	return code_size(plan);
}

static void emit_push_return(struct tramp_out *out, const struct tramp_plan *plan)
{
	if (!return_needs_slot(plan->resume)) {
		tramp_put_u8(out, 0x68);
		tramp_put_u32(out, (uint32_t)plan->resume);
		return;
	}
	tramp_put_u8(out, 0xff);
	tramp_put_u8(out, 0x35);
	tramp_put_rel32(out, out->addr + slot_offset(plan), 0);
}

/* ModRM, SIB and displacement of an RSP-relative operand, 8 bytes further up. */
static void emit_rsp_operand(struct tramp_out *out, const struct rm *rm, const uint8_t *code)
{
	int32_t disp = rsp_disp(rm, code) + 8;
	bool wide = rsp_growth(rm, code) > 1 || rm->modrm >> 6 == 2;

	tramp_put_u8(out, (uint8_t)((wide ? 0x80 : 0x40) | 0x20 | 4));
	tramp_put_u8(out, code[rm->offset + 1]);
	if (wide)
		tramp_put_u32(out, (uint32_t)disp);
	else
		tramp_put_u8(out, (uint8_t)disp);
}

static void emit_call_ind(struct tramp_out *out, const struct tramp_plan *plan,
			  const struct tramp_insn *ti, const uint8_t *code)
{
	struct rm rm = rm_of(ti, code);

	emit_push_return(out, plan);
	tramp_put_bytes(out, code, rm.offset);	/* prefixes and the opcode ff, as in jmp */
	if (rm.rsp) {
		emit_rsp_operand(out, &rm, code);
		return;
	}
	tramp_put_u8(out, (uint8_t)((rm.modrm & 0xc7) | 0x20));	/* ff /2 is call, ff /4 jmp */
	if (rm.rip)
		tramp_put_rel32(out, tramp_target(plan, ti), 0);
	else
		tramp_put_bytes(out, code + rm.offset + 1, ti->length - rm.offset - 1u);
}

static void emit_rip(struct tramp_out *out, const struct tramp_plan *plan,
		     const struct tramp_insn *ti, const uint8_t *code)
{
	size_t behind = ti->aux + sizeof(uint32_t);

	tramp_put_bytes(out, code, ti->aux);
	tramp_put_rel32(out, tramp_target(plan, ti), ti->length - behind);
	tramp_put_bytes(out, code + behind, ti->length - behind);
}

static void emit_loop(struct tramp_out *out, const struct tramp_insn *ti, uint64_t target,
		      const uint8_t *code)
{
	tramp_put_bytes(out, code, ti->aux);
	tramp_put_u8(out, SHORT_JMP_SIZE);
	tramp_put_u8(out, 0xeb);
	tramp_put_u8(out, JMP_SIZE);
	tramp_put_jmp(out, target);
}

/* Where a branch goes in the replay code: to a copy, if its target was copied. */
static uint64_t branch_target(const struct tramp_out *out, const struct tramp_plan *plan,
			      const struct tramp_insn *ti)
{
	uint64_t target = tramp_target(plan, ti);
	int copy = tramp_find_displaced(plan, target);

	return copy < 0 ? target : out->addr + insn_start(plan, (size_t)copy);
}

static void emit_insn(struct tramp_out *out, const struct tramp_plan *plan,
		      const struct tramp_insn *ti)
{
	const uint8_t *code = plan->original + ti->offset;

	switch (ti->kind) {
	case TRAMP_OP_RIP:
		emit_rip(out, plan, ti, code);
		break;
	case TRAMP_OP_JMP:
		tramp_put_jmp(out, branch_target(out, plan, ti));
		break;
	case TRAMP_OP_JCC:
		tramp_put_u8(out, 0x0f);
		tramp_put_u8(out, 0x80 | ti->aux);
		tramp_put_rel32(out, branch_target(out, plan, ti), 0);
		break;
	case TRAMP_OP_LOOP:
		emit_loop(out, ti, branch_target(out, plan, ti), code);
		break;
	case TRAMP_OP_CALL:
		emit_push_return(out, plan);
		tramp_put_jmp(out, tramp_target(plan, ti));
		break;
	case TRAMP_OP_CALL_IND:
		emit_call_ind(out, plan, ti, code);
		break;
	default:
		tramp_put_bytes(out, code, ti->length);
	}
}

enum tramp_status tramp_emit_replay(const struct tramp_plan *plan, uint64_t replay_addr,
				    uint8_t *buf, size_t room, size_t *len)
{
	struct tramp_out out = { .buf = buf, .room = room, .addr = replay_addr };

	for (size_t i = 0; i < plan->ninsns; i++)
		emit_insn(&out, plan, &plan->insns[i]);
	if (plan->falls_through)
		tramp_put_jmp(&out, plan->resume);
	if (ends_in_call(plan) && return_needs_slot(plan->resume)) {
		tramp_put_pad(&out, slot_offset(plan));
		tramp_put_u64(&out, plan->resume);
	}
	*len = out.len;
	return out.status;
}

uint64_t tramp_pc_to_replay(const struct tramp_plan *plan, uint64_t replay_addr, uint64_t pc)
{
	for (size_t i = 0; i < plan->ninsns; i++) {
		if (pc == plan->patch_addr + plan->insns[i].offset)
			return replay_addr + insn_start(plan, i);
	}
	return 0;
}
