/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inlined probes: code that records a function's entry or exit in place, without a call.
 *
 * A probe is *restartable*.  It has three parts: save, work, restore.  Registers are saved in
 * registers that are dead in the program, or on the stack; so they are safe even from a handler
 * that nobody announced.  The *commit* stores the record's first word, or adds one to a counter; what
 * is after it moves the pool's pointers.  When a signal arrives in a probe, the runtime (before the
 * handler runs) puts back the registers that were saved, and continues at the probe's start if the
 * commit was not reached; if it was, it does what was left to do, and continues at the probe's end.
 * So a handler never sees half of a probe.  struct rt_probe_map says how.
 *
 * Before everything stands the check whether recording is off, for all threads or for this one, which ends the probe; then
 * that the pool is this thread's
 * own, since a new thread inherits the GS base of its parent; then whether there is room.  If that fails, the probe goes to its
 * slow path, which lies after the function's mirror and hands a descriptor to the runtime; the runtime
 * does what the probe would have done, and goes on where the probe restores registers and flags.
 */
#ifndef SONDE_TRAMPOLINES_PROBE_PROBE_H
#define SONDE_TRAMPOLINES_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/mirror/codemap.h"
#include "trampolines/flow/flow.h"
#include "trampolines/trampoline.h"

#define TRAMP_PROBE_MAX 352	 /* bytes of any probe, in line */
#define TRAMP_PROBE_SLOW_MAX 64	 /* bytes of its slow path */
#define TRAMP_PROBE_VALUES_MAX 200 /* bytes that values add to it */
#define TRAMP_PROBE_VALUES_SLOW_MAX (RT_VALUES * sizeof(struct rt_probe_value)) /* ... and to its slow path */
#define TRAMP_PROBE_APART_MAX 256 /* CHOSEN: bytes of what records, before that */
#define TRAMP_PROBE_BACK 5	 /* bytes of the jump between the two */
#define TRAMP_PROBE_REFS 8	 /* branches to it, at most */

enum tramp_probe_mode {
	TRAMP_PROBE_RECORD,	/* an event each */
	TRAMP_PROBE_COUNT,	/* entries only: counts[function] += 1 */
	TRAMP_PROBE_FILTER,	/* depth and calls checked in line, then an event */
	TRAMP_PROBE_TIMED,	/* the same, and calls shorter than a time are dropped in line */
	TRAMP_PROBE_CHOSEN,	/* an event each, or a count: as the function's byte at `choices` says */
	TRAMP_PROBE_BLOCKS,	/* an edge between blocks: counts[function] += 1, be recording on or off */
};

/* The same for all probes of a program.  Offsets are in the pool, through GS. */
struct tramp_probe_env {
	enum tramp_probe_mode mode;
	enum tramp_thread_id id;
	int32_t owner, ptr;	/* SONDE_POOL_...; the following are RT_POOL_... */
	int32_t room;		/* the first place where a record does not fit; 0: none */
	int32_t counts;		/* address of the thread's uint64_t counts[] by function; 0: none */
	int32_t shadow, shadow_end, time; /* FILTER, TIMED: see runtime/probe.h */
	int32_t watch, watch_far; /* CHOSEN: see tracefmt/ring.h, enum ring_choice */
	int32_t kept;		/* BLOCKS: uint64_t[16], values of registers that hold counters */
	uint64_t choices;	/* CHOSEN: address of a byte for each function */
	bool depth;		/* FILTER, TIMED: a full shadow stack is the depth that is wanted; else it
				 * is a lack of memory: the runtime counts what is lost */
	uint64_t calls;		/* FILTER, TIMED: events of a function after this many calls (of a thread) are
				 * not recorded; 0: no bound */
	uint64_t gate;		/* the runtime's slow path */
	uint64_t off;		/* address of a word of 8 bytes: while it is not 0 probes do nothing; 0: there is none */
	int32_t under;		/* RT_POOL_UNDER: only calls at smaller frame addresses than that are recorded; 0: all */
};

enum tramp_probe_kind {
	TRAMP_PROBE_ENTRY,
	TRAMP_PROBE_EXIT,	/* before ret, or of a jump out: rsp as at the entry */
};

/* Where a jump out of a function leads, as far as its code tells. */
enum tramp_jump_by {
	TRAMP_JUMP_NONE,	/* it is no jump, or nothing is known */
	TRAMP_JUMP_TO,		/* to `address` */
	TRAMP_JUMP_BY,		/* to what the word at `address` says then */
	TRAMP_JUMP_INSN,	/* to what the instruction `load` moves into rdx; it does not use rsp */
};

/* BLOCKS: what is known of the pool where the probe stands. */
enum tramp_probe_trust {
	TRAMP_TRUST_NOTHING,	/* it may be another thread's */
	TRAMP_TRUST_OWNER,	/* ... or all zero, after a fork */
	TRAMP_TRUST_COUNTS,	/* another probe has looked, and control has not been elsewhere since */
};

#define TRAMP_JUMP_LOAD_MAX 12

/*
 * What is recorded beside an event, where it is when the function is entered, or before it returns: RT_FROM_REG, _VECTOR, _FRAME,
 * _CONST.  Words are recorded in line by RECORD, all else by the slow path.
 */
struct tramp_values {
	uint8_t n; /* at most RT_VALUES */
	struct rt_probe_value v[RT_VALUES];
};

struct tramp_jump {
	enum tramp_jump_by by;
	uint64_t address;	/* in the program */
	uint8_t load[TRAMP_JUMP_LOAD_MAX];
	uint8_t load_len;
};

struct tramp_probe {
	enum tramp_probe_kind kind;
	/*
	 * Of RT_ACT().  RT_ACT_ENTRIES: an entry, by the slow path in any case: the runtime does it before it looks whether
	 * recording is on.  RT_ACT_UNDER: the slow path is taken where `under` may have to change, be recording on or off.
	 */
	uint8_t acts;
	struct tramp_jump jump;	/* EXIT */
	const struct tramp_values *values; /* not TIMED, COUNT, BLOCKS, nor EXIT by a jump; NULL: none */
	uint32_t event;		/* id in the record */
	uint32_t function;	/* index into counts[]; ENTER, LEFT, LEFT_KEPT: of the first of enum rt_trips */
	enum tramp_probe_trust trust; /* BLOCKS; so are the following */
	uint8_t how;		/* enum rt_count; for all but ONE trust is TRUST_COUNTS */
	uint8_t kept;		/* BEGIN, ADD, END, LEFT_KEPT: the register; LEFT_KEPT: neither rax nor rdx */
	int8_t by;		/* BEGIN, ADD */
	bool kept_saved;	/* BEGIN, END, LEFT_KEPT: its value is put into the pool, and got back */
	tramp_regs kept_all;	/* registers that counters are in */
	tramp_regs live;	/* where the probe stands */
	bool red_zone_dead;	/* nothing below rsp is of value, as before a return: saves a few
				 * instructions */
};

/*
 * For the runtime: what to do when a signal arrives at offset x of a probe's in-line code.
 *	x < saved:	registers are as they were: continue at the start
 *	x < commit:	put back, continue at the start
 *	otherwise:	do what is not done; put back, continue at the end
 *	x == count_done, with count_first: put back, continue at the end
 * What is not done: each `..._done` that is greater than x.  But if a handler has recorded in the meantime
 * where the record was to be (ptr is not what ptr_reg holds): put back, continue at the start.
 * To put back: the flags, if x >= flags_saved; save[], if x >= saved; rsp, if x >= shifted.
 */

/*
 * A probe's code; in the end it falls through.  The slow path, if it has one, goes back to where the probe restores.
 * Position-independent but for the rel32s between the two, which tramp_probe_place() fills in.
 *
 * Of a probe that counts more often than it records (CHOSEN), what records is `apart`, a probe by itself before the slow
 * path, which begins with nothing saved; after it comes a jump of 5 bytes to the end of code[].  It begins at slow[0], where
 * code[] leads then.
 */
struct tramp_probe_code {
	uint8_t code[TRAMP_PROBE_MAX + TRAMP_PROBE_VALUES_MAX];
	size_t len;
	uint8_t slow[TRAMP_PROBE_APART_MAX + TRAMP_PROBE_SLOW_MAX + TRAMP_PROBE_VALUES_SLOW_MAX];
	size_t slow_len;
	struct rt_probe_map map;
	struct rt_probe_map apart; /* its length is 0 if there is none */
	uint16_t slow_ref[TRAMP_PROBE_REFS]; /* offsets in code[] of the rel32s that lead to the slow path */
	uint8_t nslow_refs;
	uint16_t slow_back;	/* offset in slow[] of the rel32 ... */
	uint16_t back_to;	/* ... to this offset in code[] */
};

/* Bytes of a probe without values and its slow path, at most. */
static inline size_t tramp_probe_room(enum tramp_probe_mode mode)
{
	return TRAMP_PROBE_MAX + TRAMP_PROBE_SLOW_MAX + (mode == TRAMP_PROBE_CHOSEN ? TRAMP_PROBE_APART_MAX : 0);
}

/* Errors: NO_ROOM: event 2^20 or more, function 2^28 or more, an exit that is to be counted, and has no acts. */
enum tramp_status tramp_probe_emit(const struct tramp_probe_env *env, const struct tramp_probe *probe,
				   struct tramp_probe_code *out) TRAMP_MUST_CHECK;

/* For code[] at @addr and slow[] at @slow_addr, any alignment.  Errors: FAR. */
enum tramp_status tramp_probe_place(struct tramp_probe_code *code, uint64_t addr, uint64_t slow_addr)
	TRAMP_MUST_CHECK;

#endif
