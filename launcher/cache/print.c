/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables for people: one for each system. */
#include "launcher/cache/cache.h"
#include "launcher/common/table.h"
#include "launcher/common/units.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define CELL_MAX 64

/* Column 0: accesses; then these of each level; then cycles. */
enum { MISSES, MPKI, COMPULSORY, CAPACITY, CONFLICT, WRITES, PREFETCHED, INVALIDATED, UPGRADES, TRANSFERS, KINDS };
#define CYCLES (1 + KINDS * CACHE_LEVELS)
#define COLUMNS (CYCLES + 1)

struct system_table {
	const struct cache_rows *rows;
	const struct cache_system *system;
	size_t at; /* the system's index */
	struct table table;
};

static bool is_there(const struct system_table *t, unsigned int column)
{
	const unsigned int level = (column - 1) / KINDS, kind = (column - 1) % KINDS;

	if (!column)
		return true;
	if (column == CYCLES)
		return cache_has_latencies(t->system);
	if (kind == PREFETCHED)
		return level < t->system->ncaches && t->system->level[level].prefetch;
	if (kind == MPKI)
		return level < cache_levels(t->system) && t->rows->total.insns;
	if (kind >= INVALIDATED)
		return level < t->system->ncaches && (kind == INVALIDATED ? cache_is_coherent(t->system, level) :
						      !level && cache_is_coherent(t->system, 0));
	if (kind != MISSES && (level >= t->system->ncaches || (kind != WRITES && !t->rows->classified)))
		return false;
	return level < cache_levels(t->system);
}

static void put_title(const struct system_table *t, unsigned int column, char text[static CELL_MAX])
{
	static const char *const kinds[KINDS] = { "misses", "mpki", "compulsory", "capacity", "conflict", "writes", "prefetched", "invalidated", "upgrades",
						  "transfers" };

	if (!column || column == CYCLES)
		strcpy(text, column ? "cycles" : "accesses");
	else if ((column - 1) % KINDS >= UPGRADES)
		strcpy(text, kinds[(column - 1) % KINDS]);
	else
		snprintf(text, CELL_MAX, "%.40s %s", t->system->level[(column - 1) / KINDS].name, kinds[(column - 1) % KINDS]);
}

static uint64_t value_of(const struct cache_count *count, unsigned int kind)
{
	switch (kind) {
	case COMPULSORY:
		return count->compulsory;
	case CAPACITY:
		return count->capacity;
	case CONFLICT:
		return count->misses - count->compulsory - count->capacity;
	case WRITES:
		return count->written;
	case PREFETCHED:
		return count->prefetched;
	case INVALIDATED:
		return count->invalidated;
	case UPGRADES:
		return count->upgrades;
	case TRANSFERS:
		return count->transfers;
	default:
		return count->misses;
	}
}

static void put_cell(const struct system_table *t, const struct cache_row *row, unsigned int column, char text[static CELL_MAX])
{
	const unsigned int kind = (column - 1) % KINDS;
	const struct cache_count *count;
	char share[UNITS_MAX];
	uint64_t all;

	if (!column || column == CYCLES) {
		snprintf(text, CELL_MAX, "%" PRIu64, column ? cache_cycles(row, t->rows->systems, t->at) : row->sum.accesses);
		return;
	}
	count = &row->counts[t->at][(column - 1) / KINDS];
	all = count->hits + count->misses;
	if (kind == MPKI) {
		text[0] = '\0';
		if (row->insns)
			snprintf(text, CELL_MAX, "%.2f", cache_mpki(row, t->at, (column - 1) / KINDS));
		return;
	}
	units_percent(memory_percent(count->misses, all), share);
	snprintf(text, CELL_MAX, kind == MISSES && all ? "%" PRIu64 " (%s)" : "%" PRIu64, value_of(count, kind), share);
}

/* Returns as table_row(). */
static bool put_cells(struct system_table *t, const struct cache_row *row)
{
	char title[CELL_MAX], text[CELL_MAX];

	for (unsigned int c = 0; c < COLUMNS; c++) {
		if (!is_there(t, c))
			continue;
		put_title(t, c, title);
		put_cell(t, row, c, text);
		table_cell(&t->table, title, 0, "%s", text);
	}
	return table_row(&t->table);
}

static void put_row(struct system_table *t, const struct cache_row *row, const char *name)
{
	if (!put_cells(t, row))
		return;
	units_text(t->table.out, name, 0, true);
	memory_print_accessed(&row->key, t->table.out);
	putc('\n', t->table.out);
}

static void put_rows(struct system_table *t, size_t n, const char *by)
{
	for (size_t i = 0; i < n; i++)
		(void)put_cells(t, t->rows->v[i]);
	(void)put_cells(t, &t->rows->total);
	table_fit(&t->table, 0, 0);
	(void)put_cells(t, &t->rows->total);
	fprintf(t->table.out, "%s\n", by);
	for (size_t i = 0; i < n; i++)
		put_row(t, t->rows->v[i], t->rows->v[i]->key.name);
	if (n < t->rows->n)
		fprintf(t->table.out, "... and %zu more (--all shows them)\n", t->rows->n - n);
	if (t->rows->n > 1)
		put_row(t, &t->rows->total, "total");
}

static void put_errors(const struct system_table *t, FILE *out)
{
	fprintf(out, "\n            one in %" PRIu64 " sets is simulated; error of the whole program's misses:", t->rows->one_in);
	for (unsigned int k = 0; k < cache_levels(t->system); k++) {
		const double error = cache_rows_error(t->rows, t->at, k);
		char text[UNITS_MAX];

		units_percent(error, text);
		fputs(k ? ", " : " ", out);
		units_text(out, t->system->level[k].name, 0, true);
		if (isinf(error))
			fputs(" ?", out);
		else if (error > 0)
			fprintf(out, " %s", text);
		else
			fputs(" none", out);
	}
}

static void put_system(const struct system_table *t, FILE *out)
{
	const struct cache_system *s = t->system;

	fputs("system      ", out);
	units_text(out, s->name, 0, true);
	if (s->about) {
		fputs(": ", out);
		units_text(out, s->about, 0, true);
	}
	fputs("\n            ", out);
	systems_describe(s, out);
	if (s->cores)
		fprintf(out, "\n            %u core%s; threads take turns by the times in the trace, and evenly between these", s->cores,
			s->cores == 1 ? "" : "s");
	else
		fputs("\n            each thread has all of it for itself, also what cores share", out);
	if (t->rows->one_in > 1)
		put_errors(t, out);
	fputs("\n\n", out);
}

void cache_print_table(struct cache_rows *rows, const char *key, uint64_t limit, const char *by, FILE *out)
{
	size_t n = rows->n < limit ? rows->n : (size_t)limit;

	if (!rows->n) {
		fputs("nothing was accessed\n", out);
		return;
	}
	for (size_t s = 0; s < rows->systems->n; s++) {
		struct system_table t = { .rows = rows, .system = &rows->systems->v[s], .at = s, .table = { .out = out } };

		cache_rows_sort(rows, s, key);
		if (s)
			putc('\n', out);
		put_system(&t, out);
		put_rows(&t, n, by);
	}
	if (rows->accessed)
		memory_print_named(&rows->named, rows->total.sum.accesses, out);
}

void cache_list(const struct cache_systems *list, FILE *out)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct cache_system *s = &list->v[i];

		fprintf(out, "%-16s ", s->name);
		units_text(out, s->about ? s->about : "", 0, true);
		fprintf(out, "\n%17s", "");
		systems_describe(s, out);
		if (s->source) {
			fprintf(out, "\n%17s", "");
			units_text(out, s->source, 0, true);
		}
		putc('\n', out);
	}
}
