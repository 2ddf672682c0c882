/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_ANALYSIS_SHARING_PRIVATE_H
#define SONDE_ANALYSIS_SHARING_PRIVATE_H

#include "analysis/sharing/sharing.h"

#define MOST_SPANS 4096 /* of a use; then neighbours become one, and further ones are as long */
#define MOST_WINDOWS (1u << 22) /* of a thread; likewise */
#define RECENT_LOG2 9 /* instructions whose last use is known */
#define RECENT (1u << RECENT_LOG2)

struct window {
	uint64_t from, to;
};

/* Accesses of a use in windows from `first` to `last`. */
struct span {
	uint32_t before; /* index + 1; 0: none */
	uint32_t first, last;
	uint64_t accesses, stores;
};

struct use {
	uint64_t line, insn; /* its number */
	uint64_t reads, writes;
	uint32_t span; /* the latest, index + 1 */
	uint16_t nspans;
	uint16_t shift; /* a span goes on for windows whose numbers are the same without so many of their last bits */
};

/* The last use of an instruction, and what has not been added to that and its latest span. */
struct recent {
	uint64_t insn, line;
	uint32_t window;
	uint32_t use; /* index + 1; 0: none */
	uint32_t accesses, stores;
	uint64_t reads, writes;
};

struct sh_thread {
	struct sh *s;
	int pid, tid;
	uint32_t number;
	struct window *windows; /* the last one is open */
	size_t nwindows, room_windows;
	uint64_t now; /* the last time it said; 0: none yet */
	bool used;    /* the last window has accesses */
	struct use *uses;
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
	struct span *spans;
	size_t nspans, room_spans;
	uint32_t free; /* spans that are free, by `before` */
	uint64_t missed;
	struct recent recent[RECENT];
};

/* collect.c: adds what instructions have done last to their uses. */
void sh_flush(struct sh_thread *t);

struct sh {
	struct sh_options o;
	unsigned int shift, grain; /* log2 of a line's bytes, and of those that a bit stands for */
	struct sh_thread **threads;
	size_t nthreads, room_threads;
	struct sh_line *lines;
	size_t nlines, room_lines;
	struct sh_use *uses;
	size_t nuses;
};

#endif
