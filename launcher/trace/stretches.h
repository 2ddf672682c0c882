/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Times in which something was the case, and how much of them there was until a time. */
#ifndef SONDE_LAUNCHER_TRACE_STRETCHES_H
#define SONDE_LAUNCHER_TRACE_STRETCHES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stretch {
	uint64_t begin, end; /* ns */
};

struct stretches {
	struct stretch *v; /* ascending, apart from each other */
	size_t n, room;
};

/* Asked for times that only grow. */
struct stretch_clock {
	const struct stretches *of; /* NULL: it never was */
	size_t at;		    /* the stretch that is next, or open */
	uint64_t before;	    /* ns in stretches before that */
};

/* ns in stretches until @time. */
static inline uint64_t stretch_clock_until(struct stretch_clock *c, uint64_t time)
{
	const struct stretches *of = c->of;

	while (of && c->at < of->n && of->v[c->at].end <= time) {
		c->before += of->v[c->at].end - of->v[c->at].begin;
		c->at++;
	}
	return of && c->at < of->n && of->v[c->at].begin < time ? c->before + (time - of->v[c->at].begin) : c->before;
}

/* Is it in one at @time, which was asked for last?  Where one ends it is not. */
static inline bool stretch_clock_in(const struct stretch_clock *c, uint64_t time)
{
	return c->of && c->at < c->of->n && c->of->v[c->at].begin <= time;
}

#endif
