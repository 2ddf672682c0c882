/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/common/pick.h"
#include "launcher/common/message.h"

#include <errno.h>
#include <fnmatch.h>
#include <poll.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
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

/* Without its parameters "ns::f(int)" is called "ns::f". */
static bool matches(const char *pattern, const struct sonde_trace_function *f)
{
	const char *paren = strchr(f->demangled, '(');
	char *stem;
	bool found;

	if (!fnmatch(pattern, f->name, 0) || !fnmatch(pattern, f->demangled, 0))
		return true;
	if (!paren || paren == f->demangled || strchr(pattern, '('))
		return false;
	stem = strndup(f->demangled, (size_t)(paren - f->demangled));
	found = stem && !fnmatch(pattern, stem, 0);
	free(stem);
	return found;
}

static bool matches_any(const struct opt_list *patterns, const struct sonde_trace_function *f)
{
	for (size_t i = 0; i < patterns->n; i++)
		if (matches(patterns->v[i], f))
			return true;
	return false;
}

int pick_functions(const struct sonde_trace *trace, const struct opt_list *patterns, bool **out)
{
	size_t n = sonde_trace_functions(trace), found = 0;

	*out = NULL;
	if (!patterns->n)
		return 0;
	*out = calloc(n + 1, sizeof **out);
	if (!*out) {
		msg_error("no memory");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < n; i++) {
		(*out)[i] = matches_any(patterns, sonde_trace_function(trace, i));
		found += (*out)[i];
	}
	if (!found)
		msg_error("no function in this trace matches '%s'", patterns->v[0]);
	return found ? 0 : EXIT_USAGE;
}

int pick_open(const char *dir, struct sonde_trace **out)
{
	struct sonde_trace_message why;
	const char *text;
	size_t bad;

	if (sonde_trace_open(dir, out, &why)) {
		msg_error("%s", why.text);
		return EXIT_USAGE;
	}
	bad = sonde_trace_bad_ranks(*out, &text);
	if (bad)
		msg_warn("%zu rank%s left out: %s", bad, bad > 1 ? "s" : "", text);
	return 0;
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
