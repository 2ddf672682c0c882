// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A last look at what was planned: every instruction that is copied has to work elsewhere, and the two
 * decoders have to agree on those that are overwritten.
 */
#include <stdlib.h>
#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/mirror/x86-64/plan.h"

enum { KNOWN = 4096 };

static struct mir_known *recall(struct tramp_mirror *m, const uint8_t *bytes, size_t length)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < length; i++)
		hash = (hash ^ bytes[i]) * 16777619u;
	return &m->known->v[(hash ^ hash >> 16) % KNOWN];
}

/* These very bytes may be moved; @both: both decoders agree on them, too. */
static bool is_known(struct tramp_mirror *m, const uint8_t *bytes, size_t length, bool both)
{
	const struct mir_known *known = recall(m, bytes, length);

	return known->length == length && (known->both || !both) && memcmp(known->bytes, bytes, length) == 0;
}

static void remember(struct tramp_mirror *m, const uint8_t *bytes, size_t length, bool both)
{
	struct mir_known *known = recall(m, bytes, length);

	memcpy(known->bytes, bytes, length);
	known->length = (uint8_t)(length & 0xf);
	known->both = both;
}

static enum tramp_mirror_status check_op(struct tramp_mirror *m, const struct tramp_op *op,
					 bool overwritten)
{
	const uint8_t *bytes = mir_bytes(m, op->off);
	bool both = overwritten && m->checker;
	struct tramp_decoded insn;

	if (is_known(m, bytes, op->len, both))
		return TRAMP_MIRROR_OK;
	if (!tramp_decode(bytes, op->len, &insn) || insn.length != op->len)
		return TRAMP_MIRROR_BAD_CODE;
	if (insn.unmovable)
		return TRAMP_MIRROR_UNMOVABLE;
	if (both && tramp_checker_length(m->checker, bytes, op->len) != op->len)
		return TRAMP_MIRROR_DECODERS;
	remember(m, bytes, op->len, both);
	return TRAMP_MIRROR_OK;
}

static bool goes_elsewhere(const struct tramp_op *op)
{
	return op->kind != TRAMP_OP_PLAIN && op->kind != TRAMP_OP_RIP && op->kind != TRAMP_OP_SYSCALL &&
	       op->kind != TRAMP_OP_TRAP;
}

static enum tramp_mirror_status check_run(struct tramp_mirror *m, uint32_t i, enum mir_run run)
{
	const struct mir_block *b = &m->blocks.v[i];
	uint32_t k = run == MIR_HEAD ? b->lo : b->tail;
	uint32_t end = run == MIR_HEAD ? b->head : mir_flow_block(m, i)->nops;
	enum tramp_mirror_status status = TRAMP_MIRROR_OK;

	for (; k < end && status == TRAMP_MIRROR_OK; k++) {
		const struct tramp_op *op = mir_op(m, i, k);

		if (k + 1 < mir_flow_block(m, i)->nops && goes_elsewhere(op))
			return TRAMP_MIRROR_BAD_CODE;
		if (mir_is_call(op) && !(b->flags & MIR_MOVED))
			break;
		status = check_op(m, op, op->off < b->used[run]);
	}
	return status;
}

enum tramp_mirror_status mir_check(struct tramp_mirror *m)
{
	enum tramp_mirror_status status = TRAMP_MIRROR_OK;

	if (!m->known->v)
		m->known->v = calloc(KNOWN, sizeof(*m->known->v));
	if (!m->known->v)
		return TRAMP_MIRROR_MEMORY;
	for (uint32_t i = 0; i < m->flow.nblocks && status == TRAMP_MIRROR_OK; i++) {
		const struct mir_block *b = &m->blocks.v[i];

		if (b->head > b->lo)
			status = check_run(m, i, MIR_HEAD);
		if (status == TRAMP_MIRROR_OK && mir_end_copied(b))
			status = check_run(m, i, MIR_TAIL);
		else if (status == TRAMP_MIRROR_OK && (b->flags & MIR_RETARGETED))
			status = check_op(m, mir_last(m, i), true);
	}
	return status;
}
