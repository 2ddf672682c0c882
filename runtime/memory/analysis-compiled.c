// SPDX-License-Identifier: MIT
/*
 * Nodes that come often are run as machine code, which Sonde's process makes when it is asked to (memtrace/shared.h).  Until
 * it has done so, and where it cannot, the machine interprets; nobody waits.
 */
#include "runtime/memory/analysis.h"
#include "memtrace/machine/state.h"
#include "memtrace/shared.h"

/* Sonde is woken for so many, or after some more nodes. */
#define BATCH 16
#define PATIENCE 256

static const struct mt_head *head(void)
{
	return (const struct mt_head *)sonde_rt_config.compiled;
}

static bool prepare(struct mt_runner *r, enum mt_mode mode)
{
	uint32_t ids = __atomic_load_n(&head()->ids, __ATOMIC_ACQUIRE);

	if (!ids || ids > MT_IDS || mode != head()->mode)
		return false;
	r->gates = head()->gates;
	r->tables[mode] = mt_table(head());
	r->ids = ids;
	return true;
}

static void wake(struct rt_runner *c)
{
	c->asked = 0;
	rt_ring_doorbell();
}

static bool warm(struct mt_runner *r, enum mt_mode mode, uint32_t id, const struct mt_node *node)
{
	struct rt_runner *c = (struct rt_runner *)r;

	(void)mode;
	(void)node;
	if (__atomic_load_n(&head()->full, __ATOMIC_RELAXED))
		return false;
	if (mt_warm((struct mt_asks *)sonde_rt_config.compile_asks, id) && c->asked++ == 0)
		c->waited = 0;
	if (c->asked && (c->asked == BATCH || ++c->waited > PATIENCE))
		wake(c);
	return false;
}

void rt_compiled_begin(struct rt_work *w, struct mt_machine *m)
{
	struct rt_runner *c = &w->runner;

	if (!sonde_rt_config.compiled)
		return;
	*c = (struct rt_runner){ .runner = { .engine = { .run = mt_run }, .prepare = prepare, .warm = warm } };
	m->engine = &c->runner.engine;
}

void rt_compiled_end(struct rt_work *w)
{
	struct rt_runner *c = &w->runner;

	if (c->asked)
		wake(c);
	w->shared->entered += c->runner.entered;
	w->shared->interpreted += c->runner.interpreted;
}
