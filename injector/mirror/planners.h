/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans of many functions, in order, made ahead by threads: to plan a function takes as long as all else that
 * is done for it.  What comes out does not depend on how many threads there are; none, if there is one
 * processor, or not much to do, or none can be had.
 */
#ifndef SONDE_INJECTOR_MIRROR_PLANNERS_H
#define SONDE_INJECTOR_MIRROR_PLANNERS_H

#include <stddef.h>
#include <stdint.h>

#include "injector/status.h"
#include "trampolines/mirror/mirror.h"

struct inj_planners;

/* That this process may run on. */
unsigned int inj_processors(void);

/*
 * To plan functions @fns, of @emits' object; they are the caller's until the end, as are @env and @memory (of
 * those with TRAMP_MIRROR_ACCESSES).  @emits is the generator whose tramp_mirror_probes() list all that is
 * emitted.  NULL: no memory.
 */
struct inj_planned {
	uint32_t fn;	/* index into the facts */
	uint32_t want;	/* enum tramp_mirror_want */
	uint8_t acts;	/* of RT_ACT() */
};
struct inj_planners *inj_planners_new(const struct tramp_code *code, const struct tramp_probe_env *env,
				      const struct tramp_mem_env *memory, struct tramp_mirror *emits,
				      const struct inj_planned *fns, size_t n) INJ_CHECK;

/*
 * The next function's plan, to be numbered and emitted before the following one is asked for.  Not more often
 * than there are functions.
 */
struct tramp_mirror *inj_planners_next(struct inj_planners *p, enum tramp_mirror_status *said);

/* Ends the threads, whatever is left to do. */
void inj_planners_free(struct inj_planners *p);

#endif
