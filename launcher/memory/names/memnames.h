/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names for the accesses of a process (analysis/names/names.h), for what is made of them by instruction: profiles and simulated caches.
 * There, a pair of an instruction and a name takes the instruction's place; its number is the key.  So distances and strides
 * are between accesses of one instruction to one variable.
 */
#ifndef SONDE_LAUNCHER_MEMORY_NAMES_MEMNAMES_H
#define SONDE_LAUNCHER_MEMORY_NAMES_MEMNAMES_H

#include <stdbool.h>

#include "launcher/memory/memtrace.h"

/* What is distinguished: variables, their fields; or variables, and of allocations the stacks that they were made in. */
enum memnames_apart { MEMNAMES_VARIABLES, MEMNAMES_FIELDS, MEMNAMES_STACKS };

struct memnames;
struct nm;
struct nm_name;
struct nm_place;
struct nm_thread;

/*
 * Of a rank, @read's, of @trace: both have to live as long.  Looks for the files that were recorded, or in the trace's archive; says once of each
 * that is another one.  NULL: no memory.
 */
struct memnames *memnames_new(const struct mt_read *read, const struct sonde_trace *trace, const struct sonde_trace_rank *rank,
			      enum memnames_apart apart);
/* NULL allowed. */
void memnames_free(struct memnames *m);

/*
 * What other threads have on their stacks is to be named, too: goes through all threads once if there are several.  Without it such accesses are
 * to memory that is not known.  False: no memory.
 */
bool memnames_stacks(struct memnames *m, struct mt_read *read, const struct sonde_trace *trace, const struct sonde_trace_rank *rank)
	__attribute__((warn_unused_result));

/* The accesses that come next are @thread's: a copy, by whose memtrace_accesses() they have to be read.  False: no memory. */
bool memnames_thread(struct memnames *m, const struct memtrace_thread *thread, struct memtrace_thread *copy)
	__attribute__((warn_unused_result));
/* The batch with keys in place of instructions, until the next call.  NULL: no memory. */
const struct mt_access *memnames_take(struct memnames *m, const struct mt_access *v, size_t n);

/*
 * In place of memnames_take(), once for each batch: the thread, for nm_find() or nm_note() of each of its accesses.  The names are memnames_nm()'s.
 */
struct nm_thread *memnames_batch(struct memnames *m);
struct nm *memnames_nm(struct memnames *m);

/* Blocks of the heap, if module memory was recorded, too: *has.  @stacks: by the stack, where it is known.  False: no memory. */
bool memnames_add_blocks(struct nm *nm, const struct mt_read *read, bool stacks, bool *has) __attribute__((warn_unused_result));
/* Of globals and statics, whoever accesses them.  False: no memory. */
bool memnames_static(struct memnames *m, uint64_t addr, uint32_t size, struct nm_place *place) __attribute__((warn_unused_result));

/* Of a key. */
uint64_t memnames_insn(const struct memnames *m, uint64_t key);
const struct nm_name *memnames_name(const struct memnames *m, uint64_t key);

#endif
