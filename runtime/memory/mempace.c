// SPDX-License-Identifier: MIT
/*
 * How long memory accesses are recorded, so that this costs no more than a given share of the time that the thread
 * would have taken without.
 *
 * What is done is counted in the same units whether recording is on or off (memsample.c), CPU time at each switch. So
 * what a burst's work would have taken follows from the pauses in front of it and of the next, and the rest of its time
 * is what it cost: all of it, waiting for the collector too, and the processor that the collector had meanwhile, if the
 * thread waited for one.  Sums of late, that fade, say how much a burst costs for its length; from that, and from what was
 * too much so far, or too little of late, follows the next pause.
 *
 * Counting takes time as well.  So of a pause that is much longer than the burst only some is counted: at its begin,
 * half as long as the burst was, and as long as the collector works for this thread; and at its end, where the speed is
 * measured once the copy that counts is in the caches again.  What is slower in front of that is cost, too.  How much
 * counting takes cannot be seen, for what is done is known only where it is counted: it is taken for a tenth of the
 * time.  (doc/benchmarks.md)
 */
#include "runtime/memory/memory.h"

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
#define WARM 100000		/* ns, until what is counted is as fast as it will be */
#define HALVES_LEAST 100000	/* ns: a pause that is shorter is not parted */

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

static void note(struct rt_thread *t, const struct rt_pace *p)
{
	struct ring_cost *c = &t->ring->sample.cost;
	int64_t x = p->cycle_cost / 1024, y = p->cycle_plain / 1024;

	c->cycles++;
	c->cost += p->cycle_cost;
	c->plain += p->cycle_plain;
	c->counting += p->cycle_counting;
	c->cost2 += x * x;
	c->both += x * y;
	c->plain2 += y * y;
}

/*
 * Units a millisecond: the mean of the speeds in front of the burst, if anything was counted there, and in front of
 * the next one.  Where a phase of the program ends in between, the burst's units are of either speed, and how many of
 * each is not known.  The mean of the speeds takes them for the quick one's rather than the slow one's, so that where phases
 * are about as long as bursts more cost is told than there is; with that of the times it would be less
 * (tests/unit/runtime/pace.c).
 */
static uint64_t speed(const struct rt_pace *p, uint64_t pause, uint64_t units)
{
	uint64_t after = scaled(units, MILLION, pause);
	uint64_t before = p->pause_units ? scaled(p->pause_units, MILLION, p->pause) : after;

	return before / 2 + after / 2 + 1;
}

/*
 * The burst is measured by what was counted around it: @pause, with @units, is in front of the next.  What is counted right
 * behind the burst is slow because of it: caches are cold, and the collector works beside it.
 */
static void compare(struct rt_pace *p, uint64_t pause, uint64_t per_ms)
{
	int64_t work = (int64_t)scaled(p->burst_units + p->beside_units, MILLION, per_ms);

	p->cycle_counting = (work + (int64_t)pause) / COUNTING;
	p->cycle_cost = (int64_t)(p->burst + p->waited + p->beside) - work + p->cycle_counting;
	p->cycle_plain = work + (int64_t)pause;
}

static void measure(struct rt_pace *p, uint64_t pause, uint64_t units)
{
	uint64_t per_ms = speed(p, pause, units);

	compare(p, pause, per_ms);
	p->cycle_plain += (int64_t)p->free;
	p->measured = 1;
	fade(&p->work, (int64_t)scaled(p->burst_units, MILLION, per_ms));
}

/* The thread may end in the pause that begins: what is known so far, by the speed in front of the burst. */
static void tell_open(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;

	if (!t->ring)
		return;
	compare(p, 0, scaled(p->pause_units, MILLION, p->pause) + 1);
	t->ring->sample.cost.open_cost = p->cycle_cost;
	t->ring->sample.cost.open_plain = p->cycle_plain;
}

/* What the collector took since the last cycle, that the thread's own time does not tell: a processor. */
static int64_t taken(struct rt_thread *t)
{
	uint64_t all, since;

	if (!t->ring)
		return 0;
	all = __atomic_load_n((uint64_t *)&t->ring->sample.taken, __ATOMIC_RELAXED);
	since = all - t->pace.taken;
	t->pace.taken = all;
	return (int64_t)(since & INT64_MAX);
}

/* A cycle is over. */
static void sum(struct rt_thread *t)
{
	struct rt_pace *p = &t->pace;

	if (!p->measured)
		return;
	p->measured = 0;
	p->cycle_cost += taken(t);
	fade(&p->cost, p->cycle_cost);
	p->debt += p->cycle_cost - signed_scaled(p->cycle_plain, allowed(), MILLION);
	if (p->debt < 0)
		fade(&p->debt, 0);
	if (t->ring)
		note(t, p);
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
	uint64_t now = rt_cpu_clock(), took = now - p->then;

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

/* Units of the pause's first part; @burst: how long it would have taken. */
static uint64_t part_of(struct rt_thread *t, uint64_t burst)
{
	struct rt_pace *p = &t->pace;
	uint64_t pause = next_pause(p, burst);
	uint64_t counted = burst > COUNTED * SHORTEST ? burst / COUNTED : SHORTEST;

	if (pause / FREE_LEAST > counted && is_switched(t)) {
		p->in = RT_PAUSE_BEHIND;
		p->free = pause - 2 * counted;
		pause = counted;
	} else if (pause > HALVES_LEAST) {
		p->in = RT_PAUSE_BEHIND;
		pause /= 2;
	}
	return scaled(pause, p->pause_units, p->pause) + 1;
}

/* The time of what the thread does is not told by anything else from here on. */
uint64_t rt_pace_off(struct rt_thread *t, uint64_t done)
{
	struct rt_pace *p = &t->pace;

	p->burst = lap(p);
	p->burst_units = done;
	p->in = RT_PAUSE_BEFORE;
	p->free = p->beside = p->beside_units = 0;
	if (!p->pause_units)
		p->part = FIRST_PAUSE * (done + 1);
	else
		p->part = part_of(t, scaled(done, p->pause, p->pause_units));
	return p->part;
}

/* A part of what is counted behind the burst is over: there is another one as long as the collector works for this thread. */
static uint64_t behind(struct rt_thread *t, uint64_t took)
{
	struct rt_pace *p = &t->pace;

	if (!p->free) {
		p->in = RT_PAUSE_BEFORE;
		return p->part;
	}
	if (p->free / FREE_LEAST > took && !rt_mem_has_room(t, rt_control()->mem_nsub)) {
		p->free -= took;
		return p->part;
	}
	p->in = RT_PAUSE_FREE;
	tell_open(t);
	return 0;
}

uint64_t rt_pace_pause(struct rt_thread *t, uint64_t done)
{
	struct rt_pace *p = &t->pace;
	uint64_t took = lap(p);

	switch (p->in) {
	case RT_PAUSE_BEHIND:
		p->beside += took;
		p->beside_units += done;
		return behind(t, took);
	case RT_PAUSE_FREE:
		p->free = took;
		p->in = RT_PAUSE_WARM;
		return scaled(WARM, p->pause_units, p->pause) + 1;
	case RT_PAUSE_WARM:
		p->beside += took;
		p->beside_units += done;
		p->in = RT_PAUSE_BEFORE;
		return p->part;
	default:
		measure(p, took, done);
		p->free += took;	/* if it comes again, for want of room */
		p->pause = took;
		p->pause_units = done;
		return 0;
	}
}
