/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From events to regions: who was in them, from when to when, in what. */
#include "launcher/report/omp/omp-team.h"
#include "base/array.h"
#include "base/hash.h"
#include "launcher/common/message.h"
#include "launcher/common/options.h"
#include "launcher/report/report-rows.h"
#include "launcher/trace/reading.h"

#include <stdlib.h>
#include <string.h>

#define MAX_CHUNKS (UINT64_C(1) << 22) /* of a loop; with more it is not compared with other schedules */
#define BUCKETS 1024u

enum construct { NONE, PARALLEL, IMPLICIT, LOOP, CHUNK, TASK, WAIT_BARRIER, WAIT_LOCK, WAIT_TASK };

struct frame {
	enum construct what;
	uint64_t begin;
	struct omp_team *team; /* of PARALLEL, IMPLICIT, TASK, LOOP; may be NULL: not known */
	struct omp_place place; /* of TASK */
	size_t loop, loop_part;
	uint64_t first, end; /* of CHUNK */
	uint64_t wait[OMP_WAITS]; /* in it */
	uint64_t own[OMP_WAITS];  /* of that, in no task in it */
	uint64_t inner;		  /* tasks in it */
};

struct thread {
	struct frame *v;
	size_t n, room;
};

struct reader {
	struct omp_report *r;
	const struct sonde_trace *trace;
	uint8_t *construct; /* by function */
	struct thread *threads;
	struct omp_team *bucket[BUCKETS];
};

/* ---- what events say ---- */

static enum construct construct_of(const char *name)
{
	static const struct {
		const char *name;
		enum construct what;
	} list[] = {
		{ "omp parallel", PARALLEL },	    { "omp implicit task", IMPLICIT },	   { "omp loop", LOOP },
		{ "omp chunk", CHUNK },		    { "omp task", TASK },		   { "omp barrier", WAIT_BARRIER },
		{ "omp critical wait", WAIT_LOCK }, { "omp atomic wait", WAIT_LOCK },	   { "omp ordered wait", WAIT_LOCK },
		{ "omp lock wait", WAIT_LOCK },	    { "omp taskwait", WAIT_TASK },	   { "omp taskgroup wait", WAIT_TASK },
		{ "omp reduction", WAIT_BARRIER },
	};

	for (size_t i = 0; i < sizeof(list) / sizeof(list[0]); i++)
		if (strcmp(list[i].name, name) == 0)
			return list[i].what;
	return NONE;
}

static const struct sonde_trace_value *value(const struct sonde_trace_event *ev, const char *name)
{
	for (size_t i = 0; i < ev->nvalues; i++)
		if (strcmp(ev->values[i].name, name) == 0)
			return &ev->values[i];
	return NULL;
}

static uint64_t number(const struct sonde_trace_event *ev, const char *name)
{
	const struct sonde_trace_value *v = value(ev, name);

	return v && v->type != SONDE_TRACE_F64 && v->type != SONDE_TRACE_STR ? v->u : 0;
}

static const char *schedule(const struct sonde_trace_event *ev)
{
	static const char *const names[] = { "static", "dynamic", "guided", "runtime", "auto" };
	const struct sonde_trace_value *v = value(ev, "schedule");

	for (size_t i = 0; v && v->str && i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(names[i], v->str) == 0)
			return names[i];
	return "other";
}

static struct omp_place place(const struct reader *rd, const struct sonde_trace_event *ev)
{
	uint64_t address = number(ev, "code");
	const struct sonde_trace_code *c = sonde_trace_code(rd->trace, ev->thread->rank_index, address);

	if (!c)
		return (struct omp_place){ "", "", 0, "", address };
	return (struct omp_place){ c->function, c->file, c->line, c->path, c->offset };
}

/* ---- open regions ---- */

static struct omp_team **bucket_of(struct reader *rd, size_t rank_index, int pid, uint64_t region)
{
	return &rd->bucket[hash_word(hash_word(region) ^ (uint64_t)pid ^ (uint64_t)rank_index << 32) % BUCKETS];
}

static struct omp_team *find_team(struct reader *rd, const struct sonde_trace_event *ev)
{
	uint64_t region = number(ev, "region");
	struct omp_team *t = *bucket_of(rd, ev->thread->rank_index, ev->thread->pid, region);

	while (t && (t->number != region || t->pid != ev->thread->pid || t->rank_index != ev->thread->rank_index))
		t = t->next;
	return t;
}

static struct omp_team *new_team(struct reader *rd, const struct sonde_trace_event *ev)
{
	struct omp_team *t = report_zeroed(1, sizeof(*t));
	struct omp_team **bucket;

	t->rank_index = ev->thread->rank_index;
	t->pid = ev->thread->pid;
	t->number = number(ev, "region");
	t->place = place(rd, ev);
	t->begin = ev->time;
	bucket = bucket_of(rd, t->rank_index, t->pid, t->number);
	t->next = *bucket;
	*bucket = t;
	return t;
}

static struct omp_part *part_of(struct omp_team *t, size_t thread)
{
	for (size_t i = 0; i < t->nparts; i++)
		if (t->part[i].thread == thread)
			return &t->part[i];
	return NULL;
}

/* It is over, or its end was not recorded. */
static void finish_team(struct reader *rd, struct omp_team *t)
{
	struct omp_team **at = bucket_of(rd, t->rank_index, t->pid, t->number);

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
	if (!t->ended || t->broken) {
		rd->r->unfinished++;
	} else {
		omp_team_add(rd->r, t);
	}
	omp_team_free(t);
}

/* ---- a thread's events ---- */

static struct frame *top(struct thread *th)
{
	return th->n ? &th->v[th->n - 1] : NULL;
}

static struct frame *push(struct thread *th, enum construct what, const struct sonde_trace_event *ev)
{
	if (!array_room(th->v, th->room, th->n + 1))
		th->v = report_need(NULL);
	th->v[th->n] = (struct frame){ .what = what, .begin = ev->time };
	return &th->v[th->n++];
}

static void belong(struct frame *f, struct omp_team *t)
{
	f->team = t;
	if (t)
		t->open++;
}

/* The frame that says in which region the thread is: of the innermost implicit task, or a task outside of it. */
static struct frame *inside(struct thread *th)
{
	for (size_t i = th->n; i-- > 0 && th->v[i].what != PARALLEL;)
		if (th->v[i].what == IMPLICIT)
			return &th->v[i];
	return NULL;
}

static void enter_implicit(struct reader *rd, struct frame *f, const struct sonde_trace_event *ev)
{
	struct omp_team *t = find_team(rd, ev);

	belong(f, t);
	if (!t || part_of(t, ev->thread->index))
		return;
	if (!array_room(t->part, t->parts_room, t->nparts + 1))
		t->part = report_need(NULL);
	t->part[t->nparts++] = (struct omp_part){ .thread = ev->thread->index, .begin = ev->time, .end = ev->time };
}

/* The same loop of all threads of a team is the one that each comes to as its first, second... */
static void enter_loop(struct reader *rd, struct thread *th, struct frame *f, const struct sonde_trace_event *ev)
{
	const struct frame *task = inside(th);
	struct omp_team *t = task ? task->team : NULL;
	struct omp_part *p = t ? part_of(t, ev->thread->index) : NULL;
	struct omp_loop *l;

	if (!p)
		return;
	belong(f, t);
	f->loop = p->loops++;
	if (f->loop == t->nloops) {
		if (!array_room(t->loop, t->loops_room, t->nloops + 1))
			t->loop = report_need(NULL);
		l = &t->loop[t->nloops++];
		*l = (struct omp_loop){ .place = place(rd, ev), .schedule = schedule(ev), .from = (int64_t)number(ev, "from"),
				    .to = (int64_t)number(ev, "to"), .step = (int64_t)number(ev, "step"),
				    .chunk = (int64_t)number(ev, "chunk") };
		l->step = l->step ? l->step : 1;
	}
	l = &t->loop[f->loop];
	f->loop_part = l->nparts;
	if (!array_room(l->part, l->parts_room, l->nparts + 1))
		l->part = report_need(NULL);
	l->part[l->nparts++] = (struct omp_loop_part){ .begin = ev->time, .end = ev->time };
}

static void leave_chunk(struct thread *th, const struct frame *f, uint64_t time)
{
	struct frame *in = top(th);
	struct omp_loop *l;
	struct omp_chunk c;

	if (!in || in->what != LOOP || !in->team)
		return;
	l = &in->team->loop[in->loop];
	l->part[in->loop_part].in_chunks += time - f->begin;
	l->part[in->loop_part].chunks++;
	c.first = omp_steps(l->from, (int64_t)f->first, l->step);
	c.end = c.first + omp_steps((int64_t)f->first, (int64_t)f->end, l->step);
	c.time = omp_less(time - f->begin, f->wait[OMP_LOCKS]);
	l->iterations += c.end - c.first;
	l->too_many |= l->n == MAX_CHUNKS || c.end <= c.first;
	if (l->too_many)
		return;
	if (!array_room(l->v, l->room, l->n + 1))
		l->v = report_need(NULL);
	l->v[l->n++] = c;
}

/* Of all that the thread is in, up to the region. */
static void leave_wait(struct thread *th, enum omp_wait what, uint64_t time)
{
	bool own = true;

	for (size_t i = th->n; i-- > 0 && th->v[i].what != PARALLEL;) {
		struct frame *f = &th->v[i];

		f->wait[what] += time;
		if (own)
			f->own[what] += time;
		own &= f->what != TASK;
		if (f->what == IMPLICIT)
			break;
	}
}

static void leave_task(struct reader *rd, struct thread *th, const struct frame *f, const struct sonde_trace_event *ev)
{
	struct omp_row *row = omp_row(&rd->r->rows, OMP_TASK, &f->place, "", 0);
	uint64_t time = ev->time - f->begin, alone = omp_less(time, f->inner), waited = 0;
	bool outermost = true;
	struct omp_part *p = f->team ? part_of(f->team, ev->thread->index) : NULL;

	for (int w = 0; w < OMP_WAITS; w++) {
		row->wait[w] += f->own[w];
		waited += f->own[w];
	}
	row->count++;
	row->time += time;
	row->team += alone;
	row->work += omp_less(alone, waited);
	row->threads = 1;
	for (size_t i = th->n; i-- > 0 && th->v[i].what != PARALLEL;) {
		if (outermost && th->v[i].what == TASK)
			th->v[i].inner += time;
		if (th->v[i].what == TASK || th->v[i].what == IMPLICIT)
			outermost = false;
	}
	if (!outermost || !p)
		return;
	p->after += time;
	for (int w = 0; w < OMP_WAITS; w++)
		p->after_wait[w] += f->wait[w];
}

static void leave_implicit(const struct frame *f, const struct sonde_trace_event *ev)
{
	struct omp_part *p = f->team ? part_of(f->team, ev->thread->index) : NULL;

	if (!p)
		return;
	p->end = ev->time;
	for (int w = 0; w < OMP_WAITS; w++)
		p->wait[w] += f->wait[w];
}

static void leave_one(struct reader *rd, struct thread *th, const struct sonde_trace_event *ev)
{
	struct frame f = th->v[--th->n];
	uint64_t time = ev->time - f.begin;

	if (f.what >= WAIT_BARRIER)
		leave_wait(th, (enum omp_wait)(f.what - WAIT_BARRIER), time);
	else if (f.what == CHUNK)
		leave_chunk(th, &f, ev->time);
	else if (f.what == TASK)
		leave_task(rd, th, &f, ev);
	else if (f.what == IMPLICIT)
		leave_implicit(&f, ev);
	if (!f.team)
		return;
	if (f.what == LOOP) {
		struct omp_loop_part *p = &f.team->loop[f.loop].part[f.loop_part];

		p->end = ev->time;
		p->wait = f.wait[OMP_BARRIERS] + f.wait[OMP_LOCKS] + f.wait[OMP_TASKS];
	} else if (f.what == PARALLEL) {
		f.team->end = ev->time;
		f.team->ended = true;
	}
	if (!--f.team->open && f.team->ended)
		finish_team(rd, f.team);
}

static void enter(struct reader *rd, struct thread *th, enum construct what, const struct sonde_trace_event *ev)
{
	bool inner = th->n > 0;
	struct frame *f = push(th, what, ev);

	switch (what) {
	case PARALLEL:
		belong(f, new_team(rd, ev));
		f->team->inner = inner;
		break;
	case IMPLICIT:
		enter_implicit(rd, f, ev);
		break;
	case LOOP:
		enter_loop(rd, th, f, ev);
		break;
	case CHUNK:
		f->first = number(ev, "first");
		f->end = number(ev, "end");
		break;
	case TASK:
		belong(f, find_team(rd, ev));
		f->place = place(rd, ev);
		break;
	default:
		break;
	}
}

/* Of several that are left by a jump the innermost comes first. */
static void leave(struct reader *rd, struct thread *th, enum construct what, const struct sonde_trace_event *ev)
{
	size_t n = th->n;

	while (n && th->v[n - 1].what != what)
		n--;
	while (n && th->n >= n)
		leave_one(rd, th, ev);
}

/* What the thread was in is not known any more. */
static void forget(struct reader *rd, struct thread *th)
{
	while (th->n) {
		struct omp_team *t = th->v[--th->n].team;

		if (!t)
			continue;
		t->broken = true;
		if (!--t->open)
			finish_team(rd, t);
	}
}

static void event(struct reader *rd, const struct sonde_trace_event *ev)
{
	struct thread *th = &rd->threads[ev->thread->index];
	enum construct what = ev->function ? rd->construct[ev->function->index] : NONE;

	if (ev->kind == SONDE_TRACE_LOST) {
		rd->r->lost += ev->lost ? ev->lost : 1;
		forget(rd, th);
	} else if (what == NONE) {
		return;
	} else if (ev->kind == SONDE_TRACE_ENTER) {
		enter(rd, th, what, ev);
	} else if (ev->kind == SONDE_TRACE_LEAVE) {
		leave(rd, th, what, ev);
	}
}

/* ---- all of it ---- */

static bool find_constructs(struct reader *rd)
{
	size_t n = sonde_trace_functions(rd->trace);
	bool any = false;

	rd->construct = report_zeroed(n + 1, sizeof(*rd->construct));
	for (size_t i = 0; i < n; i++) {
		rd->construct[i] = (uint8_t)construct_of(sonde_trace_function(rd->trace, i)->name);
		any |= rd->construct[i] != NONE;
	}
	return any;
}

bool omp_recorded(const struct sonde_trace *trace)
{
	for (size_t i = 0; i < sonde_trace_functions(trace); i++)
		if (construct_of(sonde_trace_function(trace, i)->name) != NONE)
			return true;
	return false;
}

static void read_events(struct reader *rd, struct sonde_trace_iter *iter, const struct omp_request *q)
{
	const struct sonde_trace_event *ev;
	struct reading shown;

	reading_begin(&shown, false);
	for (size_t i = 0; i < sonde_trace_threads(rd->trace); i++)
		if (q->want(sonde_trace_thread(rd->trace, i), q->arg))
			reading_expect(&shown, sonde_trace_thread(rd->trace, i));
	while (sonde_trace_next(iter, &ev) == SONDE_TRACE_OK) {
		event(rd, ev);
		reading_event(&shown);
	}
	reading_end(&shown);
}

int omp_read(struct omp_report *r, const struct sonde_trace *trace, const char *dir, const struct omp_request *request)
{
	struct reader rd = { .r = r, .trace = trace };
	struct sonde_trace_iter *iter = NULL;
	int status = 0;

	*r = (struct omp_report){ 0 };
	if (!find_constructs(&rd)) {
		msg_error("%s has nothing of OpenMP: record it with 'sonde -m openmp'", dir);
		status = EXIT_USAGE;
	} else if (sonde_trace_merge(trace, request->want, request->arg, &iter) != SONDE_TRACE_OK) {
		msg_error("%s cannot be read", dir);
		status = EXIT_USAGE;
	}
	rd.threads = report_zeroed(sonde_trace_threads(trace) + 1, sizeof(*rd.threads));
	if (!status)
		read_events(&rd, iter, request);
	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		forget(&rd, &rd.threads[i]);
		free(rd.threads[i].v);
	}
	r->damaged = iter && sonde_trace_damage(iter, NULL) > 0;
	sonde_trace_iter_free(iter);
	free(rd.threads);
	free(rd.construct);
	return status;
}

void omp_report_free(struct omp_report *r)
{
	omp_rows_free(&r->rows);
}
