// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Every wait goes through await(); every way to go on through resume().  The tracee is a single
 * thread as long as it is ours: we let go of it before its first constructor runs.
 */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector/process/maps.h"
#include "injector/process/tracee-private.h"

#define INT3 0xcc

/* Why the tracee stopped, and what the caller does about it. */
enum stop {
	STOP_EXEC,   /* execve() is done: set up */
	STOP_TRAP,   /* breakpoint or single step: look at the registers */
	STOP_SYSCALL, /* before or after a system call: look at it */
	STOP_FAULT,  /* SIGSEGV, SIGILL, SIGBUS, SIGFPE by its own doing: deliver, or judge */
	STOP_SIGNAL, /* any other signal: kept in pending, resume without it */
	STOP_GROUP,  /* stopped by SIGSTOP and the like: wait on */
	STOP_END,    /* dead: wait_status says how */
};

static bool is_fault(int sig)
{
	return sig == SIGSEGV || sig == SIGILL || sig == SIGBUS || sig == SIGFPE;
}

static void keep_signal(struct inj_tracee *t, int sig)
{
	if (t->npending < INJ_MAX_PENDING)
		t->pending[t->npending++] = sig;
}

static enum stop classify(struct inj_tracee *t, int status)
{
	int sig = WSTOPSIG(status);
	int event = status >> 16;

	if (WIFEXITED(status) || WIFSIGNALED(status)) {
		t->wait_status = status;
		t->reaped = true;
		return STOP_END;
	}
	if (event == PTRACE_EVENT_EXEC)
		return STOP_EXEC;
	if (event == PTRACE_EVENT_STOP)
		return sig == SIGTRAP ? STOP_SIGNAL : STOP_GROUP;
	if (sig == SIGTRAP)
		return STOP_TRAP;
	if (sig == (SIGTRAP | 0x80))
		return STOP_SYSCALL;
	return is_fault(sig) ? STOP_FAULT : STOP_SIGNAL;
}

static int wait_for(pid_t pid, int *status)
{
	pid_t got;

	do
		got = waitpid(pid, status, __WALL);
	while (got < 0 && errno == EINTR);
	return got == pid ? 0 : -1;
}

/* The next stop that concerns the caller: EXEC, TRAP, SYSCALL, FAULT or END. */
static enum stop await(struct inj_tracee *t, enum __ptrace_request how)
{
	for (;;) {
		int status = 0;
		enum stop stop;

		if (wait_for(t->pid, &status) < 0) {
			t->reaped = true;
			return STOP_END;
		}
		stop = classify(t, status);
		if (stop != STOP_SIGNAL && stop != STOP_GROUP)
			return stop;
		if (stop == STOP_SIGNAL && status >> 16 == 0)
			keep_signal(t, WSTOPSIG(status));
		if (stop == STOP_GROUP)
			ptrace(PTRACE_LISTEN, t->pid, 0, 0);
		else
			ptrace(how, t->pid, 0, 0);
	}
}

static enum stop resume(struct inj_tracee *t, enum __ptrace_request how, int sig)
{
	if (ptrace(how, t->pid, 0, (void *)(intptr_t)sig) < 0 && errno != ESRCH)
		return STOP_END;
	return await(t, how);
}

enum inj_status inj_tracee_regs(struct inj_tracee *t, struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_GETREGS, t->pid, 0, regs) < 0)
		return errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	return INJ_OK;
}

enum inj_status inj_tracee_set_regs(struct inj_tracee *t, const struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_SETREGS, t->pid, 0, regs) < 0)
		return errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	return INJ_OK;
}

enum inj_status inj_tracee_step(struct inj_tracee *t, int *sig, uint64_t *fault_addr)
{
	siginfo_t info;

	switch (resume(t, PTRACE_SINGLESTEP, 0)) {
	case STOP_TRAP:
		*sig = SIGTRAP;
		return INJ_OK;
	case STOP_FAULT:
		memset(&info, 0, sizeof(info));
		ptrace(PTRACE_GETSIGINFO, t->pid, 0, &info);
		*sig = info.si_signo;
		*fault_addr = (uint64_t)(uintptr_t)info.si_addr;
		return INJ_OK;
	default:
		return INJ_GONE;
	}
}

/* ---- system calls ---- */

void inj_regs_syscall(struct user_regs_struct *regs, uint64_t insn, long nr, const uint64_t args[6])
{
	regs->rip = insn;
	regs->rax = (uint64_t)nr;
	regs->orig_rax = (uint64_t)-1; /* no system call to restart */
	regs->rdi = args[0];
	regs->rsi = args[1];
	regs->rdx = args[2];
	regs->r10 = args[3];
	regs->r8 = args[4];
	regs->r9 = args[5];
}

static enum inj_status step_syscall(struct inj_target *target, long nr, const uint64_t args[6],
				    int64_t *result)
{
	struct inj_tracee *t = target->arg;
	struct user_regs_struct saved, regs, after;
	enum inj_status status = inj_tracee_regs(t, &saved);
	uint64_t fault;
	int sig = 0;

	if (status != INJ_OK)
		return status;
	regs = saved;
	inj_regs_syscall(&regs, t->syscall_insn, nr, args);
	/* the first step after execve() ends with execve()'s own exit: nothing has run, try again */
	for (int tries = 0; tries < 3; tries++) {
		status = inj_tracee_set_regs(t, &regs);
		if (status == INJ_OK)
			status = inj_tracee_step(t, &sig, &fault);
		if (status == INJ_OK && sig != SIGTRAP) {
			errno = EFAULT;
			status = INJ_SYSTEM;
		}
		if (status == INJ_OK)
			status = inj_tracee_regs(t, &after);
		if (status != INJ_OK)
			return status;
		if (after.rip != regs.rip)
			break;
	}
	*result = (int64_t)after.rax;
	saved.orig_rax = (uint64_t)-1;
	return inj_tracee_set_regs(t, &saved);
}

/*
 * The vDSO is the same image in every process of a kernel (of one bitness), so a syscall instruction
 * in ours is at the same offset in theirs.
 */
static uint64_t vdso_syscall_offset(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);

	for (uint64_t i = 0; vdso && i < 4096; i++)
		if (vdso[i] == 0x0f && vdso[i + 1] == 0x05)
			return i;
	return 0;
}

static enum inj_status find_syscall_insn(struct inj_tracee *t)
{
	static const uint8_t insn[2] = { 0x0f, 0x05 };
	uint64_t vdso = inj_auxv(t->pid, AT_SYSINFO_EHDR);
	uint64_t offset = vdso_syscall_offset();
	struct user_regs_struct regs;
	uint8_t bytes[2];
	enum inj_status status;

	if (vdso && offset && inj_read(&t->target, vdso + offset, bytes, 2) == INJ_OK &&
	    memcmp(bytes, insn, 2) == 0) {
		t->syscall_insn = vdso + offset;
		return INJ_OK;
	}
	/* no vDSO: any executable page will do, after the ELF entry point's page start */
	status = inj_tracee_regs(t, &regs);
	if (status != INJ_OK)
		return status;
	t->syscall_insn = regs.rip & ~UINT64_C(4095);
	for (; t->syscall_insn < regs.rip + 0x10000; t->syscall_insn++)
		if (inj_read(&t->target, t->syscall_insn, bytes, 2) == INJ_OK &&
		    memcmp(bytes, insn, 2) == 0)
			return INJ_OK;
	return INJ_NOT_SUPPORTED;
}

/* ---- start ---- */

/*
 * 1. the child lets us trace it, says so, and waits for a byte: until then it must not reach execve();
 * 2. we seize it and send the byte;
 * 3. execve(): we get PTRACE_EVENT_EXEC; or it fails, and errno comes back.
 */
static void child(const struct inj_exec *exec, pid_t tracer, int go, int failed)
{
	char byte;
	int err;

	if (tracer != getppid())
		prctl(PR_SET_PTRACER, tracer);	/* Yama wants that of who is no ancestor */
	if (write(go, "r", 1) != 1 || read(go, &byte, 1) != 1)
		_exit(127);
	if (exec->in_child)
		exec->in_child(exec->arg);
	sigprocmask(SIG_SETMASK, exec->mask, NULL);
	execve(exec->path, exec->argv, exec->envp);
	err = errno;
	(void)!write(failed, &err, sizeof(err));
	_exit(127);
}

static enum inj_status seize(struct inj_tracee *t, int go)
{
	char ready;
	int saved;

	if (read(go, &ready, 1) != 1)
		return INJ_GONE;
	/* Until it is released it is no program yet: if we are killed, it must not run half prepared. */
	if (ptrace(PTRACE_SEIZE, t->pid, 0, PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) < 0) {
		saved = errno;
		if (recv(go, &ready, 1, MSG_DONTWAIT) == 0)
			return INJ_GONE; /* killed: EPERM, too */
		errno = saved;
		return INJ_SYSTEM;
	}
	(void)!send(go, "g", 1, MSG_NOSIGNAL);
	return INJ_OK;
}

static enum inj_status reach_exec(struct inj_tracee *t, int failed, bool *exec_failed)
{
	int err = 0;

	for (;;) {
		switch (await(t, PTRACE_CONT)) {
		case STOP_EXEC:
			return INJ_OK;
		case STOP_END:
			if (read(failed, &err, sizeof(err)) == sizeof(err)) {
				*exec_failed = true;
				errno = err;
				return INJ_SYSTEM;
			}
			return INJ_GONE;
		default:
			ptrace(PTRACE_CONT, t->pid, 0, 0);
		}
	}
}

enum inj_status inj_tracee_set_up(struct inj_tracee *t)
{
	pid_t pid = t->pid;
	enum inj_status status = inj_target_open(&t->target, pid);

	if (status != INJ_OK)
		return status;
	t->target.syscall = step_syscall;
	t->target.arg = t;
	t->target.stands = true;
	return find_syscall_insn(t);
}

/* No handlers of fork() run in the child: it only executes something else. */
static pid_t fork_child(const struct inj_exec *exec)
{
	return exec->for_parent ? (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, NULL, NULL, 0) : fork();
}

static void close_both(const int fds[2])
{
	close(fds[0]);
	close(fds[1]);
}

enum inj_status inj_tracee_fork(const struct inj_exec *exec, pid_t tracer, struct inj_forked *forked)
{
	int go[2], failed[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, go) < 0)
		return INJ_SYSTEM;
	if (pipe2(failed, O_CLOEXEC | O_NONBLOCK) < 0) {
		close_both(go);
		return INJ_SYSTEM;
	}
	forked->pid = fork_child(exec);
	if (forked->pid == 0) {
		close(go[1]);
		child(exec, tracer, go[0], failed[1]);
	}
	if (forked->pid < 0) {
		close_both(go);
		close_both(failed);
		return INJ_SYSTEM;
	}
	close(go[0]);
	close(failed[1]);
	forked->go = go[1];
	forked->failed = failed[0];
	return INJ_OK;
}

enum inj_status inj_tracee_take(struct inj_tracee *t, const struct inj_forked *forked, bool *exec_failed)
{
	enum inj_status status;
	int saved;

	memset(t, 0, sizeof(*t));
	t->target.mem = -1;
	t->pid = forked->pid;
	*exec_failed = false;
	status = seize(t, forked->go);
	if (status == INJ_OK)
		status = reach_exec(t, forked->failed, exec_failed);
	if (status == INJ_OK)
		status = inj_tracee_set_up(t);
	saved = errno;
	close(forked->go);
	close(forked->failed);
	if (status != INJ_OK)
		inj_tracee_kill(t);
	errno = saved;
	return status;
}

void inj_forked_end(struct inj_forked *forked)
{
	int status;

	kill(forked->pid, SIGKILL);
	(void)!wait_for(forked->pid, &status);
}

enum inj_status inj_tracee_start(struct inj_tracee *t, const struct inj_exec *exec,
				 bool *exec_failed)
{
	struct inj_forked forked;
	enum inj_status status;

	memset(t, 0, sizeof(*t));
	t->target.mem = -1;
	*exec_failed = false;
	status = inj_tracee_fork(exec, getpid(), &forked);
	if (status != INJ_OK)
		return status;
	status = inj_tracee_take(t, &forked, exec_failed);
	t->target.inherits = true;
	return status;
}

/* ---- running ---- */

static enum inj_status trap_here(struct inj_tracee *t, uint64_t addr)
{
	struct user_regs_struct regs;
	enum inj_status status = inj_tracee_regs(t, &regs);

	if (status != INJ_OK)
		return status;
	if (regs.rip != addr + 1)
		return INJ_NOT_SUPPORTED; /* a breakpoint of the program's own */
	regs.rip = addr;
	return inj_tracee_set_regs(t, &regs);
}

/* Standing on the place of a breakpoint that is to be: step off it first. */
static enum inj_status leave_address(struct inj_tracee *t, uint64_t addr)
{
	struct user_regs_struct regs;
	enum inj_status status = inj_tracee_regs(t, &regs);
	uint64_t fault;
	int sig;

	if (status != INJ_OK || regs.rip != addr)
		return status;
	return inj_tracee_step(t, &sig, &fault);
}

enum inj_status inj_tracee_until(struct inj_tracee *t, uint64_t addr)
{
	const uint8_t trap = INT3;
	uint8_t original;
	enum inj_status status = leave_address(t, addr);
	enum stop stop;
	int sig = 0;

	if (status == INJ_OK)
		status = inj_read(&t->target, addr, &original, 1);
	if (status == INJ_OK)
		status = inj_write(&t->target, addr, &trap, 1);
	if (status != INJ_OK)
		return status;
	do {
		siginfo_t info = { 0 };

		stop = resume(t, PTRACE_CONT, sig);
		sig = 0;
		if (stop == STOP_FAULT && ptrace(PTRACE_GETSIGINFO, t->pid, 0, &info) == 0)
			sig = info.si_signo; /* its own fault: let it have the signal */
	} while (stop == STOP_FAULT || stop == STOP_EXEC);
	if (stop == STOP_END)
		return INJ_GONE;
	status = trap_here(t, addr);
	if (status == INJ_OK)
		status = inj_write(&t->target, addr, &original, 1);
	return status;
}

enum inj_status inj_tracee_to_trap(struct inj_tracee *t)
{
	switch (resume(t, PTRACE_CONT, 0)) {
	case STOP_TRAP:
		return INJ_OK;
	case STOP_FAULT:
		errno = EFAULT;
		return INJ_REMOTE;
	default:
		return INJ_GONE;
	}
}

enum inj_status inj_tracee_to_syscall(struct inj_tracee *t)
{
	switch (resume(t, PTRACE_SYSCALL, 0)) {
	case STOP_SYSCALL:
		return INJ_OK;
	case STOP_END:
		return INJ_GONE;
	default:
		errno = EFAULT;
		return INJ_REMOTE;
	}
}

enum inj_status inj_tracee_vectors(struct inj_tracee *t, struct inj_vectors *v)
{
	struct iovec iov = { .iov_base = v->bytes, .iov_len = sizeof(v->bytes) };

	if (ptrace(PTRACE_GETREGSET, t->pid, NT_X86_XSTATE, &iov) < 0)
		return errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	v->n = iov.iov_len;
	return INJ_OK;
}

enum inj_status inj_tracee_set_vectors(struct inj_tracee *t, const struct inj_vectors *v)
{
	struct iovec iov = { .iov_base = (void *)(uintptr_t)v->bytes, .iov_len = v->n };

	if (ptrace(PTRACE_SETREGSET, t->pid, NT_X86_XSTATE, &iov) < 0)
		return errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	return INJ_OK;
}

/* With @regs set up: runs, and takes the result. */
static enum inj_status run_call(struct inj_tracee *t, const struct user_regs_struct *regs,
				uint64_t trap, uint64_t *result)
{
	struct user_regs_struct after;
	enum inj_status status = inj_tracee_set_regs(t, regs);

	if (status != INJ_OK)
		return status;
	status = inj_tracee_to_trap(t);
	if (status != INJ_OK)
		return status;
	status = inj_tracee_regs(t, &after);
	if (status == INJ_OK && after.rip != trap + 1)
		status = INJ_REMOTE;
	*result = after.rax;
	return status;
}

enum inj_status inj_tracee_call(struct inj_tracee *t, uint64_t function, const uint64_t args[2],
				uint64_t trap, uint64_t *result)
{
	struct user_regs_struct saved, regs;
	enum inj_status status = inj_tracee_regs(t, &saved);
	enum inj_status restored;

	if (status != INJ_OK)
		return status;
	regs = saved;
	/* below the red zone, aligned as at a function's entry */
	regs.rsp = ((saved.rsp - 256) & ~UINT64_C(15)) - 8;
	regs.rip = function;
	regs.rdi = args[0];
	regs.rsi = args[1];
	regs.rax = 0;
	regs.orig_rax = (uint64_t)-1;
	status = inj_write(&t->target, regs.rsp, &trap, sizeof(trap));
	if (status != INJ_OK)
		return status;
	status = run_call(t, &regs, trap, result);
	if (status == INJ_GONE)
		return status;
	saved.orig_rax = (uint64_t)-1;
	restored = inj_tracee_set_regs(t, &saved);
	return restored != INJ_OK ? restored : status;
}

enum inj_status inj_tracee_detach(struct inj_tracee *t)
{
	long ret = ptrace(PTRACE_DETACH, t->pid, 0, 0);
	int saved = errno;

	for (int i = 0; i < t->npending; i++)
		kill(t->pid, t->pending[i]);
	t->npending = 0;
	inj_target_close(&t->target);
	if (ret >= 0)
		return INJ_OK;
	if (saved != ESRCH) {
		errno = saved;
		return INJ_SYSTEM;
	}
	/* killed: its parent hears of that when we have taken notice */
	t->reaped = true;
	(void)!wait_for(t->pid, &t->wait_status);
	return INJ_GONE;
}

void inj_tracee_kill(struct inj_tracee *t)
{
	int status;

	inj_target_close(&t->target);
	if (t->reaped || t->pid <= 0)
		return;
	kill(t->pid, SIGKILL);
	while (wait_for(t->pid, &status) == 0) {
		t->wait_status = status;
		if (WIFEXITED(status) || WIFSIGNALED(status))
			break;
	}
	t->reaped = true;
}

bool inj_tracee_is_gone(struct inj_tracee *t)
{
	struct user_regs_struct unused;

	if (!t->reaped && inj_tracee_regs(t, &unused) == INJ_GONE)
		inj_tracee_kill(t);
	return t->reaped;
}
