/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Caches, simulated in the simplest way: a set is its ways, all of which are looked at; no access is left out, no level is shared,
 * and policy OPT looks at all that is to come.
 */
#ifndef SONDE_TESTS_UNIT_ANALYSIS_CACHEREFERENCE_H
#define SONDE_TESTS_UNIT_ANALYSIS_CACHEREFERENCE_H

#include "analysis/cache/simulate.h"

#define MAX_WAYS 64
#define MAX_SEEN 20000
#define NONE UINT64_MAX

struct ref_line {
	uint64_t line; /* NONE: free */
	int modified;
	uint64_t time; /* LRU: of its last use; FIFO: when it was put in; OPT: when it is used next */
	int age;       /* QLRU */
};

struct ref_set {
	struct ref_line v[MAX_WAYS];
	int right[2 * MAX_WAYS]; /* tree: the victim is in the right half of this node */
	unsigned int last;	 /* NMRU: way */
};

/* Asked for at least once. */
struct ref_seen {
	uint64_t line, time; /* of its last use; 0: a fully associative cache does not have it */
};

/* Of an instruction. */
struct ref_stride {
	uint64_t insn, last, by;
	int known, moved;
};

/* Lines that a level is asked for, in order. */
struct ref_log {
	uint64_t *v;
	size_t n, room;
};

struct ref_level {
	const struct cache_level *what;
	struct ref_stride strides[16];
	struct ref_log log;
	const struct ref_log *future; /* OPT: of the same accesses, from an earlier run */
	struct ref_seen *seen;
	size_t nseen;
	struct ref_set *set;
	uint64_t random, time;
	struct cache_count count;
};

struct ref {
	unsigned int n;
	uint64_t insn; /* of the access */
	struct {
		unsigned int at;
		uint64_t addr;
	} ahead[64];
	unsigned int nahead;
	struct ref_level *level[CACHE_LEVELS], own[CACHE_LEVELS];
	struct ref *cores; /* all; NULL: it is alone */
	unsigned int ncores;
};

struct ref *ref_new(const struct cache_level *levels, unsigned int n);
void ref_free(struct ref *r);

/* An access to all lines that it has bytes in, and what is prefetched after each. */
void ref_take(struct ref *r, const struct mt_access *v);

/*
 * Level @at is asked for a line.  Returns whether what is read was modified in an exclusive level that gave it up.  @ahead: it is
 * prefetched.
 */
int ref_ask(struct ref *r, unsigned int at, uint64_t addr, int reads, int writes, int ahead);
/* A line comes from the level before. */
void ref_receive(struct ref *r, unsigned int at, uint64_t addr, int modified);
struct ref_line *ref_look(struct ref_level *l, uint64_t line);
struct ref_line ref_remove(struct ref_level *l, uint64_t line);
int ref_exclusive(const struct ref *r, unsigned int at);

/* ---- cachecases.c: what simulators are given, and what they have counted ---- */

/* A number below @below; the same ones in each run. */
uint64_t any(uint64_t below);
/* Accesses are below it. */
extern uint64_t farthest;
/* Mostly near each other, some far, some over two lines or more. */
struct mt_access any_access(void);
struct cache_level level(uint64_t sets, uint64_t ways, uint64_t line, enum cache_policy policy, bool through);
/* One to four levels of all kinds, without cores, OPT and prefetching. */
struct cache_system any_system(void);
/* Of all instructions. */
void sum_up(const struct cache_sim *sim, size_t system, struct cache_count *sums);

#endif
