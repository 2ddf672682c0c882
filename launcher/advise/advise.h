/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde advise': what a trace says should be done about a program, each piece of advice with its evidence.  It computes nothing that
 * another verb does not: it drives their analyses, and draws conclusions.
 *
 *	advise.c	options; which analyses the trace has what they need for, and which option would bring it
 *	list.c		pieces of advice: added, joined, ordered
 *	print.c		text, CSV, JSON
 *	read.c		accesses by instruction and what they are to: profile, alignment, simulated caches
 *	walk.c		how a stream of accesses goes through memory
 *	strides.c	loops that use little of each line: by columns, by fields
 *	align.c		streams that cross lines for where they begin
 *	vector.c	loops that could be vectorized and are not, and why; pointers that do not overlap
 *	caches.c	misses: random accesses, conflicts, what comes back too late; TLBs
 *	code.c		what is in a loop's code, from the program's file; by which compiler
 *	carried.c	what iterations have from each other in registers
 *	counts.c	short trip counts, and small functions that are called often, from blocks
 *	shared.c	lines that threads share
 *	events.c	imbalance in OpenMP, calls and allocations
 *
 * What is inherent gets no advice: pointers that are followed, searches that end when they have found something, bytes that are parsed.
 */
#ifndef SONDE_LAUNCHER_ADVISE_ADVISE_H
#define SONDE_LAUNCHER_ADVISE_ADVISE_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/cache/simulate.h"
#include "launcher/advise/carried.h"
#include "launcher/memory/alignment.h"
#include "launcher/memory/memory.h"
#include "launcher/memory/memtrace.h"
#include "launcher/trace/pick.h"

enum advice_kind {
	ADVICE_STRIDE,
	ADVICE_FIELDS,
	ADVICE_ALIGNMENT,
	ADVICE_ALIASING,
	ADVICE_VECTOR,
	ADVICE_TRIPS,
	ADVICE_SHARING,
	ADVICE_CACHE,
	ADVICE_CONFLICT,
	ADVICE_TLB,
	ADVICE_IMBALANCE,
	ADVICE_CALLS,
	ADVICE_ALLOCATION,
	ADVICE_KINDS
};

/* What shares are of. */
enum advice_of {
	ADVICE_OF_ACCESSES, /* without push, pop, call and ret */
	ADVICE_OF_MISSES,   /* in the first level of the simulated system; the others follow */
	ADVICE_OF_INSNS = ADVICE_OF_MISSES + CACHE_LEVELS,
	ADVICE_OF_TIME,	    /* of the threads, ns */
	ADVICE_OF_TEAMS,    /* of OpenMP's teams, ns */
	ADVICE_OFS
};

/* Where it is; strings are copied.  Members are NULL or 0 where they are not known, or do not belong to it. */
struct advice_place {
	const char *function, *path, *file, *variable;
	int line;
	uint64_t address; /* in the file at path: of the loop, the function or the call */
	bool loop;
};

struct advice {
	enum advice_kind kind;
	enum advice_of of;
	double amount;
	double share;	  /* of all, set by advise_sort() */
	struct advice_place place;
	char *evidence, *todo; /* half sentences: "a: b." */
	uint32_t alike;	  /* others that this one stands for, in other processes */
	size_t round;	  /* struct advise's, when it was added */
};

struct advise_options {
	struct pick pick;
	const char *system, *format;
	uint64_t limit;
	bool all, csv, json, mangled;
};

#define ADVISE_LEAST 0.01 /* share: what is less is not worth a sentence */
#define ADVISE_ACCESSES 1000 /* likewise: of a loop */

struct advise_codes;

struct advise {
	const struct advise_options *o;
	const char *dir;
	struct memtrace t;
	struct cache_systems systems;	/* one */
	struct advice *v;
	size_t n, room;
	double whole[ADVICE_OFS];
	char missing[512];	/* what was not looked at, and by which options it would be */
	struct advise_codes *codes;
	size_t round;		/* the process that is looked at: only of different ones pieces of advice are joined */
	uint64_t damage, few;	/* few: pieces below ADVISE_LEAST */
	bool no_code;		/* the file that a loop is in could not be read, or is another one */
	bool failed;		/* no memory */
};

/* ---- list.c ---- */

const char *advice_kind_word(enum advice_kind kind);
/* "L1 misses" */
void advise_of_text(const struct advise *a, enum advice_of of, char text[static 64]);

/* @like: kind, of, amount, place.  @todo and @evidence are malloc'ed and given away; NULL: no memory. */
void advise_add(struct advise *a, const struct advice *like, char *evidence, char *todo);
/* sprintf() into memory; NULL: none. */
char *advise_text(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Not looked at: @what, since the trace lacks what @option brings. */
void advise_lacks(struct advise *a, const char *what, const char *option);
/* Largest share first; what is below ADVISE_LEAST is left out. */
void advise_sort(struct advise *a);
void advise_free(struct advise *a);

/* ---- print.c ---- */

void advise_print_text(const struct advise *a, uint64_t limit, FILE *out);
void advise_print_csv(const struct advise *a, uint64_t limit, FILE *out);
bool advise_print_json(const struct advise *a, uint64_t limit, FILE *out) __attribute__((warn_unused_result));

/* ---- read.c ---- */

/* Accesses of one instruction to one variable or field, by all threads of a process. */
struct advise_stream {
	const struct memplace *place;	    /* with its name */
	const struct memprofile_insn *sum;
	const struct alignment *at;	    /* where, and how they are aligned */
	struct cache_count counts[CACHE_LEVELS];
	bool advised;			    /* a piece of advice has its misses already */
};

/* Those of a loop beside each other; of functions those that are in no loop. */
struct advise_loop {
	struct advise_stream *v;
	size_t n;
	const struct memplace *place;	/* of one of them */
	uint64_t accesses, lines;	/* lines: footprint */
	bool pushes;			/* it has calls, or pushes */
	bool inner;			/* no other loop of the trace is in it */
};

struct advise_rank {
	struct advise *a;
	struct mt_read *read;
	struct memnames *names;
	struct memwhere *where;
	struct memprofile *profile;
	struct cache_sim *sim;
	struct alignments alignments;
	struct advise_stream *streams;
	size_t nstreams, room_streams;
	struct advise_loop *loops;
	size_t nloops, room_loops;
	/* of the thread */
	struct memprofile_thread *thread;
	struct cache_sim *thread_sim;
	bool failed;
};

/* Reads all accesses, and gives each process's loops to what looks at them.  0, or EXIT_USAGE after a message. */
int advise_memory(struct advise *a) __attribute__((warn_unused_result));

struct advice_place advise_place(const struct advise_loop *l);
/* "a[].x", "memory of malloc in f"; NULL: it has no name that a user knows, or no memory.  malloc'ed. */
char *advise_variable(const struct advise_stream *s);
static inline uint64_t advise_accesses(const struct advise_stream *s)
{
	return memory_accesses(s->sum);
}
/* The variables are the same, as far as they have names. */
bool advise_same_variable(const struct advise_stream *a, const struct advise_stream *b);
static inline unsigned int advise_ncaches(const struct advise *a)
{
	return a->systems.v[0].ncaches;
}

/* Are there so many misses in a level that it is worth looking at who has them? */
static inline bool advise_misses_matter(const struct advise *a, unsigned int level)
{
	return a->whole[ADVICE_OF_MISSES + level] >= 0.001 * a->whole[ADVICE_OF_ACCESSES];
}

/* ---- walk.c ---- */

struct advise_walk {
	int64_t by;	/* the most frequent distance */
	double share;	/* of all moves: 0 to 1 */
	double run;	/* so many accesses in a row are as far apart, on average */
	bool passes;	/* it is known how passes follow each other: */
	int64_t again;	/* one begins so far from where the one before did; where |by| is large, but for multiples of it */
	double random;	/* share of moves */
};
struct advise_walk advise_walk_of(const struct memprofile_insn *sum);

static inline uint64_t advise_far(int64_t by)
{
	return by < 0 ? -(uint64_t)by : (uint64_t)by;
}

/* ---- what looks at a loop ---- */

void advise_strides(struct advise_rank *r, struct advise_loop *l);
void advise_alignment(struct advise_rank *r, struct advise_loop *l);
void advise_vector(struct advise_rank *r, struct advise_loop *l);
void advise_caches(struct advise_rank *r, struct advise_loop *l);

/* ---- code.c ---- */

/* A loop, as it is in the file. */
struct advise_code {
	bool known;	/* else nothing is: the file is gone, or another one */
	bool calls, inner; /* it has calls, or a loop in it */
	unsigned int exits; /* blocks that control can leave it from */
	bool alone;	/* the loop around it has no other loop and no call in it; false: there is none, too */
	bool packed;	/* floating point operations on vectors */
	struct advise_carried carried;
	bool branches;	/* but for those that leave it, or go round it */
	const char *producer; /* the compiler, with its options: as DWARF says; NULL: not known */
	unsigned int pointers; /* parameters of the function that are pointers or references */
	unsigned int restricted; /* of those: restrict */
};
/* @path: as recorded; @entry: of the function, @loop: of the loop's head, in the file. */
struct advise_code advise_code_of(struct advise *a, const char *path, uint64_t entry, uint64_t loop);
/* How many instructions a function has; 0: not known. */
unsigned int advise_function_insns(struct advise *a, const char *path, uint64_t entry);
/* Of an instruction: a tag's line of a branch in its loop that was not converted; 0: none, or no tags.  *vectorized: it says so. */
uint32_t advise_tag_branch(struct advise *a, const char *path, uint64_t addr, bool *vectorized);
void advise_codes_free(struct advise_codes *c);

/* ---- counts.c, shared.c, events.c: 0, or EXIT_USAGE after a message ---- */

int advise_counts(struct advise *a, bool *has) __attribute__((warn_unused_result));
int advise_sharing(struct advise *a) __attribute__((warn_unused_result));
int advise_openmp(struct advise *a) __attribute__((warn_unused_result));
int advise_calls(struct advise *a) __attribute__((warn_unused_result));
int advise_allocations(struct advise *a) __attribute__((warn_unused_result));

#endif
