// SPDX-License-Identifier: GPL-3.0-or-later
/* Rings of events: from a thread's first to its last. */
#include <string.h>
#include <sys/mman.h>

#include "launcher/collect/collector-private.h"
#include "launcher/common/proc.h"
#include "memtrace/pack/blocks.h"

static void free_sub(struct collector *c, struct feed *f, struct ring_sub *sub, uint32_t used)
{
	uint8_t *base = (uint8_t *)f->head + RING_PAGE + (uint64_t)f->sub * c->sub_bytes;

	memset(base, 0, used < c->sub_bytes ? used : c->sub_bytes);
	atomic_store_explicit(&sub->state, RING_SUB_FREE, memory_order_release);
	collector_wake(&sub->state);
	f->sub = (f->sub + 1) % c->nsub;
	f->pos = 0;
	f->begun = false;
}

static void drain_sub(struct collector *c, struct feed *f, const struct ring_sub *sub, uint32_t used,
		      bool final)
{
	struct tf_sub in = {
		.base = (const uint8_t *)f->head + RING_PAGE + (uint64_t)f->sub * c->sub_bytes,
		.bytes = c->sub_bytes,
		.used = used,
		.sub = sub,
		.final = final,
		.now_tsc = __builtin_ia32_rdtsc(),
	};
	uint32_t pos = f->pos;

	collector_tell_first(c);
	if (!f->begun)
		collector_check(c, tf_thread_waited(f->thread, __atomic_load_n(&sub->start_tsc, __ATOMIC_RELAXED),
						    __atomic_load_n(&sub->waited, __ATOMIC_RELAXED)));
	f->begun = true;
	collector_check(c, tf_thread_drain(f->thread, &in, &f->pos));
	collector_budget_drained(c, (used && used < f->pos ? used : f->pos) - (uint64_t)pos);
}

/* When is not known: not before the sub-buffer that is drained next was taken. */
static void note_lost(struct collector *c, struct feed *f)
{
	uint64_t lost = atomic_load_explicit(&f->head->lost, memory_order_relaxed);
	uint64_t then = __atomic_load_n(&f->head->sub[f->sub].start_tsc, __ATOMIC_RELAXED);
	uint64_t now = __builtin_ia32_rdtsc();

	if (lost > f->lost)
		collector_check(c, tf_thread_lost(f->thread, then < now ? then : now, lost - f->lost));
	f->lost = lost;
}

static void look_at_cpu_time(struct feed *f)
{
	uint64_t ns;

	if (f->memory < 0 || !proc_cpu_time(f->pid, f->tid, &ns))
		return;
	f->sampled.cpu = ns;
	f->sampled.cpu_at = __builtin_ia32_rdtsc();
}

/* All that is full; with @live also what is in the sub-buffer that the thread writes to. */
bool collector_drain_feed(struct collector *c, struct feed *f, bool live)
{
	bool any = false;

	if (live && c->sampler.burst)
		look_at_cpu_time(f);
	note_lost(c, f);
	for (uint32_t i = 0; i < c->nsub; i++) {
		struct ring_sub *sub = &f->head->sub[f->sub];
		uint32_t state = atomic_load_explicit(&sub->state, memory_order_acquire);

		if (state == RING_SUB_WRITING && live)
			drain_sub(c, f, sub, 0, false);
		if (state != RING_SUB_FULL)
			break;
		uint32_t used = __atomic_load_n(&sub->used, __ATOMIC_RELAXED);

		drain_sub(c, f, sub, used, true);
		free_sub(c, f, sub, used);
		any = true;
	}
	collector_note_faults(c, f);
	return any;
}

/* The thread will write no more: everything, in order.  Whoever has the ring next finds zeros by other means. */
static void drain_rest(struct collector *c, struct feed *f)
{
	for (uint32_t i = 0; i < c->nsub; i++) {
		struct ring_sub *sub = &f->head->sub[f->sub];
		uint32_t state = atomic_load_explicit(&sub->state, memory_order_acquire);

		if (state == RING_SUB_FREE)
			break;
		drain_sub(c, f, sub, state == RING_SUB_FULL ? __atomic_load_n(&sub->used, __ATOMIC_RELAXED) : c->sub_bytes,
			  true);
		free_sub(c, f, sub, 0);
	}
	note_lost(c, f);
}

static void note_sampled(struct collector *c, const struct feed *f)
{
	if (c->sampler.burst)
		sampled_add(&c->totals.sampled, &c->sampler, f->head, &f->sampled, __builtin_ia32_rdtsc());
}

/* Of the original, in the program; false: of no file with recorded code. */
static bool find_left(const struct collector *c, uint64_t addr, struct mt_block_left *left)
{
	for (size_t i = 0; i < c->session->nobjects; i++) {
		const struct inj_object *o = &c->session->objects[i];

		if (!o->facts || addr - o->base < o->facts->text_lo || addr - o->base >= o->facts->text_hi)
			continue;
		left->object = (uint32_t)i;
		left->addr = addr - o->base;
		return true;
	}
	return false;
}

size_t collector_take_left(struct collector *c, size_t n, struct mt_block_left left[static RING_GONE])
{
	struct ring_left shared[RING_GONE] = { { 0 } };
	size_t first = n < RING_GONE_COUNTS ? n : RING_GONE_COUNTS, nleft = 0;

	memcpy(shared, c->counts, first * sizeof(*c->counts));
	memset(c->counts, 0, first * sizeof(*c->counts));
	for (size_t i = 0; i < RING_GONE; i++) {
		left[nleft].net = shared[i].net;
		nleft += shared[i].net && find_left(c, shared[i].addr, &left[nleft]);
	}
	return nleft;
}

/* What is in c->counts, @n of them. */
static void close_blocks(struct collector *c, const struct feed *f, size_t n, bool killed)
{
	struct mt_block_left left[RING_GONE];
	struct mt_block_counts t = { .pid = f->pid, .tid = f->tid, .killed = killed, .counts = c->counts, .n = n, .left = left };

	t.nleft = collector_take_left(c, n, left);
	for (size_t i = 0; i < n; i++)
		c->block_sums[i] += c->counts[i];
	collector_check(c, mt_write_counts(c->writer, &t));
}

static void close_thread(struct collector *c, struct feed *f, bool killed)
{
	uint64_t counters[RING_COUNTERS];
	struct tf_thread_end end = {
		.counters = counters, .lost = f->lost, .nested = atomic_load_explicit(&f->head->nested, memory_order_relaxed),
	};
	struct sonde_trace_thread_sampled sampled = sampled_thread(f->head);
	struct tf_thread_stats stats;
	uint64_t counts;
	char comm[32];

	if (c->sampler.burst)
		end.sampled = &sampled;
	memcpy(counters, (const uint8_t *)f->head + RING_COUNTERS_OFFSET, sizeof(counters));
	counts = collector_written(c, f, collector_counts_offset(c), c->functions * sizeof(*c->counts));
	memcpy(c->counts, (const uint8_t *)f->head + collector_counts_offset(c), counts);
	if (c->weighed)
		collector_close_weighed(c, f, killed);
	analysis_end(f->analysis, end.sampled, counters);
	f->analysis = NULL;
	note_sampled(c, f);
	tf_thread_stats(f->thread, &stats);
	c->totals.bytes += stats.file_bytes;
	c->totals.events += stats.events;
	c->totals.damaged += stats.damaged;
	c->totals.lost += f->lost;
	c->totals.nested += end.nested;
	c->totals.threads++;
	proc_comm(f->pid, f->tid, comm, sizeof(comm));
	end.comm = comm[0] ? comm : NULL;
	collector_budget_gone(c);
	if (c->block_sums) {
		close_blocks(c, f, counts / sizeof(*c->counts), killed);
	} else if (c->functions && !c->weighed) {
		end.calls = c->counts;
		end.ncalls = counts / sizeof(*c->counts);
	}
	collector_check(c, tf_thread_close(f->thread, &end));
	f->thread = NULL;
}

/* Drains and closes; the ring is as new afterwards. */
void collector_finish_feed(struct collector *c, struct feed *f, bool killed)
{
	_Atomic uint32_t *state = &f->head->state;
	char *rest = (char *)f->head + sizeof(*state);

	drain_rest(c, f);
	collector_finish_memory(c, f, killed);
	collector_note_faults(c, f);
	close_thread(c, f, killed);
	/* its memory goes back to the system; whoever has the ring next finds zeros */
	if (madvise((char *)f->head + RING_PAGE, c->ring_bytes - RING_PAGE, MADV_REMOVE) < 0)
		memset((char *)f->head + RING_PAGE, 0, c->ring_bytes - RING_PAGE);
	memset(rest, 0, RING_PAGE - sizeof(*state));
	f->sub = f->pos = 0;
	f->begun = false;
	f->lost = 0;
	f->sampled = (struct sampled){ 0 };
	atomic_store_explicit(state, RING_FREE, memory_order_release);
	atomic_fetch_add(&c->control->freed, 1);
	collector_wake_one(&c->control->freed);
}

void collector_leave_feed(struct collector *c, struct feed *f)
{
	collector_drain_feed(c, f, true);
	collector_finish_memory(c, f, true);
	collector_note_faults(c, f);
	close_thread(c, f, true);
}

void collector_finish_process(struct collector *c, pid_t pid, bool killed)
{
	for (uint32_t i = 0, n = collector_rings(c); i < n; i++)
		if (c->feeds[i].thread && c->feeds[i].pid == pid)
			collector_finish_feed(c, &c->feeds[i], killed);
}

bool collector_open_feed(struct collector *c, struct feed *f)
{
	uint64_t first = __atomic_load_n(&f->head->first_tsc, __ATOMIC_RELAXED);
	uint32_t ns = __atomic_load_n(&f->head->pid_ns, __ATOMIC_RELAXED);
	char comm[32];

	f->pid = __atomic_load_n(&f->head->pid, __ATOMIC_RELAXED);
	f->tid = __atomic_load_n(&f->head->tid, __ATOMIC_RELAXED);
	proc_comm(f->pid, f->tid, comm, sizeof(comm));
	collector_add_process(c, f->pid, ns);
	f->memory = collector_process_memory(c, f->pid, ns);
	collector_check(c, tf_thread_create(c->writer, &f->thread, f->pid, f->tid, comm[0] ? comm : NULL, first));
	if (f->thread && c->analysis)
		f->analysis = analysis_begin(c->analysis, f->pid, f->tid, comm);
	f->room = c->rooms[0];
	collector_begin_memory(c, f, comm);
	return f->thread != NULL;
}
