/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables for people, CSV (RFC 4180), JSON. */
#include "launcher/report/phases/phases.h"
#include "launcher/common/units.h"
#include "launcher/report/report-rows.h"
#include "launcher/report/report.h"
#include "tracefmt/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MAX 40u

static const char *const kinds[] = { "phase", "counter" };

/* ---- order ---- */

static int by_time(const void *a, const void *b, void *arg)
{
	const struct phase_row *row = arg;
	const struct phase_row *x = &row[*(const size_t *)a], *y = &row[*(const size_t *)b];

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->time != y->time)
		return x->time > y->time ? -1 : 1;
	return strcmp(x->name, y->name);
}

/* First and next of the phases within one, by time: 1 + index; 0: none. */
struct order {
	size_t *child, *last, *next;
	size_t *rows; /* what is printed, in order */
	size_t n;
};

static void link_row(struct order *o, const struct phases *p, size_t i)
{
	size_t parent = p->row[i].parent == PHASE_NONE ? p->n : p->row[i].parent;

	if (o->last[parent])
		o->next[o->last[parent] - 1] = i + 1;
	else
		o->child[parent] = i + 1;
	o->last[parent] = i + 1;
}

/* A phase comes before those within it; counters come last. */
static void walk(struct order *o, const struct phases *p)
{
	size_t at = o->child[p->n];

	while (at) {
		size_t i = at - 1;

		o->rows[o->n++] = i;
		at = o->child[i];
		while (!at && i != PHASE_NONE) {
			at = o->next[i];
			i = p->row[i].parent;
		}
	}
}

/* To be freed. */
static size_t *sort(const struct phases *p)
{
	size_t *sorted = report_zeroed(p->n + 1, sizeof(*sorted));
	struct order o = {
		.child = report_zeroed(p->n + 1, sizeof(*o.child)),
		.last = report_zeroed(p->n + 1, sizeof(*o.last)),
		.next = report_zeroed(p->n + 1, sizeof(*o.next)),
		.rows = report_zeroed(p->n + 1, sizeof(*o.rows)),
	};

	for (size_t i = 0; i < p->n; i++)
		sorted[i] = i;
	qsort_r(sorted, p->n, sizeof(*sorted), by_time, p->row);
	for (size_t i = 0; i < p->n; i++)
		link_row(&o, p, sorted[i]);
	walk(&o, p);
	free(sorted);
	free(o.child);
	free(o.last);
	free(o.next);
	return o.rows;
}

/* ---- text ---- */

static void put_time(uint64_t ns)
{
	char text[UNITS_MAX];

	units_time(ns, text);
	printf("%11s", text);
}

static void put_phase(const struct phase_row *r, uint64_t whole)
{
	char text[UNITS_MAX];

	printf("%8" PRIu64 "%9" PRIu32, r->count, r->threads);
	put_time(r->time);
	units_percent(report_percent(r->time, whole), text);
	printf("%8s", text);
	put_time(r->time - r->inner);
	put_time(r->count ? r->time / r->count : 0);
	put_time(r->min == UINT64_MAX ? 0 : r->min);
	put_time(r->max);
	printf("  %*s", (int)(2 * r->depth), "");
	units_text(stdout, r->name, 0, true);
	if (r->open)
		printf("  (%" PRIu64 " open)", r->open);
	putchar('\n');
}

static void put_value(double value)
{
	printf("%13.6g", value);
}

static void put_counter(const struct phase_row *r)
{
	printf("%8" PRIu64 "%9" PRIu32, r->count, r->threads);
	put_value(r->last);
	put_value(r->sum / (double)r->count);
	put_value(r->least);
	put_value(r->most);
	fputs("  ", stdout);
	units_text(stdout, r->name, 0, true);
	putchar('\n');
}

static void put_head(const struct phases *p)
{
	if (p->strays)
		printf("left out    %" PRIu64 " ends of phases that were not open\n", p->strays);
	if (p->left_out)
		printf("left out    %" PRIu64 " marks: too many names, or phases too deep in one another\n", p->left_out);
	if (p->lost)
		printf("missing     %" PRIu64 " events\n", p->lost);
	if (p->strays || p->left_out || p->lost)
		putchar('\n');
}

void phases_print_text(const struct phases *p, const struct sonde_trace *trace, uint64_t limit)
{
	size_t *rows = sort(p), shown = p->n < limit ? p->n : (size_t)limit;
	enum phase_kind last = PHASE_COUNTER;
	uint64_t whole = 0;

	for (size_t i = 0; i < sonde_trace_ranks(trace); i++)
		whole += sonde_trace_rank(trace, i)->end - sonde_trace_rank(trace, i)->start;
	put_head(p);
	for (size_t i = 0; i < shown; i++) {
		const struct phase_row *r = &p->row[rows[i]];

		if (r->kind == PHASE && i == 0)
			puts("   count  threads      total  total%       self    average        min        max  phase");
		if (r->kind == PHASE_COUNTER && (i == 0 || last == PHASE))
			printf("%s   count  threads         last      average          min          max  counter\n", i ? "\n" : "");
		last = r->kind;
		if (r->kind == PHASE)
			put_phase(r, whole);
		else
			put_counter(r);
	}
	if (shown < p->n)
		printf("%zu more (-a shows all)\n", p->n - shown);
	free(rows);
}

/* ---- CSV ---- */

/* As short as it can be for the same number to be read. */
static void number_text(double value, char text[NUMBER_MAX])
{
	snprintf(text, NUMBER_MAX, "%.15g", value);
	if (strtod(text, NULL) != value && !isnan(value))
		snprintf(text, NUMBER_MAX, "%.17g", value);
}

static void put_csv_number(double value)
{
	char text[NUMBER_MAX];

	number_text(value, text);
	printf(",%s", text);
}

static void put_csv_name(const struct phases *p, size_t row)
{
	size_t up[PHASE_MAX_DEPTH], n = 0;
	struct tf_buf b = { 0 };

	for (; row != PHASE_NONE && n < PHASE_MAX_DEPTH; row = p->row[row].parent)
		up[n++] = row;
	while (n) {
		tf_buf_str(&b, p->row[up[--n]].name);
		tf_buf_str(&b, n ? "/" : "");
	}
	tf_buf_byte(&b, 0);
	if (b.failed)
		(void)!report_need(NULL);
	units_csv(stdout, (const char *)b.data);
	tf_buf_free(&b);
}

void phases_print_csv(const struct phases *p, uint64_t limit)
{
	size_t *rows = sort(p), shown = p->n < limit ? p->n : (size_t)limit;

	puts("kind,name,path,count,threads,open,total_ns,self_ns,min_ns,max_ns,last,sum,least,most");
	for (size_t i = 0; i < shown; i++) {
		const struct phase_row *r = &p->row[rows[i]];

		printf("%s,", kinds[r->kind]);
		units_csv(stdout, r->name);
		putchar(',');
		put_csv_name(p, rows[i]);
		printf(",%" PRIu64 ",%" PRIu32 ",%" PRIu64, r->count, r->threads, r->open);
		if (r->kind == PHASE) {
			printf(",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",,,,", r->time, r->time - r->inner, r->min, r->max);
		} else {
			fputs(",,,,", stdout);
			put_csv_number(r->last);
			put_csv_number(r->sum);
			put_csv_number(r->least);
			put_csv_number(r->most);
		}
		putchar('\n');
	}
	free(rows);
}

/* ---- JSON ---- */

/* It has no infinities and no NaN: these are null. */
static void put_json_number(struct tf_buf *b, const char *key, double value)
{
	char text[NUMBER_MAX];

	number_text(value, text);
	tf_json_key(b, key);
	tf_buf_str(b, isfinite(value) ? text : "null");
}

static void put_json_row(struct tf_buf *b, const struct phase_row *r)
{
	tf_json_begin(b, kinds[r->kind]);
	tf_json_str(b, "name", r->name);
	tf_json_uint(b, "count", r->count);
	tf_json_uint(b, "threads", r->threads);
	if (r->kind == PHASE_COUNTER) {
		put_json_number(b, "last", r->last);
		put_json_number(b, "sum", r->sum);
		put_json_number(b, "least", r->least);
		put_json_number(b, "most", r->most);
	} else {
		tf_json_uint(b, "depth", r->depth);
		tf_json_uint(b, "open", r->open);
		tf_json_uint(b, "total_ns", r->time);
		tf_json_uint(b, "self_ns", r->time - r->inner);
		tf_json_uint(b, "min_ns", r->min);
		tf_json_uint(b, "max_ns", r->max);
	}
	tf_buf_byte(b, '}');
}

void phases_print_json(const struct phases *p, uint64_t limit)
{
	size_t *rows = sort(p), shown = p->n < limit ? p->n : (size_t)limit;
	struct tf_buf b = { 0 };

	printf("{\"strays\": %" PRIu64 ", \"left_out\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"rows\": [", p->strays, p->left_out,
	       p->lost);
	for (size_t i = 0; i < shown; i++) {
		put_json_row(&b, &p->row[rows[i]]);
		units_json_item(&b, i == 0, stdout);
	}
	puts("\n]}");
	tf_buf_free(&b);
	free(rows);
}
