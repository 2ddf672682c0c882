// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * beside WHAT [CALLS [THREADS]]: calls work(), which a module wraps, and looks whether the thread's own variables are what they were.
 *
 *	calls    CALLS calls
 *	threads  the same in waves of THREADS threads
 *	signals  while a timer expires every 100 us, whose handler calls work(), too
 *	jumps    of these handlers, some leave by siglongjmp()
 *	forks    children call it, one in a thread of many
 *	main     the main thread ends first, by pthread_exit()
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

long work(long n, long a, long b, long c, long d, long e, long f, long g, double x);

__attribute__((noipa)) long work(long n, long a, long b, long c, long d, long e, long f, long g, double x)
{
	__asm__ volatile("" : "+r"(n));
	return n + a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + (long)x;
}

/* Through a pointer: callers that a compiler knows may rely on more than the ABI says, and then it may not be wrapped. */
static long (*volatile work_at)(long, long, long, long, long, long, long, long, double) = work;
static __thread long own = 4711;
static long wrong, calls = 1000, nthreads = 4;
static volatile sig_atomic_t handled, may_jump;
static sigjmp_buf back;

static long call(long n)
{
	long sum;

	errno = (int)(n % 100 + 1);
	own = n;
	sum = work_at(n, 1, 2, 3, 4, 5, 6, 7, 8.5);
	if (errno != (int)(n % 100 + 1) || own != n || sum != n + 148)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
	return sum;
}

static void on_timer(int sig)
{
	int saved = errno;
	long was = own;

	(void)sig;
	handled++;
	own = -1;
	errno = ENOENT;
	if (work_at(1, 1, 1, 1, 1, 1, 1, 1, 1) != 30 || own != -1 || errno != ENOENT)
		wrong++;
	own = was;
	errno = saved;
	if (may_jump && handled % 50 == 0)
		siglongjmp(back, 1);
}

static void set_timer(long us)
{
	struct itimerval t = { { 0, us }, { 0, us } };
	struct sigaction sa;

	memset(&sa, 0, sizeof(sa));
	sa.sa_handler = on_timer;
	sa.sa_flags = SA_RESTART;
	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &t, NULL);
}

static void *run(void *arg)
{
	for (long i = 0; i < calls; i++)
		call(i);
	return arg;
}

static void wave(void)
{
	pthread_t v[64];

	for (long i = 0; i < nthreads && i < 64; i++)
		pthread_create(&v[i], NULL, run, NULL);
	for (long i = 0; i < nthreads && i < 64; i++)
		pthread_join(v[i], NULL);
}

static void child(void)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		run(NULL);
		_exit(wrong ? 1 : 0);
	}
	if (waitpid(pid, &status, 0) != pid || status)
		wrong++;
}

static void *child_of_thread(void *arg)
{
	run(NULL);
	child();
	return arg;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "calls";
	volatile long left;
	pthread_t t;

	if (argc > 2)
		calls = atol(argv[2]);
	if (argc > 3)
		nthreads = atol(argv[3]);
	left = calls;
	if (!strcmp(what, "calls")) {
		run(NULL);
	} else if (!strcmp(what, "threads")) {
		for (int i = 0; i < 5; i++)
			wave();
		run(NULL);
	} else if (!strcmp(what, "signals")) {
		set_timer(100);
		while (handled < calls || left-- > 0)
			call(left & 1023);
		set_timer(0);
	} else if (!strcmp(what, "jumps")) {
		may_jump = 1;
		sigsetjmp(back, 1);
		set_timer(100);
		while (handled < calls)
			call(handled);
		set_timer(0);
	} else if (!strcmp(what, "forks")) {
		run(NULL);
		child();
		pthread_create(&t, NULL, child_of_thread, NULL);
		pthread_join(t, NULL);
		run(NULL);
	} else if (!strcmp(what, "main")) {
		pthread_create(&t, NULL, child_of_thread, NULL);
		run(NULL);
		printf("%s: %s\n", what, wrong ? "wrong" : "right");
		pthread_exit(NULL);
	}
	printf("%s: %s\n", what, wrong ? "wrong" : "right");
	return wrong ? 1 : 3;
}
