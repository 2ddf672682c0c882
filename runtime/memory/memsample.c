// SPDX-License-Identifier: MIT
/*
 * Sampled memory streams: bursts of recording, and between them the program runs in copies that record nothing.  A
 * thread's first burst begins with it.
 *
 * By time: how long it is off follows from how long the burst really was, so that the share of time is right also
 * where bursts cannot end at once: in a loop that stores nothing.  The collector says when it is over.
 *
 * By what it costs: likewise, but mempace.c decides for how long.  The thread does not wait for the collector: if that is
 * late, bursts are shorter, and begin later.
 *
 * Where windows are switched, the collector begins and ends the bursts of all threads of a process, between which it runs its
 * original code; a thread only ends a burst early if there is no room for more.
 *
 * By number: both copies count down `mem_left` (trampolines/memory/memory.h), and come here when that is done, whether it was a
 * burst or a pause.  After a first burst, there is one in each period of every() units, anywhere in it, by chance, so that
 * no loop of the program can keep pace with them (stratified random sampling).
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

/* The collector writes it, at any time. */
static int is_off(const struct rt_thread *t)
{
	return __atomic_load_n(&t->mem_off, __ATOMIC_RELAXED) != 0;
}

/* The phase is written last: until then the collector leaves the thread alone. */
static void set_phase(struct rt_thread *t, enum ring_phase phase, uint64_t began, uint64_t until)
{
	struct ring_sample *s = sample_of(t);

	__atomic_store_n((uint32_t *)&s->phase, RING_PHASE_NONE, __ATOMIC_RELEASE);
	s->off_at = (uint64_t)&t->mem_off;
	s->limit_at = (uint64_t)&t->mem_limit;
	__atomic_store_n((uint64_t *)&s->began, began, __ATOMIC_RELEASE);
	__atomic_store_n((uint64_t *)&s->until, until, __ATOMIC_RELEASE);
	__atomic_store_n((uint32_t *)&s->phase, phase, __ATOMIC_RELEASE);
	/* it may have looked before, and sleep for long */
	rt_ring_doorbell();
}

/* ---- by number ---- */

/* What a thread may do before it says so: a part of the phase, as the number of all accesses is known no better. */
#define MOST_SLICE 4000000
#define LEAST_SLICE 1024

static int64_t slice_of(uint64_t phase)
{
	uint64_t n = phase / RING_SAMPLE_SLICES;

	return n > MOST_SLICE ? MOST_SLICE : n < LEAST_SLICE ? LEAST_SLICE : (int64_t)n;
}

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
	int64_t units = t->mem_more < t->mem_slice ? t->mem_more : t->mem_slice;

	t->mem_more -= units;
	t->mem_given += units;
	t->mem_left += units;
}

static void give(struct rt_thread *t, uint64_t units)
{
	t->mem_more = (int64_t)(units & INT64_MAX);
	t->mem_slice = slice_of(units);
	t->mem_given = t->mem_left = 0;
	t->mem_told = 0;
	t->mem_rest = 0;
	give_slice(t);
}

/* Steele, Lea and Flood's SplitMix64, below @n; different ones for threads, but the same each time. */
static uint64_t draw(struct rt_thread *t, uint64_t n)
{
	uint64_t ring = ((uint64_t)t->ring - (uint64_t)rt_control()) >> 12;
	uint64_t z = (++t->mem_turn + (ring << 32)) * 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint64_t)((unsigned __int128)(z ^ z >> 31) * n >> 64);
}

/* To the end of this period, and then to the next one's burst.  With the first burst's end the first period begins. */
static uint64_t pause_by_number(struct rt_thread *t)
{
	uint64_t rest = every() - burst(), before = t->mem_turn ? t->mem_at : rest;

	t->mem_at = draw(t, rest + 1);
	return rest - before + t->mem_at;
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

static int is_done(struct rt_thread *t)
{
	if (t->mem_rest) {
		t->mem_left = t->mem_rest;
		t->mem_rest = 0;
	}
	return is_spent(t);
}

void rt_mem_hold(struct rt_thread *t)
{
	if (!burst() || !by(RING_SAMPLE_ACCESSES) || t->mem_off || t->mem_left < 0)
		return;
	t->mem_rest = t->mem_left + 1;
	t->mem_left = -1;
}

/* ---- until a time ---- */

/* At its end a burst has two chunks that say so, after one that it may still fill; it begins with one. */
#define LAST_CHUNKS 3
#define BURST_CHUNKS (1 + LAST_CHUNKS)

#define AGAIN_NS 1000000

/* By what it costs every() says how many are in a millisecond. */
static uint64_t ticks(uint64_t ns)
{
	return ns / 1000 * (every() / 1000);
}

static uint64_t pause_of(uint64_t took)
{
	uint64_t cycle = every(), is = burst();

	for (; cycle >> 31; cycle >>= 1)
		is >>= 1;
	if (!is || cycle <= is)
		return 0;
	return took / is * (cycle - is) + took % is * (cycle - is) / is;
}

/* The collector makes `mem_off` 0 after @pause ticks. */
static void go_off(struct rt_thread *t, uint64_t now, uint64_t pause)
{
	t->mem_off = t->tcb ? t->tcb : 1;
	if (t->ring)
		set_phase(t, RING_PHASE_OFF, now, now + pause);
}

/* The collector has ended the pause, but that knows nothing of CPU time. */
static int goes_off_again(struct rt_thread *t)
{
	uint64_t left = rt_pace_left(t);

	if (rt_windows_are_switched())
		left = rt_windows_are_in() ? 0 : AGAIN_NS;
	if (!left && rt_mem_has_room(t, BURST_CHUNKS))
		return 0;
	go_off(t, rt_tsc(), ticks(left > AGAIN_NS ? left : AGAIN_NS));
	return 1;
}

/* ---- all ---- */

/* What is off runs the plain copy, which comes here when something switches: that it came for nothing is a defect. */
static int for_nothing(struct rt_thread *t)
{
	if (t->mem_moved && t->mem_state != RT_MEM_OPEN) {
		t->mem_moved = 0; /* it has a TCB now, and went to the copy that records until that was known */
		return 1;
	}
	if (t->ring)
		sample_of(t)->visits++;
	if (by(RING_SAMPLE_COST))
		rt_pace_visit(t);
	return 1;
}

/* Recording is switched off altogether: for another pause. */
static int stay_off(struct rt_thread *t)
{
	if (!by(RING_SAMPLE_ACCESSES)) {
		go_off(t, rt_tsc(), by(RING_SAMPLE_COST) ? ticks(AGAIN_NS) : pause_of(burst()));
		return 1;
	}
	give(t, pause_by_number(t));
	t->mem_off = t->tcb ? t->tcb : 1;
	return 1;
}

int rt_mem_rests(struct rt_thread *t)
{
	if (!is_off(t)) {
		if (!burst() || t->mem_began)
			return 0;
		return rt_off() ? stay_off(t) : by(RING_SAMPLE_COST) && goes_off_again(t);
	}
	if (!by(RING_SAMPLE_ACCESSES) || t->mem_left >= 0)
		return for_nothing(t);
	if (!is_spent(t))
		return 1;
	if (rt_off())
		return stay_off(t);
	t->mem_off = 0;
	return 0;
}

void rt_mem_on(struct rt_thread *t)
{
	uint64_t may_take;

	if (!burst() || t->mem_began)
		return;
	may_take = rt_pace_on(t);
	t->mem_began = rt_tsc();
	t->mem_until = t->mem_began + (by(RING_SAMPLE_COST) ? ticks(may_take) : burst());
	if (by(RING_SAMPLE_ACCESSES))
		give(t, burst());
	if (t->ring)
		set_phase(t, RING_PHASE_ON, t->mem_began, t->mem_until);
}

int rt_mem_is_over(struct rt_thread *t)
{
	if (!t->mem_began)
		return 0;
	if (rt_off())
		return 1;
	if (by(RING_SAMPLE_ACCESSES))
		return is_done(t);
	/* with windows that are switched, who does that ends bursts of all threads */
	return (rt_tsc() >= t->mem_until && (!rt_windows_are_switched() || ring_collector_gone(rt_control()))) || (by(RING_SAMPLE_COST) && !rt_mem_has_room(t, LAST_CHUNKS));
}

void rt_mem_off(struct rt_thread *t)
{
	uint64_t now = rt_tsc(), took = now - t->mem_began, left = rt_pace_off(t);

	if (by(RING_SAMPLE_ACCESSES))
		tell(t);
	t->mem_limit = 0;
	t->mem_began = 0;
	if (t->ring) {
		sample_of(t)->bursts++;
		sample_of(t)->on_ticks += took;
	}
	if (!by(RING_SAMPLE_ACCESSES)) {
		go_off(t, now, by(RING_SAMPLE_COST) ? ticks(left) : pause_of(took));
		return;
	}
	give(t, pause_by_number(t));
	t->mem_off = t->tcb ? t->tcb : 1;
	if (t->ring)
		set_phase(t, RING_PHASE_NONE, 0, 0);
}
