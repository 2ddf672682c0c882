/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When the windows of processes are written in for a burst, and taken out after it, so that this costs no more than a share of the CPU
 * time that is used otherwise.  Nothing here touches a process: figures in, decisions out.
 *
 *	FIRST	windows are in since the start, and threads begin and end bursts by themselves: short programs have as many as ever
 *	OFF	windows are out, until what the last burst cost, with both switches, is the share of the CPU time since it
 *	ON	windows are in, all threads record; the more a switch costs, the longer
 */
#ifndef SONDE_LAUNCHER_COLLECT_BURSTS_H
#define SONDE_LAUNCHER_COLLECT_BURSTS_H

#include <stdbool.h>
#include <stdint.h>

enum bursts_state { BURSTS_FIRST, BURSTS_OFF, BURSTS_ON };

struct bursts {
	double share;	/* 0.05: 5 % */
	enum bursts_state state;
	int64_t now;	/* ns: when it came to that state */
	double cpu;	/* ns: the CPU time then; */
	double cost;	/* ... and what had been spent when the last burst was about to begin */
	double price;	/* ns: of a switch, lately; 0: not known */
	unsigned int empty; /* bursts in a row in which nothing was recorded, up to a bound: pauses are twice as long for each */
};

/* What there is to decide by: ns of any clock; CPU time used so far by the processes; what recording has cost of CPU time so far. */
struct bursts_now {
	int64_t now;
	double cpu, cost;
};

void bursts_begin(struct bursts *b, double share);

/* How long until windows are to be switched, ns: no more than that can be missed; 0: now. */
int64_t bursts_wait(const struct bursts *b, const struct bursts_now *n);

/* They have been, which has cost @price ns of CPU time; it is in n->cost.  @recorded: has anything been in the state that is over? */
void bursts_switched(struct bursts *b, const struct bursts_now *n, double price, bool recorded);

#endif
