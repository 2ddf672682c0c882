/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of figures: what is added up in each, over threads and ranks, and their order. */
#include "launcher/memory/memory.h"
#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/trace/holds.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define LEFT_OUT UINT32_MAX

unsigned int memory_where(enum memory_by by, bool mangled)
{
	return (by != MEMORY_BY_FUNCTION ? MEMWHERE_LINES : 0u) | (by == MEMORY_BY_BLOCK ? MEMWHERE_BLOCKS : 0u) |
	       (mangled ? MEMWHERE_MANGLED : 0u);
}

int memory_check_by(enum memory_by by, const struct sonde_trace *trace, const char *dir)
{
	if (by != MEMORY_BY_BLOCK || holds_order(trace))
		return 0;
	msg_error("%s: blocks were not recorded beside memory accesses; `sonde record --mem --blocks' does", dir);
	return EXIT_USAGE;
}

/* ---- rows ---- */

static void free_row(struct memory_row *row)
{
	if (!row)
		return;
	memory_key_free(&row->key);
	free(row->expression);
	free(row->groups);
	free(row);
}

static int by_key(const void *a, const void *b)
{
	const struct memory_row *x = a, *y = b;

	return memory_key_compare(&x->key, &y->key);
}

static bool append(struct memory_rows *rows, struct memory_row *row)
{
	if (!array_room(rows->v, rows->room, rows->n + 1))
		return false;
	/* until it is printed: its index */
	row->lines = 0;
	row->sum.insn = rows->n;
	rows->v[rows->n++] = row;
	return true;
}

/* The row of a place; NULL: no memory. */
static struct memory_row *row_of(struct memory_rows *rows, const struct memplace *p, enum memory_by by)
{
	struct memory_row *row = calloc(1, sizeof(*row)), **found;

	if (!row || !memory_key_make(&row->key, p, by)) {
		free_row(row);
		return NULL;
	}
	found = tsearch(row, &rows->tree, by_key);
	if (found && *found != row) {
		free_row(row);
		return *found;
	}
	if (found && append(rows, row))
		return row;
	if (found)
		tdelete(row, &rows->tree, by_key);
	free_row(row);
	return NULL;
}

static bool add_groups(struct memprofile_group **to, const struct memprofile_group *from)
{
	if (from && !*to)
		*to = calloc(MEMPROFILE_GROUPS, sizeof(**to));
	if (from && *to)
		memprofile_add_groups(*to, from);
	return !from || *to;
}

static bool add_curves(struct memory_rows *rows, const struct memprofile_curve *from)
{
	if (from && !rows->curves)
		rows->curves = calloc(MEMPROFILE_GROUPS, sizeof(*rows->curves));
	if (from && rows->curves)
		memprofile_add_curves(rows->curves, from);
	return !from || rows->curves;
}

static bool add_insn(struct memory_rows *rows, const struct memprofile_insn *insn,
		     const struct memprofile_group *groups, struct memwhere *where, enum memory_by by,
		     struct select *sel, uint32_t *group)
{
	struct memplace *place = memwhere(where, insn->insn);
	struct memory_row *row;

	*group = LEFT_OUT;
	if (!place)
		return false;
	if (!memwhere_matches(place, sel))
		return true;
	row = row_of(rows, place, by);
	if (!row)
		return false;
	*group = (uint32_t)row->sum.insn;
	if (place->name)
		memory_named_add(&rows->named, place->name, memory_accesses(insn));
	memprofile_add(&row->sum, insn);
	memprofile_add(&rows->total.sum, insn);
	return add_groups(&row->groups, groups) && add_groups(&rows->total.groups, groups);
}

static bool add_footprints(struct memory_rows *rows, struct memprofile *p, uint32_t *group, size_t n)
{
	uint64_t *lines = calloc(rows->n + 1, sizeof(*lines)), all = 0;
	bool good = lines && memprofile_footprint(p, group, lines, rows->n);

	for (size_t i = 0; good && i < rows->n; i++)
		rows->v[i]->lines += lines[i];
	for (size_t i = 0; i < n; i++)
		group[i] = group[i] == LEFT_OUT ? LEFT_OUT : 0;
	good = good && memprofile_footprint(p, group, &all, 1);
	rows->total.lines += all;
	free(lines);
	return good;
}

bool memory_rows_add(struct memory_rows *rows, struct memprofile *p, struct memwhere *where,
		     enum memory_by by, struct select *sel)
{
	const struct memprofile_insn *insn;
	uint32_t *group;
	bool good;
	size_t n = 0;

	while (memprofile_insn(p, n))
		n++;
	group = calloc(n + 1, sizeof(*group));
	good = group != NULL;
	for (size_t i = 0; good && (insn = memprofile_insn(p, i)); i++)
		good = add_insn(rows, insn, memprofile_groups(p, i), where, by, sel, &group[i]);
	good = good && add_footprints(rows, p, group, n) && add_curves(rows, memprofile_curves(p));
	if (memprofile_sampled(p) > rows->looked_at)
		rows->looked_at = memprofile_sampled(p);
	rows->chosen = sel != NULL;
	free(group);
	if (!good)
		msg_error("no memory");
	return good;
}

static void leave(void *row)
{
	(void)row; /* rows->v has it */
}

void memory_rows_free(struct memory_rows *rows)
{
	tdestroy(rows->tree, leave);
	for (size_t i = 0; i < rows->n; i++)
		free_row(rows->v[i]);
	free(rows->v);
	free(rows->total.groups);
	free(rows->curves);
	*rows = (struct memory_rows){ 0 };
}

/* ---- order ---- */

int memory_sort_cache(const char *key)
{
	if (strcmp(key, "misses") == 0)
		return 0;
	return key[0] == 'L' ? key[1] - '1' : -1;
}

/* What is not known comes last. */
static double misses_of(const struct memory_rows *rows, const struct memory_row *row, unsigned int cache)
{
	struct memory_misses m = memory_misses(rows, row, cache);

	return m.known ? m.misses : -1;
}

static double value_of(const struct memory_rows *rows, const struct memory_row *row, const char *key)
{
	const struct memprofile_insn *s = &row->sum;
	int cache = memory_sort_cache(key);

	if (cache >= 0)
		return misses_of(rows, row, (unsigned int)cache);
	switch (key[0]) {
	case 'a':
		return (double)memory_accesses(s);
	case 'l':
		return (double)memory_loads(s);
	case 'r':
		return (double)(s->moves - s->near - s->strided);
	case 'f':
		return (double)row->lines;
	case 's':
		break;
	default:
		return (double)memory_bytes(s);
	}
	switch (key[2]) {
	case 'o':
		return (double)memory_stores(s);
	case 'q':
		return (double)s->near;
	default:
		return (double)s->strided;
	}
}

struct order {
	const struct memory_rows *rows;
	const char *key;
};

static int compare(const void *a, const void *b, void *arg)
{
	const struct memory_row *x = *(struct memory_row *const *)a, *y = *(struct memory_row *const *)b;
	const struct order *o = arg;
	double p = value_of(o->rows, x, o->key), q = value_of(o->rows, y, o->key);

	if (p != q && strcmp(o->key, "name") != 0)
		return p < q ? 1 : -1;
	return by_key(x, y);
}

static int by_name(const void *a, const void *b)
{
	return by_key(*(struct memory_row *const *)a, *(struct memory_row *const *)b);
}

static const char *path_of(const struct memory_row *row)
{
	return row->key.path ? row->key.path : "";
}

/* Equal names stand together, and in them equal files. */
static void find_ambiguous(struct memory_rows *rows)
{
	qsort(rows->v, rows->n, sizeof(struct memory_row *), by_name);
	for (size_t i = 0, end; i < rows->n; i = end) {
		for (end = i + 1; end < rows->n && strcmp(rows->v[i]->key.name, rows->v[end]->key.name) == 0; end++)
			;
		for (size_t k = i; k < end; k++)
			rows->v[k]->ambiguous = strcmp(path_of(rows->v[i]), path_of(rows->v[end - 1])) != 0;
	}
}

void memory_rows_sort(struct memory_rows *rows, const char *key)
{
	struct order order = { rows, key };

	if (rows->n)
		find_ambiguous(rows);
	if (rows->n)
		qsort_r(rows->v, rows->n, sizeof(struct memory_row *), compare, &order);
}
