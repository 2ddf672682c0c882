/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of the run: above the tables. */
#include "launcher/common/units.h"
#include "launcher/report/phases/phases.h"
#include "launcher/report/report.h"
#include "launcher/trace/budgeted.h"
#include "launcher/trace/clocks.h"
#include "launcher/trace/sampled.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_RANKS_LISTED 8

static bool is_shown(const struct report *r, const struct sonde_trace_rank *k)
{
	return r->request->rank == REPORT_ANY_RANK ||
	       (k->rank >= 0 && (uint64_t)k->rank == r->request->rank);
}

/* ---- the program ---- */

static void put_argument(FILE *out, const char *arg)
{
	bool plain = *arg && !strpbrk(arg, " \t\n'\"\\$`*?;&|<>()");

	fputs(plain ? " " : " '", out);
	units_text(out, arg, 0, true);
	if (!plain)
		putc('\'', out);
}

static void put_program(const struct sonde_trace_rank *k, FILE *out)
{
	fputs("program    ", out);
	put_argument(out, k->nargs ? k->args[0] : k->program);
	for (size_t i = 1; i < k->nargs; i++)
		put_argument(out, k->args[i]);
	putc('\n', out);
}

static uint64_t duration(const struct report *r)
{
	uint64_t first = UINT64_MAX, last = 0;

	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(r->trace, i);

		if (!is_shown(r, k))
			continue;
		first = k->start < first ? k->start : first;
		last = k->end > last ? k->end : last;
	}
	return last > first ? last - first : 0;
}

static void put_date(const struct report *r, const struct sonde_trace_rank *k, FILE *out)
{
	char date[64], text[UNITS_MAX];
	time_t seconds = (time_t)(k->start_real_ns / 1000000000);
	struct tm tm;

	if (!localtime_r(&seconds, &tm) || !strftime(date, sizeof(date), "%F %T %z", &tm))
		snprintf(date, sizeof(date), "?");
	units_time(duration(r), text);
	fprintf(out, "recorded    %s on ", date);
	units_text(out, k->host, 0, true);
	fprintf(out, ", for %s\n", text);
}

static void put_clocks(const struct report *r, FILE *out)
{
	char text[CLOCKS_MAX];

	if (!clocks_text(r->trace, text))
		return;
	fputs("clocks      ", out);
	units_text(out, text, 0, true);
	putc('\n', out);
}

/* ---- how it ended ---- */

static bool ended_alike(const struct sonde_trace_rank *a, const struct sonde_trace_rank *b)
{
	return a->ending == b->ending &&
	       (a->ending != SONDE_TRACE_EXITED || a->exit_status == b->exit_status) &&
	       (a->ending != SONDE_TRACE_KILLED || a->signal == b->signal);
}

/* Of programs that processes have executed the tree says how they ended. */
static bool has_ending(const struct report *r, const struct sonde_trace_rank *k)
{
	return is_shown(r, k) && !k->number && !k->left_out;
}

/* What its process was in the end. Damaged metadata may have it go round in a circle. */
static const struct sonde_trace_rank *last_program(const struct report *r, const struct sonde_trace_rank *k)
{
	for (size_t i = 0; i < sonde_trace_ranks(r->trace) && k->executed && k->executed->program; i++)
		k = k->executed->program;
	return k;
}

/* The first of those that ended like rank @index speaks for all. */
static bool ended_before(const struct report *r, size_t index)
{
	const struct sonde_trace_rank *this = last_program(r, sonde_trace_rank(r->trace, index));

	for (size_t i = 0; i < index; i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(r->trace, i);

		if (has_ending(r, k) && ended_alike(last_program(r, k), this))
			return true;
	}
	return false;
}

static void put_ranks_like(const struct report *r, const struct sonde_trace_rank *like, FILE *out)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(r->trace, i);

		if (!has_ending(r, k) || !ended_alike(last_program(r, k), like))
			continue;
		if (n < MAX_RANKS_LISTED)
			fprintf(out, "%s%d", n ? ", " : " (rank ", k->rank);
		n++;
	}
	fputs(n > MAX_RANKS_LISTED ? ", ...)" : ")", out);
}

static size_t count_endings(const struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++)
		n += has_ending(r, sonde_trace_rank(r->trace, i)) && !ended_before(r, i);
	return n;
}

static void put_endings(const struct report *r, FILE *out)
{
	size_t n = count_endings(r);
	char text[PROCESS_ENDING_MAX];
	bool first = true;

	if (!n)
		return;
	fputs("ended       ", out);
	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(r->trace, i);

		if (!has_ending(r, k) || ended_before(r, i))
			continue;
		k = last_program(r, k);
		program_ending(k, text);
		fprintf(out, "%s%s", first ? "" : ", ", text);
		first = false;
		if (n > 1)
			put_ranks_like(r, k, out);
	}
	putc('\n', out);
}

/* ---- how much there is ---- */

static void put_count(FILE *out, const char *before, uint64_t n, const char *one, const char *many)
{
	fprintf(out, "%s%" PRIu64 " %s", before, n, n == 1 ? one : many);
}

static void put_counts(const struct report *r, FILE *out)
{
	fputs("contents    ", out);
	if (r->nranks > 1)
		put_count(out, "", r->nranks, "rank, ", "ranks, ");
	if (r->several_programs)
		put_count(out, "", r->processes.programs, "program, ", "programs, ");
	if (!r->request->tid)
		put_count(out, "", r->processes.processes, "process, ", "processes, ");
	put_count(out, "", r->nthreads, "thread", "threads");
	put_count(out, ", ", r->events, "event\n", "events\n");
}

/* Ranks are switched together, mostly; the first one is as good as any. */
static void put_switched(const struct sonde_trace_rank *k, FILE *out)
{
	char on[UNITS_MAX], all[UNITS_MAX];
	uint64_t whole = k->end - k->start;

	if (!k->offs)
		return;
	units_time(k->off < whole ? whole - k->off : 0, on);
	units_time(whole, all);
	fprintf(out, "switched    off %zu time%s: %s of %s were recorded; the rest is left out below\n", k->offs,
		k->offs == 1 ? "" : "s", on, all);
}

static void put_newest(const struct report *r, FILE *out)
{
	uint64_t older = 0;
	bool flight = false;

	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		const struct sonde_trace_rank *k = sonde_trace_rank(r->trace, i);

		flight |= k->flight != 0;
		older += k->older;
	}
	if (flight || older)
		fprintf(out, "%-12sthe newest events of each thread; %" PRIu64 " older ones were not kept\n", flight ? "flight" : "max-size",
			older);
}

static void put_sampled(const struct report *r, FILE *out)
{
	struct sonde_trace_sampled sum;
	struct budgeted budget;
	char text[SAMPLED_MAX];

	if (!sampled_sum(r->trace, &sum))
		return;
	sampled_text(&sum, text);
	fprintf(out, "sampled     memory accesses: %s%s\n", text,
		budgeted_sum(r->trace, &budget) ? "" : "; calls are all recorded");
}

static void put_budget(const struct report *r, FILE *out)
{
	char text[BUDGETED_MAX];
	struct budgeted sum;

	if (!budgeted_sum(r->trace, &sum))
		return;
	budgeted_text(&sum, text);
	fprintf(out, "budget      %.4g %%: %s\n", 100 * sum.overhead, text);
}

static void put_phase(const struct report *r, FILE *out)
{
	char text[UNITS_MAX];
	uint64_t count = 0, time = 0;

	if (!r->phases)
		return;
	for (size_t i = 0; i < r->phases->n; i++) {
		const struct phase_row *row = &r->phases->row[i];

		count += row->wanted ? row->count : 0;
	}
	for (size_t i = 0; i < r->ngroups; i++)
		time += r->groups[i].whole;
	units_time(time, text);
	fputs("phase       ", out);
	units_text(out, r->request->phase, 0, true);
	fprintf(out, ": %" PRIu64 " time%s; all below is of these %s of threads\n", count, count == 1 ? "" : "s", text);
}

static void put_offcpu(const struct report *r, FILE *out)
{
	char text[UNITS_MAX];

	if (!r->offcpu.thread || !r->offcpu.switches)
		return;
	units_time(r->blocked, text);
	fprintf(out, "blocked     %s of the threads' time in calls", text);
	units_time(r->preempted, text);
	fprintf(out, ", preempted %s, as the kernel's scheduler says\n", text);
}

/* ---- modules over ranks ---- */

static void put_module(const struct report *r, const struct report_module_time *m, FILE *out)
{
	fputs("time in     ", out);
	units_text(out, m->module ? m->module->name : "recorded functions", 0, true);
	report_print_over_ranks(r, &m->time, out);
}

static const struct sonde_trace_rank *first_shown(const struct report *r)
{
	for (size_t i = 0; i < sonde_trace_ranks(r->trace); i++) {
		if (is_shown(r, sonde_trace_rank(r->trace, i)))
			return sonde_trace_rank(r->trace, i);
	}
	return NULL;
}

void report_print_head(const struct report *r, FILE *out)
{
	const struct sonde_trace_rank *k = first_shown(r);

	for (size_t i = 0; i < r->nproblems; i++) {
		fputs("warning: ", out);
		units_text(out, r->problems[i].text, 0, true);
		putc('\n', out);
	}
	if (k) {
		put_program(k, out);
		put_date(r, k, out);
		put_clocks(r, out);
		put_endings(r, out);
	}
	put_counts(r, out);
	if (k)
		put_switched(k, out);
	put_newest(r, out);
	put_phase(r, out);
	put_offcpu(r, out);
	report_print_spent(r, out);
	put_budget(r, out);
	put_sampled(r, out);
	for (size_t i = 0; i < r->nmodules; i++)
		put_module(r, &r->modules[i], out);
	report_print_waits(r, out);
}
