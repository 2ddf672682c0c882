// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A keeper, for rcx and xmm3 and stack arguments:
 *
 *	push   %rbp
 *	mov    %rsp, %rbp
 *	sub    $32, %rsp
 *	and    $-16, %rsp
 *	mov    %rcx, -8(%rbp)
 *	movups %xmm3, -24(%rbp)
 *	push   136(%rbp)	the last of 16 words
 *	...
 *	push   16(%rbp)
 *	call   wrapper		or *slot(%rip)
 *	mov    -8(%rbp), %rcx
 *	movups -24(%rbp), %xmm3
 *	leave
 *	ret
 *
 * No register is touched before the call, the flags are dead there.
 */
#include "trampolines/wrap/keep.h"
#include "trampolines/insn/x86-64/emit.h"

enum {
	CALL_SIZE = 5,
	SLOT_SIZE = 8,
	GPRS = 12,
	XMMS = 16,
	FIRST_ARG = 16,		/* from rbp: after the return address */
	OPCODE_STORE = 0x89,
	OPCODE_LOAD = 0x8b,
	OPCODE_MOVUPS_LOAD = 0x10,
	OPCODE_MOVUPS_STORE = 0x11,
};

/* A memory operand disp(%rbp) with register `reg`. */
static void put_operand(struct tramp_out *out, unsigned int reg, int32_t disp)
{
	uint8_t modrm = (uint8_t)((reg & 7) << 3 | 5);

	if (disp == (int8_t)disp) {
		tramp_put_u8(out, modrm | 0x40);
		tramp_put_u8(out, (uint8_t)disp);
	} else {
		tramp_put_u8(out, modrm | 0x80);
		tramp_put_u32(out, (uint32_t)disp);
	}
}

static void put_gpr(struct tramp_out *out, uint8_t opcode, unsigned int reg, int32_t disp)
{
	tramp_put_u8(out, reg < 8 ? 0x48 : 0x4c);
	tramp_put_u8(out, opcode);
	put_operand(out, reg, disp);
}

static void put_xmm(struct tramp_out *out, uint8_t opcode, unsigned int reg, int32_t disp)
{
	if (reg >= 8)
		tramp_put_u8(out, 0x44);
	tramp_put_u8(out, 0x0f);
	tramp_put_u8(out, opcode);
	put_operand(out, reg, disp);
}

/* All registers, to or from their places; returns the bytes these take. */
static int32_t put_registers(struct tramp_out *out, const struct tramp_keep *keep, bool store)
{
	int32_t used = 0;

	for (unsigned int i = 0; i < GPRS; i++) {
		if (keep->gpr & 1u << i)
			put_gpr(out, store ? OPCODE_STORE : OPCODE_LOAD, i, -(used += 8));
	}
	for (unsigned int i = 0; i < XMMS; i++) {
		if (keep->xmm & 1u << i)
			put_xmm(out, store ? OPCODE_MOVUPS_STORE : OPCODE_MOVUPS_LOAD, i,
				-(used += 16));
	}
	return used;
}

static int32_t frame_size(const struct tramp_keep *keep)
{
	return 8 * __builtin_popcount(keep->gpr) + 16 * __builtin_popcount(keep->xmm);
}

static void put_frame(struct tramp_out *out, const struct tramp_keep *keep)
{
	static const uint8_t enter[] = { 0x55, 0x48, 0x89, 0xe5 };	/* push, mov */
	static const uint8_t sub[] = { 0x48, 0x81, 0xec };		/* sub $imm32, %rsp */
	static const uint8_t align[] = { 0x48, 0x83, 0xe4, 0xf0 };	/* and $-16, %rsp */

	tramp_put_bytes(out, enter, sizeof(enter));
	if (frame_size(keep)) {
		tramp_put_bytes(out, sub, sizeof(sub));
		tramp_put_u32(out, (uint32_t)frame_size(keep));
	}
	tramp_put_bytes(out, align, sizeof(align));
}

static void put_stack_args(struct tramp_out *out)
{
	for (int i = TRAMP_KEEP_WORDS - 1; i >= 0; i--) {
		tramp_put_u8(out, 0xff);	/* push disp(%rbp) */
		put_operand(out, 6, FIRST_ARG + 8 * i);
	}
}

/* The displacement's place, where it is that of a slot not yet known; else 0. */
static size_t put_call(struct tramp_out *out, uint64_t wrapper)
{
	if (tramp_reaches(out->addr + out->len + CALL_SIZE, wrapper)) {
		tramp_put_u8(out, 0xe8);
		tramp_put_rel32(out, wrapper, 0);
		return 0;
	}
	tramp_put_u8(out, 0xff);	/* call *slot(%rip) */
	tramp_put_u8(out, 0x15);
	tramp_put_u32(out, 0);
	return out->len - sizeof(uint32_t);
}

static void put_slot(struct tramp_out *out, size_t disp, uint64_t wrapper)
{
	struct tramp_out patch = *out;
	size_t slot = (out->len + SLOT_SIZE - 1) & ~(size_t)(SLOT_SIZE - 1);

	tramp_put_pad(out, slot);
	tramp_put_u64(out, wrapper);
	if (out->status != TRAMP_OK)
		return;
	patch.len = disp;
	tramp_put_rel32(&patch, out->addr + slot, 0);
}

enum tramp_status tramp_emit_keeper(const struct tramp_keep *keep, uint64_t wrapper, uint64_t addr,
				    uint8_t *buf, size_t room, size_t *len)
{
	static const uint8_t leave_ret[] = { 0xc9, 0xc3 };
	struct tramp_out out = { .buf = buf, .room = room, .addr = addr };
	size_t disp;

	put_frame(&out, keep);
	put_registers(&out, keep, true);
	if (keep->stack_args)
		put_stack_args(&out);
	disp = put_call(&out, wrapper);
	put_registers(&out, keep, false);
	tramp_put_bytes(&out, leave_ret, sizeof(leave_ret));
	if (disp)
		put_slot(&out, disp, wrapper);
	*len = out.len;
	return out.status;
}

size_t tramp_keeper_size(const struct tramp_keep *keep)
{
	size_t len;

	/* With its slot, the longer form. */
	if (tramp_emit_keeper(keep, 1ull << 62, 0, NULL, TRAMP_KEEPER_MAX, &len) != TRAMP_OK)
		return TRAMP_KEEPER_MAX;
	return len;
}

size_t tramp_keeper_depth(const struct tramp_keep *keep)
{
	size_t frame = ((size_t)frame_size(keep) + 15) & ~(size_t)15;

	if (!tramp_keep_needed(keep))
		return 0;
	/* rbp, the frame, the stack arguments, the return address */
	return 8 + frame + (keep->stack_args ? 8 * TRAMP_KEEP_WORDS : 0) + 8;
}
