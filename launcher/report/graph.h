/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde graph`: who calls whom, and how long that takes.
 *
 *	graph-tree	call paths and their figures: one node for each
 *	graph-walk	one thread's events into a tree
 *	graph-focus	from a tree, what one function calls and who calls it
 *	graph-print	the output
 *
 * Recursion is folded: where a function is called that is on the path already, the path goes on from its
 * node there.  So paths are no longer than there are functions, however deep the program recurses.
 */
#ifndef SONDE_LAUNCHER_REPORT_GRAPH_H
#define SONDE_LAUNCHER_REPORT_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "sonde/trace.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_ROOT 0u /* of every tree; of no function */

/*
 * total   ns from enter to leave; of calls within each other only the outermost counts
 * self    ns of it that were not spent in other recorded calls
 */
struct graph_node {
	uint32_t function; /* index; GRAPH_NONE: the root */
	uint32_t parent, child, next;
	uint32_t last;	   /* child that was asked for last */
	uint32_t active;   /* frames open at this node */
	uint64_t calls, recursive; /* recursive: of the calls, those that were folded */
	uint64_t total, self;
};

struct graph_tree {
	struct graph_node *node;
	size_t n, room;
	size_t limit;	 /* nodes */
	uint32_t *table; /* by parent and function: node, or GRAPH_NONE */
};

/* Lack of memory ends the program with a message. */
void graph_tree_init(struct graph_tree *t, size_t limit);
void graph_tree_free(struct graph_tree *t);

/* The child of @parent; made if there is none.  GRAPH_NONE: the limit is reached. */
uint32_t graph_tree_find(struct graph_tree *t, uint32_t parent, uint32_t function);

static inline uint32_t graph_tree_child(struct graph_tree *t, uint32_t parent, uint32_t function)
{
	uint32_t last = t->node[parent].last;

	if (last != GRAPH_NONE && t->node[last].function == function)
		return last;
	last = graph_tree_find(t, parent, function); /* may move the nodes */
	t->node[parent].last = last;
	return last;
}

struct graph_frame {
	uint32_t node;	   /* GRAPH_NONE: counted with its caller */
	uint32_t function;
	uint32_t depth;	   /* as the reader tells */
	bool opened;	   /* made its node the function's place on the path */
	uint64_t entered, inner;
};

struct graph_walk {
	struct graph_tree *tree;
	uint32_t *place; /* by function: its node on the path, or GRAPH_NONE */
	struct graph_frame *frame;
	size_t n, room;
	uint64_t last;	  /* time of the last event */
	uint64_t events;
	uint64_t unplaced; /* calls that found no room in the tree */
	uint64_t orphans, unwound, open, lost;
};

void graph_walk_init(struct graph_walk *w, struct graph_tree *tree, size_t nfunctions);
void graph_walk_free(struct graph_walk *w);
void graph_walk_event(struct graph_walk *w, const struct sonde_trace_event *ev);
/* What is open ends with the last event; the next thread may follow. */
void graph_walk_finish(struct graph_walk *w);

/* The root's total: the time in recorded functions. */
void graph_tree_finish(struct graph_tree *t);

/*
 * What the functions at @function's nodes call, as a tree whose root stands for the function; and who
 * calls it, outwards: children are callers, their figures those of the function when called so.
 */
void graph_callees(const struct graph_tree *t, uint32_t function, struct graph_tree *out);
void graph_callers(const struct graph_tree *t, uint32_t function, struct graph_tree *out);

struct graph_style {
	const struct sonde_trace *trace;
	FILE *out;
	uint64_t depth;	    /* levels that are shown; 0: all */
	double min_percent; /* of the whole: what is below is left out */
	uint64_t whole;	    /* ns that are 100 percent */
	bool mangled, utf8;
	uint64_t left_out;  /* paths; counted by printing */
};

const char *graph_name(const struct graph_style *s, uint32_t function);
void graph_print_title(const struct graph_style *s);
/* The nodes below @node, the longest first; those directly below are at @level. */
void graph_print_below(struct graph_style *s, const struct graph_tree *t, uint32_t node,
		       unsigned level);
/* A line for @function with the figures of @node. */
void graph_print_line(struct graph_style *s, const struct graph_node *node, uint32_t function,
		      unsigned depth);
/* Lines "a;b;c SELF", ns, for tools that draw flame graphs. */
void graph_print_folded(const struct graph_style *s, const struct graph_tree *t);

#endif
