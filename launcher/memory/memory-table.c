/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The profile for people: figures to the right, names last; then what caches of several sizes
 * would do.
 */
#include "launcher/memory/memory.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <string.h>

#define CELL_MAX 64

struct cell {
	const char *title;
	void (*print)(const struct memory_rows *rows, const struct memory_row *row, char *text);
};

static void cell_accesses(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	(void)rows;
	snprintf(text, CELL_MAX, "%" PRIu64, memory_accesses(&row->sum));
}

static void cell_bytes(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	(void)rows;
	units_bytes(memory_bytes(&row->sum), text);
}

static void cell_share(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	units_percent(memory_percent(memory_bytes(&row->sum), memory_bytes(&rows->total.sum)), text);
}

static void cell_loads(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	(void)rows;
	snprintf(text, CELL_MAX, "%" PRIu64, memory_loads(&row->sum));
}

static void cell_stores(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	(void)rows;
	snprintf(text, CELL_MAX, "%" PRIu64, memory_stores(&row->sum));
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
	(void)rows;
	units_bytes(row->lines * MEMPROFILE_LINE, text);
}

/* The smallest cache (a power of two) in which half of the accesses hit. */
static void cell_half(const struct memory_rows *rows, const struct memory_row *row, char *text)
{
	uint64_t all = memory_accesses(&row->sum);

	(void)rows;
	for (unsigned int bits = 0; all && bits < MEMPROFILE_DISTANCES - 1; bits++) {
		if (2 * memory_misses(&row->sum, bits) <= all) {
			units_bytes((uint64_t)MEMPROFILE_LINE << bits, text);
			return;
		}
	}
	if (all)
		strcpy(text, "never");
}

static const struct cell cells[] = {
	{ "accesses", cell_accesses }, { "bytes", cell_bytes },	  { "bytes%", cell_share },
	{ "loads", cell_loads },       { "stores", cell_stores }, { "seq%", cell_near },
	{ "strided%", cell_strided },  { "random%", cell_random }, { "stride", cell_stride },
	{ "footprint", cell_footprint }, { "half hit in", cell_half },
};
#define NCELLS (sizeof(cells) / sizeof(cells[0]))

static void fill(const struct memory_rows *rows, const struct memory_row *row, size_t k, char *text)
{
	text[0] = '\0';
	cells[k].print(rows, row, text);
}

static void measure(const struct memory_rows *rows, size_t n, size_t *width)
{
	char text[CELL_MAX];

	for (size_t k = 0; k < NCELLS; k++) {
		width[k] = strlen(cells[k].title);
		for (size_t i = 0; i <= n; i++) {
			fill(rows, i < n ? rows->v[i] : &rows->total, k, text);
			if (strlen(text) > width[k])
				width[k] = strlen(text);
		}
	}
}

static void put_row(const struct memory_rows *rows, const struct memory_row *row, const size_t *width,
		    const char *name, FILE *out)
{
	char text[CELL_MAX];

	for (size_t k = 0; k < NCELLS; k++) {
		fill(rows, row, k, text);
		fprintf(out, "%*s  ", (int)width[k], text);
	}
	units_text(out, name, 0, true);
	putc('\n', out);
}

/* What would miss in caches from a page up to what holds everything. */
static void put_caches(const struct memory_rows *rows, FILE *out)
{
	uint64_t all = memory_accesses(&rows->total.sum), misses;
	char size[UNITS_MAX], share[UNITS_MAX];

	fputs("\nmisses in a fully associative LRU cache with lines of 64 bytes, one for each thread\n"
	      "   cache   misses\n", out);
	for (unsigned int bits = 6; bits < MEMPROFILE_DISTANCES - 1; bits++) {
		misses = memory_misses(&rows->total.sum, bits);
		units_bytes((uint64_t)MEMPROFILE_LINE << bits, size);
		units_percent(memory_percent(misses, all), share);
		fprintf(out, "%9s  %6s  %" PRIu64 "\n", size, share, misses);
		if (misses == rows->total.sum.first)
			break;
	}
}

void memory_print_table(const struct memory_rows *rows, uint64_t limit, enum memory_by by, FILE *out)
{
	static const char *const titles[] = { "function", "loop", "line", "instruction" };
	size_t n = rows->n < limit ? rows->n : (size_t)limit;
	size_t width[NCELLS];

	if (!rows->n) {
		fputs("nothing was accessed\n", out);
		return;
	}
	measure(rows, n, width);
	for (size_t k = 0; k < NCELLS; k++)
		fprintf(out, "%*s  ", (int)width[k], cells[k].title);
	fprintf(out, "%s\n", titles[by]);
	for (size_t i = 0; i < n; i++)
		put_row(rows, rows->v[i], width, rows->v[i]->name, out);
	if (n < rows->n)
		fprintf(out, "... and %zu more (--all shows them)\n", rows->n - n);
	if (rows->n > 1)
		put_row(rows, &rows->total, width, "total", out);
	put_caches(rows, out);
	if (rows->sampled > 1)
		fprintf(out, "\nfootprints, \"half hit in\" and misses are estimated from one cache line in %" PRIu64 "\n",
			rows->sampled);
}
