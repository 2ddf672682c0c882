/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Miss-ratio curves: what share of accesses would miss in fully associative LRU caches of all sizes that are powers of
 * two.  They follow from reuse distances (launcher/memory/profile/memprofile.h), of each thread alone.
 */
#include "launcher/cache/cache.h"
#include "launcher/common/units.h"
#include "launcher/memory/profile/memprofile.h"

#include <inttypes.h>
#include <stdlib.h>

#include "tracefmt/buffer.h"
#include "tracefmt/json.h"

#define SMALLEST 4 /* 2^4 lines are 1 KiB */
#define BAR 40	   /* columns for 100 % */

struct cache_curve {
	uint64_t accesses, first;
	uint64_t reuse[MEMPROFILE_DISTANCES];
};

static bool add(struct cache_row *row, const struct memprofile_insn *from)
{
	struct cache_curve *to = row->curve;
	uint64_t all = from->first;

	if (!to)
		to = row->curve = calloc(1, sizeof(*to));
	if (!to)
		return false;
	to->first += from->first;
	for (unsigned int i = 0; i < MEMPROFILE_DISTANCES; i++) {
		to->reuse[i] += from->reuse[i];
		all += from->reuse[i];
	}
	to->accesses += all;
	row->sum.accesses += all;
	return true;
}

bool cache_rows_add_curves(struct cache_rows *rows, struct memprofile *profile, struct memwhere *where, enum memory_by by,
			   const char *thread, struct select *sel)
{
	const struct memprofile_insn *insn;

	for (size_t i = 0; (insn = memprofile_insn(profile, i)); i++) {
		struct memplace *place = memwhere(where, insn->insn);
		struct cache_row *row;

		if (!place)
			return false;
		if (!memwhere_matches(place, sel))
			continue;
		row = cache_row_for(rows, place, by, thread);
		if (place->name)
			memory_named_add(&rows->named, place->name, memory_accesses(insn));
		if (!row || !add(row, insn) || !add(&rows->total, insn))
			return false;
	}
	return true;
}

/* ---- sizes ---- */

static uint64_t bytes_of(unsigned int k)
{
	return (uint64_t)MEMPROFILE_LINE << k;
}

/* In a cache of 2^k lines: distances of so many lines, and more, miss. */
static uint64_t misses(const struct cache_curve *c, unsigned int k)
{
	uint64_t n = c->first;

	for (unsigned int i = k + 1; i < MEMPROFILE_DISTANCES; i++)
		n += c->reuse[i];
	return n;
}

/* The largest size that is not larger than the level. */
static unsigned int size_below(const struct cache_level *l)
{
	unsigned int k = SMALLEST;

	while (k + 2 < MEMPROFILE_DISTANCES && bytes_of(k + 1) <= l->lines * l->line)
		k++;
	return k;
}

/* From where on no size helps, and that of the largest cache. */
static unsigned int largest(const struct cache_rows *rows)
{
	const struct cache_curve *all = rows->total.curve;
	unsigned int k = SMALLEST;

	while (all && k + 2 < MEMPROFILE_DISTANCES && misses(all, k) > all->first)
		k++;
	for (size_t s = 0; s < rows->systems->n; s++)
		for (unsigned int i = 0; i < rows->systems->v[s].ncaches; i++)
			if (size_below(&rows->systems->v[s].level[i]) > k)
				k = size_below(&rows->systems->v[s].level[i]);
	return k;
}

/* ---- for people ---- */

static void put_marks(const struct cache_rows *rows, unsigned int k, FILE *out)
{
	const char *before = "  ";
	char size[UNITS_MAX];

	for (size_t s = 0; s < rows->systems->n; s++) {
		const struct cache_system *system = &rows->systems->v[s];

		for (unsigned int i = 0; i < system->ncaches; i++) {
			const struct cache_level *l = &system->level[i];

			if (size_below(l) != k)
				continue;
			fputs(before, out);
			units_text(out, l->name, 0, true);
			fputs(" of ", out);
			units_text(out, system->name, 0, true);
			units_bytes(l->lines * l->line, size);
			if (l->lines * l->line != bytes_of(k))
				fprintf(out, " (%s)", size);
			before = ", ";
		}
	}
}

static void put_curve(const struct cache_rows *rows, const struct cache_row *row, const char *name, unsigned int end, FILE *out)
{
	const struct cache_curve *c = row->curve;
	char size[UNITS_MAX], share[UNITS_MAX];

	units_text(out, name, 0, true);
	if (row != &rows->total)
		memory_print_accessed(&row->key, out);
	fprintf(out, ": %" PRIu64 " accesses\n", c->accesses);
	for (unsigned int k = SMALLEST; k <= end; k++) {
		const double percent = memory_percent(misses(c, k), c->accesses);
		const int bar = (int)(percent * BAR / 100 + 0.5);

		units_bytes(bytes_of(k), size);
		units_percent(percent, share);
		fprintf(out, "%12s  %7s  ", size, share);
		for (int i = 0; i < BAR; i++)
			putc(i < bar ? '#' : '.', out);
		put_marks(rows, k, out);
		putc('\n', out);
	}
	putc('\n', out);
}

void cache_curve_table(struct cache_rows *rows, const char *key, uint64_t limit, FILE *out)
{
	const unsigned int end = largest(rows);
	const size_t n = rows->n < limit ? rows->n : (size_t)limit;

	if (!rows->n) {
		fputs("nothing was accessed\n", out);
		return;
	}
	cache_rows_sort(rows, 0, key);
	fputs("share of accesses that miss in fully associative LRU caches with lines of 64 B, of each thread alone\n\n", out);
	for (size_t i = 0; i < n; i++)
		put_curve(rows, rows->v[i], rows->v[i]->key.name, end, out);
	if (n < rows->n)
		fprintf(out, "... and %zu more (--all shows them)\n\n", rows->n - n);
	if (rows->n > 1)
		put_curve(rows, &rows->total, "total", end, out);
	if (rows->accessed)
		memory_print_named(&rows->named, rows->total.curve->accesses, out);
}

/* ---- for other programs ---- */

void cache_curve_csv(struct cache_rows *rows, const char *key, uint64_t limit, FILE *out)
{
	const unsigned int end = largest(rows);

	cache_rows_sort(rows, 0, key);
	fputs("name,accesses,bytes,misses,function,file,line,address,object", out);
	fputs(rows->accessed ? CACHE_CSV_ACCESSED "\n" : "\n", out);
	for (size_t i = 0; i < rows->n && i < limit; i++) {
		const struct cache_row *row = rows->v[i];

		for (unsigned int k = SMALLEST; k <= end; k++) {
			units_csv(out, row->key.name);
			fprintf(out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",", row->curve->accesses, bytes_of(k),
				misses(row->curve, k));
			cache_csv_place(row, out);
			cache_csv_end(rows, row, out);
		}
	}
}

static bool put_json(struct tf_buf *b, const struct cache_row *row, const char *type, unsigned int end, FILE *out)
{
	tf_json_begin(b, type);
	cache_json_place(b, row);
	tf_json_uint(b, "accesses", row->curve->accesses);
	tf_json_key(b, "sizes");
	for (unsigned int k = SMALLEST; k <= end; k++) {
		tf_buf_str(b, k == SMALLEST ? "[{\"bytes\":" : ",{\"bytes\":");
		tf_json_number(b, bytes_of(k));
		tf_json_uint(b, "misses", misses(row->curve, k));
		tf_buf_byte(b, '}');
	}
	tf_buf_byte(b, ']');
	return units_json_end(b, out);
}

bool cache_curve_json(struct cache_rows *rows, const char *key, uint64_t limit, const char *by, FILE *out)
{
	const unsigned int end = largest(rows);
	struct tf_buf b = { 0 };
	bool good = true;

	cache_rows_sort(rows, 0, key);
	for (size_t i = 0; good && i < rows->n && i < limit; i++)
		good = put_json(&b, rows->v[i], by, end, out);
	if (good && rows->n)
		good = put_json(&b, &rows->total, "total", end, out);
	tf_buf_free(&b);
	return good;
}
