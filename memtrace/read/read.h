/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory accesses of a trace: its files (memtrace/pack/files.h) through the machine that computes them
 * (memtrace/machine.h).
 */
#ifndef SONDE_MEMTRACE_READ_READ_H
#define SONDE_MEMTRACE_READ_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/pack/files.h"
#include "memtrace/machine.h"

struct mt_read;

/*
 * @dir: of one rank, or of a trace without ranks.  NULL: *@status is what mt_files_open() returns, *@why says the same in
 * words.  E_NOTRACE: the trace has no memory accesses.
 */
struct mt_read *mt_read_open(const char *dir, enum sonde_trace_status *status, struct sonde_trace_message *why);
void mt_read_close(struct mt_read *r);

bool mt_read_thread(const struct mt_read *r, size_t i, struct mt_files_thread *thread);

/*
 * Were blocks recorded in place of accesses?  Then each is an access: a load of its code, from its first instruction on, as many bytes as
 * the block has.
 */
bool mt_read_is_of_blocks(const struct sonde_trace_rank *rank);
/* Were blocks recorded, in place of accesses or beside them? */
bool mt_read_has_blocks(const struct sonde_trace_rank *rank);

/* The path of an object whose description contradicts itself; NULL: none. */
const char *mt_read_damaged(const struct mt_read *r);

/* Descriptions of code that could not be read: accesses are missing. */
uint64_t mt_read_bad_objects(const struct mt_read *r);

/* Parts of code.places that could not be read: some names are not known. */
uint64_t mt_read_bad_places(const struct mt_read *r);

/* The file that an instruction is in, and its address there; NULL: it is in no instrumented code. */
const char *mt_read_place(const struct mt_read *r, uint64_t insn, uint64_t *addr);

/* The trace that this was read of, of one rank: NULL: it could not be opened.  Lives as long as @r. */
const struct sonde_trace *mt_read_trace(const struct mt_read *r);

/* The same and all else that the trace says of it. */
struct mt_where {
	struct sonde_trace_place place;
	const struct sonde_trace_object *object; /* which file place.path was; NULL: not known */
	bool has_lines; /* the lines of the object have been recorded: what is not there has none */
};

/* False: it is in no instrumented code.  Strings live as long as @r. */
bool mt_read_where(const struct mt_read *r, uint64_t insn, struct mt_where *where);

/* An object with instrumented code, as it was loaded; the same may come again.  False: there are no more.  Lives as long as @r. */
struct mt_read_object {
	const char *path;
	uint64_t load; /* what was added to the addresses in the file */
	const struct sonde_trace_object *object; /* which file that was; NULL: not known */
};
bool mt_read_object(const struct mt_read *r, size_t i, struct mt_read_object *object);

struct mt_read_thread;

/* Thread @i's accesses from the beginning.  NULL: *@status says why (E_SYSTEM, E_NOMEM, E_VERSION, ...). */
struct mt_read_thread *mt_read_start(struct mt_read *r, size_t i, enum sonde_trace_status *status);
/* The same of blocks: where they are beside accesses, these are left out, else blocks are. */
struct mt_read_thread *mt_read_start_blocks(struct mt_read *r, size_t i, enum sonde_trace_status *status);
void mt_read_stop(struct mt_read_thread *t);

/*
 * The next accesses, in order, the thread's until the next call; 0: there are no more.  Where something is missing
 * or damaged it goes on after that: *gaps has been counted up.
 */
size_t mt_read_next(struct mt_read_thread *t, const struct mt_access **v, uint64_t *gaps);

/* Was recording off in between?  Of what mt_read_next() returned last, and what it had returned before. */
bool mt_read_was_off(const struct mt_read_thread *t);

/* mt_before(), of what mt_read_next() returned last.  Of blocks: of the block, or, after a handler, any instruction in it. */
uint64_t mt_read_before(const struct mt_read_thread *t);

/* When the chunk began that they are from, or that proved that they happened. */
uint64_t mt_read_tsc(const struct mt_read_thread *t);

/* When recording was switched on last: they were made no sooner. */
uint64_t mt_read_began(const struct mt_read_thread *t);

/*
 * When thread @i's chunks began, and the end, as far as that is known: ascending, malloc'ed.  Unpacks all of the stream.  False: no
 * memory, or it cannot be read.
 */
bool mt_read_times(const struct mt_read *r, size_t i, uint64_t **tsc, size_t *n);

/* The thread pointer (FS base) meanwhile; 0: not known. */
uint64_t mt_read_fs(const struct mt_read_thread *t);

/*
 * When what mt_read_next() returned last was made at the earliest, if it is @exact, a time in the stream.  Else it is when the chunk began, and they were
 * made after the time before that.  What is returned next was made no sooner than what came before its own time.
 */
uint64_t mt_read_time(const struct mt_read_thread *t, bool *exact);

/* Chunks that were read so far, of struct mt_files_thread's. */
uint64_t mt_read_chunks(const struct mt_read_thread *t);

/* Bursts of a sampled stream: sums of their ticks, of the accesses in them, squares and products of these. */
struct mt_read_bursts {
	uint64_t n; /* that have an end; 0: it is not sampled */
	double ticks, accesses, ticks2, accesses2, both;
	uint64_t first, last; /* TSC: from the first one's begin to the last chunk */
};

/* After mt_read_count(). */
void mt_read_bursts(const struct mt_read_thread *t, struct mt_read_bursts *b);

/* In place of mt_read_next(): all that is left.  *gaps likewise. */
void mt_read_count(struct mt_read_thread *t, bool stack, struct mt_counts *counts, uint64_t *gaps);

#endif
