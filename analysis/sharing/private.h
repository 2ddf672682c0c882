/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_ANALYSIS_SHARING_PRIVATE_H
#define SONDE_ANALYSIS_SHARING_PRIVATE_H

#include "analysis/sharing/sharing.h"

#define MOST_SPANS 4096 /* of a use or sweep; then neighbours become one, and further ones are as long */
#define MOST_WINDOWS (1u << 22) /* of a thread; likewise */
#define MOST_SWEEPS (1u << 20) /* of a thread; further ones are entered line by line */
#define SWEEP_LINES 4 /* a sweep is over at least so many lines */
#define SWEEP_STRIDE 64 /* and has at most so many lines from one access to the next */
#define RECENT_LOG2 9 /* instructions of which it is known what they do */
#define RECENT (1u << RECENT_LOG2)

struct window {
	uint64_t from, to;
};

/* What was done in windows from `first` to `last`: accesses of a use, or how often a sweep was made. */
struct span {
	uint32_t before; /* index + 1; 0: none */
	uint32_t first, last;
	uint64_t n, stores;
};

/* The windows in which something was done. */
struct series {
	uint32_t span; /* the latest, index + 1 */
	uint16_t nspans;
	uint16_t shift; /* a span goes on for windows whose numbers are the same without so many of their last bits */
};

/* An instruction's accesses to a line. */
struct use {
	uint64_t line, insn; /* its number */
	uint64_t reads, writes;
	struct series when;
	uint32_t next; /* the use that the instruction had after it the last time, index + 1; 0: none */
};

/* Accesses of an instruction, one after another, each so many bytes after the one before it.  Entered, the first is the lowest. */
struct sweep {
	uint64_t insn, addr, stride, n;
	uint32_t size;
	uint8_t kind; /* enum md_kind */
	struct series when;
};

/* What an instruction does now, and the use in which that is added up; neither is in the tables. */
struct recent {
	uint64_t insn, next; /* the address at which the sweep goes on; of the last access, if there is none */
	uint32_t window, size;
	uint8_t kind; /* with MD_STACK */
	uint64_t stride, n; /* n 0: there is none; stride is the last step then */
	uint32_t use; /* index + 1; 0: none */
	uint32_t use_window;
	uint64_t line, reads, writes, accesses, stores;
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
	struct sweep *sweeps;
	size_t nsweeps, room_sweeps;
	uint32_t *sweep_table; /* index + 1 */
	size_t sweep_slots;
	struct span *spans;
	size_t nspans, room_spans;
	uint32_t free; /* spans that are free, by `before` */
	uint64_t missed;
	struct recent recent[RECENT];
};

/* windows.c: the span of @s for a window, which is no earlier than that of its latest; NULL: no memory. */
struct span *sh_span(struct sh_thread *t, struct series *s, uint32_t window) __attribute__((warn_unused_result));

/* collect.c: enters what instructions have done last.  False: no memory. */
bool sh_flush(struct sh_thread *t) __attribute__((warn_unused_result));

/* The bits for bytes @first to @last of a line. */
static inline uint64_t sh_mask(unsigned int grain, uint64_t first, uint64_t last)
{
	const uint64_t low = first >> grain, high = last >> grain;

	return UINT64_MAX >> (63 - (high - low)) << low;
}

/* Part of a process: accesses of an instruction of a thread to a line, as one use or sweep has them. */
struct part {
	const struct sh_thread *thread;
	const struct series *when;
	uint64_t insn, reads, writes;
	uint64_t n, stores; /* of a sweep: to this line, each time it is made; n 0: of a use, whose spans say it */
};

/*
 * lines.c: a line that threads of process @pid share, one of which stores to it, and what they do to it; @same: just what they do to the
 * line before it.  False: no memory.
 */
bool sh_make_line(struct sh *s, int pid, uint64_t line, const struct part *parts, size_t n, bool same) __attribute__((warn_unused_result));

/* shared.c: calls that for all lines, by process and address.  False: no memory. */
bool sh_find_lines(struct sh *s) __attribute__((warn_unused_result));

struct sh {
	struct sh_options o;
	unsigned int shift, grain; /* log2 of a line's bytes, and of those that a bit stands for */
	struct sh_thread **threads;
	size_t nthreads, room_threads;
	struct sh_line *lines;
	size_t nlines, room_lines;
	struct sh_use *uses;
	size_t nuses, room_uses;
};

#endif
