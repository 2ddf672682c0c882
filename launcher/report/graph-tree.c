/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/graph.h"
#include "launcher/report/report-rows.h"

#include <stdlib.h>

static size_t slot_of(const struct graph_tree *t, uint32_t parent, uint32_t function)
{
	uint64_t key = (uint64_t)parent << 32 | function;

	return (size_t)(key * UINT64_C(0x9e3779b97f4a7c15) >> 24) & t->mask;
}

static void put_slot(struct graph_tree *t, uint32_t node)
{
	size_t i = slot_of(t, t->node[node].parent, t->node[node].function);

	while (t->table[i] != GRAPH_NONE)
		i = (i + 1) & t->mask;
	t->table[i] = node;
}

/* Twice as many nodes, and a table that is half full at most. */
static void grow(struct graph_tree *t)
{
	t->room = t->room ? 2 * t->room : 256;
	t->node = report_need(reallocarray(t->node, t->room, sizeof(*t->node)));
	free(t->table);
	t->mask = 2 * t->room - 1;
	t->table = report_need(reallocarray(NULL, t->mask + 1, sizeof(*t->table)));
	for (size_t i = 0; i <= t->mask; i++)
		t->table[i] = GRAPH_NONE;
	for (size_t i = 1; i < t->n; i++)
		put_slot(t, (uint32_t)i);
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
	uint32_t node;

	for (size_t i = slot_of(t, parent, function); t->table[i] != GRAPH_NONE;
	     i = (i + 1) & t->mask) {
		node = t->table[i];
		if (t->node[node].parent == parent && t->node[node].function == function)
			return node;
	}
	if (t->n > t->limit)
		return GRAPH_NONE;
	node = add(t, parent, function);
	t->node[node].next = t->node[parent].child;
	t->node[parent].child = node;
	put_slot(t, node);
	return node;
}

void graph_tree_finish(struct graph_tree *t)
{
	struct graph_node *root = &t->node[GRAPH_ROOT];

	root->total = 0;
	for (uint32_t i = root->child; i != GRAPH_NONE; i = t->node[i].next)
		root->total += t->node[i].total;
}
