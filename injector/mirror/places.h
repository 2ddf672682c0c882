/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recorded memory accesses are called by: the functions and loops of an object's instrumented code, noted when it is
 * instrumented, since all of that has been found by then.
 */
#ifndef SONDE_INJECTOR_MIRROR_PLACES_H
#define SONDE_INJECTOR_MIRROR_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/status.h"
#include "trampolines/flow/flow.h"

struct inj_place_loop {
	uint64_t head;	/* link-time address */
	uint32_t depth;	/* 1: in no other loop */
};

/* Code of a loop and of no loop in it; link-time addresses. */
struct inj_place_range {
	uint64_t lo, hi;
	uint32_t loop;	/* index */
};

struct inj_mirrors;

/* Of functions that were instrumented together.  All zero: none. */
struct inj_places {
	size_t object;
	bool *added;	/* by index into the facts' functions; NULL when they are complete */
	uint32_t *fns;	/* such indices, of parts too, when they are complete; ascending */
	size_t nfns;
	struct inj_place_loop *loops;
	size_t nloops, room_loops;
	struct inj_place_range *ranges; /* when they are complete: ascending by lo */
	size_t nranges, room_ranges;
};

/* A function with its loops, as it was planned. */
enum inj_status inj_places_add(struct inj_places *p, const struct tramp_flow *flow) INJ_CHECK;

/* All functions of @code have been added; their parts are looked for.  They go to @m, and @p is empty. */
enum inj_status inj_places_keep(struct inj_mirrors *m, struct inj_places *p, const struct tramp_code *code) INJ_CHECK;

void inj_places_free(struct inj_places *p);

#endif
