// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where modules get memory accesses, with --analyze=auto: where at least as many threads of the program as it has processors
 * want one all the time, ours would only take theirs.  Then they do it themselves, without being interrupted or waiting;
 * else we do, beside them.
 */
#include <sched.h>

#include "base/clock.h"
#include "launcher/collect/collector-private.h"
#include "launcher/common/proc.h"

#define SECOND INT64_C(1000000000)
#define MOST 9 / 10 /* of the time is all of it */

static unsigned int processors(const struct collector *c)
{
	cpu_set_t set;

	if (sched_getaffinity(c->program, sizeof(set), &set) < 0 && sched_getaffinity(0, sizeof(set), &set) < 0)
		return 1;
	return (unsigned int)CPU_COUNT(&set);
}

/* Has it run, waited for a processor, or for us, since the last time? */
static bool is_busy(struct feed *f, uint64_t ns)
{
	uint64_t before = f->mem_ran, now;
	bool pressed = f->mem_pressed;

	f->mem_pressed = false;
	if (!proc_wanted_time(f->pid, f->tid, &now))
		return pressed;
	f->mem_ran = now;
	return pressed || (before && now - before >= ns * MOST);
}

void collector_place(struct collector *c)
{
	int64_t now = clock_now_ns();
	unsigned int busy = 0;

	if (!c->inproc || !analysis_merges(c->analysis) || c->options->analyze != ANALYZE_AUTO || now < c->next_place)
		return;
	for (uint32_t i = 0, n = collector_rings(c); i < n; i++)
		if (c->feeds[i].thread)
			busy += is_busy(&c->feeds[i], (uint64_t)(now - c->placed));
	atomic_store_explicit(&c->control->analyze_here, busy >= processors(c), memory_order_relaxed);
	c->placed = now;
	c->next_place = now + SECOND;
}
