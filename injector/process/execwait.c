// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * From a thread that waits until it may execute a program to a program that stands at its first instruction.  Only that
 * thread is traced; where execve() succeeds the others are gone, and it has the number of the process.
 *
 *	seize, interrupt ── stops ── go() ── its own system calls ... execve: entry ── wanted()? ── no: detach
 *											    yes: failed ── detach
 *												 PTRACE_EVENT_EXEC
 *
 * Signals are delivered as they come: a handler may run before execve(), and may never come back to it.
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/limits.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "injector/process/tracee-private.h"

#define MAX_SYSCALLS 2000 /* after that it has not executed anything: a signal handler did not return */

struct wait {
	const struct inj_exec_wait *w;
	pid_t tid;
	int syscalls;
	bool inside; /* of execve(), which was wanted */
};

/* All threads of ours that trace do nothing else: no other child of this thread changes its state. */
static pid_t next_stop(int *status)
{
	pid_t pid;

	do
		pid = waitpid(-1, status, __WALL | __WNOTHREAD);
	while (pid < 0 && errno == EINTR);
	return pid;
}

/* It may last for ever, and nobody else's program is to wait for that. */
static bool is_group_stop(int status)
{
	return WIFSTOPPED(status) && status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) != SIGTRAP;
}

/* One that was killed meanwhile ends when we have taken notice: its parent waits for that, and so would we, for another one's stop. */
static enum inj_exec_end leave(const struct wait *x, enum inj_exec_end end)
{
	int status;

	if (ptrace(PTRACE_DETACH, x->tid, 0, 0) < 0 && errno == ESRCH)
		(void)!waitpid(x->tid, &status, __WALL);
	return end;
}

static bool is_wanted(const struct wait *x, const struct user_regs_struct *regs)
{
	bool at = regs->orig_rax == SYS_execveat;
	uint64_t addr = at ? regs->rsi : regs->rdi;
	struct inj_target memory;
	char path[PATH_MAX];
	bool known;

	if (inj_target_open(&memory, x->tid) != INJ_OK)
		return false;
	known = inj_read_string(&memory, addr, path, sizeof(path)) == INJ_OK;
	inj_target_close(&memory);
	return known && x->w->wanted(x->w->arg, at ? (int)regs->rdi : AT_FDCWD, path, at ? (int)regs->r8 : 0);
}

/* At the entry of a system call, or at its exit.  False: *end is known. */
static bool goes_on(struct wait *x, enum inj_exec_end *end)
{
	struct user_regs_struct regs;

	if (ptrace(PTRACE_GETREGS, x->tid, 0, &regs) < 0) {
		*end = leave(x, INJ_EXEC_FAILED);
		return false;
	}
	if (x->inside || x->syscalls++ > MAX_SYSCALLS) {
		*end = leave(x, x->inside ? INJ_EXEC_FAILED : INJ_EXEC_LOST);
		return false;
	}
	/* rax is -ENOSYS at the entry, and nowhere else */
	if ((regs.orig_rax != SYS_execve && regs.orig_rax != SYS_execveat) || (int64_t)regs.rax != -ENOSYS)
		return true;
	x->inside = is_wanted(x, &regs);
	if (!x->inside)
		*end = leave(x, INJ_EXEC_UNWANTED);
	return x->inside;
}

static enum inj_exec_end trace(struct wait *x)
{
	enum inj_exec_end end;
	int status, sig;
	pid_t pid;

	for (;;) {
		pid = next_stop(&status);
		if (pid < 0)
			return INJ_EXEC_FAILED;
		if (!WIFSTOPPED(status)) {
			if (pid == x->tid)
				return INJ_EXEC_FAILED;
			continue;
		}
		sig = WSTOPSIG(status);
		if (status >> 16 == PTRACE_EVENT_EXEC) {
			x->tid = pid;
			return INJ_EXEC_STANDS;
		}
		if (sig == SYSCALL_STOP) {
			if (!goes_on(x, &end))
				return end;
			sig = 0;
		} else if (is_group_stop(status)) {
			return leave(x, INJ_EXEC_LOST);
		} else if (status >> 16) {
			sig = 0;
		}
		ptrace(PTRACE_SYSCALL, pid, 0, (void *)(intptr_t)sig);
	}
}

enum inj_exec_end inj_tracee_exec(struct inj_tracee *t, const struct inj_exec_wait *wait)
{
	struct wait x = { .w = wait, .tid = wait->tid };
	enum inj_exec_end end;
	pid_t pid;
	int status;

	memset(t, 0, sizeof(*t));
	t->target.mem = -1;
	if (ptrace(PTRACE_SEIZE, x.tid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD) < 0)
		return INJ_EXEC_REFUSED;
	if (ptrace(PTRACE_INTERRUPT, x.tid, 0, 0) < 0)
		return leave(&x, INJ_EXEC_FAILED);
	do
		pid = next_stop(&status);
	while (pid >= 0 && pid != x.tid);
	if (pid < 0 || !WIFSTOPPED(status))
		return INJ_EXEC_FAILED;
	if (is_group_stop(status))
		return leave(&x, INJ_EXEC_LOST);
	ptrace(PTRACE_SYSCALL, x.tid, 0, 0);
	wait->go(wait->arg);
	end = trace(&x);
	if (end != INJ_EXEC_STANDS)
		return end;
	t->pid = x.tid;
	/* until it is released it is no program yet, as at any other start */
	ptrace(PTRACE_SETOPTIONS, t->pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD);
	if (inj_tracee_set_up(t) == INJ_OK)
		return end;
	return leave(&x, INJ_EXEC_FAILED);
}
