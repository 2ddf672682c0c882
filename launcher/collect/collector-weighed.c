// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Memory accesses that are not recorded but counted, by edges between blocks (inj_mirror_options.memory.counted): given to modules
 * when their thread has ended.  Counters count while recording is switched off, too: what they have counted meanwhile is taken off
 * again.
 */
#include <string.h>

#include "injector/mirror/weights.h"
#include "launcher/collect/collector-private.h"

/* What a thread has counted so far; its counters are copied to c->counts. */
static struct tramp_weight counted(const struct collector *c, const struct feed *f, size_t *n)
{
	uint64_t bytes = collector_written(c, f, collector_counts_offset(c), c->functions * sizeof(*c->counts));
	struct tramp_weight sum = { { 0 } };

	*n = bytes / sizeof(*c->counts);
	memcpy(c->counts, (const uint8_t *)f->head + collector_counts_offset(c), bytes);
	inj_weights_sum(c->session, c->counts, *n, &sum);
	return sum;
}

void collector_switch_weighed(struct collector *c, bool on)
{
	size_t n;

	if (on == !c->weighed_off)
		return;
	c->weighed_off = !on;
	for (uint32_t i = 0, rings = collector_rings(c); i < rings; i++) {
		struct tramp_weight sum;

		if (!c->feeds[i].thread)
			continue;
		sum = counted(c, &c->feeds[i], &n);
		tramp_weight_add(&c->feeds[i].unwanted, &sum, on ? 1 : TRAMP_WEIGHT_LESS);
	}
}

void collector_close_weighed(struct collector *c, struct feed *f, bool killed)
{
	struct mt_block_left left[RING_GONE];
	size_t n, nleft;
	struct tramp_weight sum = counted(c, f, &n);
	bool good = true;

	if (c->weighed_off)
		sum = (struct tramp_weight){ { 0 } };
	tramp_weight_add(&sum, &f->unwanted, TRAMP_WEIGHT_LESS);
	f->unwanted = (struct tramp_weight){ { 0 } };
	nleft = collector_take_left(c, n, left);
	for (size_t i = 0; i < nleft; i++)
		good &= inj_weights_left(c->session, left[i].object, left[i].addr, left[i].net, &sum);
	c->totals.cut_off += killed;
	analysis_counts(f->analysis, &sum.n[0], &sum.n[TRAMP_WEIGHTS / 2], !good);
}
