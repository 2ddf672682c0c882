/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which threads are counted, which lines of a group are shown, in which order, and what follows from their figures. */
#include "launcher/report/report.h"
#include "launcher/select/traced.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

bool report_wants(const struct report_request *q, const struct sonde_trace *trace,
		  const struct sonde_trace_thread *t)
{
	int rank = sonde_trace_rank(trace, t->rank_index)->rank;

	if (q->rank != REPORT_ANY_RANK && (rank < 0 || (uint64_t)rank != q->rank))
		return false;
	return (!q->tid || t->tid == q->tid) && (!q->pid || t->pid == q->pid);
}

/* ---- figures ---- */

/* Where no call has ended those that are open are better than nothing. */
static const struct report_durations *durations(const struct report_stats *s)
{
	return s->ended.n ? &s->ended : &s->unended;
}

uint64_t report_average(const struct report_stats *s)
{
	const struct report_durations *d = durations(s);

	return d->n ? d->sum / d->n : 0;
}

uint64_t report_min(const struct report_stats *s)
{
	return durations(s)->min;
}

uint64_t report_max(const struct report_stats *s)
{
	return durations(s)->max;
}

uint64_t report_error(const struct report_stats *s)
{
	return s->estimated && s->variance < 1e36 ? (uint64_t)(2 * sqrt(s->variance)) : 0;
}

double report_percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

uint64_t report_line_amount(const struct report *r, const struct report_group *g,
			    const struct report_line *line, size_t column)
{
	const struct report_slot *slots = r->rows.slots;
	size_t at = line->amounts;

	for (uint32_t k = r->rows.row[line->row].slots; k != REPORT_NO_SLOT; k = slots[k].next, at++) {
		if (slots[k].column == column)
			return g->amounts[at];
	}
	return 0;
}

static uint64_t all_amounts(const struct report *r, const struct report_group *g,
			    const struct report_line *line)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < r->rows.ncolumns; i++)
		sum += report_line_amount(r, g, line, i);
	return sum;
}

/* ---- names ---- */

static const char *function_name(const struct report *r, const struct report_row *row)
{
	if (!row->function)
		return "";
	return r->request->mangled ? row->function->name : row->function->demangled;
}

/* "function", "function:point"; a point called like its function needs no colon. */
static char *make_name(const struct report *r, const struct report_row *row)
{
	const char *function = function_name(r, row);
	char *name = NULL;

	if (row->kind == REPORT_FUNCTION || strcmp(row->name, function) == 0)
		return report_need(strdup(function));
	if (!*function)
		return report_need(strdup(row->name));
	if (asprintf(&name, "%s:%s", function, row->name) < 0)
		name = NULL;
	return report_need(name);
}

const char *report_name(const struct report *r, const struct report_line *line)
{
	static char *name;

	free(name);
	name = make_name(r, &r->rows.row[line->row]);
	return name;
}

static const char *module_name(const struct report_row *row)
{
	return row->module ? row->module->name : "";
}

static const char *path_of(const struct report_row *row)
{
	return row->function ? row->function->path : "";
}

/* ---- filter ---- */

/* By the name of the function, or that of the point in it. */
static bool wants_row(struct select *sel, const struct report *r, const struct report_row *row)
{
	char *name = row->kind == REPORT_FUNCTION ? NULL : make_name(r, row);
	bool wanted = traced_wants(sel, row->function, name);

	free(name);
	return wanted;
}

int report_choose(struct report *r)
{
	struct select *sel;
	bool any = false;
	int status = traced_select(r->trace, &r->request->select, &sel);

	if (status || !sel)
		return status;
	r->shown = report_zeroed(r->rows.n, sizeof(*r->shown));
	for (size_t i = 0; i < r->rows.n; i++)
		any |= r->shown[i] = wants_row(sel, r, &r->rows.row[i]);
	status = traced_check(sel, r->dir, any);
	select_free(sel);
	return status;
}

static void filter(const struct report *r, struct report_group *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->nlines; i++) {
		if (!r->shown || r->shown[g->lines[i].row])
			g->lines[n++] = g->lines[i];
	}
	g->nlines = n;
}

/* ---- order ---- */

struct order {
	const struct report *r;
	const struct report_group *g;
};

static uint64_t sort_key(const struct order *o, const struct report_line *line)
{
	const struct report_stats *s = &line->stats;

	switch (o->r->request->sort) {
	case REPORT_SORT_TOTAL:
		return s->total;
	case REPORT_SORT_SELF:
		return s->self;
	case REPORT_SORT_CALLS:
		return s->calls;
	case REPORT_SORT_AVERAGE:
		return report_average(s);
	case REPORT_SORT_MAX:
		return report_max(s);
	case REPORT_SORT_BYTES:
		return all_amounts(o->r, o->g, line);
	case REPORT_SORT_WAIT:
		return s->wait;
	case REPORT_SORT_BLOCKED:
		return s->blocked;
	case REPORT_SORT_NAME:
		break;
	}
	return 0;
}

static int compare_names(const struct report *r, const struct report_row *a,
			 const struct report_row *b)
{
	int order = strcmp(function_name(r, a), function_name(r, b));

	if (!order)
		order = strcmp(a->name, b->name);
	if (!order)
		order = strcmp(module_name(a), module_name(b));
	if (!order)
		order = strcmp(path_of(a), path_of(b));
	return order ? order : (int)a->kind - (int)b->kind;
}

static int compare_lines(const void *a, const void *b, void *arg)
{
	const struct order *o = arg;
	const struct report_line *x = a, *y = b;
	uint64_t kx = sort_key(o, x), ky = sort_key(o, y);

	if (kx != ky)
		return kx > ky ? -1 : 1;
	int order = compare_names(o->r, &o->r->rows.row[x->row], &o->r->rows.row[y->row]);
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

void report_arrange(const struct report *r, struct report_group *g)
{
	struct order order = { r, g };

	filter(r, g);
	qsort_r(g->lines, g->nlines, sizeof(*g->lines), compare_lines, &order);
	if (g->nlines > r->request->limit) {
		g->left_out = g->nlines - r->request->limit;
		g->nlines = r->request->limit;
	}
}
