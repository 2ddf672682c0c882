/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From what threads did in a region to figures: work, waiting and idleness, and loops with other schedules. */
#include "launcher/report/omp/omp-team.h"

#include <stdlib.h>

/* ---- a region that has ended ---- */

static int by_first(const void *a, const void *b)
{
	const struct omp_chunk *x = a, *y = b;

	return (x->first > y->first) - (x->first < y->first);
}

/* In unsigned numbers, which do not overflow. */
uint64_t omp_steps(int64_t from, int64_t to, int64_t step)
{
	uint64_t way = step > 0 ? (uint64_t)to - (uint64_t)from : (uint64_t)from - (uint64_t)to;
	uint64_t size = step > 0 ? (uint64_t)step : -(uint64_t)step;

	return (int64_t)way <= 0 ? 0 : (way - 1) / size + 1;
}

/* Are the chunks all iterations, once? */
static bool whole(struct omp_loop *l)
{
	uint64_t next = 0;

	if (l->too_many || !l->n)
		return false;
	qsort(l->v, l->n, sizeof(*l->v), by_first);
	for (size_t i = 0; i < l->n; next = l->v[i++].end)
		if (l->v[i].first != next)
			return false;
	return next == omp_steps(l->from, l->to, l->step);
}

static void compare(struct omp_row *row, struct omp_loop *l, uint64_t time, uint64_t getting, uint64_t chunks)
{
	double would[OMP_SCHEDULES];

	if (!whole(l))
		return;
	omp_compare(l->v, l->n, (uint32_t)l->nparts, l->chunk > 0 ? (uint64_t)l->chunk : 1, (double)getting / (double)chunks, would);
	row->compared++;
	row->compared_time += time;
	for (int i = 0; i < OMP_SCHEDULES; i++)
		row->would[i] += would[i];
}

/* What one thread did of a row's team. */
static void add_work(struct omp_row *row, uint64_t work, uint64_t *most)
{
	row->work += work;
	*most = work > *most ? work : *most;
}

static void add_loop(struct omp_rows *rows, struct omp_loop *l)
{
	struct omp_row *row = omp_row(rows, OMP_LOOP, &l->place, l->schedule, l->chunk);
	uint64_t begin = UINT64_MAX, end = 0, most = 0, before = row->work, getting = 0, chunks = 0;

	for (size_t i = 0; i < l->nparts; i++) {
		begin = l->part[i].begin < begin ? l->part[i].begin : begin;
		end = l->part[i].end > end ? l->part[i].end : end;
	}
	for (size_t i = 0; i < l->nparts; i++) {
		struct omp_loop_part *p = &l->part[i];

		add_work(row, omp_less(p->end - p->begin, p->wait), &most);
		row->wait[OMP_LOCKS] += p->wait;
		row->idle += p->begin - begin + end - p->end;
		getting += omp_less(p->end - p->begin, p->in_chunks);
		chunks += p->chunks;
	}
	row->count++;
	row->time += end - begin;
	row->team += l->nparts * (end - begin);
	row->most += (double)most;
	row->mean += (double)(row->work - before) / (double)l->nparts;
	row->threads = l->nparts > row->threads ? (uint32_t)l->nparts : row->threads;
	row->chunks += chunks;
	row->iterations += l->iterations;
	compare(row, l, end - begin, getting, chunks);
}

static void add_region(struct omp_report *r, const struct omp_team *t)
{
	struct omp_row *row = omp_row(&r->rows, OMP_REGION, &t->place, "", 0);
	uint64_t time = t->end - t->begin, most = 0, before = row->work;

	for (size_t i = 0; i < t->nparts; i++) {
		const struct omp_part *p = &t->part[i];
		uint64_t within = p->end - p->begin, waited = 0, after_waited = 0;

		for (int w = 0; w < OMP_WAITS; w++) {
			row->wait[w] += p->wait[w] + p->after_wait[w];
			waited += p->wait[w];
			after_waited += p->after_wait[w];
		}
		add_work(row, omp_less(within, waited) + omp_less(p->after, after_waited), &most);
		row->wait[OMP_BARRIERS] += omp_less(omp_less(t->end, p->end), p->after);
		row->idle += omp_less(p->begin, t->begin);
	}
	row->count++;
	row->time += time;
	row->team += t->nparts * time;
	row->most += (double)most;
	row->mean += t->nparts ? (double)(row->work - before) / (double)t->nparts : 0;
	row->threads = t->nparts > row->threads ? (uint32_t)t->nparts : row->threads;
	for (size_t i = 0; i < t->nloops; i++)
		row->chunks += t->loop[i].n;
	if (!t->inner) {
		r->regions++;
		r->time += time;
	}
}

void omp_team_add(struct omp_report *r, struct omp_team *t)
{
	add_region(r, t);
	for (size_t i = 0; i < t->nloops; i++)
		add_loop(&r->rows, &t->loop[i]);
}

void omp_team_free(struct omp_team *t)
{
	for (size_t i = 0; i < t->nloops; i++) {
		free(t->loop[i].part);
		free(t->loop[i].v);
	}
	free(t->loop);
	free(t->part);
	free(t);
}
