/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Paths that do not begin in the thread that the program began with: whose they are.  Who has started a
 * thread is not recorded, but where the first thread was when the other one was first seen is known.
 */
#include "launcher/graph/graph.h"
#include "launcher/report/report-rows.h"

#include <inttypes.h>
#include <stdlib.h>

static bool is_first(const struct sonde_trace_thread *t)
{
	return t->tid == t->pid;
}

static int by_time(const void *a, const void *b)
{
	const struct graph_birth *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

void graph_births_init(struct graph_births *b, const struct sonde_trace *trace)
{
	size_t n = sonde_trace_threads(trace);

	*b = (struct graph_births){ .trace = trace };
	b->v = report_zeroed(n, sizeof(*b->v));
	for (size_t i = 0; i < n; i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		if (!is_first(t) && t->events)
			b->v[b->n++] = (struct graph_birth){ t, t->first, GRAPH_NONE };
	}
	qsort(b->v, b->n, sizeof(*b->v), by_time);
}

void graph_births_free(struct graph_births *b)
{
	free(b->v);
	*b = (struct graph_births){ 0 };
}

void graph_births_begin(struct graph_births *b, const struct sonde_trace_thread *t)
{
	b->parent = is_first(t) ? t : NULL;
	b->at = 0;
}

void graph_births_seen(struct graph_births *b, const struct graph_walk *w, uint64_t time)
{
	for (; b->at < b->n && b->v[b->at].time <= time; b->at++) {
		struct graph_birth *birth = &b->v[b->at];

		if (birth->thread->pid == b->parent->pid && birth->thread->rank_index == b->parent->rank_index && w->n)
			birth->function = w->frame[w->n - 1].function;
	}
}

/* The thread's number in its process, from 1 on, in the order in which they were first seen. */
static size_t number_of(const struct graph_births *b, const struct graph_birth *birth)
{
	size_t n = 2;

	for (const struct graph_birth *v = b->v; v < birth; v++)
		n += v->thread->pid == birth->thread->pid && v->thread->rank_index == birth->thread->rank_index;
	return n;
}

/* What the threads of one root have in common. */
struct common {
	size_t n, least, most; /* threads; the least and the largest number */
	const struct graph_birth *one;
	bool several_processes, several_places;
};

static bool has_root(const struct graph_walk *w, uint32_t node, size_t thread)
{
	for (size_t i = 0; i < w->nroots; i++)
		if (w->roots[i].node == node && w->roots[i].thread == thread)
			return true;
	return false;
}

static void add(struct common *c, const struct graph_births *b, const struct graph_birth *birth)
{
	size_t number = number_of(b, birth);

	if (!c->n++)
		*c = (struct common){ .n = 1, .least = number, .most = number, .one = birth };
	c->least = number < c->least ? number : c->least;
	c->most = number > c->most ? number : c->most;
	c->several_processes |= birth->thread->pid != c->one->thread->pid ||
				birth->thread->rank_index != c->one->thread->rank_index;
	c->several_places |= birth->function != c->one->function;
}

static void print(const struct graph_style *s, const struct common *c)
{
	if (c->several_processes)
		fprintf(s->out, "  (%zu threads of several processes", c->n);
	else if (c->n == 1)
		fprintf(s->out, "  (thread %zu", c->least);
	else if (c->most - c->least == c->n - 1)
		fprintf(s->out, "  (threads %zu to %zu", c->least, c->most);
	else
		fprintf(s->out, "  (%zu threads, from %zu to %zu", c->n, c->least, c->most);
	if (!c->several_places && c->one->function != GRAPH_NONE) {
		fputs(", started while thread 1 was in ", s->out);
		graph_put_name(s, c->one->function);
	}
	putc(')', s->out);
}

void graph_print_threads(const struct graph_style *s, uint32_t node)
{
	const struct graph_births *b = s->births;
	struct common c = { 0 };
	size_t all = 0;

	for (size_t i = 0; i < b->n; i++)
		if (has_root(s->walk, node, b->v[i].thread->index))
			add(&c, b, &b->v[i]);
	for (size_t i = 0; i < s->walk->nroots; i++)
		all += s->walk->roots[i].node == node;
	if (c.n && c.n == all)
		print(s, &c);
}
