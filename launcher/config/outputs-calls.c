/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From calls: how often functions were called, and each call. */
#include "launcher/config/outputs.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/common/message.h"
#include "launcher/dump/dump.h"
#include "runtime/probe.h"

/* ---- which calls ---- */

struct config_open {
	bool wanted, known;
};

bool config_calls_begin(struct config_calls *c, struct config_making *m)
{
	size_t n = sonde_trace_functions(m->trace) + 1;

	*c = (struct config_calls){ .m = m };
	c->count = calloc(n, sizeof(*c->count));
	c->at = calloc(n, sizeof(*c->at));
	c->asked = calloc(n, sizeof(*c->asked));
	return c->count && c->at && c->asked;
}

void config_calls_end(struct config_calls *c)
{
	free(c->count);
	free(c->at);
	free(c->asked);
	free(c->open);
}

/* Before the calls of another thread. */
static void begin_thread(struct config_calls *c)
{
	memset(c->count, 0, (sonde_trace_functions(c->m->trace) + 1) * sizeof(*c->count));
	memset(c->open, 0, c->room * sizeof(*c->open));
}

/* Is the function at the entry's places? */
static bool wants(struct config_calls *c, const struct sonde_trace_function *f)
{
	if (!c->asked[f->index])
		c->at[f->index] = config_holds(c->m->f, c->m->found, f->path, f->address);
	c->asked[f->index] = true;
	return c->at[f->index];
}

static bool compares(double v, enum config_compare how, double with)
{
	switch (how) {
	case CONFIG_LESS:
		return v < with;
	case CONFIG_LESS_EQUAL:
		return v <= with;
	case CONFIG_GREATER:
		return v > with;
	case CONFIG_GREATER_EQUAL:
		return v >= with;
	case CONFIG_EQUAL:
		return v == with;
	case CONFIG_UNEQUAL:
		return v != with;
	case CONFIG_NO_ARGUMENT:
		break;
	}
	return true;
}

/* What has no such argument, or not as a number, is not asked for. */
static bool has_argument(const struct config_when *w, const struct sonde_trace_event *ev)
{
	for (size_t i = 0; i < ev->nvalues; i++) {
		const struct sonde_trace_value *v = &ev->values[i];

		if (strcmp(v->name, w->argument) != 0)
			continue;
		switch (v->type) {
		case SONDE_TRACE_I32:
		case SONDE_TRACE_I64:
			return compares((double)v->i, w->compare, w->value);
		case SONDE_TRACE_F64:
			return compares(v->f, w->compare, w->value);
		case SONDE_TRACE_STR:
			return false;
		default:
			return compares((double)v->u, w->compare, w->value);
		}
	}
	return false;
}

static bool begins_wanted(struct config_calls *c, const struct sonde_trace_event *ev)
{
	const struct config_entry *e = c->m->entry;
	uint64_t n = ++c->count[ev->function->index];

	if (e->when.first && (n < e->when.first || n > e->when.last))
		return false;
	if (e->when.argument && !has_argument(&e->when, ev))
		return false;
	return !e->limit || n <= e->limit;
}

/* Is the event the begin or end of a call that is wanted?  *failed: no memory. */
static bool wants_event(struct config_calls *c, const struct sonde_trace_event *ev, bool *failed)
{
	bool wanted, kind = ev->kind == SONDE_TRACE_ENTER || ev->kind == SONDE_TRACE_LEAVE;

	if (!kind || !ev->function || !wants(c, ev->function))
		return false;
	if (ev->kind == SONDE_TRACE_LEAVE) {
		wanted = ev->depth < c->room && c->open[ev->depth].known && c->open[ev->depth].wanted;
		if (ev->depth < c->room)
			c->open[ev->depth].known = false;
		return wanted;
	}
	wanted = begins_wanted(c, ev);
	if (ev->depth >= c->room) {
		size_t before = c->room;

		if (!array_room(c->open, c->room, (size_t)ev->depth + 1)) {
			*failed = true;
			return false;
		}
		memset(c->open + before, 0, (c->room - before) * sizeof(*c->open));
	}
	c->open[ev->depth] = (struct config_open){ wanted, true };
	return wanted;
}

static int read_thread(struct config_calls *c, size_t thread,
		       bool (*take)(void *arg, const struct sonde_trace_event *ev), void *arg)
{
	const struct sonde_trace_event *ev;
	enum sonde_trace_status status;
	struct sonde_trace_iter *iter;
	bool failed = false;
	const char *damage;

	status = sonde_trace_iterate(c->m->trace, thread, &iter);
	if (status == SONDE_TRACE_OK) {
		while (!failed && (status = sonde_trace_next(iter, &ev)) == SONDE_TRACE_OK)
			if (wants_event(c, ev, &failed))
				failed |= !take(arg, ev);
		if (sonde_trace_damage(iter, &damage))
			msg_warn("%s", damage);
		sonde_trace_iter_free(iter);
	}
	if (failed)
		return config_no_memory();
	return status == SONDE_TRACE_END || status == SONDE_TRACE_OK ? 0 : pick_read_error(status);
}

int config_each_call(struct config_calls *c, bool (*take)(void *arg, const struct sonde_trace_event *ev), void *arg)
{
	int status = 0;

	for (size_t i = 0; !status && i < sonde_trace_threads(c->m->trace); i++) {
		if (!config_wants_thread(c->m, sonde_trace_thread(c->m->trace, i)))
			continue;
		begin_thread(c);
		status = read_thread(c, i, take, arg);
	}
	return status;
}

/* ---- how often ---- */

struct counter {
	uint64_t calls, threads;
	const struct sonde_trace_function *f;
};

struct counters {
	struct counter *v; /* by function */
	uint32_t *last;	   /* by function: the thread that was counted last, from 1 on */
	uint32_t thread;
};

static void add(struct counters *c, const struct sonde_trace_function *f, uint64_t n)
{
	struct counter *v = &c->v[f->index];

	v->f = f;
	v->calls += n;
	v->threads += c->last[f->index] != c->thread;
	c->last[f->index] = c->thread;
}

static bool count_call(void *arg, const struct sonde_trace_event *ev)
{
	struct counters *c = arg;

	c->thread = (uint32_t)ev->thread->index + 1;
	if (ev->kind == SONDE_TRACE_ENTER)
		add(c, ev->function, 1);
	return true;
}

static int by_calls(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls > y->calls ? -1 : 1;
	return x->f && y->f ? strcmp(x->f->demangled, y->f->demangled) : 0;
}

static void print_counters(struct counters *c, size_t n, FILE *out)
{
	qsort(c->v, n, sizeof(*c->v), by_calls);
	if (!n || !c->v[0].calls) {
		fputs("# none of them was called\n", out);
		return;
	}
	fputs("       calls  threads  function\n", out);
	for (size_t i = 0; i < n && c->v[i].calls; i++)
		fprintf(out, "%12" PRIu64 " %8" PRIu64 "  %s\n", c->v[i].calls, c->v[i].threads, c->v[i].f->demangled);
}

/* Calls that were counted without being recorded. */
static void add_counted(struct counters *c, struct config_calls *calls)
{
	const struct sonde_trace *trace = calls->m->trace;

	for (size_t i = 0; i < sonde_trace_threads(trace); i++) {
		const struct sonde_trace_thread *t = sonde_trace_thread(trace, i);

		c->thread = (uint32_t)i + 1;
		for (size_t k = 0; config_wants_thread(calls->m, t) && k < t->ncalls; k++)
			if (wants(calls, t->calls[k].function))
				add(c, t->calls[k].function, t->calls[k].calls);
	}
}

static int count_calls(struct config_calls *calls, struct config_making *m)
{
	size_t n = sonde_trace_functions(m->trace);
	struct counters c = { calloc(n + 1, sizeof(*c.v)), calloc(n + 1, sizeof(*c.last)), 0 };
	int status = c.v && c.last ? config_each_call(calls, count_call, &c) : config_no_memory();

	if (!status) {
		add_counted(&c, calls);
		print_counters(&c, n, m->out);
	}
	free(c.v);
	free(c.last);
	return status;
}

/* ---- each ---- */

struct listing {
	struct config_making *m;
	struct dump_style style;
	struct tf_buf line;
	bool any;
};

bool config_wants_argument(const struct config_entry *e, const char *name)
{
	for (size_t i = 0; i < e->arguments.n; i++)
		if (strcmp(e->arguments.v[i], name) == 0)
			return true;
	return !e->arguments.n;
}

static bool print_call(void *arg, const struct sonde_trace_event *ev)
{
	struct listing *l = arg;
	struct sonde_trace_value values[RT_VALUES];
	struct sonde_trace_event some = *ev;

	/* of more there is no telling what a module's own events have */
	if (l->m->entry->arguments.n && ev->nvalues <= RT_VALUES) {
		some.nvalues = 0;
		some.values = values;
		for (size_t i = 0; i < ev->nvalues; i++)
			if (config_wants_argument(l->m->entry, ev->values[i].name))
				values[some.nvalues++] = ev->values[i];
	}
	tf_buf_clear(&l->line);
	dump_text(&l->line, &l->style, l->m->trace, &some);
	fwrite(l->line.data, 1, l->line.size, l->m->out);
	l->any = true;
	return !l->line.failed;
}

static int list_calls(struct config_calls *calls, struct config_making *m)
{
	struct listing l = { .m = m, .style = dump_style(m->trace) };
	int status = config_each_call(calls, print_call, &l);

	if (!status && !l.any)
		fputs("# no such call was made\n", m->out);
	tf_buf_free(&l.line);
	return status;
}

int config_make_calls(struct config_making *m)
{
	struct config_calls calls;
	int status = config_calls_begin(&calls, m) ? 0 : config_no_memory();

	if (!status)
		status = m->entry->type == CONFIG_INVOCATION_COUNTER ? count_calls(&calls, m) : list_calls(&calls, m);
	config_calls_end(&calls);
	return status;
}
