/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of memory traces as machine code: the machine of trampolines/memexpand.h runs nodes that come often in
 * compiled form, with the same results.  In our own process, or in others, for which we compile.
 */
#ifndef SONDE_TRAMPOLINES_MEMCOMPILE_H
#define SONDE_TRAMPOLINES_MEMCOMPILE_H

#include <stdbool.h>

#include "trampolines/memexpand.h"

/* Is not SONDE_MEM_COMPILE=0 in the environment? */
bool mx_compile_wanted(void);

/* ---- our own machines ---- */

/*
 * From now on nodes of @code are compiled when they get hot, for machines that are made from now on; all of them belong to
 * one thread.  Does nothing if there is no memory for code, the system refuses to execute it, or it is not wanted: the
 * machine interprets all.  What is made goes with mx_code_free().
 */
void mx_compile(struct mx_code *code);

/* For tests: a node is hot when it has been run so many times (16 by default); 0: at once.  After mx_compile(). */
void mx_compile_hot(struct mx_code *code, unsigned int times);

struct mx_compiled {
	uint64_t nodes;		/* compiled, as beginnings of pieces of code */
	uint64_t bytes;		/* of code */
	uint64_t entered;	/* how often the code was entered */
	uint64_t interpreted;	/* nodes and loops that were left to the interpreter in between */
};
/* False: nothing is compiled. */
bool mx_compile_stats(const struct mx_code *code, struct mx_compiled *stats);

/* ---- machines of other processes ---- */

/*
 * Compiles nodes of @code for machines of processes that share the memory at @shared, of MXS_BYTES, all zero: see
 * trampolines/memshared.h.  They have its code at address @run, and want accesses counted, with the stack's, or (not
 * @counts) one by one.  NULL: no memory.
 */
struct mx_server;
struct mx_server *mx_serve_begin(const struct mx_code *code, void *shared, bool counts, uint64_t run);
void mx_serve_end(struct mx_server *s);

/* @code has got objects; none of them may be asked for before that. */
void mx_serve_objects(struct mx_server *s);

/* Compiles some of what is asked for, which takes less than a ms; the rest another time.  Was there anything? */
bool mx_serve(struct mx_server *s);

/* nodes and bytes are set. */
void mx_serve_stats(const struct mx_server *s, struct mx_compiled *stats);

#endif
