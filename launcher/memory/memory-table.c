/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile for people: what it is of, figures to the right, names last; then what caches of several sizes
 * would do.
 */
#include "launcher/memory/memory.h"
#include "base/path.h"
#include "launcher/common/units.h"
#include "launcher/trace/sampled.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CELL_MAX 64
#define LEAST_ERROR 0.005 /* percent: below it figures would not change */

struct cell {
	const char *title;
	void (*print)(const struct memory_rows *rows, const struct memory_row *row, char *text);
};

/* "+-3.1%", if it is an estimate. */
static void put_error(const struct memory_count *n, char *text)
{
	size_t len = strlen(text);

	if (!(n->value > 0))
		return;
	if (!isfinite(n->error))
		snprintf(text + len, CELL_MAX - len, " +-?");
	else if (n->error > 0)
		snprintf(text + len, CELL_MAX - len, n->error < n->value ? " +-%.2g%%" : " +-%.0f%%",
			 100 * n->error / n->value);
}

static void put_count(const struct memory_rows *rows, const struct memory_row *row, enum memory_counted what, char *text)
{
	struct memory_count n = memory_count(rows, row, what);

	if (what == MEMORY_BYTES)
		units_bytes((uint64_t)n.value, text);
	else
		snprintf(text, CELL_MAX, "%" PRIu64, (uint64_t)n.value);
	put_error(&n, text);
}

#define COUNT_CELL(name_, what_)                                                                     \
	static void cell_##name_(const struct memory_rows *rows, const struct memory_row *row, char *text) \
	{                                                                                            \
		put_count(rows, row, what_, text);                                                   \
	}
COUNT_CELL(accesses, MEMORY_ACCESSES)
COUNT_CELL(bytes, MEMORY_BYTES)
COUNT_CELL(loads, MEMORY_LOADS)
COUNT_CELL(stores, MEMORY_STORES)

static void cell_share(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	units_percent(memory_percent(memory_bytes(&row->sum), memory_bytes(&rows->total.sum)), text);
}

#define MOVES_CELL(name_, value_)                                                                    \
	static void cell_##name_(const struct memory_rows *rows, const struct memory_row *row, char *text) \
	{                                                                                            \
		const struct memprofile_insn *s = &row->sum;                                         \
                                                                                                     \
		(void)rows;                                                                          \
		if (s->moves)                                                                        \
			units_percent(memory_percent(value_, s->moves), text);                       \
	}
MOVES_CELL(near, s->near)
MOVES_CELL(strided, s->strided)
MOVES_CELL(random, s->moves - s->near - s->strided)

static void cell_stride(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	double percent;
	struct memprofile_stride best = memprofile_dominant(&row->sum, &percent);

	(void)rows;
	if (best.n && percent >= 1)
		snprintf(text, CELL_MAX, "%+" PRId64 " (%.0f%%)", best.by, percent);
}

static void cell_footprint(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	/* of what was not recorded, other lines may be */
	units_bytes(row->lines * MEMPROFILE_LINE, text + (rows->about.sampled ? stpcpy(text, ">= ") - text : 0));
}

static void put_misses(const struct memory_misses *m, char *text)
{
	char share[UNITS_MAX];

	units_percent(m->percent, share);
	if (!m->known)
		snprintf(text, CELL_MAX, "not known");
	else if (m->error >= LEAST_ERROR)
		snprintf(text, CELL_MAX, "%.0f (%s +-%.2g%%)", m->misses, share, m->error);
	else
		snprintf(text, CELL_MAX, "%.0f (%s)", m->misses, share);
}

static void cell_misses(const struct memory_rows *rows, const struct memory_row *row, unsigned int cache, char *text)
{
	struct memory_misses m = memory_misses(rows, row, cache);

	if (memory_accesses(&row->sum))
		put_misses(&m, text);
}

#define MISSES_CELL(name_, cache_)                                                                   \
	static void cell_##name_(const struct memory_rows *rows, const struct memory_row *row, char *text) \
	{                                                                                            \
		cell_misses(rows, row, cache_, text);                                                      \
	}
MISSES_CELL(l1, 0)
MISSES_CELL(l2, 1)
MISSES_CELL(l3, 2)
MISSES_CELL(l4, 3)

/* The last CACHES_MAX ones are there as far as there are caches. */
static const struct cell cells[] = {
	{ "accesses", cell_accesses }, { "bytes", cell_bytes },	  { "bytes%", cell_share },
	{ "loads", cell_loads },       { "stores", cell_stores }, { "seq%", cell_near },
	{ "strided%", cell_strided },  { "random%", cell_random }, { "stride", cell_stride },
	{ "footprint", cell_footprint }, { "L1 misses", cell_l1 }, { "L2 misses", cell_l2 },
	{ "L3 misses", cell_l3 },      { "L4 misses", cell_l4 },
};
#define NCELLS (sizeof(cells) / sizeof(cells[0]))

static size_t ncells(const struct memory_rows *rows)
{
	return NCELLS - CACHES_MAX + memory_ncaches(rows);
}

static void fill(const struct memory_rows *rows, const struct memory_row *row, size_t k, char *text)
{
	text[0] = '\0';
	cells[k].print(rows, row, text);
}

static void measure(const struct memory_rows *rows, size_t n, size_t *width)
{
	char text[CELL_MAX];

	for (size_t k = 0; k < ncells(rows); k++) {
		width[k] = strlen(cells[k].title);
		for (size_t i = 0; i <= n; i++) {
			fill(rows, i < n ? rows->v[i] : &rows->total, k, text);
			if (strlen(text) > width[k])
				width[k] = strlen(text);
		}
	}
}

/* Below its name. */
static void put_callers(const struct memory_rows *rows, const char *callers, const size_t *width, FILE *out)
{
	size_t indent = 4, n;

	for (size_t k = 0; k < ncells(rows); k++)
		indent += width[k] + 2;
	for (const char *p = callers; *p; p += n + (p[n] == '\n')) {
		char *line = strndup(p, n = strcspn(p, "\n"));

		fprintf(out, "%*s", (int)indent, "");
		units_text(out, line ? line : "", 0, true);
		putc('\n', out);
		free(line);
	}
}

static void put_row(const struct memory_rows *rows, const struct memory_row *row, const size_t *width,
		    const char *name, FILE *out)
{
	char text[CELL_MAX];

	for (size_t k = 0; k < ncells(rows); k++) {
		fill(rows, row, k, text);
		fprintf(out, "%*s  ", (int)width[k], text);
	}
	units_text(out, name, 0, true);
	if (row->kind)
		memory_print_accessed(&(struct memory_accessed){ .kind = row->kind, .type = row->type, .file = row->file, .line = row->line },
				      name, out);
	if (row->expression) {
		fputs("  ", out);
		units_text(out, row->expression, 0, true);
	}
	if (row->ambiguous && row->path) {
		fputs(" [", out);
		units_text(out, path_basename(row->path), 0, true);
		putc(']', out);
	}
	putc('\n', out);
	if (row->callers)
		put_callers(rows, row->callers, width, out);
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
	size_t width[NCELLS];

	if (!rows->n) {
		fputs("nothing was accessed\n", out);
		return;
	}
	put_about(rows, out);
	measure(rows, n, width);
	for (size_t k = 0; k < ncells(rows); k++)
		fprintf(out, "%*s  ", (int)width[k], cells[k].title);
	fprintf(out, "%s\n", titles[by]);
	for (size_t i = 0; i < n; i++)
		put_row(rows, rows->v[i], width, rows->v[i]->name, out);
	if (n < rows->n)
		fprintf(out, "... and %zu more (--all shows them)\n", rows->n - n);
	if (rows->n > 1)
		put_row(rows, &rows->total, width, "total", out);
	if (memory_by_name(by))
		memory_print_named(&rows->named, memory_accesses(&rows->total.sum), out);
	put_caches(rows, out);
	put_notes(rows, out);
}
