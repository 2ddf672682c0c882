/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Modules that take memory accesses, while the program runs: they are loaded into our process, and given what the
 * collector has drained of each thread's memory stream.
 *
 * One thread of ours at a time; which one does not matter.  But analysis_chunk() may be called by several, for different threads of the
 * program: modules that keep what they know by thread, and bring a function that merges it, run side by side then; where
 * there are others they take turns.
 */
#ifndef SONDE_LAUNCHER_COLLECT_ANALYSIS_H
#define SONDE_LAUNCHER_COLLECT_ANALYSIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "launcher/module/modfile.h"
#include "tracefmt/write/writer.h"
#include "memtrace/description.h"

struct analysis;
struct opt_list;
struct ring_results;

/* A signal of a fault: says so if it was in a module's code. */
void analysis_fault(int sig);
/* Memory that is shared with the program for compiled code, and its @bytes.  NULL: there is none, or @a is NULL. */
const void *analysis_shared(const struct analysis *a, uint64_t *bytes);

struct analysis_caches {
	const struct opt_list *systems; /* as systems_add() takes them; none: this machine */
	uint64_t one_in;		/* so many sets one is simulated; 0: all */
	bool alone;			/* what it takes is measured in the thread that does it, so no other one helps */
};

/*
 * Loads those of @modules that take memory accesses.  @sampled: how the streams are, NULL: they are not.  *@out: NULL if there are none.  Returns 0,
 * or EXIT_USAGE after a message.  @modules has to live as long.  @caches: what is simulated, if a module wants that.
 */
int analysis_new(const struct modfile_list *modules, const struct sonde_trace_sampled *sampled,
		 const struct analysis_caches *caches, struct analysis **out)
	__attribute__((warn_unused_result));
void analysis_free(struct analysis *a);

/*
 * The modules that the program's threads are to hand memory accesses to: @paths, which has room for all of @modules, gets
 * their files (@modules' own), in the order in which analysis_new() has them.  Returns 0, or EXIT_USAGE after a message if
 * one cannot do without our process.
 */
int analysis_inproc(const struct modfile_list *modules, char **paths, size_t *n)
	__attribute__((warn_unused_result));

/*
 * May it be the program's threads and our process by turns?  What modules know of a thread is in both then, and merged when
 * it ends.
 */
bool analysis_may_move(const struct modfile_list *modules);
/* May all run for several threads at once? */
bool analysis_apart(const struct modfile_list *modules);
bool analysis_merges(const struct analysis *a);

/*
 * Code is to be made for them, too: memory for that, which the program is to inherit.  -1: there is none, or it is not wanted.
 * Then for @run, the address that its code has in the program, before anything is known of what is instrumented; 0: none.
 */
int analysis_compile(struct analysis *a);
void analysis_compile_at(struct analysis *a, uint64_t run);

/* Makes some of the code that the program's threads ask for.  Was there anything? */
bool analysis_serve(struct analysis *a);

/* Where the modules' sums go; the modules themselves are recorded there, too. */
void analysis_trace(struct analysis *a, struct tf_writer *w);

/* Code whose accesses are to come. */
void analysis_object(struct analysis *a, const struct md_object *object, const struct md_node *nodes,
		     const struct md_op *ops);

struct analysis_thread;

/* A thread begins.  NULL: no memory; the others do nothing then. */
struct analysis_thread *analysis_begin(struct analysis *a, pid_t pid, pid_t tid, const char *name);

/* Its next chunk, which is copied from what the program can write to.  @lost: some before it are missing. */
void analysis_chunk(struct analysis_thread *t, const void *chunk, size_t bytes, bool lost);

/* Do modules want to know how many accesses there are, and nothing else of them? */
bool analysis_counts_only(const struct analysis *a);

/* So many accesses were made by the thread, and so many bytes, by enum md_kind.  @lost: and some more. */
void analysis_counts(struct analysis_thread *t, const uint64_t *accesses, const uint64_t *bytes, bool lost);

/*
 * What the thread has handed to the same modules itself: before its first chunk here, or, of modules that merge, at its end.
 * It is the program's memory, and may hold anything.
 */
void analysis_results(struct analysis_thread *t, const struct ring_results *r);

/* How much of that was done by compiled code, for analysis_finish() to tell. */
void analysis_ran(struct analysis *a, uint64_t entered, uint64_t interpreted);

/*
 * It has ended: after its last chunk, or an MD_CHUNK_END.  Adds its sums to those in @counters (RING_COUNTERS of them,
 * by tf_counter.id), and frees @t.  @sampled: NULL: it was not.
 */
void analysis_end(struct analysis_thread *t, const struct sonde_trace_thread_sampled *sampled, uint64_t *counters);

/* The trace in @dir is complete: has the modules print, into files in there, and with @show to standard error. */
void analysis_finish(struct analysis *a, const char *dir, bool show);

#endif
