// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A loop of one node that writes nothing: the reader computes all of it, and nothing would be put between its
 * instructions, if it were not for what is counted.  That would be most of what the loop takes.  So the loop is unrolled, as
 * in the plain copy:
 *
 *	1:	body; jcc out1
 *		body; jcc out2
 *		...
 *		subq $factor * weight, %gs:left
 *		js   slow
 *		body; jcc 1b
 *
 *	out2:	subq $2 * weight, %gs:left
 *		jmp  next
 */
#include "trampolines/memory/x86-64/emit.h"
#include "trampolines/insn/x86-64/asm.h"

static bool is_silent_loop(const struct tramp_mirror *m, uint32_t n)
{
	const struct mem_node *node = mem_node(m, n);

	return node->nops && node->first == 0 && node->last && node->leaves && node->target == n &&
	       node->next != TRAMP_NONE && !node->bytes && !node->nactions &&
	       (node->reg == RT_MEM_NO_REG || node->kept);
}

static void put_exit(struct tramp_mirror *m, uint32_t n, const struct mem_state *s, uint32_t iterations)
{
	const struct mem_node *node = mem_node(m, n);
	const struct tramp_op *last = mir_last(m, node->block);
	enum asm_cc cc = (mir_bytes(m, last->off)[last->disp_at - 1] ^ 1) & 0x0f;
	struct mem_exit e = { .block = n, .done = iterations * mem_weight(m, node->block) };

	mem_state(m, s, 0);
	if (!e.done) {
		mem_put_jcc(m, cc, node->next, mem_entry_of(m, node->next, node->kept));
		return;
	}
	e.ref = asm_jcc(&m->out, cc);
	if (mir_reserve(&m->mem->outs, m->mem->outs.n + 1))
		m->mem->outs.v[m->mem->outs.n++] = e;
	else
		m->lost = true;
}

uint32_t mem_put_unrolled(struct tramp_mirror *m, uint32_t n, struct mem_state s)
{
	const struct mem_node *node = mem_node(m, n);
	uint32_t factor = m->mem->env.count && is_silent_loop(m, n) ? mem_unroll_factor(m, node->block) : 1;

	for (uint32_t done = 1; done < factor; done++) {
		for (uint32_t k = 0; k + 1 < node->nops; k++) {
			s.orig = mem_orig(m, n, k);
			mem_put_copy(m, &s, k);
		}
		s.orig = mem_orig(m, n, node->nops - 1);
		put_exit(m, n, &s, done);
	}
	return factor;
}

/* In the node that follows, at its start. */
void mem_put_exits(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->mem->outs.n && m->out.status == TRAMP_OK; k++) {
		const struct mem_exit *e = &m->mem->outs.v[k];
		const struct mem_node *node = mem_node(m, e->block), *next = mem_node(m, node->next);
		enum mem_entry entry = mem_entry_of(m, node->next, node->kept);
		struct mem_state s = {
			.node = node->next, .orig = mem_orig(m, node->next, 0),
			.reg = entry == MEM_KEPT ? next->reg : RT_MEM_NO_REG,
			.flags = entry == MEM_KEPT && next->parked ? RT_MEM_PARKED : 0,
		};

		asm_land(&m->out, e->ref);
		mem_state(m, &s, 0);
		mem_put_less(m, e->done);
		mem_put_jump(m, node->next, entry);
	}
}
