/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An entry's text file, made of a trace: outputs.c opens it, outputs-calls.c and outputs-values.c fill it from calls, outputs-blocks.c
 * from counts of blocks, outputs-memory.c from memory accesses.
 */
#ifndef SONDE_LAUNCHER_CONFIG_OUTPUTS_H
#define SONDE_LAUNCHER_CONFIG_OUTPUTS_H

#include <stdio.h>

#include "launcher/config/resolve.h"
#include "launcher/trace/pick.h"

struct config_making {
	struct config_files *f;
	const struct config_entry *entry;
	const struct config_found *found;
	const char *dir;		/* of the trace */
	struct sonde_trace *trace;
	struct pick pick;		/* the ranks that are asked for */
	FILE *out;
};

/*
 * Writes the files of all entries that have one, from the trace in @dir; of a rank, or of all (-1).  Returns 0, or an exit status after
 * a message for each that could not be written.
 */
int config_outputs(struct config_files *f, const char *dir, int rank) __attribute__((warn_unused_result));
/* Can they be written?  Makes those that are not there.  0, or an exit status after a message. */
int config_outputs_check(const struct config_files *f, int rank) __attribute__((warn_unused_result));

/* ---- between the parts; each returns 0, or an exit status after a message ---- */

int config_make_calls(struct config_making *m);
int config_make_values(struct config_making *m);
int config_make_blocks(struct config_making *m);
int config_make_memory(struct config_making *m);

/* Is the thread one that the entry is about? */
bool config_wants_thread(struct config_making *m, const struct sonde_trace_thread *thread);
/* The same by ids; @trace, @rank_index: where they are from. */
bool config_wants_tid(struct config_making *m, size_t rank_index, int pid, int tid);

/* ---- calls of a thread that the entry is about ---- */

struct config_calls {
	struct config_making *m;
	uint64_t *count;	/* by function: calls so far, of the thread */
	bool *at, *asked;	/* by function: is it at the entry's places? */
	struct config_open *open; /* by depth */
	size_t room;
};

bool config_calls_begin(struct config_calls *c, struct config_making *m) __attribute__((warn_unused_result));
void config_calls_end(struct config_calls *c);

/* Is an argument of this name, or "return", one that the entry names? */
bool config_wants_argument(const struct config_entry *e, const char *name);

/* Calls @take for each event of calls that are wanted.  @take returns false: no memory. */
int config_each_call(struct config_calls *c, bool (*take)(void *arg, const struct sonde_trace_event *ev), void *arg);

#endif
