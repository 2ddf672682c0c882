// SPDX-License-Identifier: GPL-3.0-or-later
#include "launcher/diff/diff.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launcher/common/message.h"
#include "launcher/memory/memory.h"
#include "launcher/memory/memtrace.h"
#include "launcher/report/omp/omp.h"
#include "launcher/report/report.h"
#include "launcher/trace/holds.h"
#include "launcher/trace/pick.h"

static const char *base_name(const char *path)
{
	return path ? path_basename(path) : "";
}

/* ---- functions ---- */

static void add_function(struct diff *d, size_t index, const struct report_row *r, const struct report_stats *s, struct diff_row *whole)
{
	struct diff_row *row;

	if (r->kind != REPORT_FUNCTION || !r->function)
		return;
	row = diff_row(d, DIFF_FUNCTION, false, d->mangled ? r->function->name : r->function->demangled, base_name(r->function->path));
	diff_add(d, row, DIFF_SELF, index, (double)s->self);
	diff_add(d, row, DIFF_TOTAL, index, (double)s->total);
	diff_add(d, row, DIFF_CALLS, index, (double)s->calls);
	diff_add(d, whole, DIFF_CALLS, index, (double)s->calls);
}

static int read_functions(struct diff *d, size_t index, const struct sonde_trace *trace)
{
	const struct report_request request = {
		.by = REPORT_BY_FUNCTION, .sort = REPORT_SORT_NAME, .rank = REPORT_ANY_RANK, .limit = UINT64_MAX, .mangled = d->mangled,
	};
	struct diff_row *whole;
	struct report r;
	int status = report_make(&r, trace, d->dirs[index], &request);

	if (!status && r.ngroups && r.groups[0].nlines) {
		whole = diff_row(d, DIFF_FUNCTION, true, "all threads", "");
		for (size_t i = 0; i < r.groups[0].nlines; i++)
			add_function(d, index, &r.rows.row[r.groups[0].lines[i].row], &r.groups[0].lines[i].stats, whole);
		diff_add(d, whole, DIFF_SELF, index, (double)r.groups[0].whole);
		diff_add(d, whole, DIFF_TOTAL, index, (double)r.groups[0].whole);
	}
	if (!status && !(r.ngroups && r.groups[0].nlines))
		d->lacks[DIFF_FUNCTION] = d->dirs[index];
	for (size_t i = 0; !status && i < r.nproblems; i++)
		msg_warn("%s: %s", d->dirs[index], r.problems[i].text);
	d->damaged |= !status && report_is_damaged(&r);
	report_free(&r);
	return status;
}

/* ---- OpenMP ---- */

static bool has_openmp(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_modules(trace); i++)
		if (strcmp(sonde_trace_module(trace, i)->name, "openmp") == 0)
			return sonde_trace_sites(trace) > 0;
	return false;
}

static bool any_thread(const struct sonde_trace_thread *thread, void *arg)
{
	(void)thread;
	(void)arg;
	return true;
}

static void add_construct(struct diff *d, size_t index, const struct omp_row *r, struct diff_row *whole)
{
	char name[OMP_NAME_MAX];
	struct diff_row *row;
	double wait = (double)r->idle;

	for (int w = 0; w < OMP_WAITS; w++)
		wait += (double)r->wait[w];
	omp_name(r, name);
	row = diff_row(d, DIFF_REGION, false, name, base_name(r->place.path));
	diff_add(d, row, DIFF_TOTAL, index, (double)r->time);
	diff_add(d, row, DIFF_WAIT, index, wait);
	diff_add(d, row, DIFF_CALLS, index, (double)r->count);
	if (r->kind == OMP_REGION)
		diff_add(d, whole, DIFF_WAIT, index, wait);
}

static int read_regions(struct diff *d, size_t index, const struct sonde_trace *trace)
{
	const struct omp_request request = { any_thread, NULL };
	struct diff_row *whole;
	struct omp_report r;
	int status = omp_read(&r, trace, d->dirs[index], &request);

	if (!status && r.rows.n) {
		whole = diff_row(d, DIFF_REGION, true, "all parallel regions", "");
		for (size_t i = 0; i < r.rows.n; i++)
			add_construct(d, index, &r.rows.v[i], whole);
		diff_add(d, whole, DIFF_TOTAL, index, (double)r.time);
		diff_add(d, whole, DIFF_CALLS, index, (double)r.regions);
	}
	d->damaged |= !status && r.damaged;
	omp_report_free(&r);
	return status;
}

/* ---- loops ---- */

static int by_place(const void *a, const void *b)
{
	const struct memory_row *x = *(struct memory_row *const *)a, *y = *(struct memory_row *const *)b;
	int order = strcmp(x->key.function ? x->key.function : "", y->key.function ? y->key.function : "");

	if (!order)
		order = strcmp(x->key.path ? x->key.path : "", y->key.path ? y->key.path : "");
	return order ? order : x->key.address < y->key.address ? -1 : x->key.address > y->key.address;
}

static bool same_function(const struct memory_row *x, const struct memory_row *y)
{
	return x->key.function && y->key.function && strcmp(x->key.function, y->key.function) == 0 && strcmp(x->key.path ? x->key.path : "", y->key.path ? y->key.path : "") == 0;
}

static void add_figures(struct diff *d, size_t index, const struct memory_rows *rows, const struct memory_row *r, struct diff_row *row)
{
	const struct memory_misses m = memory_misses(rows, r, 0);

	diff_add(d, row, DIFF_ACCESSES, index, memory_count(rows, r, MEMORY_ACCESSES).value);
	diff_add(d, row, DIFF_MISSES, index, m.known ? m.misses : 0);
}

/* Loops are numbered in their function: lines move when something before them is changed. */
static void add_loop(struct diff *d, size_t index, const struct memory_rows *rows, const struct memory_row *r, unsigned int number)
{
	const char *function = r->key.function ? r->key.function : r->key.path ? base_name(r->key.path) : "[unknown]";
	struct diff_row *row;
	char *name;

	if (r->key.address ? asprintf(&name, "%s, loop %u", function, number) < 0 : asprintf(&name, "%s, in no loop", function) < 0)
		name = NULL;
	row = diff_row(d, DIFF_LOOP, false, report_need(name), base_name(r->key.path));
	free(name);
	add_figures(d, index, rows, r, row);
	if (!r->key.file)
		return;
	free(row->place);
	if (asprintf(&row->place, "%s:%d", base_name(r->key.file), r->key.line) < 0)
		row->place = report_need(NULL);
}

static int read_loops(struct diff *d, size_t index, struct sonde_trace *trace)
{
	struct pick pick = { .rank = PICK_ANY_RANK, .to = PICK_NO_END };
	const struct memory_reading how = { .by = MEMORY_BY_LOOP, .mangled = d->mangled };
	struct memory_rows rows = { 0 };
	struct memtrace t;
	uint64_t damage = 0;
	unsigned int number = 0;
	int status;

	memtrace_use(trace, &pick, &t);
	rows.about = memory_about(trace, NULL);
	status = memory_rows_read(&rows, &t, &how, &damage);
	if (!status && rows.n)
		qsort(rows.v, rows.n, sizeof(struct memory_row *), by_place);
	for (size_t i = 0; !status && i < rows.n; i++) {
		number = i && same_function(rows.v[i - 1], rows.v[i]) ? number : 0;
		number += rows.v[i]->key.address != 0;
		add_loop(d, index, &rows, rows.v[i], number);
	}
	if (!status && rows.n)
		add_figures(d, index, &rows, &rows.total, diff_row(d, DIFF_LOOP, true, "all accesses", ""));
	d->damaged |= damage != 0;
	memory_rows_free(&rows);
	return status;
}

int diff_look(const struct diff *d, size_t index)
{
	struct sonde_trace_message why;
	struct sonde_trace *trace;

	if (sonde_trace_open(d->dirs[index], &trace, &why)) {
		pick_no_trace(d->dirs[index], why.text);
		return EXIT_USAGE;
	}
	sonde_trace_close(trace);
	return 0;
}

int diff_read(struct diff *d, size_t index)
{
	const char *dir = d->dirs[index];
	struct sonde_trace *trace;
	int status = pick_open(dir, &trace);

	if (status)
		return status;
	holds_warn_without_end(trace, dir);
	status = read_functions(d, index, trace);
	if (!status && has_openmp(trace))
		status = read_regions(d, index, trace);
	if (!status && holds_memory(trace) && !holds_blocks(trace))
		status = read_loops(d, index, trace);
	else
		d->lacks[DIFF_LOOP] = dir;
	sonde_trace_close(trace);
	return status;
}
