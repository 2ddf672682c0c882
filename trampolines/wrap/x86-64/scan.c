// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Decoding every instruction of a function only to find no branch to its first bytes would be most
 * of the cost of a plan. But a branch there holds a displacement that leads there, and at any place
 * only a few of the 2^32 values do. So all places are tried as displacements, instruction or not:
 * nothing can be missed, not even after data or in overlapping instructions. The few hits are then
 * looked at; those that a short displacement or data could also be are decoded from the start.
 */
#include "trampolines/wrap/x86-64/scan.h"

#include <string.h>

#include "base/search.h"
#include "trampolines/insn/x86-64/decode.h"

enum {
	SHORT_REACH = 128,
	IMMEDIATE_MAX = 4,	/* bytes after the displacement of a RIP-relative operand */
	RESYNC = 64,		/* bytes within which a linear sweep is in step again */
};

struct scan {
	const uint8_t *code;
	int64_t len;
	int64_t avail;
	int64_t patch;		/* offsets of the window and of the patch's end */
	int64_t end;

	/* Linear sweep. */
	int64_t at;		/* start of the instruction in `insn` */
	int64_t lost;		/* the last undecodable byte, or -RESYNC */
	struct tramp_decoded insn;
};

static void scan_init(struct scan *s, const struct tramp_function *fn,
		      const struct tramp_plan *plan)
{
	memset(s, 0, sizeof(*s));
	s->code = fn->code;
	s->avail = (int64_t)fn->avail;
	s->len = (int64_t)(fn->size ? fn->size : fn->avail);
	s->patch = (int64_t)(plan->patch_addr - fn->addr);
	s->end = s->patch + plan->patch_len;
	s->lost = -RESYNC;
}

/* Step on to the instruction that holds offset `pos`; calls must not go backwards. */
static void sweep_to(struct scan *s, int64_t pos)
{
	while (s->at + s->insn.length <= pos) {
		s->at += s->insn.length;
		if (!tramp_decode(s->code + s->at, (size_t)(s->avail - s->at), &s->insn)) {
			s->lost = s->at;
			s->insn.length = 1;
			s->insn.disp_size = 0;
		}
	}
}

static bool sweep_is_lost(const struct scan *s)
{
	return s->at - s->lost < RESYNC;
}

static enum tramp_status branch_status(const struct scan *s, int64_t target)
{
	if (target < 0 || target >= s->end)
		return TRAMP_OK;
	if (target == 0 || target == s->patch)
		return TRAMP_BRANCH_TO_START;
	return TRAMP_BRANCH_INTO;
}

static bool is_short_branch(uint8_t opcode)
{
	return (opcode & 0xf0) == 0x70 || (opcode & 0xfc) == 0xe0 || opcode == 0xeb;
}

/* jcc, jmp, loop, jrcxz with 8 bits of displacement. */
static enum tramp_status scan_short(struct scan *s)
{
	int64_t last = s->end + SHORT_REACH;

	if (last > s->len)
		last = s->len;
	for (int64_t i = 1; i < last; i++) {
		int64_t target = i + 1 + (int8_t)s->code[i];

		if (target < 0 || target >= s->end || !is_short_branch(s->code[i - 1]))
			continue;
		sweep_to(s, i);
		if (sweep_is_lost(s) ||
		    (s->at + s->insn.disp_offset == i && s->insn.disp_size == 1))
			return branch_status(s, target);
	}
	return TRAMP_OK;
}

/* An operand's displacement at `pos`: a pointer into the displaced instructions? */
static enum tramp_status check_operand(struct scan *s, int64_t pos)
{
	int64_t target;

	sweep_to(s, pos);
	if (s->at + s->insn.disp_offset != pos || !s->insn.rip_relative)
		return TRAMP_OK;
	target = s->at + s->insn.length + s->insn.rel;
	return branch_status(s, target) == TRAMP_BRANCH_INTO ? TRAMP_ADDRESS_TAKEN : TRAMP_OK;
}

static enum tramp_status check_near(struct scan *s, int64_t pos, int64_t target)
{
	uint8_t last = s->code[pos - 1];
	uint8_t first = pos > 1 ? s->code[pos - 2] : 0;
	enum tramp_status status = branch_status(s, target);

	if (status == TRAMP_OK)
		return check_operand(s, pos);
	if (last == 0xe9 || (first == 0x0f && (last & 0xf0) == 0x80) ||
	    (first == 0xc7 && last == 0xf8))
		return status;
	if (last == 0xe8)	/* to call oneself is no branch back */
		return status == TRAMP_BRANCH_INTO ? status : TRAMP_OK;
	return check_operand(s, pos);
}

/* jmp, jcc, call, xbegin and RIP-relative operands: 32 bits of displacement. */
static enum tramp_status scan_near(struct scan *s)
{
	uint32_t span = (uint32_t)s->end + IMMEDIATE_MAX;

	for (int64_t i = 1; i + 4 <= s->len; i++) {
		enum tramp_status status;
		uint32_t rel;

		memcpy(&rel, s->code + i, sizeof(rel));
		if ((uint32_t)i + 4 + rel + IMMEDIATE_MAX >= span)
			continue;
		status = check_near(s, i, i + 4 + (int32_t)rel);
		if (status != TRAMP_OK)
			return status;
	}
	return TRAMP_OK;
}

enum tramp_status tramp_scan(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	enum tramp_status status;
	struct scan s;

	scan_init(&s, fn, plan);
	status = scan_short(&s);
	if (status != TRAMP_OK)
		return status;
	scan_init(&s, fn, plan);
	return scan_near(&s);
}

bool tramp_is_entered(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	uint64_t patch_end = plan->patch_addr + plan->patch_len;
	uint64_t end = patch_end > plan->resume ? patch_end : plan->resume;
	size_t own = fn->size ? fn->size : fn->avail;

	for (size_t i = search_first(k, fn->nbranches, fn->branches[k].to > fn->addr); i < fn->nbranches; i++) {
		const struct tramp_branch *b = &fn->branches[i];

		if (b->to >= end)
			return false;
		if (b->to != plan->patch_addr && b->from - fn->addr >= own)
			return true;
	}
	return false;
}
