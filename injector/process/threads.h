/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of a process that runs by itself: stopped, looked at and moved, had to execute system calls, and let go
 * as if nothing had happened.
 *
 *	inj_threads_stop()	PTRACE_SEIZE and PTRACE_INTERRUPT, of all until no new one appears, or of one
 *	t.target		system calls, executed by one of the threads
 *	inj_threads_go()	registers that have been changed are written; PTRACE_DETACH
 *
 * A thread that was in a system call stands after its `syscall` instruction, with what is to happen next in rax: the
 * kernel goes back to the instruction when the thread goes on, if registers are as they were.  Calls that end
 * with EINTR whenever a thread is stopped (epoll_wait() and others, see signal(7)) are made to be repeated, too.
 *
 * No signal is raised for any of that (a SIGTRAP that the program ignores or blocks would change what it does with
 * it), and the program's signals wait meanwhile: single steps and breakpoints are not used.
 */
#ifndef SONDE_INJECTOR_PROCESS_THREADS_H
#define SONDE_INJECTOR_PROCESS_THREADS_H

#include <signal.h>
#include <stdbool.h>
#include <sys/user.h>

#include "injector/process/target.h"

struct inj_thread {
	pid_t tid;
	bool gone;	  /* it has ended meanwhile, or */
	bool kernels;	  /* ... is a worker of the kernel's, as io_uring has: it never runs the program's code, and cannot be stopped */
	bool runs;	  /* it has not stopped yet */
	bool halted;	  /* the process has been stopped by SIGSTOP or the like */
	bool changed;	  /* regs differ from what the thread has */
	bool borrowed;	  /* it has executed something for us: mask holds its signal mask */
	uint64_t mask;
	struct user_regs_struct regs; /* those that it goes on with */
};

/* How long is waited for threads to stop; they may wait for somebody who waits for us. */
struct inj_patience {
	int64_t ns;
	void (*idle)(void *arg); /* does what others wait for; again and again */
	void *arg;
};

struct inj_threads {
	pid_t pid;
	const struct inj_patience *patience; /* NULL: seconds */
	struct inj_thread *v;
	size_t n, room;
	struct inj_target target; /* its arg is this struct */
	size_t caller;		  /* index of the thread that executes system calls */
	uint64_t syscall_insn;	  /* address of a syscall instruction in the process */
	int seize_errno;	  /* when inj_threads_stop() returned SYSTEM: of PTRACE_SEIZE, 0: it was not that */
	bool patient;		  /* inj_thread_run() waits for ever */
};

#define INJ_ALL_THREADS 0
#define INJ_ANY_THREAD (-1)

/*
 * Stops threads: @which is INJ_ALL_THREADS, INJ_ANY_THREAD (one that can be had), or the id of one.  Errors: GONE; SYSTEM, errno
 * ETIMEDOUT: one of them is within the kernel and cannot be stopped; MEMORY, NOT_SUPPORTED (no syscall instruction was found).  On
 * an error none is stopped.
 */
enum inj_status inj_threads_stop(struct inj_threads *t, pid_t pid, pid_t which) INJ_CHECK;

/* The same; who has not stopped in time is let go as soon as it does, which is waited for. */
enum inj_status inj_threads_stop_soon(struct inj_threads *t, pid_t pid, const struct inj_patience *p) INJ_CHECK;

/* Lets all go on. */
void inj_threads_go(struct inj_threads *t);

/* Is the thread going to execute the system call once more that it has been stopped in? */
bool inj_thread_repeats(const struct inj_thread *th);

/*
 * Where the thread goes on: the `syscall` instruction if it repeats a call.  Setting that moves the thread.
 */
uint64_t inj_thread_pc(const struct inj_thread *th);

/* As in /proc: R, S, D, T, ...; X: it is not there any more, or not known. */
char inj_thread_state(pid_t pid, pid_t tid);
void inj_thread_move(struct inj_thread *th, uint64_t pc);

/*
 * Has thread @i run @function with one argument, until it executes the `syscall` instruction at @end, of a call that
 * does not exist.  Its registers, those of vectors too, are as before afterwards, but for the GS base.  The stack is used below the red zone and @below bytes.
 * Errors: GONE; SYSTEM with ETIMEDOUT, then the thread is not to be let go; REMOTE: it cannot be done.
 */
enum inj_status inj_thread_run(struct inj_threads *t, size_t i, uint64_t function, uint64_t arg, uint64_t end,
			       uint64_t below) INJ_CHECK;

/*
 * Of a thread that was in a system call and has been moved to code that ends in the same call, such as a copy of it with something
 * before it: that is executed, up to the `syscall` instruction itself.  Only there may it go on: a signal's handler that runs first
 * returns to what follows that instruction.  On the way code in [@runtime, @runtime_end) may make system calls.  Errors: as above.
 */
enum inj_status inj_thread_to_call(struct inj_threads *t, size_t i, uint64_t runtime, uint64_t runtime_end) INJ_CHECK;

/*
 * A process none of whose threads is stopped: each system call borrows one of them for as long as it takes.
 * The rest of it runs on.
 */
enum inj_status inj_borrow_open(struct inj_target *t, pid_t pid) INJ_CHECK;

#endif
