// SPDX-License-Identifier: GPL-3.0-or-later
/* Memory streams: chunks go to the trace, and to modules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "launcher/collect/collector-private.h"
#include "memtrace/pack/files.h"
#include "memtrace/description.h"

static uint64_t mem_offset(const struct collector *c, const struct feed *f)
{
	return collector_memory_offset(c) + (uint64_t)f->mem * c->mem_bytes;
}

static uint8_t *mem_base(const struct collector *c, const struct feed *f)
{
	return (uint8_t *)f->head + mem_offset(c, f);
}

static void note_mem_lost(struct collector *c, struct feed *f)
{
	uint64_t lost = atomic_load_explicit(&f->head->mem_lost, memory_order_relaxed);

	if (lost > f->mem_lost) {
		collector_check(c, mt_write_lost(f->thread, lost - f->mem_lost));
		__atomic_fetch_add(&c->totals.memory_lost, lost - f->mem_lost, __ATOMIC_RELAXED);
		f->mem_gap = true;
	}
	f->mem_lost = lost;
}

/* Of @shared no more is read than a copy is made of: the program may write to it meanwhile. */
static void give_chunk(struct collector *c, struct feed *f, const void *shared, uint32_t bytes)
{
	void *chunk = f->room;

	collector_tell_first(c);
	memcpy(chunk, shared, bytes);
	if (c->options->mem_keep)
		collector_check(c, mt_write_chunk(f->thread, chunk, bytes));
	if (c->analysis)
		analysis_chunk(f->analysis, chunk, bytes, f->mem_gap);
	f->mem_gap = false;
	f->mem_open = bytes >= sizeof(uint32_t) && *(const uint32_t *)chunk != MD_CHUNK_END;
}

/* ---- what the thread has handed to modules itself ---- */

static struct ring_analysis *shared_of(const struct collector *c, const struct feed *f)
{
	return (struct ring_analysis *)(void *)((uint8_t *)f->head + collector_analysis_offset(c));
}

void collector_begin_memory(const struct collector *c, struct feed *f, const char *comm)
{
	if (c->inproc)
		snprintf(shared_of(c, f)->name, sizeof(shared_of(c, f)->name), "%s", comm);
	f->mem_ours = !c->inproc;
	f->mem_pressed = false;
	f->mem_ran = 0;
}

/* Before what it has not, or, of modules that merge, when it has ended. */
static void take_over(const struct collector *c, struct feed *f)
{
	struct ring_analysis *a = shared_of(c, f);

	if (f->mem_ours)
		return;
	f->mem_ours = true;
	analysis_results(f->analysis,
			 atomic_load(&a->phase) == RING_ANALYSIS_RUNNING ? &a->before : &a->now);
	analysis_ran(c->analysis, a->entered, a->interpreted);
}

/* ---- chunks ---- */

static void drain_mem(struct collector *c, struct feed *f, uint32_t used)
{
	note_mem_lost(c, f);
	if (!analysis_merges(c->analysis))
		take_over(c, f);
	if (used)
		give_chunk(c, f, mem_base(c, f), used);
	__atomic_fetch_add(&c->totals.memory_bytes, used, __ATOMIC_RELAXED);
}

static void free_mem(struct collector *c, struct feed *f, uint32_t used)
{
	struct ring_mem_sub *sub = &f->head->mem[f->mem];

	memset(mem_base(c, f), 0, used);
	atomic_store_explicit(&sub->state, RING_SUB_FREE, memory_order_release);
	collector_wake(&sub->state);
	f->mem = (f->mem + 1) % COLLECTOR_MEM_SUBS;
}

static uint32_t mem_used(const struct collector *c, uint32_t used)
{
	return used < c->mem_bytes ? used : c->mem_bytes;
}

/* Where the cost of recording is limited: the thread gets to know what its chunks cost here. */
static void drain_and_tell(struct collector *c, struct feed *f, uint32_t used)
{
	uint64_t *packed = &f->head->sample.packed, began;

	if (!c->sampler.burst || c->sampler.by != RING_SAMPLE_COST) {
		drain_mem(c, f, used);
		return;
	}
	began = clock_thread_ns();
	drain_mem(c, f, used);
	__atomic_store_n(packed, __atomic_load_n(packed, __ATOMIC_RELAXED) + clock_thread_ns() - began, __ATOMIC_RELAXED);
}

static bool has_chunk(const struct collector *c, const struct feed *f)
{
	return c->mem_bytes && atomic_load_explicit(&f->head->mem[f->mem].state, memory_order_acquire) == RING_SUB_FULL;
}

static void drain_chunk(struct collector *c, struct feed *f)
{
	uint32_t used = mem_used(c, __atomic_load_n(&f->head->mem[f->mem].used, __ATOMIC_RELAXED));

	drain_and_tell(c, f, used);
	free_mem(c, f, used);
}

bool collector_drain_memory(struct collector *c, struct feed *f)
{
	uint32_t n = 0;

	for (; n < COLLECTOR_MEM_SUBS && has_chunk(c, f); n++)
		drain_chunk(c, f);
	f->mem_pressed |= n == COLLECTOR_MEM_SUBS;
	return n;
}

/* ---- of all threads, side by side ---- */

static bool may_be_drained(const struct collector *c, const struct feed *f)
{
	return f->thread && !f->taken && f->turns < COLLECTOR_MEM_SUBS && has_chunk(c, f);
}

/* By turns, so that no thread waits long while others are drained; NULL: there is nothing that others are not at. */
static struct feed *take_feed(struct collector *c)
{
	for (uint32_t i = 0; i < c->rings; i++) {
		struct feed *f = &c->feeds[c->next_stream++ % c->rings];

		if (may_be_drained(c, f)) {
			f->taken = true;
			return f;
		}
	}
	return NULL;
}

/* One chunk after another, of whatever thread. */
static void drain_some(void *arg, unsigned int slot)
{
	struct collector *c = arg;
	struct feed *f;

	msg_become(&c->messages);
	collector_wait_for_turns(c);
	pthread_mutex_lock(&c->streams);
	while ((f = take_feed(c))) {
		pthread_mutex_unlock(&c->streams);
		f->room = c->rooms[slot];
		drain_chunk(c, f);
		pthread_mutex_lock(&c->streams);
		f->taken = false;
		f->mem_pressed |= ++f->turns == COLLECTOR_MEM_SUBS;
	}
	pthread_mutex_unlock(&c->streams);
}

/* How many threads are of use; there is room for what they do. */
static unsigned int helpers(struct collector *c, unsigned int streams)
{
	unsigned int n = pool_size(), have = 1;

	/* what it takes is measured in the thread that serves */
	if (c->budget)
		return 1;
	n = n < streams ? n : streams;
	while (have < n && (c->rooms[have] || (c->rooms[have] = malloc(c->mem_bytes + 1))))
		have++;
	return have;
}

bool collector_drain_streams(struct collector *c)
{
	unsigned int streams = 0;

	if (!c->mem_bytes)
		return false;
	for (uint32_t i = 0; i < c->rings; i++) {
		c->feeds[i].turns = 0;
		streams += may_be_drained(c, &c->feeds[i]);
	}
	if (!streams)
		return false;
	collector_tell_first(c);
	pool_share(helpers(c, streams), drain_some, c);
	for (uint32_t i = 0; i < c->rings; i++)
		c->feeds[i].room = c->rooms[0];
	return true;
}

/* Of a chunk that has begun: its kind is written last.  It may be the last thing that is there, and end with zeros. */
static uint32_t head_of(const struct collector *c, const struct feed *f)
{
	struct md_chunk head;

	memcpy(&head, mem_base(c, f), sizeof(head));
	return head.kind && head.head < c->mem_bytes ? (uint32_t)head.head : 0;
}

/* Up to the last word that is not zero: the thread was killed, or is done, somewhere in it. */
static uint32_t written(const struct collector *c, const struct feed *f)
{
	const uint32_t *word = (const uint32_t *)(const void *)mem_base(c, f);
	uint32_t n = (uint32_t)(collector_written(c, f, mem_offset(c, f), c->mem_bytes) / 4), head = head_of(c, f);

	while (n && !word[n - 1])
		n--;
	if (!head)
		return 0;
	return 4 * n > head ? 4 * n : head;
}

/*
 * What follows a thread's last words needs none.  That it came to the end of that is known if it ended by itself, or
 * the process did.
 */
static void end_mem(struct collector *c, struct feed *f, uint32_t zeros)
{
	struct md_chunk end = {
		.kind = MD_CHUNK_END, .head = sizeof(end), .tsc = __builtin_ia32_rdtsc(), .fs = 1 + (uint64_t)zeros,
	};

	if (f->mem_open)
		give_chunk(c, f, &end, sizeof(end));
}

/* The thread was killed while it handed the buffer's chunk to modules: where that ends is known. */
static void finish_analysis(struct collector *c, struct feed *f)
{
	const struct ring_analysis *a = shared_of(c, f);
	uint32_t closing = __atomic_load_n(&a->closing_bytes, __ATOMIC_RELAXED);

	drain_mem(c, f, mem_used(c, __atomic_load_n(&a->chunk_bytes, __ATOMIC_RELAXED)));
	give_chunk(c, f, a->closing, closing < sizeof(a->closing) ? closing : sizeof(a->closing));
	f->mem_open = false;
}

/* How much of it is zero after what is known to have been written? */
static uint32_t finish_buffer(struct collector *c, struct feed *f)
{
	uint32_t phase = c->inproc ? atomic_load(&shared_of(c, f)->phase) : RING_ANALYSIS_IDLE, used;

	if (phase == RING_ANALYSIS_RUNNING)
		finish_analysis(c, f);
	if (phase == RING_ANALYSIS_RUNNING || phase == RING_ANALYSIS_DONE)
		return 0;
	used = written(c, f);
	drain_mem(c, f, used);
	return c->mem_bytes - used;
}

void collector_finish_memory(struct collector *c, struct feed *f, bool killed)
{
	uint32_t zeros = 0;

	collector_drain_memory(c, f);
	if (c->mem_bytes &&
	    atomic_load_explicit(&f->head->mem[f->mem].state, memory_order_acquire) ==
		    RING_SUB_WRITING)
		zeros = finish_buffer(c, f);
	take_over(c, f);
	note_mem_lost(c, f);
	if (!killed)
		end_mem(c, f, zeros);
	f->mem = 0;
	f->mem_lost = 0;
	f->mem_gap = f->mem_open = false;
}
