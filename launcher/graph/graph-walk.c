/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The same care as in report-thread.c: after damage frames may be missing, or still be on our stack
 * although their leaves were not seen; the depths show that.
 */
#include "launcher/graph/graph.h"
#include "launcher/report/report-rows.h"

#include <stdlib.h>

void graph_walk_init(struct graph_walk *w, struct graph_tree *tree, size_t nfunctions)
{
	*w = (struct graph_walk){ .tree = tree };
	w->place = report_need(reallocarray(NULL, nfunctions + 1, sizeof(*w->place)));
	for (size_t i = 0; i <= nfunctions; i++)
		w->place[i] = GRAPH_NONE;
}

void graph_walk_free(struct graph_walk *w)
{
	free(w->place);
	free(w->frame);
	free(w->roots);
	*w = (struct graph_walk){ 0 };
}

/* The innermost frame that has a node. */
static uint32_t node_now(const struct graph_walk *w)
{
	for (size_t i = w->n; i-- > 0;)
		if (w->frame[i].node != GRAPH_NONE)
			return w->frame[i].node;
	return GRAPH_ROOT;
}

/* Of waiting calls in one another the outermost counts. */
static bool end_wait(struct graph_walk *w, const struct graph_frame *f, bool waited)
{
	w->apart -= f->apart;
	w->waiting -= f->waits;
	return (f->waits || (waited && !f->apart && !w->apart)) && !w->waiting;
}

/* @waited: its return says so. */
static void pop(struct graph_walk *w, uint64_t time, bool waited)
{
	const struct graph_frame f = w->frame[--w->n];
	struct graph_node *node;
	uint64_t ns = time - f.entered;
	bool waits = end_wait(w, &f, waited);

	if (f.node == GRAPH_NONE) {
		/* The time is its caller's own; what it called itself is not. */
		if (w->n)
			w->frame[w->n - 1].inner += f.inner;
		w->tree->node[node_now(w)].wait += waits ? cost_shown(ns) : 0;
		return;
	}
	node = &w->tree->node[f.node];
	node->calls++;
	if (!--node->active)
		node->total += ns;
	node->self += ns - f.inner;
	node->wait += waits ? cost_shown(ns) : 0;
	if (w->n)
		w->frame[w->n - 1].inner += ns;
	if (f.opened)
		w->place[f.function] = GRAPH_NONE;
}

static void pop_open(struct graph_walk *w)
{
	w->open++;
	pop(w, w->last, false);
}

static inline struct graph_frame *push(struct graph_walk *w)
{
	report_room(w->frame, w->room, w->n + 1);
	return &w->frame[w->n++];
}

/* A thread comes to one of the paths' first functions. */
static void note_root(struct graph_walk *w, uint32_t node)
{
	if (w->tree->node[node].thread == w->thread + 1)
		return;
	w->tree->node[node].thread = w->thread + 1;
	report_room(w->roots, w->roots_room, w->nroots + 1);
	w->roots[w->nroots++] = (struct graph_root){ node, w->thread };
}

static void enter(struct graph_walk *w, const struct sonde_trace_event *ev)
{
	uint32_t function = (uint32_t)ev->function->index, node, parent;
	bool recursive;

	while (w->n && w->frame[w->n - 1].depth >= ev->depth)
		pop_open(w);
	node = w->place[function];
	recursive = node != GRAPH_NONE;
	if (!recursive) {
		parent = w->n ? w->frame[w->n - 1].node : GRAPH_ROOT;
		if (parent == GRAPH_NONE)
			parent = node_now(w);
		node = graph_tree_child(w->tree, parent, function);
		w->place[function] = node;
	}
	*push(w) = (struct graph_frame){
		.node = node, .function = function, .depth = ev->depth, .opened = !recursive, .entered = w->now,
		.apart = ev->site && ev->site->apart,
		.waits = ev->site && ev->site->waits && !ev->site->apart && !w->apart,
	};
	w->apart += w->frame[w->n - 1].apart;
	w->waiting += w->frame[w->n - 1].waits;
	if (node == GRAPH_NONE) {
		w->unplaced++;
		return;
	}
	if (w->tree->node[node].parent == GRAPH_ROOT)
		note_root(w, node);
	w->tree->node[node].active++;
	w->tree->node[node].recursive += recursive;
}

static void leave(struct graph_walk *w, const struct sonde_trace_event *ev)
{
	while (w->n && w->frame[w->n - 1].depth > ev->depth)
		pop_open(w);
	if ((ev->flags & SONDE_TRACE_ORPHAN) || !w->n || w->frame[w->n - 1].depth != ev->depth) {
		w->orphans++;
		return;
	}
	if (ev->function && w->frame[w->n - 1].function != ev->function->index) {
		pop_open(w);
		w->orphans++;
		return;
	}
	w->unwound += (ev->flags & SONDE_TRACE_UNWOUND) != 0;
	pop(w, w->now, ev->site && ev->site->waits);
}

void graph_walk_event(struct graph_walk *w, const struct sonde_trace_event *ev)
{
	w->now = cost_time(&w->clock, ev);
	switch (ev->kind) {
	case SONDE_TRACE_ENTER:
		if (!ev->function)
			return;
		enter(w, ev);
		break;
	case SONDE_TRACE_LEAVE:
		leave(w, ev);
		break;
	case SONDE_TRACE_LOST:
		w->lost++;
		w->gap = true;
		return;
	case SONDE_TRACE_POINT:
		break;
	}
	w->last = w->now;
	w->gap = false;
	w->events++;
}

void graph_walk_finish(struct graph_walk *w)
{
	if ((w->waiting || w->apart) && !w->gap && (int64_t)(cost_end(&w->clock) - w->last) > 0)
		w->last = cost_end(&w->clock);
	while (w->n)
		pop_open(w);
	w->last = 0;
	w->gap = false;
	w->taken += cost_taken(&w->clock);
}
