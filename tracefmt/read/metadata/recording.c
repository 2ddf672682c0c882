/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that say how, and how much of it, was recorded. */
#include <string.h>

#include "tracefmt/read/metadata/line.h"

/* [text, count, name, ...] */
static enum sonde_trace_status read_reason(struct tf_line *r, const json_t *list, struct sonde_trace_reason *to)
{
	const char *text = tf_line_bytes(r, json_array_get(list, 0));
	size_t n = json_array_size(list);
	const char **names;

	if (!text || !tf_line_number_of(json_array_get(list, 1), &to->count))
		return SONDE_TRACE_E_CORRUPT;
	to->text = tf_arena_strdup(&r->t->arena, text);
	to->names = names = tf_arena_alloc(&r->t->arena, n * sizeof *names);
	if (!to->text || !names)
		return SONDE_TRACE_E_NOMEM;
	for (to->nnames = 0; to->nnames + 2 < n; to->nnames++) {
		text = tf_line_bytes(r, json_array_get(list, to->nnames + 2));
		if (!text)
			return SONDE_TRACE_E_CORRUPT;
		names[to->nnames] = tf_arena_strdup(&r->t->arena, text);
		if (!names[to->nnames])
			return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_reasons(struct tf_line *r, struct sonde_trace_recording *to)
{
	const json_t *list = json_object_get(r->line, "left-alone");
	size_t n = json_array_size(list);
	struct sonde_trace_reason *v = tf_arena_alloc(&r->t->arena, (n + 1) * sizeof *v);

	if (!v)
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		enum sonde_trace_status status = read_reason(r, json_array_get(list, i), &v[i]);

		if (status)
			return status;
	}
	to->left_alone = v;
	to->nleft_alone = n;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_recording(struct tf_line *r)
{
	struct sonde_trace_recording *to = tf_arena_alloc(&r->t->arena, sizeof *to);
	enum sonde_trace_status status;

	if (!to)
		return SONDE_TRACE_E_NOMEM;
	to->instrumented = tf_line_number_or_0(r, "instrumented");
	to->uncalled = tf_line_number_or_0(r, "uncalled");
	to->code = tf_line_number_or_0(r, "code");
	to->unknown = tf_line_number_or_0(r, "unknown");
	to->memory = tf_line_number_or_0(r, "memory");
	to->blocks = tf_line_number_or_0(r, "blocks") == 1;
	to->blocks_beside = tf_line_number_or_0(r, "blocks") == 2;
	to->clock = tf_line_str(r, "clock", "");
	to->filters = tf_line_strings(r, "filters", &to->nfilters);
	status = to->clock && to->filters ? read_reasons(r, to) : SONDE_TRACE_E_NOMEM;
	if (!status)
		r->part->pub.recording = to;
	return status;
}

/* Of several the least: what else the machine had to do meanwhile makes it more. */
enum sonde_trace_status tf_read_cost(struct tf_line *r)
{
	const double inside = (double)tf_line_number_or_0(r, "inside") * 1e-3;
	const double outside = (double)tf_line_number_or_0(r, "outside") * 1e-3;
	struct tf_part *part = r->part;

	if (part->measured && inside + outside >= part->inside + part->outside)
		return SONDE_TRACE_OK;
	part->inside = inside;
	part->outside = outside;
	part->measured = true;
	return SONDE_TRACE_OK;
}

/* Millionths. */
static double share_of(const struct tf_line *r, const char *key)
{
	return (double)tf_line_number_or_0(r, key) * 1e-6;
}

enum sonde_trace_status tf_read_sampled(struct tf_line *r)
{
	struct sonde_trace_sampled *to = tf_arena_alloc(&r->t->arena, sizeof *to);

	if (!to)
		return SONDE_TRACE_E_NOMEM;
	*to = (struct sonde_trace_sampled){
		.by = tf_line_str(r, "by", ""),
		.burst = tf_line_number_or_0(r, "burst"),
		.every = tf_line_number_or_0(r, "every"),
		.overhead = share_of(r, "overhead"),
		.bursts = tf_line_number_or_0(r, "bursts"),
		.on = tf_line_number_or_0(r, "on"),
		.lived = tf_line_number_or_0(r, "lived"),
		.on_units = tf_line_number_or_0(r, "on-units"),
		.all_units = tf_line_number_or_0(r, "all-units"),
		.visits = tf_line_number_or_0(r, "visits"),
		.on_cpu_ns = tf_line_number_or_0(r, "on-cpu"),
		.cpu_ns = tf_line_number_or_0(r, "all-cpu"),
		.cost_ns = tf_line_number_or_0(r, "cost"),
		.sonde_ns = tf_line_number_or_0(r, "sonde"),
		.asked_ns = tf_line_number_or_0(r, "asked"),
		.switches = tf_line_number_or_0(r, "switches"),
		.switch_ns = tf_line_number_or_0(r, "switching"),
		.used_ns = tf_line_number_or_0(r, "used"),
		.stay = tf_line_str(r, "stay", NULL),
	};
	if (!to->by)
		return SONDE_TRACE_E_NOMEM;
	r->part->pub.sampled = to;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_flight(struct tf_line *r)
{
	return tf_line_number(r, "bytes", &r->part->pub.flight) ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

enum sonde_trace_status tf_read_max_size(struct tf_line *r)
{
	return tf_line_number(r, "bytes", &r->part->pub.max_size) ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

enum sonde_trace_status tf_read_older(struct tf_line *r)
{
	const char *name = tf_get_file(r);
	struct tf_thread_in *thread = name ? tf_trace_thread(r->t, r->part, name, false) : NULL;
	uint64_t events = tf_line_number_or_0(r, "events");

	r->part->pub.older += events;
	if (thread)
		thread->older += events;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_budget(struct tf_line *r)
{
	struct tf_chosen_in *c = &r->part->chosen;

	c->known = true;
	c->pub.overhead = (double)tf_line_number_or_0(r, "overhead") * 1e-6;
	c->pub.plain_ns = tf_line_number_or_0(r, "plain");
	c->pub.probes_ns = tf_line_number_or_0(r, "probes");
	c->pub.sonde_ns = tf_line_number_or_0(r, "sonde");
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_chosen(struct tf_line *r)
{
	const json_t *list = json_object_get(r->line, "list"), *counted = json_object_get(r->line, "counted");
	uint64_t ticks, id;

	if (!tf_line_number(r, "tsc", &ticks) || !json_is_boolean(counted))
		return SONDE_TRACE_E_CORRUPT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const struct sonde_trace_function *f;

		if (!tf_line_number_of(json_array_get(list, i), &id))
			return SONDE_TRACE_E_CORRUPT;
		f = tf_list_get(&r->part->function, id);
		if (f && !tf_chosen_add(&r->part->chosen, ticks, f, json_is_true(counted)))
			return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_bursts(struct tf_line *r)
{
	const json_t *list = json_object_get(r->line, "list");
	uint64_t ticks, length;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);

		if (!tf_line_number_of(json_array_get(pair, 0), &ticks) || !tf_line_number_of(json_array_get(pair, 1), &length))
			return SONDE_TRACE_E_CORRUPT;
		if (!tf_chosen_burst(&r->part->chosen, ticks, length))
			return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_switch(struct tf_line *r)
{
	const json_t *on = json_object_get(r->line, "on");
	uint64_t ticks;

	if (!tf_line_number(r, "tsc", &ticks) || !json_is_boolean(on))
		return SONDE_TRACE_E_CORRUPT;
	return tf_switches_add(&r->part->switches, ticks, json_is_true(on)) ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}
