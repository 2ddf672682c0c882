/* SPDX-License-Identifier: MIT */
/*
 * Modules that take memory accesses in the thread that made them: what its buffer holds goes through the machine of
 * memtrace/machine.h to them, on a stack of ours, with the program's vector registers put by.  See
 * struct ring_analysis in tracefmt/ring.h for what becomes of it when the thread is killed meanwhile.
 *
 * All with signals blocked.
 */
#ifndef SONDE_RUNTIME_MEMORY_ANALYSIS_H
#define SONDE_RUNTIME_MEMORY_ANALYSIS_H

#include <stddef.h>
#include <stdint.h>

#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"
#include "memtrace/description.h"
#include "memtrace/machine/enter.h"
#include "runtime/memory/batches.h"

/* The thread is new: does it hand its accesses to modules itself? */
RT_HIDDEN void rt_analysis_begin(struct rt_thread *t);

enum rt_analysis_status {
	RT_ANALYSIS_DONE,
	RT_ANALYSIS_CANNOT,	/* nothing of it has been done, nor will be: the collector has to do it, and what follows, */
	RT_ANALYSIS_NOT_YET,	/* ... or this, and will have descriptions of its code put here */
	RT_ANALYSIS_NOT_OURS,	/* another thread uses the same pool at this moment */
};

/*
 * The chunk that begins at @chunk, @bytes, and the one that says where it ends, which is to be in the shared closing[].
 * The buffer is all zero afterwards, provided it was so after the chunk.
 */
RT_HIDDEN enum rt_analysis_status rt_analyze(struct rt_thread *t, const void *chunk, uint64_t bytes,
					     uint64_t closing_bytes);

static inline struct ring_analysis *rt_analysis_of(const struct rt_thread *t)
{
	return (struct ring_analysis *)((uint64_t)t->ring + rt_control()->analysis_offset);
}

/* ---- a thread's place to work (work.c) ---- */

#define RT_WORK_BATCH 1024

struct rt_member {
	struct sonde_thread thread;
	uint64_t scratch, scratch_bytes; /* what it was given in place of what there was no room for */
};

/* Runs compiled nodes, and asks for more. */
struct rt_runner {
	struct mt_runner runner;
	uint32_t asked;		/* that Sonde has not been woken for */
	uint32_t waited;	/* nodes that were interpreted since the first of them was asked for */
};

/*
 * Private memory that a thread does it in; stays with the pool.  Not there in a forked child, whose pools are
 * not either.
 */
struct rt_work {
	uint64_t stack;		/* its top */
	uint64_t arena, arena_end, next; /* the machine's memory, for one chunk */
	int xsave;		/* the processor has it */
	int adding;		/* descriptions are: the memory is the process's */
	int refused;		/* it cannot be done here, */
	int unknown;		/* ... since there is code in it that is not described here yet */
	struct rt_thread *of;
	struct ring_analysis *shared;
	const void *chunk;
	uint64_t bytes, closing_bytes;
	struct batcher batcher;
	const char *names[RING_ANALYSIS_SUMS]; /* of shared->now.sums, as the module has them */
	struct rt_runner runner;
	struct rt_member members[RT_ANALYZERS];
	struct mt_access batch[RT_WORK_BATCH];
	_Alignas(64) uint8_t vectors[]; /* the program's */
};

/* Is it a thread of process @pid, or the only one of another that shares its memory, as a child of vfork() is? */
static inline int rt_is_there(int64_t pid, uint32_t tid)
{
	return sys3(__NR_tgkill, pid, tid, 0) != -SYS_ESRCH || sys3(__NR_tgkill, tid, tid, 0) != -SYS_ESRCH;
}

/* NULL: no memory. */
RT_HIDDEN struct rt_work *rt_work_get(struct rt_thread *t);

/* Calls @what(@w) on its stack, with all registers but the general ones as at a program's start. */
/* The processor's instructions for all vector registers, and bytes that they take. */
RT_HIDDEN int rt_has_xsave(void);
RT_HIDDEN uint64_t rt_vector_bytes(void);
RT_HIDDEN void rt_work_call(struct rt_work *w, void (*what)(struct rt_work *));

/* @bytes of memory of our own, zeroed, in whole pages; 0: there is none. */
RT_HIDDEN uint64_t rt_pages_get(uint64_t bytes);
RT_HIDDEN void rt_pages_drop(uint64_t at, uint64_t bytes);

/* ---- what modules call (analysis-module.c) ---- */

/* Sets up w->members for w->shared. */
RT_HIDDEN void rt_members_begin(struct rt_work *w);
RT_HIDDEN void rt_members_end(struct rt_work *w);

static inline const struct sonde_module *rt_analyzer(uint64_t i)
{
	return (const struct sonde_module *)sonde_rt_config.analyzers[i];
}

/* ---- descriptions (analysis-code.c) ---- */

/* Those of all code that is instrumented so far; NULL: no memory.  Called through rt_work_call(). */
RT_HIDDEN struct mt_code *rt_analysis_code(struct rt_work *w);

/* ---- compiled descriptions (analysis-compiled.c) ---- */

/* @m runs them, if there can be any, until the end. */
RT_HIDDEN void rt_compiled_begin(struct rt_work *w, struct mt_machine *m);
RT_HIDDEN void rt_compiled_end(struct rt_work *w);

#endif
