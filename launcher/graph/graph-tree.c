/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/graph/graph.h"
#include "launcher/report/report-rows.h"

#include <stdlib.h>

#include "base/hash.h"

static bool is(const struct graph_tree *t, uint32_t node, uint32_t parent, uint32_t function)
{
	return t->node[node].parent == parent && t->node[node].function == function;
}

/* Where the node is, or is to be. */
static uint32_t *slot_of(const struct graph_tree *t, uint32_t parent, uint32_t function)
{
	return &t->table[hash_slot(i, 2 * t->room, hash_word((uint64_t)parent << 32 | function),
				   t->table[i] == GRAPH_NONE || is(t, t->table[i], parent, function))];
}

/* Twice as many nodes, and a table that is half full at most. */
static void grow(struct graph_tree *t)
{
	t->room = t->room ? 2 * t->room : 256;
	t->node = report_need(reallocarray(t->node, t->room, sizeof(*t->node)));
	free(t->table);
	t->table = report_need(reallocarray(NULL, 2 * t->room, sizeof(*t->table)));
	for (size_t i = 0; i < 2 * t->room; i++)
		t->table[i] = GRAPH_NONE;
	for (size_t i = 1; i < t->n; i++)
		*slot_of(t, t->node[i].parent, t->node[i].function) = (uint32_t)i;
}

static uint32_t add(struct graph_tree *t, uint32_t parent, uint32_t function)
{
	if (t->n == t->room)
		grow(t);
	t->node[t->n] = (struct graph_node){ .function = function, .parent = parent,
					     .child = GRAPH_NONE, .next = GRAPH_NONE,
					     .last = GRAPH_NONE };
	return (uint32_t)t->n++;
}

void graph_tree_init(struct graph_tree *t, size_t limit)
{
	*t = (struct graph_tree){ .limit = limit };
	add(t, GRAPH_NONE, GRAPH_NONE);
}

void graph_tree_free(struct graph_tree *t)
{
	free(t->node);
	free(t->table);
	*t = (struct graph_tree){ 0 };
}

uint32_t graph_tree_find(struct graph_tree *t, uint32_t parent, uint32_t function)
{
	uint32_t node = *slot_of(t, parent, function);

	if (node != GRAPH_NONE)
		return node;
	if (t->n > t->limit)
		return GRAPH_NONE;
	node = add(t, parent, function);
	t->node[node].next = t->node[parent].child;
	t->node[parent].child = node;
	*slot_of(t, parent, function) = node;
	return node;
}

/* A node comes after its parent. */
void graph_tree_finish(struct graph_tree *t)
{
	struct graph_node *root = &t->node[GRAPH_ROOT];

	root->total = 0;
	for (size_t i = t->n; i-- > 1;) {
		struct graph_node *node = &t->node[i];

		node->total = cost_shown(node->total);
		node->self = cost_shown(node->self);
		t->node[node->parent].wait += node->wait;
		if (node->parent == GRAPH_ROOT)
			root->total += node->total;
	}
}
