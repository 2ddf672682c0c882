/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is missing from the figures. */
#include "launcher/report/report.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

/* Sums over what was asked for. */
struct missing {
	uint64_t lost;	       /* by the threads shown */
	uint64_t elsewhere;    /* lost, but not by any thread that has a file */
	uint64_t lost_threads; /* no file */
	uint64_t discarded;
	uint64_t damaged; /* records */
	uint64_t bad_lines;
	size_t losers; /* threads that lost events */
	size_t bad_files;
	const struct sonde_trace_thread *bad; /* the first of the bad files */
	size_t unfinished, incomplete;	      /* ranks */
};

static void __attribute__((format(printf, 3, 4)))
add(struct report *r, bool damage, const char *fmt, ...)
{
	va_list args;

	r->problems = report_need(
		reallocarray(r->problems, r->nproblems + 1, sizeof(*r->problems)));
	struct report_problem *p = &r->problems[r->nproblems++];
	p->damage = damage;
	va_start(args, fmt);
	vsnprintf(p->text, sizeof(p->text), fmt, args);
	va_end(args);
}

static const char *s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

/* A file without an end belongs to a recording without an end; else somebody has cut it. */
static bool is_bad_file(const struct sonde_trace *trace, const struct sonde_trace_thread *t)
{
	const struct sonde_trace_rank *k = sonde_trace_rank(trace, t->rank_index);

	return t->status != SONDE_TRACE_OK && (t->status != SONDE_TRACE_E_TRUNCATED ||
					       k->ending != SONDE_TRACE_UNFINISHED);
}

static void look_at_thread(struct missing *m, const struct sonde_trace *trace,
			   const struct sonde_trace_thread *t)
{
	m->lost += t->lost;
	m->losers += t->lost > 0;
	m->damaged += t->damaged;
	if (is_bad_file(trace, t) && !m->bad_files++)
		m->bad = t;
}

static void look_at_rank(struct missing *m, const struct sonde_trace_rank *k, bool all_threads)
{
	m->bad_lines += k->bad_lines;
	m->discarded += k->discarded;
	m->unfinished += k->ending == SONDE_TRACE_UNFINISHED;
	m->incomplete += k->ending != SONDE_TRACE_UNFINISHED && !k->complete;
	if (all_threads) {
		m->lost_threads += k->lost_threads;
		m->elsewhere += k->lost;
	}
}

static struct missing look(const struct report *r)
{
	const struct report_request *q = r->request;
	struct missing m = { 0 };

	for (size_t i = 0; i < sonde_trace_threads(r->trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(r->trace, i);

		if (report_wants(q, r->trace, t))
			look_at_thread(&m, r->trace, t);
	}
	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(r->trace, i);

		if (q->rank == REPORT_ANY_RANK || (k->rank >= 0 && (uint64_t)k->rank == q->rank))
			look_at_rank(&m, k, !q->tid);
	}
	/* A rank's figure includes all of these. */
	uint64_t known = m.lost + m.discarded + m.damaged;
	m.elsewhere = m.elsewhere > known ? m.elsewhere - known : 0;
	return m;
}

static void add_losses(struct report *r, const struct missing *m)
{
	if (m->lost)
		add(r, false, "%" PRIu64 " event%s lost by %zu thread%s", m->lost,
		    m->lost == 1 ? " was" : "s were", m->losers, s(m->losers));
	if (m->lost_threads)
		add(r, false, "%" PRIu64 " thread%s not recorded: there was no memory left for %s",
		    m->lost_threads, m->lost_threads == 1 ? " was" : "s were",
		    m->lost_threads == 1 ? "it" : "them");
	if (m->elsewhere)
		add(r, false, "%" PRIu64 " event%s of threads that were not recorded %s lost",
		    m->elsewhere, s(m->elsewhere), m->elsewhere == 1 ? "is" : "are");
	if (m->discarded)
		add(r, false, "%" PRIu64 " event%s could not be written when the trace was recorded",
		    m->discarded, s(m->discarded));
	if (m->damaged)
		add(r, false, "%" PRIu64 " record%s made no sense to the recorder", m->damaged,
		    s(m->damaged));
	if (m->unfinished)
		add(r, false, "the recording has no end: it is still running, or the recorder was killed");
	if (m->incomplete)
		add(r, false, "the end of the recording is missing");
}

static void add_damage(struct report *r, const struct missing *m,
		       const struct report_findings *found)
{
	const char *text = "";
	size_t bad_ranks = sonde_trace_bad_ranks(r->trace, &text);

	if (bad_ranks)
		add(r, true, "%zu rank%s cannot be read: %s", bad_ranks, s(bad_ranks), text);
	if (found->bad_chunks)
		add(r, true, "%" PRIu64 " chunk%s of the trace %s damaged and left out: %s",
		    found->bad_chunks, s(found->bad_chunks), found->bad_chunks == 1 ? "is" : "are",
		    found->last);
	else if (m->bad_files)
		add(r, true, "%zu file%s of the trace %s damaged: %s: %s", m->bad_files,
		    s(m->bad_files), m->bad_files == 1 ? "is" : "are", m->bad->file,
		    sonde_trace_strstatus(m->bad->status));
	if (m->bad_lines)
		add(r, true, "%" PRIu64 " line%s of the trace's metadata could not be understood",
		    m->bad_lines, s(m->bad_lines));
	if (found->unknown)
		add(r, true, "%" PRIu64 " event%s of functions that the trace does not describe",
		    found->unknown, found->unknown == 1 ? " is" : "s are");
}

/* The recorder was killed, or could not write. */
static bool is_cut_off(const struct report *r)
{
	for (size_t i = 0; i < r->offcpu.nthreads; i++)
		if (r->offcpu.thread[i].known && r->offcpu.thread[i].known < sonde_trace_thread(r->trace, i)->last)
			return true;
	return false;
}

static void add_offcpu(struct report *r)
{
	if (r->offcpu.damaged)
		add(r, true, "what the trace has of when threads were blocked is damaged: some or all of it is left out");
	if (r->offcpu.lost)
		add(r, false, "%" PRIu64 " record%s of the kernel's %s lost: blocked, preempted and counters are too small", r->offcpu.lost,
		    s(r->offcpu.lost), r->offcpu.lost == 1 ? "is" : "are");
	if (r->offcpu.thread && is_cut_off(r))
		add(r, false, "when threads were blocked is known of a part of the time only");
}

void report_find_problems(struct report *r, const struct report_findings *found)
{
	struct missing m = look(r);

	add_damage(r, &m, found);
	add_losses(r, &m);
	add_offcpu(r);
}

bool report_is_damaged(const struct report *r)
{
	for (size_t i = 0; i < r->nproblems; i++) {
		if (r->problems[i].damage)
			return true;
	}
	return false;
}
