/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many instructions rows executed, of a trace that has blocks beside accesses: misses are said for each thousand of them. */
#include "launcher/cache/cache.h"

#include <stdlib.h>
#include <string.h>

#include "launcher/blocks/counts.h"
#include "launcher/trace/holds.h"

struct place {
	const char *path;
	uint64_t address;
};

static int order(const struct place *a, const struct cache_row *b)
{
	int paths = strcmp(a->path, b->key.path ? b->key.path : "");

	return paths ? paths : a->address < b->key.address ? -1 : a->address > b->key.address;
}

static int by_place(const void *a, const void *b)
{
	const struct cache_row *x = *(struct cache_row *const *)a;

	return order(&(struct place){ x->key.path ? x->key.path : "", x->key.address }, *(struct cache_row *const *)b);
}

static int find(const void *place, const void *row)
{
	return order(place, *(struct cache_row *const *)row);
}

/* Rows of one place that differ in their names are of the same instructions. */
static void add_to(struct cache_rows *rows, const struct place *p, uint64_t insns)
{
	struct cache_row **end = rows->v + rows->n, **row = rows->n ? bsearch(p, rows->v, rows->n, sizeof(*row), find) : NULL;

	while (row && row > rows->v && !order(p, row[-1]))
		row--;
	for (; row && row < end && !order(p, *row); row++)
		(*row)->insns += insns;
}

int cache_rows_add_insns(struct cache_rows *rows, enum memory_by by, const struct pick *pick, const struct select_options *select,
			 const char *dir)
{
	const bool known = by == MEMORY_BY_FUNCTION || by == MEMORY_BY_LOOP || by == MEMORY_BY_BLOCK;
	struct counts_options o = {
		.pick = *pick, .select = *select,
		.by = by == MEMORY_BY_LOOP ? COUNTS_BY_LOOP : by == MEMORY_BY_BLOCK ? COUNTS_BY_BLOCK : COUNTS_BY_FUNCTION,
	};
	struct counts c;
	int status;

	/* which blocks there are comes last */
	if (!holds_ends(pick->trace))
		return 0;
	status = counts_read(&c, &o, dir);
	if (status)
		return status;
	rows->total.insns = c.total.facts[FACT_INSNS];
	if (rows->n)
		qsort(rows->v, rows->n, sizeof(*rows->v), by_place);
	for (size_t i = 0; i < c.n && known; i++)
		add_to(rows, &(struct place){ c.rows[i].path, c.rows[i].addr }, c.rows[i].facts[FACT_INSNS]);
	counts_free(&c);
	return 0;
}

double cache_mpki(const struct cache_row *row, size_t system, unsigned int level)
{
	return row->insns ? 1000 * (double)row->counts[system][level].misses / (double)row->insns : 0;
}
