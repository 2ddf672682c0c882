// SPDX-License-Identifier: MIT
/*
 * How long memory accesses are recorded, so that this costs no more than a given share of the time that the thread
 * would have taken without.
 *
 * What is done is counted in the same units whether recording is on or off (memsample.c), CPU time at each switch. So
 * what a burst's work would have taken follows from the pauses in front of it and of the next, and the rest of its time
 * is what it cost: all of it, waiting for the collector too.  Sums of late, that fade, say how much a burst costs for
 * its length; from that, and from what was too much so far, or too little of late, follows the next pause.
 *
 * Counting takes time as well.  So of a pause that is much longer than the burst only half as much as that is counted at
 * its begin, where what is slower than at its end is cost, too, and at its end.  How much it takes cannot be seen, for
 * what is done is known only where it is counted: it is taken for a tenth of the time.  (doc/benchmarks.md)
 */
#include "runtime/memory.h"
#include "runtime/sys.h"

#define MONOTONIC 1
#define THREAD_CPUTIME 3
#define MILLION 1000000

/* ns; units */
#define FIRST_UNITS 50000
#define FIRST_LENGTH 20000
#define CYCLE 10000000
#define SHORTEST 200000
#define LONGEST_PAUSE 2000000000

/* Of the sums, each cycle takes 1 / FADE away; what is too much or too little is spread over some cycles. */
#define FADE 32
#define SPREAD 4
#define FIRST_PAUSE 16		/* times the burst */
#define PAUSE_LEAST 8		/* a part of the burst */
#define COUNTED 2		/* likewise: what is counted at either end of a long pause */
#define COUNTING 10		/* a part of the time that is counted */
#define FREE_LEAST 4		/* so many times what is counted at once: part of it is not counted */

static uint64_t clock(int which)
{
	struct {
		int64_t s, ns;
	} now = { 0 };

	sys2(__NR_clock_gettime, which, &now);
	return (uint64_t)(now.s * 1000 * MILLION + now.ns);
}

static uint64_t cpu_time(void)
{
	return clock(THREAD_CPUTIME);
}

uint64_t rt_pace_clock(void)
{
	return clock(MONOTONIC);
}

/* a * b / c, or the greatest that there is. */
static uint64_t scaled(uint64_t a, uint64_t b, uint64_t c)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	uint64_t low = (uint64_t)product, high = (uint64_t)(product >> 64), quotient;

	if (high >= c)
		return INT64_MAX;
	__asm__("divq %3" : "=a"(quotient), "+d"(high) : "0"(low), "r"(c) : "cc");
	return quotient & INT64_MAX;
}

static int64_t signed_scaled(int64_t a, uint64_t b, uint64_t c)
{
	return a < 0 ? -(int64_t)scaled((uint64_t)-a, b, c) : (int64_t)scaled((uint64_t)a, b, c);
}

static uint64_t between(int64_t value, uint64_t least, uint64_t most)
{
	if (value < (int64_t)least)
		return least;
	return (uint64_t)value > most ? most : (uint64_t)value;
}

static uint64_t allowed(void)
{
	return __atomic_load_n((uint64_t *)&rt_control()->sample_burst, __ATOMIC_RELAXED);
}

/* ---- what it costs ---- */

static void fade(int64_t *sum, int64_t value)
{
	*sum += value - *sum / FADE;
}

static void note(struct rt_thread *t, int64_t cost, int64_t plain)
{
	struct ring_cost *c = &t->ring->sample.cost;
	int64_t x = cost / 1024, y = plain / 1024;

	c->cycles++;
	c->cost += cost;
	c->plain += plain;
	c->cost2 += x * x;
	c->both += x * y;
	c->plain2 += y * y;
}

/*
 * Units a millisecond: the mean of the speeds in front of the burst, if anything was counted there, and in front of
 * the next one.  Where a phase of the program ends in between, a burst of the quick one has as many more units as it is
 * quicker: so with this mean what is too much and too little for bursts of the same time cancels out, which it does not with
 * the sums of times and units.
 */
static uint64_t speed(const struct rt_pace *p, uint64_t pause, uint64_t units)
{
	uint64_t after = scaled(units, MILLION, pause);
	uint64_t before = p->pause_units ? scaled(p->pause_units, MILLION, p->pause) : after;

	return before / 2 + after / 2 + 1;
}

/*
 * The burst is measured by what was counted around it: @pause, with @units, is in front of the next.  What is counted right
 * behind the burst is slow because of it: caches are cold.
 */
static void measure(struct rt_pace *p, uint64_t pause, uint64_t units)
{
	uint64_t per_ms = speed(p, pause, units);
	int64_t work = (int64_t)scaled(p->burst_units + p->behind_units, MILLION, per_ms);

	p->cycle_cost = (int64_t)(p->burst + p->waited + p->behind) - work + (work + (int64_t)pause) / COUNTING;
	p->cycle_plain = work + (int64_t)(p->free + pause);
	p->measured = 1;
	fade(&p->work, (int64_t)scaled(p->burst_units, MILLION, per_ms));
}

/* A cycle is over. */
static void sum(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;

	if (!p->measured)
		return;
	p->measured = 0;
	fade(&p->cost, p->cycle_cost);
	p->debt += p->cycle_cost - signed_scaled(p->cycle_plain, allowed(), MILLION);
	if (p->debt < 0)
		fade(&p->debt, 0);
	if (t->ring)
		note(t, p->cycle_cost, p->cycle_plain);
}

/* ---- what comes next ---- */

/* Of plain time, so that a cycle has about the length that it is to have. */
static uint64_t next_burst(struct rt_pace *p)
{
	uint64_t share = MILLION;

	p->length = p->length ? between((int64_t)(2 * p->length), FIRST_LENGTH, CYCLE) : FIRST_LENGTH;
	if (p->cost > 0 && p->work > 0)
		share = scaled((uint64_t)p->work, allowed(), (uint64_t)p->cost);
	return between((int64_t)scaled(CYCLE, share, MILLION), SHORTEST < p->length ? SHORTEST : p->length,
		       p->length);
}

/*
 * Behind a burst that would have taken @burst: what it costs is to be the allowed share of both, and some of what
 * was too much or too little.
 */
static uint64_t next_pause(const struct rt_pace *p, uint64_t burst)
{
	int64_t cost;

	if (p->work <= 0)
		return FIRST_PAUSE * burst;
	cost = signed_scaled(p->cost, burst, (uint64_t)p->work) + p->debt / SPREAD;
	return between(signed_scaled(cost, MILLION, allowed()) - (int64_t)burst, burst / PAUSE_LEAST + 1,
		       LONGEST_PAUSE);
}

static int is_switched(const struct rt_thread *t)
{
	return t->ring && __atomic_load_n((uint32_t *)&t->ring->sample.switched, __ATOMIC_RELAXED);
}

static uint64_t lap(struct rt_pace *p)
{
	uint64_t now = cpu_time(), took = now - p->then;

	p->then = now;
	return took ? took : 1;
}

uint64_t rt_pace_on(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;

	if (!p->pause_units) {
		(void)lap(p);
		return FIRST_UNITS;
	}
	sum(t);
	p->waited = 0;
	return scaled(next_burst(p), p->pause_units, p->pause) + 1;
}

/* The time of what the thread does is not told by anything else from here on. */
uint64_t rt_pace_off(struct rt_thread *t, uint64_t done)
{
	struct rt_pace *p = &t->pace;
	uint64_t burst, pause, counted;

	p->burst = lap(p);
	p->burst_units = done;
	p->in = RT_PAUSE_BEFORE;
	p->free = p->behind = p->behind_units = 0;
	if (!p->pause_units)
		return FIRST_PAUSE * (done + 1);
	burst = scaled(done, p->pause, p->pause_units);
	pause = next_pause(p, burst);
	counted = burst > COUNTED * SHORTEST ? burst / COUNTED : SHORTEST;
	if (pause / FREE_LEAST > counted && is_switched(t)) {
		p->in = RT_PAUSE_BEHIND;
		p->free = pause - 2 * counted;
		pause = counted;
	}
	return scaled(pause, p->pause_units, p->pause) + 1;
}

uint64_t rt_pace_pause(struct rt_thread *t, uint64_t done)
{
	struct rt_pace *p = &t->pace;
	uint64_t took = lap(p);

	switch (p->in) {
	case RT_PAUSE_BEHIND:
		p->behind = took;
		p->behind_units = done;
		p->in = RT_PAUSE_FREE;
		return 0;
	case RT_PAUSE_FREE:
		p->free = took;
		p->in = RT_PAUSE_BEFORE;
		return p->pause_units;
	default:
		measure(p, took, done);
		p->free += took;	/* if it comes again, for want of room */
		p->pause = took;
		p->pause_units = done;
		return 0;
	}
}
