/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How functions were recorded: what was instrumented, what was left alone and why, and what recording was allowed to cost. */
#include "launcher/inspect/info.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injector/facts/facts.h"
#include "injector/image/symbols.h"
#include "launcher/common/units.h"
#include "launcher/trace/budgeted.h"
#include "launcher/trace/processtree.h"

/* A share of the program's time. */
static double share_of(uint64_t ns, uint64_t plain)
{
	return plain ? 100 * (double)ns / (double)plain : 0;
}

static void print_choices(const struct sonde_trace_budget *b)
{
	for (size_t i = 0; b && i < b->nchosen; i++) {
		const struct sonde_trace_chosen *c = &b->chosen[i];

		printf("%-12s   %10.3f s %s ", "", (double)c->time / 1e9, c->counted ? "counted: " : "recorded:");
		units_text(stdout, c->function->demangled, 0, true);
		putchar('\n');
	}
}

void info_budget_print(const struct sonde_trace *trace, bool choices)
{
	char text[BUDGETED_MAX];
	struct budgeted b;

	if (!budgeted_sum(trace, &b))
		return;
	budgeted_text(&b, text);
	info_row("budget", "%.4g %% for calls: %s", 100 * b.overhead, text);
	if (b.plain_ns)
		info_row("", "cost about %.2f %% of %.3f s of CPU time, %.2f %% in the program; what counting takes is not known",
			 share_of(b.probes_ns + b.sonde_ns, b.plain_ns), (double)b.plain_ns / 1e9,
			 share_of(b.probes_ns, b.plain_ns));
	for (size_t i = 0; choices && i < sonde_trace_ranks(trace); i++)
		print_choices(sonde_trace_rank(trace, i)->budget);
}

/* Names, in the order in which they stand in the program. */
static void print_names(const struct sonde_trace_reason *reason)
{
	for (size_t i = 0; i < reason->nnames; i++) {
		char *plain = inj_demangle(reason->names[i]);

		printf("%-12s%8s   ", "", "");
		units_text(stdout, plain ? plain : reason->names[i], 0, true);
		putchar('\n');
		free(plain);
	}
	if (reason->nnames && reason->nnames < reason->count)
		printf("%-12s%8s   ... and %" PRIu64 " more\n", "", "", reason->count - reason->nnames);
}

static void print_reasons(const struct sonde_trace_recording *r, bool names)
{
	for (size_t i = 0; i < r->nleft_alone; i++) {
		printf("%-12s%8" PRIu64 " not instrumented: ", "", r->left_alone[i].count);
		units_text(stdout, r->left_alone[i].text, 0, true);
		putchar('\n');
		if (names)
			print_names(&r->left_alone[i]);
	}
}

/* How functions were recorded without modules.  @several: programs, which have a line each. */
static void print_recording(const struct sonde_trace_rank *rank, bool several, bool names)
{
	const struct sonde_trace_recording *r = rank->recording;
	uint64_t left_alone = 0;

	for (size_t i = 0; i < r->nleft_alone; i++)
		left_alone += r->left_alone[i].count;
	printf("%-12s%" PRIu64 " function%s", "recorded", r->instrumented,
	       r->instrumented == 1 ? "" : "s");
	if (several) {
		fputs(" of ", stdout);
		units_text(stdout, program_name(rank->program), 0, true);
	}
	if (r->memory)
		printf(", %s of %" PRIu64, r->blocks ? "the order of blocks" : r->blocks_beside ? "memory accesses and the order of blocks" :
				"memory accesses", r->memory);
	if (!strcmp(r->clock, "none"))
		fputs(", calls counted only", stdout);
	if (r->uncalled)
		printf("; %" PRIu64 " never called", r->uncalled);
	if (r->code && r->unknown)
		printf("; %s%.1f%% of the code in no known function", r->unknown > r->code / INJ_COVERAGE_SHARE ? "warning: " : "",
		       100.0 * (double)r->unknown / (double)r->code);
	if (left_alone)
		printf("; %" PRIu64 " left alone%s%s", left_alone, names ? "" : " (-v: which)",
		       several && !names ? "" : ":");
	putchar('\n');
	if (!several || names)
		print_reasons(r, names);
}

bool info_is_first_of_file(const struct sonde_trace *trace, size_t index)
{
	const struct sonde_trace_rank *rank = sonde_trace_rank(trace, index);

	for (size_t i = 0; i < index; i++)
		if (sonde_trace_rank(trace, i)->recording && !strcmp(sonde_trace_rank(trace, i)->program, rank->program))
			return false;
	return rank->recording != NULL;
}

void info_recorded_print(const struct sonde_trace *trace, bool names)
{
	const struct sonde_trace_recording *first = NULL;
	bool several = false;

	for (size_t i = 1; i < sonde_trace_ranks(trace); i++)
		several |= strcmp(sonde_trace_rank(trace, i)->program, sonde_trace_rank(trace, 0)->program) != 0;
	for (size_t i = 0; i < sonde_trace_ranks(trace); i++) {
		if (!info_is_first_of_file(trace, i))
			continue;
		if (!first)
			first = sonde_trace_rank(trace, i)->recording;
		print_recording(sonde_trace_rank(trace, i), several, names);
	}
	for (size_t i = 0; first && i < first->nfilters; i++) {
		printf("%-12s", i ? "" : "chosen by");
		units_text(stdout, first->filters[i], 0, true);
		putchar('\n');
	}
}
