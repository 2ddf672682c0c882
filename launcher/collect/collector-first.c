// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Functions that are called for the first time.  Who calls waits, and may take its request back, until code of the function is
 * about to be written over.  Which process asks is the program's word: only where all bytes are as they have to be is
 * anything written.
 */
#include <fcntl.h>
#include <linux/kcmp.h>
#include <linux/membarrier.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "injector/mirror/first.h"
#include "injector/process/procpath.h"
#include "launcher/collect/collector-private.h"

/* ---- who calls ---- */

static void close_caller(struct caller *k)
{
	if (k->mem >= 0)
		close(k->mem);
	if (k->status >= 0)
		close(k->status);
	*k = (struct caller){ .mem = -1, .status = -1 };
}

/* The least recently opened gives way, but not the program itself. */
static struct caller *new_caller(struct collector *c, pid_t pid)
{
	struct caller *k = &c->callers[pid == c->program ? 0 : 1 + c->next_caller++ % (COLLECTOR_CALLERS - 1)];
	char path[INJ_PROC_PATH];

	if (k->pid)
		close_caller(k);
	inj_proc_path(path, pid, "mem");
	*k = (struct caller){ .pid = pid, .mem = open(path, O_RDWR | O_CLOEXEC), .status = -1 };
	return k;
}

static struct caller *caller_of(struct collector *c, pid_t pid)
{
	for (int i = 0; i < COLLECTOR_CALLERS; i++)
		if (c->callers[i].pid == pid)
			return &c->callers[i];
	return new_caller(c, pid);
}

void collector_open_first(struct collector *c, pid_t pid)
{
	(void)caller_of(c, pid);
}

void collector_close_first(struct collector *c)
{
	for (int i = 0; i < COLLECTOR_CALLERS; i++)
		if (c->callers[i].pid)
			close_caller(&c->callers[i]);
}

/* What is said of a thread in /proc. */
struct said {
	bool filtered; /* a filter decides on its system calls; when that is not known, it may */
	bool alone;    /* nobody else runs the process's code */
};

static long number_of(const char *text, const char *key)
{
	const char *line = strstr(text, key);

	return line ? atol(line + strlen(key)) : -1;
}

static bool is_shared(const struct caller *k, pid_t other)
{
	return syscall(SYS_kcmp, k->pid, other, KCMP_VM, 0, 0) <= 0; /* or it cannot be told */
}

/* A child of vfork() is one thread, and so may be who waits for it; but others of that process run. */
static bool has_own_memory(struct caller *k, pid_t parent)
{
	if (!k->looked) {
		k->looked = true;
		k->own = parent > 0 && !is_shared(k, parent);
	}
	return k->own;
}

/* Threads of old C libraries are child processes. */
static bool shares_with_child(const struct caller *k)
{
	char path[64], text[1024], *at = text, *end;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)k->pid, (int)k->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;
	if (fd >= 0)
		close(fd);
	if (n < 0 || n == (ssize_t)sizeof(text) - 1)
		return true;
	text[n] = '\0';
	for (long child; (child = strtol(at, &end, 10)) > 0 && end != at; at = end)
		if (is_shared(k, (pid_t)child))
			return true;
	return false;
}

static struct said ask_proc(struct caller *k, pid_t tid)
{
	struct said said = { .filtered = true };
	char path[64], text[4096];
	ssize_t n;

	if (k->tid != tid) {
		if (k->status >= 0)
			close(k->status);
		snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)k->pid, (int)tid);
		k->status = open(path, O_RDONLY | O_CLOEXEC);
		k->tid = tid;
	}
	n = k->status >= 0 ? pread(k->status, text, sizeof(text) - 1, 0) : -1;
	if (n <= 0)
		return said;
	text[n] = '\0';
	said.filtered = number_of(text, "\nSeccomp:") > 0;
	said.alone = number_of(text, "\nThreads:") == 1 && has_own_memory(k, (pid_t)number_of(text, "\nPPid:")) &&
		     !shares_with_child(k);
	return said;
}

/* ---- the answer ---- */

/* From here on the request cannot be taken back. */
static bool begin(void *arg)
{
	struct collector *c = arg;
	uint32_t asked = RING_MAIL_ASKED;

	return atomic_compare_exchange_strong(&c->control->mail.state, &asked, RING_MAIL_WRITING);
}

static void answer(struct collector *c, int64_t result, bool filtered)
{
	struct ring_mail *m = &c->control->mail;

	if (atomic_load(&m->state) != RING_MAIL_WRITING && !begin(c))
		return;
	__atomic_store_n(&m->result, result, __ATOMIC_RELAXED);
	__atomic_store_n(&m->args[1], filtered, __ATOMIC_RELAXED);
	atomic_store(&m->state, RING_MAIL_DONE);
	collector_wake(&m->state);
}

static enum inj_status call(struct collector *c, const struct caller *k, uint64_t index, bool alone, uint64_t *to)
{
	struct inj_target target = { .pid = k->pid, .mem = k->mem, .syscall = collector_mail_syscall, .arg = c };

	*to = 0;
	if (k->mem < 0)
		return INJ_GONE;
	return index > UINT32_MAX ? INJ_OK : inj_first_call(c->session, &target, (uint32_t)index, alone, begin, c, to);
}

void collector_serve_first(struct collector *c, pid_t pid, pid_t tid)
{
	uint64_t index = __atomic_load_n(&c->control->mail.args[0], __ATOMIC_RELAXED), to;
	enum inj_status status;
	struct caller *k;
	struct said said;

	if (pid <= 0) {
		/* no process: the program has written over it */
		answer(c, RING_FIRST_LOST, false);
		return;
	}
	k = caller_of(c, pid);
	said = ask_proc(k, tid);
	status = call(c, k, index, said.alone, &to);
	/* its number was another process's before, or it was another program */
	if (status == INJ_GONE) {
		close_caller(k);
		k = new_caller(c, pid);
		said = ask_proc(k, tid);
		status = call(c, k, index, said.alone, &to);
	}
	if (status != INJ_OK)
		to = RING_FIRST_LOST;
	/* the program has been registered for this, too: all processors that run its threads */
	if (to > RING_FIRST_LOST && said.filtered)
		syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL_EXPEDITED, 0, 0);
	answer(c, (int64_t)to, to > RING_FIRST_LOST && said.filtered);
}

void collector_tell_first(struct collector *c)
{
	if (c->session && c->session->mirrors.news)
		collector_tell(c);
}
