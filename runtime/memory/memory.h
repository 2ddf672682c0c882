/* SPDX-License-Identifier: MIT */
/* Memory streams: what memory.c, memsignal.c and memgate-*.S share. */
#ifndef SONDE_RUNTIME_MEMORY_MEMORY_H
#define SONDE_RUNTIME_MEMORY_MEMORY_H

#define RT_MEM_FRAME 144 /* bytes that the gate keeps on the stack: registers, flags, signal mask */

#ifndef __ASSEMBLER__

#include <stdint.h>

#include "runtime/thread.h"
#include "runtime/windows.h"
#include "memtrace/description.h"

/* Offsets in what the gate saves, in words; the mask follows the flags. */
enum { RT_MEM_RDX = 2, RT_MEM_RSP = 4, RT_MEM_REGS = 16, RT_MEM_FLAGS_WORD = 16 };

/* A place in the code, and what is in the program's registers there. */
struct rt_mem_place {
	const uint64_t *regs; /* by the processor's numbers; not rsp */
	uint64_t sp, flags;
	uint32_t node;
	uint16_t insn, written;
};

/* The calling thread's stream ends at @ptr for now: makes what is there a chunk. */
RT_HIDDEN void rt_mem_cut(struct rt_thread *t, uint64_t ptr);

/* Before that: what follows @ptr, of stores that will be repeated, is not to be in it. */
RT_HIDDEN void rt_mem_forget(const struct rt_thread *t, uint64_t ptr);

/*
 * Begins a chunk of @kind (SIGNAL, STATE: @at says where) or, if that cannot be recorded, goes to the sink.  The
 * stream has been cut.
 */
RT_HIDDEN void rt_mem_begin(struct rt_thread *t, enum md_chunk_kind kind,
			    const struct rt_mem_place *at);

/* Recording goes off where the stream is; it is open. */
RT_HIDDEN void rt_mem_finish(struct rt_thread *t);

/* Could so many chunks be begun without waiting for the collector?  The one that is being written is not one of them. */
RT_HIDDEN int rt_mem_has_room(const struct rt_thread *t, uint32_t chunks);

/* Where nobody reads, and the next check comes to the runtime.  The stream has been cut. */
RT_HIDDEN void rt_mem_nowhere(struct rt_thread *t);

/* memsample.c: bursts */

/* The stream is open: a burst begins, or goes on. */
RT_HIDDEN void rt_mem_on(struct rt_thread *t);
RT_HIDDEN int rt_mem_is_over(struct rt_thread *t);

/* The burst is over; the stream has been cut. */
RT_HIDDEN void rt_mem_off(struct rt_thread *t);

/* Is recording off, and to stay so? */
RT_HIDDEN int rt_mem_rests(struct rt_thread *t);

/* A handler in which a burst has begun returns to where nothing is recorded: it goes on where recording does. */
RT_HIDDEN void rt_mem_hold(struct rt_thread *t);

/* mempace.c: CPU time, of bursts of all kinds; and how long it may be on, so that it costs as much as it may */

/* All in ns of the calling thread's CPU time.  A burst begins: how long it is to be, if that goes by what it costs. */
RT_HIDDEN uint64_t rt_pace_on(struct rt_thread *t);

/* It is over: how long the pause is to be, likewise. */
RT_HIDDEN uint64_t rt_pace_off(struct rt_thread *t);

/* The thread came to the runtime in the pause: what that took is cost, too. */
RT_HIDDEN void rt_pace_visit(struct rt_thread *t);

/* How much of the pause is left. */
RT_HIDDEN uint64_t rt_pace_left(struct rt_thread *t);

/* clock.c */
RT_HIDDEN uint64_t rt_cpu_clock(void);

/* memsignal.c; @regs: those of a signal's frame. */

/* A signal has arrived.  May change registers and PC. */
RT_HIDDEN void rt_mem_arrived(uint64_t *regs);

/* Is @pc of @map where a signal before an instruction of the program would have that begin again? */
RT_HIDDEN int rt_mem_begins(const struct rt_codemap *map, uint64_t pc);

/* A handler returns to @regs.  0: what the code there needs could not be made ready. */
RT_HIDDEN int rt_mem_returns(uint64_t *regs);

/* The calling thread is stopped, between two instructions of the program or in a copy that records nothing: a burst of its is over. */
RT_HIDDEN void rt_mem_rest(void);

/* What handlers are to return to if the program's own restorer is not led to us. */
RT_HIDDEN void rt_mem_restorer(void);

#endif
#endif
