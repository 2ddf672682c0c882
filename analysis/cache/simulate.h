/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the accesses of one thread do in the caches and TLBs of one or more systems, by instruction.
 *
 * The thread has each of the systems for itself, empty at first; but for systems with cores (cores.h), where accesses are those of all
 * threads, in the order that they are given in.  An
 * access touches all lines that it has bytes in; one that loads and stores (a modification) asks for each line once.  What
 * prefetch instructions would bring is left out.
 *
 * What levels of several systems have in common is simulated once: see simulate.c.
 */
#ifndef SONDE_ANALYSIS_CACHE_SIMULATE_H
#define SONDE_ANALYSIS_CACHE_SIMULATE_H

#include "analysis/cache/stream.h"
#include "memtrace/machine.h"

struct cache_insn {
	uint64_t insn;	   /* its address in the program */
	uint64_t accesses;
	uint64_t loads, stores; /* a modification is both */
};

struct cache_sim;

/* Threads that simulate together.  What is counted is the same for any number of them. */
struct cache_crew {
	unsigned int workers; /* at most, with the one that calls us; 0, 1: that one alone */
	/*
	 * Others that have nothing to do are to call work(@arg, slot), each with a slot of its own from 1 to @most - 1; it returns at once.
	 * What it returns is given to finish(), once: nobody begins any more, and who has begun has returned when it does.
	 */
	void *(*begin)(unsigned int most, void (*work)(void *arg, unsigned int slot), void *arg);
	void (*finish)(void *help);
};

struct cache_sim_options {
	bool classify;	/* say why caches miss (shadow.h); not for systems with prefetchers or policy OPT */
	/*
	 * Not for systems with cores: One in so many sets is simulated, a power of two, and stands for the others; 0, 1: all.  All are where there are not at least
	 * twice as many that differ in all levels.  Not together with classify, and of systems with prefetchers all are.
	 */
	uint64_t one_in;
	/* Lives as long as the simulator; NULL: who calls us does all.  Where there is one, there are counts after cache_sim_end() alone. */
	const struct cache_crew *crew;
};

/* @systems have to live as long.  @o: NULL: all 0.  NULL: no memory. */
struct cache_sim *cache_sim_new(const struct cache_system *systems, size_t n, const struct cache_sim_options *o);
void cache_sim_free(struct cache_sim *sim);

/* For systems with cores: what is taken from now on is of this thread, the first is 0. */
void cache_sim_thread(struct cache_sim *sim, size_t thread);

/* @stack: accesses with MD_STACK, too.  False: no memory; all that can be done then is cache_sim_free(). */
bool cache_sim_take(struct cache_sim *sim, const struct mt_access *v, size_t n, bool stack)
	__attribute__((warn_unused_result));

/*
 * That was all.  Levels with policy OPT, and those after them, are simulated now: until then what they are asked for takes 20
 * bytes each.  False: as above.
 */
bool cache_sim_end(struct cache_sim *sim) __attribute__((warn_unused_result));

/* Adds what @from has counted, of the same systems, without cores, with the same options.  False: no memory; all that can be done then is to free. */
bool cache_sim_add(struct cache_sim *to, const struct cache_sim *from) __attribute__((warn_unused_result));

/* The i-th, in the order of their first accesses; false: there are no more. */
bool cache_sim_insn(const struct cache_sim *sim, size_t i, struct cache_insn *insn);
/* Of the i-th instruction, by level of the system; those that it does not have are 0.  Estimates if one_in is not 1. */
void cache_sim_counts(const struct cache_sim *sim, size_t i, size_t system, struct cache_count counts[static CACHE_LEVELS]);

/* Misses of a level by simulated group of sets, of which each stands for so many. */
struct cache_groups {
	uint64_t n, one_in;
	uint64_t misses[CACHE_STREAM_GROUPS];
};

/* Adds those of a level; n is 0 at first, and stays 0 if all sets are simulated. */
void cache_sim_groups(const struct cache_sim *sim, size_t system, unsigned int level, struct cache_groups *to);

#endif
