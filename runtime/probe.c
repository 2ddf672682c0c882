// SPDX-License-Identifier: MIT
/*
 * What a probe leaves to the runtime: a pool that is not open or not the thread's, a full sub-buffer,
 * shadow stacks with entries of frames that are gone, and calls that were long enough.  It does all
 * that the probe would have done.
 */
#include "runtime/stack.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"
#include "runtime/values.h"

#define OTHER_STACK 65536 /* so far above the outermost frame is another stack */

#define ADVISE_DONTFORK 10
#define ADVISE_NOHUGEPAGE 15 /* most stacks stay small */

/* A pool's page has room for small stacks. */
#define SHADOW_IN_POOL ((RT_POOL_BYTES - sizeof(struct sonde_pool)) / sizeof(struct rt_shadow) - 1)

#define CALL_EVENTS 2

struct event {
	const struct rt_probe_desc *desc;
	uint64_t frame;
	uint64_t sp; /* before the slow path's call */
	const uint64_t *regs; /* see runtime/values.h */
};

/* ---- the shadow stack ---- */

static uint64_t shadow_bound(void)
{
	uint64_t depth = sonde_rt_config.probe_depth;

	return depth && depth < RT_SHADOW_MAX ? depth : RT_SHADOW_MAX;
}

/* The pool keeps it when its thread is gone.  A forked child's pool does not know it: not inherited. */
static int map_shadow(struct rt_thread *t, uint64_t entries)
{
	uint64_t bytes = (entries + 1) * sizeof(struct rt_shadow);
	uint64_t p;

	if (t->shadow_mapped)
		return 1;
	p = rt_map(bytes);
	if (!p)
		return 0;
	sys3(__NR_madvise, p, bytes, ADVISE_DONTFORK);
	sys3(__NR_madvise, p, bytes, ADVISE_NOHUGEPAGE);
	t->shadow_mapped = p;
	t->shadow_room = entries;
	return 1;
}

/* Address space may be limited: a small stack is better than none. */
static struct rt_shadow *find_shadow(struct rt_thread *t, uint64_t wanted, uint64_t *entries)
{
	for (*entries = wanted; *entries > SHADOW_IN_POOL; *entries /= 8) {
		if (map_shadow(t, *entries)) {
			*entries = t->shadow_room;
			return (struct rt_shadow *)t->shadow_mapped;
		}
	}
	if (wanted > SHADOW_IN_POOL)
		*entries = SHADOW_IN_POOL;
	return (struct rt_shadow *)((uint64_t)t + sizeof(struct sonde_pool));
}

void rt_shadow_init(struct rt_thread *t)
{
	uint64_t wanted = shadow_bound(), entries;
	struct rt_shadow *base;

	t->time = sonde_rt_config.probe_time << RING_ID_BITS;
	if (sonde_rt_config.probe_mode != RT_PROBE_FILTER && sonde_rt_config.probe_mode != RT_PROBE_TIMED)
		return;
	base = find_shadow(t, wanted, &entries);
	/* probes take its end for the depth that is wanted, and do not ask */
	if (sonde_rt_config.probe_depth && entries < wanted)
		rt_count_lost(t, 1);
	base->word = 0;
	base->frame = UINT64_MAX;
	t->shadow_base = (uint64_t)base;
	t->shadow = (uint64_t)(base + 1);
	t->shadow_end = (uint64_t)(base + 1 + entries);
}

static struct rt_shadow *shadow_top(const struct rt_thread *t)
{
	return (struct rt_shadow *)t->shadow - 1;
}

/* On a stack above that of the open calls? */
static int other_stack(const struct rt_thread *t, uint64_t frame)
{
	const struct rt_shadow *first = (const struct rt_shadow *)t->shadow_base + 1;

	return frame > first->frame && frame - first->frame > OTHER_STACK;
}

/* Frames below @frame have been left by longjmp or an exception. */
static void shadow_prune(struct rt_thread *t, uint64_t frame)
{
	if (shadow_top(t)->frame >= frame || other_stack(t, frame))
		return;
	while (shadow_top(t)->frame < frame)
		t->shadow -= sizeof(struct rt_shadow);
}

static void shadow_push(struct rt_thread *t, uint64_t word, uint64_t frame)
{
	*(struct rt_shadow *)t->shadow = (struct rt_shadow){ word, frame };
	t->shadow += sizeof(struct rt_shadow);
}

/* ---- events ---- */

static uint64_t first_word(const struct event *e)
{
	return rt_tsc() << RING_ID_BITS | e->desc->event;
}

/* The second word of a record. */
static uint64_t second_word(const struct event *e)
{
	uint64_t target = e->desc->target;

	switch (e->desc->kind) {
	case RT_PROBE_EXIT_AT:
		target = *(const uint64_t *)(e->sp + target);
		break;
	case RT_PROBE_EXIT_BY:
		target = *(const uint64_t *)target;
		break;
	case RT_PROBE_EXIT_TO:
		break;
	default:
		return e->frame;
	}
	return e->frame | RING_JUMP | RING_JUMP_TARGET(target);
}

static int write_record(struct rt_thread *t, uint64_t word, uint64_t frame, uint64_t sp)
{
	uint64_t *p = rt_room_of(t, RT_PROBE_RECORD_BYTES, sp);

	if (!p)
		return 0;
	p[1] = frame;
	__atomic_store_n(&p[0], word, __ATOMIC_RELEASE);
	t->ptr += RT_PROBE_RECORD_BYTES;
	return 1;
}

static int record_values(struct rt_thread *t, const struct event *e)
{
	uint64_t *p = rt_room_of(t, RT_PROBE_RECORD_BYTES + rt_values_most(e->desc), e->frame);
	struct rt_values_at at = { .frame = e->frame, .stack = e->sp + RT_PROBE_SLOW_BELOW, .regs = e->regs };
	uint64_t words;

	if (!p)
		return 0;
	words = rt_values_put(p + RT_PROBE_RECORD_BYTES / 8, e->desc, &at);
	p[1] = second_word(e);
	__atomic_store_n(&p[0], first_word(e), __ATOMIC_RELEASE);
	t->ptr += RT_PROBE_RECORD_BYTES + 8 * words;
	return 1;
}

/* The time is read when there is room: a wait for the collector is nobody's. */
static int record_now(struct rt_thread *t, const struct event *e)
{
	if (e->desc->nvalues)
		return record_values(t, e);
	if (t->ptr >= t->room && !rt_room_of(t, RT_PROBE_RECORD_BYTES, e->frame))
		return 0;
	return write_record(t, first_word(e), second_word(e), e->frame);
}

static uint64_t *count_of(struct rt_thread *t, const struct event *e)
{
	if (!t->counts || e->desc->function >= rt_control()->max_counts)
		return NULL;
	return (uint64_t *)t->counts + e->desc->function;
}

static void count(struct rt_thread *t, const struct event *e)
{
	uint64_t *n = count_of(t, e);

	if (n)
		++*n;
	else
		rt_count_lost(t, 1);
}

/* Has the function been called as often as is to be recorded? */
static int often_enough(struct rt_thread *t, const struct event *e)
{
	const uint64_t *n = count_of(t, e);

	if (!sonde_rt_config.probe_calls)
		return 0;
	if (n)
		return *n >= sonde_rt_config.probe_calls;
	rt_count_lost(t, 1);
	return 1;
}

static void enter_filtered(struct rt_thread *t, const struct event *e)
{
	int timed = e->desc->mode == RT_PROBE_TIMED;

	/* a frame at the very same place is gone as well */
	shadow_prune(t, e->frame + 1);
	if (often_enough(t, e))
		return;
	if (t->shadow >= t->shadow_end) {
		if (!sonde_rt_config.probe_depth)
			rt_count_lost(t, CALL_EVENTS);
		return;
	}
	if (!timed && !record_now(t, e))
		return;
	shadow_push(t, timed ? first_word(e) : 0, e->frame);
	if (sonde_rt_config.probe_calls)
		count(t, e);
}

/* All calls that are still waiting, the outermost first: those on top, since all are written at once. */
static void write_pending(struct rt_thread *t, uint64_t sp)
{
	struct rt_shadow *s = (struct rt_shadow *)t->shadow;

	while (s[-1].word)
		s--;
	for (; s <= shadow_top(t); s++) {
		write_record(t, s->word, s->frame, sp);
		s->word = 0;
	}
}

static int is_short(const struct rt_thread *t, const struct rt_shadow *s, const struct event *e)
{
	return s->word && first_word(e) - s->word < t->time;
}

static void leave_filtered(struct rt_thread *t, const struct event *e)
{
	shadow_prune(t, e->frame);
	if (shadow_top(t)->frame != e->frame)
		return;
	if (!is_short(t, shadow_top(t), e)) {
		write_pending(t, e->frame);
		record_now(t, e);
	}
	t->shadow -= sizeof(struct rt_shadow);
}

static int is_entry(const struct rt_probe_desc *desc)
{
	return desc->kind == RT_PROBE_ENTRY;
}

/* ---- recorded or counted ---- */

static int is_counted(const struct event *e)
{
	const struct ring_control *c = rt_control();
	const uint8_t *choices = (const uint8_t *)c + RING_FIRST;

	return e->desc->function < c->choices_bytes &&
	       __atomic_load_n(&choices[e->desc->function], __ATOMIC_RELAXED) != RING_CHOICE_RECORD;
}

static void set_watch(struct rt_thread *t, uint64_t watch)
{
	t->watch_far = watch - RING_WATCH;
	t->watch = watch;
}

static void enter_chosen(struct rt_thread *t, const struct event *e)
{
	if (is_counted(e)) {
		count(t, e);
		return;
	}
	set_watch(t, e->frame - 1);
	record_now(t, e);
}

static void leave_chosen(struct rt_thread *t, const struct event *e)
{
	if (t->watch >= e->frame && t->watch_far < e->frame)
		return;
	record_now(t, e);
	set_watch(t, e->frame);
}

static void do_event(struct rt_thread *t, const struct event *e)
{
	switch (e->desc->mode) {
	case RT_PROBE_RECORD:
		record_now(t, e);
		break;
	case RT_PROBE_COUNT:
		if (is_entry(e->desc))
			count(t, e);
		break;
	case RT_PROBE_CHOSEN:
		if (is_entry(e->desc))
			enter_chosen(t, e);
		else
			leave_chosen(t, e);
		break;
	default:
		if (is_entry(e->desc))
			enter_filtered(t, e);
		else
			leave_filtered(t, e);
	}
}

static void do_below(struct rt_thread *t, const struct event *e)
{
	int entry = is_entry(e->desc), records = rt_under(t, e->frame, entry);

	if (!records && entry && e->desc->acts & RT_ACT(RT_ACT_UNDER)) {
		rt_under_begin(t, e->frame);
		records = 1;
	}
	if (entry && e->desc->mode != RT_PROBE_COUNT)
		rt_under_goes_on(t, e->frame);
	if (records && !rt_off())
		do_event(t, e);
	if (!entry)
		rt_under_end(t, e->frame, e->desc->kind != RT_PROBE_EXIT);
}

static int switch_recording(const struct rt_probe_desc *desc)
{
	return desc->acts & RT_ACT_SWITCHES && rt_switch((desc->acts & RT_ACT(RT_ACT_ON)) != 0);
}

static void ask_for_snapshot(void)
{
	__atomic_fetch_add((uint64_t *)&rt_control()->snapshots, 1, __ATOMIC_SEQ_CST);
	rt_ring_doorbell();
}

static void act_and_record(const struct event *e)
{
	struct rt_thread *t;
	int switched = switch_recording(e->desc);
	uint64_t mask;

	if (rt_off() && !(e->desc->acts & RT_ACT(RT_ACT_UNDER)))
		return;
	mask = rt_block_signals();
	t = rt_gate_open(e->frame, is_entry(e->desc), 1);
	/* the collector has others' memory streams look at that; this thread's own accesses come right now */
	if (t && switched)
		t->mem_limit = 0;
	if (t)
		do_below(t, e);
	sys_restore_signals(mask);
}

/*
 * An edge between blocks.  The thread's counters are known from now on: those that follow in the function do not ask.  So they
 * are there whether recording is on or off.
 */
static void count_edge(const struct rt_probe_desc *desc)
{
	struct event e = { .desc = desc };
	uint64_t mask = rt_block_signals(), tcb = rt_tcb();
	struct rt_thread *t = NULL;

	if (rt_gs_is_ours()) {
		t = rt_current_of(tcb);
		t = t && t->counts ? t : rt_register(tcb);
	}
	if (t)
		t->owner = tcb;
	if (t && t->ring)
		count(t, &e);
	else
		rt_count_lost(NULL, 1);
	sys_restore_signals(mask);
}

/* Called by the gate: @ret is its return address, @sp the stack pointer before the call, @regs as in runtime/values.h. */
RT_HIDDEN void rt_probe_slow(const void *ret, uint64_t sp, const uint64_t *regs)
{
	const struct rt_probe_desc *desc = (const void *)((uint64_t)ret + RT_PROBE_DESC);
	struct event e = { .desc = desc, .frame = sp + desc->above, .sp = sp, .regs = regs };

	if (desc->mode == RT_PROBE_BLOCKS) {
		count_edge(desc);
		return;
	}
	act_and_record(&e);
	if (desc->acts & RT_ACT(RT_ACT_SNAPSHOT))
		ask_for_snapshot();
}
