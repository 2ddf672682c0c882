// SPDX-License-Identifier: GPL-3.0-or-later
/* Tables for people, CSV (RFC 4180), JSON lines. */
#include "launcher/diff/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/units.h"
#include "launcher/report/report-rows.h"
#include "tracefmt/json.h"

static enum diff_metric metric_of(enum diff_kind kind, enum diff_metric asked)
{
	size_t n;

	return asked == DIFF_METRICS ? diff_metrics(kind, &n)[0] : asked;
}

static bool is_time(enum diff_metric metric)
{
	return metric == DIFF_SELF || metric == DIFF_TOTAL || metric == DIFF_WAIT;
}

/* ---- text ---- */

static void put_value(enum diff_metric metric, double value)
{
	char text[UNITS_MAX];

	if (is_time(metric))
		units_time((uint64_t)llround(fabs(value)), text);
	else
		snprintf(text, sizeof(text), "%.10g", round(10 * fabs(value)) / 10);
	printf("%12s", text);
}

static void put_signed(enum diff_metric metric, double value)
{
	char text[UNITS_MAX], with_sign[UNITS_MAX + 1];

	if (is_time(metric))
		units_time((uint64_t)llround(fabs(value)), text);
	else
		snprintf(text, sizeof(text), "%.10g", round(10 * fabs(value)) / 10);
	snprintf(with_sign, sizeof(with_sign), "%c%s", value < 0 ? '-' : '+', text);
	printf("%13s", with_sign);
}

/* @calls says what is new or gone: what takes less than a step of the clock takes no time, and is there. */
static void put_relative(const struct diff_change *c, const struct diff_change *calls)
{
	char text[UNITS_MAX];

	if (calls->a <= 0 && calls->b > 0)
		snprintf(text, sizeof(text), "new");
	else if (calls->b <= 0 && calls->a > 0)
		snprintf(text, sizeof(text), "gone");
	else if (!isfinite(c->relative))
		snprintf(text, sizeof(text), "-");
	else
		snprintf(text, sizeof(text), "%+.1f%%", 100 * c->relative);
	printf("%10s", text);
}

static void put_row(const struct diff *d, const struct diff_row *row, enum diff_metric metric, bool noise, enum diff_metric beside)
{
	const struct diff_change c = diff_change(d, row, metric), calls = diff_change(d, row, beside);

	put_value(metric, c.a);
	put_value(metric, c.b);
	put_signed(metric, c.by);
	put_relative(&c, &calls);
	if (noise)
		put_value(metric, c.noise);
	if (beside != metric) {
		put_value(beside, calls.a);
		put_value(beside, calls.b);
	}
	fputs("  ", stdout);
	units_text(stdout, row->name, 0, true);
	if (row->place) {
		fputs(" at ", stdout);
		units_text(stdout, row->place, 0, true);
	}
	if (*row->object) {
		fputs(" [", stdout);
		units_text(stdout, row->object, 0, true);
		putchar(']');
	}
	putchar('\n');
}

static void put_kind(struct diff *d, enum diff_kind kind, enum diff_metric metric, uint64_t limit, struct diff_row **sorted)
{
	enum diff_metric beside = kind == DIFF_LOOP ? DIFF_ACCESSES : DIFF_CALLS;
	bool noise = d->na + d->nb > 2;
	uint64_t shown = 0, same = 0, left_out = 0;
	char a[32], b[32];
	size_t n;

	diff_sort(d, kind, metric, sorted, &n);
	printf("\n%12s%12s%13s%10s", "A", "B", "change", "change%");
	if (noise)
		printf("%12s", "noise");
	snprintf(a, sizeof(a), "%s A", diff_metric_names[beside]);
	snprintf(b, sizeof(b), "%s B", diff_metric_names[beside]);
	if (beside != metric)
		printf("%12s%12s", a, b);
	printf("  %s, by %s\n", diff_kinds[kind], diff_metric_names[metric]);
	for (size_t i = 0; i < n; i++) {
		bool unchanged = !sorted[i]->whole && diff_change(d, sorted[i], metric).by == 0 &&
				 diff_change(d, sorted[i], beside).by == 0;

		same += unchanged;
		left_out += !unchanged && !sorted[i]->whole && shown == limit;
		if (unchanged || (!sorted[i]->whole && shown == limit))
			continue;
		put_row(d, sorted[i], metric, noise, beside);
		shown += !sorted[i]->whole;
	}
	if (left_out)
		printf("%" PRIu64 " more have changed; --all shows them\n", left_out);
	if (same)
		printf("%" PRIu64 " ha%s not changed\n", same, same == 1 ? "s" : "ve");
}

static void put_side(const char *name, const char *const *dirs, size_t n)
{
	fputs(name, stdout);
	for (size_t i = 0; i < n; i++) {
		fputs("  ", stdout);
		units_text(stdout, dirs[i], 0, true);
	}
	putchar('\n');
}

void diff_print_text(struct diff *d, enum diff_metric metric, uint64_t limit)
{
	struct diff_row **sorted = report_zeroed(d->n, sizeof(struct diff_row *));

	put_side("A", d->dirs, d->na);
	put_side("B", d->dirs + d->na, d->nb);
	for (unsigned int kind = 0; kind < DIFF_KINDS; kind++)
		if (d->has[kind] && diff_has_metric(kind, metric_of(kind, metric)))
			put_kind(d, kind, metric_of(kind, metric), limit, sorted);
	if (d->na + d->nb == 2)
		puts("\nOne trace on each side: how much repeated runs differ is not known; see sonde-diff(1).");
	free(sorted);
}

/* ---- for programs ---- */

/* Calls @put for each row and metric. */
static void each(struct diff *d, enum diff_metric asked, uint64_t limit,
		 void (*put)(const struct diff *d, const struct diff_row *row, enum diff_metric metric))
{
	struct diff_row **sorted = report_zeroed(d->n, sizeof(struct diff_row *));

	for (unsigned int kind = 0; kind < DIFF_KINDS; kind++) {
		size_t n, nmetrics;
		const enum diff_metric *metrics = diff_metrics(kind, &nmetrics);

		if (!diff_has_metric(kind, metric_of(kind, asked)))
			continue;
		diff_sort(d, kind, metric_of(kind, asked), sorted, &n);
		for (size_t i = 0; i < n; i++) {
			if (i >= limit && !sorted[i]->whole)
				continue;
			for (size_t k = 0; k < nmetrics; k++)
				if (asked == DIFF_METRICS || metrics[k] == asked)
					put(d, sorted[i], metrics[k]);
		}
	}
	free(sorted);
}

static void put_csv(const struct diff *d, const struct diff_row *row, enum diff_metric metric)
{
	const struct diff_change c = diff_change(d, row, metric);

	printf("%s,", row->whole ? "whole" : diff_kinds[row->kind]);
	units_csv(stdout, row->name);
	putchar(',');
	units_csv(stdout, row->object);
	putchar(',');
	units_csv(stdout, row->place);
	printf(",%s,%.15g,%.15g,%.15g,", diff_metric_names[metric], c.a, c.b, c.by);
	if (isfinite(c.relative))
		printf("%.3f", 100 * c.relative);
	putchar(',');
	if (isfinite(c.noise))
		printf("%.15g", c.noise);
	printf(",%d\n", isfinite(c.noise) ? c.sure : 0);
}

void diff_print_csv(struct diff *d, enum diff_metric metric, uint64_t limit)
{
	puts("kind,name,object,place,metric,a,b,change,change_percent,noise,significant");
	each(d, metric, limit, put_csv);
}

static void put_values(const char *name, const double *v, size_t n)
{
	printf(",\"%s\":[", name);
	for (size_t i = 0; i < n; i++)
		printf("%s%.15g", i ? "," : "", v[i]);
	putchar(']');
}

static void put_text(const char *name, const char *text)
{
	struct tf_buf line = { 0 };

	tf_json_str(&line, name, text);
	(void)!report_need(line.failed ? NULL : &line);
	fwrite(line.data, 1, line.size, stdout);
	tf_buf_free(&line);
}

static void put_json(const struct diff *d, const struct diff_row *row, enum diff_metric metric)
{
	const struct diff_change c = diff_change(d, row, metric);
	const double *a = row->v + metric * (d->na + d->nb);

	printf("{\"kind\":\"%s\"", row->whole ? "whole" : diff_kinds[row->kind]);
	put_text("name", row->name);
	put_text("object", row->object);
	if (row->place)
		put_text("place", row->place);
	printf(",\"metric\":\"%s\"", diff_metric_names[metric]);
	put_values("a", a, d->na);
	put_values("b", a + d->na, d->nb);
	printf(",\"change\":%.15g", c.by);
	if (isfinite(c.relative))
		printf(",\"change_percent\":%.3f", 100 * c.relative);
	if (isfinite(c.noise))
		printf(",\"noise\":%.15g,\"significant\":%s", c.noise, c.sure ? "true" : "false");
	puts("}");
}

void diff_print_json(struct diff *d, enum diff_metric metric, uint64_t limit)
{
	each(d, metric, limit, put_json);
}
