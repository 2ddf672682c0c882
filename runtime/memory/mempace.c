// SPDX-License-Identifier: MIT
/*
 * How long memory accesses are recorded, so that this costs no more than a given share of the thread's CPU time.
 *
 * What a burst would have taken without recording is not known: all of its CPU time is taken for cost.  The pause after it
 * lasts until the thread has used so much more CPU time that the burst's is the allowed share of it.  The collector, which
 * ends pauses by the clock, does not know how much of that the thread has run: it is asked again for the rest.
 */
#include "runtime/memory/memory.h"

#define MILLION 1000000

/* ns of CPU time: a burst and its pause together, about; the first burst of a thread, whose length is then doubled; the least. */
#define CYCLE 10000000
#define FIRST_BURST 20000
#define SHORTEST_BURST 200000

/* ns that a visit to the runtime takes: two system calls, and registers saved and put back. */
#define VISIT 1000

static uint64_t allowed(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->sample_burst, __ATOMIC_RELAXED);
}

/* CPU time since the last call. */
static uint64_t lap(struct rt_pace *p)
{
	uint64_t now = rt_cpu_clock(), took = now - p->then;

	p->then = now;
	return took;
}

uint64_t rt_pace_on(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;
	uint64_t most = CYCLE / MILLION * allowed();

	(void)rt_pace_left(t);
	if (most < SHORTEST_BURST)
		most = SHORTEST_BURST;
	p->burst = p->burst ? 2 * p->burst : FIRST_BURST;
	if (p->burst > most)
		p->burst = most;
	return p->burst;
}

uint64_t rt_pace_off(struct rt_thread *t)
{
	uint64_t took = lap(&t->pace);

	if (t->ring)
		t->ring->sample.cost += took;
	t->pace.left += took * MILLION / allowed();
	return t->pace.left;
}

void rt_pace_visit(struct rt_thread *t)
{
	if (t->ring)
		t->ring->sample.cost += VISIT;
	t->pace.left += VISIT * MILLION / allowed();
}

uint64_t rt_pace_left(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;
	uint64_t took = lap(p);

	if (t->ring && p->burst)
		t->ring->sample.plain += took;
	p->left -= took < p->left ? took : p->left;
	return p->left;
}
