// SPDX-License-Identifier: GPL-3.0-or-later
/* Whether a function is entered by its first instruction only. */
#include "trampolines/flow/code.h"

/* The first place in [at, end) that control comes to from elsewhere, or end. */
static uint64_t next_way_in(const struct tramp_code *code, uint64_t at, uint64_t end)
{
	while (at < end) {
		uint64_t word = code->external[at / 64] >> (at % 64);

		if (word)
			at += (uint64_t)__builtin_ctzll(word);
		if (word)
			return at < end ? at : end;
		at = (at / 64 + 1) * 64;
	}
	return end;
}

/* From @at on, in function or part @piece. */
static bool is_closed(const struct tramp_code *code, uint32_t piece, uint64_t at)
{
	const struct tramp_fn *fn = &code->facts->fns[piece];
	uint64_t end = fn->addr + fn->size - code->base;

	return !(code->bits[piece] & FLOW_FN_ODD) && next_way_in(code, at - code->base, end) == end;
}

/* Its indirect jumps are understood. */
static bool jumps_are_known(const struct tramp_code *code, uint32_t fn, struct tramp_flow *flow)
{
	uint16_t bits = code->bits[fn];

	for (uint32_t p = code->first_part[fn]; p != TRAMP_NONE; p = code->next_part[p])
		bits |= code->bits[p];
	if (!(bits & FLOW_FN_JUMPS))
		return true;
	return tramp_flow_build(flow, code, fn) == TRAMP_CODE_OK &&
	       !(flow->flags & (TRAMP_FLOW_UNSURE | TRAMP_FLOW_BAD_CODE | TRAMP_FLOW_OVERLAP));
}

bool tramp_code_one_entry(const struct tramp_code *code, uint32_t fn, struct tramp_flow *flow)
{
	if (!is_closed(code, fn, code->facts->fns[fn].addr + 1))
		return false;
	for (uint32_t p = code->first_part[fn]; p != TRAMP_NONE; p = code->next_part[p])
		if (!is_closed(code, p, code->facts->fns[p].addr))
			return false;
	return jumps_are_known(code, fn, flow);
}
