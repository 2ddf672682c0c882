/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The collector's parts.  The shared memory is the program's too: nothing that is read from it is trusted.  Sizes
 * are our own, states out of range are taken for "nothing there".
 */
#ifndef SONDE_LAUNCHER_COLLECT_COLLECTOR_PRIVATE_H
#define SONDE_LAUNCHER_COLLECT_COLLECTOR_PRIVATE_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "launcher/collect/collector.h"
#include "launcher/collect/pool.h"
#include "launcher/collect/sampler.h"
#include "launcher/common/message.h"
#include "memtrace/pack/blocks.h"
#include "tracefmt/ring.h"
#include "trampolines/count/count.h"

#define COLLECTOR_MEM_SUBS 8
#define COLLECTOR_PAGE 4096u

struct process {
	pid_t pid;
	int pidfd; /* -1: not to be had */
	bool dead; /* when we first heard of it */
	bool executed; /* another program: what this recording is of has ended */
	bool gone; /* its rings are finished */
	double cpu; /* ns of CPU time that the budget has taken into account; -1: none yet */
	int mem; /* of sampler_open(); -1: its threads are not switched */
};

/* A process whose functions are instrumented when they are first called; those of the last few that asked. */
struct caller {
	pid_t pid, tid;
	int mem, status; /* /proc/PID/mem, and /proc/PID/task/TID/status; -1: not open */
	bool looked, own; /* own: its memory is not its parent's */
};

#define COLLECTOR_CALLERS 8

/* One ring, as we see it. */
struct feed {
	struct ring_head *head; /* mapped when first used */
	struct tf_thread *thread;
	pid_t pid, tid; /* as it said when it began */
	uint32_t sub; /* next to be drained */
	uint32_t pos; /* in it: bytes drained */
	bool begun;   /* how long its thread has waited for it is in the trace */
	uint64_t lost;
	uint32_t mem; /* sub-buffer of the memory stream that is next */
	uint64_t mem_lost;
	bool mem_gap;  /* chunks are missing before the next */
	bool mem_open; /* there were some, and no end */
	bool mem_pressed; /* it has waited for us since collector_place() looked */
	uint64_t mem_ran; /* ns that it had run or waited for a processor then */
	bool mem_ours; /* what the thread has handed to modules itself has been taken over */
	struct analysis_thread *analysis; /* NULL: none */
	struct tramp_weight unwanted; /* accesses that counters have counted while recording was off, modulo 2^64 */
	struct sampled sampled;
	int memory; /* of its process: struct process, mem */
	void *room; /* what a chunk is copied to: one of the collector's */
	bool taken; /* its chunks are being drained by somebody, */
	uint32_t turns; /* ... and were so often, since collector_drain_streams() began */
	volatile sig_atomic_t faults, faults_noted; /* in its ring */
};

enum program_end { PROGRAM_RUNS, PROGRAM_EXITED, PROGRAM_KILLED };

struct collector {
	int fd;
	int alive; /* a page that the program and its children keep mapped */
	struct ring_control *control;
	uint32_t sub_bytes, nsub, max_rings;
	uint64_t ring_bytes;
	uint32_t functions; /* counts in each ring */
	uint32_t mem_bytes; /* a sub-buffer of a memory stream; 0: there are none */
	bool inproc; /* rings end with struct ring_analysis */
	int64_t next_place, placed; /* when collector_place() looks again, and did; ns */
	struct feed *feeds;
	uint32_t rings; /* of them, that may have been in use */
	void *rooms[POOL_MOST_WORKERS]; /* for copies of chunks of memory streams, which the program cannot change: mem_bytes; [0] is there */
	pthread_mutex_t streams; /* for what several threads do to take memory streams from the program: feed.taken, .turns, and next_stream */
	uint32_t next_stream;
	uint64_t *counts; /* of a thread: a copy; functions of them */
	uint64_t *block_sums; /* they are of edges between blocks: those of all threads that have ended; else NULL */
	bool weighed; /* they say how many memory accesses a thread has made */
	bool weighed_off; /* ... which nobody wants to know now */
	volatile sig_atomic_t faults; /* in shared memory */
	bool faults_told;
	struct collector *guarded; /* the next one in collector-fault.c's list */
	struct robust_list *holder; /* of the shared memory: collector-holder.c */
	struct process *processes;
	size_t nprocesses;
	struct tf_writer *writer;
	struct inj_session *session;
	const struct record_options *options;
	struct sampler sampler;
	struct collector_windows *windows; /* NULL: they stay */
	struct collector_budget *budget; /* of recorded calls; NULL: there is none */
	uint64_t choices_bytes; /* as in struct ring_control */
	struct analysis *analysis; /* NULL: none */
	size_t analyzed; /* descriptions of code that it has */
	pid_t program;
	struct pool_member member;
	struct msg_context messages; /* of who serves it */
	bool started;
	int64_t next_tick; /* when what is not full yet is looked at again */
	int64_t trim_at; /* when memory is given back: to instrument takes several times as much as to record */
	_Atomic uint32_t publish; /* a futex: 1 asked for, 0 done */
	const struct tf_exec *executed; /* to be published, too; NULL: nothing */
	collector_exec_fn *exec_asked; /* NULL: nobody follows */
	void *exec_arg;
	_Atomic bool exec_waits; /* exec_asked() was called, and there is no answer yet */
	_Atomic uint32_t asked; /* a futex: enum control_verb, 0 done */
	struct control_answer *answer; /* to what was asked */
	bool stopped; /* it ends before the program does */
	uint64_t noted; /* entries of the log of switches that the trace has */
	uint32_t hurry; /* how often threads' memory streams are still to be had to look at that */
	_Atomic int switched_to; /* by the program, and not yet passed on to others: 1 on, 0 off; -1: it was not */
	uint64_t snapshots; /* of those that the program has asked for, how many there were */
	_Atomic bool snapshot_asked, snapshot_taken; /* by others; for the program, and not yet passed on to others */
	bool told_children;
	_Atomic bool no_requests; /* who asks goes on without */
	struct caller callers[COLLECTOR_CALLERS];
	unsigned int next_caller;
	uint64_t asked_ns; /* CPU time that requests took; */
	uint64_t served_ns; /* ... and all that is done by the thread that serves */
	_Atomic int ended; /* enum program_end */
	struct collector_totals totals;
};

/* A writer's failure is reported once; the program goes on. */
void collector_check(struct collector *c, enum sonde_trace_status status);
void collector_wake(_Atomic uint32_t *word);
void collector_wake_one(_Atomic uint32_t *word);

/* Offsets in a ring. */
uint64_t collector_counts_offset(const struct collector *c);
uint64_t collector_memory_offset(const struct collector *c);
/* 0: there is none. */
uint64_t collector_analysis_offset(const struct collector *c);
/* How many rings may be in use; never less than before, whatever the program says. */
/* How much of @bytes at an @offset in a thread's ring may be anything but zeros. */
uint64_t collector_written(const struct collector *c, const struct feed *f, uint64_t offset, uint64_t bytes);
uint32_t collector_rings(struct collector *c);

/* ---- faults in shared memory (collector-fault.c) ---- */

/* From now on they are survived.  Not before the program runs, which inherits what is ignored. */
void collector_guard(struct collector *c);
void collector_unguard(struct collector *c);
/* There may have been one while the thread's ring was read: if so, it is said, and the thread's records are damaged. */
void collector_note_faults(struct collector *c, struct feed *f);

/* ---- who collects, as programs see it (collector-holder.c) ---- */

/*
 * From now on the program can see in its shared memory whether this process lives: its page, mapped at @c->control.  False: errno is
 * set.  The first one to be held is by the thread that lives as long as this process.
 */
bool collector_hold(struct collector *c) __attribute__((warn_unused_result));
/* The recording is over: programs see nobody any more. */
void collector_release(struct collector *c);

/* ---- control (collector-control.c) ---- */

/* While the collector is served: does what was asked for. */
void collector_serve_control(struct collector *c);
/* The trace is told when recording was switched on and off since the last time. */
void collector_note_switches(struct collector *c);
/* Threads whose memory streams are on, or off, are to be the other way soon. */
void collector_hurry(struct collector *c);
/* What a flight recorder keeps is written, if somebody has asked for that. */
void collector_take_snapshots(struct collector *c);
/* What threads have recorded so far is taken from them (collector.c). */
bool collector_drain_all(struct collector *c, bool live);
/* The same, who has ended is done with, and it is in the files. */
void collector_look_at_all(struct collector *c);
void collector_trim_soon(struct collector *c);
/* Does what collector_publish() has asked for. */
void collector_serve_publish(struct collector *c);
/* By each thread that does something for it: it gives way to the program, where that is wanted. */
void collector_wait_for_turns(const struct collector *c);
/* The collector's thread is to look for something to do. */
void collector_ring(struct collector *c);

/* ---- processes (collector-processes.c) ---- */

/* The inode of our PID namespace. */
uint32_t collector_namespace(void);
void collector_add_process(struct collector *c, pid_t pid, uint32_t ns);
/* Its memory, for sampler_visit(); -1: it is not a process of the program's, as far as can be known. */
int collector_process_memory(struct collector *c, pid_t pid, uint32_t ns);
/* It has executed another program. */
void collector_process_executed(struct collector *c, pid_t pid);
/* One that was killed while it asked leaves the mailbox to nobody. */
void collector_free_mail(struct collector *c);
/* Calls @finish for each process that has ended, @killed or not. */
void collector_reap(struct collector *c, void (*finish)(struct collector *c, pid_t pid, bool killed));
/* Is it unknown how far the last words of @pid's streams went? */
bool collector_no_end_of(struct collector *c, pid_t pid);

/* ---- rings (collector-rings.c) ---- */

/* The ring of a thread that has begun.  False: it cannot be written. */
bool collector_open_feed(struct collector *c, struct feed *f) __attribute__((warn_unused_result));
/* All that is full; with @live also what is in the sub-buffer that the thread writes to.  Was there anything? */
bool collector_drain_feed(struct collector *c, struct feed *f, bool live);
/* The thread is done: drains and closes; the ring is as new afterwards. */
void collector_finish_feed(struct collector *c, struct feed *f, bool killed);
/* The recording ends, and the thread does not: takes what it has recorded, and leaves its ring alone. */
void collector_leave_feed(struct collector *c, struct feed *f);
/* All rings of a process that has ended, so that others can have them. */
void collector_finish_process(struct collector *c, pid_t pid, bool killed);
/* Where signal handlers did not return to: from the first of c->counts[n], which are zero then.  How many there are. */
size_t collector_take_left(struct collector *c, size_t n, struct mt_block_left left[static RING_GONE]);

/* ---- accesses that are counted (collector-weighed.c) ---- */

/* The thread has ended: modules are given how many it has made. */
void collector_close_weighed(struct collector *c, struct feed *f, bool killed);
/* From now on they are wanted, or not. */
void collector_switch_weighed(struct collector *c, bool on);

/* ---- memory streams (collector-memory.c) ---- */

/* The thread has begun; its name. */
void collector_begin_memory(const struct collector *c, struct feed *f, const char *comm);

/* All that is full.  Was there anything? */
bool collector_drain_memory(struct collector *c, struct feed *f);
/*
 * The same of all rings, with the help of threads that have nothing else to do, each thread's stream in its order.  Meanwhile nothing
 * is instrumented, and no ring begins or ends.
 */
bool collector_drain_streams(struct collector *c);

/* Decides, each second, whether the program's threads hand memory accesses to modules, or we do (collector-place.c). */
void collector_place(struct collector *c);

/* The thread is done. */
void collector_finish_memory(struct collector *c, struct feed *f, bool killed);

/* ---- what recording calls may cost (collector-budget.c); all do nothing without a budget but the first ---- */

/* @share of the program's time.  False: no memory. */
bool collector_budget_new(struct collector *c, double share) __attribute__((warn_unused_result));
void collector_budget_free(struct collector *c);
/* The recording begins: before collector_tell(). */
void collector_budget_start(struct collector *c);
/* A thread begins to serve the collector: what it takes until collector_budget_visit() is part of the cost. */
void collector_budget_enter(struct collector *c);
/* Functions may have been instrumented. */
void collector_budget_known(struct collector *c);
/* So many bytes of records have been drained. */
void collector_budget_drained(struct collector *c, uint64_t bytes);
/* A thread ends, with what is in @c->counts. */
void collector_budget_gone(struct collector *c);
/* Does what is due.  When to come again, ns, or INT64_MAX. */
int64_t collector_budget_visit(struct collector *c);
/* What has not been written to the trace yet. */
void collector_budget_tell(struct collector *c);
/* The collector's thread has ended. */
void collector_budget_finish(struct collector *c);

/* ---- windows that are out between bursts (collector-windows.c); all do nothing but by what recording may cost ---- */

/* False: no memory. */
bool collector_windows_new(struct collector *c) __attribute__((warn_unused_result));
void collector_windows_free(struct collector *c);
/* Does what is due.  When to come again, ns, or INT64_MAX. */
int64_t collector_windows_visit(struct collector *c);
/* A process's code was changed. */
void collector_windows_changed(struct collector *c);
/* Are bursts of this process's threads not their own affair? */
bool collector_windows_switch(const struct collector *c, pid_t pid);
/* The collector's thread has ended: what was done, into c->totals. */
void collector_windows_finish(struct collector *c);

/* ---- libraries that are loaded late (collector-libraries.c) ---- */

/* Writes what has been instrumented since the last time, and gives it to the modules. */
void collector_tell(struct collector *c);
/* A process is about to execute something: whoever follows is notified. */
void collector_serve_exec(struct collector *c);
/* A process asks for a library or a function to be instrumented.  Did one? */
bool collector_serve_mail(struct collector *c);

/* ---- functions that are called for the first time (collector-first.c) ---- */

/* A thread of @pid, @tid, asks for one. */
void collector_serve_first(struct collector *c, pid_t pid, pid_t tid);
/* Before what has been recorded is looked at: writes to the trace which functions may occur in it. */
void collector_tell_first(struct collector *c);
/* While the program stands still: it may not be possible later. */
void collector_open_first(struct collector *c, pid_t pid);
void collector_close_first(struct collector *c);
/* Executes system calls in the thread that waits for an answer. */
enum inj_status collector_mail_syscall(struct inj_target *t, long nr, const uint64_t args[6], int64_t *result);

#endif
