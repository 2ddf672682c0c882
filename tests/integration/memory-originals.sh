# SPDX-License-Identifier: GPL-3.0-or-later
# By overhead, the program's own code runs between bursts: all threads are stopped for that, wherever they are, again and again.  The program
# does not notice.  That what is recorded is right is compared in memory-sample.sh.
. "$top_srcdir/tests/integration/lib.sh"
need_program bursts
need_ptrace

cat >busy.c <<'END'
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static volatile unsigned long cells[256];

/* Calls, a loop without any, a switch, all of which access memory. */
__attribute__((noinline)) static unsigned long leaf(unsigned long v)
{
	cells[v % 256] += v;
	return v * 6364136223846793005u + 1442695040888963407u;
}

__attribute__((noinline)) static unsigned long loop(unsigned long v)
{
	unsigned char text[64];

	for (int i = 0; i < 64; i++)
		text[i] = (unsigned char)(v >> i % 8);
	for (int i = 0; i < 640; i++)
		v += text[i % 64] ^ v << 1;
	return v;
}

__attribute__((noinline)) static unsigned long work(unsigned long v, long n)
{
	for (long i = 0; i < n; i++)
		switch (v >> 60) {
		case 0: case 1: v = loop(leaf(v)); break;
		case 2: v = leaf(leaf(v)) + 1; break;
		case 3: v ^= leaf(v); break;
		default: v = leaf(v) ^ (unsigned long)i; break;
		}
	return v;
}

/* ---- system calls that must not be seen to be interrupted ---- */

static _Atomic int interrupted;
static int ready[2], sems;

static void *waits_epoll(void *arg)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);

	(void)arg;
	epoll_ctl(fd, EPOLL_CTL_ADD, ready[0], &e);
	interrupted += epoll_wait(fd, &e, 1, 60000) != 1;
	return NULL;
}

static void *waits_signal(void *arg)
{
	struct timespec t = { .tv_sec = 60 };
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	interrupted += sigtimedwait(&set, NULL, &t) != SIGUSR2;
	return NULL;
}

static void *waits_sem(void *arg)
{
	struct sembuf op = { .sem_op = -1 };

	(void)arg;
	interrupted += semop(sems, &op, 1) != 0;
	return NULL;
}

static void *sleeps(void *arg)
{
	struct timespec t = { .tv_nsec = 5000000 };

	(void)arg;
	for (int i = 0; i < 20; i++)
		interrupted += nanosleep(&t, NULL) != 0;
	return NULL;
}

static void waits(void)
{
	void *(*const fns[])(void *) = { waits_epoll, waits_signal, waits_sem, sleeps };
	struct sembuf op = { .sem_op = 1 };
	pthread_t t[4];
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (pipe(ready) < 0 || (sems = semget(IPC_PRIVATE, 1, 0600)) < 0)
		exit(3);
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, fns[i], NULL);
	printf("%lu\n", work(1, 6000000));
	semop(sems, &op, 1);
	pthread_kill(t[1], SIGUSR2);
	if (write(ready[1], "x", 1) != 1)
		exit(3);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	semctl(sems, 0, IPC_RMID);
	printf("%d interrupted\n", interrupted);
}

/* ---- signals ---- */

static volatile sig_atomic_t ticks;
static sigjmp_buf top;
static volatile int may_jump;

static void tick(int sig)
{
	ticks++;
	cells[255] += work(ticks, 20);
	if (sig == SIGALRM && ticks % 16 == 0)
		raise(SIGUSR1);
	if (may_jump && ticks % 5 == 0) {
		may_jump = 0;
		siglongjmp(top, 1);
	}
}

static void signals(void)
{
	struct itimerval every = { { 0, 700 }, { 0, 700 } }, never = { 0 };
	struct sigaction a = { .sa_handler = tick };
	volatile int jumps = 0;
	unsigned long v = 1;

	sigaction(SIGALRM, &a, NULL);
	sigaction(SIGUSR1, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	for (int i = 0; i < 120; i++)
		v = work(v, 40000);
	printf("%lu\n", v);
	while (jumps < 20) {
		jumps += sigsetjmp(top, 1);
		may_jump = jumps < 20;
		while (may_jump)
			(void)work(3, 1000);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	printf("%d jumps, %d\n", jumps, ticks > 20);
}

/* A handler comes first, and then the call that the thread was stopped in has been interrupted. */
static volatile int worked;

static void count_tick(int sig)
{
	ticks += sig == SIGALRM;
}

static void *works(void *arg)
{
	for (int i = 0; i < 60; i++)
		arg = (void *)work((unsigned long)arg, 100000);
	worked = 1;
	return arg;
}

static void woken(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction a = { .sa_handler = count_tick };
	struct timespec long_time = { .tv_sec = 60 };
	sigset_t set;
	void *value;
	pthread_t t;
	int slept = 0;

	sigaction(SIGALRM, &a, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGALRM);
	sigprocmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, works, (void *)1);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	while (!worked)
		slept += nanosleep(&long_time, NULL) == 0;
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	pthread_join(t, &value);
	printf("%lu, slept %d times\n", (unsigned long)value, slept);
}

/* ---- threads that come and go, and contexts ---- */

static void *thread(void *arg)
{
	return (void *)work((unsigned long)arg, 60000);
}

static ucontext_t contexts[3];
static unsigned long sums[2];

static void context(int k)
{
	for (;;) {
		sums[k] = work(sums[k] + 1, 3000);
		swapcontext(&contexts[k], &contexts[k ? 2 : 1]);
	}
}

static void threads(void)
{
	static char stacks[2][262144];
	unsigned long sum = 0;

	for (int k = 0; k < 2; k++) {
		getcontext(&contexts[k]);
		contexts[k].uc_stack.ss_sp = stacks[k];
		contexts[k].uc_stack.ss_size = sizeof(stacks[k]);
		makecontext(&contexts[k], (void (*)(void))context, 1, k);
	}
	for (int i = 0; i < 40; i++) {
		pthread_t t[3];
		void *value;

		for (unsigned long k = 0; k < 3; k++)
			pthread_create(&t[k], NULL, thread, (void *)(k + 3 * (unsigned long)i));
		swapcontext(&contexts[2], &contexts[0]);
		for (int k = 0; k < 3; k++) {
			pthread_join(t[k], &value);
			sum += (unsigned long)value;
		}
	}
	printf("%lu %lu %lu\n", sum, sums[0], sums[1]);
}

/* The first thread ends long before the others, and takes its time: all those descriptors are its own. */
static void *stays(void *arg)
{
	unsigned long v = (unsigned long)arg;

	for (int i = 0; i < 60; i++)
		v = work(v, 100000);
	printf("%lu\n", v);
	exit(0);
}

static void leader(void)
{
	struct rlimit limit;
	pthread_t t;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max < 400000 ? limit.rlim_max : 400000;
	setrlimit(RLIMIT_NOFILE, &limit);
	while (dup(1) >= 0)
		;
	pthread_create(&t, NULL, stays, (void *)1);
	(void)work(1, 300000);
	if (unshare(CLONE_FILES) < 0)
		exit(3);
	syscall(SYS_exit, 0);
}

/* ---- processes ---- */

static void spawns(void)
{
	char *const argv[] = { "true", NULL };
	unsigned long v = 1;
	int status, sum = 0;
	pid_t pid;

	for (int i = 0; i < 40; i++) {
		v = work(v, 100000);
		if (i % 2 == 0 && posix_spawnp(&pid, "true", NULL, NULL, argv, NULL) != 0)
			exit(3);
		if (i % 2 && (pid = vfork()) == 0) {
			execlp("false", "false", (char *)NULL);
			_exit(9);
		}
		waitpid(pid, &status, 0);
		sum += status;
	}
	printf("%lu %d\n", v, sum);
}

static void forks(void)
{
	unsigned long v = work(1, 1500000);
	int status, sum = 0;

	for (int i = 0; i < 6; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit((int)(work(v + (unsigned long)i, 4000000) % 100));
		waitpid(pid, &status, 0);
		sum = 7 * sum + status;
	}
	printf("%lu %d\n", v, sum);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} all[] = { { "waits", waits }, { "signals", signals }, { "threads", threads }, { "leader", leader }, { "woken", woken }, { "spawns", spawns }, { "forks", forks } };

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (argc > 1 && strcmp(argv[1], all[i].name) == 0)
			all[i].run();
	return argc;
}
END
"$CC" -O2 -w -pthread -o busy busy.c || fail "$CC"

# switches: how often, in the first program of trace t
switches()
{
	grep '"type":"sampled"' t/metadata | tail -n 1 | sed -n 's/.*"switches":\([0-9]*\).*/\1/p'
}

# ---- it is done, and what is said of it ----

# recorded HOW: one run; false where the machine was too busy for more than two switches
recorded()
{
	same_run -q --mem --overhead=50% -o t -- ./busy "$1"
	sonde info t >info.txt
	check_contains info.txt '^state  *intact$'
	n=$(switches)
	[ "${n:-0}" -ge 3 ]
}

for how in waits signals threads leader spawns; do
	recorded $how || grep -q 'since Yama' info.txt || recorded $how || recorded $how || {
		show info.txt
		fail "$how: ${n:-no} switches"
	}
	! grep -q 'since Yama' info.txt || skip "Yama restricts who may trace"
	check_contains info.txt "^  *[0-9.]* s of it is Sonde's to switch $n times? between its copies and the program's own code\$"
	! grep -q '"stay"' t/metadata || { show info.txt; fail "$how: it was not always done"; }
	bursts=$(awk '$1 == "sampled" { print $2 }' info.txt)
	[ "$bursts" -ge 2 ] || { show info.txt; fail "$how: $bursts bursts"; }
done

# with functions of the C library, in which they wait
for how in waits signals woken; do
	same_run -q --mem --libs --overhead=50% -o t -- ./busy $how
	sonde info t >info.txt
	check_contains info.txt '^state  *intact$'
done

# ---- and where it is not ----

# children are recorded, all of them
same_run -q --mem --overhead=20% -o t -- ./busy forks
sonde info t >info.txt
check_contains info.txt '^  *copies of code ran between bursts( later)?, since the program has forked$'
check_contains info.txt '^processes  *7$'

same_run -q --mem -F leaf,loop --overhead=20% -o t -- ./busy threads
sonde info t >info.txt
check_contains info.txt '^  *copies of code ran between bursts, since calls are recorded as well$'

# a debugger, or the like, has the program for some time
./busy signals >plain.out
command sonde -q --mem --overhead=20% -o t -- ./busy signals >out 2>err &
waiter=$!
victim=$(child_of $waiter busy)
[ -n "$victim" ] || fail "the program does not start"
if command -v strace >/dev/null; then
	timeout 0.3 strace -f -qq -o /dev/null -p "$victim" || :
fi
status=0
wait $waiter || status=$?
[ $status = 2 ] || { show err; fail "exit status $status with a debugger"; }
check_same plain.out out "output with a debugger"

# ---- without the recorder ----

./busy threads >plain.out
for round in 1 2; do
	command sonde -q --mem --overhead=50% -o t -- ./busy threads >out 2>err &
	waiter=$!
	victim=$(child_of $waiter busy)
	[ -n "$victim" ] || fail "the program does not start"
	recorder=$(pgrep -P $waiter -x sonde) || fail "nobody records"
	sleep 0.$round
	kill -KILL $recorder
	wait $waiter || :
	await 60 eval '! kill -0 $victim 2>/dev/null'
	check_same plain.out out "output without a recorder"
done
