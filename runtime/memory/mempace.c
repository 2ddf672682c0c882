// SPDX-License-Identifier: MIT
/*
 * CPU time in bursts and between them; and how long memory accesses are recorded, so that this costs no more than a given
 * share of the CPU time that is used otherwise.
 *
 * What a burst would have taken without recording is not known.  What it costs is, for the most part, that words are
 * written: so much for each byte.  The least is what tests without words take, the most what was ever measured: a program
 * takes three times as long when all of its accesses have words.  The collector's work on what was written comes to that as it is told.
 *
 * The pause after a burst lasts until the thread has used so much CPU time that all this is the allowed share of it.  The
 * collector, which ends pauses by the clock, does not know how much of that the thread has run: it is asked again for the rest.
 */
#include "runtime/memory/memory.h"

#define MILLION 1000000

/* ns of CPU time: a burst and its pause together, about; the first burst of a thread, whose length is then doubled; the least. */
#define CYCLE 10000000
#define FIRST_BURST 20000
#define SHORTEST_BURST 200000

/* What recording costs of a burst: ns for a KiB of the stream, parts of it at least and at most. */
#define KIB_COSTS 500
#define LEAST(ns) ((ns) / 10)
#define MOST(ns) ((ns) / 3 * 2)

/* ns that a visit to the runtime takes: two system calls, and registers saved and put back. */
#define VISIT 1000

static uint64_t allowed(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->sample_burst, __ATOMIC_RELAXED);
}

/* CPU time since the last call. */
static uint64_t lap(struct rt_thread *t)
{
	uint64_t now = rt_cpu_clock(), took = now - t->pace.then;

	t->pace.then = now;
	if (t->ring) {
		t->ring->sample.then = now;
		t->ring->sample.then_at = rt_tsc();
	}
	return took;
}

static void owe(struct rt_thread *t, uint64_t cost)
{
	t->pace.left += cost * MILLION / allowed();
}

static void spend(struct rt_thread *t, uint64_t cost)
{
	if (t->ring)
		t->ring->sample.cost += cost;
	owe(t, cost);
}

static void owe_collector(struct rt_thread *t)
{
	uint64_t now;

	if (!t->ring)
		return;
	now = __atomic_load_n(&t->ring->sample.packed, __ATOMIC_RELAXED);
	owe(t, now - t->pace.packed);
	t->pace.packed = now;
}

/* Of a burst's CPU time.  Who hands accesses to modules itself does nothing else for most of it. */
static uint64_t cost_of(const struct rt_thread *t, uint64_t took)
{
	uint64_t cost = t->pace.bytes / 1024 * KIB_COSTS;

	if (t->mem_here)
		return took;
	if (cost < LEAST(took))
		return LEAST(took);
	return cost < MOST(took) ? cost : MOST(took);
}

uint64_t rt_pace_on(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;
	uint64_t most = CYCLE / MILLION * allowed();

	(void)rt_pace_left(t);
	p->bytes = 0;
	if (most < SHORTEST_BURST)
		most = SHORTEST_BURST;
	p->burst = p->burst ? 2 * p->burst : FIRST_BURST;
	if (p->burst > most)
		p->burst = most;
	return p->burst;
}

uint64_t rt_pace_off(struct rt_thread *t)
{
	uint64_t took = lap(t);

	if (t->ring)
		t->ring->sample.on_cpu += took;
	spend(t, cost_of(t, took));
	owe_collector(t);
	return t->pace.left;
}

void rt_pace_visit(struct rt_thread *t)
{
	spend(t, VISIT);
}

uint64_t rt_pace_left(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;
	uint64_t took = lap(t);

	if (t->ring && p->burst)
		t->ring->sample.off_cpu += took;
	owe_collector(t);
	p->left -= took < p->left ? took : p->left;
	return p->left;
}
