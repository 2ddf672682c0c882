/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines of processes and threads. */
#include <stdlib.h>
#include <string.h>

#include "tracefmt/read/metadata/line.h"

static struct tf_process_in *find_process(struct tf_line *r, int pid)
{
	struct tf_process_in *p;

	for (size_t i = r->t->processes.n; i-- > 0;) {
		p = r->t->processes.v[i];
		if (p->pub.rank_index != r->part->pub.index)
			break;
		if (p->pub.pid == pid)
			return p;
	}
	p = tf_arena_alloc(&r->t->arena, sizeof *p);
	if (!p || !tf_list_add(&r->t->processes, p))
		return NULL;
	p->pub = (struct sonde_trace_process){ .rank_index = r->part->pub.index, .pid = pid, .comm = "" };
	return p;
}

enum sonde_trace_status tf_read_process(struct tf_line *r)
{
	struct tf_process_in *p;
	int pid;

	if (!tf_line_int(r, "pid", &pid))
		return SONDE_TRACE_E_CORRUPT;
	p = find_process(r, pid);
	if (!p)
		return SONDE_TRACE_E_NOMEM;
	tf_line_int(r, "parent", &p->pub.parent);
	if (!p->start)
		p->start = tf_line_number_or_0(r, "tsc");
	p->pub.comm = tf_line_str(r, "comm", p->pub.comm);
	return p->pub.comm ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

enum sonde_trace_status tf_read_process_end(struct tf_line *r)
{
	struct tf_process_in *p;
	int pid;

	if (!tf_line_int(r, "pid", &pid))
		return SONDE_TRACE_E_CORRUPT;
	p = find_process(r, pid);
	if (!p)
		return SONDE_TRACE_E_NOMEM;
	p->end = tf_line_number_or_0(r, "tsc");
	p->pub.ended = tf_line_int(r, "exit", &p->pub.exit_status);
	p->pub.ended |= tf_line_int(r, "signal", &p->pub.signal);
	return p->pub.ended ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

enum sonde_trace_status tf_read_exec(struct tf_line *r)
{
	struct tf_exec_in *e = tf_arena_alloc(&r->t->arena, sizeof *e);

	if (!e)
		return SONDE_TRACE_E_NOMEM;
	if (!tf_line_int(r, "pid", &e->pub.pid) || e->pub.pid <= 0 || !tf_line_number(r, "tsc", &e->ticks) ||
	    json_array_size(json_object_get(r->line, "args")) > TF_LINE_ARGS)
		return SONDE_TRACE_E_CORRUPT;
	if (json_object_get(r->line, "number") && (!tf_line_int(r, "number", &e->number) || e->number <= 0))
		return SONDE_TRACE_E_CORRUPT;
	e->pub.index = r->t->execs.n;
	e->pub.rank_index = r->part->pub.index;
	e->pub.path = tf_line_str(r, "path", "");
	e->pub.left_alone = e->number ? "" : tf_line_str(r, "left-alone", "not known");
	e->pub.args = tf_line_strings(r, "args", &e->pub.nargs);
	return e->pub.path && e->pub.left_alone && e->pub.args && tf_list_add(&r->t->execs, e) ?
		       SONDE_TRACE_OK :
		       SONDE_TRACE_E_NOMEM;
}

/* Only names of files in the directory itself. */
const char *tf_get_file(struct tf_line *r)
{
	const char *name = tf_line_bytes(r, json_object_get(r->line, "file"));

	return name && *name && *name != '.' && !strchr(name, '/') ? name : NULL;
}

enum sonde_trace_status tf_read_thread(struct tf_line *r)
{
	const char *name = tf_get_file(r);
	struct tf_thread_in *thread;
	int pid, tid;

	if (!name || !tf_line_int(r, "pid", &pid) || !tf_line_int(r, "tid", &tid) ||
	    tf_trace_thread(r->t, r->part, name, false))
		return SONDE_TRACE_E_CORRUPT;
	thread = tf_trace_thread(r->t, r->part, name, true);
	if (!thread)
		return SONDE_TRACE_E_NOMEM;
	thread->pub.pid = pid;
	thread->pub.tid = tid;
	thread->pub.comm = tf_line_str(r, "comm", "");
	return thread->pub.comm ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_counts(struct tf_line *r, struct tf_thread_in *thread)
{
	const json_t *list = json_object_get(r->line, "counters");
	size_t n = json_array_size(list);

	if (n > RING_COUNTERS)
		return SONDE_TRACE_E_CORRUPT;
	thread->pub.counts = thread->counts =
		tf_arena_alloc(&r->t->arena, (n + 1) * sizeof *thread->counts);
	if (!thread->counts)
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i);
		struct sonde_trace_counter *counter;
		uint64_t id, value;

		if (!tf_line_number_of(json_array_get(pair, 0), &id) ||
		    !tf_line_number_of(json_array_get(pair, 1), &value))
			return SONDE_TRACE_E_CORRUPT;
		counter = tf_list_get(&r->part->counter, id);
		if (!counter || !value)
			continue;
		counter->total += value;
		thread->counts[thread->pub.ncounts++] =
			(struct sonde_trace_count){ counter, value };
	}
	return SONDE_TRACE_OK;
}

static bool grow_calls(struct tf_thread_in *thread, size_t n)
{
	size_t room = thread->pub.ncalls + n;
	struct sonde_trace_calls *v;

	if (room <= thread->room_calls)
		return true;
	room += room / 2;
	v = realloc(thread->calls, room * sizeof *v);
	if (!v)
		return false;
	thread->pub.calls = thread->calls = v;
	thread->room_calls = room;
	return true;
}

/* Before the thread's end; a long list is several lines. */
enum sonde_trace_status tf_read_calls(struct tf_line *r)
{
	const json_t *list = json_object_get(r->line, "list");
	size_t n = json_array_size(list);
	const char *name = tf_get_file(r);
	struct tf_thread_in *thread = name ? tf_trace_thread(r->t, r->part, name, false) : NULL;

	if (!thread || thread->pub.ended)
		return SONDE_TRACE_E_CORRUPT;
	if (!grow_calls(thread, n))
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i);
		struct sonde_trace_calls one = { 0 };
		uint64_t id;

		if (!tf_line_number_of(json_array_get(pair, 0), &id) ||
		    !tf_line_number_of(json_array_get(pair, 1), &one.calls))
			return SONDE_TRACE_E_CORRUPT;
		one.function = tf_list_get(&r->part->function, id);
		if (one.function && one.calls)
			thread->calls[thread->pub.ncalls++] = one;
	}
	return SONDE_TRACE_OK;
}

static bool read_thread_sampled(struct tf_line *r, struct tf_thread_in *thread)
{
	struct sonde_trace_thread_sampled *to;

	if (!json_object_get(r->line, "bursts"))
		return true;
	to = tf_arena_alloc(&r->t->arena, sizeof *to);
	if (!to)
		return false;
	*to = (struct sonde_trace_thread_sampled){
		.bursts = tf_line_number_or_0(r, "bursts"),
		.on_units = tf_line_number_or_0(r, "on-units"),
		.all_units = tf_line_number_or_0(r, "all-units"),
	};
	thread->pub.sampled = to;
	return true;
}

enum sonde_trace_status tf_read_thread_end(struct tf_line *r)
{
	const char *name = tf_get_file(r);
	struct tf_thread_in *thread = name ? tf_trace_thread(r->t, r->part, name, false) :
					     NULL;

	if (!thread || thread->pub.ended)
		return SONDE_TRACE_E_CORRUPT;
	thread->pub.lost = tf_line_number_or_0(r, "lost");
	thread->pub.nested = tf_line_number_or_0(r, "nested");
	thread->pub.damaged = tf_line_number_or_0(r, "damaged");
	thread->pub.backward = tf_line_number_or_0(r, "backward");
	thread->pub.memory_lost = tf_line_number_or_0(r, "memory-lost");
	thread->stated = tf_line_number_or_0(r, "events");
	thread->pub.ended = true;
	thread->pub.comm = tf_line_str(r, "comm", thread->pub.comm);
	if (!thread->pub.comm || !read_thread_sampled(r, thread))
		return SONDE_TRACE_E_NOMEM;
	return read_counts(r, thread);
}
