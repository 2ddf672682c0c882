/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An opened trace, as the files of this part share it. */
#ifndef SONDE_TRACEFMT_READ_TRACE_INTERNAL_H
#define SONDE_TRACEFMT_READ_TRACE_INTERNAL_H

#include "tracefmt/include/sonde/trace.h"
#include "tracefmt/read/chosen.h"
#include "tracefmt/read/infile.h"
#include "tracefmt/read/time/nodes.h"
#include "tracefmt/read/switches.h"
#include "tracefmt/read/time/timeline.h"

/* Memory that is freed all at once. */
struct tf_arena {
	struct tf_arena_block *block;
};

/* @n bytes of zeros, aligned for anything; NULL: no memory. */
void *tf_arena_alloc(struct tf_arena *a, size_t n);
char *tf_arena_strdup(struct tf_arena *a, const char *s);
void tf_arena_free(struct tf_arena *a);

/* A growing list of pointers. */
struct tf_list {
	void **v;
	size_t n;
	size_t room;
};

__attribute__((warn_unused_result)) bool tf_list_add(struct tf_list *l, void *p);

/* Sets element @i, below @limit, filling up with NULL.  False: no memory. */
__attribute__((warn_unused_result)) bool tf_list_set(struct tf_list *l, size_t i, void *p);
static inline void *tf_list_get(const struct tf_list *l, uint64_t i)
{
	return i < l->n ? l->v[i] : NULL;
}

/* What has been seen by its name; see tf_trace_function() and its like. */
struct tf_names {
	struct {
		uint64_t hash;
		void *thing;
	} *slot;
	size_t n;
	size_t room; /* a power of 2, or 0 */
};

struct tf_thread_in {
	struct sonde_trace_thread pub;
	const struct tf_part *part;
	struct tf_infile file;
	const char *name; /* of the file, in its directory */
	struct sonde_trace_count *counts;
	struct sonde_trace_calls *calls; /* from malloc() */
	size_t room_calls;
	uint64_t stated; /* events that its end says it had, without waits */
	uint64_t older;	 /* of these, that were left out */
	bool opened;
};

struct tf_process_in {
	struct sonde_trace_process pub;
	uint64_t start, end; /* ticks; 0: not known */
};

struct tf_exec_in {
	struct sonde_trace_exec pub;
	uint64_t ticks;
	int number; /* of the new program's part */
};

/* One directory. */
struct tf_part {
	struct sonde_trace_rank pub;
	struct tf_timeline timeline; /* its own clock points, and when all has been read that of its node */
	bool shares; /* the timeline is its node's */
	uint64_t first_tsc, last_tsc; /* of its own clock points */
	struct tf_exchange *exchange; /* in the order of the lines */
	size_t nexchanges, room_exchanges;
	struct tf_switches switches;
	struct tf_chosen_in chosen;
	uint64_t id;	 /* of the trace; 0: unknown */
	const char *boot;
	uint64_t start_mono;
	uint64_t end; /* ticks; 0: not known */
	int64_t offset; /* ns to add to CLOCK_MONOTONIC for the time since the start of the trace */
	uint64_t lost_elsewhere;
	struct tf_list object;	 /* struct sonde_trace_object by id */
	double inside, outside; /* ticks */
	bool measured;		/* they were */
	struct sonde_trace_cost cost; /* what pub.cost points to */
	struct tf_list code;	 /* struct sonde_trace_code, by address when all is read */
	struct tf_list function; /* struct sonde_trace_function by id */
	struct tf_list site;	 /* struct sonde_trace_site by id */
	struct tf_list counter;
	bool ended; /* its last line was there */
};

struct sonde_trace {
	struct tf_arena arena;
	const char *dir;
	struct tf_list parts;	   /* struct tf_part */
	struct tf_nodes nodes;
	struct tf_list processes;  /* struct tf_process_in */
	struct tf_list execs;	   /* struct tf_exec_in */
	struct tf_list threads;	   /* struct tf_thread_in */
	struct tf_list modules;
	struct tf_list objects;	   /* struct sonde_trace_object */
	struct tf_list functions;
	struct tf_list counters;
	struct tf_list sites;
	const char *last_path; /* of a function: the next one's is probably the same */
	struct tf_names module_names, function_names, counter_names, file_names;
	size_t bad_ranks;
	struct sonde_trace_message bad_rank;
};

/*
 * The thing of that name, made when there is none yet.  NULL: no memory.
 */
struct sonde_trace_module *tf_trace_module(struct sonde_trace *t, const char *name);
struct sonde_trace_function *tf_trace_function(struct sonde_trace *t, const char *name,
					       const char *path);
struct sonde_trace_counter *tf_trace_counter(struct sonde_trace *t, const char *name,
					     const struct sonde_trace_function *function,
					     const struct sonde_trace_module *module);
void tf_names_free(struct tf_names *n);

/* Processes of a trace that has been opened. */
struct tf_choice {
	const struct sonde_trace *all;
	bool (*want)(const struct sonde_trace_rank *program, int pid, void *arg);
	void *arg;
};

/* Leaves out the parts of which no process is wanted, before they are read. */
void tf_choose_parts(struct sonde_trace *t, const struct tf_choice *c);

/* Leaves out processes and threads of the parts that are left. */
void tf_choose_processes(struct sonde_trace *t, const struct tf_choice *c);

/* The part of @all with the same directory, or NULL; looked for from *@at on, which is moved past it, for they mostly come in the same order. */
const struct tf_part *tf_choice_same(const struct tf_choice *c, const struct tf_part *part, size_t *at);

/*
 * Adds the parts that are in the directory @dir, in their order, without reading them.
 * Errors: E_SYSTEM, E_NOMEM.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status tf_trace_find_parts(struct sonde_trace *t,
										const char *dir);

/* The part of a later program of the same rank; NULL: there is none. */
const struct tf_part *tf_trace_find_program(const struct sonde_trace *t, const struct tf_part *beside, int pid,
					    int number);

/*
 * Reads dir/metadata into *@part.
 * Errors: E_SYSTEM, E_NOMEM, E_NOTRACE, E_VERSION, E_TRUNCATED, E_CORRUPT; @why says more.
 */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_metadata_read(struct sonde_trace *t, struct tf_part *part, const char *dir,
		 struct sonde_trace_message *why);

/* The same from memory, for tf_metadata_read() and for tests. */
__attribute__((warn_unused_result)) enum sonde_trace_status
tf_metadata_parse(struct sonde_trace *t, struct tf_part *part, const char *text, size_t size,
		  struct sonde_trace_message *why);

/* The thread with file @name; made, if @make, when there is none yet.  NULL: none, or no memory. */
struct tf_thread_in *tf_trace_thread(struct sonde_trace *t, const struct tf_part *part,
				     const char *name, bool make);

/* Time since the start of the trace, at least 0. */
static inline uint64_t tf_part_time(const struct tf_part *part, uint64_t ticks)
{
	int64_t ns = tf_timeline_ns(&part->timeline, ticks);

	if (__builtin_add_overflow(ns, part->offset, &ns))
		return INT64_MAX;
	return ns < 0 ? 0 : (uint64_t)ns;
}

#endif /* SONDE_TRACEFMT_READ_TRACE_INTERNAL_H */
