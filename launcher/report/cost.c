/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/cost.h"

/* The same thread again, after an execve(). */
static bool goes_on(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	for (size_t i = t->index + 1; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *o = sonde_trace_thread(trace, i);

		if (o->rank_index != t->rank_index)
			return false;
		if (o->pid == t->pid && o->tid == t->tid)
			return true;
	}
	return false;
}

/* It may have gone on as another program; 0: not known. */
static uint64_t process_end(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	const struct sonde_trace_rank *rank = sonde_trace_rank(trace, t->rank_index);

	for (size_t i = 0; i < sonde_trace_execs(trace); i++) {
		const struct sonde_trace_exec *e = sonde_trace_exec(trace, i);

		if (e->rank_index == t->rank_index && e->pid == t->pid)
			return e->time;
	}
	for (size_t i = 0; i < sonde_trace_processes(trace); i++) {
		const struct sonde_trace_process *p = sonde_trace_process(trace, i);

		if (p->rank_index == t->rank_index && p->pid == t->pid && p->ended && p->end && p->end < rank->end)
			return p->end;
	}
	return t->pid == rank->pid ? rank->end : 0;
}

uint64_t cost_thread_end(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	uint64_t end = t->tid == t->pid && !goes_on(trace, t) ? process_end(trace, t) : 0;

	return end > t->last ? end : t->last;
}

void cost_begin(struct cost_clock *c, const struct sonde_trace *trace, const struct sonde_trace_thread *t, bool raw)
{
	const struct sonde_trace_cost *cost = sonde_trace_rank(trace, t->rank_index)->cost;

	*c = (struct cost_clock){ .raw = raw, .end = cost_thread_end(trace, t) };
	if (!raw)
		c->end -= sonde_trace_off(trace, t->rank_index, 0, c->end);
	if (!cost)
		return;
	c->inside = cost->inside;
	c->outside = cost->outside;
}
