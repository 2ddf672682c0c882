/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A system whose cores have some levels in common, and each others' lines taken away: MESI by looking, as on a bus that all see
 * (Papamarcos and Patel, "A Low-overhead Coherence Solution for Multiprocessors with Private Cache Memories", 1984).
 *
 * The caches that an access goes through are the core's path; what is in the paths of others, but not in this one, is elsewhere.
 *   - A store removes the line from all caches elsewhere: each is an invalidation, counted at its level.  If the core's own levels
 *     have the line and others may, too (it is shared), it is an upgrade.
 *   - If the line is modified elsewhere, it comes from there: a transfer.  After a load it is no longer modified there, but written
 *     to the next level.
 * A line is shared from when a core's own levels fetch it while it is elsewhere until a store, or until they fetch it when
 * it is not.  Upgrades and transfers are counted at the first level.  All caches have lines of one size; each core has TLBs.
 */
#ifndef SONDE_ANALYSIS_CACHE_CORES_H
#define SONDE_ANALYSIS_CACHE_CORES_H

#include "analysis/cache/stream.h"

struct cache_cores;

/* @s->cores is not 0; it has to live as long.  NULL: no memory. */
struct cache_cores *cache_cores_new(const struct cache_system *s);
void cache_cores_free(struct cache_cores *m);

/*
 * An access of a core; @counts: of its instruction, by level of the system.  False: no memory; all that can be done then is
 * cache_cores_free().
 */
bool cache_cores_take(struct cache_cores *m, unsigned int core, const struct cache_access *a, struct cache_count *counts)
	__attribute__((warn_unused_result));

#endif
