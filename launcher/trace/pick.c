/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/trace/pick.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool thread_named(const struct sonde_trace_thread *thread, const char *name)
{
	char full[32], tid[16];

	snprintf(full, sizeof full, "%d.%d", thread->pid, thread->tid);
	snprintf(tid, sizeof tid, "%d", thread->tid);
	return !strcmp(name, full) || !strcmp(name, tid);
}

bool pick_thread(const struct sonde_trace_thread *thread, void *pick)
{
	const struct pick *p = pick;
	int rank = sonde_trace_rank(p->trace, thread->rank_index)->rank;

	if (p->rank != PICK_ANY_RANK && (rank < 0 || (uint64_t)rank != p->rank))
		return false;
	for (size_t i = 0; i < p->threads.n; i++)
		if (thread_named(thread, p->threads.v[i]))
			return true;
	return !p->threads.n;
}

int pick_check(struct pick *p)
{
	size_t n = sonde_trace_threads(p->trace);

	if (p->to < p->from) {
		msg_error("--to is before --from");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < n; i++)
		if (pick_thread(sonde_trace_thread(p->trace, i), p))
			return 0;
	if (p->threads.n)
		msg_error("no thread '%s' in this trace%s", p->threads.v[0],
			  p->rank == PICK_ANY_RANK ? "" : ", in this rank");
	else if (p->rank != PICK_ANY_RANK)
		msg_error("no thread of rank %llu in this trace", (unsigned long long)p->rank);
	else
		return 0;
	return EXIT_USAGE;
}


void pick_no_trace(const char *dir, const char *why)
{
	struct stat st;

	if (stat(dir, &st) == 0 && S_ISREG(st.st_mode) && (st.st_mode & 0111))
		msg_error("%s: a program, not a trace; `sonde -F '*' %s' records one of it", dir, dir);
	else if (stat(dir, &st) == 0 && !S_ISDIR(st.st_mode))
		msg_error("%s: not a trace, which is a folder", dir);
	else if (stat(dir, &st) == 0)
		msg_error("%s", why);
	else if (strcmp(dir, DEFAULT_TRACE) == 0)
		msg_error("%s: no such trace; `sonde -F '*' PROGRAM' records one", dir);
	else if (!strchr(dir, '/') && access(DEFAULT_TRACE, F_OK) == 0)
		msg_error("%s: no such trace; if it is a function of " DEFAULT_TRACE ": -F %s", dir, dir);
	else
		msg_error("%s: no such trace", dir);
}

int pick_open(const char *dir, struct sonde_trace **out)
{
	struct sonde_trace_message why;
	const char *text;
	size_t bad;

	if (sonde_trace_open(dir, out, &why)) {
		pick_no_trace(dir, why.text);
		return EXIT_USAGE;
	}
	bad = sonde_trace_bad_ranks(*out, &text);
	if (bad)
		msg_warn("%zu rank%s left out: %s", bad, bad > 1 ? "s" : "", text);
	return 0;
}

void pick_tail_calls(struct sonde_trace_iter *iter, const char *tail_calls)
{
	sonde_trace_tail_calls(iter, !tail_calls || strcmp(tail_calls, "jump") != 0);
}

void pick_reading(struct pick *p, bool prints, struct reading *r)
{
	reading_begin(r, prints);
	for (size_t i = 0; i < sonde_trace_threads(p->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(p->trace, i);

		if (pick_thread(t, p))
			reading_expect(r, t);
	}
}

int pick_read(struct pick *p, bool by_thread, pick_reader *read, void *arg)
{
	struct sonde_trace_iter *iter = NULL;
	enum sonde_trace_status status;
	int result = 0;

	if (!by_thread) {
		status = sonde_trace_merge(p->trace, pick_thread, p, &iter);
		return read(arg, status, iter);
	}
	for (size_t i = 0; i < sonde_trace_threads(p->trace) && !ferror(stdout); i++) {
		int one;

		if (!pick_thread(sonde_trace_thread(p->trace, i), p))
			continue;
		iter = NULL;
		status = sonde_trace_iterate(p->trace, i, &iter);
		one = read(arg, status, iter);
		result = one ? one : result;
	}
	return result;
}

void pick_warn_none(const struct pick *p)
{
	if (!p->met && (p->from || p->to != PICK_NO_END))
		msg_warn("nothing was recorded from --from to --to, which count from the start of the trace; `sonde info' says how long it is");
}

int pick_read_error(enum sonde_trace_status status)
{
	msg_error("cannot read the trace: %s", status == SONDE_TRACE_E_SYSTEM ?
						      strerror(errno) :
						      sonde_trace_strstatus(status));
	return EXIT_USAGE;
}

int pick_damage(const struct sonde_trace_iter *iter, uint64_t *damage)
{
	const char *text;
	uint64_t found = iter ? sonde_trace_damage(iter, &text) : 0;

	if (!found)
		return 0;
	fflush(stdout);
	if (!*damage)
		msg_error("damaged: %s", text);
	*damage += found;
	return EXIT_USAGE;
}

void pick_forgive_closed_pipe(void)
{
	struct pollfd fd = { .fd = STDOUT_FILENO, .events = POLLOUT };

	if ((fflush(stdout) != 0 || ferror(stdout)) && poll(&fd, 1, 0) == 1 &&
	    (fd.revents & (POLLERR | POLLHUP))) {
		__fpurge(stdout);
		clearerr(stdout);
	}
}
