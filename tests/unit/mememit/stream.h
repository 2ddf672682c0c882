/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A thread's pool and stream, as the runtime would keep them. */
#ifndef SONDE_TESTS_UNIT_MEMEMIT_STREAM_H
#define SONDE_TESTS_UNIT_MEMEMIT_STREAM_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/unit/mirror/random.h"
#include "trampolines/memory/memory.h"
#include "trampolines/probe/probe.h"

struct tramp_probe_env stream_probe_env(bool fsbase);
struct tramp_mem_env stream_mem_env(bool fsbase, bool stack, unsigned int rungs);

void stream_set_up(void);	/* once: GS */
void stream_start(struct random_source *source);	/* chunks are of random size, and so is the pool's owner */
size_t stream_end(void);	/* closes the last chunk; how often the pool was another thread's */

/*
 * A handler came in between: ends the chunk at @end, and begins the one that resumes.  NULL: where
 * it goes on is not known to anybody.  Returns where the words go on.
 */
struct md_interrupt;
uint64_t stream_interrupt(uint64_t end, const struct md_interrupt *at);
bool stream_is_open(void);

/* From now on recording goes off at some checks, or when `left` is negative.  Until stream_start(). */
void stream_sample(void);
bool stream_was_off(void);

struct stream_pool {
	uint64_t owner, ptr, limit, park, slot[3], probes;
	uint64_t events, events_end;
	uint64_t off;
	int64_t left;
};
struct stream_pool *stream_pool(void);

/* What probes have recorded since stream_start(), and how many words that is. */
const uint64_t *stream_events(size_t *n);

/* The chunks one after the other; NULL: that was the last. */
const void *stream_next(size_t *bytes);

#endif
