/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recording calls may cost: decides which functions' calls are recorded one by one and which are counted, and when all are
 * recorded for a short time, a *burst*, so that it is known how long those take that are counted.  Nothing here touches a
 * process: figures in, decisions out.
 *
 * A share of the program's time may be spent.  Half of it is for calls that are recorded: in each window of time the functions
 * that are called most are counted from then on, until the rest fits.  A function that has become rare is recorded again, if that
 * fits in half of the half, but not soon, and later each time.  What is left is for bursts.
 */
#ifndef SONDE_LAUNCHER_COLLECT_BUDGET_H
#define SONDE_LAUNCHER_COLLECT_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct budget_function {
	uint64_t calls; /* in this window: recorded, or counted */
	uint64_t again; /* ns: not recorded again before that */
	uint8_t times;	/* how often it was counted */
	bool counted;
};

struct budget {
	double share;	  /* 0.05: 5 % */
	double credit;	  /* ns: what may be spent, less what has been */
	uint32_t random;  /* state, not 0 */
	bool begun;	  /* there has been a window */
	struct budget_function *fn;
	uint32_t n;
	/* of the last decision; functions' indices, from malloc() */
	uint32_t *changed;
	size_t nchanged, room;
};

/* What happened in a window. */
struct budget_window {
	uint64_t now;	 /* ns, of any clock that does not go backward */
	double cpu;	 /* ns of CPU time of the program */
	double plain;	 /* ns of CPU time of the program, without what recording took */
	double call;	 /* ns: what it costs to record one, in the program and here */
	double spent;	 /* ns: what recording cost */
};

/* @share: above 0. */
void budget_begin(struct budget *b, double share);
void budget_end(struct budget *b);

/* There are functions [0, @n), those that are new are recorded.  False: no memory; all is as it was. */
bool budget_functions(struct budget *b, uint32_t n) __attribute__((warn_unused_result));

/*
 * Takes a window into account: fn[].calls are those in it.  Where recording fills the window, as when a function gets hot, the
 * program's own part is not known well: it is taken for half of the CPU time at least.  Functions whose `counted` has changed are
 * in changed[].  False: no memory; nothing has changed.
 */
bool budget_decide(struct budget *b, const struct budget_window *w) __attribute__((warn_unused_result));

/* What was spent outside of windows. */
static inline void budget_spend(struct budget *b, double ns)
{
	b->credit -= ns;
}

/* May a burst begin?  Not if nothing is counted. */
bool budget_wants_burst(const struct budget *b);

/* How long the next one is to be, ns: short ones often, so that there are many; long ones seldom, for calls that take long. */
uint64_t budget_burst(struct budget *b);

/* By chance: 0 to 1. */
double budget_chance(struct budget *b);

#endif
