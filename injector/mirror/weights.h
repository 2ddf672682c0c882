/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory accesses of threads from their counters of edges between blocks (inj_mirror_options.memory.counted). */
#ifndef SONDE_INJECTOR_MIRROR_WEIGHTS_H
#define SONDE_INJECTOR_MIRROR_WEIGHTS_H

#include "injector/mirror/mirrors.h"

/* What the function's counters stand for; @weights: NULL: they are not weighed.  False: no memory. */
bool inj_weights_keep(struct inj_mirrors *m, const struct inj_recorded *r, const struct tramp_weight *weights) INJ_CHECK;

/* Adds what a thread's counters say, @n from the first one on: accesses by enum md_kind, then their bytes. */
void inj_weights_sum(const struct inj_session *s, const uint64_t *counts, size_t n, struct tramp_weight *sum);

/*
 * Adds what is to be added where signal handlers did not return to @addr, a link-time address in an object, so many times more than
 * they did from elsewhere.  False: not known.
 */
bool inj_weights_left(const struct inj_session *s, size_t object, uint64_t addr, int64_t net, struct tramp_weight *sum) INJ_CHECK;

#endif
