/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of machines' caches, and how they are read from YAML: one document a system, as in systems.yaml.
 *
 *	name: opteron
 *	about: AMD Opteron 240
 *	source: where the figures are from
 *	caches:				from the one next to the core to that next to memory
 *	  - { name: L1, size: 64K, ways: 2, line: 64, policy: lru, write: back }
 *	  - { name: L2, size: 1M, ways: 16, line: 64 }
 *	tlbs:
 *	  - { name: DTLB, entries: 32, ways: full, page: 4K }
 *
 * ways may be "full"; policy: lru (if none is given), fifo, random (with "seed: N"), tree-plru, nmru, opt or a QLRU_H00_M1_R0_U1;
 * write: back (if none is given) or through; prefetch: next-line or stride; holds: any (if it is not given), inclusive or exclusive.  tlbs, about and source may
 * be left out.  With "cores: N", threads can be simulated on cores, the i-th on core i modulo N, or where "threads: [0, 2, 0]" says; of
 * a cache then "shared: 2" says how many cores in a row have each together, or "all"; 1 if it is not given.  Left out may be latencies: of a level, "latency: 4", of memory, "memory: 200", and of what no TLB has, "walk: 30".
 */
#ifndef SONDE_ANALYSIS_CACHE_SYSTEM_H
#define SONDE_ANALYSIS_CACHE_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CACHE_CACHES = 4,
	CACHE_TLBS = 2,
	CACHE_LEVELS = CACHE_CACHES + CACHE_TLBS,
	CACHE_PLRU_WAYS = 64,	   /* at most */
	CACHE_QLRU_WAYS = 32,
	CACHE_MAX_LINES = 1 << 26, /* of a level */
	CACHE_CORES = 64,
	CACHE_THREADS = 64,	   /* that are placed one by one */
};

enum cache_policy { CACHE_LRU, CACHE_FIFO, CACHE_RANDOM, CACHE_TREE_PLRU, CACHE_NMRU, CACHE_QLRU,
	/* The line leaves that is asked for latest, or never again: Belady, "A study of replacement algorithms for a virtual-storage
	   computer", 1966.  What is asked for has to be known. */
	CACHE_OPT };

/*
 * What a cache brings that nobody has asked for yet.  NEXT_LINE: with a line that it misses the next one.  STRIDE: where an
 * instruction has asked for lines at the same distance twice, the next at this distance (a simple form of Chen and Baer,
 * "Effective Hardware-Based Data Prefetching for High-Performance Processors", 1995).  Neither goes beyond a page of 4 KiB.
 */
enum cache_prefetch { CACHE_NO_PREFETCH, CACHE_NEXT_LINE, CACHE_STRIDE };

/* A policy with an age of 0 to 3 for each line, as uops.info/cache.html names them: QLRU_Hxy_Mi_Rr_Uu, and _UMO. */
struct cache_qlru {
	uint8_t hit3, hit2; /* x, y: the age that a hit gives to a line of age 3, 2; to others: 0 */
	uint8_t insert;	    /* i: the age of a new line */
	uint8_t replace;    /* r: 0, 1: the first free slot is taken, 2: the last one; then the first line of age 3 leaves, or (1) the first */
	/*
	 * u: If no line has age 3, all get older: 0: until one has it; 1: likewise, but not the one that was used; 2: by 1; 3: by 1,
	 * but not the one that was used.
	 */
	uint8_t update;
	bool on_miss;	    /* only before a new line is put in */
};

enum cache_holds { CACHE_ANY, CACHE_INCLUSIVE, CACHE_EXCLUSIVE };

struct cache_level {
	char *name;
	uint64_t lines;	   /* or entries: a multiple of the ways */
	uint64_t ways;
	uint64_t line;	   /* bytes of a line, or of a page: a power of two, at least 8, no less than that of the level before */
	enum cache_policy policy;
	uint64_t seed;	   /* of CACHE_RANDOM */
	struct cache_qlru qlru; /* of CACHE_QLRU, of caches alone */
	enum cache_holds holds;
	enum cache_prefetch prefetch; /* of caches that are not exclusive */
	bool through;	   /* write-through without allocation; else write-back with write-allocate */
	uint64_t shared;   /* if the system has cores, of caches: how many have it together; divides that of the next level */
	uint64_t latency;  /* cycles that what is found here takes; CACHE_NO_LATENCY: not said */
};

struct cache_system {
	char *name, *about, *source; /* about, source: NULL if not said */
	unsigned int ncaches, ntlbs;
	struct cache_level level[CACHE_LEVELS]; /* ncaches caches, then ntlbs TLBs */
	unsigned int cores;	/* 0: each thread has a system for itself */
	unsigned int nthreads;
	uint8_t thread[CACHE_THREADS]; /* cores of the first threads; the others take turns */
	uint64_t memory, walk; /* cycles that what is in no cache takes, and a page in no TLB; CACHE_NO_LATENCY */
};

#define CACHE_NO_LATENCY UINT64_MAX

/* Are all latencies of caches and memory said?  All of TLBs and a walk? */
bool cache_has_latencies(const struct cache_system *s);
bool cache_has_tlb_latencies(const struct cache_system *s);

static inline unsigned int cache_levels(const struct cache_system *s)
{
	return s->ncaches + s->ntlbs;
}

/* Can a store of another core take a line away from a cache? */
static inline bool cache_is_coherent(const struct cache_system *s, unsigned int level)
{
	return level < s->ncaches && s->level[level].shared < s->cores;
}

static inline unsigned int cache_core_of(const struct cache_system *s, size_t thread)
{
	return thread < s->nthreads ? s->thread[thread] : (unsigned int)(thread % s->cores);
}

/* Has it a level that is not simulated as accesses come, or that prefetches? */
bool cache_has_policy(const struct cache_system *s, enum cache_policy policy);
bool cache_prefetches(const struct cache_system *s);

#define CACHE_POLICY_MAX 32
/* As in a description. */
void cache_policy_name(const struct cache_level *level, char name[static CACHE_POLICY_MAX]);
const char *cache_holds_name(enum cache_holds holds);
const char *cache_prefetch_name(enum cache_prefetch prefetch);

struct cache_systems {
	struct cache_system *v; /* moves when systems are added */
	size_t n, room;
};

#define CACHE_ERROR_MAX 256

/*
 * Appends the systems of @text; at least one.  False: nothing was added, and @error says what is wrong: "line 3, column 7:
 * ...", or "no memory".
 */
bool cache_systems_parse(struct cache_systems *list, const char *text, size_t bytes, char error[static CACHE_ERROR_MAX])
	__attribute__((warn_unused_result));
void cache_systems_free(struct cache_systems *list);
/* From now on each thread has a system for itself, as if nothing was said of cores. */
void cache_systems_alone(struct cache_systems *list);

#endif
