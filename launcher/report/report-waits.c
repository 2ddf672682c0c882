/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What waiting is made of, and what stands beside it. */
#include "launcher/common/units.h"
#include "launcher/report/report.h"

#include <stdlib.h>

static int by_time(const void *a, const void *b, void *arg)
{
	const uint32_t *x = a, *y = b;
	const uint64_t *time = arg;

	if (time[*x] != time[*y])
		return time[*x] > time[*y] ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Classes that have time, of those that wait or those that are apart, the longest first. */
static size_t order_classes(const struct report *r, uint64_t *time, bool apart,
			    uint32_t order[REPORT_MAX_CLASSES])
{
	size_t n = 0;

	for (uint32_t i = 0; i < r->rows.nclasses; i++) {
		if (r->rows.classes[i].apart == apart && time[i])
			order[n++] = i;
	}
	qsort_r(order, n, sizeof(*order), by_time, time);
	return n;
}

/* ---- one group ---- */

/* "collectives 250.1 ms, files 20 ms", after @before.  False: there are none, and nothing was written. */
static bool put_classes(const struct report *r, const struct report_group *g, bool apart,
			const char *before, FILE *out)
{
	uint32_t order[REPORT_MAX_CLASSES];
	size_t n = order_classes(r, g->class_time, apart, order);
	char text[UNITS_MAX];

	for (size_t i = 0; i < n; i++) {
		fputs(i ? ", " : before, out);
		units_text(out, r->rows.classes[order[i]].name, 0, true);
		units_time(g->class_time[order[i]], text);
		fprintf(out, " %s", text);
	}
	return n > 0;
}

static bool put_waiting(const struct report *r, const struct report_group *g, const char *before,
			FILE *out)
{
	char text[UNITS_MAX];

	if (!g->wait)
		return false;
	units_time(g->wait, text);
	fprintf(out, "%s%s (%.1f%%)", before, text, report_percent(g->wait, g->whole));
	return put_classes(r, g, false, ": ", out);
}

void report_print_waits_in_title(const struct report *r, const struct report_group *g, FILE *out)
{
	bool waiting = put_waiting(r, g, ", waiting ", out);

	put_classes(r, g, true, waiting ? "; apart: " : ", apart: ", out);
}

/* ---- ranks compared ---- */

void report_print_over_ranks(const struct report *r, const struct report_over_ranks *t, FILE *out)
{
	char min[UNITS_MAX], average[UNITS_MAX], max[UNITS_MAX];

	units_time(t->min, min);
	units_time(t->sum / r->nranks, average);
	units_time(t->max, max);
	fprintf(out, ": average of a rank %s, least %s (rank %d), most %s (rank %d)\n", average, min,
		t->min_rank, max, t->max_rank);
}

/* ---- the head ---- */

/* Where the table has no title. */
static void put_one(const struct report *r, const struct report_group *g, FILE *out)
{
	if (put_waiting(r, g, "waiting     ", out))
		putc('\n', out);
	if (put_classes(r, g, true, "apart       ", out))
		putc('\n', out);
}

static void put_several_classes(const struct report *r, bool apart, const char *before, FILE *out)
{
	uint64_t time[REPORT_MAX_CLASSES];
	uint32_t order[REPORT_MAX_CLASSES];

	for (size_t i = 0; i < r->rows.nclasses; i++)
		time[i] = r->class_time[i].sum;
	size_t n = order_classes(r, time, apart, order);
	for (size_t i = 0; i < n; i++) {
		fputs(before, out);
		units_text(out, r->rows.classes[order[i]].name, 0, true);
		report_print_over_ranks(r, &r->class_time[order[i]], out);
	}
}

static void put_several(const struct report *r, FILE *out)
{
	if (r->wait.max) {
		fputs("waiting     in all", out);
		report_print_over_ranks(r, &r->wait, out);
	}
	put_several_classes(r, false, "waiting     ", out);
	put_several_classes(r, true, "apart       ", out);
}

void report_print_waits(const struct report *r, FILE *out)
{
	if (r->nranks > 1)
		put_several(r, out);
	else if (r->request->by == REPORT_BY_FUNCTION && r->ngroups)
		put_one(r, &r->groups[0], out);
}
