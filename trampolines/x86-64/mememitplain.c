// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Recording that goes off and on: the plain copy of all blocks, and where control comes from elsewhere
 * the way to it, or to the copy that records.
 *
 *	mov  %fs:0, %r		where the pool may be another thread's
 *	cmp  %gs:off, %r
 *	je   plain
 *	jmp  entry
 *
 *	cmpq $0, %gs:off	elsewhere
 *	jne  plain
 *	jmp  entry
 *
 *	cmpq $0, %gs:off	in front of a loop head in the plain copy
 *	je   entry
 */
#include "trampolines/x86-64/mememit.h"
#include "trampolines/x86-64/probeasm.h"

/* Bytes, at most. */
enum {
	GATE_MAX = 32,
	POLL_MAX = 16,
	LAST_MAX = 48 + 24,	/* a block's last instruction and the jump behind it */
};

static uint32_t here(const struct tramp_mirror *m)
{
	return (uint32_t)m->out.len;
}

size_t mem_plain_room(const struct tramp_mirror *m)
{
	size_t room = 0;

	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);

		room += fb->end - fb->start + LAST_MAX + POLL_MAX + GATE_MAX;
	}
	return room;
}

bool mem_plain_begin(struct tramp_mirror *m)
{
	struct mir_mem *mem = m->mem;

	if (!mem->env.sampled)
		return true;
	if (!mir_reserve(&mem->plain, m->flow.nblocks) || !mir_reserve(&mem->plain_op, m->flow.nops))
		return false;
	for (uint32_t k = 0; k < m->flow.nops; k++)
		mem->plain_op.v[k] = TRAMP_NONE;
	return true;
}

uint32_t mem_plain_at(const struct tramp_mirror *m, uint32_t n, uint32_t orig)
{
	uint32_t i = mem_node(m, n)->block;
	const struct tramp_block *fb = mir_flow_block(m, i);

	for (uint32_t k = 0; k < fb->nops; k++) {
		uint32_t at = m->mem->plain_op.v[fb->op + k];

		if (mir_off(m, i, k) == orig && at != TRAMP_NONE)
			return at;
	}
	return m->mem->plain.v[i].at;
}

/* Changes flags. */
static void compare_off(struct tramp_mirror *m)
{
	tramp_put_bytes(&m->out, "\x65\x48\x83\x3c\x25", 5);
	tramp_put_u32(&m->out, (uint32_t)m->mem->env.off);
	tramp_put_u8(&m->out, 0);
}

void mir_mem_plain(struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	struct mir_mem *mem = m->mem;

	if (!mir_wants(m, TRAMP_MIRROR_ACCESSES))
		return;
	if (k == m->blocks.v[i].tail && mem->plan.poll[i]) {
		mir_piece(m, RT_PIECE_INSN, mir_off(m, i, k), false);
		compare_off(m);
		mem_put_jcc(m, ASM_E, mem->plan.entry[i], MEM_HOME);
	}
	mem->plain_op.v[mir_flow_block(m, i)->op + k] = here(m);
}

/* ---- where control comes from elsewhere ---- */

static void put_jump_to_plain(struct tramp_mirror *m, enum asm_cc cc, uint32_t i)
{
	tramp_put_u8(&m->out, 0x0f);
	tramp_put_u8(&m->out, (uint8_t)(0x80 | cc));
	tramp_put_u32(&m->out, m->mem->plain.v[i].at - (here(m) + 4));
}

static void compare_owner(struct tramp_mirror *m, uint8_t reg)
{
	if (m->mem->env.id == TRAMP_ID_FSBASE)
		asm_rdfsbase(&m->out, reg);
	else
		asm_fs_zero(&m->out, reg);
	asm_gs(&m->out, ASM_CMP_LOAD, reg, m->mem->env.off);
}

/* Where the flags are live, or no register is dead, the copy that records finds out that recording is off. */
static void put_gate(struct tramp_mirror *m, uint32_t i)
{
	uint32_t n = m->mem->plan.entry[i];
	const struct mem_node *node = mem_node(m, n);
	uint8_t reg = mem_dead_register(m, node);

	m->mem->plain.v[i].gate = here(m);
	mem_plain_state(m, RT_MEM_BACK, here(m));
	mir_piece(m, RT_PIECE_INSN, mir_off(m, i, m->blocks.v[i].lo), false);
	if (mir_flow_block(m, i)->live_in & TRAMP_STATUS) {
		;
	} else if (!node->owner) {
		compare_off(m);
		put_jump_to_plain(m, ASM_NE, i);
	} else if (reg != RT_MEM_NO_REG) {
		compare_owner(m, reg);
		put_jump_to_plain(m, ASM_E, i);
	}
	mem_put_jump(m, n, MEM_HOME);
}

void mem_put_plain(struct tramp_mirror *m)
{
	mem_plain_state(m, 0, 0);
	mir_emit_blocks(m);
	for (uint32_t i = 0; i < m->flow.nblocks; i++)
		m->mem->plain.v[i].at = m->blocks.v[i].copy_at;
	for (uint32_t i = 0; i < m->flow.nblocks && m->out.status == TRAMP_OK; i++) {
		if (m->mem->plan.entry[i] != TRAMP_NONE)
			put_gate(m, i);
	}
}
