/* SPDX-License-Identifier: MIT */
/*
 * A thread as the runtime sees it: the private part of its pool, and its ring.
 */
#ifndef SONDE_RUNTIME_THREAD_H
#define SONDE_RUNTIME_THREAD_H

#include <stddef.h>
#include <stdint.h>
#include "tracefmt/ring.h"
#include "runtime/config.h"
#include "runtime/guest/layout.h"
#include "runtime/probe.h"
#include "sonde/abi.h"

/* Where a memory stream goes. */
enum rt_mem_state {
	RT_MEM_CLOSED,	/* nowhere: the next check opens it */
	RT_MEM_OPEN,	/* a sub-buffer of the ring */
	RT_MEM_SINK,	/* a place that nobody reads: no ring, no room, switched off */
};

/* What recording costs a thread (mempace.c). */
struct rt_pace {
	uint64_t then;		/* CPU time when this was last brought up to date */
	uint64_t burst;		/* how long it is to take, ns; 0: none has begun */
	uint64_t left;		/* CPU time before the next one may begin, ns */
	uint64_t bytes;		/* of the stream, in this burst */
	uint64_t packed;	/* what it was in the ring when that was last looked at */
};

/* Begins like struct sonde_pool; a pool is all zero until its thread is registered. */
struct rt_thread {
	uint64_t owner;
	uint64_t ptr;
	uint64_t limit;
	uint64_t closed_sp;
	uint64_t counters;
	uint64_t self; /* address of this pool */
	uint64_t tcb;  /* what owner is while the pool is open */
	_Atomic int32_t tid; /* 0: nobody's */
	int32_t pid;
	struct ring_head *ring; /* NULL: none could be had, nothing is recorded */
	uint64_t base;		/* of the current sub-buffer */
	uint32_t sub;		/* its index */
	uint32_t left;		/* bit = index of a sub-buffer that an interrupted record is in */
	uint64_t left_top;	/* of those that are in neither left_other nor left_unsure: stack pointer of the outermost interrupted code, or 0 */
	uint64_t room;		/* limit - 15: from there on 16 bytes do not fit; 0: no limit */
	uint64_t counts;	/* in the ring; 0: there are none */
	uint64_t shadow;	/* past the top entry of the shadow stack */
	uint64_t shadow_end;
	uint64_t time;		/* TIMED: the bound, shifted like a record's time */
	uint64_t shadow_base;	/* its first entry, which is below all frames */
	uint64_t shadow_mapped; /* memory that stays with the pool, 0: none */
	uint64_t shadow_room;	/* calls that it is for */
	uint64_t mem_ptr;	/* of the memory stream, while no mirror has it in a register */
	uint64_t mem_limit;	/* from there on a check goes to the runtime; 0: always */
	uint64_t mem_park;
	uint64_t mem_slot[3];
	uint64_t mem_base;	/* of the current sub-buffer; 0: there is no stream yet */
	uint64_t mem_first;	/* past its chunk's head */
	uint32_t mem_sub;	/* its index */
	uint32_t mem_state;	/* enum rt_mem_state */
	uint64_t mem_off;	/* sampled: not 0 (but tcb) while recording is off; the collector makes it 0 */
	uint64_t mem_began;	/* TSC when the burst began; 0: it is over */
	int64_t mem_left;	/* sampled by number: units until recording goes off, or on again */
	uint64_t mem_until;	/* not by number: TSC when the burst is to end */
	int64_t mem_given, mem_told; /* what that was at first; what the ring says of it */
	int64_t mem_more;	/* that is still to be given in this phase */
	int64_t mem_slice;	/* of that, before it is told */
	uint64_t mem_at;	/* where in its period the last burst began */
	uint64_t mem_turn;	/* bursts so far */
	int64_t mem_rest;	/* what it is to be again, when the thread comes to where it records; 0: nothing */
	uint64_t mem_moved;	/* not 0: FS base is no longer what the chunk's head says */
	uint64_t mem_cut;	/* where the chunk ends that it is to hand to modules; 0: there is none */
	uint64_t mem_work;	/* struct rt_work of runtime/memory/analysis.h, stays with the pool; 0: none yet */
	uint16_t mem_here;	/* it hands its accesses to modules itself, */
	uint16_t mem_can;	/* ... or can do so, as long as no more chunks than that have to be left to the collector */
	uint32_t mem_busy;	/* TID of who does so at this moment */
	uint64_t under;		/* only calls at smaller frame addresses are recorded without asking: see under.c */
	uint64_t under_at;	/* frame address of the call that recording is confined to */
	uint64_t under_from;	/* its return address */
	uint64_t watch;		/* CHOSEN: see enum ring_choice */
	uint64_t watch_far;	/* that less RING_WATCH */
	struct rt_pace pace;
	uint64_t guest;		/* its TCB in the guest, 0: none yet; see runtime/guest/guest.h */
	uint64_t guest_program;	/* FS base of the program, when it was last in the guest */
	uint64_t guest_frame;	/* rbp of the innermost sonde_rt_guest_enter */
	uint64_t guest_inside;	/* 1: it is in the guest, or about to be, or has just been */
	uint64_t stack; /* pages of its stack that can be read: the first one's number << 16 | how many */
	uint32_t left_other;	/* of `left': by a handler on the alternate stack */
	uint32_t left_unsure;	/* ... and where no handler was seen */
};

_Static_assert(offsetof(struct rt_thread, owner) == SONDE_POOL_OWNER, "pool layout");
_Static_assert(offsetof(struct rt_thread, ptr) == SONDE_POOL_PTR, "pool layout");
_Static_assert(offsetof(struct rt_thread, limit) == SONDE_POOL_LIMIT, "pool layout");
_Static_assert(offsetof(struct rt_thread, closed_sp) == SONDE_POOL_CLOSED_SP, "pool layout");
_Static_assert(offsetof(struct rt_thread, counters) == SONDE_POOL_COUNTERS, "pool layout");
_Static_assert(offsetof(struct rt_thread, room) == RT_POOL_ROOM, "pool layout");
_Static_assert(offsetof(struct rt_thread, counts) == RT_POOL_COUNTS, "pool layout");
_Static_assert(offsetof(struct rt_thread, shadow) == RT_POOL_SHADOW, "pool layout");
_Static_assert(offsetof(struct rt_thread, shadow_end) == RT_POOL_SHADOW_END, "pool layout");
_Static_assert(offsetof(struct rt_thread, time) == RT_POOL_TIME, "pool layout");
_Static_assert(offsetof(struct rt_thread, watch) == RT_POOL_WATCH, "pool layout");
_Static_assert(offsetof(struct rt_thread, watch_far) == RT_POOL_WATCH_FAR, "pool layout");
_Static_assert(offsetof(struct rt_thread, tcb) == RT_POOL_TCB, "pool layout");
_Static_assert(offsetof(struct rt_thread, mem_ptr) == RT_POOL_MEM_PTR, "pool layout");
_Static_assert(offsetof(struct rt_thread, mem_limit) == RT_POOL_MEM_LIMIT, "pool layout");
_Static_assert(offsetof(struct rt_thread, mem_park) == RT_POOL_MEM_PARK, "pool layout");
_Static_assert(offsetof(struct rt_thread, mem_slot) == RT_POOL_MEM_SLOT, "pool layout");
_Static_assert(offsetof(struct rt_thread, mem_off) == RT_POOL_MEM_OFF, "pool layout");
_Static_assert(offsetof(struct rt_thread, mem_left) == RT_POOL_MEM_LEFT, "pool layout");
_Static_assert(offsetof(struct rt_thread, under) == RT_POOL_UNDER, "pool layout");
_Static_assert(offsetof(struct rt_thread, guest) == RT_POOL_GUEST, "pool layout");
_Static_assert(offsetof(struct rt_thread, guest_program) == RT_POOL_GUEST_PROGRAM, "pool layout");
_Static_assert(offsetof(struct rt_thread, guest_frame) == RT_POOL_GUEST_FRAME, "pool layout");
_Static_assert(offsetof(struct rt_thread, guest_inside) == RT_POOL_GUEST_INSIDE, "pool layout");
_Static_assert(sizeof(struct rt_thread) <= SONDE_POOL_OWN, "pool layout");
_Static_assert(offsetof(struct sonde_pool, own) == SONDE_POOL_OWN, "pool layout");

_Static_assert(sizeof(struct sonde_pool) == RT_POOL_KEPT, "pool layout");

/* BLOCKS: the program's value of a register that holds a counter, after the pool: there are no shadow stacks then. */
static inline uint64_t *rt_kept_value(const struct rt_thread *t, unsigned int reg)
{
	return (uint64_t *)((uint64_t)t + RT_POOL_KEPT) + (reg & 15);
}

#define RT_HIDDEN __attribute__((visibility("hidden")))

extern struct rt_config sonde_rt_config;

static inline struct ring_control *rt_control(void)
{
	return (struct ring_control *)sonde_rt_config.control;
}

static inline int rt_off(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->off, __ATOMIC_RELAXED) != 0;
}

static inline uint64_t rt_tcb(void)
{
	uint64_t tcb;

	__asm__ volatile("movq %%fs:0, %0" : "=r"(tcb));
	return tcb;
}

static inline uint64_t rt_tsc(void)
{
	return __builtin_ia32_rdtsc();
}

/* The pool that GS points to: its own address, or 0 while it is nobody's. */
static inline struct rt_thread *rt_current(void)
{
	uint64_t self;

	__asm__ volatile("movq %%gs:%c1, %0"
			 : "=r"(self)
			 : "i"(offsetof(struct rt_thread, self)));
	return (struct rt_thread *)self;
}

/* The same if it belongs to the thread with this TCB, else NULL. */
static inline struct rt_thread *rt_current_of(uint64_t tcb)
{
	struct rt_thread *t = rt_current();

	return t && t->tcb == tcb ? t : NULL;
}

/* For the assembly in gate-*.S and for the injector. */
struct rt_stub_desc;
RT_HIDDEN uint64_t rt_gate_decide(const struct rt_stub_desc *desc, uint64_t sp);
RT_HIDDEN void rt_probe_slow(const void *ret, uint64_t sp, const uint64_t *regs);
RT_HIDDEN void rt_mem_slow(const void *ret, uint64_t *regs, uint64_t sp);
void sonde_rt_gate(void);
void sonde_rt_probe_gate(void);
void sonde_rt_mem_gate(void);
void sonde_rt_dl_state(void);
void sonde_rt_exit(int status);

/*
 * gate.c: the calling thread, at stack pointer @sp, with its pool open; NULL when it is not to record,
 * and counted: as nested, or @events as lost.  With signals blocked.
 */
RT_HIDDEN struct rt_thread *rt_gate_open(uint64_t sp, uint64_t calls, uint64_t events);

/* gate.c: is there a signal's frame between @sp and @top, or is this the alternate signal stack? */
RT_HIDDEN int rt_in_handler(uint64_t sp, uint64_t top);
/* ... is there one?  All between must be readable. */
RT_HIDDEN int rt_below_signal_frame(uint64_t sp, uint64_t top);

/* registry.c: threads, pools and rings of this process.  All with signals blocked. */

/*
 * Gives the calling thread a pool, points GS to it, and gets it a ring if there is one.  NULL when
 * there is no memory for a pool: the thread goes unrecorded, each call counted as lost.
 */
RT_HIDDEN struct rt_thread *rt_register(uint64_t tcb);
/* Calls @test with each pool, until it returns not 0; that pool, or NULL. */
RT_HIDDEN struct rt_thread *rt_find_pool(int (*test)(struct rt_thread *t, void *arg), void *arg);
/* Inode of the PID namespace of process @pid, which is this one; 0: not known. */
RT_HIDDEN uint32_t rt_pid_namespace(int32_t pid);

/*
 * 0: the program has set the GS base for a purpose of its own.  Then nothing is recorded in this
 * thread, and nothing may be reached through GS.
 */
RT_HIDDEN int rt_gs_is_ours(void);

/*
 * under.c: is a call whose frame address is @frame to be recorded?  @t is the calling thread, its pool open; @entry: it
 * begins.
 */
RT_HIDDEN int rt_under(struct rt_thread *t, uint64_t frame, int entry);
/* A recorded call begins whose end will be recorded, too. */
RT_HIDDEN void rt_under_goes_on(struct rt_thread *t, uint64_t frame);
/* A call with RT_ACT_UNDER begins; and any is left, by a return or @jump. */
RT_HIDDEN void rt_under_begin(struct rt_thread *t, uint64_t frame);
RT_HIDDEN void rt_under_end(struct rt_thread *t, uint64_t frame, int jump);

/* writer.c: sub-buffers of the calling thread. */
RT_HIDDEN void rt_ring_doorbell(void);
/* Recording, on or off, for all threads.  True: it was not so before. */
RT_HIDDEN int rt_switch(int on);
RT_HIDDEN void rt_take_first(struct rt_thread *t);
RT_HIDDEN uint64_t *rt_room(uint64_t bytes);
RT_HIDDEN uint64_t *rt_room_of(struct rt_thread *t, uint64_t bytes, uint64_t sp);
RT_HIDDEN void rt_count_lost(struct rt_thread *t, uint64_t events);
/*
 * A signal handler at stack pointer @sp is about to record while the interrupted code may be in
 * the middle of a record: step over it.  0 when that cannot be done; then nothing is recorded, and
 * @events are counted as lost.
 */
RT_HIDDEN int rt_step_over(struct rt_thread *t, uint64_t sp, uint64_t events);

/* memory.c: memory streams.  The thread is going to be forgotten. */
RT_HIDDEN void rt_mem_end(struct rt_thread *t);

/* It has another FS base than before. */
RT_HIDDEN void rt_mem_moved(struct rt_thread *t);

/* mapped.c: private memory, zeroed; 0: there is none. */
RT_HIDDEN uint64_t rt_map(uint64_t bytes);
RT_HIDDEN void rt_unmap(uint64_t addr, uint64_t bytes);

/* probe.c: the shadow stack of a thread that is being registered. */
RT_HIDDEN void rt_shadow_init(struct rt_thread *t);

#endif /* SONDE_RUNTIME_THREAD_H */
