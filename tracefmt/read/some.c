/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Some processes of a trace: what is left out of it. */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/read/trace-internal.h"

const struct tf_part *tf_choice_same(const struct tf_choice *c, const struct tf_part *part, size_t *at)
{
	size_t n = c->all->parts.n;

	for (size_t i = 0; i < n; i++) {
		const struct tf_part *same = c->all->parts.v[(*at + i) % n];

		if (!strcmp(same->pub.dir, part->pub.dir)) {
			*at += i + 1;
			return same;
		}
	}
	return NULL;
}

static bool is_wanted(const struct tf_choice *c, const struct tf_part *part, int pid)
{
	return c->want(&part->pub, pid, c->arg);
}

/* Of a part that has been read. */
static bool has_wanted(const struct tf_choice *c, const struct tf_part *part)
{
	size_t index = part->pub.index;

	if (is_wanted(c, part, part->pub.pid))
		return true;
	for (size_t i = 0; i < c->all->processes.n; i++) {
		const struct tf_process_in *p = c->all->processes.v[i];

		if (p->pub.rank_index == index && is_wanted(c, part, p->pub.pid))
			return true;
	}
	for (size_t i = 0; i < c->all->threads.n; i++) {
		const struct tf_thread_in *thread = c->all->threads.v[i];

		if (thread->pub.rank_index == index && is_wanted(c, part, thread->pub.pid))
			return true;
	}
	return false;
}

void tf_choose_parts(struct sonde_trace *t, const struct tf_choice *c)
{
	size_t n = 0, at = 0;

	for (size_t i = 0; i < t->parts.n; i++) {
		const struct tf_part *same = tf_choice_same(c, t->parts.v[i], &at);

		if (same && has_wanted(c, same))
			t->parts.v[n++] = t->parts.v[i];
	}
	t->parts.n = n;
}

static void drop_thread(struct sonde_trace *t, struct tf_thread_in *thread)
{
	for (size_t i = 0; i < thread->pub.ncounts; i++) {
		struct sonde_trace_counter *counter = t->counters.v[thread->counts[i].counter->index];

		counter->total -= thread->counts[i].value;
	}
	free(thread->calls);
}

static void choose_threads(struct sonde_trace *t, const struct tf_choice *c)
{
	size_t n = 0;

	for (size_t i = 0; i < t->threads.n; i++) {
		struct tf_thread_in *thread = t->threads.v[i];

		if (is_wanted(c, thread->part, thread->pub.pid))
			t->threads.v[n++] = thread;
		else
			drop_thread(t, thread);
	}
	t->threads.n = n;
}

void tf_choose_processes(struct sonde_trace *t, const struct tf_choice *c)
{
	size_t n = 0;

	choose_threads(t, c);
	for (size_t i = 0; i < t->parts.n; i++) {
		struct tf_part *part = t->parts.v[i];

		part->pub.left_out = !is_wanted(c, part, part->pub.pid);
	}
	for (size_t i = 0; i < t->processes.n; i++) {
		struct tf_process_in *p = t->processes.v[i];

		if (is_wanted(c, t->parts.v[p->pub.rank_index], p->pub.pid))
			t->processes.v[n++] = p;
	}
	t->processes.n = n;
	n = 0;
	for (size_t i = 0; i < t->execs.n; i++) {
		struct tf_exec_in *e = t->execs.v[i];

		if (is_wanted(c, t->parts.v[e->pub.rank_index], e->pub.pid)) {
			e->pub.index = n;
			t->execs.v[n++] = e;
		}
	}
	t->execs.n = n;
}
