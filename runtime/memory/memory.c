// SPDX-License-Identifier: MIT
/*
 * Memory streams: what the mirrors of functions whose memory accesses are recorded leave to the runtime.  A
 * check has found that the pool is not this thread's, that the stream is not open, or that its sub-buffer is
 * full: see memtrace/description.h for what is in it.
 *
 * A sub-buffer holds one chunk.  Where nothing can be recorded (no ring, switched off, no room and nobody waits), the
 * mirrors write to the sink, which nobody reads; when there is room again, a chunk that says what is
 * in all registers lets the reader go on.
 */
#include "runtime/memory/memory.h"
#include "runtime/memory/analysis.h"
#include "runtime/x86-64/sys.h"

#define WAIT_MS 100

/* Written by all threads that have nothing better; not so small that they come here all the time. */
static _Atomic uint64_t sink;
#define SINK_BYTES_MIN (UINT64_C(256) << 10)

static uint64_t sub_base(const struct rt_thread *t, uint32_t i)
{
	const struct ring_control *c = rt_control();

	return (uint64_t)t->ring + c->mem_offset + (uint64_t)i * c->mem_bytes;
}

static void set_space(struct rt_thread *t, uint64_t base, uint64_t bytes)
{
	t->mem_base = base;
	t->mem_ptr = base;
	t->mem_limit = base + bytes - sonde_rt_config.mem_slack;
}

/* ---- the sink ---- */

static uint64_t sink_bytes(void)
{
	return rt_control()->mem_bytes < SINK_BYTES_MIN ? SINK_BYTES_MIN : rt_control()->mem_bytes;
}

static uint64_t get_sink(void)
{
	uint64_t none = 0, p;

	if (sink)
		return sink;
	p = rt_map(sink_bytes());
	if (!p)
		return 0;
	if (!__atomic_compare_exchange_n((uint64_t *)&sink, &none, p, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		rt_unmap(p, sink_bytes());
	return sink;
}

static void count_lost(const struct rt_thread *t)
{
	_Atomic uint64_t *lost = t->ring ? &t->ring->mem_lost : &rt_control()->lost;

	__atomic_fetch_add((uint64_t *)lost, 1, __ATOMIC_RELAXED);
}

/* Without memory for a sink, the ring's: what is in there is spoiled.  What is switched off is not lost. */
static void use_sink(struct rt_thread *t)
{
	uint64_t base = get_sink();

	if (!base && t->ring)
		set_space(t, sub_base(t, t->mem_sub), rt_control()->mem_bytes);
	else
		set_space(t, base, sink_bytes());
	t->mem_state = RT_MEM_SINK;
	if (!rt_off())
		count_lost(t);
}

void rt_mem_nowhere(struct rt_thread *t)
{
	uint64_t base = get_sink();

	set_space(t, base || !t->ring ? base : sub_base(t, t->mem_sub), rt_control()->mem_bytes);
	t->mem_limit = 0;
	t->mem_state = RT_MEM_CLOSED;
}

/* ---- sub-buffers ---- */

static _Atomic uint32_t *state_of(const struct rt_thread *t, uint32_t i)
{
	return &t->ring->mem[i].state;
}

static void publish(struct rt_thread *t, uint64_t end)
{
	t->ring->mem[t->mem_sub].used = (uint32_t)(end - t->mem_base);
	t->pace.bytes += end - t->mem_base;
	__atomic_store_n((uint32_t *)state_of(t, t->mem_sub), RING_SUB_FULL, __ATOMIC_RELEASE);
	t->mem_sub = (t->mem_sub + 1) % rt_control()->mem_nsub;
	rt_ring_doorbell();
}

static uint32_t state_now(const struct rt_thread *t, uint32_t i)
{
	return __atomic_load_n((uint32_t *)state_of(t, i), __ATOMIC_ACQUIRE);
}

int rt_mem_has_room(const struct rt_thread *t, uint32_t chunks)
{
	uint32_t first = t->mem_sub + (t->mem_state == RT_MEM_OPEN), n = rt_control()->mem_nsub;

	for (uint32_t i = first; i < first + chunks && t->ring && !t->mem_here; i++)
		if (state_now(t, i % n) != RING_SUB_FREE)
			return 0;
	return 1;
}

/*
 * The collector frees them in their order.  A thread that is faster does not go on with each of them, which would be a
 * sleep for each, but when some are free; not so late that the collector waits.
 */
static void wait_for_some(struct rt_thread *t, uint32_t i)
{
	uint32_t later = (i + rt_control()->mem_nsub / 4) % rt_control()->mem_nsub;
	uint32_t last = state_now(t, later) == RING_SUB_FULL ? later : i, state = state_now(t, last);

	if (state != RING_SUB_FREE)
		sys_futex_wait(state_of(t, last), state, WAIT_MS);
}

/*
 * 0: it is not free, and will not be.  One that is being written is so in a thread that a handler has taken away from it, which was
 * set where that is not seen: nobody would ever free it.
 */
static int await(struct rt_thread *t, uint32_t i)
{
	struct ring_control *c = rt_control();
	uint32_t state;

	while ((state = state_now(t, i)) != RING_SUB_FREE) {
		if (state == RING_SUB_WRITING || c->flags & RING_DROP || ring_collector_gone(c) || rt_windows_are_moving())
			return 0;
		wait_for_some(t, i);
	}
	return 1;
}

/* What is switched off still comes to its end: chunks that say where that is. */
static int may_record(const struct rt_thread *t, enum md_chunk_kind kind)
{
	struct ring_control *c = rt_control();
	int ends = kind == MD_CHUNK_SIGNAL || kind == MD_CHUNK_END;

	return t->ring && c->mem_bytes && (ends || !rt_off()) && !ring_collector_gone(c);
}

static void open_sub(struct rt_thread *t)
{
	set_space(t, sub_base(t, t->mem_sub), rt_control()->mem_bytes);
	__atomic_store_n((uint32_t *)state_of(t, t->mem_sub), RING_SUB_WRITING, __ATOMIC_RELEASE);
	t->mem_state = RT_MEM_OPEN;
}

static int take(struct rt_thread *t, enum md_chunk_kind kind)
{
	if (!may_record(t, kind) || !await(t, t->mem_sub))
		return 0;
	open_sub(t);
	return 1;
}

static uint64_t fs_base(void)
{
	uint64_t base = 0;

	if (sonde_rt_config.flags & RT_FSGSBASE)
		__asm__ volatile("rdfsbase %0" : "=r"(base));
	else
		sys2(__NR_arch_prctl, 0x1003 /* ARCH_GET_FS */, &base);
	return base;
}

/* ---- chunks ---- */

static void fill_place(struct md_interrupt *at, const struct rt_mem_place *p)
{
	for (int i = 0; i < RT_MEM_REGS; i++)
		at->regs[i] = p->regs[i];
	at->regs[RT_MEM_RSP] = p->sp;
	at->flags = p->flags;
	at->node = p->node;
	at->insn = p->insn;
	at->written = p->written;
}

/* The kind is written last: without it there is no chunk yet. */
static void fill_head(struct md_chunk *head, enum md_chunk_kind kind, const struct rt_mem_place *at)
{
	head->depth = 1;
	head->fs = fs_base();
	head->tsc = rt_tsc();
	head->head = sizeof(*head) + (at ? sizeof(struct md_interrupt) : 0);
	if (at)
		fill_place((struct md_interrupt *)(head + 1), at);
	__atomic_store_n(&head->kind, kind, __ATOMIC_RELEASE);
}

static void put_head(struct rt_thread *t, enum md_chunk_kind kind, const struct rt_mem_place *at)
{
	struct md_chunk *head = (struct md_chunk *)t->mem_ptr;

	fill_head(head, kind, at);
	t->mem_ptr += head->head;
	t->mem_first = t->mem_ptr;
}

void rt_mem_cut(struct rt_thread *t, uint64_t ptr)
{
	if (t->mem_state == RT_MEM_OPEN && t->mem_here)
		t->mem_cut = ptr;
	else if (t->mem_state == RT_MEM_OPEN)
		publish(t, ptr);
	t->mem_state = RT_MEM_CLOSED;
}

/* ---- chunks that the thread itself hands to modules ---- */

/* The chunk ends here, as @kind and @at say.  0: it cannot be done. */
static int close_here(struct rt_thread *t, enum md_chunk_kind kind, const struct rt_mem_place *at)
{
	struct md_chunk *closing = (struct md_chunk *)rt_analysis_of(t)->closing;
	const struct md_chunk *head = (const struct md_chunk *)t->mem_base;
	uint64_t bytes = t->mem_cut - t->mem_base;

	if (head->kind == MD_CHUNK_START && bytes == head->head)
		return 1; /* there is nothing in it */
	fill_head(closing, kind, at);
	switch (rt_analyze(t, head, bytes, closing->head)) {
	case RT_ANALYSIS_CANNOT:
		t->mem_can = 0;
		return 0;
	case RT_ANALYSIS_NOT_YET:
		t->mem_can = rt_control()->flags & RING_MERGES ? t->mem_can - 1 : 0;
		return 0;
	case RT_ANALYSIS_NOT_OURS:
		count_lost(t);
		break;
	case RT_ANALYSIS_DONE:
		break;
	}
	return 1;
}

/*
 * In place of what is below.  Each chunk begins anew, so that it is known by itself.  0: the collector does it, until
 * the thread can.
 */
static int begin_here(struct rt_thread *t, enum md_chunk_kind kind, const struct rt_mem_place *at)
{
	if (t->mem_cut && !ring_collector_gone(rt_control()) && !close_here(t, kind, at)) {
		t->mem_here = 0;
		publish(t, t->mem_cut);
		t->mem_cut = 0;
		return 0;
	}
	t->mem_cut = 0;
	if (kind == MD_CHUNK_END)
		return 1;
	/* the sub-buffer stays the thread's, but may be the collector's if that has done it until now */
	if (!may_record(t, kind) || (state_now(t, t->mem_sub) != RING_SUB_WRITING && !await(t, t->mem_sub))) {
		use_sink(t);
		return 1;
	}
	open_sub(t);
	if (kind == MD_CHUNK_STATE)
		put_head(t, kind, at);
	else
		put_head(t, MD_CHUNK_START, NULL);
	return 1;
}

void rt_mem_begin(struct rt_thread *t, enum md_chunk_kind kind, const struct rt_mem_place *at)
{
	if (t->mem_here && begin_here(t, kind, at))
		return;
	if (!take(t, kind))
		use_sink(t);
	else
		put_head(t, kind, at);
}

/* ---- checks ---- */

/* All words after a chunk must be zero again: that is how the end of the last chunk is found. */
static void clear(uint64_t from, uint64_t bytes)
{
	__builtin_memset((void *)from, 0, bytes);
}

void rt_mem_forget(const struct rt_thread *t, uint64_t ptr)
{
	uint64_t left = t->mem_base + rt_control()->mem_bytes - ptr, slack = sonde_rt_config.mem_slack;

	if (t->mem_state == RT_MEM_OPEN)
		clear(ptr, left < slack ? left : slack);
}

static int in_sub(const struct rt_thread *t, uint64_t ptr)
{
	return ptr - t->mem_base <= rt_control()->mem_bytes;
}

/*
 * The node was resumed in this chunk, after a signal handler: what it had written before is not in it.  The
 * reader continues up to here, and then afresh.
 */
static void cut_node(struct rt_thread *t, uint64_t ptr, const struct rt_mem_place *at)
{
	rt_mem_cut(t, ptr);
	rt_mem_begin(t, MD_CHUNK_SIGNAL, at);
	if (t->mem_state == RT_MEM_OPEN)
		rt_mem_cut(t, t->mem_ptr);
}

/* Back to the plain copy of the instruction, with the program's registers. */
static void leave(const struct rt_mem_desc *desc, uint64_t *regs)
{
	regs[RT_MEM_FRAME / 8] = (uint64_t)desc + RT_MEM_LEAVE;
}

/* Is the chunk whole, so that it can end here, with what the node has written? */
static int can_end(const struct rt_thread *t, const struct rt_mem_place *at, uint64_t ptr)
{
	return t->mem_state == RT_MEM_OPEN && in_sub(t, ptr + at->written) && ptr + at->written >= t->mem_first;
}

void rt_mem_finish(struct rt_thread *t)
{
	rt_mem_cut(t, t->mem_ptr);
	rt_mem_begin(t, MD_CHUNK_END, NULL);
	if (t->mem_state == RT_MEM_OPEN)
		((struct md_chunk *)t->mem_base)->depth = 0;
	rt_mem_cut(t, t->mem_ptr);
}

/* As a signal would, for now or until recording goes on; the pointer is where the node's words begin. */
static void interrupt(struct rt_thread *t, const struct rt_mem_place *at, uint64_t ptr, int ends)
{
	if (can_end(t, at, ptr)) {
		cut_node(t, ptr + at->written, at);
		if (ends)
			rt_mem_begin(t, MD_CHUNK_END, NULL);
		if (ends && t->mem_state == RT_MEM_OPEN)
			((struct md_chunk *)t->mem_base)->depth = 0;
		rt_mem_cut(t, t->mem_ptr);
	}
	t->mem_state = RT_MEM_CLOSED;
}

/* From now on the collector hands what the thread does to modules, or the thread does; nothing has been begun. */
static void move(struct rt_thread *t)
{
	if (t->mem_here && state_now(t, t->mem_sub) == RING_SUB_WRITING) {
		clear(sub_base(t, t->mem_sub), sizeof(struct md_chunk));
		__atomic_store_n((uint32_t *)state_of(t, t->mem_sub), RING_SUB_FREE, __ATOMIC_RELEASE);
	}
	t->mem_here = t->mem_can && rt_control()->analyze_here != 0;
}

static void end_burst(struct rt_thread *t, const struct rt_mem_place *at, uint64_t ptr)
{
	interrupt(t, at, ptr, 1);
	rt_mem_off(t);
}

/* The pointer is where the node begins, also if some of its words lie before the chunk. */
static void check(struct rt_thread *t, const struct rt_mem_desc *desc, uint64_t *regs, uint64_t sp)
{
	uint64_t *ptr = desc->reg == RT_MEM_NO_REG ? &t->mem_ptr : &regs[desc->reg & 15], was = *ptr;
	struct rt_mem_place at = {
		.regs = regs, .sp = sp, .flags = regs[RT_MEM_FLAGS_WORD],
		.node = desc->node, .insn = desc->insn, .written = desc->written,
	};
	int rests = rt_mem_rests(t), moves;

	if (rests || rt_mem_is_over(t)) {
		*ptr = desc->flags & RT_MEM_PARKED ? t->mem_park : 0;
		if (!rests)
			end_burst(t, &at, was);
		leave(desc, regs);
		return;
	}
	if (desc->flags & RT_MEM_COUNTS && t->mem_began)
		return;
	moves = t->mem_can && t->mem_here != !!rt_control()->analyze_here && can_end(t, &at, was);
	if (t->mem_state == RT_MEM_OPEN && !t->mem_here && !moves && !t->mem_moved && !rt_off() && !(desc->flags & RT_MEM_LANDS) &&
	    in_sub(t, was) && was >= t->mem_first) {
		rt_mem_cut(t, was);
		rt_mem_begin(t, MD_CHUNK_MORE, NULL);
		/* the words of a node are in one chunk: those that it has written come along */
		if (t->mem_state == RT_MEM_OPEN)
			__builtin_memcpy((void *)t->mem_ptr, (const void *)was, desc->written);
		clear(was, desc->written);
		*ptr = t->mem_ptr;
		return;
	}
	*ptr = desc->flags & RT_MEM_PARKED ? t->mem_park : 0;
	interrupt(t, &at, was, rt_off() || moves);
	if (moves)
		move(t);
	t->mem_moved = 0;
	rt_mem_begin(t, MD_CHUNK_STATE, &at);
	rt_mem_on(t);
	if (t->mem_state == RT_MEM_OPEN)
		t->mem_ptr -= desc->written;
	*ptr = t->mem_ptr;
}

/* The thread's own pool, made if need be. */
static struct rt_thread *own_pool(void)
{
	uint64_t tcb = rt_tcb();
	struct rt_thread *t;

	if (!rt_gs_is_ours())
		return NULL;
	t = rt_current_of(tcb);
	return t ? t : rt_register(tcb);
}

/*
 * Called by the gate, with signals blocked: @ret is its return address, @regs what it has saved, @sp the stack
 * pointer before the call.
 */
RT_HIDDEN void rt_mem_slow(const void *ret, uint64_t *regs, uint64_t sp)
{
	const struct rt_mem_desc *desc = (const void *)((uint64_t)ret + RT_MEM_DESC);
	struct rt_thread *t = own_pool();

	if (t && (desc->reg != RT_MEM_NO_REG || desc->flags & (RT_MEM_COUNTS | RT_MEM_LANDS)))
		check(t, desc, regs, sp + desc->above);
}

/* The next check enters the runtime; there is one after each comparison of owners. */
void rt_mem_moved(struct rt_thread *t)
{
	uint64_t off = __atomic_load_n(&t->mem_off, __ATOMIC_RELAXED);

	/* what is off is off for the thread's own TCB; the collector may make it 0 meanwhile */
	if (off)
		__atomic_compare_exchange_n(&t->mem_off, &off, t->tcb, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
	t->mem_moved = 1;
	t->mem_limit = 0;
}

void rt_mem_end(struct rt_thread *t)
{
	t->mem_off = t->mem_moved = t->mem_began = 0;
	t->mem_here = t->mem_can = 0;
	t->mem_left = t->mem_given = t->mem_told = t->mem_more = t->mem_rest = 0;
	t->mem_at = t->mem_turn = 0;
	t->pace = (struct rt_pace){ 0 };
	t->mem_ptr = t->mem_limit = t->mem_base = 0;
	t->mem_sub = 0;
	t->mem_state = RT_MEM_CLOSED;
}
