/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Folding has seen to it that no node of a function lies below another one of it, so the nodes of
 * one function share no time and can be added up.
 */
#include "launcher/graph/graph.h"
#include "launcher/report/report-rows.h"

#include <stdlib.h>

void graph_add(struct graph_node *to, const struct graph_node *from)
{
	to->calls += from->calls;
	to->recursive += from->recursive;
	to->total += from->total;
	to->self += from->self;
	to->wait += from->wait;
}

/* A node comes after its parent, so one pass finds each one's place in @out. */
void graph_callees(const struct graph_tree *t, uint32_t function, struct graph_tree *out)
{
	uint32_t *place = report_zeroed(t->n, sizeof(*place));

	graph_tree_init(out, t->n);
	place[GRAPH_ROOT] = GRAPH_NONE;
	for (size_t i = 1; i < t->n; i++) {
		const struct graph_node *n = &t->node[i];

		place[i] = place[n->parent];
		if (n->function == function)
			place[i] = GRAPH_ROOT;
		else if (place[i] != GRAPH_NONE)
			place[i] = graph_tree_child(out, place[i], n->function);
		if (place[i] != GRAPH_NONE)
			graph_add(&out->node[place[i]], n);
	}
	free(place);
}

void graph_callers(const struct graph_tree *t, uint32_t function, struct graph_tree *out)
{
	graph_tree_init(out, SIZE_MAX / 2);
	for (size_t i = 1; i < t->n; i++) {
		uint32_t at = GRAPH_ROOT;

		if (t->node[i].function != function)
			continue;
		graph_add(&out->node[GRAPH_ROOT], &t->node[i]);
		for (uint32_t up = t->node[i].parent; up != GRAPH_ROOT; up = t->node[up].parent) {
			at = graph_tree_child(out, at, t->node[up].function);
			graph_add(&out->node[at], &t->node[i]);
		}
	}
}
