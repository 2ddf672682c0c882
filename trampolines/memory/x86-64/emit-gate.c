// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where control enters a block from outside the copies: to the plain copy, or to the one that records.
 *
 *	mov  %fs:0, %r		where the pool may be another thread's
 *	cmp  %gs:off, %r
 *	je   plain
 *	jmp  entry
 *
 *	cmpq $0, %gs:off	in other places
 *	jne  plain
 *	jmp  entry
 *
 * Where the flags are live, with an instruction that leaves them alone:
 *
 *	lea  -152(%rsp), %rsp
 *	mov  %rcx, (%rsp)
 *	mov  %gs:off, %rcx
 *	jrcxz 1f
 *	mov  (%rsp), %rcx
 *	lea  152(%rsp), %rsp
 *	jmp  plain
 * 1:	mov  (%rsp), %rcx
 *	lea  152(%rsp), %rsp
 *	jmp  entry
 *
 * If the pool is another thread's there, that is found out at the next entry where they are dead.
 *
 * Where no other code falls through to the plain copy, this stands before it, and needs no jump while recording is off.
 */
#include "trampolines/memory/x86-64/emit.h"
#include "trampolines/insn/x86-64/asm.h"

static uint32_t here(const struct tramp_mirror *m)
{
	return (uint32_t)m->out.len;
}

static void put_jump_to_plain(struct tramp_mirror *m, enum asm_cc cc, uint32_t i)
{
	mem_put_jcc_to(m, cc, m->mem->plain.v[i].at);
}

/*
 * Compares `off` with the owner, where no register is dead:
 *
 *	lea  -152(%rsp), %rsp
 *	mov  %rax, (%rsp)
 *	mov  %fs:0, %rax
 *	cmp  %gs:off, %rax
 *	mov  (%rsp), %rax
 *	lea  152(%rsp), %rsp
 */
static void compare_saved(struct tramp_mirror *m, uint32_t start)
{
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -RT_MEM_BELOW);
	mem_plain_state(m, RT_MEM_BACK | RT_MEM_LOWERED, start);
	asm_mem(&m->out, ASM_STORE, TRAMP_RAX, TRAMP_RSP, 0);
	mem_plain_saved(m, TRAMP_RAX, start);
	asm_thread(&m->out, m->mem->env.id, TRAMP_RAX);
	asm_gs(&m->out, ASM_CMP_LOAD, TRAMP_RAX, m->mem->env.off);
	asm_mem(&m->out, ASM_LOAD, TRAMP_RAX, TRAMP_RSP, 0);
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, RT_MEM_BELOW);
	mem_plain_state(m, RT_MEM_BACK, start);
}

/* After a look at `off` that says what @cc says if it is off.  @falls: the plain copy follows. */
static void put_entry(struct tramp_mirror *m, uint32_t i, enum asm_cc cc, bool falls)
{
	uint32_t weight = m->mem->plan.poll[i] ? 0 : mem_weight(m, i);

	if (weight || falls)
		mem_put_jcc(m, cc ^ 1, m->mem->plan.entry[i], MEM_HOME);
	if (weight) {
		asm_gs_sub32(&m->out, m->mem->env.left, (int32_t)weight);
		cc = ASM_NS;
		if (falls)
			mem_put_jcc(m, ASM_S, m->mem->plan.entry[i], MEM_HOME);
	}
	if (!falls)
		put_jump_to_plain(m, cc, i);
}

static void put_saved_entry(struct tramp_mirror *m, uint32_t i, uint32_t start, bool falls)
{
	asm_gs_cmp0(&m->out, m->mem->env.off); /* most often it is 0 */
	mem_put_jcc(m, ASM_E, m->mem->plan.entry[i], MEM_HOME);
	compare_saved(m, start);
	put_entry(m, i, ASM_E, falls);
}

static void put_look(struct tramp_mirror *m, uint32_t i, uint32_t start, bool falls)
{
	const struct mem_node *node = mem_node(m, m->mem->plan.entry[i]);
	uint8_t reg = mem_dead_register(m, node);

	if (!node->owner) {
		asm_gs_cmp0(&m->out, m->mem->env.off);
		put_entry(m, i, ASM_NE, falls);
	} else if (reg != RT_MEM_NO_REG) {
		asm_thread(&m->out, m->mem->env.id, reg);
		asm_gs(&m->out, ASM_CMP_LOAD, reg, m->mem->env.off);
		put_entry(m, i, ASM_E, falls);
	} else {
		put_saved_entry(m, i, start, falls);
	}
}

static void put_back_rcx(struct tramp_mirror *m, uint32_t start)
{
	asm_mem(&m->out, ASM_LOAD, TRAMP_RCX, TRAMP_RSP, 0);
	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, RT_MEM_BELOW);
	mem_plain_state(m, RT_MEM_BACK, start);
}

static void put_look_keeping_flags(struct tramp_mirror *m, uint32_t i, uint32_t start)
{
	uint32_t on;

	asm_mem(&m->out, ASM_LEA, TRAMP_RSP, TRAMP_RSP, -RT_MEM_BELOW);
	mem_plain_state(m, RT_MEM_BACK | RT_MEM_LOWERED, start);
	asm_mem(&m->out, ASM_STORE, TRAMP_RCX, TRAMP_RSP, 0);
	mem_plain_saved(m, TRAMP_RCX, start);
	asm_gs(&m->out, ASM_LOAD, TRAMP_RCX, m->mem->env.off);
	on = asm_jrcxz(&m->out);
	put_back_rcx(m, start);
	tramp_put_u8(&m->out, 0xe9);
	tramp_put_u32(&m->out, m->mem->plain.v[i].at - (here(m) + 4));
	asm_land_short(&m->out, on);
	mem_plain_saved(m, TRAMP_RCX, start);
	put_back_rcx(m, start);
}

static bool has_live_flags(const struct tramp_mirror *m, uint32_t i)
{
	return mir_flow_block(m, i)->live_in & TRAMP_STATUS;
}

static uint32_t begin_gate(struct tramp_mirror *m, uint32_t i)
{
	uint32_t start;

	mem_plain_state(m, 0, 0);
	if (i == m->flow.entry)
		mir_put_entry_probe(m, i);
	start = here(m);
	m->mem->plain.v[i].gate = start;
	mem_plain_state(m, RT_MEM_BACK, start);
	mir_piece(m, RT_PIECE_INSN, mir_off(m, i, m->blocks.v[i].lo), false);
	return start;
}

static void put_gate(struct tramp_mirror *m, uint32_t i, bool falls)
{
	uint32_t start = begin_gate(m, i);

	if (has_live_flags(m, i))
		put_look_keeping_flags(m, i, start);
	else
		put_look(m, i, start, falls);
	if (!falls)
		mem_put_jump(m, m->mem->plan.entry[i], MEM_HOME);
	else
		mem_plain_state(m, 0, 0);
}

static bool has_gate(const struct tramp_mirror *m, uint32_t i)
{
	return m->mem->plan.entry[i] != TRAMP_NONE && !m->mem->plan.polled[i];
}

/* Does the code before block i's lead to somewhere else? */
static bool is_not_fallen_into(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *before = i ? mir_flow_block(m, i - 1) : NULL;

	if (i == m->flow.entry)
		return true;
	if (!before)
		return false;
	return before->ends == TRAMP_END_CALL || before->ends == TRAMP_END_RET ||
	       before->ends == TRAMP_END_SWITCH;
}

/* Recording is off most of the time: the path to the plain copy is to have no jump then. */
void mir_mem_gate(struct tramp_mirror *m, uint32_t i)
{
	if (!mir_wants(m, TRAMP_MIRROR_ACCESSES) || !has_gate(m, i) || has_live_flags(m, i) ||
	    !is_not_fallen_into(m, i))
		return;
	put_gate(m, i, true);
}

/* The others, and what such gates lead to. */
void mem_put_gates(struct tramp_mirror *m)
{
	for (uint32_t i = 0; i < m->flow.nblocks && m->out.status == TRAMP_OK; i++) {
		if (has_gate(m, i) && m->mem->plain.v[i].gate == TRAMP_NONE)
			put_gate(m, i, false);
	}
}
