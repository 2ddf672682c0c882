/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pages of memory: which thread touches each first, and which threads access it how often.  On a machine with several NUMA nodes a page is on the
 * node of the thread that touches it first, unless the program asks for another one; that is who stores to it first, since
 * before that, loads find zeros that need no page of their own.
 *
 * Threads' accesses are in windows between two times (sharing.h); where those of the first stores of two threads overlap it is not known who was first.
 */
#ifndef SONDE_ANALYSIS_SHARING_PAGES_H
#define SONDE_ANALYSIS_SHARING_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/machine.h"

struct sh_pages;
struct sh_pages_thread;

/* Pages of 1 << @shift bytes.  @no_stack: as in struct sh_options.  NULL: no memory. */
struct sh_pages *sh_pages_new(unsigned int shift, bool no_stack);
void sh_pages_free(struct sh_pages *p);

/* As sh_thread_new(), sh_thread_time() and sh_thread_take(). */
struct sh_pages_thread *sh_pages_thread_new(struct sh_pages *p, int pid, int tid);
bool sh_pages_thread_time(struct sh_pages_thread *t, uint64_t now, bool exact) __attribute__((warn_unused_result));
bool sh_pages_thread_take(struct sh_pages_thread *t, const struct mt_access *v, size_t n) __attribute__((warn_unused_result));

struct sh_page_use {
	int tid;
	uint32_t thread; /* counts from 0 */
	uint64_t loads, stores; /* an access that does both is a store */
	uint64_t insn; /* that has made most of them, if one has made more than half */
};

struct sh_page {
	uint64_t address;
	int pid;
	uint32_t first;	     /* of uses: the thread that touched it first, and: */
	bool unsure;	     /* another one may have been it */
	uint64_t insn, at;   /* the instruction, and what it accessed */
	uint64_t from, to;   /* when */
	const struct sh_page_use *uses; /* by thread */
	size_t nuses;
};

/* When all accesses are there.  False: no memory. */
bool sh_pages_finish(struct sh_pages *p) __attribute__((warn_unused_result));
/* By process and address; NULL: there are no more. */
const struct sh_page *sh_page(const struct sh_pages *p, size_t i);

#endif
