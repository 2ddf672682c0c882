// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A branch back into the patched bytes cannot stay: it would end up in the middle of the jump, or
 * call the wrapper again half way through the function. But when it and all between are copied,
 * the copied branch leads to the copy:
 *
 *	original			copy
 *	jmp stub	(patched)	1: lock decl (%rdi)
 *	...				   jne 2f
 *	(no longer reached)		   xor %eax, %eax
 *	...				   ret
 *	...				2: pause
 *	...				   cmpl $0, (%rdi)
 *	...				   jg 1b
 *	jmp 2				   jmp resume
 *
 * That holds as long as nothing comes back from elsewhere into the original of what was copied: no
 * branch from after it, no call that returns to it, no jump table, no pointer. So the whole
 * function has to be understood, every byte of it, and anything unusual means no.
 */
#include "trampolines/wrap/x86-64/enclose.h"

#include <string.h>

#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/insn/x86-64/displace.h"

enum { FUNCTION_MAX = 1 << 16 };

/* A pass over the function's instructions; offsets are from its first byte. */
struct pass {
	const struct tramp_function *fn;
	size_t at;			/* of the instruction */
	size_t next;
	struct tramp_decoded insn;
	bool failed;			/* undecodable, or not to be understood */
};

static struct pass begin(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	return (struct pass){ .fn = fn, .next = (size_t)(plan->patch_addr - plan->addr) };
}

static bool step(struct pass *p)
{
	size_t left = p->fn->size - p->next;

	if (left == 0)
		return false;
	p->at = p->next;
	if (!tramp_decode(p->fn->code + p->at, left, &p->insn) ||
	    p->insn.kind == TRAMP_OP_JMP_IND) {
		p->failed = true;
		return false;
	}
	p->next += p->insn.length;
	return true;
}

/* What the instruction refers to, from the function's first byte; -1 for nothing in [0, end). */
static int64_t reference(const struct pass *p, size_t end)
{
	int64_t target = (int64_t)p->next + p->insn.rel;

	return p->insn.disp_size && target >= 0 && target < (int64_t)end ? target : -1;
}

/* The end of the last branch to anything before `end`; 0: the function is not understood. */
static size_t last_branch_before(const struct tramp_function *fn, const struct tramp_plan *plan,
				 size_t end)
{
	struct pass p = begin(fn, plan);
	size_t last = 1;

	while (step(&p)) {
		if (tramp_op_jumps(p.insn.kind) && reference(&p, end) >= 0)
			last = p.next;
	}
	return p.failed ? 0 : last;
}

/* What is copied has to hold all branches to it; 0 when it grows too long. */
static size_t find_extent(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	size_t patch = (size_t)(plan->patch_addr - plan->addr);
	size_t extent = (size_t)(plan->resume - plan->addr);
	size_t end = patch + plan->patch_len;

	while (extent - patch <= TRAMP_DISPLACED_MAX) {
		size_t last = last_branch_before(fn, plan, end > extent ? end : extent);

		if (last <= extent)
			return last ? extent : 0;
		extent = last;
	}
	return 0;
}

static bool can_copy(const struct tramp_decoded *insn)
{
	return !insn->unmovable && !tramp_op_calls(insn->kind);
}

static bool displace_up_to(const struct tramp_function *fn, struct tramp_plan *plan, size_t extent)
{
	size_t patch = (size_t)(plan->patch_addr - plan->addr);
	struct pass p = begin(fn, plan);

	plan->ninsns = 0;
	while (p.next < extent && step(&p)) {
		if (!can_copy(&p.insn) || plan->ninsns == TRAMP_INSNS_MAX)
			return false;
		tramp_displace(plan, &p.insn, fn->code, p.at);
	}
	plan->falls_through = tramp_op_goes_on(p.insn.kind);
	plan->displaced_len = (uint8_t)(extent - patch);
	plan->resume = plan->addr + extent;
	memcpy(plan->original, fn->code + patch, plan->displaced_len > plan->patch_len ?
						 plan->displaced_len : plan->patch_len);
	return true;
}

/*
 * Of a function that find_extent() understood: whether all that refers to what comes before `end`
 * is a copied branch to a copied instruction.
 */
static bool is_closed(const struct tramp_function *fn, const struct tramp_plan *plan, size_t end)
{
	struct pass p = begin(fn, plan);

	while (step(&p)) {
		int64_t target = reference(&p, end);
		uint64_t addr = plan->addr + (uint64_t)target;
		bool copied = plan->addr + p.at < plan->resume && tramp_op_jumps(p.insn.kind);

		if (target < 0)
			continue;
		if (copied && tramp_find_displaced(plan, addr) < 0)
			return false;
		/* The function itself, called or pointed to, is the wrapped one. */
		if (!copied && addr != plan->addr && addr != plan->patch_addr)
			return false;
	}
	return true;
}

bool tramp_enclose(const struct tramp_function *fn, struct tramp_plan *plan)
{
	size_t patch_end = (size_t)(plan->patch_addr - plan->addr) + plan->patch_len;
	size_t extent;

	if (fn->size == 0 || fn->size > FUNCTION_MAX)
		return false;
	if (plan->resume > fn->addr + fn->size)	/* falls through its end: not all of its code */
		return false;
	extent = find_extent(fn, plan);
	return extent && displace_up_to(fn, plan, extent) &&
	       is_closed(fn, plan, extent > patch_end ? extent : patch_end);
}

/* Nothing but a row of instructions up to a return or a jump away, which is the function's end. */
static bool is_row(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	struct pass p = begin(fn, plan);
	bool ended = false;

	while (p.next < fn->size && step(&p)) {
		if (ended || !can_copy(&p.insn) || p.insn.kind == TRAMP_OP_JCC ||
		    p.insn.kind == TRAMP_OP_LOOP)
			return false;
		ended = !tramp_op_goes_on(p.insn.kind);
	}
	return ended && !p.failed && p.next == fn->size;
}

void tramp_take_whole(const struct tramp_function *fn, struct tramp_plan *plan)
{
	size_t patch = (size_t)(plan->patch_addr - plan->addr);
	struct tramp_plan whole = *plan;

	if (!plan->falls_through || fn->size <= patch || fn->size - patch > TRAMP_DISPLACED_MAX)
		return;
	if (is_row(fn, plan) && displace_up_to(fn, &whole, fn->size))
		*plan = whole;
}
