/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Caches and bursts: what a profile is asked for, and what its figures are worth. */
#include "launcher/memory/memory.h"
#include "launcher/trace/sampled.h"

#include <math.h>
#include <string.h>

#include "tracefmt/ring.h"

/* Where nothing is known: what many machines have. */
static const struct caches usual = { { 32 << 10, 1 << 20, 32 << 20 } };

static void choose_caches(struct memory_about *about, const struct sonde_trace *trace, const struct caches *given)
{
	if (given) {
		about->caches = *given;
		about->caches_of = "as --cache says";
		return;
	}
	if (trace)
		about->caches = caches_from(sonde_trace_rank(trace, 0)->caches);
	about->caches_of = "of the machine where it was recorded";
	if (about->caches.bytes[0])
		return;
	about->caches = caches_here();
	about->caches_of = "of this machine, since the trace does not tell";
	if (about->caches.bytes[0])
		return;
	about->caches = usual;
	about->caches_of = "as usual, since neither the trace nor the system tells";
}

/* How far the number of all accesses is off: where bursts begin and end, and what threads had not reported at their end. */
static double untold(const struct sonde_trace *trace, const struct sonde_trace_sampled *how)
{
	double threads = 0;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread_sampled *s = sonde_trace_thread(trace, i)->sampled;

		threads += s && s->bursts;
	}
	return (how->burst ? MEMSAMPLE_EDGE / (double)how->burst : 0) +
	       threads * (double)how->every / RING_SAMPLE_SLICES / (double)how->all_units;
}

struct memory_about memory_about(const struct sonde_trace *trace, const struct caches *caches)
{
	struct memory_about about = { 0 };

	choose_caches(&about, trace, caches);
	if (trace)
		about.sampled = sampled_sum(trace, &about.how);
	if (about.sampled && sampled_counted(&about.how))
		about.known_to = untold(trace, &about.how);
	return about;
}

struct memprofile_options memory_profile_options(const struct memory_about *about, bool no_stack)
{
	struct memprofile_options o = { .no_stack = no_stack, .sampled = about->sampled };

	_Static_assert(MEMPROFILE_CACHES == CACHES_MAX, "a column each");
	for (unsigned int k = 0; k < MEMPROFILE_CACHES; k++)
		o.caches[k] = about->caches.bytes[k] / MEMPROFILE_LINE;
	return o;
}

void memory_profile_sampled(struct memprofile_thread *t, const struct sonde_trace_sampled *how,
			    const struct sonde_trace_thread_sampled *sampled)
{
	uint64_t first = how->burst;

	if (sampled && !sampled->bursts)
		memprofile_whole(t);
	else if (!how->by || strcmp(how->by, "accesses") != 0 || !how->burst)
		return;
	else if (sampled && sampled->on_units > first && sampled->all_units >= sampled->on_units)
		memprofile_scale(t, (double)(sampled->all_units - first) / (double)(sampled->on_units - first));
	else if (sampled || sampled_counted(how))
		memprofile_scale(t, (double)how->every / (double)how->burst);
}

/* ---- figures ---- */

static double group_value(const struct memprofile_group *g, enum memory_counted what)
{
	switch (what) {
	case MEMORY_ACCESSES:
		return g->accesses;
	case MEMORY_BYTES:
		return g->bytes;
	case MEMORY_LOADS:
		return g->loads;
	case MEMORY_STORES:
		return g->stores;
	}
	return 0;
}

static uint64_t row_value(const struct memprofile_insn *s, enum memory_counted what)
{
	switch (what) {
	case MEMORY_ACCESSES:
		return memory_accesses(s);
	case MEMORY_BYTES:
		return memory_bytes(s);
	case MEMORY_LOADS:
		return memory_loads(s);
	case MEMORY_STORES:
		return memory_stores(s);
	}
	return 0;
}

/* Accesses from the beginning of a burst to that of the next; 0: there are no such bursts. */
static double period_of(const struct memory_rows *rows)
{
	double bursts = 0;

	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++)
		bursts += rows->curves[i].bursts;
	if (!(bursts > 0))
		return 0;
	return sampled_counted(&rows->about.how) ? (double)rows->about.how.every :
						   (double)memory_accesses(&rows->total.sum) / bursts;
}

struct memory_count memory_count(const struct memory_rows *rows, const struct memory_row *row, enum memory_counted what)
{
	const struct sonde_trace_sampled *how = &rows->about.how;
	double v[MEMPROFILE_GROUPS], bursts[MEMPROFILE_GROUPS], period;
	double accesses = (double)memory_accesses(&row->sum);
	struct memory_count n = { (double)row_value(&row->sum, what), 0 };

	if (!row->groups || !rows->curves || !sampled_counted(how))
		return n;
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++) {
		v[i] = group_value(&row->groups[i], what);
		bursts[i] = rows->curves[i].bursts;
	}
	n.error = memsample_error(v, bursts, v);
	period = period_of(rows);
	if (accesses < period)
		n.error = INFINITY;
	if (n.error > 0)
		n.error += n.value * (rows->about.known_to + period / accesses / 2);
	return n;
}

/* By group, of what is sampled: misses, with half of what is not known; accesses; bursts. */
struct sample {
	double misses[MEMPROFILE_GROUPS], accesses[MEMPROFILE_GROUPS], bursts[MEMPROFILE_GROUPS];
};

/* @s: NULL: nothing is sampled. */
static struct memory_misses misses_of(double misses, double unknown, double all, const struct sample *s)
{
	struct memory_misses m = { .known = all > 0 && memsample_known(misses, unknown, all) };
	double rest[MEMPROFILE_GROUPS], error;

	if (!m.known)
		return m;
	m.misses = misses + unknown / 2;
	m.percent = 100 * m.misses / all;
	m.error = 100 * unknown / 2 / all;
	if (!s)
		return m;
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS; i++)
		rest[i] = s->misses[i] - m.misses / all * s->accesses[i];
	error = memsample_error(rest, s->bursts, s->accesses);
	m.known = isfinite(error);
	m.error += 100 * error / all;
	return m;
}

struct memory_misses memory_misses(const struct memory_rows *rows, const struct memory_row *row, unsigned int cache)
{
	double misses = (double)row->sum.misses[cache], unknown = (double)row->sum.unknown[cache];
	bool sampled = row->groups && rows->curves;
	struct sample s;

	for (unsigned int i = 0; i < MEMPROFILE_GROUPS && sampled; i++) {
		s.misses[i] = row->groups[i].twice[cache] / 2;
		s.accesses[i] = row->groups[i].accesses;
		s.bursts[i] = rows->curves[i].bursts;
	}
	if (sampled && (double)memory_accesses(&row->sum) < MEMSAMPLE_PERIODS * period_of(rows))
		return (struct memory_misses){ .known = false };
	return misses_of(misses, unknown, (double)memory_accesses(&row->sum), sampled ? &s : NULL);
}

struct memory_misses memory_all_misses(const struct memory_rows *rows, unsigned int bits)
{
	const struct memprofile_insn *sum = &rows->total.sum;
	double misses = (double)sum->first, unknown = 0;
	struct sample s;

	for (unsigned int k = 0; k < MEMPROFILE_DISTANCES; k++) {
		if (k > bits)
			misses += (double)(sum->reuse[k] + sum->open[k]);
		else
			unknown += (double)sum->open[k];
	}
	for (unsigned int i = 0; i < MEMPROFILE_GROUPS && rows->curves; i++) {
		s.misses[i] = rows->curves[i].twice[bits] / 2;
		s.accesses[i] = rows->curves[i].accesses;
		s.bursts[i] = rows->curves[i].bursts;
	}
	return misses_of(misses, unknown, (double)memory_accesses(sum), rows->curves ? &s : NULL);
}
