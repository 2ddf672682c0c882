/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of memory traces as machine code: the machine of memtrace/machine.h runs nodes that come often in
 * compiled form, with the same results.  In our own process, or in others, for which we compile.
 */
#ifndef SONDE_MEMTRACE_COMPILE_H
#define SONDE_MEMTRACE_COMPILE_H

#include <stdbool.h>

#include "memtrace/machine.h"

/* Is not SONDE_MEM_COMPILE=0 in the environment? */
bool mt_compile_wanted(void);

/* ---- our own machines ---- */

/*
 * From now on nodes of @code are compiled when they get hot, for machines that are made from now on.  Several threads may
 * run them at once, but not while objects are added.  Does nothing if there is no memory for code, the system refuses to execute it, or it is not wanted: the
 * machine interprets all.  What is made goes with mt_code_free().
 */
void mt_compile(struct mt_code *code);

/* For tests: a node is hot when it has been run so many times (16 by default); 0: at once.  After mt_compile(). */
void mt_compile_hot(struct mt_code *code, unsigned int times);

struct mt_compiled {
	uint64_t nodes;		/* compiled, as beginnings of pieces of code */
	uint64_t bytes;		/* of code */
	uint64_t entered;	/* how often the code was entered */
	uint64_t interpreted;	/* nodes and loops that were left to the interpreter in between */
};
/* False: nothing is compiled. */
bool mt_compile_stats(const struct mt_code *code, struct mt_compiled *stats);

/* ---- machines of other processes ---- */

/*
 * Compiles nodes of @code for machines of processes that share the memory at @shared, of MT_BYTES, all zero: see
 * memtrace/shared.h.  They have its code at address @run, and want accesses counted, with the stack's, or (not
 * @counts) one by one.  NULL: no memory.
 */
struct mt_server;
struct mt_server *mt_serve_begin(const struct mt_code *code, void *shared, bool counts, uint64_t run);
void mt_serve_end(struct mt_server *s);

/* @code has got objects; none of them may be asked for before that. */
void mt_serve_objects(struct mt_server *s);

/* Compiles some of what is asked for, which takes less than a ms; the rest another time.  Was there anything? */
bool mt_serve(struct mt_server *s);

/* nodes and bytes are set. */
void mt_serve_stats(const struct mt_server *s, struct mt_compiled *stats);

#endif
