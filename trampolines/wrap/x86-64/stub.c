// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What a patched entry jumps to:
 *
 *	movabs $off, %r11
 *	cmpq $0, (%r11)
 *	jne  off
 *	cmpq $0, %gs:under	where there is such a word
 *	je   off
 *	mov  %fs:0, %r11	or rdfsbase %r11
 *	cmp  %gs:owner, %r11
 *	jne  slow
 *	cmp  %gs:under, %rsp
 *	jae  slow
 *	jmp  wrapper
 * slow:
 *	mov  $desc, %r11d	or lea desc(%rip), %r11 or movabs $desc, %r11
 *	jmp  gate
 * off:
 *	jmp  replay
 *
 * A jmp whose target is out of reach becomes jmp *slot(%rip); the slots follow, 8-byte aligned.
 */
#include "trampolines/trampoline.h"
#include "trampolines/flow/flow.h"
#include "trampolines/insn/x86-64/asm.h"
#include "trampolines/insn/x86-64/emit.h"

enum {
	JMP_SIZE = 5,		/* e9 rel32 */
	JMP_SLOT_SIZE = 6,	/* ff 25 disp32 */
	FS_ZERO_SIZE = 9,
	RDFSBASE_SIZE = 5,
	CMP_SIZE = 9,
	JNE_SIZE = 2,
	MOV_IMM32_SIZE = 6,
	LEA_SIZE = 7,
	MOVABS_SIZE = 10,
	SLOT_SIZE = 8,
	CHECK_OFF_SIZE = 16,
	CHECK_UNDER_SIZE = 12,
	CHECK_BELOW_SIZE = 11,
};

/* Offsets from the stub's start. */
struct layout {
	size_t wrapper_jmp;
	size_t slow;
	size_t gate_jmp;
	size_t off_jmp;		/* 0: there is none */
	size_t slots;
	size_t size;
	bool wrapper_near;
	bool gate_near;
	bool replay_near;
};

static size_t align_slot(size_t offset)
{
	return (offset + SLOT_SIZE - 1) & ~(size_t)(SLOT_SIZE - 1);
}

static bool jmp_reaches(uint64_t at, uint64_t target)
{
	return tramp_reaches(at + JMP_SIZE, target);
}

static size_t desc_size(uint64_t desc, uint64_t at)
{
	if (desc <= UINT32_MAX)
		return MOV_IMM32_SIZE;
	return tramp_reaches(at + LEA_SIZE, desc) ? LEA_SIZE : MOVABS_SIZE;
}

static struct layout lay_out(const struct tramp_stub *stub, uint64_t addr)
{
	struct layout l = { .replay_near = true };

	l.wrapper_jmp = (stub->off ? CHECK_OFF_SIZE : 0) + (stub->under ? CHECK_UNDER_SIZE + CHECK_BELOW_SIZE : 0);
	l.wrapper_jmp += stub->id == TRAMP_ID_FSBASE ? RDFSBASE_SIZE : FS_ZERO_SIZE;
	l.wrapper_jmp += CMP_SIZE + JNE_SIZE;
	l.wrapper_near = jmp_reaches(addr + l.wrapper_jmp, stub->wrapper);
	l.slow = l.wrapper_jmp + (l.wrapper_near ? JMP_SIZE : JMP_SLOT_SIZE);
	l.gate_jmp = l.slow + desc_size(stub->desc, addr + l.slow);
	l.gate_near = jmp_reaches(addr + l.gate_jmp, stub->gate);
	l.size = l.gate_jmp + (l.gate_near ? JMP_SIZE : JMP_SLOT_SIZE);
	if (stub->off || stub->under) {
		l.off_jmp = l.size;
		l.replay_near = jmp_reaches(addr + l.off_jmp, stub->replay);
		l.size += l.replay_near ? JMP_SIZE : JMP_SLOT_SIZE;
	}
	l.slots = align_slot(l.size);
	if (!l.wrapper_near || !l.gate_near || !l.replay_near)
		l.size = l.slots + SLOT_SIZE * ((size_t)!l.wrapper_near + !l.gate_near + !l.replay_near);
	return l;
}

static void emit_identity(struct tramp_out *out, enum tramp_thread_id id)
{
	static const uint8_t fs_zero[FS_ZERO_SIZE] = {
		0x64, 0x4c, 0x8b, 0x1c, 0x25, 0, 0, 0, 0	/* mov %fs:0, %r11 */
	};
	static const uint8_t rdfsbase[RDFSBASE_SIZE] = {
		0xf3, 0x49, 0x0f, 0xae, 0xc3			/* rdfsbase %r11 */
	};

	if (id == TRAMP_ID_FSBASE)
		tramp_put_bytes(out, rdfsbase, sizeof(rdfsbase));
	else
		tramp_put_bytes(out, fs_zero, sizeof(fs_zero));
}

static void put_short(struct tramp_out *out, enum asm_cc cc, size_t to)
{
	tramp_put_u8(out, 0x70 | (uint8_t)cc);
	tramp_put_u8(out, (uint8_t)(to - out->len - 1));
}

static void emit_check_off(struct tramp_out *out, const struct tramp_stub *stub, const struct layout *l)
{
	static const uint8_t cmp[] = { 0x49, 0x83, 0x3b, 0 };	/* cmpq $0, (%r11) */

	tramp_put_bytes(out, "\x49\xbb", 2);			/* movabs $off, %r11 */
	tramp_put_u64(out, stub->off);
	tramp_put_bytes(out, cmp, sizeof(cmp));
	put_short(out, ASM_NE, l->off_jmp);
}

static void emit_compare(struct tramp_out *out, int32_t owner_offset)
{
	static const uint8_t cmp[] = { 0x65, 0x4c, 0x3b, 0x1c, 0x25 };	/* cmp %gs:disp32, %r11 */

	tramp_put_bytes(out, cmp, sizeof(cmp));
	tramp_put_u32(out, (uint32_t)owner_offset);
}

static void emit_desc(struct tramp_out *out, uint64_t desc)
{
	static const uint8_t mov[] = { 0x41, 0xbb };		/* mov $imm32, %r11d */
	static const uint8_t lea[] = { 0x4c, 0x8d, 0x1d };	/* lea disp32(%rip), %r11 */
	static const uint8_t movabs[] = { 0x49, 0xbb };		/* movabs $imm64, %r11 */

	switch (desc_size(desc, out->addr + out->len)) {
	case MOV_IMM32_SIZE:
		tramp_put_bytes(out, mov, sizeof(mov));
		tramp_put_u32(out, (uint32_t)desc);
		break;
	case LEA_SIZE:
		tramp_put_bytes(out, lea, sizeof(lea));
		tramp_put_rel32(out, desc, 0);
		break;
	default:
		tramp_put_bytes(out, movabs, sizeof(movabs));
		tramp_put_u64(out, desc);
	}
}

static void emit_jump(struct tramp_out *out, uint64_t target, bool near, size_t slot)
{
	if (near)
		tramp_put_jmp(out, target);
	else
		tramp_put_jmp_slot(out, slot);
}

enum tramp_status tramp_emit_stub(const struct tramp_stub *stub, uint64_t stub_addr, uint8_t *buf,
				  size_t room, size_t *len)
{
	struct tramp_out out = { .buf = buf, .room = room, .addr = stub_addr };
	struct layout l = lay_out(stub, stub_addr);
	size_t gate_slot = l.slots + (l.wrapper_near ? 0 : SLOT_SIZE);
	size_t replay_slot = gate_slot + (l.gate_near ? 0 : SLOT_SIZE);

	if (stub->off)
		emit_check_off(&out, stub, &l);
	if (stub->under) {
		asm_gs_cmp0(&out, stub->under);
		put_short(&out, ASM_E, l.off_jmp);
	}
	emit_identity(&out, stub->id);
	emit_compare(&out, stub->owner_offset);
	put_short(&out, ASM_NE, l.slow);
	if (stub->under) {
		asm_gs(&out, ASM_CMP_LOAD, TRAMP_RSP, stub->under);
		put_short(&out, ASM_AE, l.slow);
	}
	emit_jump(&out, stub->wrapper, l.wrapper_near, l.slots);
	emit_desc(&out, stub->desc);
	emit_jump(&out, stub->gate, l.gate_near, gate_slot);
	if (l.off_jmp)
		emit_jump(&out, stub->replay, l.replay_near, replay_slot);
	if (!l.wrapper_near || !l.gate_near || !l.replay_near)
		tramp_put_pad(&out, l.slots);
	if (!l.wrapper_near)
		tramp_put_u64(&out, stub->wrapper);
	if (!l.gate_near)
		tramp_put_u64(&out, stub->gate);
	if (!l.replay_near)
		tramp_put_u64(&out, stub->replay);
	*len = out.len;
	return out.status;
}

enum tramp_status tramp_emit_jump(uint64_t addr, uint64_t target, uint8_t *buf, size_t room,
				  size_t *len)
{
	struct tramp_out out = { .buf = buf, .room = room, .addr = addr };
	bool near = jmp_reaches(addr, target);

	emit_jump(&out, target, near, SLOT_SIZE);
	if (!near) {
		tramp_put_pad(&out, SLOT_SIZE);
		tramp_put_u64(&out, target);
	}
	*len = out.len;
	return out.status;
}
