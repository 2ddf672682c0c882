/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From marks to phases: each thread for itself, one after the other. */
#include "launcher/report/phases/phases.h"
#include "base/array.h"
#include "base/hash.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/report/report-rows.h"
#include "launcher/trace/reading.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#define MODULE "mark"
#define SLOTS 4096u
#define MAX_ROWS 65536u
#define MAX_PATH 4096u

enum mark { NO_MARK, BEGIN, END, VALUE };

/* A phase that is open. */
struct open {
	size_t row;
	uint64_t begin, inner;
};

struct reader {
	struct phases *p;
	const struct phases_request *request;
	struct open open[PHASE_MAX_DEPTH];
	size_t n;
	size_t wanted; /* of these */
	size_t beyond; /* further ones, which were begun and left out */
	const struct sonde_trace_thread *thread;
	struct phase_thread *own; /* its */
};

/* ---- what events say ---- */

static bool has_fields(const struct sonde_trace_site *s, enum mark mark)
{
	if (s->nfields != (mark == VALUE ? 2 : 1) || s->fields[0].type != SONDE_TRACE_STR)
		return false;
	return mark != VALUE || s->fields[1].type == SONDE_TRACE_F64;
}

static enum mark mark_of(const struct sonde_trace_site *s)
{
	enum mark mark = NO_MARK;

	if (s->kind != SONDE_TRACE_POINT || !s->module || strcmp(s->module->name, MODULE) != 0)
		return NO_MARK;
	if (strcmp(s->name, "phase begin") == 0)
		mark = BEGIN;
	else if (strcmp(s->name, "phase end") == 0)
		mark = END;
	else if (strcmp(s->name, "value") == 0)
		mark = VALUE;
	return mark != NO_MARK && has_fields(s, mark) ? mark : NO_MARK;
}

/* ---- rows ---- */

static uint64_t hash(enum phase_kind kind, size_t parent, const char *name, size_t n)
{
	return hash_word(hash_bytes(name, n) ^ hash_word(parent * 2 + (size_t)kind));
}

/* "step/solve"; false: it is too long. */
static bool put_path(const struct phases *p, size_t row, char *path, size_t size)
{
	size_t from = size, n;

	path[--from] = '\0';
	for (; row != PHASE_NONE; row = p->row[row].parent) {
		n = strlen(p->row[row].name);
		if (from < n + 1)
			return false;
		from -= n;
		memcpy(path + from, p->row[row].name, n);
		path[--from] = '/';
	}
	memmove(path, path + from + 1, size - from - 1);
	return true;
}

static bool is_wanted(const struct phases *p, size_t row, const char *pattern)
{
	char path[MAX_PATH];

	return !pattern || fnmatch(pattern, p->row[row].name, 0) == 0 ||
	       (put_path(p, row, path, sizeof(path)) && fnmatch(pattern, path, FNM_PATHNAME) == 0);
}

/* PHASE_NONE: there are too many. */
static size_t find_row(struct reader *rd, enum phase_kind kind, size_t parent, const char *name, size_t n)
{
	struct phases *p = rd->p;
	size_t *first = &p->table[hash(kind, parent, name, n) % SLOTS];
	struct phase_row *r;

	for (size_t i = *first; i; i = p->row[i - 1].next) {
		r = &p->row[i - 1];
		if (r->kind == kind && r->parent == parent && strlen(r->name) == n && memcmp(r->name, name, n) == 0)
			return i - 1;
	}
	if (p->n == MAX_ROWS)
		return PHASE_NONE;
	if (!array_room(p->row, p->room, p->n + 1))
		(void)!report_need(NULL);
	r = &p->row[p->n];
	*r = (struct phase_row){ .kind = kind, .parent = parent, .name = report_need(strndup(name, n)), .min = UINT64_MAX,
				 .next = *first, .depth = parent == PHASE_NONE ? 0 : p->row[parent].depth + 1 };
	*first = ++p->n;
	r->wanted = kind == PHASE && is_wanted(p, p->n - 1, rd->request->pattern);
	return p->n - 1;
}

static struct phase_row *touch(struct reader *rd, size_t row)
{
	struct phase_row *r = &rd->p->row[row];

	if (!r->count++ || r->last_thread != rd->thread->index)
		r->threads++;
	r->last_thread = rd->thread->index;
	return r;
}

/* ---- a thread ---- */

static void begin_stretch(struct stretches *t, uint64_t time)
{
	if (t->n && t->v[t->n - 1].end == time)
		t->n--; /* they are one */
	else if (!array_room(t->v, t->room, t->n + 1))
		(void)!report_need(NULL);
	else
		t->v[t->n].begin = time;
	t->v[t->n++].end = time;
}

static void begin(struct reader *rd, const char *name, size_t n, uint64_t time)
{
	size_t row = PHASE_NONE;

	rd->own->marks = true;
	if (rd->n < PHASE_MAX_DEPTH && !rd->beyond)
		row = find_row(rd, PHASE, rd->n ? rd->open[rd->n - 1].row : PHASE_NONE, name, n);
	if (row == PHASE_NONE) {
		rd->beyond++;
		rd->p->left_out++;
		return;
	}
	touch(rd, row);
	if (rd->p->row[row].wanted && !rd->wanted++)
		begin_stretch(&rd->own->wanted, time);
	rd->open[rd->n++] = (struct open){ row, time, 0 };
}

/* The innermost one. */
static void end_one(struct reader *rd, uint64_t time, bool known)
{
	const struct open *o = &rd->open[--rd->n];
	struct phase_row *r = &rd->p->row[o->row];
	uint64_t passed = time - o->begin;

	r->min = passed < r->min ? passed : r->min;
	r->max = passed > r->max ? passed : r->max;
	r->time += passed;
	r->inner += o->inner;
	r->open += !known;
	if (rd->n)
		rd->open[rd->n - 1].inner += passed;
	if (r->wanted && !--rd->wanted)
		rd->own->wanted.v[rd->own->wanted.n - 1].end = time;
}

static void end(struct reader *rd, const char *name, size_t n, uint64_t time)
{
	size_t i = rd->n;

	/* ends of those that were left out come first, in whatever order */
	if (rd->beyond) {
		rd->beyond--;
		return;
	}
	for (; i; i--) {
		const char *open = rd->p->row[rd->open[i - 1].row].name;

		if (strlen(open) == n && memcmp(open, name, n) == 0)
			break;
	}
	rd->p->strays += !i;
	while (i && rd->n >= i)
		end_one(rd, time, true);
}

static void forget(struct reader *rd, uint64_t time)
{
	rd->beyond = 0;
	while (rd->n)
		end_one(rd, time, false);
}

static void take_value(struct reader *rd, const char *name, size_t n, double value)
{
	size_t row = find_row(rd, PHASE_COUNTER, PHASE_NONE, name, n);
	struct phase_row *r;

	if (row == PHASE_NONE) {
		rd->p->left_out++;
		return;
	}
	r = touch(rd, row);
	r->least = r->count == 1 || value < r->least ? value : r->least;
	r->most = r->count == 1 || value > r->most ? value : r->most;
	r->sum += value;
	r->last = value;
}

static void event(struct reader *rd, const struct sonde_trace_event *ev)
{
	const struct sonde_trace_value *v = ev->values;
	enum mark mark = NO_MARK;
	size_t n;

	if (ev->kind == SONDE_TRACE_LOST) {
		rd->p->lost += ev->lost ? ev->lost : 1;
		forget(rd, ev->time);
	} else if (ev->kind == SONDE_TRACE_POINT && ev->site) {
		mark = mark_of(ev->site);
	}
	if (mark == NO_MARK)
		return;
	n = strnlen(v[0].str, v[0].u); /* it may have zeros */
	if (mark == BEGIN)
		begin(rd, v[0].str, n, ev->time);
	else if (mark == END)
		end(rd, v[0].str, n, ev->time);
	else
		take_value(rd, v[0].str, n, v[1].f);
}

static enum sonde_trace_status read_thread(struct reader *rd, const struct sonde_trace *trace, const struct sonde_trace_thread *t,
					   struct reading *shown)
{
	const struct sonde_trace_event *ev;
	struct sonde_trace_iter *iter;
	enum sonde_trace_status status = sonde_trace_iterate(trace, t->index, &iter);
	uint64_t last = t->first;

	if (status != SONDE_TRACE_OK)
		return status;
	rd->thread = t;
	rd->own = &rd->p->thread[t->index];
	while ((status = sonde_trace_next(iter, &ev)) == SONDE_TRACE_OK) {
		last = ev->time > last ? ev->time : last;
		event(rd, ev);
		reading_event(shown);
	}
	forget(rd, last);
	rd->p->damaged |= sonde_trace_damage(iter, NULL) > 0;
	sonde_trace_iter_free(iter);
	return status == SONDE_TRACE_END ? SONDE_TRACE_OK : status;
}

/* ---- all of them ---- */

static bool has_marks(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_sites(trace); i++)
		if (mark_of(sonde_trace_site(trace, i)) != NO_MARK)
			return true;
	return false;
}

/* The process's first thread comes first, or there is none. */
static void find_owners(struct phases *p, const struct sonde_trace *trace)
{
	const struct sonde_trace_thread *first = NULL;
	size_t n = sonde_trace_threads(trace);

	for (size_t pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < n; i++) {
			const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

			if (t->tid == t->pid)
				first = t;
			if (p->thread[i].marks || t->tid == t->pid)
				p->of[i] = &p->thread[i].wanted;
			else if (first && first->pid == t->pid && first->rank_index == t->rank_index)
				p->of[i] = &p->thread[first->index].wanted;
		}
	}
}

static bool wants(const struct phases_request *q, const struct sonde_trace_thread *t)
{
	return !q->want || q->want(t, q->arg);
}

static int read_threads(struct reader *rd, const struct sonde_trace *trace, const char *dir)
{
	const struct phases_request *q = rd->request;
	enum sonde_trace_status status = SONDE_TRACE_OK;
	size_t n = sonde_trace_threads(trace);
	struct reading shown;

	rd->p->table = report_zeroed(SLOTS, sizeof(*rd->p->table));
	rd->p->thread = report_zeroed(n + 1, sizeof(*rd->p->thread));
	rd->p->of = report_zeroed(n + 1, sizeof(*rd->p->of));
	reading_begin(&shown, false);
	for (size_t i = 0; i < n; i++)
		if (wants(q, sonde_trace_thread(trace, i)))
			reading_expect(&shown, sonde_trace_thread(trace, i));
	for (size_t i = 0; status == SONDE_TRACE_OK && i < n; i++)
		if (wants(q, sonde_trace_thread(trace, i)))
			status = read_thread(rd, trace, sonde_trace_thread(trace, i), &shown);
	reading_end(&shown);
	find_owners(rd->p, trace);
	if (status == SONDE_TRACE_OK)
		return 0;
	msg_error("%s: %s", dir, sonde_trace_strstatus(status));
	return EXIT_USAGE;
}

static int check_found(const struct phases *p, const char *dir, const char *pattern)
{
	bool any = false;

	for (size_t i = 0; i < p->n; i++)
		any |= !pattern || p->row[i].wanted;
	if (any)
		return 0;
	if (!p->n)
		msg_error("%s has no marks: the program made none while it was recorded", dir);
	else
		msg_error("%s has no phase '%s'; 'sonde report --phase' shows all", dir, pattern);
	return EXIT_USAGE;
}

int phases_read(struct phases *p, const struct sonde_trace *trace, const char *dir, const struct phases_request *request)
{
	struct reader rd = { .p = p, .request = request };
	int status;

	*p = (struct phases){ 0 };
	if (has_marks(trace)) {
		status = read_threads(&rd, trace, dir);
	} else {
		msg_error("%s has no marks: have the program make them by sonde/mark.h, and record it with 'sonde -m " MODULE "'", dir);
		status = EXIT_USAGE;
	}
	return status ? status : check_found(p, dir, request->pattern);
}

void phases_free(struct phases *p, const struct sonde_trace *trace)
{
	for (size_t i = 0; i < p->n; i++)
		free(p->row[i].name);
	for (size_t i = 0; p->thread && i < sonde_trace_threads(trace); i++)
		free(p->thread[i].wanted.v);
	free(p->row);
	free(p->table);
	free(p->thread);
	free(p->of);
	*p = (struct phases){ 0 };
}
