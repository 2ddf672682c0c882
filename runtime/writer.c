// SPDX-License-Identifier: MIT
/*
 * Sub-buffers: taking the next one when one is full, waiting for the collector, and stepping over
 * a record that a signal has interrupted.
 *
 * The fast path is inlined into modules: compare, store, add.  It comes here when ptr + record
 * would pass limit, which is also the case for a thread without a ring (limit 0) and for a
 * forked child (all of the pool is 0).
 */
#include "runtime/guest/guest.h"
#include "runtime/stack.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define WAIT_MS 100
#define SIGNAL_FRAME 16384 /* so far below the interrupted code ends what the kernel writes for a handler, and a wrapper calls */

void rt_ring_doorbell(void)
{
	struct ring_control *c = rt_control();

	__atomic_fetch_add((uint32_t *)&c->doorbell, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n((uint32_t *)&c->sleeping, __ATOMIC_SEQ_CST))
		sys_futex_wake(&c->doorbell);
}

int rt_switch(int on)
{
	struct ring_control *c = rt_control();
	uint8_t *choices = (uint8_t *)c + RING_FIRST;
	uint64_t used = __atomic_load_n((uint64_t *)&c->choices_used, __ATOMIC_RELAXED);

	if (!ring_switch(c, on))
		return 0;
	for (uint64_t i = 0; !on && i < used && i < c->choices_bytes; i++)
		__atomic_store_n(&choices[i], RING_CHOICE_RECORD, __ATOMIC_RELAXED);
	rt_ring_doorbell();
	return 1;
}

static uint64_t sub_base(const struct rt_thread *t, uint32_t i)
{
	return (uint64_t)t->ring + RING_PAGE + (uint64_t)i * rt_control()->sub_bytes;
}

static uint64_t sub_end(const struct rt_thread *t)
{
	return t->base + rt_control()->sub_bytes;
}

/* Where the next record goes; 0: nowhere. */
static void set_space(struct rt_thread *t, uint64_t ptr, uint64_t limit)
{
	t->ptr = ptr;
	t->limit = limit;
	t->room = limit ? limit - (RT_PROBE_RECORD_BYTES - 1) : 0;
}

/* @since: TSC when the thread began to want it. */
static void take(struct rt_thread *t, uint32_t i, uint64_t since)
{
	struct ring_sub *s = &t->ring->sub[i];

	s->ngaps = 0;
	s->start_tsc = rt_tsc();
	s->waited = s->start_tsc - since;
	t->sub = i;
	t->base = sub_base(t, i);
	__atomic_store_n((uint32_t *)&s->state, RING_SUB_WRITING, __ATOMIC_RELEASE);
	set_space(t, t->base, sub_end(t));
}

void rt_take_first(struct rt_thread *t)
{
	t->left = t->left_unsure = t->left_other = 0;
	t->left_top = 0;
	take(t, 0, rt_tsc());
}

static int sub_free(const struct rt_thread *t, uint32_t i)
{
	return __atomic_load_n((uint32_t *)&t->ring->sub[i].state, __ATOMIC_ACQUIRE) ==
	       RING_SUB_FREE;
}

static void publish(struct rt_thread *t, uint32_t i, uint64_t used)
{
	struct ring_sub *s = &t->ring->sub[i];

	s->used = (uint32_t)used;
	__atomic_store_n((uint32_t *)&s->state, RING_SUB_FULL, __ATOMIC_RELEASE);
	rt_ring_doorbell();
}

/* Of a sub-buffer that has been left: has the interrupted record its first word, which is written last? */
static int is_complete(const struct rt_thread *t, uint32_t i)
{
	const struct ring_sub *s = &t->ring->sub[i];

	return s->used < rt_control()->sub_bytes && *(const uint64_t *)(sub_base(t, i) + s->used);
}

static void publish_one(struct rt_thread *t, uint32_t i)
{
	t->left &= ~(1u << i);
	t->left_other &= ~(1u << i);
	t->left_unsure &= ~(1u << i);
	if (!(t->left & ~(t->left_other | t->left_unsure)))
		t->left_top = 0;
	publish(t, i, rt_control()->sub_bytes);
}

/*
 * Interrupted records are complete, or never will be, as soon as something is recorded above their handlers.  How
 * much of those sub-buffers is used is not known: up to the first zero word.
 */
static void publish_left(struct rt_thread *t, uint64_t sp)
{
	uint32_t over = 0;

	if (!t->left)
		return;
	if (t->left_other && !rt_on_signal_stack())
		over |= t->left_other;
	if (sp + RT_WRAPPER_FRAME > t->left_top)
		over |= t->left & ~(t->left_other | t->left_unsure);
	for (uint32_t i = 0; i < rt_control()->nsub; i++)
		if (t->left & 1u << i && (over & 1u << i || is_complete(t, i)))
			publish_one(t, i);
}

/*
 * No other one is free: is the record in this one given up all the same?  It is if no handler was seen that had interrupted it, which
 * may have been left by longjmp(); or if what the kernel had written on the stack for the handler is overwritten.
 */
static int is_given_up(const struct rt_thread *t, uint32_t i, uint64_t sp)
{
	const uint64_t top = t->left_top;

	if (!(t->left & 1u << i) || t->left_other & 1u << i)
		return 0;
	if (t->left_unsure & 1u << i)
		return 1;
	if (sp >= top || top - sp > RT_ANOTHER_STACK)
		return 0;
	return !rt_below_signal_frame(top - sp > SIGNAL_FRAME ? top - SIGNAL_FRAME : sp, top);
}

/* The current one, by a handler that calls at @sp, or with a stale pool. */
static void leave(struct rt_thread *t, uint64_t sp)
{
	const uint64_t top = t->closed_sp;
	const uint32_t bit = 1u << t->sub;

	t->ring->sub[t->sub].used = (uint32_t)(t->ptr - t->base);
	t->left |= bit;
	if (sp < top && top - sp <= RT_ANOTHER_STACK) {
		t->left_top = top > t->left_top ? top : t->left_top;
	} else if (rt_on_signal_stack()) {
		t->left_other |= bit;
	} else {
		t->left_unsure |= bit;
	}
}

/* Waits until sub-buffer @i is free, for a record at @sp; 0 when it will not be: no collector, or drop mode. */
static int await_sub(struct rt_thread *t, uint32_t i, uint64_t sp)
{
	struct ring_control *c = rt_control();
	struct ring_sub *s = &t->ring->sub[i];
	uint32_t state;

	while (!sub_free(t, i)) {
		if (is_given_up(t, i, sp))
			publish_one(t, i);
		state = s->state;
		/* one that has been left is never FULL: the collector does not get past it */
		if (c->flags & RING_DROP || ring_collector_gone(c) || state == RING_SUB_WRITING)
			return 0;
		if (state == RING_SUB_FULL)
			sys_futex_wait(&s->state, state, WAIT_MS);
	}
	return 1;
}

void rt_count_lost(struct rt_thread *t, uint64_t events)
{
	_Atomic uint64_t *lost = t && t->ring ? &t->ring->lost : &rt_control()->lost;

	__atomic_fetch_add((uint64_t *)lost, events, __ATOMIC_RELAXED);
}

/*
 * Without a collector the thread writes over its own sub-buffer for good: as fast as before, and
 * nobody reads it.
 */
static uint64_t *run_unrecorded(struct rt_thread *t)
{
	rt_count_lost(t, 1);
	set_space(t, t->base, sub_end(t));
	return NULL;
}

static int next_sub(struct rt_thread *t, uint64_t sp)
{
	uint32_t next = (t->sub + 1) % rt_control()->nsub;
	uint64_t since = rt_tsc();

	/* limit is 0 when the current one was published before and the next was not free */
	if (t->limit) {
		publish(t, t->sub, t->ptr - t->base);
		set_space(t, 0, 0);
	}
	if (!await_sub(t, next, sp))
		return 0;
	take(t, next, since);
	return 1;
}

/* While sub-buffers are left, room for a few records: who records above the handlers soon comes here, and publishes them. */
static uint64_t limit_for(const struct rt_thread *t)
{
	uint64_t end = sub_end(t), few = t->ptr + RING_GAP;

	return t->left && few < end ? few : end;
}

uint64_t *rt_room_of(struct rt_thread *t, uint64_t bytes, uint64_t sp)
{
	struct ring_control *c = rt_control();

	if (!t)
		t = rt_register(rt_guest_program_tcb());
	if (!t || !t->ring || bytes > SONDE_MAX_RECORD) {
		rt_count_lost(t, 1);
		return NULL;
	}
	publish_left(t, sp);
	if (t->limit)
		set_space(t, t->ptr, limit_for(t));
	if (t->ptr + bytes <= t->limit)
		return (uint64_t *)t->ptr;
	if (ring_collector_gone(c))
		return run_unrecorded(t);
	if (!next_sub(t, sp)) {
		rt_count_lost(t, 1);
		return NULL;
	}
	return (uint64_t *)t->ptr;
}

uint64_t *rt_room(uint64_t bytes)
{
	uint64_t sp = (uint64_t)__builtin_frame_address(0);
	uint64_t mask = rt_block_signals();
	uint64_t *p = rt_gs_is_ours() ? rt_room_of(rt_current(), bytes, sp) : NULL;

	sys_restore_signals(mask);
	return p;
}

static int gap_here(struct rt_thread *t)
{
	struct ring_sub *s = &t->ring->sub[t->sub];

	if (s->ngaps == RING_MAX_GAPS || t->ptr + 2 * RING_GAP > sub_end(t))
		return 0;
	s->gap[s->ngaps] = (uint32_t)(t->ptr - t->base);
	__atomic_store_n(&s->ngaps, s->ngaps + 1, __ATOMIC_RELEASE);
	t->ptr += RING_GAP;
	return 1;
}

/*
 * No room for a gap: go on in the next sub-buffer and leave this one unpublished, for the
 * interrupted record may still be written into it.  What the interrupted code adds to the pointer
 * afterwards makes a hole in the next one: declare a gap at its start, so that zeros are skipped.
 */
int rt_step_over(struct rt_thread *t, uint64_t sp, uint64_t events)
{
	uint64_t since = rt_tsc();
	uint32_t next;

	if (!t->ring || !t->limit)
		return 1;
	publish_left(t, sp);
	if (gap_here(t))
		return 1;
	next = (t->sub + 1) % rt_control()->nsub;
	if (!await_sub(t, next, sp)) {
		rt_count_lost(t, events);
		return 0;
	}
	leave(t, sp);
	take(t, next, since);
	gap_here(t);
	set_space(t, t->ptr, limit_for(t));
	return 1;
}
