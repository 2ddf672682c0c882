/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde cache`: the caches of other machines, simulated with the accesses of a trace (analysis/cache/).  cache.c has the
 * options, systems.c finds systems, host.c describes this machine, interleave.c merges threads for those with cores, rows.c adds up what instructions did, print.c and data.c print it.  curve.c
 * has miss-ratio curves in place of simulated systems, lines.c lines that cores take from each other.
 */
#ifndef SONDE_LAUNCHER_CACHE_CACHE_H
#define SONDE_LAUNCHER_CACHE_CACHE_H

#include "analysis/cache/order.h"
#include "analysis/cache/simulate.h"
#include "launcher/common/options.h"
#include "launcher/memory/memory.h"
#include "launcher/memory/memwhere.h"
#include "launcher/select/select.h"
#include "launcher/trace/pick.h"

#include <stdbool.h>
#include <stdio.h>

struct cache_curve;
struct memprofile;
struct tf_buf;

/* ---- systems ---- */

/*
 * Appends what @word names: a system that is shipped, "host" for this machine, or a file; one, or all of the file.  Returns 0,
 * or EXIT_USAGE after a message.
 */
int systems_add(struct cache_systems *list, const char *word) __attribute__((warn_unused_result));
/* All that are shipped, and this machine if it tells its caches. */
int systems_add_all(struct cache_systems *list) __attribute__((warn_unused_result));

/* This machine's caches as YAML, for free(), as the kernel tells them, else the C library.  NULL: neither does, or no memory. */
char *host_here(void) __attribute__((warn_unused_result));
/* Those that the kernel describes in @cpus: CACHES_CPUS, or what is like it.  NULL: it does not, or no memory. */
char *host_describe(const char *cpus) __attribute__((warn_unused_result));

/* "L1 32.00 KiB 8-way, ..."; on @out. */
void systems_describe(const struct cache_system *s, FILE *out);

/* ---- threads on cores ---- */

struct memtrace_thread;
struct cache_lanes;

/* TSC: when something was made at the earliest, and at the latest. */
struct cache_times {
	uint64_t from, to;
};

struct cache_lanes_visitor {
	/* For each process: begin(), take() for some accesses of its threads, the first is 0, end() always.  False: no memory. */
	bool (*begin)(void *arg);
	bool (*take)(void *arg, size_t thread, const struct cache_times *times, const struct mt_access *v, size_t n);
	bool (*end)(void *arg, int pid);
	void *arg;
};

/* Another thread; *lanes: NULL at first.  False: no memory. */
bool cache_lanes_add(struct cache_lanes **lanes, const struct memtrace_thread *thread) __attribute__((warn_unused_result));
/* All of them, process by process; adds to *damage.  False: no memory. */
bool cache_lanes_run(struct cache_lanes *l, const struct cache_lanes_visitor *visitor, uint64_t *damage)
	__attribute__((warn_unused_result));
void cache_lanes_free(struct cache_lanes *l);

/* ---- lines that cores take from each other ---- */

struct cache_line {
	int pid;
	struct cache_order_line line;
};

struct cache_lines {
	const struct cache_system *system;
	struct cache_line *v;
	size_t n, room;
	struct cache_order *order; /* of the process */
};

void cache_lines_free(struct cache_lines *l);
/* As in cache_lanes_visitor. */
bool cache_lines_begin(struct cache_lines *l);
bool cache_lines_take(struct cache_lines *l, size_t thread, const struct cache_times *times, const struct mt_access *v, size_t n,
		      bool stack);
bool cache_lines_end(struct cache_lines *l, int pid);

/* Those that may be taken most often first. */
void cache_lines_table(struct cache_lines *l, uint64_t limit, FILE *out);
void cache_lines_csv(struct cache_lines *l, uint64_t limit, FILE *out);
bool cache_lines_json(struct cache_lines *l, uint64_t limit, FILE *out) __attribute__((warn_unused_result));

/* ---- rows ---- */

struct cache_row {
	struct memory_key key;	/* rows of the same key are one */
	struct cache_insn sum;
	uint64_t insns;		/* instructions that were executed; 0: not known */
	struct cache_count (*counts)[CACHE_LEVELS]; /* by system */
	struct cache_curve *curve; /* NULL: none */
};

struct cache_rows {
	const struct cache_systems *systems;
	struct cache_row **v;
	size_t n, room;
	void *tree;		/* of tsearch(3) */
	struct cache_row total;
	bool classified;	/* misses are */
	bool accessed;		/* rows are by what was accessed */
	struct memory_named named; /* if they are */
	uint64_t one_in;	/* so many sets one is simulated; 0, 1: all */
	struct cache_groups (*groups)[CACHE_LEVELS]; /* of all instructions, by system; NULL: all sets are simulated */
};

/* False: no memory. */
bool cache_rows_init(struct cache_rows *rows, const struct cache_systems *systems, const struct cache_sim_options *o)
	__attribute__((warn_unused_result));
void cache_rows_free(struct cache_rows *rows);

/*
 * Adds what instructions of a thread did, as far as their functions are selected (NULL: all), to rows by @by; or to one row
 * called @thread unless that is NULL.  False: no memory.
 */
bool cache_rows_add(struct cache_rows *rows, const struct cache_sim *sim, struct memwhere *where, enum memory_by by,
		    const char *thread, struct select *sel) __attribute__((warn_unused_result));

/* The row of a place, or of a thread, as below; NULL: no memory. */
struct cache_row *cache_row_for(struct cache_rows *rows, const struct memplace *p, enum memory_by by, const char *thread);
/* cache_rows_add() for curves; @profile is one thread's.  All rows have one or none has. */
bool cache_rows_add_curves(struct cache_rows *rows, struct memprofile *profile, struct memwhere *where, enum memory_by by,
			   const char *thread, struct select *sel) __attribute__((warn_unused_result));

/*
 * Of a trace with the order of blocks: how many instructions the row of a function, a loop or a block has executed, and all of them.  Rows by
 * something else have none.  Returns 0, or EXIT_USAGE after a message.
 */
int cache_rows_add_insns(struct cache_rows *rows, enum memory_by by, const struct pick *pick, const struct select_options *select,
			 const char *dir) __attribute__((warn_unused_result));

/* Misses in a level for each 1,000 instructions; row->insns is known. */
double cache_mpki(const struct cache_row *row, size_t system, unsigned int level);

/*
 * What the row's accesses would take if each waited for the one before: the latency of the level where a line is found, for
 * each line and level that is asked.  The system has latencies; of TLBs it may have none.
 */
uint64_t cache_cycles(const struct cache_row *row, const struct cache_systems *systems, size_t system);

/*
 * Of sets that stand for others: half a 95 % interval of all misses in a level, in percent of them.  0: all of its sets are
 * simulated; INFINITY: it is not known.
 */
double cache_rows_error(const struct cache_rows *rows, size_t system, unsigned int level);

/* By misses in a level of a system, the last one if there are fewer; or by a word of CACHE_SORTS; largest first. */
#define CACHE_SORTS "L1\0L2\0L3\0L4\0accesses\0name\0"
void cache_rows_sort(struct cache_rows *rows, size_t system, const char *key);

/* ---- output ---- */

/* @by: what a row is, in a word. */
void cache_print_table(struct cache_rows *rows, const char *key, uint64_t limit, const char *by, FILE *out);
void cache_print_csv(struct cache_rows *rows, const char *key, uint64_t limit, FILE *out);
bool cache_print_json(struct cache_rows *rows, const char *key, uint64_t limit, const char *by, FILE *out)
	__attribute__((warn_unused_result));
void cache_curve_table(struct cache_rows *rows, const char *key, uint64_t limit, FILE *out);
void cache_curve_csv(struct cache_rows *rows, const char *key, uint64_t limit, FILE *out);
bool cache_curve_json(struct cache_rows *rows, const char *key, uint64_t limit, const char *by, FILE *out)
	__attribute__((warn_unused_result));


/* The last fields of a line, and members of one that is begun, which say where a row is. */
void cache_csv_place(const struct cache_row *row, FILE *out);
/* The line's end: of rows by what was accessed, fields of the columns CACHE_CSV_ACCESSED. */
#define CACHE_CSV_ACCESSED ",kind,named_by,type"
void cache_csv_end(const struct cache_rows *rows, const struct cache_row *row, FILE *out);
void cache_json_place(struct tf_buf *b, const struct cache_row *row);

/* The systems alone, as lines and as JSON. */
void cache_list(const struct cache_systems *list, FILE *out);
bool cache_list_json(const struct cache_systems *list, FILE *out) __attribute__((warn_unused_result));

#endif
