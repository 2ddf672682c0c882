/* SPDX-License-Identifier: MIT */
/*
 * Layout of the memory that the program's threads and the collector share: one memfd.
 *
 *	offset 0            struct ring_control, one page
 *	RING_FIRST          uint8_t[c->choices_bytes]: of each function, whether its calls are recorded
 *	                    (enum ring_choice)
 *	RING_FIRST + c->choices_bytes + r * c->ring_bytes
 *	                    ring r:  struct ring_head (one page, counters in its second half),
 *	                             then c->nsub sub-buffers of c->sub_bytes each,
 *	                             then at c->counts_offset uint64_t[c->max_counts]: how often
 *	                             each function was called,
 *	                             then at c->mem_offset c->mem_nsub sub-buffers of c->mem_bytes
 *	                             each: its memory stream (memtrace/description.h), a chunk each,
 *	                             then at c->analysis_offset, if not 0, struct ring_analysis
 *
 * A thread writes into its own sub-buffer with plain stores; only a full sub-buffer is an event
 * for the collector.  Every byte of a sub-buffer that holds no record is zero: a sub-buffer is
 * zeroed by the collector before it is given back, and fresh memfd pages are zero.  The first word
 * of a record is never zero and is written last, so after a crash the records end at the
 * first zero word.
 *
 * What a record looks like is in <sonde/abi.h>; restated here for the collector's side:
 * word 0 = TSC << RING_ID_BITS | event id, enter events have the frame address in word 1, then
 * one word a field; a string field is a word with its length and the bytes padded to words.
 *
 * Where a probe records that a function is left by a jump, and knows where that leads, it adds RING_JUMP and, in
 * RING_JUMP_TARGET, a part of the target's address to the frame address: so that the entry of what is jumped to can be
 * distinguished from that of what is called next at the same depth of the stack.
 *
 * Sub-buffer life:
 *	RING_SUB_FREE     zeroed, the program may take it
 *	RING_SUB_WRITING  the thread's current one (or one that it left, see gaps)
 *	RING_SUB_FULL     the thread will not touch it again; the collector drains and frees it
 * Sub-buffers are taken and drained in order 0, 1, ..., nsub-1, 0, ...
 *
 * Gaps: a signal handler that records while the interrupted code is in the middle of a record
 * steps over RING_GAP bytes at that place, and notes the offset in gap[].  In [gap, gap + RING_GAP)
 * there is at most one record, at its start; whoever reads continues at gap + RING_GAP.  In a
 * sub-buffer with gaps (ngaps > 0) zero words between records are to be skipped: the
 * interrupted code moves the pointer on by the size of its record once more.  While a sub-buffer
 * is RING_SUB_WRITING a zero word may still be filled in: wait there; once it is FULL, or the
 * thread is gone, skip.
 */
#ifndef SONDE_RING_H
#define SONDE_RING_H

#include <stdint.h>

#define RING_MAGIC 0x676e695265646e53ULL /* "SndeRing" */
#define RING_VERSION 1

#define RING_PAGE 4096u
#define RING_FIRST RING_PAGE	/* offset of what follows the control page */
#define RING_ID_BITS 20
#define RING_ID_MASK ((UINT64_C(1) << RING_ID_BITS) - 1)
#define RING_TSC_BITS (64 - RING_ID_BITS)
#define RING_MAX_SUB 16

/* Frame addresses are even, and have 48 bits.  What is recorded differs for any two functions within 1 MiB. */
#define RING_JUMP UINT64_C(1)
#define RING_JUMP_SHIFT 48
#define RING_JUMP_ALIGN 4 /* low bits of an address that are left out: those of the alignment of functions */
#define RING_JUMP_TARGET(address) (((uint64_t)(address) >> RING_JUMP_ALIGN) << RING_JUMP_SHIFT)
#define RING_JUMP_FRAME(word) ((word) & ((UINT64_C(1) << RING_JUMP_SHIFT) - 1) & ~RING_JUMP)

#define RING_GAP 4096u		/* bytes; equals the largest record */
#define RING_MAX_GAPS 12
#define RING_COUNTERS 256

/*
 * What becomes of a function's calls.  Only the collector writes it, at any time; the function's probes look at it at each entry and
 * exit.  Calls that are counted are in the ring's counts, and have no events.
 *
 * A function is left by an event wherever it was entered by one, whatever was chosen meanwhile: of all calls that are open, those
 * whose entry was recorded have frame addresses above the pool's `watch`, which is set to just below a call's when its entry is
 * recorded, and to a call's when its exit is; so exits below or at `watch` are of calls that were counted.  Some exits above it are,
 * too, and are recorded without an entry.
 * Only what records looks whether recording is off: while it is, all choices are to record.  Who switches it off sees to that.
 */
enum ring_choice { RING_CHOICE_RECORD = 0, RING_CHOICE_COUNT };

/* So many bytes below `watch` that is true; what is farther away may be another stack, and its exits are recorded. */
#define RING_WATCH 65536u

enum ring_state {
	RING_FREE = 0,
	RING_CLAIMED, /* a thread is filling in the head */
	RING_ACTIVE,
	RING_EXITED, /* the thread is gone and says so; the collector may drain and free the ring */
};

enum ring_sub_state { RING_SUB_FREE = 0, RING_SUB_WRITING, RING_SUB_FULL };

struct ring_sub {
	_Atomic uint32_t state; /* enum ring_sub_state; a futex that the program waits on */
	uint32_t used;		/* bytes, valid when FULL; all words from here on are zero */
	uint32_t ngaps;
	uint32_t gap[RING_MAX_GAPS]; /* byte offsets, increasing */
	uint32_t reserved;
	uint64_t start_tsc; /* full TSC when the thread took the sub-buffer */
	uint64_t waited;    /* ticks that it took to get it: the thread did nothing else meanwhile */
};

/*
 * A sub-buffer of a memory stream: taken, drained and given back like the others.  A chunk whose thread was
 * killed ends with its last word that is not zero.
 */
struct ring_mem_sub {
	_Atomic uint32_t state; /* enum ring_sub_state; a futex */
	uint32_t used;		/* bytes, valid when FULL */
};

/*
 * Sampling of a memory stream.  The thread goes off by itself, when a burst is over.  The collector makes it go on,
 * by a 0 at off_at when the time has come; and it makes a thread look whether its burst is over, or recording was switched, that would
 * not for long, by a 0 at limit_at, which does no harm at any time, and is there without sampling, too.  With ACCESSES the thread needs nobody.
 */
enum ring_sample_by {
	RING_SAMPLE_TIME,	/* ticks of the TSC */
	RING_SAMPLE_ACCESSES,	/* that are likely to be made */
	RING_SAMPLE_COST,	/* CPU time of bursts, of that between them */
};

enum ring_phase { RING_PHASE_NONE, RING_PHASE_ON, RING_PHASE_OFF };

/* By number: how many parts of a burst or a pause are reported, as they are done; one more is not. */
#define RING_SAMPLE_SLICES 32

struct ring_sample {
	_Atomic uint32_t phase;	/* enum ring_phase */
	uint32_t bursts;	/* that are over */
	_Atomic uint64_t began, until; /* TSC: of the phase */
	uint64_t off_at, limit_at; /* addresses in the program, of 8 bytes */
	uint64_t on_ticks;	/* of all bursts that are over */
	uint64_t on_units, off_units; /* ACCESSES: in bursts and between them, as far as they are over */
	uint64_t visits;	/* times that the thread came to the runtime while it was off, and stayed so: none is right */
	uint64_t on_cpu, off_cpu; /* ns of the thread's CPU time in bursts and between them, as far as they are over */
	uint64_t then, then_at;	/* its CPU time when these were last added to, and the TSC; 0: not yet */
	uint64_t cost;		/* COST: of on_cpu, what recording is taken to have cost */
	uint64_t packed;	/* COST: ns of CPU time that the collector has worked on its chunks; the collector writes it */
};

struct ring_head {
	_Atomic uint32_t state; /* enum ring_state */
	int32_t pid;		/* as the program sees itself (its own PID namespace) */
	int32_t tid;
	uint32_t pid_ns;	/* inode of that namespace; 0: not known */
	uint64_t tcb;
	uint64_t first_tsc;   /* full TSC at registration */
	_Atomic uint64_t lost; /* events not recorded: dropped, or no collector */
	_Atomic uint64_t nested; /* calls that modules' own code made to wrapped functions; not recorded */
	struct ring_sub sub[RING_MAX_SUB];
	struct ring_mem_sub mem[RING_MAX_SUB];
	_Atomic uint64_t mem_lost; /* chunks of the memory stream that were not recorded */
	struct ring_sample sample;
};

/*
 * Modules that take memory accesses in the thread itself: it hands them what its buffer (always sub-buffer 0) holds,
 * and empties it.  What they have so far is in `now`.  If the thread is killed meanwhile, `before` and the buffer
 * are as they were before that, and whoever reads does it again:
 *
 *	RING_ANALYSIS_IDLE	`now` is right; what is in the buffer is not in it
 *	RING_ANALYSIS_RUNNING	`before` is right; the buffer's chunk_bytes, then `closing` are not in it
 *	RING_ANALYSIS_DONE	`now` is right; what is in the buffer is in it
 *
 * A thread may hand its sub-buffers to the collector from some time on (no memory, no room here): what the
 * collector finds FULL follows upon `now`.
 */
enum ring_analysis_phase { RING_ANALYSIS_IDLE = 0, RING_ANALYSIS_RUNNING, RING_ANALYSIS_DONE };

#define RING_ANALYSIS_MODULES 16
#define RING_ANALYSIS_SUMS 64
#define RING_ANALYSIS_NAME 52
#define RING_ANALYSIS_DATA (1u << 20) /* bytes of all modules */
#define RING_ANALYSIS_CLOSING 256

struct ring_sum {
	uint64_t n;
	uint32_t module;
	char name[RING_ANALYSIS_NAME];
};

struct ring_results {
	uint32_t nsums;
	uint32_t used;	/* bytes of data */
	struct {
		uint32_t at, bytes; /* in data; bytes 0: the module has none yet */
	} part[RING_ANALYSIS_MODULES];
	struct ring_sum sums[RING_ANALYSIS_SUMS];
	_Alignas(64) uint8_t data[RING_ANALYSIS_DATA];
};

struct ring_analysis {
	_Atomic uint32_t phase; /* enum ring_analysis_phase */
	uint32_t chunk_bytes, closing_bytes;
	char name[32];		/* of the thread, by the collector; may be "" */
	uint64_t entered, interpreted; /* from which it can be seen how it was done: struct mt_runner's */
	_Alignas(8) uint8_t closing[RING_ANALYSIS_CLOSING]; /* a chunk */
	struct ring_results now, before;
};

#define RING_COUNTERS_OFFSET 2048u /* uint64_t[RING_COUNTERS] in the head's page */

/*
 * Where edges between blocks are counted, the first of counts[] are RING_GONE of these: signal handlers that have not returned to the
 * instruction of the original at `addr`, less those that returned there without having come from there.
 */
struct ring_left {
	uint64_t addr;
	int64_t net;	/* 0: it is free */
};
#define RING_GONE 128u
#define RING_GONE_COUNTS (RING_GONE * sizeof(struct ring_left) / 8) /* the first edge's counter */

/* ring_control.flags */
#define RING_DROP 1u /* a full ring loses events (counted) instead of making the thread wait */
#define RING_LEFT 16u /* the process has been left, but for what a thread still stood in */
#define RING_ATTACHED 8u /* the process was running before: the collector's process takes all out of it again */
#define RING_MERGES 32u /* a thread may hand accesses to modules itself after the collector has done so */
#define RING_FOLLOW 2u /* who is about to execute a program asks first */
#define RING_PERMIT 4u /* ... and permits ring_control.tracer to trace it: Yama lets only ancestors do so else */

/*
 * Mailbox: a thread asks the collector for something and executes system calls on its behalf meanwhile.  One
 * request at a time: whoever asks holds the mailbox, by its process number, which may be that of a child of
 * vfork() that nobody knows yet.  The collector frees it from those that have died.
 *
 *	thread: holder = pid; fill kind, tid; state = ASKED; doorbell; wait while state == ASKED
 *	collector: sees ASKED; for each system call: nr, args; state = CALL; wake
 *	thread: executes it, result; state = ASKED; doorbell; wait
 *	collector: done: state = DONE; wake.   thread: state = IDLE; holder = 0
 *
 * A thread that waits in vain takes its request back, ASKED to IDLE.  FIRST: that is no longer possible from WRITING on: the
 * function's code is being changed.  Who was not answered says so in `silent`, and nobody waits any more until the
 * collector has set it to 0; whoever holds the mailbox may have functions run as they are for good.
 */
enum ring_mail_state { RING_MAIL_IDLE = 0, RING_MAIL_ASKED, RING_MAIL_CALL, RING_MAIL_DONE, RING_MAIL_WRITING };

enum ring_mail_kind {
	RING_MAIL_LIBRARIES, /* the dynamic linker has loaded some, which are to be instrumented; result: not 0 if they are not looked at */
	RING_MAIL_EXEC,	     /* the thread is about to execute a program, which is to be recorded, too */
	/*
	 * A function is called for the first time, args[0] of those that wait for that.  result: its copy, RING_FIRST_AS_IS or
	 * _LOST; args[1]: not 0 if the thread must not call membarrier(), by a filter of its own.
	 */
	RING_MAIL_FIRST,
};

#define RING_FIRST_AS_IS 0 /* it is left alone */
#define RING_FIRST_LOST 1  /* the process's memory cannot be written */

struct ring_mail {
	_Atomic uint32_t state;
	_Atomic int32_t holder; /* a futex, too; 0: nobody */
	uint32_t kind;		/* enum ring_mail_kind */
	int32_t tid;
	uint32_t nr;
	_Atomic uint32_t wanted; /* 1: somebody may wait until there is no holder */
	_Atomic uint32_t silent; /* 1: who asked last was not answered */
	_Atomic uint32_t serving; /* the collector's: 1 while it does something for the program, be it to wait for a disk */
	uint64_t args[6];
	int64_t result;
};

#define RING_SWITCHES 64u
#define RING_OFF UINT64_C(1)
#define RING_OFF_FOR_GOOD UINT64_C(2)

struct ring_control {
	uint64_t magic;
	uint32_t version;
	uint32_t flags;
	uint32_t sub_bytes;  /* a multiple of the page size */
	uint32_t nsub;	     /* 2..RING_MAX_SUB */
	uint64_t ring_bytes; /* distance of two rings */
	uint32_t max_rings;  /* that the file has room for */
	int32_t tracer;	     /* process number of who collects */
	_Atomic uint32_t used_rings; /* highest ring ever claimed, plus one */
	_Atomic uint32_t doorbell;   /* futex; the program adds one when there is something to do */
	_Atomic uint32_t sleeping;   /* the collector waits on the doorbell: it wants a FUTEX_WAKE */
	_Atomic uint32_t freed;	     /* futex; the collector adds one when a ring has become free, and wakes one thread */
	_Atomic uint64_t lost_threads; /* threads for which no ring could be had */
	_Atomic uint64_t lost;	     /* events that threads without a ring did not record */
	_Atomic uint64_t unfollowed; /* programs that were executed without an answer */
	_Atomic uint64_t guest_calls; /* calls whose wrappers did not run, since the guest could not be entered: in signal handlers
				       * that had interrupted it; in children of processes with several threads; when it had been left */
	uint32_t pid_ns;	     /* inode of the collector's PID namespace: others' process numbers mean nothing to it */
	uint64_t counts_offset;	     /* within a ring, a multiple of 8 */
	uint64_t max_counts;	     /* 0: nothing is counted; ring_bytes includes them */
	uint64_t choices_bytes;	     /* a multiple of the page size; 0: all calls are recorded */
	_Atomic uint64_t choices_used; /* those after that are RING_CHOICE_RECORD */
	uint64_t mem_offset;	     /* within a ring, a multiple of the page size */
	uint32_t mem_bytes;	     /* a multiple of the page size; 0: no memory streams */
	uint32_t mem_nsub;	     /* 2..RING_MAX_SUB */
	uint64_t analysis_offset;    /* within a ring, a multiple of the page size; 0: there is none */
	_Atomic uint64_t sample_burst; /* ticks of the TSC that a memory stream is on at a time; 0: always */
	_Atomic uint64_t sample_every; /* ... from one such time to the next */
	uint32_t sample_by;	     /* enum ring_sample_by: what the two are of; COST: burst is the share of a thread's
				      * time that recording may cost, in millionths, every: ticks a ms */
	_Atomic uint32_t analyze_here; /* 1: threads hand memory accesses to modules themselves, if they can */
	struct ring_mail mail;
	/*
	 * Recording is switched by ring_switch(), by anybody; probes look at `off`, which is in a line of memory that is
	 * seldom written.  The log says when, for the collector, which takes what is in it; entries of the same place
	 * replace each other if it is late.
	 */
	_Alignas(64) _Atomic uint64_t off; /* RING_OFF, RING_OFF_FOR_GOOD; 0: calls are recorded */
	_Alignas(64) _Atomic uint64_t switched; /* entries ever made; the next one is switches[switched % RING_SWITCHES] */
	_Atomic uint64_t switches[RING_SWITCHES]; /* TSC << 2 | passed_on << 1 | on; 0: taken, or not written yet */
	_Atomic uint64_t snapshots; /* how often the program has asked for what a flight recorder keeps to be written */
	/*
	 * The first word is a robust futex: the TID of the thread that collects; FUTEX_OWNER_DIED is set in it (or it is
	 * 0) when there is no collector any more.
	 */
	_Alignas(64) uint32_t collector[16];
	uint64_t left; /* with RING_LEFT: address of what says how the rest is taken out; 0: nothing does */
};

_Static_assert(sizeof(struct ring_control) <= RING_PAGE, "control fits its page");
_Static_assert(sizeof(struct ring_head) <= RING_COUNTERS_OFFSET, "head fits before the counters");
_Static_assert(RING_COUNTERS_OFFSET + 8 * RING_COUNTERS <= RING_PAGE, "counters fit the page");

/* True: it was not so before.  The doorbell is the caller's.  @passed_on: because another program of the job was switched. */
static inline int ring_switch_as(struct ring_control *c, int on, int passed_on)
{
	uint64_t *off = (uint64_t *)&c->off, was, i;
	uint64_t now = __builtin_ia32_rdtsc();

	was = on ? __atomic_fetch_and(off, ~RING_OFF, __ATOMIC_SEQ_CST) : __atomic_fetch_or(off, RING_OFF, __ATOMIC_SEQ_CST);
	if (!(was & RING_OFF) == !!on)
		return 0;
	/* a time when it surely was off, and no longer than it was */
	if (!on)
		now = __builtin_ia32_rdtsc();
	i = __atomic_fetch_add((uint64_t *)&c->switched, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n((uint64_t *)&c->switches[i % RING_SWITCHES], now << 2 | (uint64_t)!!passed_on << 1 | !!on, __ATOMIC_RELEASE);
	return 1;
}

static inline int ring_switch(struct ring_control *c, int on)
{
	return ring_switch_as(c, on, 0);
}

#define RING_FUTEX_OWNER_DIED 0x40000000u
#define RING_FUTEX_TID_MASK 0x3fffffffu

static inline int ring_collector_gone(const struct ring_control *c)
{
	uint32_t word = __atomic_load_n(&c->collector[0], __ATOMIC_RELAXED);

	return (word & RING_FUTEX_OWNER_DIED) || !(word & RING_FUTEX_TID_MASK);
}

#endif /* SONDE_RING_H */
