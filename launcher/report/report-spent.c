/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recording took.  Where that is much, functions are named that had better be left out: those that are called
 * most, and are short.
 */
#include "launcher/common/units.h"
#include "launcher/report/report.h"

#include <stdlib.h>

#define MUCH 0.1     /* share of the time from which something should be done */
#define NAMED 5u     /* functions, at most */
#define WORTH 0.02   /* share of the calls that a function has to have to be named */
#define SHORT 5000   /* ns: average of a call that is not worth being recorded */

void report_spent_add(struct report_spent *s, uint64_t whole, uint64_t taken, uint64_t waited,
		      const struct report_sums *sums)
{
	const struct report_rows *rows = sums->rows;

	s->whole += whole;
	s->taken += taken;
	s->waited += waited;
	if (!s->calls)
		s->calls = report_zeroed(rows->n, sizeof(*s->calls));
	for (size_t i = 0; i < sums->nseen; i++) {
		const struct report_row *row = &rows->row[sums->seen[i]];
		const struct report_stats *stats = &sums->row[sums->seen[i]];

		if (row->kind == REPORT_FUNCTION && !row->module)
			s->calls[sums->seen[i]] += stats->ended.n;
	}
}

void report_spent_free(struct report_spent *s)
{
	free(s->calls);
	*s = (struct report_spent){ 0 };
}

/* Called most of those after @before (REPORT_NO_SLOT: none). */
static uint32_t next_most(const struct report *r, uint32_t before)
{
	const uint64_t *calls = r->spent.calls;
	uint32_t best = REPORT_NO_SLOT;

	for (uint32_t i = 0; i < r->rows.n; i++) {
		if (before != REPORT_NO_SLOT &&
		    (calls[i] > calls[before] || (calls[i] == calls[before] && i <= before)))
			continue;
		if (calls[i] && (best == REPORT_NO_SLOT || calls[i] > calls[best]))
			best = i;
	}
	return best;
}

/* Is the average call short?  Groups that do not show it say nothing against it. */
static bool is_short(const struct report *r, uint32_t row)
{
	for (size_t g = 0; g < r->ngroups; g++) {
		for (size_t i = 0; i < r->groups[g].nlines; i++) {
			const struct report_line *line = &r->groups[g].lines[i];

			if (line->row == row && report_average(&line->stats) > SHORT)
				return false;
		}
	}
	return true;
}

/* "-N 'f,g' (83 % of the calls)" */
static void put_advice(const struct report *r, FILE *out)
{
	const struct report_spent *s = &r->spent;
	uint64_t all = 0, named = 0;
	size_t n = 0;

	for (size_t i = 0; i < r->rows.n; i++)
		all += s->calls[i];
	for (uint32_t row = next_most(r, REPORT_NO_SLOT);
	     row != REPORT_NO_SLOT && n < NAMED && (double)s->calls[row] >= WORTH * (double)all;
	     row = next_most(r, row)) {
		if (!is_short(r, row))
			continue;
		fputs(n++ ? "," : "            less with -N '", out);
		units_text(out, r->rows.row[row].function->name, 0, true);
		named += s->calls[row];
	}
	if (n)
		fprintf(out, "' (%.0f %% of the calls), or --time=5us\n", report_percent(named, all));
	else
		fputs("            less with --time=5us, or fewer functions (-F, -N)\n", out);
}

void report_print_spent(const struct report *r, FILE *out)
{
	const struct report_spent *s = &r->spent;
	double share = s->whole ? (double)s->taken / (double)s->whole : 0;

	if (share < 0.0005)
		return;
	fprintf(out, "recording   took about %.*f %% of the time", share < 0.01 ? 1 : 0, 100 * share);
	if (s->waited > s->taken / 2)
		fprintf(out, " (%.0f %% waiting for Sonde to write)", 100 * (double)s->waited / (double)s->whole);
	fputs(", which is left out below\n", out);
	if (share >= MUCH && s->calls)
		put_advice(r, out);
}
