/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory accesses of a trace: its files (memtrace/pack/files.h) through the machine that computes them
 * (memtrace/machine.h).
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMREAD_H
#define SONDE_LAUNCHER_MEMORY_MEMREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/pack/files.h"
#include "memtrace/machine.h"

struct memread;

/*
 * @dir: of one rank, or of a trace without ranks.  NULL after a message; *@none if there is nothing but that the trace
 * has no memory accesses, which is not said.
 */
struct memread *memread_open(const char *dir, bool *none);
void memread_close(struct memread *r);

bool memread_thread(const struct memread *r, size_t i, struct tf_memory_thread *thread);

/* Descriptions of code that could not be read: accesses are missing. */
uint64_t memread_bad_objects(const struct memread *r);

/* The file that an instruction is in, and its link-time address; NULL: none. */
const char *memread_place(const struct memread *r, uint64_t insn, uint64_t *addr);

struct memread_thread;

/* Thread @i's accesses from the beginning.  NULL after a message. */
struct memread_thread *memread_start(struct memread *r, size_t i);
void memread_stop(struct memread_thread *t);

/*
 * The next accesses, in order, the thread's until the next call; 0: there are no more.  Where something is missing
 * or damaged it goes on behind: *gaps has been counted up.
 */
size_t memread_next(struct memread_thread *t, const struct mt_access **v, uint64_t *gaps);

/* Was recording off in between?  Of what memread_next() returned last, and what it had returned before. */
bool memread_was_off(const struct memread_thread *t);

/* When the chunk began that they are from, or that proved that they happened. */
uint64_t memread_tsc(const struct memread_thread *t);

/* Bursts of a sampled stream: sums of their ticks, of the accesses in them, squares and products of these. */
struct memread_bursts {
	uint64_t n; /* that have an end; 0: it is not sampled */
	double ticks, accesses, ticks2, accesses2, both;
	uint64_t first, last; /* TSC: from the first one's begin to the last chunk */
};

/* After memread_count(). */
void memread_bursts(const struct memread_thread *t, struct memread_bursts *b);

/* In place of memread_next(): all that is left.  *gaps likewise. */
void memread_count(struct memread_thread *t, bool stack, struct mt_counts *counts, uint64_t *gaps);

#endif
