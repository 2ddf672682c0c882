/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables for people, CSV (RFC 4180), JSON. */
#include "launcher/report/omp/omp.h"
#include "launcher/common/units.h"
#include "launcher/report/report.h"
#include "launcher/trace/codeplace.h"
#include "tracefmt/json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *const kinds[] = { "region", "loop", "task" };
static const char *const waits[OMP_WAITS] = { "barriers", "locks", "tasks" };

/* ---- names ---- */

static void put_place(const struct omp_place *p, char *text, size_t size)
{
	const struct sonde_trace_code code = { .function = p->function, .file = p->file, .line = p->line, .path = p->path,
					       .offset = p->offset };

	codeplace_text(&code, text, size);
}

void omp_name(const struct omp_row *r, char text[static OMP_NAME_MAX])
{
	size_t n;

	if (r->kind != OMP_LOOP)
		snprintf(text, OMP_NAME_MAX, "omp %s ", r->kind == OMP_REGION ? "parallel" : "task");
	else if (r->chunk > 0)
		snprintf(text, OMP_NAME_MAX, "omp for %s,%" PRId64 " ", r->schedule, r->chunk);
	else
		snprintf(text, OMP_NAME_MAX, "omp for %s ", r->schedule);
	n = strlen(text);
	put_place(&r->place, text + n, OMP_NAME_MAX - n);
}

/* ---- order ---- */

static int by_time(const void *a, const void *b)
{
	const struct omp_row *x = a, *y = b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return (x->place.offset > y->place.offset) - (x->place.offset < y->place.offset);
}

static size_t sort(struct omp_report *r, uint64_t limit)
{
	if (r->rows.n)
		qsort(r->rows.v, r->rows.n, sizeof(*r->rows.v), by_time);
	return r->rows.n < limit ? r->rows.n : (size_t)limit;
}

/* ---- text ---- */

static void cell(const char *text)
{
	printf("%10s", text);
}

static void put_time(uint64_t ns)
{
	char text[UNITS_MAX];

	units_time(ns, text);
	cell(text);
}

static void put_share(uint64_t part, uint64_t whole)
{
	char text[UNITS_MAX];

	units_percent(report_percent(part, whole), text);
	cell(part ? text : "");
}

static void put_construct(const struct omp_row *row)
{
	char name[OMP_NAME_MAX];

	omp_name(row, name);
	fputs("  ", stdout);
	units_text(stdout, name, 0, true);
	putchar('\n');
}

static void put_row(const struct omp_row *row)
{
	char text[UNITS_MAX];

	printf("%8" PRIu64 "%9" PRIu32, row->count, row->threads);
	put_time(row->time);
	put_share(row->work, row->team);
	for (int w = 0; w < OMP_WAITS; w++)
		put_share(row->wait[w], row->team);
	put_share(row->idle, row->team);
	units_percent(100 * omp_imbalance(row), text);
	printf("%11s", row->kind == OMP_TASK ? "" : text);
	if (row->chunks)
		printf("%10" PRIu64, row->chunks);
	else
		cell("");
	put_construct(row);
}

static void put_rows(const struct omp_report *r, size_t n, enum omp_kind kind, const char *title)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if (r->rows.v[i].kind != kind)
			continue;
		if (!any)
			printf("\n   count  threads      time      work  barriers     locks     tasks      idle  imbalance    chunks  %s\n", title);
		any = true;
		put_row(&r->rows.v[i]);
	}
}

static void put_schedules(const struct omp_report *r, size_t n)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const struct omp_row *row = &r->rows.v[i];

		if (!row->compared)
			continue;
		if (!any) {
			printf("\n  recorded");
			for (int s = 0; s < OMP_SCHEDULES; s++)
				printf("%12s", omp_schedule_name((enum omp_schedule)s));
			puts("  loop, with other schedules (k: its chunk, or 1)");
		}
		any = true;
		put_time(row->compared_time);
		for (int s = 0; s < OMP_SCHEDULES; s++) {
			fputs("  ", stdout);
			if (row->would[s] > 0)
				put_time((uint64_t)row->would[s]);
			else
				cell("");
		}
		put_construct(row);
	}
}

void omp_print_text(struct omp_report *r, const struct sonde_trace *trace, uint64_t limit)
{
	size_t n = sort(r, limit);
	char text[UNITS_MAX];
	uint64_t whole = 0;

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		whole += sonde_trace_rank(trace, i)->end - sonde_trace_rank(trace, i)->start;
	units_time(r->time, text);
	printf("OpenMP      %" PRIu64 " parallel regions took %s, %.1f%% of the run\n", r->regions, text,
	       report_percent(r->time, whole));
	if (r->unfinished)
		printf("left out    %" PRIu64 " regions of which the end, or something else, was not recorded\n", r->unfinished);
	if (r->lost)
		printf("missing     %" PRIu64 " events\n", r->lost);
	put_rows(r, n, OMP_REGION, "region");
	put_rows(r, n, OMP_LOOP, "loop");
	put_rows(r, n, OMP_TASK, "task");
	put_schedules(r, n);
	if (n < r->rows.n)
		printf("%zu more (-a shows all)\n", r->rows.n - n);
}

/* ---- CSV ---- */

/* "static,4k": "static_4k_ns" */
static void put_schedule_title(int schedule)
{
	putchar(',');
	for (const char *s = omp_schedule_name((enum omp_schedule)schedule); *s; s++)
		putchar(*s == ',' ? '_' : *s);
	fputs("_ns", stdout);
}

static void put_csv_row(const struct omp_row *row)
{
	char name[OMP_NAME_MAX];

	omp_name(row, name);
	printf("%s,", kinds[row->kind]);
	units_csv(stdout, name);
	putchar(',');
	units_csv(stdout, row->place.function);
	putchar(',');
	units_csv(stdout, row->place.file);
	printf(",%d,", row->place.line);
	units_csv(stdout, row->place.path);
	printf(",%" PRIu64 ",%s,%" PRId64 ",%" PRIu64 ",%" PRIu32 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, row->place.offset, row->schedule,
	       row->chunk, row->count, row->threads, row->time, row->team, row->work);
	for (int w = 0; w < OMP_WAITS; w++)
		printf(",%" PRIu64, row->wait[w]);
	printf(",%" PRIu64 ",%.4f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, row->idle, omp_imbalance(row), row->chunks,
	       row->iterations, row->compared, row->compared_time);
	for (int s = 0; s < OMP_SCHEDULES; s++)
		printf(",%.0f", row->would[s]);
	putchar('\n');
}

void omp_print_csv(struct omp_report *r, uint64_t limit)
{
	size_t n = sort(r, limit);

	fputs("kind,name,function,file,line,path,offset,schedule,chunk,count,threads,time_ns,team_ns,work_ns", stdout);
	for (int w = 0; w < OMP_WAITS; w++)
		printf(",%s_ns", waits[w]);
	fputs(",idle_ns,imbalance,chunks,iterations,compared,compared_ns", stdout);
	for (int s = 0; s < OMP_SCHEDULES; s++)
		put_schedule_title(s);
	putchar('\n');
	for (size_t i = 0; i < n; i++)
		put_csv_row(&r->rows.v[i]);
}

/* ---- JSON ---- */

static void put_json_row(struct tf_buf *b, const struct omp_row *row)
{
	char name[OMP_NAME_MAX], key[32];

	omp_name(row, name);
	tf_json_begin(b, kinds[row->kind]);
	tf_json_str(b, "name", name);
	tf_json_str(b, "function", row->place.function);
	tf_json_str(b, "file", row->place.file);
	tf_json_int(b, "line", row->place.line);
	tf_json_str(b, "path", row->place.path);
	tf_json_uint(b, "offset", row->place.offset);
	tf_json_str(b, "schedule", row->schedule);
	tf_json_int(b, "chunk", row->chunk);
	tf_json_uint(b, "count", row->count);
	tf_json_uint(b, "threads", row->threads);
	tf_json_uint(b, "time_ns", row->time);
	tf_json_uint(b, "team_ns", row->team);
	tf_json_uint(b, "work_ns", row->work);
	for (int w = 0; w < OMP_WAITS; w++) {
		snprintf(key, sizeof(key), "%s_ns", waits[w]);
		tf_json_uint(b, key, row->wait[w]);
	}
	tf_json_uint(b, "idle_ns", row->idle);
	tf_json_real(b, "imbalance", "%.4f", omp_imbalance(row));
	tf_json_uint(b, "chunks", row->chunks);
	tf_json_uint(b, "iterations", row->iterations);
	tf_json_uint(b, "compared", row->compared);
	tf_json_uint(b, "compared_ns", row->compared_time);
	tf_json_key(b, "schedules");
	for (int s = 0; s < OMP_SCHEDULES; s++) {
		tf_buf_byte(b, s ? ',' : '{');
		tf_json_quoted(b, omp_schedule_name((enum omp_schedule)s));
		tf_buf_byte(b, ':');
		tf_json_number(b, (uint64_t)row->would[s]);
	}
	tf_buf_str(b, "}}");
}

void omp_print_json(struct omp_report *r, uint64_t limit)
{
	size_t n = sort(r, limit);
	struct tf_buf b = { 0 };

	printf("{\"regions\": %" PRIu64 ", \"time_ns\": %" PRIu64 ", \"unfinished\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"rows\": [",
	       r->regions, r->time, r->unfinished, r->lost);
	for (size_t i = 0; i < n; i++) {
		put_json_row(&b, &r->rows.v[i]);
		units_json_item(&b, i == 0, stdout);
	}
	puts("\n]}");
	tf_buf_free(&b);
}
