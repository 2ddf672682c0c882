// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/diff/diff.h"

#include <math.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/memory/memsample.h"
#include "launcher/report/report-rows.h"

const char *const diff_kinds[DIFF_KINDS] = { "function", "region", "loop" };
const char *const diff_metric_names[DIFF_METRICS] = { "self", "total", "calls", "wait", "misses", "accesses" };

const enum diff_metric *diff_metrics(enum diff_kind kind, size_t *n)
{
	static const enum diff_metric function[] = { DIFF_SELF, DIFF_TOTAL, DIFF_CALLS };
	static const enum diff_metric region[] = { DIFF_TOTAL, DIFF_WAIT, DIFF_CALLS };
	static const enum diff_metric loop[] = { DIFF_MISSES, DIFF_ACCESSES };

	*n = kind == DIFF_LOOP ? 2 : 3;
	return kind == DIFF_FUNCTION ? function : kind == DIFF_REGION ? region : loop;
}

bool diff_has_metric(enum diff_kind kind, enum diff_metric metric)
{
	size_t n;
	const enum diff_metric *v = diff_metrics(kind, &n);

	while (n && v[n - 1] != metric)
		n--;
	return n > 0;
}

/* ---- rows ---- */

static int by_key(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	int order;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->whole != y->whole)
		return x->whole ? 1 : -1;
	order = strcmp(x->name, y->name);
	return order ? order : strcmp(x->object, y->object);
}

static size_t traces(const struct diff *d)
{
	return d->na + d->nb;
}

struct diff_row *diff_row(struct diff *d, enum diff_kind kind, bool whole, const char *name, const char *object)
{
	struct diff_row *row = report_zeroed(1, sizeof(*row)), **found;

	row->kind = kind;
	row->whole = whole;
	row->name = report_need(strdup(name));
	row->object = report_need(strdup(object));
	found = report_need(tsearch(row, &d->tree, by_key));
	if (*found != row) {
		free(row->name);
		free(row->object);
		free(row);
		return *found;
	}
	row->v = report_zeroed(DIFF_METRICS * traces(d), sizeof(*row->v));
	(void)!report_need(array_room(d->rows, d->room, d->n + 1) ? d : NULL);
	d->rows[d->n++] = row;
	d->has[kind] = true;
	return row;
}

void diff_add(const struct diff *d, struct diff_row *row, enum diff_metric metric, size_t trace, double value)
{
	row->v[metric * traces(d) + trace] += value;
}

/* The row of all that there is of a kind; NULL: none. */
static const struct diff_row *whole_of(const struct diff *d, enum diff_kind kind)
{
	for (size_t i = 0; i < d->n; i++)
		if (d->rows[i]->kind == kind && d->rows[i]->whole)
			return d->rows[i];
	return NULL;
}

static void leave(void *row)
{
	(void)row; /* d->rows has it */
}

static void free_row(struct diff_row *row)
{
	free(row->name);
	free(row->object);
	free(row->place);
	free(row->v);
	free(row);
}

void diff_leave_out(struct diff *d, enum diff_kind kind)
{
	size_t n = 0;

	tdestroy(d->tree, leave);
	d->tree = NULL;
	for (size_t i = 0; i < d->n; i++) {
		if (d->rows[i]->kind == kind)
			free_row(d->rows[i]);
		else
			d->rows[n++] = d->rows[i];
	}
	d->n = n;
	d->has[kind] = false;
}

void diff_free(struct diff *d)
{
	tdestroy(d->tree, leave);
	for (size_t i = 0; i < d->n; i++)
		free_row(d->rows[i]);
	free(d->rows);
	*d = (struct diff){ 0 };
}

/* ---- changes ---- */

static double mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

static double squares(const double *v, size_t n, double around)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - around) * (v[i] - around);
	return sum;
}

/* Student's two-sample interval; both sides vary alike, so that one trace on a side is enough. */
static double noise_of(const double *a, size_t na, double mean_a, const double *b, size_t nb, double mean_b)
{
	size_t degrees = na + nb - 2;
	double variance;

	if (!degrees)
		return NAN;
	variance = (squares(a, na, mean_a) + squares(b, nb, mean_b)) / (double)degrees;
	return memsample_student(degrees) * sqrt(variance * (1 / (double)na + 1 / (double)nb));
}

struct diff_change diff_change(const struct diff *d, const struct diff_row *row, enum diff_metric metric)
{
	const double *a = row->v + metric * traces(d), *b = a + d->na;
	struct diff_change c = { .a = mean(a, d->na), .b = mean(b, d->nb) };

	c.by = c.b - c.a;
	c.noise = noise_of(a, d->na, c.a, b, d->nb, c.b);
	c.relative = c.a > 0 ? c.by / c.a : c.b > 0 ? INFINITY : 0;
	c.sure = c.by != 0 && !(fabs(c.by) <= c.noise);
	return c;
}

struct order {
	const struct diff *d;
	enum diff_metric metric;
};

static int by_change(const void *a, const void *b, void *arg)
{
	const struct diff_row *x = *(struct diff_row *const *)a, *y = *(struct diff_row *const *)b;
	const struct order *o = arg;
	struct diff_change p, q;

	if (x->whole != y->whole)
		return x->whole ? 1 : -1;
	p = diff_change(o->d, x, o->metric);
	q = diff_change(o->d, y, o->metric);
	if (p.sure != q.sure)
		return p.sure ? -1 : 1;
	if (fabs(p.by) != fabs(q.by))
		return fabs(p.by) > fabs(q.by) ? -1 : 1;
	return by_key(x, y);
}

void diff_sort(struct diff *d, enum diff_kind kind, enum diff_metric metric, struct diff_row **sorted, size_t *n)
{
	struct order order = { d, metric };

	*n = 0;
	for (size_t i = 0; i < d->n; i++)
		if (d->rows[i]->kind == kind)
			sorted[(*n)++] = d->rows[i];
	if (*n)
		qsort_r(sorted, *n, sizeof(*sorted), by_change, &order);
}

bool diff_has_grown(const struct diff *d, const struct diff_row *row, enum diff_metric metric, double above, double share)
{
	struct diff_change c = diff_change(d, row, metric);
	const struct diff_row *whole = whole_of(d, row->kind);
	struct diff_change all = { 0 };

	if (whole)
		all = diff_change(d, whole, metric);
	if (!c.sure || !isfinite(c.relative) || c.relative <= above)
		return false;
	return c.a >= share * all.a || c.b >= share * all.b;
}
