// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The copies: instructions that do in the arena what they do at their place.
 *
 *	RIP-relative		the displacement is changed
 *	jmp, jcc		to the copy of the target, if there is one; always with 32 bits
 *	loop, jrcxz ...		loop 1f; jmp 2f; 1: jmp target; 2:
 *	call			jmp to the original call; where that is overwritten, RT_CALL, push and jmp
 *	ret, jmp out		a probe in front
 *	jcc out			jcc stub; the stub, after all else: probe; jmp
 *	what is counted		mirror/x86-64/count.c
 */
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/insn/x86-64/displace.h"
#include "trampolines/mirror/x86-64/plan.h"

enum {
	JMP_SIZE = 5,
	SHORT_JMP_SIZE = 2,
	REL32 = 4,
};

static uint64_t runtime_address(const struct tramp_mirror *m, uint32_t off)
{
	return m->base + off;
}

/* An address of the file. */
uint64_t mir_moved(const struct tramp_mirror *m, uint64_t addr)
{
	return m->base + (addr - m->code_base);
}

/* A displacement to block i's copy, or its stub; filled in when all is laid out. */
static void put_label(struct tramp_mirror *m, uint32_t i, bool stub)
{
	struct mir_fixup f = { .at = (uint32_t)m->out.len, .block = i, .stub = stub };

	if (mir_reserve(&m->fixups, m->fixups.n + 1))
		m->fixups.v[m->fixups.n++] = f;
	else
		m->lost = true;
	tramp_put_u32(&m->out, 0);
}

void mir_put_label(struct tramp_mirror *m, uint32_t i)
{
	put_label(m, i, false);
}

void mir_put_stub_label(struct tramp_mirror *m, uint32_t i)
{
	put_label(m, i, true);
}

/* A displacement to where block i runs from now on. */
static void put_way(struct tramp_mirror *m, uint32_t i)
{
	if (mir_goes_on_copied(&m->blocks.v[i]))
		put_label(m, i, false);
	else
		tramp_put_rel32(&m->out, runtime_address(m, mir_flow_block(m, i)->start), 0);
}

void mir_put_original(struct tramp_mirror *m, uint32_t off)
{
	mir_piece(m, RT_PIECE_INSN, off, true);
	tramp_put_jmp(&m->out, runtime_address(m, off));
}

/* The block whose copy comes next. */
static uint32_t follower(const struct tramp_mirror *m, uint32_t i)
{
	return i + 1 == m->flow.nblocks ? 0 : i + 1;
}

static void jump_to_block(struct tramp_mirror *m, uint32_t i, uint32_t to)
{
	if (to == TRAMP_NONE) {
		mir_put_original(m, mir_flow_block(m, i)->end);
		return;
	}
	if (!mir_goes_on_copied(&m->blocks.v[to])) {
		mir_put_original(m, mir_flow_block(m, to)->start);
		return;
	}
	if (to == follower(m, i) && to != m->flow.entry)
		return;
	mir_piece(m, RT_PIECE_INSN, mir_off(m, to, m->blocks.v[to].lo), false);
	tramp_put_u8(&m->out, 0xe9);
	put_label(m, to, false);
}

/* ---- instructions that stay what they are ---- */

/* Is it copied although nothing has been written over it? */
static bool is_intact(const struct tramp_mirror *m, uint32_t i, uint32_t off)
{
	const struct mir_block *b = &m->blocks.v[i];

	return b->ahead && off >= mir_off(m, i, b->head) && (!mir_end_copied(b) || off < mir_off(m, i, b->tail));
}

static bool is_resumable(const struct tramp_mirror *m, uint32_t i, enum mir_run run, uint32_t off)
{
	const struct mir_block *b = &m->blocks.v[i];
	bool probe = i == m->flow.entry && mir_wants(m, TRAMP_MIRROR_ENTRY);

	if (mir_wants(m, TRAMP_MIRROR_ACCESSES) || mir_wants(m, TRAMP_MIRROR_BLOCKS))
		return false;
	if (is_intact(m, i, off))
		return true;
	if (off == mir_run_start(m, i, run) && !(probe && off == mir_off(m, i, b->lo)))
		return b->flags & (run == MIR_HEAD ? MIR_HEAD_WINDOW : MIR_TAIL_WINDOW);
	return run == MIR_HEAD && off >= b->used[run];
}

void mir_put_as_is(struct tramp_mirror *m, const struct tramp_op *op)
{
	const uint8_t *bytes = mir_bytes(m, op->off);
	size_t after = op->disp_at + REL32;
	int32_t disp;

	if (!op->disp_at || op->disp_len != REL32) {
		tramp_put_bytes(&m->out, bytes, op->len);
		return;
	}
	memcpy(&disp, bytes + op->disp_at, sizeof(disp));
	tramp_put_bytes(&m->out, bytes, op->disp_at);
	tramp_put_rel32(&m->out,
			runtime_address(m, op->off) + op->len + (uint64_t)(int64_t)disp,
			op->len - after);
	tramp_put_bytes(&m->out, bytes + after, op->len - after);
}

static void copy_op(struct tramp_mirror *m, uint32_t i, enum mir_run run, const struct tramp_op *op)
{
	mir_piece(m, RT_PIECE_COPY, op->off, is_resumable(m, i, run, op->off));
	mir_put_as_is(m, op);
}

/* ---- the ends of blocks ---- */

static void put_target(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	if ((fb->ends == TRAMP_END_TAIL_JCC && mir_wants(m, TRAMP_MIRROR_EXIT)) || mir_counts_target(m, i))
		put_label(m, i, true);
	else if (fb->target != TRAMP_NONE)
		put_way(m, fb->target);
	else
		tramp_put_rel32(&m->out, mir_moved(m, fb->target_addr), 0);
}

static void put_condition(struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	const struct tramp_op *op = mir_last(m, i);
	const uint8_t *bytes = mir_bytes(m, op->off);

	mir_piece(m, RT_PIECE_INSN, op->off, is_resumable(m, i, run, op->off));
	if (op->kind == TRAMP_OP_JCC) {
		tramp_put_u8(&m->out, 0x0f);
		tramp_put_u8(&m->out, 0x80 | (bytes[op->disp_at - 1] & 0x0f));
		put_target(m, i);
		return;
	}
	tramp_put_bytes(&m->out, bytes, op->disp_at);
	tramp_put_u8(&m->out, SHORT_JMP_SIZE);
	tramp_put_u8(&m->out, 0xeb);
	tramp_put_u8(&m->out, JMP_SIZE);
	tramp_put_u8(&m->out, 0xe9);
	put_target(m, i);
}

/* The return address that it pushes is that of the original call. */
void mir_put_moved_call(struct tramp_mirror *m, const struct tramp_op *op)
{
	struct tramp_plan plan = {
		.addr = runtime_address(m, op->off),
		.patch_addr = runtime_address(m, op->off),
		.resume = runtime_address(m, op->off) + op->len,
	};
	const uint8_t *bytes = mir_bytes(m, op->off);
	struct tramp_out *out = &m->out;
	struct tramp_decoded insn;
	enum tramp_status status;
	size_t len = 0;

	if (out->status != TRAMP_OK || !tramp_decode(bytes, op->len, &insn))
		return;
	memcpy(plan.original, bytes, op->len);
	tramp_displace(&plan, &insn, bytes, 0);
	mir_piece(m, RT_PIECE_INSN, op->off, false);
	tramp_put_bytes(out, RT_CALL, RT_CALL_SIZE);
	if (out->status != TRAMP_OK)
		return;
	status = tramp_emit_replay(&plan, out->addr + out->len, out->buf + out->len,
				   out->room - out->len, &len);
	if (status != TRAMP_OK)
		out->status = status;
	else
		out->len += len;
}

void mir_put_exit_probe(struct tramp_mirror *m, uint32_t i, uint32_t orig, tramp_regs live)
{
	if (mir_wants(m, TRAMP_MIRROR_EXIT) && mir_is_exit(mir_flow_block(m, i)->ends)) {
		struct tramp_jump jump = mir_jump_of(m, i);

		mir_probe(m, TRAMP_PROBE_EXIT, &jump, live, orig);
	}
}

tramp_regs mir_live_at_end(const struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	return tramp_flow_live_at(&m->flow, i, fb->op + fb->nops - 1);
}

void mir_put_jump_out(struct tramp_mirror *m, uint32_t i, uint32_t orig)
{
	mir_piece(m, RT_PIECE_INSN, orig, false);
	tramp_put_jmp(&m->out, mir_moved(m, mir_flow_block(m, i)->target_addr));
}

/* Does its last instruction become something else? */
static bool changes_last(const struct tramp_op *last)
{
	return last->kind == TRAMP_OP_JMP || last->kind == TRAMP_OP_JCC ||
	       last->kind == TRAMP_OP_LOOP || mir_is_call(last);
}

static void put_last(struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	const struct tramp_op *last = mir_last(m, i);
	const struct tramp_block *fb = mir_flow_block(m, i);

	switch (last->kind) {
	case TRAMP_OP_CALL:
	case TRAMP_OP_CALL_IND:
		if (m->blocks.v[i].flags & MIR_MOVED)
			mir_put_moved_call(m, last);
		else
			mir_put_original(m, last->off);
		break;
	case TRAMP_OP_JCC:
	case TRAMP_OP_LOOP:
		put_condition(m, i, run);
		mir_put_next_count(m, i);
		jump_to_block(m, i, fb->next);
		break;
	case TRAMP_OP_JMP:
		if (fb->ends == TRAMP_END_TAIL) {
			mir_put_exit_probe(m, i, last->off, mir_live_at_end(m, i));
			mir_put_jump_out(m, i, last->off);
		} else {
			jump_to_block(m, i, fb->target);
		}
		break;
	default:	/* RET, JMP_IND, STOP, and all that falls through */
		if (fb->ends != TRAMP_END_TAIL_FALL)
			mir_put_exit_probe(m, i, last->off, mir_live_at_end(m, i));
		copy_op(m, i, run, last);
	}
}

/* What follows a last instruction that falls through. */
static void put_way_on(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_block *fb = mir_flow_block(m, i);

	if (fb->ends == TRAMP_END_FALL) {
		jump_to_block(m, i, fb->next);
	} else if (fb->ends == TRAMP_END_TAIL_FALL) {
		mir_put_exit_probe(m, i, fb->end, fb->live_out);
		mir_put_jump_out(m, i, fb->end);
	} else if (fb->ends == TRAMP_END_STOP && mir_last(m, i)->kind != TRAMP_OP_STOP) {
		mir_put_original(m, fb->end);
	}
}

/* ---- runs ---- */

void mir_put_entry_probe(struct tramp_mirror *m, uint32_t i)
{
	const struct mir_block *b = &m->blocks.v[i];
	const struct tramp_block *fb = mir_flow_block(m, i);
	tramp_regs live = fb->live_out;

	m->entry_at = (uint32_t)m->out.len;
	mir_put_entry_count(m, i);
	if (!mir_wants(m, TRAMP_MIRROR_ENTRY))
		return;
	if (b->lo < fb->nops)
		live = tramp_flow_live_at(&m->flow, i, fb->op + b->lo);
	mir_probe(m, TRAMP_PROBE_ENTRY, &(struct tramp_jump){ 0 }, live, mir_off(m, i, b->lo));
}

static void note_start(struct tramp_mirror *m, uint32_t i)
{
	/* memory: before the branch to either copy */
	if (i == m->flow.entry && !mir_wants(m, TRAMP_MIRROR_ACCESSES))
		mir_put_entry_probe(m, i);
	mir_mem_gate(m, i);
	m->blocks.v[i].copy_at = (uint32_t)m->out.len;
}

static void put_head(struct tramp_mirror *m, uint32_t i)
{
	const struct mir_block *b = &m->blocks.v[i];

	note_start(m, i);
	for (uint32_t k = b->lo; k < b->head; k++)
		copy_op(m, i, MIR_HEAD, mir_op(m, i, k));
	mir_put_original(m, mir_off(m, i, b->head));
}

static void put_tail(struct tramp_mirror *m, uint32_t i)
{
	struct mir_block *b = &m->blocks.v[i];
	const struct tramp_block *fb = mir_flow_block(m, i);

	if (mir_whole(b))
		note_start(m, i);
	mir_mem_unroll(m, i);
	b->tail_at = (uint32_t)m->out.len;
	for (uint32_t k = b->tail; k + 1 < fb->nops; k++) {
		mir_mem_plain(m, i, k);
		mir_put_counts(m, i, k);
		copy_op(m, i, MIR_TAIL, mir_op(m, i, k));
	}
	mir_put_counts(m, i, b->tail < fb->nops ? fb->nops - 1 : b->tail);
	if (b->tail < fb->nops) {
		mir_mem_plain(m, i, fb->nops - 1);
		put_last(m, i, MIR_TAIL);
		mir_put_counts(m, i, fb->nops);
	}
	if (b->tail == fb->nops || !changes_last(mir_last(m, i)))
		put_way_on(m, i);
}

static void put_ahead(struct tramp_mirror *m, uint32_t i)
{
	struct mir_block *b = &m->blocks.v[i];
	uint32_t last = mir_flow_block(m, i)->nops - 1;

	note_start(m, i);
	for (uint32_t k = b->lo; k <= last; k++) {
		if (k == b->tail)
			b->tail_at = (uint32_t)m->out.len;
		if (k < last)
			copy_op(m, i, k < b->head ? MIR_HEAD : MIR_TAIL, mir_op(m, i, k));
	}
	put_last(m, i, MIR_TAIL);
	if (!changes_last(mir_last(m, i)))
		put_way_on(m, i);
}

static void put_block(struct tramp_mirror *m, uint32_t i)
{
	const struct mir_block *b = &m->blocks.v[i];

	mir_count_enter(m, i);
	if (b->ahead) {
		put_ahead(m, i);
		return;
	}
	if (b->head > b->lo)
		put_head(m, i);
	if (mir_end_copied(b))
		put_tail(m, i);
}

void mir_put_stub(struct tramp_mirror *m, uint32_t i)
{
	const struct tramp_op *last = mir_last(m, i);

	m->blocks.v[i].stub_at = (uint32_t)m->out.len;
	mir_put_exit_probe(m, i, last->off, mir_live_at_end(m, i));
	mir_put_jump_out(m, i, last->off);
}

void mir_fix_labels(struct tramp_mirror *m)
{
	for (size_t k = 0; k < m->fixups.n && m->out.status == TRAMP_OK; k++) {
		const struct mir_fixup *f = &m->fixups.v[k];
		const struct mir_block *b = &m->blocks.v[f->block];
		uint32_t rel = (f->stub ? b->stub_at : b->copy_at) - (f->at + REL32);

		memcpy(m->out.buf + f->at, &rel, sizeof(rel));
	}
}

void mir_emit_blocks(struct tramp_mirror *m)
{
	uint32_t n = m->flow.nblocks, entry = m->flow.entry;

	m->fixups.n = 0;
	for (uint32_t k = 0; k < n; k++)
		put_block(m, k < n - entry ? entry + k : k - (n - entry));
	for (uint32_t i = 0; i < n && mir_wants(m, TRAMP_MIRROR_EXIT); i++) {
		if (mir_flow_block(m, i)->ends == TRAMP_END_TAIL_JCC)
			mir_put_stub(m, i);
	}
	mir_put_count_stubs(m);
	mir_fix_labels(m);
}
