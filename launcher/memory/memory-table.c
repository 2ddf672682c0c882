/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile for people: what it is of, figures to the right, names last; then what caches of several sizes
 * would do.
 */
#include "launcher/memory/memory.h"
#include "base/path.h"
#include "launcher/common/table.h"
#include "launcher/common/units.h"
#include "launcher/trace/sampled.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_MAX 32
#define LEAST_ERROR 0.005 /* percent: below it figures would not change */

/* " +-3.1%", if it is an estimate; else "". */
static const char *error_text(const struct memory_count *n, char text[static ERROR_MAX])
{
	text[0] = '\0';
	if (n->value > 0 && !isfinite(n->error))
		snprintf(text, ERROR_MAX, " +-?");
	else if (n->value > 0 && n->error > 0)
		snprintf(text, ERROR_MAX, n->error < n->value ? " +-%.2g%%" : " +-%.0f%%", 100 * n->error / n->value);
	return text;
}

static void put_count(struct table *t, const char *title, const struct memory_rows *rows, const struct memory_row *row, enum memory_counted what)
{
	struct memory_count n = memory_count(rows, row, what);
	char bytes[UNITS_MAX], error[ERROR_MAX];

	if (what == MEMORY_BYTES) {
		units_bytes((uint64_t)n.value, bytes);
		table_cell(t, title, 0, "%s%s", bytes, error_text(&n, error));
	} else {
		table_cell(t, title, 0, "%" PRIu64 "%s", (uint64_t)n.value, error_text(&n, error));
	}
}

/* @of: 0: nothing is known. */
static void put_share(struct table *t, const char *title, uint64_t n, uint64_t of)
{
	char text[UNITS_MAX] = "";

	if (of)
		units_percent(memory_percent(n, of), text);
	table_cell(t, title, 0, "%s", text);
}

static void put_moves(struct table *t, const struct memprofile_insn *s)
{
	double percent;
	struct memprofile_stride best = memprofile_dominant(s, &percent);

	put_share(t, "seq%", s->near, s->moves);
	put_share(t, "strided%", s->strided, s->moves);
	put_share(t, "random%", s->moves - s->near - s->strided, s->moves);
	if (best.n && percent >= 1)
		table_cell(t, "stride", 0, "%+" PRId64 " (%.0f%%)", best.by, percent);
	else
		table_cell(t, "stride", 0, "%s", "");
}

static void put_misses(struct table *t, const struct memory_rows *rows, const struct memory_row *row, unsigned int cache)
{
	struct memory_misses m = memory_misses(rows, row, cache);
	char title[16], share[UNITS_MAX];

	snprintf(title, sizeof(title), "L%u misses", cache + 1);
	units_percent(m.percent, share);
	if (!memory_accesses(&row->sum))
		table_cell(t, title, 0, "%s", "");
	else if (!m.known)
		table_cell(t, title, 0, "not known");
	else if (m.error >= LEAST_ERROR)
		table_cell(t, title, 0, "%.0f (%s +-%.2g%%)", m.misses, share, m.error);
	else
		table_cell(t, title, 0, "%.0f (%s)", m.misses, share);
}

/* Returns as table_row(). */
static bool put_cells(struct table *t, const struct memory_rows *rows, const struct memory_row *row)
{
	char text[UNITS_MAX];

	put_count(t, "accesses", rows, row, MEMORY_ACCESSES);
	put_count(t, "bytes", rows, row, MEMORY_BYTES);
	units_percent(memory_percent(memory_bytes(&row->sum), memory_bytes(&rows->total.sum)), text);
	table_cell(t, "bytes%", 0, "%s", text);
	put_count(t, "loads", rows, row, MEMORY_LOADS);
	put_count(t, "stores", rows, row, MEMORY_STORES);
	put_moves(t, &row->sum);
	/* of what was not recorded, other lines may be */
	units_bytes(row->lines * MEMPROFILE_LINE, text);
	table_cell(t, "footprint", 0, "%s%s", rows->about.sampled ? ">= " : "", text);
	for (unsigned int k = 0; k < memory_ncaches(rows); k++)
		put_misses(t, rows, row, k);
	return table_row(t);
}

/* Below its name. */
static void put_callers(const struct table *t, const char *callers, FILE *out)
{
	size_t indent = table_width(t) + 4, n;

	for (const char *p = callers; *p; p += n + (p[n] == '\n')) {
		char *line = strndup(p, n = strcspn(p, "\n"));

		fprintf(out, "%*s", (int)indent, "");
		units_text(out, line ? line : "", 0, true);
		putc('\n', out);
		free(line);
	}
}

static void put_row(struct table *t, const struct memory_rows *rows, const struct memory_row *row, const char *name)
{
	FILE *out = t->out;

	if (!put_cells(t, rows, row))
		return;
	units_text(out, name, 0, true);
	memory_print_accessed(&row->key, out);
	if (row->expression) {
		fputs("  ", out);
		units_text(out, row->expression, 0, true);
	}
	if (row->ambiguous && row->key.path) {
		fputs(" [", out);
		units_text(out, path_basename(row->key.path), 0, true);
		putc(']', out);
	}
	putc('\n', out);
	if (row->key.callers)
		put_callers(t, row->key.callers, out);
}

/* ---- what it is of ---- */

static void put_about(const struct memory_rows *rows, FILE *out)
{
	const struct memory_about *about = &rows->about;
	char text[SAMPLED_MAX], size[UNITS_MAX];

	fputs("caches      ", out);
	for (unsigned int k = 0; k < memory_ncaches(rows); k++) {
		units_bytes(about->caches.bytes[k], size);
		fprintf(out, "%sL%u %s", k ? ", " : "", k + 1, size);
	}
	fprintf(out, ", %s\n", about->caches_of);
	if (about->sampled) {
		sampled_text(&about->how, text);
		fprintf(out, "sampled     %s\n", text);
		fputs(sampled_counted(&about->how) ?
			      "            figures are estimates for all accesses; +- is half a 95% confidence interval\n" :
			      "            figures are of the bursts alone: how many accesses were between them is not known\n",
		      out);
	}
	putc('\n', out);
}

/* ---- all rows ---- */

static void put_cache(const struct memory_misses *m, uint64_t bytes, FILE *out)
{
	char size[UNITS_MAX], share[UNITS_MAX];

	units_bytes(bytes, size);
	units_percent(m->percent, share);
	if (!m->known)
		fprintf(out, "%9s  not known\n", size);
	else if (m->error >= LEAST_ERROR)
		fprintf(out, "%9s  %6s +-%.2g%%  %.0f\n", size, share, m->error, m->misses);
	else
		fprintf(out, "%9s  %6s  %.0f\n", size, share, m->misses);
}

/*
 * What would miss in caches from a page up to what holds everything, or to the first one that the bursts are too
 * short for: they are so for larger ones, too.
 */
static void put_caches(const struct memory_rows *rows, FILE *out)
{
	const struct memprofile_insn *s = &rows->total.sum;

	/* how much groups of bursts differ is known of all functions together */
	if (rows->about.sampled && rows->chosen)
		return;
	fputs("\nmisses in a fully associative LRU cache with lines of 64 bytes, one for each thread\n"
	      "   cache   misses\n", out);
	for (unsigned int bits = 6; bits < MEMPROFILE_DISTANCES - 1; bits++) {
		struct memory_misses m = memory_all_misses(rows, bits);
		uint64_t more = 0;

		put_cache(&m, (uint64_t)MEMPROFILE_LINE << bits, out);
		for (unsigned int k = bits + 1; k < MEMPROFILE_DISTANCES; k++)
			more += s->reuse[k] + s->open[k];
		if (!more || !m.known)
			break;
	}
}

static void put_notes(const struct memory_rows *rows, FILE *out)
{
	char size[UNITS_MAX];

	if (rows->about.sampled)
		fputs("\nnot known: bursts are too short to tell; --sample with longer ones does\n", out);
	units_bytes((uint64_t)MEMPROFILE_LINE * MEMPROFILE_LINES, size);
	if (rows->looked_at > 1)
		fprintf(out, "\nmisses in caches above %s are estimated from one cache line in %" PRIu64 ", large footprints likewise\n",
			size, rows->looked_at);
}

void memory_print_table(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out)
{
	static const char *const titles[] = { "function", "loop", "line", "block", "instruction", "variable", "field", "allocation", "type" };
	size_t n = rows->n < limit ? rows->n : (size_t)limit;
	struct table t = { .out = out };

	if (!rows->n) {
		fputs("nothing was accessed\n", out);
		return;
	}
	put_about(rows, out);
	for (size_t i = 0; i < n; i++)
		(void)put_cells(&t, rows, rows->v[i]);
	(void)put_cells(&t, rows, &rows->total);
	table_fit(&t, 0, 0);
	(void)put_cells(&t, rows, &rows->total);
	fprintf(out, "%s\n", titles[by]);
	for (size_t i = 0; i < n; i++)
		put_row(&t, rows, rows->v[i], rows->v[i]->key.name);
	if (n < rows->n)
		fprintf(out, "... and %zu more (--all shows them)\n", rows->n - n);
	if (rows->n > 1)
		put_row(&t, rows, &rows->total, "total");
	if (memory_by_name(by))
		memory_print_named(&rows->named, memory_accesses(&rows->total.sum), out);
	put_caches(rows, out);
	put_notes(rows, out);
}
