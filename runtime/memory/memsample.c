// SPDX-License-Identifier: MIT
/*
 * Sampled memory streams: bursts of recording, and between them the program runs in copies that record nothing.  A
 * thread's first burst begins with it.
 *
 * By time: how long it is off follows from how long the burst really was, so that the share of time is right also
 * where bursts cannot end at once: in a loop that stores nothing.  The collector tells when it is over.
 *
 * By what it costs: in a pause, too, only some is counted behind the burst and in front of the next.  The thread does not
 * wait for the collector: if that is late, bursts are shorter, and begin later.
 *
 * By what is done: both copies count down `mem_left` (trampolines/memory/memory.h), and come here when that is done, whether
 * it was a burst or a pause.
 */
#include "runtime/memory/memory.h"

static struct ring_sample *sample_of(const struct rt_thread *t)
{
	return &t->ring->sample;
}

static uint64_t burst(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->sample_burst, __ATOMIC_RELAXED);
}

static uint64_t every(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->sample_every, __ATOMIC_RELAXED);
}

static int by(enum ring_sample_by what)
{
	return rt_control()->sample_by == what;
}

/* The phase is written last: until then the collector leaves the thread alone. */
static void set_phase(struct rt_thread *t, enum ring_phase phase, uint64_t until)
{
	struct ring_sample *s = sample_of(t);

	__atomic_store_n((uint32_t *)&s->phase, RING_PHASE_NONE, __ATOMIC_RELEASE);
	s->off_at = by(RING_SAMPLE_COST) ? (uint64_t)&t->mem_free : (uint64_t)&t->mem_off;
	s->limit_at = (uint64_t)&t->mem_limit;
	__atomic_store_n((uint64_t *)&s->until, until, __ATOMIC_RELEASE);
	__atomic_store_n((uint32_t *)&s->phase, phase, __ATOMIC_RELEASE);
}

/* ---- by what is done ---- */

/* What a thread may do without telling of it. */
#define SLICE 4000000

/* At its end a burst has two chunks that say so, behind one that it may still fill; it begins with one. */
#define LAST_CHUNKS 3
#define BURST_CHUNKS (1 + LAST_CHUNKS)

static uint64_t done(const struct rt_thread *t)
{
	return (uint64_t)(t->mem_given - t->mem_left);
}

static void tell(struct rt_thread *t)
{
	uint64_t now = done(t);

	if (t->ring && t->mem_off)
		sample_of(t)->off_units += now - t->mem_told;
	else if (t->ring)
		sample_of(t)->on_units += now - t->mem_told;
	t->mem_told = now;
}

static void give_slice(struct rt_thread *t)
{
	int64_t units = t->mem_more < SLICE ? t->mem_more : SLICE;

	t->mem_more -= units;
	t->mem_given += units;
	t->mem_left += units;
}

static void give(struct rt_thread *t, uint64_t units)
{
	t->mem_more = (int64_t)(units & INT64_MAX);
	t->mem_given = t->mem_left = 0;
	t->mem_told = 0;
	t->mem_rest = 0;
	give_slice(t);
}

/* 0: there is more to do in this phase. */
static int is_spent(struct rt_thread *t)
{
	if (t->mem_left >= 0)
		return 0;
	tell(t);
	while (t->mem_left < 0 && t->mem_more)
		give_slice(t);
	return t->mem_left < 0;
}

static void count_on(struct rt_thread *t)
{
	give(t, by(RING_SAMPLE_COST) ? rt_pace_on(t) : burst());
	t->mem_began = rt_tsc();
	if (t->ring)
		set_phase(t, RING_PHASE_ON, t->mem_began);
}

static void count_off(struct rt_thread *t)
{
	uint64_t units = done(t);

	give(t, by(RING_SAMPLE_COST) ? rt_pace_off(t, units) : every() - burst());
}

/* What the thread is likely to do in @ns, as it did in the pause in front of the burst. */
static uint64_t likely(const struct rt_pace *p, uint64_t ns)
{
	return p->pause_units / (p->pause / 1000 + 1) * (ns / 1000);
}

/* Until the collector says so, neither recorded nor counted: @ns. */
static void go_free(struct rt_thread *t, uint64_t ns)
{
	uint64_t now = rt_tsc(), per_ms = every(), ticks = ns / 1000 * (per_ms / 1000);

	t->mem_given = t->mem_told = t->mem_more = 0;
	t->mem_left = -1;
	t->mem_free = t->mem_off;
	if (!t->ring)
		return;
	sample_of(t)->free_units = likely(&t->pace, ns);
	sample_of(t)->free_began = now;
	set_phase(t, RING_PHASE_OFF, now + ticks);
	rt_ring_doorbell();
}

/* What it was likely to do, by how long it took. */
static void tell_free(struct rt_thread *t, uint64_t ns)
{
	if (!t->ring)
		return;
	sample_of(t)->off_units += likely(&t->pace, ns);
	sample_of(t)->free_units = 0;
	set_phase(t, RING_PHASE_NONE, 0);
}

/* A part of a pause is over: is there another one? */
static int pauses_on(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;
	uint64_t was = p->in, then = p->then, units = rt_pace_pause(t, done(t));

	if (was == RT_PAUSE_FREE)
		tell_free(t, p->then - then);
	if (units)
		give(t, units);
	else if (p->in == RT_PAUSE_FREE)
		go_free(t, p->free);
	else
		return 0;
	return 1;
}

int rt_mem_rests(struct rt_thread *t)
{
	if (!t->mem_off)
		return 0;
	if (by(RING_SAMPLE_TIME) || t->mem_free || !is_spent(t))
		return 1;
	if (by(RING_SAMPLE_COST) && pauses_on(t))
		return 1;
	if (by(RING_SAMPLE_COST) && !rt_mem_has_room(t, BURST_CHUNKS)) {
		give(t, t->pace.pause_units + 1);
		return 1;
	}
	t->mem_off = 0;
	return 0;
}

void rt_mem_hold(struct rt_thread *t)
{
	if (!burst() || by(RING_SAMPLE_TIME) || t->mem_off || t->mem_left < 0)
		return;
	t->mem_rest = t->mem_left + 1;
	t->mem_left = -1;
}

static int is_done(struct rt_thread *t)
{
	if (t->mem_rest) {
		t->mem_left = t->mem_rest;
		t->mem_rest = 0;
	}
	return is_spent(t);
}

/* ---- both ---- */

void rt_mem_on(struct rt_thread *t)
{
	if (!burst() || t->mem_began)
		return;
	if (!by(RING_SAMPLE_TIME)) {
		count_on(t);
		return;
	}
	t->mem_began = rt_tsc();
	if (!t->ring)
		return;
	set_phase(t, RING_PHASE_ON, t->mem_began + burst());
	/* the collector may have looked before, and sleep for long */
	rt_ring_doorbell();
}

int rt_mem_is_over(struct rt_thread *t)
{
	if (!t->mem_began)
		return 0;
	if (by(RING_SAMPLE_TIME))
		return rt_tsc() - t->mem_began >= burst();
	return is_done(t) || (by(RING_SAMPLE_COST) && !rt_mem_has_room(t, LAST_CHUNKS));
}

static uint64_t pause_behind(uint64_t took)
{
	uint64_t cycle = every(), is = burst();

	for (; cycle >> 31; cycle >>= 1)
		is >>= 1;
	if (!is || cycle <= is)
		return 0;
	return took / is * (cycle - is) + took % is * (cycle - is) / is;
}

void rt_mem_off(struct rt_thread *t)
{
	uint64_t now = rt_tsc(), took = now - t->mem_began;

	if (!by(RING_SAMPLE_TIME))
		tell(t);
	t->mem_off = t->tcb ? t->tcb : 1;
	t->mem_limit = 0;
	t->mem_began = 0;
	if (t->ring) {
		sample_of(t)->bursts++;
		sample_of(t)->on_ticks += took;
		if (by(RING_SAMPLE_TIME))
			set_phase(t, RING_PHASE_OFF, now + pause_behind(took));
		else
			set_phase(t, RING_PHASE_NONE, 0);
		rt_ring_doorbell();
	}
	if (!by(RING_SAMPLE_TIME))
		count_off(t);
}
