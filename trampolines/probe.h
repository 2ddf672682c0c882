/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inlined probes: code that records a function's entry or exit in place, without a call.
 *
 * A probe is *restartable*.  It has three parts: save (nothing of the program's is changed yet), work, restore.
 * The one instruction that counts, the *commit*, moves the pool's pointer behind the record, or adds
 * one to a counter.  When a signal arrives in a probe, the runtime (before the handler runs) puts back
 * the registers that were saved, and continues at the probe's start if the commit was not reached, at its
 * end if it was.  So a handler never sees half of a probe.  struct tramp_probe_map says how.
 *
 * In front of everything stands the check that the pool is this thread's own, and that there is room: with
 * one dead register, or one that is saved on the stack.  Only after it may anything be written through
 * GS, since a new thread inherits the GS base of its parent.  If it fails, the probe goes to its
 * slow path, which lies behind the function's mirror and hands a descriptor to the runtime; the runtime
 * does what the probe would have done, and goes on at the probe's end with all registers and flags intact.
 */
#ifndef SONDE_TRAMPOLINES_PROBE_H
#define SONDE_TRAMPOLINES_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/flow.h"
#include "trampolines/trampoline.h"

#define TRAMP_PROBE_MAX 192	 /* bytes of any probe, in line */
#define TRAMP_PROBE_SLOW_MAX 64	 /* bytes of its slow path */
#define TRAMP_PROBE_SLOTS 8	 /* words in the pool for saved registers */

enum tramp_probe_mode {
	TRAMP_PROBE_RECORD,	/* an event each */
	TRAMP_PROBE_COUNT,	/* entries only: counts[function] += 1 */
	TRAMP_PROBE_FILTER,	/* depth and calls checked in line, then an event */
	TRAMP_PROBE_TIMED,	/* calls shorter than a time are dropped: always the runtime's business */
};

/* The same for all probes of a program.  Offsets are in the pool, through GS. */
struct tramp_probe_env {
	enum tramp_probe_mode mode;
	enum tramp_thread_id id;
	int32_t owner, ptr, room; /* room: the first place where a 16-byte record does not fit; 0: none */
	int32_t slots;		/* TRAMP_PROBE_SLOTS words */
	int32_t counts;		/* address of the thread's uint64_t counts[] by function */
	int32_t shadow, shadow_end; /* FILTER: see runtime/probe.h */
	uint64_t calls;		/* FILTER: events of a function after this many calls (of a thread) are
				 * not recorded; 0: no bound */
	uint64_t gate;		/* the runtime's slow path */
};

enum tramp_probe_kind {
	TRAMP_PROBE_ENTRY,
	TRAMP_PROBE_EXIT,	/* in front of ret, or of a jump out: rsp as at the entry */
};

struct tramp_probe {
	enum tramp_probe_kind kind;
	uint32_t event;		/* id in the record */
	uint32_t function;	/* index into counts[] */
	tramp_regs live;	/* where the probe stands */
};

/*
 * For the runtime: what to do when a signal arrives at offset x of a probe's in-line code.
 *	x < saved:		nothing was changed: continue at the start
 *	saved <= x < commit:	put back, continue at the start
 *	commit <= x < length:	put back, continue at the end  (commit: offset behind the committing instruction)
 * To put back: for each of the n: register `reg` from slot `from` of the pool, or from register
 * from - TRAMP_FROM_REG, or from the stack at rsp + 8 * (from - TRAMP_FROM_STACK); then rsp += stack.
 * Stores to the stack come with offsets of their own: from `shifted` on up to `unshifted` rsp is lowered
 * by `stack`.  In the layout of trampolines/codemap.h.
 */
struct tramp_probe_map;

/*
 * In-line code for @probe at @addr; in the end it falls through.  *len bytes, at most @room.
 * The slow path at @slow_addr goes back to @addr + *len.  Both within 2 GiB of each other and the
 * descriptor.  Errors: FAR, NO_ROOM.
 */
struct tramp_probe_code {
	uint8_t code[TRAMP_PROBE_MAX];
	size_t len;
	uint8_t slow[TRAMP_PROBE_SLOW_MAX];
	size_t slow_len;
	uint8_t map[24];	/* a struct rt_probe_map of trampolines/codemap.h */
	size_t slow_ref;	/* offset in code[] of the rel32 that leads to the slow path; 0: none */
	size_t slow_ref2;	/* a second one; 0: none */
	size_t slow_back;	/* offset in slow[] of the rel32 back to the end of the probe; 0: none */
};

/* Position-independent but for the rel32s noted in *out, which tramp_probe_place() fills in. */
enum tramp_status tramp_probe_emit(const struct tramp_probe_env *env, const struct tramp_probe *probe,
				   struct tramp_probe_code *out) TRAMP_MUST_CHECK;
enum tramp_status tramp_probe_place(struct tramp_probe_code *code, uint64_t addr, uint64_t slow_addr)
	TRAMP_MUST_CHECK;

#endif
