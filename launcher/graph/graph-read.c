/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A trace's threads, one after the other, into one tree. */
#include "launcher/graph/graph.h"
#include "launcher/trace/pick.h"

void graph_reader_begin(struct graph_reader *r)
{
	graph_births_init(&r->births, r->trace);
	graph_tree_init(&r->tree, r->paths);
	graph_walk_init(&r->walk, &r->tree, sonde_trace_functions(r->trace));
	r->nthreads = 0;
}

void graph_reader_end(struct graph_reader *r)
{
	graph_births_free(&r->births);
	graph_walk_free(&r->walk);
	graph_tree_free(&r->tree);
}

static int walk(struct graph_reader *r, size_t thread)
{
	struct sonde_trace_iter *iter = NULL;
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status = sonde_trace_iterate(r->trace, thread, &iter);
	int result;

	if (!status)
		pick_tail_calls(iter, r->pick->tail_calls);
	cost_begin(&r->walk.clock, r->trace, sonde_trace_thread(r->trace, thread), r->raw);
	graph_births_begin(&r->births, sonde_trace_thread(r->trace, thread));
	r->walk.thread = (uint32_t)thread;
	while (!status && !(status = sonde_trace_next(iter, &ev))) {
		reading_event(&r->reading);
		if (r->births.parent)
			graph_births_seen(&r->births, &r->walk, ev->time);
		graph_walk_event(&r->walk, ev);
	}
	graph_walk_finish(&r->walk);
	reading_end(&r->reading);
	r->nthreads++;
	result = status == SONDE_TRACE_END ? 0 : pick_read_error(status);
	/* What could be read is shown. */
	(void)pick_damage(iter, &r->damage);
	sonde_trace_iter_free(iter);
	return result;
}

int graph_read_thread(struct graph_reader *r, size_t thread)
{
	int status = walk(r, thread);

	if (!status)
		graph_tree_finish(&r->tree);
	return status;
}

int graph_read(struct graph_reader *r)
{
	int status = 0;

	graph_reader_begin(r);
	for (size_t i = 0; i < sonde_trace_threads(r->trace) && !status; i++)
		if (pick_thread(sonde_trace_thread(r->trace, i), r->pick))
			status = walk(r, i);
	if (!status)
		graph_tree_finish(&r->tree);
	return status;
}
