/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes of a trace, as a tree.  A process has an entry for each program that it was: the next one follows, at the same
 * depth, what the process forked before it executed it.  A child that executes a program at once has no entry of its own for the
 * time before.
 */
#ifndef SONDE_LAUNCHER_TRACE_PROCESSTREE_H
#define SONDE_LAUNCHER_TRACE_PROCESSTREE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sonde/trace.h"

#define PROCESS_ENDING_MAX 128 /* bytes of process_ending(), with its NUL */

enum process_kind {
	PROCESS_PROGRAM,    /* what the part began with */
	PROCESS_FORKED,	    /* of the same part: a child that goes on in its parent's program */
	PROCESS_LEFT_ALONE, /* executed, not recorded */
};

struct process_entry {
	enum process_kind kind;
	const struct sonde_trace_rank *part; /* LEFT_ALONE: of the program before */
	const struct sonde_trace_process *process; /* what the metadata says of it beside; NULL: nothing */
	const struct sonde_trace_exec *exec; /* what it executed next, NULL: nothing; LEFT_ALONE: what it is */
	int pid, parent;	/* 0: not known */
	uint64_t start, end;	/* ns since the start of the trace; an end of 0: not known */
	size_t threads;
	uint64_t events, calls; /* calls: those counted, not recorded */
	unsigned int depth;	/* 0: its parent is not in the trace */
	uint32_t above, before, origin; /* while the tree is made */
};

struct process_tree {
	struct process_entry *v; /* in the order of the tree */
	size_t n;
	size_t processes; /* different ones: some are several entries */
	size_t programs;  /* recorded, of all ranks */
	bool ranks;	  /* some are of ranks */
};

#define PROCESS_ANY_RANK UINT64_MAX

/* Of all ranks, or of one.  False: no memory. */
bool process_tree_make(const struct sonde_trace *trace, uint64_t rank, struct process_tree *tree);
void process_tree_free(struct process_tree *tree);

/* Are there programs that processes executed beside, or after, another one?  Then of a thread its program is said, too. */
bool process_several_programs(const struct sonde_trace *trace);

/* Is there more to show than one program with its children, in each rank? */
bool process_tree_is_worth(const struct sonde_trace *trace);

/* A table of at most @limit entries; @width: of the terminal, 0: commands are not cut. */
void process_tree_print(const struct process_tree *tree, FILE *out, uint64_t limit, unsigned int width, bool utf8);

/* The name of its program, without folders, or of the process; never "". */
const char *process_name(const struct process_entry *e);

/* How it ended, in words: "exit status 1", "executed ls", "not recorded", ""; for people, not cleaned. */
void process_ending(const struct process_entry *e, char text[static PROCESS_ENDING_MAX]);

/* How the program of a part ended, likewise. */
void program_ending(const struct sonde_trace_rank *part, char text[static PROCESS_ENDING_MAX]);

/* The name of a program without its folders; never "". */
const char *program_name(const char *path);

#endif
