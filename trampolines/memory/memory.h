/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory accesses of code: what an instruction accesses and computes, and how a function is instrumented so that
 * all its addresses can be computed afterwards, from as little as possible (memtrace/description.h).
 */
#ifndef SONDE_TRAMPOLINES_MEMORY_MEMORY_H
#define SONDE_TRAMPOLINES_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "trampolines/flow/flow.h"
#include "memtrace/description.h"

/* ---- one instruction (x86-64/memfacts.c) ---- */

/* Something that has to be put into the stream for an instruction, besides general registers. */
enum tramp_mem_store {
	TRAMP_STORE_XMM,	/* 16 bytes of vector register `reg` */
	TRAMP_STORE_YMM,
	TRAMP_STORE_ZMM,
	TRAMP_STORE_XMM_LOW,	/* its low 8 bytes */
	TRAMP_STORE_MASK,	/* 8 bytes: mask register k`reg` */
	TRAMP_STORE_GPR_AFTER,	/* 8 bytes: general register after the instruction */
	TRAMP_STORE_MMX,	/* 8 bytes */
	TRAMP_STORE_TIME,	/* 8 bytes: the TSC */
};

struct tramp_mem_extra {
	uint8_t what;		/* enum tramp_mem_store */
	uint8_t reg;		/* 0..31; of an instruction with EVEX up to 31 */
	uint8_t bytes;		/* that it takes in the stream, multiple of 4 */
};

enum tramp_flags_effect {
	TRAMP_FLAGS_KEPT,	/* no flag that a condition reads is changed */
	TRAMP_FLAGS_KNOWN,	/* those in flags_valid are what `flags` says; the others are unknown */
	TRAMP_FLAGS_UNKNOWN,
};

#define TRAMP_MEM_OPS 8
#define TRAMP_MEM_FETCH 2
#define TRAMP_MEM_TIME 2
#define TRAMP_MEM_COMPUTES 4
#define TRAMP_MEM_EXTRAS 3

struct tramp_mem_facts {
	/*
	 * 1. The accesses, as operations of the machine in the order in which the processor makes them:
	 * MD_ACCESS, MD_SIZE, MD_STRING, MD_MASKED, MD_GATHER, MD_PACKED, and what computes temporaries for them
	 * (bit strings, 32-bit addresses).  `insn` is 0.  Link-time addresses are relative to MD_OBJECT.
	 * Registers in them are those before the instruction.  Those that MD_STRING moves on are known
	 * after it; they are neither in `writes` nor in `kills`.
	 */
	struct md_op ops[TRAMP_MEM_OPS + TRAMP_MEM_FETCH + TRAMP_MEM_TIME]; /* the latter may be put before them */
	uint8_t nops;
	tramp_regs need;	/* general registers that the ops above read */
	struct tramp_mem_extra extras[TRAMP_MEM_EXTRAS]; /* in stream order; those AFTER last */
	uint8_t nextras;

	/*
	 * 2. What it computes, if all of `reads` is known: done in this order, after the accesses.  Temporaries
	 * may be used.  `pop %rax`: rsp = rsp + 8, and rax is in `kills`.  reads[i]: what has to be known
	 * before the instruction, also for the temporaries that computes[i] uses; else writes[i] is not known after
	 * it.
	 */
	struct md_op computes[TRAMP_MEM_COMPUTES];
	tramp_regs reads[TRAMP_MEM_COMPUTES];  /* general registers that computes[i] reads */
	tramp_regs writes[TRAMP_MEM_COMPUTES]; /* one general register, or 0: a temporary */
	uint16_t conds[TRAMP_MEM_COMPUTES]; /* bit cc: condition cc before the instruction has to be known, likewise */
	uint8_t ncomputes;
	tramp_regs kills;	/* general registers that it writes and nobody can compute */
	uint16_t narrow_u32;	/* of kills: their upper halves are zero now (mov (%rdi), %eax) */
	uint16_t narrow_s32;	/* of kills: sign-extended from 32 bits or less */

	/*
	 * 3. Flags.  `flags` is an MD_FLAGS, on registers before the instruction, or on `computes` results if
	 * flags_after; valid if flags_reads and flags_conds are known before the instruction (then those results
	 * are, too).
	 */
	uint8_t flags_effect;	/* enum tramp_flags_effect */
	bool flags_after;
	struct md_op flags;
	tramp_regs flags_reads;
	uint16_t flags_conds;
	uint16_t flags_valid;	/* bit cc: the condition (0..15) is right */

	bool atomic;		/* with a lock, or a fence: other threads may wait for it */

	/*
	 * Accesses memory in a way that is not known here, or changes what the machine relies on (std, wrfsbase): the
	 * function is left alone.  Nothing above is of use then, but kills and flags_effect are safe.
	 */
	bool unmodelled;
};

/*
 * @bytes at @addr, a link-time address; @load_addr: the object's lowest link-time address, that MD_OBJECT stands
 * for.  False: not an instruction.  Needs no process; knows the processor it runs on for the size of XSAVE areas.
 */
bool tramp_mem_insn(const uint8_t *bytes, size_t avail, uint64_t addr, uint64_t load_addr,
		    struct tramp_mem_facts *facts) TRAMP_MUST_CHECK;

/* Accesses, by enum md_kind: loads, stores, modifications, prefetches. */
struct tramp_mem_sums {
	uint64_t accesses[4], bytes[4];
	bool varies;
};

/*
 * Adds what an instruction accesses, with @stack also by rsp alone; a modification is one access.  Repeated string instructions
 * count as one iteration, masked accesses as all of their lanes: then it `varies`.
 */
void tramp_mem_sum(const struct tramp_mem_facts *facts, bool stack, struct tramp_mem_sums *sums);

/* ---- one function ---- */

#define TRAMP_MEM_SLACK_MIN 1024

/* Words of the pool, by GS, and what else the code needs to know; the same in all of a program. */
struct tramp_mem_env {
	enum tramp_thread_id id;
	int32_t owner;		/* SONDE_POOL_OWNER */
	int32_t ptr, limit;	/* where the stream goes on; the first place where it must not */
	int32_t park;		/* the program's value of the register that holds the pointer */
	int32_t slot[3];	/* scratch, within one inserted sequence */
	uint64_t gate;		/* the runtime's slow path */
	uint32_t slack;		/* bytes that may be written from limit - 1 on between two checks; at least
				 * TRAMP_MEM_SLACK_MIN */
	bool stack;		/* pushes, pops, calls and returns too */
	bool blocks;		/* control flow alone: each block makes one access, a load of its own code, and no other */
	bool fetches;		/* beside accesses, control flow: an MD_FETCH at the beginning of each block */
	bool times;		/* beside accesses, times: an MD_TIME before and after atomic instructions and calls of what threads
				 * wait in (tramp_code_syncs()), and where functions that are passed to others begin and end */
	unsigned int rungs;	/* enum tramp_mem_rungs: how much is left to the reader */
	/*
	 * Recording goes off and on: a second, plain copy of all blocks stands beside the other, and windows lead to
	 * whichever is to run.  `off` is a word of 8 bytes: what %fs:0 is (or FS base, by `id`) while recording is off in
	 * this thread, else 0.  It goes off in slow paths; loops of the plain copy check whether it is on again.
	 */
	bool sampled;
	int32_t off;
	/*
	 * Recording goes off and on by number.  `left` is a word of 8 bytes: at loop heads and where the function begins, in
	 * either copy, as many accesses are subtracted from it as are likely to be made from there to the next such place; when
	 * it is negative, the slow path is gone to, from the plain copy through the other.
	 */
	bool count;
	int32_t left;
};

enum tramp_mem_rungs {
	TRAMP_MEM_CHAINS = 1,	/* what is known in a block is not stored again in it */
	TRAMP_MEM_RESIDENT = 2,	/* the pointer stays in a register from node to node */
	TRAMP_MEM_KNOWN = 4,	/* what is known, across blocks, values before loops */
	TRAMP_MEM_IMPLIED = 8,	/* no headers where the successor is known; computed conditions */
	TRAMP_MEM_PATHS = 16,	/* nor on one of two successors, if the reader can look ahead; with IMPLIED */
	TRAMP_MEM_ALL = 31,
};

/*
 * A function that is instrumented for memory is copied as a whole (TRAMP_MIRROR_ACCESSES in trampolines/mirror/mirror.h, which emits
 * it).  Its nodes and operations, ready for the reader; the generator's, until the next plan:
 */
struct tramp_mem_description {
	const struct md_node *nodes;	/* op counts from ops[0]; start from tramp_code_base() */
	size_t nnodes;
	const struct md_op *ops;	/* GOTO, IF and PEEK name nodes from 0 on: their place in nodes[] */
	size_t nops;
};

#endif
