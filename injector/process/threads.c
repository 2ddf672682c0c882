// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "injector/process/attachable.h"
#include "injector/process/maps.h"
#include "injector/process/threads-private.h"
#include "injector/process/tracee-private.h"

#define PATIENCE_NS INT64_C(5000000000) /* for a thread to stop, or to execute a system call */
#define STARVED_NS INT64_C(300000000000) /* for one that waits for a processor */
#define NAP_NS 20000
#define LOOKS 20 /* at a list that has fewer threads than there are */
#define OPTIONS PTRACE_O_TRACESYSGOOD

/* Of the kernel, never seen by programs (include/linux/errno.h). */
enum { RESTART_SYS = 512, RESTART_NO_INTR = 513, RESTART_NO_HANDLER = 514, RESTART_BLOCK = 516 };

/* ---- waiting ---- */

/* Its state and flags (PF_... of the kernel, include/linux/sched.h). */
static char read_stat(pid_t pid, pid_t tid, unsigned int *flags)
{
	char path[64], buf[256], state = 'X', *p;
	size_t n;
	FILE *f;

	*flags = 0;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return 'X';
	n = fread(buf, 1, sizeof(buf) - 1, f);
	fclose(f);
	buf[n] = '\0';
	p = strrchr(buf, ')');
	if (p)
		(void)!sscanf(p, ") %c %*d %*d %*d %*d %*d %u", &state, flags);
	return state;
}

char inj_thread_state(pid_t pid, pid_t tid)
{
	unsigned int flags;

	return read_stat(pid, tid, &flags);
}

/* PTRACE_SEIZE is not permitted. */
static bool is_kernels(pid_t pid, pid_t tid)
{
	enum { PF_IO_WORKER = 0x10, PF_USER_WORKER = 0x4000 };
	unsigned int flags;

	return read_stat(pid, tid, &flags) != 'X' && flags & (PF_IO_WORKER | PF_USER_WORKER);
}

/* A thread that has ended, of whose end has not been reported yet: nothing can be done with it. */
static bool has_ended(pid_t pid, pid_t tid)
{
	char state = inj_thread_state(pid, tid);

	return state == 'Z' || state == 'X';
}

/* It will stop, or has done so: what is missing is a processor, for it or for us. */
static bool is_starved(pid_t tid, int64_t waited)
{
	char state = inj_thread_state(tid, tid);

	return waited < STARVED_NS && (state == 'R' || state == 't');
}

enum inj_status inj_thread_await_stop(const struct inj_threads *t, pid_t tid, bool patient, int *status)
{
	int64_t began = clock_now_ns(), more = t->patience ? t->patience->ns : PATIENCE_NS, until = began + more;
	bool ended = false;

	for (;;) {
		int64_t now = clock_now_ns();
		pid_t got = waitpid(tid, status, __WALL | WNOHANG);

		if (got == tid)
			return WIFSTOPPED(*status) ? INJ_OK : INJ_GONE;
		if ((got < 0 && errno != EINTR) || ended)
			return INJ_GONE;
		if (now > until && is_starved(tid, now - began))
			until = clock_now_ns() + more;
		ended = now > until && has_ended(t->pid, tid);
		if (!patient && !ended && now > until) {
			errno = ETIMEDOUT;
			return INJ_SYSTEM;
		}
		if (t->patience)
			t->patience->idle(t->patience->arg);
		nanosleep(&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
}

/* Until the stop that PTRACE_INTERRUPT is the reason for; signals that come first are delivered. */
static enum inj_status await_interrupt(const struct inj_threads *t, struct inj_thread *th, bool patient)
{
	int status;
	enum inj_status ret = inj_thread_await_stop(t, th->tid, patient, &status);

	while (ret == INJ_OK && status >> 16 != PTRACE_EVENT_STOP) {
		int sig = WSTOPSIG(status);

		if (sig == SYSCALL_STOP || status >> 16)
			sig = 0;
		if (ptrace(PTRACE_CONT, th->tid, 0, (void *)(intptr_t)sig) < 0)
			return INJ_GONE;
		ret = inj_thread_await_stop(t, th->tid, patient, &status);
	}
	th->runs = ret == INJ_SYSTEM;
	th->halted = ret == INJ_OK && WSTOPSIG(status) != SIGTRAP;
	return ret;
}

/* ---- system calls that are interrupted ---- */

/* Those that have done nothing when they return EINTR. */
static bool does_nothing_on_eintr(uint64_t nr)
{
	static const long numbers[] = {
		SYS_epoll_wait, SYS_epoll_pwait, 441 /* epoll_pwait2 */, SYS_semop, SYS_semtimedop, SYS_rt_sigtimedwait,
		SYS_io_getevents, SYS_read, SYS_readv, SYS_write, SYS_writev, SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg,
		SYS_sendto, SYS_sendmsg, SYS_sendmmsg, SYS_accept, SYS_accept4, SYS_connect, SYS_msgrcv, SYS_msgsnd, SYS_futex,
		426 /* io_uring_enter */,
	};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (nr == (uint64_t)numbers[i])
			return true;
	return false;
}

/* If a signal's handler is to run nevertheless, the call returns EINTR. */
static void repeat_interrupted(struct inj_thread *th)
{
	if ((int64_t)th->regs.rax != -EINTR || !does_nothing_on_eintr(th->regs.orig_rax))
		return;
	th->regs.rax = (uint64_t)-RESTART_NO_HANDLER;
	th->changed = true;
}

bool inj_thread_repeats(const struct inj_thread *th)
{
	int64_t error = -(int64_t)th->regs.rax;

	return (int64_t)th->regs.orig_rax >= 0 && (error == RESTART_SYS || error == RESTART_NO_INTR ||
						   error == RESTART_NO_HANDLER || error == RESTART_BLOCK);
}

const uint8_t inj_syscall_insn[INJ_SYSCALL_LEN] = { 0x0f, 0x05 };

uint64_t inj_thread_pc(const struct inj_thread *th)
{
	return inj_thread_repeats(th) ? th->regs.rip - INJ_SYSCALL_LEN : th->regs.rip;
}

void inj_thread_move(struct inj_thread *th, uint64_t pc)
{
	th->regs.rip = inj_thread_repeats(th) ? pc + INJ_SYSCALL_LEN : pc;
	th->changed = true;
}

/* ---- stopping ---- */

static bool is_known(const struct inj_threads *t, pid_t tid)
{
	for (size_t i = t->n; i-- > 0;)
		if (t->v[i].tid == tid)
			return true;
	return false;
}

/* Adds it, on its way to stop.  A thread that is gone is not added. */
static enum inj_status seize(struct inj_threads *t, pid_t tid)
{
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct inj_thread *v = realloc(t->v, room * sizeof(*v));

		if (!v)
			return INJ_MEMORY;
		t->v = v;
		t->room = room;
	}
	if (ptrace(PTRACE_SEIZE, tid, 0, OPTIONS) < 0) {
		int saved = errno;

		if (saved == ESRCH || has_ended(t->pid, tid))
			return INJ_OK;
		if (is_kernels(t->pid, tid)) {
			t->v[t->n++] = (struct inj_thread){ .tid = tid, .gone = true, .kernels = true };
			return INJ_OK;
		}
		errno = t->seize_errno = saved;
		return INJ_SYSTEM;
	}
	t->v[t->n++] = (struct inj_thread){ .tid = tid, .runs = true };
	ptrace(PTRACE_INTERRUPT, tid, 0, 0);
	return INJ_OK;
}

static bool has_any(const struct inj_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].kernels)
			return true;
	return false;
}

static enum inj_status seize_some(struct inj_threads *t, bool one, bool last_choice)
{
	enum inj_status status = INJ_OK;
	struct dirent *e;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT || errno == ESRCH ? INJ_GONE : INJ_SYSTEM;
	while (status == INJ_OK && (e = readdir(dir)) && !(one && has_any(t))) {
		pid_t tid = atoi(e->d_name);

		/* any other than one that waits in the kernel, perhaps for a child of vfork() */
		if (tid > 0 && !is_known(t, tid) && !(one && !last_choice && inj_thread_state(t->pid, tid) == 'D'))
			status = seize(t, tid);
	}
	closedir(dir);
	return status;
}

static enum inj_status seize_new(struct inj_threads *t, pid_t which)
{
	bool one = which == INJ_ANY_THREAD;
	enum inj_status status;

	if (which > 0)
		return t->n ? INJ_OK : seize(t, which);
	status = seize_some(t, one, false);

	return status == INJ_OK && one && !has_any(t) ? seize_some(t, one, true) : status;
}

/* Some kernels permit PTRACE_SEIZE.  A worker has neither an instruction nor a stack of the program's (copy_thread() in arch/x86/kernel/process.c). */
static bool is_worker(const struct user_regs_struct *regs)
{
	return !regs->rip && !regs->rsp;
}

static void leave_to_kernel(struct inj_thread *th)
{
	ptrace(PTRACE_DETACH, th->tid, 0, 0);
	th->gone = th->kernels = true;
}

static enum inj_status await_thread(const struct inj_threads *t, struct inj_thread *th, bool patient)
{
	enum inj_status status = await_interrupt(t, th, patient);

	if (status == INJ_OK && ptrace(PTRACE_GETREGS, th->tid, 0, &th->regs) < 0)
		status = INJ_GONE;
	th->gone = status == INJ_GONE;
	if (status == INJ_OK && is_worker(&th->regs))
		leave_to_kernel(th);
	else if (status == INJ_OK)
		repeat_interrupted(th);
	return status == INJ_GONE ? INJ_OK : status;
}

/* A list that is read while threads come and go may leave some out. */
static bool are_all_known(const struct inj_threads *t)
{
	long long n = inj_process_status(t->pid, "Threads", 10);

	for (size_t i = 0; i < t->n; i++)
		n -= !t->v[i].gone || (t->v[i].kernels && !has_ended(t->pid, t->v[i].tid));
	return n <= 0 || (n == 1 && has_ended(t->pid, t->pid));
}

/* New ones appear as long as any runs that is not known. */
static enum inj_status stop_all(struct inj_threads *t, pid_t which)
{
	bool one = which != INJ_ALL_THREADS;
	enum inj_status status = INJ_OK;
	size_t stopped = 0;
	int looks = 0;

	do {
		status = seize_new(t, which);
		if (status == INJ_OK && stopped == t->n && (one || are_all_known(t) || ++looks == LOOKS))
			return INJ_OK;
		for (; stopped < t->n && status == INJ_OK; stopped++)
			if (!t->v[stopped].kernels)
				status = await_thread(t, &t->v[stopped], false);
	} while (status == INJ_OK && !one);
	return status;
}

/* One that waits in the kernel for time to pass is the last choice: what it waits for is noted elsewhere, in the kernel. */
bool inj_threads_choose_caller(struct inj_threads *t)
{
	bool any = false;

	for (size_t i = 0; i < t->n; i++) {
		const struct inj_thread *th = &t->v[i];

		if (th->gone)
			continue;
		if (!any)
			t->caller = i;
		any = true;
		if (!inj_thread_repeats(th) && !th->halted) {
			t->caller = i;
			break;
		}
	}
	return any;
}

/* The vDSO is the same image in every process of a kernel (of one bitness). */
static enum inj_status find_syscall(struct inj_threads *t)
{
	const uint8_t *ours = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	uint64_t vdso = inj_auxv(t->pid, AT_SYSINFO_EHDR);
	uint8_t bytes[INJ_SYSCALL_LEN];

	for (uint64_t i = 0; vdso && ours && i < 4095; i++) {
		if (memcmp(ours + i, inj_syscall_insn, INJ_SYSCALL_LEN) != 0)
			continue;
		if (inj_read(&t->target, vdso + i, bytes, sizeof(bytes)) != INJ_OK ||
		    memcmp(bytes, inj_syscall_insn, INJ_SYSCALL_LEN) != 0)
			continue;
		t->syscall_insn = vdso + i;
		return INJ_OK;
	}
	return INJ_NOT_SUPPORTED;
}

static enum inj_status stop(struct inj_threads *t, pid_t pid, pid_t which, const struct inj_patience *p)
{
	enum inj_status status;
	int saved;

	*t = (struct inj_threads){ .pid = pid, .patience = p };
	status = inj_target_open(&t->target, pid);
	if (status != INJ_OK)
		return status;
	t->target.syscall = inj_threads_call;
	t->target.arg = t;
	status = find_syscall(t);
	if (status == INJ_OK)
		status = stop_all(t, which);
	if (status == INJ_OK && !inj_threads_choose_caller(t))
		status = INJ_GONE;
	if (status == INJ_OK)
		return INJ_OK;
	saved = errno;
	inj_threads_go(t);
	errno = saved;
	return status;
}

enum inj_status inj_threads_stop(struct inj_threads *t, pid_t pid, pid_t which)
{
	return stop(t, pid, which, NULL);
}

enum inj_status inj_threads_stop_soon(struct inj_threads *t, pid_t pid, const struct inj_patience *p)
{
	return stop(t, pid, INJ_ALL_THREADS, p);
}

/* ---- letting go ---- */

/*
 * Whether a system call is to be repeated is looked at on the way from a stop for a signal to the program, but not on the
 * way from that of a system call's exit: the thread has to be stopped once more.
 */
static void give_back(const struct inj_threads *t, struct inj_thread *th)
{
	if (inj_thread_set_regs(th, &th->regs) != INJ_OK)
		return;
	th->changed = false;
	ptrace(PTRACE_INTERRUPT, th->tid, 0, 0);
	if (ptrace(PTRACE_CONT, th->tid, 0, 0) == 0 && await_interrupt(t, th, false) == INJ_OK)
		ptrace(PTRACE_SETSIGMASK, th->tid, (void *)sizeof(th->mask), &th->mask);
}

/* One that has not been seen to stop is interrupted still: it cannot be detached before it has, nor go on as if nothing had happened. */
static void let_go(const struct inj_threads *t, struct inj_thread *th)
{
	if (th->runs)
		(void)!await_thread(t, th, t->patience != NULL);
	if (th->gone)
		return;
	if (th->borrowed)
		give_back(t, th);
	if (th->changed)
		(void)!inj_thread_set_regs(th, &th->regs);
	ptrace(PTRACE_DETACH, th->tid, 0, 0);
}

void inj_threads_go(struct inj_threads *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (!t->v[i].runs)
			let_go(t, &t->v[i]);
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].runs)
			let_go(t, &t->v[i]);
	inj_target_close(&t->target);
	free(t->v);
	t->v = NULL;
	t->n = t->room = 0;
}

/* ---- one at a time ---- */

static enum inj_status borrowed_call(struct inj_target *target, long nr, const uint64_t args[6], int64_t *result)
{
	struct inj_threads t;
	enum inj_status status = inj_threads_stop(&t, target->pid, INJ_ANY_THREAD);
	int saved;

	if (status != INJ_OK)
		return status;
	status = inj_threads_call(&t.target, nr, args, result);
	saved = errno;
	inj_threads_go(&t);
	errno = saved;
	return status;
}

enum inj_status inj_borrow_open(struct inj_target *t, pid_t pid)
{
	enum inj_status status = inj_target_open(t, pid);

	t->syscall = borrowed_call;
	return status;
}
