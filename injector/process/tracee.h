/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program while it is under ptrace: from its first instruction until it is detached.
 *
 *	inj_tracee_start()   fork, seize, execve; the program stands at its first instruction
 *	inj_tracee_until()   let it run to an address
 *	inj_tracee_call()    have it call a function
 *	inj_tracee_detach()
 *
 * Signals that arrive meanwhile are kept and delivered when the program goes on.
 */
#ifndef SONDE_INJECTOR_PROCESS_TRACEE_H
#define SONDE_INJECTOR_PROCESS_TRACEE_H

#include <signal.h>
#include <stdbool.h>
#include <sys/user.h>
#include "injector/process/target.h"

#define INJ_MAX_PENDING 64

struct inj_tracee {
	struct inj_target target; /* system calls by single-stepping; arg is this struct */
	pid_t pid;
	uint64_t syscall_insn; /* address of a syscall instruction in the program */
	int wait_status;       /* of its end, when something returned INJ_GONE */
	bool reaped;
	int pending[INJ_MAX_PENDING]; /* signals to deliver */
	int npending;
};

struct inj_exec {
	const char *path;
	char *const *argv;
	char *const *envp;
	const sigset_t *mask; /* the signal mask that the program starts with */
	void (*in_child)(void *arg); /* runs in the child before execve; NULL: nothing */
	void *arg;
	bool for_parent; /* it becomes a child of our parent, which waits for its end */
};

/* A process that is to execute a program, and waits until it is traced.  The descriptors are closed by who takes it. */
struct inj_forked {
	pid_t pid;
	int go;		/* a socket */
	int failed;	/* a pipe */
};

/* A running thread of another process that is about to execute a program, and waits for us before it does. */
struct inj_exec_wait {
	pid_t tid;
	/* It is traced now: it may go on to the system call. */
	void (*go)(void *arg);
	/*
	 * It is in the system call: execve(), or execveat() with @dirfd; @path as the program gave it, @flags as of
	 * execveat().  Is the program to be traced from its start?
	 */
	bool (*wanted)(void *arg, int dirfd, const char *path, int flags);
	void *arg;
};

enum inj_exec_end {
	INJ_EXEC_STANDS,   /* the new program stands at its first instruction; *t is set up */
	INJ_EXEC_UNWANTED, /* it runs by itself */
	INJ_EXEC_FAILED,   /* there was none; nobody is traced any more */
	INJ_EXEC_LOST,	   /* it was stopped by a signal, or went elsewhere: nobody is traced any more */
	INJ_EXEC_REFUSED,  /* the thread cannot be traced, see errno; it has not gone on */
};

/*
 * Starts the program and stops it after execve().  When execve() fails: INJ_SYSTEM with the errno
 * of execve and *exec_failed set; no child is left.
 */
enum inj_status inj_tracee_start(struct inj_tracee *t, const struct inj_exec *exec,
				 bool *exec_failed) INJ_CHECK;

/*
 * The same in two steps, of which another process may do the second one: forks, and has @tracer, a process, trace it; then what
 * is left.  Of inj_tracee_take() the descriptors of ours that are not close-on-exec are not inherited by the program.
 */
enum inj_status inj_tracee_fork(const struct inj_exec *exec, pid_t tracer, struct inj_forked *forked) INJ_CHECK;
enum inj_status inj_tracee_take(struct inj_tracee *t, const struct inj_forked *forked, bool *exec_failed) INJ_CHECK;
/* Nobody takes it: ends it.  It is a child of ours. */
void inj_forked_end(struct inj_forked *forked);

/* Traces a thread through its system call that executes a program.  t->pid is the process's number afterwards. */
enum inj_exec_end inj_tracee_exec(struct inj_tracee *t, const struct inj_exec_wait *wait);


enum inj_status inj_tracee_regs(struct inj_tracee *t, struct user_regs_struct *regs) INJ_CHECK;
enum inj_status inj_tracee_set_regs(struct inj_tracee *t, const struct user_regs_struct *regs)
	INJ_CHECK;

/* Runs to the instruction at @addr, which must be one that begins there. */
enum inj_status inj_tracee_until(struct inj_tracee *t, uint64_t addr) INJ_CHECK;

/*
 * Calls a function with two arguments that returns an integer; all registers are as before afterwards.
 * @trap: the address of a breakpoint instruction to return to.
 * INJ_REMOTE: it crashed; the program is where it was.
 */
enum inj_status inj_tracee_call(struct inj_tracee *t, uint64_t function, const uint64_t args[2],
				uint64_t trap, uint64_t *result) INJ_CHECK;

/* One instruction; *sig is the signal it raised (SIGTRAP: none) and *fault_addr its si_addr. */
enum inj_status inj_tracee_step(struct inj_tracee *t, int *sig, uint64_t *fault_addr) INJ_CHECK;

/* Lets it go on by itself. */
enum inj_status inj_tracee_detach(struct inj_tracee *t) INJ_CHECK;

/* Has it been killed, though it stands still?  Then it has come to its end when this returns. */
bool inj_tracee_is_gone(struct inj_tracee *t);

/* Kills it and waits for its end. */
void inj_tracee_kill(struct inj_tracee *t);

#endif
