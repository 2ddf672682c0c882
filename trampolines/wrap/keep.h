/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a function's callers rely on beyond the ABI, read from their code, and code that keeps it.
 *
 * A compiler that knows a function's body (GCC, -fipa-ra, part of -O2) lets callers in the same
 * file keep values over the call in registers that the ABI gives away but the function does not
 * touch, and lets them call it with a stack that is only aligned to 8 bytes. A wrapper written in C
 * knows of neither. Between stub and wrapper goes a *keeper*, for the functions that need one:
 *
 *	stub ──▶ keeper: frame, aligned; saves registers ──call──▶ wrapper ──▶ replay, original
 *	           restores them, returns to the caller  ◀──ret───
 *
 * Only functions whose whole call tree is known code of the same object can have such callers, and
 * these cannot throw: no exception passes through a keeper's frame, which has no unwind table. It
 * is a frame by RBP for those who walk these. In the wrapper, __builtin_return_address(0) is in
 * the keeper; the caller's is in the frame above it.
 *
 * After the stub, r11 cannot be kept, which the stub writes. A keeper can as well be before
 * it, then r11 can be kept: patch ──▶ keeper ──call──▶ stub ──▶ wrapper.
 *
 * What a call out of the object takes as arguments is not known, and guessed too high rather than
 * too low: functions that no compiler thought of may get a keeper, which only costs time. Too low
 * only for a vector argument of the caller's, or a vector result of a call out of the object, that
 * is handed on untouched to the unknown; and for xmm16 to xmm31, which count as one.
 *
 * Not covered: flags and x87 registers kept over a call, which no compiler has been seen to do.
 */
#ifndef SONDE_TRAMPOLINES_WRAP_KEEP_H
#define SONDE_TRAMPOLINES_WRAP_KEEP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/flow/flow.h"
#include "trampolines/trampoline.h"

#define TRAMP_KEEPER_MAX 512	/* any tramp_keeper_size() */
#define TRAMP_KEEP_WORDS 16	/* words of stack arguments that a keeper hands on */

/* What a function's callers rely on. All zero: nothing, no keeper is needed. */
struct tramp_keep {
	uint32_t gpr;		/* bit = register's number: rax 0, rcx 1, rdx 2, rsi 6 .. r11 11 */
	uint32_t xmm;		/* bit = register's number, 0..15 */
	bool wide;		/* more of a vector than its lower 16 bytes, or a mask register */
	bool align;		/* may be called with a stack that is not aligned to 16 bytes */
	bool stack_args;	/* may read stack arguments; only set where a keeper is needed */
	bool far_stack_args;	/* the same, after the TRAMP_KEEP_WORDS first words */
	bool incomplete;	/* a limit was met; what was not looked at counts as relied on */
};

/*
 * Find it for each of `targets` (link-time addresses of functions, in any order), into keeps[]: a query on the
 * flow of the object's functions, of which only those that matter are built; pass all targets of an
 * object at once.  For what is no function of its own, all is relied on.  False: no memory.
 *
 * A register is relied on when the function and all it calls leave it alone, and a caller reads it
 * after the call before writing it; or the caller returns, and a caller of its own does. A function
 * with an indirect call, or a call out of the object, is relied on for nothing.
 */
bool tramp_keep_analyze(const struct tramp_code *code, const uint64_t *targets, size_t ntargets,
			struct tramp_keep *keeps) TRAMP_MUST_CHECK;

/* Whether the function needs a keeper. */
static inline bool tramp_keep_needed(const struct tramp_keep *keep)
{
	return keep->gpr || keep->xmm || keep->wide || keep->align;
}

#define TRAMP_KEEP_R11 (1u << 11)	/* in gpr: clear it to ask of a keeper before the stub */

/*
 * Whether a keeper after the stub can do it; true where none is needed. Else *reason is set to a
 * text complete after "not instrumented: ", static.
 */
bool tramp_keep_possible(const struct tramp_keep *keep, const char **reason) TRAMP_MUST_CHECK;

/* Upper bound of the keeper's size, wherever it and the wrapper are. */
size_t tramp_keeper_size(const struct tramp_keep *keep);

/*
 * Bytes by which the stack is deeper at the wrapper's entry than at the function's, for callers
 * that align the stack as the ABI has it; 0 where none is needed.
 */
size_t tramp_keeper_depth(const struct tramp_keep *keep);

/*
 * A keeper at `addr` (multiple of TRAMP_STUB_ALIGN), that calls `wrapper`: the wrapper or the stub.
 * It restores what `keep` names even where that is a result register: then the function does not
 * write it, so that it holds no result of it. Errors: TRAMP_NO_ROOM.
 */
enum tramp_status tramp_emit_keeper(const struct tramp_keep *keep, uint64_t wrapper, uint64_t addr,
				    uint8_t *buf, size_t room, size_t *len) TRAMP_MUST_CHECK;

#endif
