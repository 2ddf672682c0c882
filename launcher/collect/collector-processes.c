// SPDX-License-Identifier: GPL-3.0-or-later
/* The processes whose threads have rings: who they are, and how they ended. */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launcher/collect/collector-private.h"
#include "launcher/common/proc.h"

uint32_t collector_namespace(void)
{
	static uint32_t inode;
	struct stat st;

	if (!inode && stat("/proc/self/ns/pid", &st) == 0)
		inode = (uint32_t)st.st_ino;
	return inode;
}

/* A process of another PID namespace has a number that means somebody else here: leave it alone. */
static struct process watch(pid_t pid, uint32_t ns)
{
	struct process p = { .pid = pid, .pidfd = -1, .mem = -1, .cpu = -1 };

	if (ns == 0 || ns != collector_namespace())
		return p;
	p.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	p.dead = p.pidfd < 0 && errno == ESRCH;
	return p;
}

void collector_add_process(struct collector *c, pid_t pid, uint32_t ns)
{
	struct proc_stat stat;
	struct process *v;
	char comm[32];

	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pid == pid && !c->processes[i].gone)
			return;
	v = realloc(c->processes, (c->nprocesses + 1) * sizeof(*v));
	if (!v)
		return;
	c->processes = v;
	v[c->nprocesses++] = watch(pid, ns);
	proc_comm(pid, pid, comm, sizeof(comm));
	proc_stat(pid, &stat);
	collector_check(c, tf_writer_process(c->writer, pid, stat.parent, comm[0] ? comm : NULL));
}

int collector_process_memory(struct collector *c, pid_t pid, uint32_t ns)
{
	for (size_t i = 0; i < c->nprocesses && c->mem_bytes && ns == collector_namespace(); i++) {
		struct process *p = &c->processes[i];

		if (p->pid != pid || p->gone)
			continue;
		if (p->mem < 0)
			p->mem = sampler_open(pid, c->fd);
		return p->mem;
	}
	return -1;
}

/* A process that is dead, a zombie too, makes its pidfd readable. */
static bool has_ended(const struct process *p)
{
	struct pollfd fd = { .fd = p->pidfd, .events = POLLIN };

	if (p->dead || p->executed)
		return true;
	return p->pidfd >= 0 && poll(&fd, 1, 0) == 1 && (fd.revents & POLLIN);
}

void collector_free_mail(struct collector *c)
{
	struct ring_mail *m = &c->control->mail;
	int32_t holder = atomic_load(&m->holder);

	if (!holder || c->exec_waits || kill(holder, 0) == 0 || errno != ESRCH)
		return;
	atomic_store_explicit(&m->state, RING_MAIL_IDLE, memory_order_release);
	if (atomic_compare_exchange_strong(&m->holder, &holder, 0))
		collector_wake((_Atomic uint32_t *)&m->holder);
}

void collector_process_executed(struct collector *c, pid_t pid)
{
	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pid == pid && !c->processes[i].gone)
			c->processes[i].executed = true;
}

/* Linux 6.15 tells of a process how it ended, whoever has asked before (PIDFD_GET_INFO in linux/pidfd.h). */
struct ended {
	uint64_t mask, cgroup;
	uint32_t ids[11];
	int32_t status;
};

#define ENDED_STATUS 8u /* in mask */
#define ENDED_ASK _IOWR(0xff, 11, struct ended)

static bool status_by_pidfd(int pidfd, int *status)
{
	struct ended info = { .mask = ENDED_STATUS };

	if (pidfd < 0 || ioctl(pidfd, ENDED_ASK, &info) < 0 || !(info.mask & ENDED_STATUS))
		return false;
	*status = info.status;
	return true;
}

/* What its parent has not asked for yet, or is just being given (X): the pidfd has it from the moment on when /proc has not. */
static bool status_of_zombie(pid_t pid, int *status)
{
	struct proc_stat stat;

	if (!proc_stat(pid, &stat) || (stat.state != 'Z' && stat.state != 'X'))
		return false;
	*status = stat.status;
	return true;
}

bool collector_exit_status(pid_t pid, int pidfd, int *status)
{
	return status_of_zombie(pid, status) || status_by_pidfd(pidfd, status);
}

/* The program's end is reported to us; of others, what is not known is taken for a normal end. */
static bool was_killed(struct collector *c, const struct process *p)
{
	int status = 0;

	if (p->executed)
		return false;
	if (p->pid == c->program)
		return c->ended == PROGRAM_KILLED;
	if (!collector_exit_status(p->pid, p->pidfd, &status) || !WIFSIGNALED(status))
		return false;
	collector_check(c, tf_writer_process_end(c->writer, p->pid, status));
	return true;
}

/*
 * Where the first thread of a process ends while all are to be stopped, it is we who learn when the others have ended, too, and
 * only when we have taken notice is the parent.  Not before: a thread that has stopped is waited for elsewhere.
 */
static void take_notice(const struct collector *c, const struct process *p)
{
	if (c->windows && !p->gone && has_ended(p))
		(void)!waitpid(p->pid, NULL, __WALL | WNOHANG);
}

void collector_reap(struct collector *c, void (*finish)(struct collector *c, pid_t pid, bool killed))
{
	for (size_t k = 0; k < c->nprocesses; k++) {
		struct process *p = &c->processes[k];
		bool runs;

		take_notice(c, p);
		runs = p->pid == c->program && !p->executed ? c->ended == PROGRAM_RUNS : !has_ended(p);
		if (p->gone || runs)
			continue;
		p->gone = true;
		finish(c, p->pid, was_killed(c, p));
		if (p->pidfd >= 0)
			close(p->pidfd);
		if (p->mem >= 0)
			close(p->mem);
		p->pidfd = p->mem = -1;
	}
}

/* Of a process that still runs it is not known either. */
bool collector_no_end_of(struct collector *c, pid_t pid)
{
	for (size_t i = 0; i < c->nprocesses; i++)
		if (c->processes[i].pid == pid && !c->processes[i].gone)
			return !has_ended(&c->processes[i]) || was_killed(c, &c->processes[i]);
	return false;
}
