/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One row for each place in the program, whatever its address in each process. */
#include "launcher/report/omp/omp.h"
#include "base/array.h"
#include "base/hash.h"
#include "launcher/report/report-rows.h"

#include <stdlib.h>
#include <string.h>

static bool same_place(const struct omp_place *a, const struct omp_place *b)
{
	if (strcmp(a->function, b->function) != 0 || strcmp(a->path, b->path) != 0)
		return false;
	return *a->file ? strcmp(a->file, b->file) == 0 && a->line == b->line : !*b->file && a->offset == b->offset;
}

static bool same(const struct omp_row *r, enum omp_kind kind, const struct omp_place *place, const char *schedule, int64_t chunk)
{
	return r->kind == kind && r->chunk == chunk && strcmp(r->schedule, schedule) == 0 && same_place(&r->place, place);
}

static uint64_t hash(enum omp_kind kind, const struct omp_place *p, const char *schedule, int64_t chunk)
{
	uint64_t h = hash_bytes(p->function, strlen(p->function)) ^ hash_bytes(p->path, strlen(p->path));

	h = hash_word(h ^ (*p->file ? (uint64_t)p->line : p->offset));
	return hash_word(h ^ (uint64_t)chunk ^ (uint64_t)kind << 62 ^ hash_bytes(schedule, strlen(schedule)));
}

struct omp_row *omp_row(struct omp_rows *rows, enum omp_kind kind, const struct omp_place *place, const char *schedule,
			int64_t chunk)
{
	const uint64_t slots = 4096;
	size_t *first;

	if (!rows->table)
		rows->table = report_zeroed(slots, sizeof(*rows->table));
	first = &rows->table[hash(kind, place, schedule, chunk) % slots];
	for (size_t i = *first; i; i = rows->v[i - 1].next)
		if (same(&rows->v[i - 1], kind, place, schedule, chunk))
			return &rows->v[i - 1];
	if (!array_room(rows->v, rows->room, rows->n + 1))
		rows->v = report_need(NULL);
	rows->v[rows->n] = (struct omp_row){ .kind = kind, .place = *place, .schedule = schedule, .chunk = chunk, .next = *first };
	*first = ++rows->n;
	return &rows->v[rows->n - 1];
}

double omp_imbalance(const struct omp_row *row)
{
	return row->mean > 0 ? row->most / row->mean - 1 : 0;
}

void omp_rows_free(struct omp_rows *rows)
{
	free(rows->v);
	free(rows->table);
}
