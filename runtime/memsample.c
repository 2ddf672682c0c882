// SPDX-License-Identifier: MIT
/*
 * Sampled memory streams: bursts of recording, and between them the program runs in copies that record nothing.  A
 * thread's first burst begins with it.  How long it is off follows from how long the burst really was, so that
 * the share of time is right also where bursts cannot end at once: in a loop that stores nothing.
 */
#include "runtime/memory.h"

static struct ring_sample *sample_of(const struct rt_thread *t)
{
	return &t->ring->sample;
}

static uint64_t burst(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->sample_burst, __ATOMIC_RELAXED);
}

/* The phase is written last: until then the collector leaves the thread alone. */
static void set_phase(struct rt_thread *t, enum ring_phase phase, uint64_t until)
{
	struct ring_sample *s = sample_of(t);

	__atomic_store_n((uint32_t *)&s->phase, RING_PHASE_NONE, __ATOMIC_RELEASE);
	s->off_at = (uint64_t)&t->mem_off;
	s->limit_at = (uint64_t)&t->mem_limit;
	__atomic_store_n((uint64_t *)&s->until, until, __ATOMIC_RELEASE);
	__atomic_store_n((uint32_t *)&s->phase, phase, __ATOMIC_RELEASE);
}

void rt_mem_on(struct rt_thread *t)
{
	if (!burst() || t->mem_began)
		return;
	t->mem_began = rt_tsc();
	if (t->ring)
		set_phase(t, RING_PHASE_ON, t->mem_began + burst());
}

int rt_mem_is_over(const struct rt_thread *t)
{
	return t->mem_began && rt_tsc() - t->mem_began >= burst();
}

static uint64_t pause_behind(uint64_t took)
{
	uint64_t every = __atomic_load_n((uint64_t *)&rt_control()->sample_every, __ATOMIC_RELAXED);
	uint64_t is = burst();

	for (; every >> 31; every >>= 1)
		is >>= 1;
	if (!is || every <= is)
		return 0;
	return took / is * (every - is) + took % is * (every - is) / is;
}

void rt_mem_off(struct rt_thread *t)
{
	uint64_t now = rt_tsc(), took = now - t->mem_began;

	t->mem_off = t->tcb ? t->tcb : 1;
	t->mem_limit = 0;
	t->mem_began = 0;
	if (!t->ring)
		return;
	sample_of(t)->bursts++;
	sample_of(t)->on_ticks += took;
	set_phase(t, RING_PHASE_OFF, now + pause_behind(took));
	rt_ring_doorbell();
}
