/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde graph`: who calls whom, and how long that takes.
 *
 *	graph-tree	call paths and their figures: one node for each
 *	graph-walk	one thread's events into a tree
 *	graph-read	those of the threads that were asked for
 *	graph-threads	whose paths begin elsewhere than in the program's first thread
 *	graph-focus	from a tree, what one function calls and who calls it
 *	graph-print	the output
 *
 * Recursion is folded: where a function is called that is on the path already, the path goes on from its
 * node there.  So paths are no longer than there are functions, however deep the program recurses.
 */
#ifndef SONDE_LAUNCHER_GRAPH_GRAPH_H
#define SONDE_LAUNCHER_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "launcher/report/cost.h"
#include "launcher/trace/reading.h"
#include "sonde/trace.h"

#define GRAPH_NONE UINT32_MAX
#define GRAPH_ROOT 0u /* of every tree; of no function */

/*
 * total   ns from enter to leave; of calls within each other only the outermost counts
 * self    ns of it that were not spent in other recorded calls
 * wait    ns of it in calls that wait, here or below; as `sonde report' counts them
 *         (signed sums until graph_tree_finish(): see cost.h; wait is the node's own until then)
 */
struct graph_node {
	uint32_t function; /* index; GRAPH_NONE: the root */
	uint32_t parent, child, next;
	uint32_t last;	   /* child that was asked for last */
	uint32_t active;   /* frames open at this node */
	uint32_t thread;   /* below the root: whose call came last, its index + 1 */
	uint64_t calls, recursive; /* recursive: of the calls, those that were folded */
	uint64_t total, self, wait;
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
	uint32_t depth;	   /* from the reader */
	bool opened;	   /* made its node the function's place on the path */
	bool waits, apart; /* as the site of its entry says */
	uint64_t entered, inner;
};

/* A path begins there in that thread (its index). */
struct graph_root {
	uint32_t node, thread;
};

struct graph_walk {
	struct graph_tree *tree;
	uint32_t thread; /* index of the one that is walked */
	struct graph_root *roots;
	size_t nroots, roots_room;
	uint32_t *place; /* by function: its node on the path, or GRAPH_NONE */
	struct graph_frame *frame;
	size_t n, room;
	struct cost_clock clock; /* of the thread; to be set before its first event */
	uint32_t waiting, apart; /* open frames; those in one that is apart do not wait */
	bool gap;	  /* events are missing after the last one */
	uint64_t now, last; /* times of this event and of the last one, by the clock */
	uint64_t taken;	  /* ns by recording, of the threads that are finished */
	uint64_t events;
	uint64_t unplaced; /* calls that found no room in the tree */
	uint64_t orphans, unwound, open, lost;
};

void graph_walk_init(struct graph_walk *w, struct graph_tree *tree, size_t nfunctions);
void graph_walk_free(struct graph_walk *w);
void graph_walk_event(struct graph_walk *w, const struct sonde_trace_event *ev);
/* What is open ends with the last event, or, as in `sonde report', what waits with the thread; the next thread may follow. */
void graph_walk_finish(struct graph_walk *w);

/* A thread that is not its process's first one. */
struct graph_birth {
	const struct sonde_trace_thread *thread;
	uint64_t time;	   /* of its first event */
	uint32_t function; /* that the process's first thread was in then; GRAPH_NONE: in none */
};

struct graph_births {
	const struct sonde_trace *trace;
	struct graph_birth *v; /* by time */
	size_t n, at;
	const struct sonde_trace_thread *parent; /* that is walked; NULL: it is not a first one */
};

void graph_births_init(struct graph_births *b, const struct sonde_trace *trace);
void graph_births_free(struct graph_births *b);
/* Before a thread is walked. */
void graph_births_begin(struct graph_births *b, const struct sonde_trace_thread *t);
/* Before an event of that time is walked, of a process's first thread (b->parent). */
void graph_births_seen(struct graph_births *b, const struct graph_walk *w, uint64_t time);

/* After all threads.  The root's figures: time in recorded functions, and waiting there. */
void graph_tree_finish(struct graph_tree *t);

struct pick;

/* @trace, @pick, @raw, @paths and @reading are the caller's to set. */
struct graph_reader {
	const struct sonde_trace *trace;
	struct pick *pick;
	bool raw;	/* times as they were recorded */
	uint64_t paths; /* that are kept at most */
	struct reading reading;
	struct graph_tree tree;
	struct graph_walk walk;
	struct graph_births births;
	uint64_t damage; /* places, so far */
	size_t nthreads;
};

/* Makes a tree of all threads that @pick wants; to be ended in any case.  Returns 0, or an exit status after a message. */
int graph_read(struct graph_reader *r) __attribute__((warn_unused_result));
/* The same of one thread, after graph_reader_begin(). */
void graph_reader_begin(struct graph_reader *r);
int graph_read_thread(struct graph_reader *r, size_t thread) __attribute__((warn_unused_result));
void graph_reader_end(struct graph_reader *r);

/* Adds up the figures of nodes that share no time. */
void graph_add(struct graph_node *to, const struct graph_node *from);

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
	const bool *ambiguous; /* by function: its file is shown, too; NULL: none */
	bool waits;	    /* there is a column for waiting */
	const bool *counted; /* by function: not all of its calls were recorded; NULL: all were */
	const struct graph_births *births; /* NULL: threads are not shown */
	const struct graph_walk *walk;	   /* with births */
	uint64_t left_out;  /* paths; counted by printing */
};

void graph_put_name(const struct graph_style *s, uint32_t function);
void graph_print_title(const struct graph_style *s);
/* The nodes below @node, the longest first; those directly below are at @level. */
void graph_print_below(struct graph_style *s, const struct graph_tree *t, uint32_t node,
		       unsigned level);
/* After a path's first function, if only other threads than the first one came there: which. */
void graph_print_threads(const struct graph_style *s, uint32_t node);
/* A line for @function with the figures of @node, without its end. */
void graph_print_line(struct graph_style *s, const struct graph_node *node, uint32_t function,
		      unsigned depth);
/* Lines "a;b;c SELF", ns, for tools that draw flame graphs. */
void graph_print_folded(const struct graph_style *s, const struct graph_tree *t);

#endif
