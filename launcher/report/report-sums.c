/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/report/report-sums.h"

#include <stdlib.h>

void report_sums_init(struct report_sums *s, const struct report_rows *rows)
{
	*s = (struct report_sums){
		.rows = rows,
		.row = report_zeroed(rows->n, sizeof(*s->row)),
		.amount = report_zeroed(rows->nslots, sizeof(*s->amount)),
		.seen = report_zeroed(rows->n, sizeof(*s->seen)),
	};
}

void report_sums_free(struct report_sums *s)
{
	free(s->row);
	free(s->amount);
	free(s->seen);
	*s = (struct report_sums){ 0 };
}

void report_sums_clear(struct report_sums *s)
{
	const struct report_rows *rows = s->rows;

	for (size_t i = 0; i < s->nseen; i++) {
		uint32_t row = s->seen[i];

		s->row[row] = (struct report_stats){ 0 };
		for (uint32_t k = rows->row[row].slots; k != REPORT_NO_SLOT; k = rows->slots[k].next)
			s->amount[k] = 0;
	}
	s->nseen = 0;
}

void report_durations_add(struct report_durations *to, const struct report_durations *more)
{
	if (!more->n)
		return;
	if (!to->n || more->min < to->min)
		to->min = more->min;
	if (more->max > to->max)
		to->max = more->max;
	to->n += more->n;
	to->sum += more->sum;
}

static void add_stats(struct report_stats *to, const struct report_stats *from, size_t process, int rank)
{
	to->calls += from->calls;
	to->unwound += from->unwound;
	to->open += from->open;
	to->orphans += from->orphans;
	to->total += from->total;
	to->self += from->self;
	to->wait += from->wait;
	to->blocked += from->blocked;
	to->preempted += from->preempted;
	for (size_t i = 0; i < COUNTERS; i++)
		to->counted[i] += from->counted[i];
	to->estimated |= from->estimated;
	to->variance += from->variance;
	report_durations_add(&to->ended, &from->ended);
	report_durations_add(&to->unended, &from->unended);
	to->threads++;
	if (!to->processes || to->last_process != process)
		to->processes++;
	to->last_process = process;
	if (!to->ranks || to->last_rank != rank)
		to->ranks++;
	to->last_rank = rank;
}

void report_sums_add(struct report_sums *to, const struct report_sums *thread, size_t process, int rank)
{
	const struct report_rows *rows = to->rows;

	for (size_t i = 0; i < thread->nseen; i++) {
		uint32_t row = thread->seen[i];

		add_stats(report_sums_row(to, row), &thread->row[row], process, rank);
		for (uint32_t k = rows->row[row].slots; k != REPORT_NO_SLOT; k = rows->slots[k].next)
			to->amount[k] += thread->amount[k];
	}
}
