/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/inspect/info.h"
#include "launcher/memory/memtrace.h"
#include "launcher/trace/sampled.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

struct stream {
	int rank;
	struct mt_files_thread about;
	struct mt_counts counts;
	uint64_t gaps;
	struct mt_read_bursts bursts;
};

struct info_memory {
	struct stream *v;
	size_t n;
	uint64_t bad_objects;
	uint64_t unreadable; /* ranks, or files */
	struct stream total;
	uint64_t lost_at_end; /* more than the streams tell */
	bool blocks; /* in place of accesses */
};

void info_row(const char *key, const char *fmt, ...)
{
	va_list args;

	printf("%-12s", key);
	va_start(args, fmt);
	vprintf(fmt, args);
	va_end(args);
	putchar('\n');
}

void info_size(const char *key, uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB" };
	double v = (double)bytes;
	int i = -1;

	while (v >= 1024 && i < 3) {
		v /= 1024;
		i++;
	}
	if (i < 0)
		info_row(key, "%" PRIu64 " bytes", bytes);
	else
		info_row(key, "%" PRIu64 " bytes (%.1f %s)", bytes, v, unit[i]);
}

/* ---- counting ---- */

static void add_bursts(struct mt_read_bursts *to, const struct mt_read_bursts *from)
{
	to->n += from->n;
	to->ticks += from->ticks;
	to->accesses += from->accesses;
	to->ticks2 += from->ticks2;
	to->accesses2 += from->accesses2;
	to->both += from->both;
}

static void add(struct stream *to, const struct stream *from)
{
	to->about.file_bytes += from->about.file_bytes;
	to->about.raw_bytes += from->about.raw_bytes;
	to->about.chunks += from->about.chunks;
	to->about.bad += from->about.bad;
	to->about.lost += from->about.lost;
	to->gaps += from->gaps;
	add_bursts(&to->bursts, &from->bursts);
	for (unsigned int k = 0; k < 4; k++) {
		to->counts.accesses[k] += from->counts.accesses[k];
		to->counts.bytes[k] += from->counts.bytes[k];
	}
}

static int read_stream(void *arg, const struct memtrace_thread *thread)
{
	struct info_memory *m = arg;
	struct stream *v = realloc(m->v, (m->n + 1) * sizeof(*v)), *s;
	struct mt_read_thread *t = memtrace_start(thread);

	if (v)
		m->v = v;
	if (!v || !t) {
		mt_read_stop(t);
		m->total.about.bad++;
		return 0; /* the others may be whole */
	}
	s = &v[m->n++];
	*s = (struct stream){ .rank = thread->rank, .about = thread->about };
	mt_read_count(t, true, &s->counts, &s->gaps);
	mt_read_bursts(t, &s->bursts);
	mt_read_stop(t);
	add(&m->total, s);
	return 0;
}

static int begin_rank(void *arg, struct mt_read *read, const struct sonde_trace_rank *rank)
{
	struct info_memory *m = arg;

	(void)rank;
	m->bad_objects += mt_read_bad_objects(read) + mt_read_bad_places(read);
	return 0;
}

/* Losses at the very end of a stream are in the metadata alone. */
static uint64_t told_lost(const struct sonde_trace *trace)
{
	uint64_t n = 0;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++)
		n += sonde_trace_thread(trace, i)->memory_lost;
	return n;
}

struct info_memory *info_memory_read(struct sonde_trace *trace, const struct opt_list *processes)
{
	struct pick pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END, .processes = *processes };
	struct info_memory *m = calloc(1, sizeof(*m));
	const struct memtrace_visitor visitor = { .begin = begin_rank, .thread = read_stream, .arg = m };
	struct memtrace t;
	uint64_t lost;

	memtrace_use(trace, &pick, &t);
	if (!m || !t.threads) {
		free(m);
		return NULL;
	}
	m->blocks = t.blocks;
	m->unreadable = memtrace_visit(&t, &visitor) != 0;
	if (!m->unreadable && m->n < t.threads)
		m->unreadable = t.threads - m->n;
	lost = told_lost(trace);
	m->lost_at_end = lost > m->total.about.lost ? lost - m->total.about.lost : 0;
	return m;
}

void info_memory_free(struct info_memory *m)
{
	if (m)
		free(m->v);
	free(m);
}

/* What was lost while recording is a gap, too, but no damage. */
static uint64_t damage_of(const struct stream *s)
{
	bool explained = s->about.lost && !s->about.bad;

	return s->about.bad + (explained ? 0 : s->gaps);
}

uint64_t info_memory_lost(const struct info_memory *m)
{
	return m ? m->total.about.lost + m->lost_at_end : 0;
}

uint64_t info_memory_damage(const struct info_memory *m)
{
	uint64_t n = 0;

	if (!m)
		return 0;
	for (size_t i = 0; i < m->n; i++)
		n += damage_of(&m->v[i]);
	return n + m->bad_objects + m->unreadable;
}

/* ---- printing ---- */

static uint64_t accesses_of(const struct stream *s)
{
	uint64_t n = 0;

	for (unsigned int k = 0; k < 4; k++)
		n += s->counts.accesses[k];
	return n;
}

static void print_sampled(const struct sonde_trace_sampled *s)
{
	char text[SAMPLED_MAX];

	if (!s->lived) {
		sampled_text(s, text);
		info_row("sampled", "%s", text);
		return;
	}
	info_row("sampled", "%" PRIu64 " burst%s, %.2f %% of the %stime", s->bursts, s->bursts == 1 ? "" : "s",
		 100 * sampled_share(s), s->cpu_ns ? "CPU " : "");
	if (s->all_units)
		info_row("", "about %.2f %% of the accesses", 100 * (double)s->on_units / (double)s->all_units);
	info_row("", "`sonde memory' estimates what all were");
}

static void print_cost(const struct sonde_trace_sampled *s)
{
	if (!s->cost_ns)
		return;
	info_row("cost", "about %.2f %% of CPU time; allowed %.4g %%", 100 * sampled_cost(s), 100 * s->overhead);
	if (s->switches)
		info_row("", "%.3f s of it is Sonde's to switch %" PRIu64 " time%s between its copies and the program's own code", (double)s->switch_ns / 1e9,
			 s->switches, s->switches == 1 ? "" : "s");
	if (s->stay)
		info_row("", "copies of code ran between bursts%s, since %s", s->switches ? " later" : "", s->stay);
	info_row("", s->stay || !s->switches ? "not in it: starting; those copies, which take far more where calls are short;" : "not in it: starting;");
	info_row("", "and %.3f s of Sonde's CPU time to instrument functions when they were first called", (double)s->asked_ns / 1e9);
}

/*
 * Accesses a second, while recording, with the interval that holds the rate of all bursts like these in 19 cases of
 * 20: a ratio of sums, whose bursts are taken for independent of each other (Cochran, Sampling Techniques, 1977).
 */
static void print_bursts(const struct stream *s, double hz)
{
	const struct mt_read_bursts *b = &s->bursts;
	double rate = b->accesses / b->ticks, n = (double)b->n, rest;

	if (b->n < 2 || !(b->ticks > 0))
		return;
	rest = (b->accesses2 - 2 * rate * b->both + rate * rate * b->ticks2) / (n - 1);
	info_row("", "%.4g accesses a second in them, +- %.2g %%", rate * hz,
		 100 * 1.96 * sqrt(n * (rest > 0 ? rest : 0)) / b->accesses);
}

static void print_streams(const struct info_memory *m, bool sampled)
{
	static const char *const kinds[] = { "loads", "stores", "modifications", "prefetches" };
	uint64_t all = accesses_of(&m->total);

	info_row(m->blocks ? "order" : "memory", "%" PRIu64 " %s in %zu stream%s%s", all, m->blocks ? "blocks" : "accesses", m->n,
		 m->n == 1 ? "" : "s", sampled ? ", those in bursts" : "");
	for (unsigned int k = 0; k < 4 && !m->blocks; k++)
		if (m->total.counts.accesses[k])
			info_row("", "%" PRIu64 " %s of %" PRIu64 " bytes", m->total.counts.accesses[k],
				 kinds[k], m->total.counts.bytes[k]);
	info_size("streams", m->total.about.file_bytes);
	info_size("  unpacked", m->total.about.raw_bytes);
	if (all)
		info_row(m->blocks ? "per block" : "per access", "%.3f bytes, %.3f unpacked",
			 (double)m->total.about.file_bytes / (double)all,
			 (double)m->total.about.raw_bytes / (double)all);
}

void info_memory_print(const struct info_memory *m, const struct sonde_trace *trace)
{
	struct sonde_trace_sampled sampled;

	if (sampled_sum(trace, &sampled))
		print_sampled(&sampled);
	if (m)
		print_streams(m, sampled.by != NULL);
	if (m && sampled.by)
		print_bursts(&m->total, sonde_trace_rank(trace, 0)->tsc_hz);
	print_cost(&sampled);
}

static void print_stream(const struct stream *s)
{
	char id[32], number[16] = "-";

	snprintf(id, sizeof id, "%d.%d", s->about.pid, s->about.tid);
	if (s->rank >= 0)
		snprintf(number, sizeof number, "%d", s->rank);
	printf("%6s %15s %13" PRIu64 " %13" PRIu64 " %13" PRIu64 " %11" PRIu64 " %8" PRIu64 " %13" PRIu64
	       " %13" PRIu64 " %6" PRIu64 "\n", number, id, s->counts.accesses[MD_LOAD],
	       s->counts.accesses[MD_STORE], s->counts.accesses[MD_MODIFY],
	       s->counts.accesses[MD_PREFETCH], s->about.chunks, s->about.file_bytes, s->about.raw_bytes,
	       s->about.lost);
}

void info_memory_print_threads(const struct info_memory *m)
{
	if (!m)
		return;
	printf("\n%6s %15s %13s %13s %13s %11s %8s %13s %13s %6s\n", "rank", "thread", "loads", "stores",
	       "modifications", "prefetches", "chunks", "bytes", "unpacked", "lost");
	for (size_t i = 0; i < m->n; i++)
		print_stream(&m->v[i]);
}
