/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_ANALYSIS_SHARING_PRIVATE_H
#define SONDE_ANALYSIS_SHARING_PRIVATE_H

#include "analysis/sharing/sharing.h"

#define MOST_SPANS 4096 /* of a use or sweep; then neighbours become one, and further ones are as long */
#define MOST_WINDOWS (1u << 22) /* of a thread; likewise; struct recent has 24 bits for them */
#define MOST_SWEEPS (1u << 20) /* of a thread; further ones are entered line by line */
#define MOST_RANGES (1u << 22) /* of the sweeps of a thread; likewise */
#define SWEEP_LINES 4 /* a sweep is over at least so many lines */
#define SWEEP_STRIDE 64 /* and has at most so many lines from one access to the next */
#define RECENT_LOG2 11 /* instructions of which it is known what they do */
#define RECENT_WAYS 8  /* places from the hash of one on where it may be */
#define RECENT ((1u << RECENT_LOG2) + RECENT_WAYS - 1)
#define REGION_LOG2 4 /* lines of a region */
#define LEVELS 3 /* of loops in each other */

struct window {
	uint64_t from, to;
};

/* What was done in windows from `first` to `last`: accesses of a use, or how often a sweep was made. */
struct span {
	uint32_t before; /* index + 1; 0: none */
	uint32_t first, last;
	/* Of the latest alone, which is in the use or sweep itself: */
	uint16_t nspans; /* with it; 0: there is none */
	uint16_t shift;	 /* a span goes on for windows whose numbers are the same without so many of their last bits */
	uint64_t n, stores;
};

/* An instruction's accesses to a line. */
struct use {
	uint64_t line, insn; /* its number */
	uint64_t reads, writes;
	struct span when;
};

/* The uses that an instruction has of lines beside each other. */
struct region {
	uint64_t number, insn; /* number: of its lines without their last bits */
	uint32_t use[1u << REGION_LOG2]; /* index + 1; 0: none */
};

/* So many times, each so many bytes after the one before it. */
struct level {
	uint64_t stride, n;
};

/*
 * Accesses of an instruction: the first level's one after another, and that as a whole as the second level says, and so on.  Entered, strides are not
 * negative, smaller ones come before larger ones, and levels that are not needed have n 1.
 */
struct sweep {
	uint64_t insn, addr;
	struct level level[LEVELS];
	uint32_t size;
	uint8_t kind; /* enum md_kind */
	struct span when;
};

/* What an instruction does now, and the use that it had last; what it does now is in no table. */
struct recent {
	uint64_t insn, next; /* the address at which it goes on */
	uint64_t what;	     /* size, kind and window in one, as what_of() in collect.c makes it */
	uint64_t stride, n;  /* n: accesses so far, of which the first one has no stride yet; 0: there are none */
	uint64_t line;
	uint32_t use; /* index + 1; 0: none */
	uint32_t window, size;
	uint8_t kind; /* with MD_STACK */
};
_Static_assert(sizeof(struct recent) == 64, "as large as a line");

/* Levels of an instruction that are done, up to the one that is not: its `n` is 0 if there is none. */
struct nest {
	uint64_t addr;
	struct level level[LEVELS];
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
	struct region *regions;
	size_t nregions, room_regions;
	uint32_t *table; /* of regions: index + 1 */
	size_t slots;
	struct sweep *sweeps;
	size_t nsweeps, room_sweeps, ranges;
	uint32_t *sweep_table; /* index + 1 */
	size_t sweep_slots;
	struct span *spans;
	size_t nspans, room_spans;
	uint32_t free; /* spans that are free, by `before` */
	uint64_t missed;
	struct recent recent[RECENT];
	struct nest nests[RECENT][LEVELS - 1]; /* of the second level on */
};

/* windows.c: makes the latest span, which @s is, one for a window, which is no earlier.  False: no memory. */
bool sh_span(struct sh_thread *t, struct span *s, uint32_t window) __attribute__((warn_unused_result));

static inline const struct span *sh_before(const struct sh_thread *t, const struct span *s)
{
	return s->before ? &t->spans[s->before - 1] : NULL;
}

/* collect.c: enters what instructions have done last.  False: no memory. */
bool sh_flush(struct sh_thread *t) __attribute__((warn_unused_result));

/* Likewise: what @r's instruction does @times times from @addr on, line by line; all of it in r->window. */
bool sh_enter_run(struct sh_thread *t, struct recent *r, uint64_t addr, const struct level *run, uint64_t times) __attribute__((warn_unused_result));

/*
 * nests.c: what @r's instruction has done, whose levels below @level are known, in r->window.  Later, or in sh_nest_end(), it is entered, as far as
 * possible as sweeps.  False: no memory.
 */
bool sh_nest(struct sh_thread *t, struct recent *r, unsigned int level, const struct nest *done) __attribute__((warn_unused_result));
bool sh_nest_end(struct sh_thread *t, struct recent *r) __attribute__((warn_unused_result));

/* The bits for bytes @first to @last of a line. */
static inline uint64_t sh_mask(unsigned int grain, uint64_t first, uint64_t last)
{
	const uint64_t low = first >> grain, high = last >> grain;

	return UINT64_MAX >> (63 - (high - low)) << low;
}

/* Part of a process: accesses of an instruction of a thread to a line, as one use or sweep has them. */
struct part {
	const struct sh_thread *thread;
	const struct span *when; /* the latest */
	uint64_t insn, reads, writes;
	uint64_t n, stores; /* of a sweep: to this line, each time it is made; n 0: of a use, whose spans say it */
};

/* lines.c: a line that threads of process @pid share, one of which stores to it, and what they do to it.  False: no memory. */
bool sh_make_line(struct sh *s, int pid, uint64_t line, const struct part *parts, size_t n) __attribute__((warn_unused_result));
/* Likewise, which is what line number @like is. */
bool sh_make_line_like(struct sh *s, uint64_t line, size_t like) __attribute__((warn_unused_result));

/* shared.c: calls that for all lines, by process and address.  False: no memory. */
bool sh_find_lines(struct sh *s) __attribute__((warn_unused_result));

struct sh {
	struct sh_options o;
	unsigned int shift, grain; /* log2 of a line's bytes, and of those that a bit stands for */
	struct sh_thread **threads;
	size_t nthreads, room_threads;
	struct sh_line *lines;
	size_t nlines, room_lines;
	size_t *first; /* of each line in `uses`; those that are like it have the same */
	size_t room_first;
	struct sh_use *uses;
	size_t nuses, room_uses;
};

#endif
