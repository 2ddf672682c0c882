/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls 256 functions that have not been called before, in ways in which that is difficult; says how often it has called each, by
 * a sum.  firsts HOW:
 *
 *	threads		eight threads begin with the same ones at the same time
 *	forks		a thread calls them while children are forked; each of those calls all
 *	signals		a timer's handler calls them, whatever it interrupts
 *	start		they are called by a constructor
 *	filter		seccomp forbids membarrier(), by death
 *	stop		stops its tracer (FIRSTS_TRACER: its number), calls half of them, lets it go on, calls all
 *	kill		kills it, and calls all
 *	ways		tells where entries lead, and a call: of functions first called alone, beside a child that shares memory or a
 *			thread, and by a vforked child
 *	half		calls one of many pages, has the tracer killed when it has written over a part of it, looks at it
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "opaque.h"

#define THREADS 8
#define CHILDREN 40

static volatile int bound = 3;

OPAQUE int leaf(int n)
{
	HIDE(n);
	return n + 1;
}

/* A loop, calls, several exits: something to be led to a copy. */
#define ONE(name, k)                                    \
	OPAQUE long name(long n)                        \
	{                                               \
		long sum = k;                           \
							\
		for (int i = 0; i < bound; i++) {       \
			if (n < -i)                     \
				return leaf((int)n);    \
			sum += leaf((int)n) ^ (i * k);  \
		}                                       \
		return sum;                             \
	}
#define ROW(r)                                                                                  \
	ONE(first_##r##0, 0x##r##0) ONE(first_##r##1, 0x##r##1) ONE(first_##r##2, 0x##r##2)     \
	ONE(first_##r##3, 0x##r##3) ONE(first_##r##4, 0x##r##4) ONE(first_##r##5, 0x##r##5)     \
	ONE(first_##r##6, 0x##r##6) ONE(first_##r##7, 0x##r##7) ONE(first_##r##8, 0x##r##8)     \
	ONE(first_##r##9, 0x##r##9) ONE(first_##r##a, 0x##r##a) ONE(first_##r##b, 0x##r##b)     \
	ONE(first_##r##c, 0x##r##c) ONE(first_##r##d, 0x##r##d) ONE(first_##r##e, 0x##r##e)     \
	ONE(first_##r##f, 0x##r##f)
#define NAMES(r)                                                                               \
	first_##r##0, first_##r##1, first_##r##2, first_##r##3, first_##r##4, first_##r##5,    \
	first_##r##6, first_##r##7, first_##r##8, first_##r##9, first_##r##a, first_##r##b,    \
	first_##r##c, first_##r##d, first_##r##e, first_##r##f,
#define ALL(what) what(0) what(1) what(2) what(3) what(4) what(5) what(6) what(7) what(8) what(9) \
	what(a) what(b) what(c) what(d) what(e) what(f)

ALL(ROW)

static long (*const firsts[])(long) = { ALL(NAMES) };
#define MANY ((int)(sizeof(firsts) / sizeof(firsts[0])))

OPAQUE long call_some(int from, int to, long n)
{
	long sum = 0;

	for (int i = from; i < to; i++)
		sum = sum * 31 + firsts[i](n);
	return sum;
}

static pthread_barrier_t barrier;

static void *thread(void *arg)
{
	pthread_barrier_wait(&barrier);
	*(long *)arg = call_some(0, MANY, 5);
	return NULL;
}

static int threads(void)
{
	pthread_t t[THREADS];
	long sums[THREADS];

	pthread_barrier_init(&barrier, NULL, THREADS);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, thread, &sums[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		printf("%lx\n", sums[i]);
	}
	return 0;
}

static void *slowly(void *arg)
{
	for (int i = 0; i < MANY; i++) {
		*(long *)arg += firsts[i](5);
		usleep(200);
	}
	return NULL;
}

static int forks(void)
{
	int failed = 0, status;
	long sum = 0;
	pthread_t t;

	pthread_create(&t, NULL, slowly, &sum);
	for (int i = 0; i < CHILDREN; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(call_some(0, MANY, 5) & 0x7f);
		failed |= child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status);
		printf("%x\n", status);
	}
	pthread_join(t, NULL);
	printf("%lx %d\n", sum, failed);
	return failed;
}

static volatile sig_atomic_t handled;

static void handler(int sig)
{
	(void)sig;
	if (handled < MANY)
		call_some(handled, handled + 1, 5);
	handled++;
}

static int signals(void)
{
	struct sigaction act = { .sa_handler = handler, .sa_flags = SA_RESTART };
	struct itimerval every = { { 0, 500 }, { 0, 500 } }, never = { 0 };
	long sum;

	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	sum = call_some(0, MANY, 5);
	while (handled < MANY)
		pause();
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%lx\n", sum);
	return 0;
}

static long at_start;

__attribute__((constructor)) static void construct(void)
{
	if (getenv("FIRSTS_START"))
		at_start = call_some(0, MANY, 5);
}

static int filter(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return 77;
	printf("%lx\n", call_some(0, MANY, 5));
	return 0;
}

static pid_t tracer(void)
{
	const char *number = getenv("FIRSTS_TRACER");
	char text[32] = "";
	FILE *f;

	/* a file that somebody writes */
	while (number && !text[0]) {
		f = fopen(number, "r");
		if (f && !fgets(text, sizeof(text), f))
			text[0] = '\0';
		if (f)
			fclose(f);
		usleep(10000);
	}
	return (pid_t)atol(text);
}

/* Stopped, or dead. */
static bool is_still(pid_t pid, const char *tid)
{
	char path[64], line[512] = "";
	const char *after;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%s/stat", (int)pid, tid);
	f = fopen(path, "r");
	if (!f)
		return true;
	after = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return !after || !after[1] || strchr("TtZX", after[2]);
}

static bool are_still(pid_t pid)
{
	bool still = true;
	char path[40];
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && still && (e = readdir(dir)))
		still = e->d_name[0] == '.' || is_still(pid, e->d_name);
	if (dir)
		closedir(dir);
	return still;
}

static int without(int sig)
{
	pid_t pid = tracer();

	if (pid > 0)
		kill(pid, sig);
	while (pid > 0 && !are_still(pid))
		usleep(1000);
	printf("%lx\n", call_some(0, MANY / 2, 5));
	if (pid > 0 && sig == SIGSTOP)
		kill(pid, SIGCONT);
	usleep(50000);
	printf("%lx\n", call_some(0, MANY, 5));
	return 0;
}

/* ---- a tracer that is killed while it writes ---- */

#define WIDE 0x4000

OPAQUE long wide(long n)
{
	long sum = leaf((int)n);

	__asm__ volatile(".fill 0x4000, 1, 0x90");
	sum += leaf((int)sum);
	return sum + leaf((int)sum);
}

static bool follow_threads(pid_t pid)
{
	char path[40];
	bool any = false;
	struct dirent *e;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		pid_t tid = atoi(e->d_name);

		if (tid > 0 && ptrace(PTRACE_SEIZE, tid, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE) == 0) {
			ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
			any = true;
		}
	}
	if (dir)
		closedir(dir);
	return any;
}

/* @tid is about to write over the end of wide(). */
static bool writes_end(pid_t tid)
{
	struct user_regs_struct regs;

	return ptrace(PTRACE_GETREGS, tid, NULL, &regs) == 0 && regs.orig_rax == SYS_pwrite64 &&
	       regs.r10 - (uintptr_t)&wide - WIDE < 0x1000;
}

/* In a process of its own; *what* tells when it has begun. */
static void kill_halfway(pid_t pid, int what)
{
	int status;
	pid_t tid;

	if (!follow_threads(pid) || write(what, "", 1) != 1)
		_exit(1);
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		if (WIFSTOPPED(status) && WSTOPSIG(status) == (SIGTRAP | 0x80) && writes_end(tid)) {
			kill(pid, SIGKILL);
			_exit(0);
		}
		if (WIFSTOPPED(status))
			ptrace(PTRACE_SYSCALL, tid, NULL, 0);
	}
	_exit(1);
}

static int half(void)
{
	static uint8_t before[WIDE];
	pid_t pid = tracer(), killer;
	int fds[2], status = 0;
	char byte;

	memcpy(before, (const void *)&wide, WIDE);
	if (pid > 0) {
		if (pipe(fds) < 0 || (killer = fork()) < 0)
			return 1;
		if (killer == 0)
			kill_halfway(pid, fds[1]);
		close(fds[1]);
		if (read(fds[0], &byte, 1) != 1)
			return 77;
	}
	printf("%lx\n", wide(5));
	if (pid > 0)
		waitpid(killer, &status, 0);
	printf("%d %d\n", status, memcmp(before, (const void *)&wide, WIDE));
	return 0;
}

/* Where the jump at @code leads; NULL: there is none. */
static const uint8_t *led_to(const uint8_t *code)
{
	int32_t rel;

	HIDE(code); /* no address within the function is to be seen in the code */
	if (!memcmp(code, "\xf3\x0f\x1e\xfa", 4))
		code += 4;
	memcpy(&rel, code + 1, sizeof(rel));
	return *code == 0xe9 ? code + 5 + rel : NULL;
}

static void tell_way(const char *what, const void *function)
{
	const uint8_t *to = led_to(function);

	printf("%s: %s\n", what, !to ? "as it is" : to[0] == 0xff && to[1] == 0x25 ? "by a stub" : "straight");
}

/* Is one of the calls that @code begins with one of where @callee's entry leads? */
static bool calls_straight(const void *code, const void *callee)
{
	const uint8_t *at = code, *to = led_to(callee);
	int32_t rel;

	HIDE(at);
	for (int i = 0; i < 64; i++) {
		memcpy(&rel, at + i + 1, sizeof(rel));
		if (at[i] == 0xe8 && at + i + 5 + rel == to)
			return true;
	}
	return false;
}

static void *idle(void *arg)
{
	pause();
	return arg;
}

/* As threads were before the kernel had any. */
static int idle_child(void *arg)
{
	(void)arg;
	for (;;)
		syscall(SYS_pause);
}

static int ways(void)
{
	static _Alignas(16) char stack[16384];
	int status;
	pthread_t t;
	pid_t child;

	firsts[0](5);
	firsts[1](5);
	tell_way("alone", (const void *)firsts[0]);
	printf("calls: %s\n", calls_straight((const void *)firsts[1], (const void *)leaf) ? "straight" : "not straight");
	child = clone(idle_child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL);
	firsts[4](5);
	tell_way("beside a child", (const void *)firsts[4]);
	kill(child, SIGKILL);
	waitpid(child, &status, 0);
	pthread_create(&t, NULL, idle, NULL);
	firsts[2](5);
	tell_way("beside a thread", (const void *)firsts[2]);
	child = vfork();
	if (child == 0) {
		firsts[3](5);
		_exit(0);
	}
	waitpid(child, &status, 0);
	tell_way("child", (const void *)firsts[3]);
	return 0;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";

	if (!strcmp(how, "threads"))
		return threads();
	if (!strcmp(how, "forks"))
		return forks();
	if (!strcmp(how, "signals"))
		return signals();
	if (!strcmp(how, "filter"))
		return filter();
	if (!strcmp(how, "stop"))
		return without(SIGSTOP);
	if (!strcmp(how, "kill"))
		return without(SIGKILL);
	if (!strcmp(how, "half"))
		return half();
	if (!strcmp(how, "ways"))
		return ways();
	printf("%lx\n", at_start);
	return 0;
}
