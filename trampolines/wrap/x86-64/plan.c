// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which instructions the jump displaces, and whether anything else relies on their staying where
 * they are.
 */
#include <string.h>

#include "trampolines/trampoline.h"
#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/insn/x86-64/displace.h"
#include "trampolines/wrap/x86-64/enclose.h"
#include "trampolines/wrap/x86-64/scan.h"

/* Walks the function's first instructions; offsets are from the function's first byte. */
struct walk {
	const struct tramp_function *fn;
	size_t end;		/* the function's size, or all there is */
	size_t off;
	size_t count;		/* instructions so far, endbr64 included */
	struct tramp_decoded insn;
};

static enum tramp_status walk_next(struct walk *w)
{
	const struct tramp_function *fn = w->fn;

	if (!tramp_decode(fn->code + w->off, fn->avail - w->off, &w->insn))
		return TRAMP_UNDECODABLE;
	if (w->count < fn->nlengths && fn->lengths[w->count] != 0 &&
	    fn->lengths[w->count] != w->insn.length)
		return TRAMP_LENGTH_DIFFERS;
	/*
	 * A function may fall through its end into the next one. Between the two, nothing but nops
	 * is known to be no entry of that.
	 */
	if (w->off >= w->end && !w->insn.nop)
		return TRAMP_TOO_SHORT;
	if (w->off < w->end && w->insn.length > w->end - w->off)
		return TRAMP_UNDECODABLE;
	w->off += w->insn.length;
	w->count++;
	return TRAMP_OK;
}

static bool falls_through(const struct tramp_decoded *insn)
{
	return tramp_op_goes_on(insn->kind) && !tramp_op_calls(insn->kind);
}

/*
 * After a jump or return, the window may go on over padding: nops and int3, and beyond the end also
 * the linker's zeroes. It takes the last nop whole, so that what is left still disassembles.
 */
static enum tramp_status take_padding(struct walk *w, size_t window_end)
{
	const struct tramp_function *fn = w->fn;

	while (w->off < window_end) {
		uint8_t byte = fn->code[w->off];
		struct tramp_decoded insn;

		if (byte == 0xcc || (byte == 0 && w->off >= w->end))
			w->off++;
		else if (tramp_decode(fn->code + w->off, fn->avail - w->off, &insn) && insn.nop)
			w->off += insn.length;
		else
			return w->off < w->end ? TRAMP_ENDS_EARLY : TRAMP_TOO_SHORT;
	}
	return TRAMP_OK;
}

static enum tramp_status displace(struct walk *w, struct tramp_plan *plan)
{
	size_t patch = (size_t)(plan->patch_addr - plan->addr);
	size_t window_end = patch + TRAMP_JUMP_SIZE;
	enum tramp_status status;

	plan->falls_through = true;
	while (w->off < window_end && plan->falls_through) {
		status = walk_next(w);
		if (status != TRAMP_OK)
			return status;
		if (w->insn.unmovable)
			return TRAMP_UNMOVABLE;
		tramp_displace(plan, &w->insn, w->fn->code, w->off - w->insn.length);
		plan->falls_through = falls_through(&w->insn);
	}
	plan->displaced_len = (uint8_t)(w->off - patch);
	plan->resume = plan->addr + w->off;
	if (w->off < window_end && tramp_op_calls(w->insn.kind))
		return TRAMP_CALL_RETURNS;
	status = take_padding(w, window_end);
	if (status != TRAMP_OK)
		return status;
	plan->patch_len = (uint8_t)(w->off - patch);
	memcpy(plan->original, w->fn->code + patch, plan->patch_len);
	return TRAMP_OK;
}

enum tramp_status tramp_plan_entry(const struct tramp_function *fn, struct tramp_plan *plan)
{
	struct walk walk = { .fn = fn, .end = fn->size ? fn->size : fn->avail };
	enum tramp_status status;

	memset(plan, 0, sizeof(*plan));
	plan->addr = fn->addr;
	walk.off = tramp_endbr64_size(fn->code, walk.end);
	walk.count = walk.off ? 1 : 0;
	plan->patch_addr = fn->addr + walk.off;
	if (fn->avail < walk.off + TRAMP_JUMP_SIZE)
		return fn->size ? TRAMP_TOO_SHORT : TRAMP_TRUNCATED;
	if (tramp_is_sigreturn(fn->code, fn->avail))
		return TRAMP_SIGRETURN;
	status = displace(&walk, plan);
	if (status != TRAMP_OK || fn->scanned)
		return status;
	status = tramp_scan(fn, plan);
	if (status != TRAMP_OK && !tramp_enclose(fn, plan))
		return status;
	if (tramp_is_entered(fn, plan))
		return TRAMP_BRANCH_INTO;
	if (fn->whole)
		tramp_take_whole(fn, plan);
	return TRAMP_OK;
}
