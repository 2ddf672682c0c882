/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde memory`: a profile of memory accesses (launcher/memory/profile/memprofile.h) by function, loop, line or
 * instruction.  memory.c has the options, memory-read.c reads the trace, memory-shared.c shares that
 * among analysis ranks, memory-rows.c makes rows of the profiles of all ranks, memory-caches.c says
 * what they are worth, memory-accessed.c names what was accessed, memory-table.c and memory-data.c print them.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMORY_H
#define SONDE_LAUNCHER_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "analysis/names/names.h"
#include "launcher/memory/profile/memprofile.h"
#include "launcher/memory/memsample.h"
#include "launcher/memory/memtrace.h"
#include "launcher/memory/memwhere.h"
#include "launcher/common/caches.h"
#include "launcher/common/options.h"
#include "sonde/trace.h"

struct tf_buf;

enum memory_by { MEMORY_BY_FUNCTION, MEMORY_BY_LOOP, MEMORY_BY_LINE, MEMORY_BY_BLOCK, MEMORY_BY_INSTRUCTION,
		 /* by what was accessed: */
		 MEMORY_BY_VARIABLE, MEMORY_BY_FIELD, MEMORY_BY_ALLOCATION, MEMORY_BY_TYPE };

static inline bool memory_by_name(enum memory_by by)
{
	return by >= MEMORY_BY_VARIABLE;
}

#define MEMORY_BYS "function\0loop\0line\0block\0instruction\0variable\0field\0allocation\0type\0" /* as enum memory_by */


/* Flags for memwhere_new(). */
unsigned int memory_where(enum memory_by by, bool mangled);
/* Has the trace what rows by that are made of?  0, or EXIT_USAGE after a message. */
int memory_check_by(enum memory_by by, const struct sonde_trace *trace, const char *dir) __attribute__((warn_unused_result));

/* What people call the place, or what is around it; for free().  NULL: no memory. */
char *memory_name(const struct memplace *p, enum memory_by by);

/* What is said of a row by what was accessed.  Members are NULL where they are not known, or differ within the row. */
struct memory_accessed {
	const char *kind, *how; /* static */
	const char *type, *object, *scope, *file;
	int line;
	const char *callers; /* of allocations: as in struct nm_variable */
};
struct memory_accessed memory_accessed(const struct nm_name *name, enum memory_by by);
/* As memory_name(). */
char *memory_accessed_name(const struct nm_name *name, enum memory_by by);

/* What a row is called, and where that is.  Strings are the key's, but for those that are static. */
struct memory_key {
	char *name;		/* for people */
	char *path, *function, *file; /* NULL: not known, or does not belong to what rows are made by */
	char *type;		/* by what was accessed; NULL: not known */
	char *callers;		/* of allocations: a line each; NULL: not known */
	const char *kind, *how; /* by what was accessed: static; else NULL */
	uint64_t address;	/* in the file: of the function, the loop, the block or the instruction; by line: 0 */
	int line;		/* 0: not known; of a loop: where it begins */
	unsigned int depth;	/* of the loop; 0: outside of loops */
};

/* Of what is at @p, for rows by @by.  False: no memory; what there is is to be freed all the same. */
bool memory_key_make(struct memory_key *key, const struct memplace *p, enum memory_by by) __attribute__((warn_unused_result));
void memory_key_free(struct memory_key *key);
int memory_key_compare(const struct memory_key *a, const struct memory_key *b);

/* " (global, struct particle[100], solve.c:12)"; nothing unless rows are by what was accessed. */
void memory_print_accessed(const struct memory_key *key, FILE *out);

/* Accesses by how they were named. */
struct memory_named {
	uint64_t n[NM_HOWS][2]; /* [1]: the name is not that of a variable or allocation */
	uint64_t ambiguous;	/* likewise */
};
void memory_named_add(struct memory_named *named, const struct nm_name *name, uint64_t accesses);
/* @all: accesses, of which these are. */
void memory_print_named(const struct memory_named *named, uint64_t all, FILE *out);
/* Members of an object that is begun. */
void memory_json_named(struct tf_buf *b, const struct memory_named *named);

struct memory_row {
	struct memory_key key;	/* rows of the same key are one */
	bool ambiguous;		/* something of another file has the same name; set by memory_rows_sort() */
	char *expression;	/* of an instruction with tags: what it accesses, in the source; else NULL */
	struct memprofile_insn sum;
	struct memprofile_group *groups; /* MEMPROFILE_GROUPS; NULL: not sampled */
	uint64_t lines;		/* footprint, in cache lines; added up over ranks */
};

/* What all rows have in common. */
struct memory_about {
	struct caches caches;	/* none is empty */
	const char *caches_of;	/* in words */
	bool sampled;
	struct sonde_trace_sampled how; /* if they are */
	double known_to;	/* the number of all accesses, relatively */
};

/*
 * @trace: NULL: there is none yet.  @caches: NULL: those of the machine where it was recorded, or else of this one.
 */
struct memory_about memory_about(const struct sonde_trace *trace, const struct caches *caches);
struct memprofile_options memory_profile_options(const struct memory_about *about, bool no_stack);

/* Passes to a thread's profile how the thread was sampled: @sampled, NULL if that is not known. */
void memory_profile_sampled(struct memprofile_thread *t, const struct sonde_trace_sampled *how,
			    const struct sonde_trace_thread_sampled *sampled);

struct memory_rows {
	struct memory_row **v;
	size_t n, room;
	void *tree;		/* of tsearch(3) */
	struct memory_row total;
	uint64_t looked_at;	/* the most of memprofile_sampled() */
	struct memory_about about; /* set by who makes the rows */
	struct memprofile_curve *curves; /* MEMPROFILE_GROUPS; NULL: not sampled */
	bool chosen;		/* some functions only */
	bool tagged;		/* a row has an expression */
	struct memory_named named; /* if they are by what was accessed */
};

/*
 * Adds the profile of a rank, places by @where; only functions of @sel (NULL: all).  False after a message.
 */
bool memory_rows_add(struct memory_rows *rows, struct memprofile *p, struct memwhere *where,
		     enum memory_by by, struct select *sel)
	__attribute__((warn_unused_result));
void memory_rows_free(struct memory_rows *rows);

struct memory_reading {
	enum memory_by by;
	bool no_stack, mangled;
	struct select *select; /* NULL: all functions */
	bool shared; /* by all analysis ranks, see launcher/ranks/ranks.h: once in a command */
};

/*
 * Rows of all ranks and threads that were chosen, from profiles that were kept or are made; rows->about is set.  Adds to *damage how
 * many places cannot be read.  Returns 0, or EXIT_USAGE after a message.
 */
int memory_rows_read(struct memory_rows *rows, const struct memtrace *t, const struct memory_reading *how, uint64_t *damage)
	__attribute__((warn_unused_result));

/* Expressions of the source for rows by instruction, of files with tags that are as they were recorded.  False: no memory. */
bool memory_rows_tag(struct memory_rows *rows, const struct sonde_trace *trace) __attribute__((warn_unused_result));

/* Keys to sort by, for the option's table; largest first. */
#define MEMORY_SORTS "bytes\0accesses\0loads\0stores\0seq\0strided\0random\0footprint\0misses\0L1\0L2\0L3\0L4\0name\0"
void memory_rows_sort(struct memory_rows *rows, const char *key);
/* The cache of a key; -1: it is none. */
int memory_sort_cache(const char *key);

static inline uint64_t memory_accesses(const struct memprofile_insn *s)
{
	return s->accesses[MD_LOAD] + s->accesses[MD_STORE] + s->accesses[MD_MODIFY];
}

/* A modification moves its bytes twice. */
static inline uint64_t memory_bytes(const struct memprofile_insn *s)
{
	return s->bytes[MD_LOAD] + s->bytes[MD_STORE] + 2 * s->bytes[MD_MODIFY];
}

static inline uint64_t memory_loads(const struct memprofile_insn *s)
{
	return s->accesses[MD_LOAD] + s->accesses[MD_MODIFY];
}

static inline uint64_t memory_stores(const struct memprofile_insn *s)
{
	return s->accesses[MD_STORE] + s->accesses[MD_MODIFY];
}

static inline double memory_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

/* An estimate; the error is 0 if all accesses were recorded, or nothing can be said of those that were not. */
enum memory_counted { MEMORY_ACCESSES, MEMORY_BYTES, MEMORY_LOADS, MEMORY_STORES };
struct memory_count {
	double value, error; /* INFINITY: it is in too few bursts for an estimate */
};
struct memory_count memory_count(const struct memory_rows *rows, const struct memory_row *row, enum memory_counted what);

/* What would miss in a cache: fully associative, LRU, the thread's own. */
struct memory_misses {
	bool known;		/* else nothing is */
	double misses;
	double percent, error;	/* of the accesses; the error is of the percent, 0: none */
};
struct memory_misses memory_misses(const struct memory_rows *rows, const struct memory_row *row, unsigned int cache);
/* Of all rows, in a cache of 2^@bits lines. */
struct memory_misses memory_all_misses(const struct memory_rows *rows, unsigned int bits);
static inline unsigned int memory_ncaches(const struct memory_rows *rows)
{
	unsigned int n = 0;

	while (n < CACHES_MAX && rows->about.caches.bytes[n])
		n++;
	return n;
}

/* @limit: rows; @by: title of the last column. */
void memory_print_table(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out);
void memory_print_csv(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out);
bool memory_print_json(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out)
	__attribute__((warn_unused_result));

#endif
