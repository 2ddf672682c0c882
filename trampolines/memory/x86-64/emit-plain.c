// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Recording that goes off and on: the plain copy of all blocks.  Control enters it, or the copy that records, by
 * memory/x86-64/emit-gate.c.
 *
 *	cmpq $0, %gs:off	before a loop head in the plain copy
 *	je   landing
 *
 * A short loop of one block is unrolled, with one such poll before the last body: a loop of few iterations does not
 * reach it.
 *
 * By number, in place of the last; and after a test of `off` at the function's entry:
 *
 *	subq $weight, %gs:left
 *	js   landing
 *
 * The landing (memory/x86-64/emit-check.c) is the runtime's, which puts all registers into the stream: so for the reader there is
 * nothing that would be known in the loop otherwise, and is not since control may come from here.
 *
 * An unrolled loop subtracts before the last body, and on its exit edges before that.  Where
 * nothing is to be subtracted there is only looked whether it is negative.
 */
#include "trampolines/memory/x86-64/emit.h"
#include "trampolines/insn/x86-64/asm.h"

/* Bytes, at most. */
enum {
	POLL_MAX = 19,
	EXIT_MAX = 13 + 5,
	SPENT_MAX = 10 + 6,
	LANDING_MAX = 5 + 32 + 8 + 26 + 18,
	LAST_MAX = 48 + 24,	/* a block's last instruction and the jump after it */
	JCC_SIZE = 6,
	UNROLLED_TIMES = 16,
};

static uint32_t here(const struct tramp_mirror *m)
{
	return (uint32_t)m->out.len;
}

/* How many copies there are of a block's code; more than one if it is a loop by itself. */
static uint32_t times_at_most(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	uint32_t n = MEM_UNROLL_BYTES / (fb->end - fb->start);

	if (!m->mem->plan.poll[i] || fb->ends != TRAMP_END_JCC || mir_last(m, i)->kind != TRAMP_OP_JCC ||
	    fb->target != i || fb->next == TRAMP_NONE || n < 2)
		return 1;
	return n < UNROLLED_TIMES ? n : UNROLLED_TIMES;
}

/* What is counted on the exit edge changes flags. */
uint32_t mem_unroll_factor(const struct tramp_mirror *m, uint32_t i)
{
	uint32_t next = mir_flow_block(m, i)->next;

	if (m->mem->env.count && next != TRAMP_NONE && mir_flow_block(m, next)->live_in & TRAMP_STATUS)
		return 1;
	return times_at_most(m, i);
}

/* The entry's, if it is no loop's head, is subtracted where it is entered, if that can be done there. */
uint32_t mem_weight(const struct tramp_mirror *m, uint32_t i)
{
	const struct mem_plan *plan = &m->mem->plan;

	if (!m->mem->env.count)
		return 0;
	if (!plan->poll[i] && (i != m->flow.entry || plan->entry[i] == TRAMP_NONE))
		return 0;
	return plan->weight[i];
}

size_t mem_unroll_room(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	return (times_at_most(m, i) - 1) * (fb->end - fb->start + JCC_SIZE + (size_t)EXIT_MAX);
}

size_t mem_plain_room(const struct tramp_mirror *m)
{
	size_t room = 0;

	for (uint32_t i = 0; i < m->flow.nblocks; i++) {
		const struct tramp_block *fb = mir_flow_block(m, i);

		room += fb->end - fb->start + LAST_MAX + POLL_MAX + MEM_GATE_MAX + SPENT_MAX + LANDING_MAX;
		if (mir_is_exit(fb->ends) && mir_wants(m, TRAMP_MIRROR_EXIT))
			room += LAST_MAX + mir_probe_room(m);
		room += mem_unroll_room(m, i);
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
	for (uint32_t i = 0; i < m->flow.nblocks; i++)
		mem->plain.v[i].gate = TRAMP_NONE;
	mem->exits.n = mem->polls.n = 0;
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
	asm_gs_cmp0(&m->out, m->mem->env.off);
}

void mem_put_jcc_to(struct tramp_mirror *m, uint8_t cc, uint32_t at)
{
	tramp_put_u8(&m->out, 0x0f);
	tramp_put_u8(&m->out, (uint8_t)(0x80 | cc));
	tramp_put_u32(&m->out, at - (here(m) + 4));
}

/* It is not known yet where to. */
static void put_later(struct tramp_mirror *m, struct mem_exit e)
{
	e.ref = here(m);
	tramp_put_u32(&m->out, 0);
	if (e.done && mir_reserve(&m->mem->exits, m->mem->exits.n + 1))
		m->mem->exits.v[m->mem->exits.n++] = e;
	else if (!e.done && mir_reserve(&m->mem->polls, m->mem->polls.n + 1))
		m->mem->polls.v[m->mem->polls.n++] = e;
	else
		m->lost = true;
}

static void settle_later(struct tramp_mirror *m, const struct mem_exit *e)
{
	asm_land(&m->out, e->ref);
	mir_piece(m, RT_PIECE_INSN, mir_flow_block(m, e->block)->start, false);
}

static void put_poll(struct tramp_mirror *m, uint32_t i)
{
	mir_piece(m, RT_PIECE_INSN, mir_off(m, i, m->blocks.v[i].lo), false);
	if (m->mem->env.count)
		mem_put_less(m, mem_unroll_factor(m, i) * mem_weight(m, i));
	else
		compare_off(m);
	tramp_put_u8(&m->out, 0x0f);
	tramp_put_u8(&m->out, 0x80 | (m->mem->env.count ? ASM_S : ASM_E));
	put_later(m, (struct mem_exit){ .block = i });
}

/* Recording is on again, or `left` is negative. */
static void put_landings(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->mem->polls.n && m->out.status == TRAMP_OK; k++) {
		const struct mem_exit *e = &m->mem->polls.v[k];
		uint32_t n = m->mem->plan.entry[e->block], enter = here(m);
		struct mem_state s = { .node = n, .orig = mem_orig(m, n, 0), .reg = RT_MEM_NO_REG };

		mem_state(m, &s, 0);
		mem_put_jump(m, n, MEM_HOME);
		mem_plain_state(m, 0, 0);
		settle_later(m, e);
		mem_put_landing(m, e->block, enter);
	}
}

void mir_mem_plain(struct tramp_mirror *m, uint32_t i, uint32_t k)
{
	struct mir_mem *mem = m->mem;
	uint32_t *at;

	if (!mir_wants(m, TRAMP_MIRROR_ACCESSES))
		return;
	if (k == m->blocks.v[i].tail && mem->plan.poll[i] && mem_unroll_factor(m, i) == 1)
		put_poll(m, i);
	at = &mem->plain_op.v[mir_flow_block(m, i)->op + k];
	if (*at == TRAMP_NONE)
		*at = here(m);
}

/* The exit of an unrolled loop after @iterations of its bodies. */
static void put_exit(struct tramp_mirror *m, uint32_t i, uint32_t iterations)
{
	uint32_t to = mir_flow_block(m, i)->next;
	struct mem_exit e = { .block = to, .done = iterations * mem_weight(m, i) };

	if (e.done)
		put_later(m, e);
	else
		mir_put_label(m, to);
}

/* All but the last one, which jumps back: the others leave the loop where that would not. */
void mir_mem_unroll(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);
	const struct tramp_op *last = mir_last(m, i);
	const uint8_t *bytes = mir_bytes(m, last->off);

	if (!mir_wants(m, TRAMP_MIRROR_ACCESSES) || mem_unroll_factor(m, i) == 1)
		return;
	for (uint32_t n = 1; n < mem_unroll_factor(m, i); n++) {
		for (uint32_t k = m->blocks.v[i].tail; k + 1 < fb->nops; k++) {
			mir_mem_plain(m, i, k);
			mir_piece(m, RT_PIECE_COPY, mir_off(m, i, k), false);
			mir_put_as_is(m, mir_op(m, i, k));
		}
		mir_mem_plain(m, i, fb->nops - 1);
		mir_piece(m, RT_PIECE_INSN, last->off, false);
		tramp_put_u8(&m->out, 0x0f);
		tramp_put_u8(&m->out, (uint8_t)(0x80 | ((bytes[last->disp_at - 1] ^ 1) & 0x0f)));
		put_exit(m, i, n);
	}
	put_poll(m, i);
}

static void put_exits(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->mem->exits.n && m->out.status == TRAMP_OK; k++) {
		const struct mem_exit *e = &m->mem->exits.v[k];
		settle_later(m, e);
		mem_put_less(m, e->done);
		tramp_put_u8(&m->out, 0xe9);
		mir_put_label(m, e->block);
	}
}

/* ---- all of it ---- */

void mem_put_plain(struct tramp_mirror *m)
{
	mem_plain_state(m, 0, 0);
	mir_emit_blocks(m);
	put_exits(m);
	mir_fix_labels(m);
	for (uint32_t i = 0; i < m->flow.nblocks; i++)
		m->mem->plain.v[i].at = m->blocks.v[i].copy_at;
	put_landings(m);
	mem_put_gates(m);
}
