// SPDX-License-Identifier: MIT
/* From the chunk in a thread's buffer to modules. */
#include "runtime/memory/analysis.h"

/* After so many chunks that only the collector understands, it has the others, too. */
#define CHUNKS_LEFT 1000

void rt_analysis_begin(struct rt_thread *t)
{
	t->mem_can = t->ring && rt_control()->analysis_offset && sonde_rt_config.nanalyzers ? CHUNKS_LEFT : 0;
	t->mem_here = t->mem_can && rt_control()->analyze_here != 0;
	t->mem_cut = 0;
	if (t->mem_work)
		((struct rt_work *)t->mem_work)->shared = NULL;
}

/* ---- to modules ---- */

static bool give(struct batcher *b, const struct sonde_batch *batch)
{
	struct rt_work *w = (struct rt_work *)((uint64_t)b - offsetof(struct rt_work, batcher));

	for (uint64_t i = 0; i < sonde_rt_config.nanalyzers; i++)
		batch_hooks(rt_analyzer(i), &w->members[i].thread, batch);
	return !w->refused;
}

static enum mt_status feed(struct rt_work *w, struct mt_machine *m)
{
	struct batcher *b = &w->batcher;
	enum mt_status status;

	*b = (struct batcher){ .machine = m, .v = w->batch, .size = RT_WORK_BATCH, .give = give };
	for (uint64_t i = 0; i < sonde_rt_config.nanalyzers; i++)
		batch_want(&b->wants, rt_analyzer(i));
	status = batch_chunk(b, w->chunk, w->bytes);
	return status == MT_OK ? batch_chunk(b, w->shared->closing, w->closing_bytes) : status;
}

/* On our own stack.  What is not understood here, the collector may: it has all descriptions. */
static void analyze(struct rt_work *w)
{
	struct mt_code *code = rt_analysis_code(w);
	struct mt_machine *m;
	enum mt_status status;

	w->next = w->arena;
	m = code ? mt_machine_new(code) : NULL;
	if (m)
		rt_compiled_begin(w, m);
	status = m ? feed(w, m) : MT_MEMORY;
	if (m)
		rt_compiled_end(w);
	w->unknown = status == MT_BAD_STREAM && !w->refused;
	if (status != MT_OK)
		w->refused = 1;
}

/* ---- all of it, or nothing ---- */

static void copy_results(struct ring_results *to, const struct ring_results *from)
{
	uint32_t nsums = from->nsums < RING_ANALYSIS_SUMS ? from->nsums : RING_ANALYSIS_SUMS;
	uint32_t used = from->used < sizeof(from->data) ? from->used : (uint32_t)sizeof(from->data);

	__builtin_memcpy(to, from, offsetof(struct ring_results, sums));
	__builtin_memcpy(to->sums, from->sums, nsums * sizeof(from->sums[0]));
	__builtin_memcpy(to->data, from->data, used);
}

static void set_phase(struct ring_analysis *a, enum ring_analysis_phase phase)
{
	__atomic_store_n((uint32_t *)&a->phase, phase, __ATOMIC_RELEASE);
}

/* A child of vfork() that was killed in the middle of it, in its parent's pool. */
static void undo(struct ring_analysis *a)
{
	if (a->phase == RING_ANALYSIS_RUNNING)
		copy_results(&a->now, &a->before);
	set_phase(a, RING_ANALYSIS_IDLE);
}

static enum rt_analysis_status transact(struct rt_thread *t, struct rt_work *w)
{
	struct ring_analysis *a = rt_analysis_of(t);

	undo(a);
	copy_results(&a->before, &a->now);
	a->chunk_bytes = (uint32_t)w->bytes;
	a->closing_bytes = (uint32_t)w->closing_bytes;
	set_phase(a, RING_ANALYSIS_RUNNING);
	w->of = t;
	w->refused = w->unknown = 0;
	rt_members_begin(w);
	rt_work_call(w, analyze);
	rt_members_end(w);
	if (w->refused) {
		undo(a);
		return w->unknown ? RT_ANALYSIS_NOT_YET : RT_ANALYSIS_CANNOT;
	}
	set_phase(a, RING_ANALYSIS_DONE);
	__builtin_memset((void *)(uint64_t)w->chunk, 0, w->bytes);
	set_phase(a, RING_ANALYSIS_IDLE);
	return RT_ANALYSIS_DONE;
}

/* ---- threads that share a pool ---- */

/* As long as it holds, the other is not done; one that was killed never will be. */
static int claim(struct rt_thread *t)
{
	uint32_t mine = (uint32_t)sys0(__NR_gettid), holder = 0;

	while (!__atomic_compare_exchange_n(&t->mem_busy, &holder, mine, 0, __ATOMIC_ACQUIRE,
					    __ATOMIC_RELAXED))
		if (rt_is_there(t->pid, holder))
			return 0;
	return 1;
}

enum rt_analysis_status rt_analyze(struct rt_thread *t, const void *chunk, uint64_t bytes,
				   uint64_t closing_bytes)
{
	enum rt_analysis_status status = RT_ANALYSIS_CANNOT;
	struct rt_work *w;

	if (!claim(t))
		return RT_ANALYSIS_NOT_OURS;
	w = rt_work_get(t);
	if (w) {
		w->chunk = chunk;
		w->bytes = bytes;
		w->closing_bytes = closing_bytes;
		status = transact(t, w);
	}
	__atomic_store_n(&t->mem_busy, 0, __ATOMIC_RELEASE);
	return status;
}
