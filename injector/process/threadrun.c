// SPDX-License-Identifier: GPL-3.0-or-later
/* What stopped threads are had to execute: system calls, functions of the runtime, and what leads to a system call. */
#include "config.h"

#include <elf.h>
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "injector/process/threads-private.h"
#include "injector/process/tracee-private.h"

/* To the next entry or exit of a system call.  Signals cannot come, but for SIGSTOP, which is repeated at the end. */
static enum inj_status to_syscall_stop(struct inj_threads *t, struct inj_thread *th)
{
	for (;;) {
		enum inj_status ret;
		int status;

		if (ptrace(PTRACE_SYSCALL, th->tid, 0, 0) < 0) {
			th->gone = true;
			return INJ_GONE;
		}
		ret = inj_thread_await_stop(t, th->tid, t->patient, &status);
		th->gone = ret == INJ_GONE;
		if (ret != INJ_OK || WSTOPSIG(status) == SYSCALL_STOP)
			return ret;
		if (status >> 16 == 0 && WSTOPSIG(status) == SIGSTOP)
			syscall(SYS_tgkill, t->pid, th->tid, SIGSTOP);
		else if (status >> 16 == 0) {
			errno = EFAULT;
			return INJ_REMOTE; /* a fault of its own: it has not been delivered */
		}
	}
}

/* The same, and what the registers are then. */
static enum inj_status to_syscall_regs(struct inj_threads *t, struct inj_thread *th, struct user_regs_struct *regs)
{
	enum inj_status status = to_syscall_stop(t, th);

	return status == INJ_OK && ptrace(PTRACE_GETREGS, th->tid, 0, regs) < 0 ? INJ_GONE : status;
}

static enum inj_status borrow(struct inj_thread *th)
{
	uint64_t all = ~UINT64_C(0);

	if (th->borrowed)
		return INJ_OK;
	if (ptrace(PTRACE_GETSIGMASK, th->tid, (void *)sizeof(th->mask), &th->mask) < 0 ||
	    ptrace(PTRACE_SETSIGMASK, th->tid, (void *)sizeof(all), &all) < 0) {
		th->gone = errno == ESRCH;
		return th->gone ? INJ_GONE : INJ_SYSTEM;
	}
	th->borrowed = true;
	return INJ_OK;
}

enum inj_status inj_thread_set_regs(struct inj_thread *th, const struct user_regs_struct *regs)
{
	if (ptrace(PTRACE_SETREGS, th->tid, 0, regs) == 0)
		return INJ_OK;
	th->gone = errno == ESRCH;
	return th->gone ? INJ_GONE : INJ_SYSTEM;
}

enum inj_status inj_threads_call(struct inj_target *target, long nr, const uint64_t args[6], int64_t *result)
{
	struct inj_threads *t = target->arg;
	struct user_regs_struct regs;
	struct inj_thread *th;
	enum inj_status status;

	if (t->v[t->caller].gone && !inj_threads_choose_caller(t))
		return INJ_GONE;
	th = &t->v[t->caller];
	regs = th->regs;
	status = borrow(th);
	inj_regs_syscall(&regs, t->syscall_insn, nr, args);
	if (status == INJ_OK)
		status = inj_thread_set_regs(th, &regs);
	if (status == INJ_OK)
		status = to_syscall_stop(t, th);
	if (status == INJ_OK)
		status = to_syscall_regs(t, th, &regs);
	*result = (int64_t)regs.rax;
	return status;
}

/* Of the vector unit and of what else XSAVE saves. */
#define STATE_BYTES 16384

enum inj_status inj_thread_run(struct inj_threads *t, size_t i, uint64_t function, uint64_t arg, uint64_t end,
			       uint64_t below)
{
	struct inj_thread *th = &t->v[i];
	struct user_regs_struct regs = th->regs;
	enum inj_status status = borrow(th);
	_Alignas(64) uint8_t state[STATE_BYTES];
	struct iovec saved = { state, sizeof(state) };

	regs.rsp = ((regs.rsp - 128 - below) & ~UINT64_C(15)) - 8;
	regs.rip = function;
	regs.rdi = arg;
	regs.orig_rax = (uint64_t)-1;
	regs.eflags &= ~UINT64_C(0x400); /* DF */
	if (status == INJ_OK && ptrace(PTRACE_GETREGSET, th->tid, (void *)NT_X86_XSTATE, &saved) < 0)
		status = errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	if (status == INJ_OK)
		status = inj_thread_set_regs(th, &regs);
	while (status == INJ_OK) {
		status = to_syscall_regs(t, th, &regs);
		if (status == INJ_OK && regs.rip == end + INJ_SYSCALL_LEN)
			break;
	}
	if (status == INJ_OK)
		status = to_syscall_stop(t, th);
	if (status == INJ_OK && ptrace(PTRACE_SETREGSET, th->tid, (void *)NT_X86_XSTATE, &saved) < 0)
		status = INJ_GONE;
	if (status == INJ_OK)
		th->regs.gs_base = regs.gs_base;
	return status;
}

/* From its entry to its exit: it does nothing.  The registers are those of the entry. */
static enum inj_status skip_call(struct inj_threads *t, struct inj_thread *th, struct user_regs_struct regs)
{
	enum inj_status status;

	regs.orig_rax = (uint64_t)-1;
	status = inj_thread_set_regs(th, &regs);
	return status == INJ_OK ? to_syscall_stop(t, th) : status;
}

enum inj_status inj_thread_to_call(struct inj_threads *t, size_t i, uint64_t runtime, uint64_t runtime_end)
{
	struct inj_thread *th = &t->v[i];
	struct user_regs_struct regs = th->regs;
	uint8_t bytes[INJ_SYSCALL_LEN];
	enum inj_status status;

	if (!inj_thread_repeats(th))
		return INJ_OK;
	status = inj_read(&t->target, inj_thread_pc(th), bytes, sizeof(bytes));
	if (status != INJ_OK || memcmp(bytes, inj_syscall_insn, sizeof(bytes)) == 0)
		return status;
	status = borrow(th);
	regs.rip = inj_thread_pc(th);
	regs.rax = th->regs.orig_rax;
	regs.orig_rax = (uint64_t)-1;
	if (status == INJ_OK)
		status = inj_thread_set_regs(th, &regs);
	while (status == INJ_OK) {
		status = to_syscall_regs(t, th, &regs);
		if (status != INJ_OK || regs.rip - runtime >= runtime_end - runtime)
			break;
		status = to_syscall_stop(t, th);
	}
	if (status == INJ_OK)
		status = skip_call(t, th, regs);
	if (status != INJ_OK)
		return status;
	regs.rax = th->regs.rax;
	regs.orig_rax = th->regs.orig_rax;
	th->regs = regs;
	th->changed = true;
	return INJ_OK;
}
