/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptions of memory traces as machine code: the machine of trampolines/memexpand.h runs nodes that come often in
 * compiled form, with the same results.  In the reading process only.
 */
#ifndef SONDE_TRAMPOLINES_MEMCOMPILE_H
#define SONDE_TRAMPOLINES_MEMCOMPILE_H

#include <stdbool.h>

#include "trampolines/memexpand.h"

/*
 * From now on nodes of @code are compiled when they get hot.  All of its machines belong to one thread then.  Does
 * nothing if there is no memory for code, the system refuses to execute it, or SONDE_MEM_COMPILE=0 is in the environment: the
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

#endif
