/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mirror: instrumented copies of a function's blocks in an arena, and the patches that lead there.
 *
 *	original                         arena
 *	┌──────────────────────┐        ┌──────────────────────────────────────┐
 *	│ entry   jmp ─────────┼───────▶│ entry probe; copy of the block       │
 *	│         (dead bytes) │   ┌────┼─ jmp to the original call            │
 *	│         call g       │◀──┘    │                                      │
 *	│ return  jmp ─────────┼───────▶│ copy; exit probe; ret                │
 *	└──────────────────────┘        └──────────────────────────────────────┘
 *
 * A set B of blocks is copied.  A block of B that control can reach from outside of the arena (entry, after
 * a call, jump table, landing pad, a branch of a block that is not copied) has a *window* at its start: a
 * jump to its copy.  Windows cover bytes of copied blocks only, that nobody comes to in other ways, and
 * padding; never a call, which stays where it is: the copy jumps to it, it returns to the original next
 * instruction, so the stack holds original return addresses only.  Where 5 bytes do not fit
 *  - direct branches with 4 bytes of displacement that lead there are led to the copy instead;
 *  - more blocks are copied: predecessors, in the end the whole function;
 *  - 2 bytes lead to a jump in dead bytes or padding nearby;
 *  - a call in the way is left out of the original and made by its copy: push of the original return address.
 * What is left is refused, and said why.
 */
#ifndef SONDE_TRAMPOLINES_MIRROR_MIRROR_H
#define SONDE_TRAMPOLINES_MIRROR_MIRROR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/count/count.h"
#include "trampolines/mirror/codemap.h"
#include "trampolines/flow/flow.h"
#include "trampolines/memory/memory.h"
#include "trampolines/probe/probe.h"

enum tramp_mirror_status {
	TRAMP_MIRROR_OK = 0,
	/* The function cannot be instrumented. */
	TRAMP_MIRROR_ENTRY_SHORT,	/* no room for a jump at its entry */
	TRAMP_MIRROR_EXIT_SHORT,	/* ... at a place where it leaves */
	TRAMP_MIRROR_UNSURE,		/* an indirect jump whose targets are not known is in the way */
	TRAMP_MIRROR_BAD_CODE,		/* bytes that are no instruction are in the way */
	TRAMP_MIRROR_UNMOVABLE,		/* an instruction that works only where it is */
	TRAMP_MIRROR_SIGRETURN,		/* where signal handlers return to */
	TRAMP_MIRROR_DECODERS,		/* the two decoders disagree */
	TRAMP_MIRROR_UNMODELLED,	/* ACCESSES: an instruction whose accesses are not known */
	TRAMP_MIRROR_VARIES,		/* (never a refusal) counters do not say how many accesses it makes */
	TRAMP_MIRROR_NEVER_LEAVES,	/* (not a refusal by itself) no exit was found: only the entry */
	/* Errors. */
	TRAMP_MIRROR_FAR,		/* arena and original are more than 2 GiB apart */
	TRAMP_MIRROR_MEMORY,
	TRAMP_MIRROR_STATUS_COUNT
};

/* Complete after "not instrumented: "; static. */
const char *tramp_mirror_text(enum tramp_mirror_status status);

enum tramp_mirror_want {
	TRAMP_MIRROR_ENTRY = 1,	/* a probe where the function is entered: not on jumps back to it */
	TRAMP_MIRROR_EXIT = 2,	/* a probe at each exit: ret and tail calls */
	TRAMP_MIRROR_WHOLE = 4,	/* copy all blocks, whatever the probes need (tests) */
	/* Calls that make no calls stay in copies from the entry on (mirror/x86-64/ahead.c).  With ENTRY, not with the next two. */
	TRAMP_MIRROR_AHEAD = 32,
	TRAMP_MIRROR_LED = 64,	/* a jump of 5 bytes stands at its entry, and stays: no other window may be in these */
	/*
	 * Count edges between blocks (trampolines/count/count.h); implies WHOLE.  Nothing else: not with ENTRY, EXIT.
	 * The probes' environment is for TRAMP_PROBE_BLOCKS.  With ACCESSES: either this, where counters say how many accesses there
	 * are, or that.
	 */
	TRAMP_MIRROR_BLOCKS = 16,
	/* With BLOCKS, without ACCESSES: count the least and the most trips of loops, too. */
	TRAMP_MIRROR_TRIPS = 128,
	TRAMP_MIRROR_ACCESSES = 8, /* record what memory is accessed; implies WHOLE.  Needs tramp_mirror_memory() */
};

/* What to write over original code; addresses are offsets from tramp_code_base(). */
struct tramp_patch {
	uint32_t off;
	uint8_t len;		/* 2..15 */
	uint8_t bytes[15];
	uint8_t was[15];
};

/*
 * A mirror generator: one for an object, used for one function after the other; keeps its memory.
 * @checker may be NULL: then boundaries are not checked by the second decoder.
 */
struct tramp_mirror;
struct tramp_mirror *tramp_mirror_new(const struct tramp_code *code, const struct tramp_probe_env *env,
				      struct tramp_checker *checker);
void tramp_mirror_free(struct tramp_mirror *m);

/*
 * For several generators of one object in several threads: @m keeps its probe shapes with those of @emits; and
 * what is remembered of instructions, the second decoder, and memory for planning accesses are those of @plans.  May be called
 * before each plan.  At any time one thread may emit with those that share shapes, and one thread plan with
 * those that share the rest.  False: no memory; then @m can only be freed.
 */
bool tramp_mirror_share(struct tramp_mirror *m, struct tramp_mirror *emits, struct tramp_mirror *plans)
	TRAMP_MUST_CHECK;

/* @event: ids of the function's enter and leave events. */
struct tramp_mirror_request {
	uint32_t fn;		/* index into the facts' functions */
	unsigned int want;	/* enum tramp_mirror_want */
	uint8_t acts;		/* of RT_ACT(), for its probes */
	uint32_t enter, leave;	/* event ids */
	uint32_t index;		/* of its count; BLOCKS: of the first of its counters */
	uint32_t node;		/* ACCESSES: id of its first node */
	/* What is recorded where it is entered, and before it returns; NULL: nothing.  Jumps out of it are event leave + 1 then. */
	const struct tramp_values *entered, *returned;
};

/* Statistics of one function, for `sonde list` and `sonde disasm`. */
struct tramp_mirror_plan {
	uint32_t nblocks, ncopied;
	uint32_t nwindows, nshort, nretargeted, nmoved_calls; /* patches by kind */
	uint32_t nexits;
	bool whole;		/* everything had to be copied */
};

/*
 * Decides what to copy and to patch.  Emits nothing; says whether emitting will succeed (but for FAR).
 */
enum tramp_mirror_status tramp_mirror_plan(struct tramp_mirror *m, const struct tramp_mirror_request *req,
					   struct tramp_mirror_plan *plan) TRAMP_MUST_CHECK;

/* The function's blocks, if ACCESSES with its loops, as it was planned last; the generator's, until the next plan. */
const struct tramp_flow *tramp_mirror_flow(const struct tramp_mirror *m);

/* BLOCKS: how many counters it has, as it was planned last. */
uint32_t tramp_mirror_counters(const struct tramp_mirror *m);

/*
 * BLOCKS with ACCESSES: what each of its counters stands for: accesses by enum md_kind, then bytes by that.  NULL: it was planned to
 * record accesses.  The generator's, until the next plan.
 */
const struct tramp_weight *tramp_mirror_weights(const struct tramp_mirror *m);
/* Likewise, what is to be added for a thread that came to the instruction at @off, and no further.  False: it is none. */
bool tramp_mirror_left(struct tramp_mirror *m, uint32_t off, struct tramp_weight *weight) TRAMP_MUST_CHECK;

/* An edge, and where it is counted: before the instruction at offset `before` of block `at`; TRAMP_NONE: in none. */
struct tramp_mirror_edge {
	struct tramp_edge edge;
	uint32_t at, before;
};
/* Edge @i, as it was planned last; false: there are no more. */
bool tramp_mirror_edge(const struct tramp_mirror *m, size_t i, struct tramp_mirror_edge *edge);

/* TRIPS: a loop, by its index in the flow, and the first of its counters (enum rt_trips). */
struct tramp_mirror_trips {
	uint32_t loop, counter;
};
/* The @i-th of those whose trips are counted, as it was planned last; false: there are no more. */
bool tramp_mirror_trips(const struct tramp_mirror *m, size_t i, struct tramp_mirror_trips *trips);

/* Other ids and index than those of the request, for what is emitted next; @node: of its first node. */
void tramp_mirror_number(struct tramp_mirror *m, uint32_t enter, uint32_t leave, uint32_t index,
			 uint32_t node);

/* Likewise, other values than those of the request; they have to live until it is emitted. */
void tramp_mirror_values(struct tramp_mirror *m, const struct tramp_values *entered, const struct tramp_values *returned);

/* Bytes that emitting what was planned last will need at most. */
size_t tramp_mirror_room(const struct tramp_mirror *m);

/* A direct call that the original makes. */
struct tramp_mirror_call {
	uint32_t off;		/* of its displacement, its last 4 bytes */
	uint64_t target;	/* link-time address */
};

/*
 * Emits what was planned last, to run at @arena (16-aligned, in the program) while the object's code runs at
 * @base + offset (base: tramp_code_base() + load address).  The mirror's code starts at buf[0].
 */
struct tramp_mirror_code {
	size_t len;			 /* bytes written to buf */
	const struct tramp_patch *patches; /* ascending; the generator's, until the next plan */
	size_t npatches;
	const struct tramp_mirror_call *calls; /* likewise */
	size_t ncalls;
	const struct rt_piece *pieces;	 /* start counts from buf[0]; likewise */
	size_t npieces;
	const struct rt_mem_piece *mems; /* ACCESSES: likewise */
	size_t nmems;
};
enum tramp_mirror_status tramp_mirror_emit(struct tramp_mirror *m, uint64_t base, uint64_t arena,
					   uint8_t *buf, size_t room, struct tramp_mirror_code *out)
	TRAMP_MUST_CHECK;

/*
 * Memory: how to record, before the first request that wants it; and what was planned last.  @env is copied.
 */
void tramp_mirror_memory(struct tramp_mirror *m, const struct tramp_mem_env *env, uint64_t load_addr);
void tramp_mirror_description(const struct tramp_mirror *m, struct tramp_mem_description *d);

/* All probe shapes so far: what rt_piece.probe indexes.  The generator's, until the next emit. */
const struct rt_probe_map *tramp_mirror_probes(const struct tramp_mirror *m, size_t *n);

#endif
