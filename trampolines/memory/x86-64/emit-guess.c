// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where control enters from outside the copies the pointer is at home, but in most calls and returns from one function of
 * ours to another the register that had it still has it.  A load of what has just been stored takes as long as
 * several instructions, and everything that is recorded next waits for it; for a comparison that comes out as it most
 * often does nothing waits:
 *
 *	cmp  %gs:ptr, %r11
 *	jne  miss
 *	...
 * miss:	mov  %gs:ptr, %r11
 *	jmp  back
 *
 * Only in a register that all agree on, and where the program needs neither it nor the flags.
 */
#include <string.h>

#include "trampolines/flow/code.h"
#include "trampolines/memory/x86-64/emit.h"
#include "trampolines/insn/x86-64/asm.h"

/* What a call reads its target from: `call *slot(%rip)`; 0: something else. */
static uint64_t slot_of(const struct tramp_mirror *m, const struct tramp_op *op)
{
	const uint8_t *bytes = mir_bytes(m, op->off);
	int32_t distance;

	if (!bytes || bytes[0] != 0xff || bytes[1] != 0x15)
		return 0;
	memcpy(&distance, bytes + 2, sizeof(distance));
	return tramp_code_base(m->flow.code) + op->off + op->len + (uint64_t)(int64_t)distance;
}

/* Is what is called likely to be instrumented?  Through the linker's tables, what is in the same object. */
static bool calls_ours(const struct tramp_mirror *m, const struct tramp_block *b, uint32_t block)
{
	const struct tramp_code *code = m->flow.code;
	const struct tramp_facts *facts = code->facts;
	const struct tramp_op *op = mir_last(m, block);
	uint64_t to = op->kind == TRAMP_OP_CALL_IND ? slot_of(m, op) : b->target_addr;
	uint32_t fn;

	if (!to)
		return op->kind == TRAMP_OP_CALL_IND;
	fn = tramp_code_function(code, to);
	return (fn != TRAMP_NONE && facts->fns[fn].addr == to) || tramp_flow_listed(facts->own, facts->nown, to);
}

static bool is_after_call(const struct tramp_mirror *m, uint32_t block)
{
	const struct tramp_block *caller = block ? mir_flow_block(m, block - 1) : NULL;

	return caller && caller->ends == TRAMP_END_CALL && caller->next == block &&
	       calls_ours(m, caller, block - 1);
}

bool mem_guesses(const struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);
	uint32_t i = node->block, op = mir_flow_block(m, i)->op + node->first;
	tramp_regs live = tramp_flow_live_at(&m->flow, i, op);

	if (node->reg != MEM_CARRIER || node->parked || m->mem->plan.entry[i] != n ||
	    live & (TRAMP_STATUS | TRAMP_REG(MEM_CARRIER)))
		return false;
	if (node->owner && mem_dead_register(m, node) == MEM_CARRIER)
		return false;
	return i == m->flow.entry || mir_flow_block(m, i)->flags & TRAMP_BLOCK_TABLE ||
	       is_after_call(m, i);
}

void mem_put_guess(struct tramp_mirror *m, uint32_t n)
{
	struct mem_miss miss = { .node = n };

	asm_gs(&m->out, ASM_CMP_LOAD, mem_node(m, n)->reg, m->mem->env.ptr);
	miss.ref = asm_jcc(&m->out, ASM_NE);
	miss.resume = (uint32_t)m->out.len;
	if (mir_reserve(&m->mem->misses, m->mem->misses.n + 1))
		m->mem->misses.v[m->mem->misses.n++] = miss;
	else
		m->lost = true;
}

static void put_miss(struct tramp_mirror *m, const struct mem_miss *miss)
{
	const struct mem_node *node = mem_node(m, miss->node);
	struct mem_state s = {
		.node = miss->node, .orig = mem_orig(m, miss->node, 0), .reg = RT_MEM_NO_REG,
		.flags = RT_MEM_BACK,
	};

	asm_land(&m->out, miss->ref);
	mem_state(m, &s, (uint32_t)m->out.len);
	asm_gs(&m->out, ASM_LOAD, node->reg, m->mem->env.ptr);
	s.reg = node->reg;
	s.flags = 0;
	mem_state(m, &s, 0);
	tramp_put_u8(&m->out, 0xe9);
	tramp_put_u32(&m->out, miss->resume - ((uint32_t)m->out.len + 4));
}

void mem_put_misses(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->mem->misses.n && m->out.status == TRAMP_OK; k++)
		put_miss(m, &m->mem->misses.v[k]);
}
