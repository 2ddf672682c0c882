/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread for each of the system calls that programs wait in. They wait until a line comes from standard input; then
 * what each call returned is printed: an EINTR would be one that nobody but a tracer is the reason for.
 *
 * usage: blocked [vfork | leader]	vfork: until another line comes, before, the main thread cannot be stopped
 *					leader: it ends when a line comes, slowly, and the process lasts until it is killed
 */
#define _GNU_SOURCE
#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opaque.h"

static volatile int over;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static sem_t semaphore;

struct wait {
	const char *name;
	long (*call)(struct wait *w);
	void (*wake)(struct wait *w);
	int fds[2];
	pthread_t thread;
	char result[64];
};

OPAQUE long work(long n)
{
	volatile long sum = 0;

	for (long i = 0; i < n; i++)
		sum += i;
	return sum;
}

static void wake_fd(struct wait *w)
{
	(void)!write(w->fds[1], "x", 1);
}

static long call_read(struct wait *w)
{
	char c;

	return read(w->fds[0], &c, 1);
}

static long call_recv(struct wait *w)
{
	struct timeval limit = { .tv_sec = 1000 };
	char c;

	setsockopt(w->fds[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	return recv(w->fds[0], &c, 1, 0);
}

static long call_poll(struct wait *w)
{
	struct pollfd p = { .fd = w->fds[0], .events = POLLIN };

	return poll(&p, 1, 1000000);
}

static long call_ppoll(struct wait *w)
{
	struct pollfd p = { .fd = w->fds[0], .events = POLLIN };
	sigset_t none;

	sigfillset(&none);
	return ppoll(&p, 1, NULL, &none);
}

static long call_select(struct wait *w)
{
	fd_set set;

	FD_ZERO(&set);
	FD_SET(w->fds[0], &set);
	return select(w->fds[0] + 1, &set, NULL, NULL, NULL);
}

static long call_epoll(struct wait *w)
{
	struct epoll_event e = { .events = EPOLLIN };
	int fd = epoll_create1(0);
	long n;

	epoll_ctl(fd, EPOLL_CTL_ADD, w->fds[0], &e);
	n = epoll_wait(fd, &e, 1, -1);
	close(fd);
	return n;
}

/* many short ones: each lasts as long as it is to, at least */
static long call_nanosleep(struct wait *w)
{
	long bad = 0;

	(void)w;
	while (!over) {
		struct timespec a, b, nap = { .tv_nsec = 7000000 };

		clock_gettime(CLOCK_MONOTONIC, &a);
		bad += nanosleep(&nap, NULL) != 0;
		clock_gettime(CLOCK_MONOTONIC, &b);
		bad += (b.tv_sec - a.tv_sec) * 1000000000L + b.tv_nsec - a.tv_nsec < 7000000;
	}
	return bad;
}

static long call_futex(struct wait *w)
{
	(void)w;
	pthread_mutex_lock(&mutex);
	while (!over)
		pthread_cond_wait(&condition, &mutex);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static void wake_futex(struct wait *w)
{
	(void)w;
	pthread_mutex_lock(&mutex);
	pthread_cond_broadcast(&condition);
	pthread_mutex_unlock(&mutex);
}

static long call_semaphore(struct wait *w)
{
	struct timespec end;

	(void)w;
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 1000;
	return sem_timedwait(&semaphore, &end);
}

static void wake_semaphore(struct wait *w)
{
	(void)w;
	sem_post(&semaphore);
}

static long call_semop(struct wait *w)
{
	struct sembuf op = { .sem_op = -1 };

	return semop(w->fds[0], &op, 1);
}

static void wake_semop(struct wait *w)
{
	struct sembuf op = { .sem_op = 1 };

	semop(w->fds[0], &op, 1);
}

static long call_sigwait(struct wait *w)
{
	struct timespec limit = { .tv_sec = 1000 };
	sigset_t set;

	(void)w;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &limit);
}

static void wake_sigwait(struct wait *w)
{
	pthread_kill(w->thread, SIGUSR1);
}

/* For what is read through it; where that is not to be had, a read. */
static long call_ring(struct wait *w)
{
	struct io_uring_params p;
	struct io_uring_sqe *e;
	unsigned *ring;
	int fd;
	char c;

	memset(&p, 0, sizeof(p));
	fd = (int)syscall(SYS_io_uring_setup, 1, &p);
	if (fd < 0)
		return call_read(w);
	ring = mmap(NULL, p.sq_off.array + sizeof(*ring), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQ_RING);
	e = mmap(NULL, sizeof(*e), PROT_READ | PROT_WRITE, MAP_SHARED, fd, IORING_OFF_SQES);
	e->opcode = IORING_OP_READ;
	e->flags = IOSQE_ASYNC; /* by a thread of the kernel's */
	e->fd = w->fds[0];
	e->addr = (unsigned long)&c;
	e->len = 1;
	ring[p.sq_off.array / sizeof(*ring)] = 0;
	__atomic_store_n(&ring[p.sq_off.tail / sizeof(*ring)], 1, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, fd, 1, 0, 0, NULL, 0) != 1)
		return 0;
	return syscall(SYS_io_uring_enter, fd, 0, 1, IORING_ENTER_GETEVENTS, NULL, 0);
}

static long call_loop(struct wait *w)
{
	(void)w;
	while (!over)
		work(1000);
	return 0;
}

static void wake_none(struct wait *w)
{
	(void)w;
}

static struct wait waits[] = {
	{ .name = "read", .call = call_read, .wake = wake_fd },
	{ .name = "recv", .call = call_recv, .wake = wake_fd },
	{ .name = "poll", .call = call_poll, .wake = wake_fd },
	{ .name = "ppoll", .call = call_ppoll, .wake = wake_fd },
	{ .name = "select", .call = call_select, .wake = wake_fd },
	{ .name = "epoll_wait", .call = call_epoll, .wake = wake_fd },
	{ .name = "nanosleep", .call = call_nanosleep, .wake = wake_none },
	{ .name = "futex", .call = call_futex, .wake = wake_futex },
	{ .name = "semaphore", .call = call_semaphore, .wake = wake_semaphore },
	{ .name = "semop", .call = call_semop, .wake = wake_semop },
	{ .name = "sigtimedwait", .call = call_sigwait, .wake = wake_sigwait },
	{ .name = "io_uring", .call = call_ring, .wake = wake_fd },
	{ .name = "loop", .call = call_loop, .wake = wake_none },
};

#define WAITS (sizeof(waits) / sizeof(waits[0]))

static void *run(void *arg)
{
	struct wait *w = arg;
	long result = w->call(w);

	if (result < 0)
		snprintf(w->result, sizeof(w->result), "%s", strerror(errno));
	else
		snprintf(w->result, sizeof(w->result), "%ld", result);
	return NULL;
}

/* The parent waits in the kernel until the child ends. */
static void wait_for_child(void)
{
	char c;

	if (vfork() == 0)
		_exit(read(STDIN_FILENO, &c, 1) != 1);
}

/* Its descriptors are its own, and many. */
static void end_slowly(void)
{
	struct rlimit most;
	char c;

	getrlimit(RLIMIT_NOFILE, &most);
	most.rlim_cur = most.rlim_max;
	setrlimit(RLIMIT_NOFILE, &most);
	(void)!unshare(CLONE_FILES);
	while (dup(STDIN_FILENO) >= 0)
		;
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	(void)!read(STDIN_FILENO, &c, 1);
	syscall(SYS_exit, 0);
}

int main(int argc, char **argv)
{
	sigset_t set;
	char c;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sem_init(&semaphore, 0, 0);
	for (size_t i = 0; i < WAITS; i++) {
		struct wait *w = &waits[i];

		if (w->call == call_semop)
			w->fds[0] = semget(IPC_PRIVATE, 1, 0600);
		else if (w->wake == wake_fd)
			(void)!socketpair(AF_UNIX, SOCK_STREAM, 0, w->fds);
		pthread_create(&w->thread, NULL, run, w);
	}
	if (argc > 1 && strcmp(argv[1], "leader") == 0)
		end_slowly();
	(void)!write(STDOUT_FILENO, "ready\n", 6);
	if (argc > 1 && strcmp(argv[1], "vfork") == 0)
		wait_for_child();
	if (read(STDIN_FILENO, &c, 1) != 1)
		puts("no line");
	over = 1;
	for (size_t i = 0; i < WAITS; i++) {
		waits[i].wake(&waits[i]);
		pthread_join(waits[i].thread, NULL);
		printf("%s: %s\n", waits[i].name, waits[i].result);
		if (waits[i].call == call_semop)
			semctl(waits[i].fds[0], 0, IPC_RMID);
	}
	return 0;
}
