// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <x86intrin.h>

#include "launcher/args/args.h"
#include "launcher/common/message.h"
#include "launcher/record/describe/objects.h"
#include "launcher/record/recorded.h"
#include "tracefmt/ring.h"
#include "memtrace/pack/files.h"

#define COUNTS (1u << 18) /* functions whose calls can be counted */
#define BLOCK_COUNTS (1u << 20) /* edges between blocks */
#define MAX_REASONS 64
#define MAX_NAMES 64	 /* of a reason: functions that are named */
#define MAX_NAME 512u /* bytes; longer names only count */

uint32_t recorded_counts(const struct record_options *o)
{
	if (o->blocks.n || o->mem_count)
		return BLOCK_COUNTS;
	return o->count_only || o->max_calls || o->budget ? COUNTS : 0;
}

/* ---- options ---- */

static enum select_kind kind_of(const struct inj_object *o)
{
	if (o->is_main)
		return SELECT_PROGRAM;
	return o->is_linker ? SELECT_LINKER : SELECT_LIBRARY;
}

static bool wants(struct select *sel, const struct inj_object *o)
{
	return sel && select_object(sel, o->path, kind_of(o));
}

static bool want_object(void *arg, const struct inj_object *o)
{
	struct recorded *r = arg;
	/* each is asked: they keep what they have seen */
	bool events = wants(r->select, o), memory = wants(r->memory, o), blocks = wants(r->blocks, o), acts = false;

	for (int act = 0; act < RT_ACTS; act++)
		acts |= wants(r->acts[act], o);
	return events || memory || blocks || acts;
}

static bool mark_by(struct select *sel, struct inj_object *o, bool *wanted)
{
	const struct inj_symtab *tab = sel && select_asks_names(sel) ? inj_object_symbols(o) : NULL;

	return !sel || select_mark(sel, o->path, kind_of(o), o->facts, tab, wanted) >= 0;
}

static bool mark(void *arg, struct inj_object *o, const struct inj_marks *m)
{
	struct recorded *r = arg;
	bool done = mark_by(r->select, o, m->events) && mark_by(r->memory, o, m->memory) && mark_by(r->blocks, o, m->blocks);

	for (int act = 0; act < RT_ACTS && done; act++)
		done = mark_by(r->acts[act], o, m->acts[act]);
	return done && args_mark(r->args, o);
}

static const struct inj_values *values_of(void *arg, const struct inj_object *o, uint64_t addr, const char *name)
{
	const struct recorded *r = arg;
	const struct args_function *f = args_of(r->args, o, addr, name);

	return f ? &f->values : NULL;
}

enum tramp_probe_mode recorded_mode(const struct record_options *o)
{
	if (o->blocks.n || o->mem_count)
		return TRAMP_PROBE_BLOCKS;
	if (o->count_only)
		return TRAMP_PROBE_COUNT;
	if (o->budget)
		return TRAMP_PROBE_CHOSEN;
	if (o->min_time)
		return TRAMP_PROBE_TIMED;
	return o->depth || o->max_calls ? TRAMP_PROBE_FILTER : TRAMP_PROBE_RECORD;
}

/* The time-stamp counter's ticks in @ns; two looks at the clocks are exact to some parts in a million. */
static uint64_t ticks_in(uint64_t ns)
{
	struct timespec nap = { .tv_nsec = 5000000 };
	struct tf_clock a, b;

	tf_clock_now(&a);
	nanosleep(&nap, NULL);
	tf_clock_now(&b);
	return (uint64_t)((double)ns * (double)(b.tsc - a.tsc) / (double)(b.mono_ns - a.mono_ns));
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * The counters of some processors (AMD's EPYC) go in steps of 10 ns: within one, readings are the same, or differ by
 * less than it takes to read it.  A step in ticks; 0: it goes as it should.
 */
static uint64_t tsc_step(void)
{
	enum { LOOKS = 2000, LEAST = 4 };
	uint64_t passed[LOOKS], last = __rdtsc();

	for (int i = 0; i < LOOKS; i++) {
		uint64_t now = __rdtsc();

		passed[i] = now - last;
		last = now;
	}
	qsort(passed, LOOKS, sizeof(*passed), by_size);
	return passed[LOOKS / 100] < LEAST ? passed[LOOKS / 2] : 0;
}

/* A call that took less than what can be measured may have taken @ns all the same. */
static uint64_t shortest(uint64_t ns)
{
	uint64_t ticks = ticks_in(ns);

	return ticks > tsc_step() ? ticks : 0;
}

/* NULL: nothing is chosen, or *@status says that something is wrong. */
static struct select *choose(const struct select_options *o, int *status)
{
	char problem[256];
	struct select *sel;

	if (!o->functions.n)
		return NULL;
	sel = select_new(o, problem, sizeof(problem));
	if (!sel) {
		msg_error("%s", problem);
		*status = EXIT_USAGE;
	}
	return sel;
}

static bool chooses(const struct recorded *r)
{
	bool acts = false;

	for (int act = 0; act < RT_ACTS; act++)
		acts |= r->acts[act] != NULL;
	return r->select || r->memory || r->blocks || acts;
}

static void show_progress(void *arg, double share)
{
	struct recorded *r = arg;

	progress_at(&r->progress, share);
}

unsigned int recorded_rungs = TRAMP_MEM_ALL;

int recorded_begin(struct recorded *r, const struct record_options *o, struct inj_mirror_options *m)
{
	struct select_options memory = record_memory_select(o), blocks = record_blocks_select(o);
	int status = 0;

	memset(r, 0, sizeof(*r));
	r->opt = o;
	r->select = choose(&o->select, &status);
	r->memory = choose(&memory, &status);
	r->blocks = choose(&blocks, &status);
	for (int act = 0; act < RT_ACTS; act++) {
		struct select_options sel = record_act_select(o, (enum rt_act)act);

		r->acts[act] = choose(&sel, &status);
	}
	if (status == 0)
		status = args_new(&o->args, &r->args);
	if (status || !chooses(r))
		return status;
	m->values = r->args ? values_of : NULL;
	m->memory.enabled = r->memory != NULL;
	m->memory.stack = !o->mem_no_stack;
	m->memory.blocks = o->trace_blocks && !o->mem_blocks;
	m->memory.fetches = o->mem_blocks;
	m->memory.counted = o->mem_count;
	m->memory.times = o->mem_times;
	m->memory.rungs = recorded_rungs;
	m->memory.sampled = o->sample.burst != 0;
	m->memory.count = m->memory.sampled && o->sample.by == RING_SAMPLE_ACCESSES;
	m->enabled = true;
	m->libraries = true;
	m->first = !o->eager;
	m->mode = recorded_mode(o);
	m->trips = o->count_trips;
	m->under = r->acts[RT_ACT_UNDER] != NULL;
	m->depth = (uint32_t)o->depth;
	m->calls = o->max_calls;
	m->min_ticks = o->min_time ? shortest(o->min_time) : 0;
	m->max_functions = recorded_counts(o);
	m->want_object = want_object;
	m->mark = mark;
	m->progress = show_progress;
	m->arg = r;
	return 0;
}

void recorded_end(struct recorded *r)
{
	perfmap_close(&r->perf);
	select_free(r->select);
	select_free(r->memory);
	select_free(r->blocks);
	r->select = r->memory = r->blocks = NULL;
	args_free(r->args);
	r->args = NULL;
	for (int act = 0; act < RT_ACTS; act++) {
		select_free(r->acts[act]);
		r->acts[act] = NULL;
	}
}

/* ---- the trace ---- */

static struct tf_probe probe_of(const struct inj_session *s, size_t i)
{
	const struct inj_recorded *f = &s->mirrors.v[i];

	return (struct tf_probe){
		.function = { .id = function_id(FUNCTION_RECORDED, i),
			      .name = f->name,
			      .path = s->objects[f->object].file,
			      .address = f->file_addr },
		.entry = s->objects[f->object].base + f->file_addr,
		.event = f->enter,
		.count = f->index,
	};
}

/* One with arguments is described at once. */
static bool publish_values(struct inj_session *s, struct tf_writer *w, size_t i)
{
	const struct inj_recorded *r = &s->mirrors.v[i];
	const struct args_function *f = (const struct args_function *)(const void *)r->values;
	struct tf_probe probe = probe_of(s, i);
	char *demangled = inj_demangle(r->name);
	struct tf_event entered = {
		.id = r->enter, .kind = SONDE_TRACE_ENTER, .function = probe.function.id, .entry = probe.entry,
		.fields = f->entered, .shapes = f->entered_shape, .nfields = f->values.entered.n,
	}, returned = {
		.id = r->leave, .kind = SONDE_TRACE_LEAVE, .function = probe.function.id, .framed = true,
		.fields = f->returned, .shapes = f->returned_shape, .nfields = f->values.returned.n,
	}, left = {
		.id = r->leave + 1, .kind = SONDE_TRACE_LEAVE, .function = probe.function.id, .framed = true,
	};
	enum sonde_trace_status status;

	probe.function.demangled = demangled;
	status = tf_writer_function(w, &probe.function);
	if (status == SONDE_TRACE_OK)
		status = tf_writer_event(w, &entered);
	if (status == SONDE_TRACE_OK)
		status = tf_writer_event(w, &returned);
	if (status == SONDE_TRACE_OK && returned.nfields)
		status = tf_writer_event(w, &left);
	free(demangled);
	return status == SONDE_TRACE_OK;
}

static void publish_probes(struct inj_session *s, struct tf_writer *w)
{
	struct inj_mirrors *m = &s->mirrors;
	struct tf_probe *v = calloc(m->n - m->published + 1, sizeof(*v));
	size_t n = 0;

	for (size_t i = m->published; v && i < m->n; i++) {
		if (m->v[i].state != INJ_RECORDED_OK || !(m->v[i].enter || m->v[i].counters))
			continue;
		objects_publish(s, w, m->v[i].object);
		if (!m->v[i].enter)
			continue;
		if (!m->v[i].values)
			v[n++] = probe_of(s, i);
		else if (!publish_values(s, w, i))
			msg_error("cannot describe the trace: %s", tf_writer_message(w));
	}
	if (!v || tf_writer_probes(w, v, n, inj_demangle) != SONDE_TRACE_OK)
		msg_error("cannot describe the trace: %s", v ? tf_writer_message(w) : "out of memory");
	free(v);
}

/* What the memory streams' reader needs; our copies can go. */
static void publish_memory(struct inj_session *s, struct tf_writer *w)
{
	struct inj_mirrors *m = &s->mirrors;

	for (; m->described_published < m->ndescribed; m->described_published++) {
		const struct inj_described *d = &m->described[m->described_published];
		const struct inj_object *o = &s->objects[d->object];
		struct mt_files_object object = {
			.path = o->file,
			.object = (uint32_t)d->object,
			.base = o->base + d->code_base,
			.load = o->base,
			.first = d->first,
			.nnodes = d->nnodes,
			.nops = d->nops,
			.nodes = d->nodes,
			.ops = d->ops,
		};

		enum sonde_trace_status status = mt_write_object(w, &object);

		if (status == SONDE_TRACE_E_INVALID)
			msg_error("%s: too much code to describe at once; its memory accesses cannot be read", o->file);
		else if (status != SONDE_TRACE_OK)
			msg_error("cannot describe the trace: %s", tf_writer_message(w));
	}
}

static uint64_t count_memory(const struct inj_mirrors *m)
{
	uint64_t n = 0;

	for (size_t i = 0; i < m->n; i++)
		n += m->v[i].state == INJ_RECORDED_OK && m->v[i].memory;
	return n;
}

/* Bytes that belong to no function that could be chosen. */
static uint64_t unknown_code(const struct inj_mirrors *m, const struct record_options *o)
{
	return m->uncovered + (o->select.guess ? 0 : m->guessed);
}

/* What became of the functions that were chosen. */
struct summary {
	uint64_t instrumented;
	struct tf_reason left_alone[MAX_REASONS];
	const char *names[MAX_REASONS][MAX_NAMES];
	size_t n;
};

static void add_left_alone(struct summary *s, const char *text, const char *name)
{
	struct tf_reason *r;
	size_t k = 0;

	while (k < s->n && s->left_alone[k].text != text && strcmp(s->left_alone[k].text, text) != 0)
		k++;
	if (k == MAX_REASONS)
		return;
	s->n = k == s->n ? s->n + 1 : s->n;
	r = &s->left_alone[k];
	r->text = text;
	r->names = s->names[k];
	r->count++;
	if (r->nnames < MAX_NAMES && strlen(name) < MAX_NAME)
		s->names[k][r->nnames++] = name;
}

static void sum_up(const struct inj_mirrors *m, struct summary *s)
{
	for (size_t i = 0; i < m->n; i++) {
		if (m->v[i].state == INJ_RECORDED_OK)
			s->instrumented++;
		else
			add_left_alone(s, inj_recorded_reason(&m->v[i]), m->v[i].name);
	}
}

/* Options as the user wrote them, one string each. */
struct filters {
	char *v[64];
	size_t n;
};

static void add_filter(struct filters *f, const char *option, const char *value)
{
	char *text;

	if (f->n < sizeof(f->v) / sizeof(f->v[0]) && asprintf(&text, "%s%s", option, value) >= 0)
		f->v[f->n++] = text;
}

static void add_list(struct filters *f, const char *option, const struct opt_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		add_filter(f, option, list->v[i]);
}

static void add_number(struct filters *f, const char *option, uint64_t value, const char *unit)
{
	char text[32];

	if (!value)
		return;
	snprintf(text, sizeof(text), "%llu%s", (unsigned long long)value, unit);
	add_filter(f, option, text);
}

static void collect_filters(const struct record_options *o, struct filters *f)
{
	add_list(f, "-F ", &o->select.functions);
	add_list(f, "-N ", &o->select.excluded);
	add_list(f, "--libs=", &o->select.libs);
	add_list(f, o->trace_blocks && !o->mem_blocks ? "--blocks=trace:" : "--mem=", &o->memory);
	if (o->mem_blocks)
		add_filter(f, "--blocks=", "trace");
	add_list(f, o->count_trips ? "--blocks=trips:" : "--blocks=", &o->blocks);
	add_list(f, "--under=", &o->acts[RT_ACT_UNDER]);
	if (o->select.guess)
		add_filter(f, "--guess", "");
	add_number(f, "--min-size=", o->select.min_size, "");
	add_number(f, "--depth=", o->depth, "");
	add_number(f, "--time=", o->min_time, "ns");
	add_number(f, "--threshold-calls=", o->max_calls, "");
}

void recorded_publish(struct inj_session *s, struct tf_writer *w, const struct record_options *o)
{
	struct summary sum = { 0 };
	struct tf_recording about = { .clock = o->count_only ? "none" : "tsc", .left_alone = sum.left_alone };
	struct filters filters = { 0 };

	if (!s->opt.mirror.enabled || (s->mirrors.announced && s->mirrors.published == s->mirrors.n))
		return;
	if (o->mem_describe) {
		objects_places(s, w);
		publish_memory(s, w);
	}
	publish_probes(s, w);
	s->mirrors.published = s->mirrors.n;
	s->mirrors.announced = true;
	about.memory = count_memory(&s->mirrors);
	about.blocks = o->trace_blocks && !o->mem_blocks;
	about.blocks_beside = o->mem_blocks;
	sum_up(&s->mirrors, &sum);
	about.uncalled = s->mirrors.nwaiting;
	about.code = s->mirrors.code;
	about.unknown = unknown_code(&s->mirrors, o);
	about.instrumented = sum.instrumented;
	about.nleft_alone = sum.n;
	collect_filters(o, &filters);
	about.filters = (const char *const *)filters.v;
	about.nfilters = filters.n;
	if (tf_writer_recording(w, &about) != SONDE_TRACE_OK)
		msg_error("cannot describe the trace: %s", tf_writer_message(w));
	for (size_t i = 0; i < filters.n; i++)
		free(filters.v[i]);
}

/* ---- messages ---- */

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

static size_t warn_unmatched(struct recorded *r, bool final)
{
	struct select *all[3 + RT_ACTS] = { r->select, r->memory, r->blocks };
	size_t n = 0;

	memcpy(&all[3], r->acts, sizeof(r->acts));
	for (size_t i = 0; i < 3 + RT_ACTS; i++) {
		for (size_t k = 0; all[i] && k < i; k++)
			if (all[k])
				select_said_libraries(all[i], all[k]);
		n += all[i] ? select_warn(all[i], final) : 0;
	}
	return n;
}

static void say_left_alone(const struct tf_reason *reason)
{
	msg_debug("%llu function%s left alone: %s", (unsigned long long)reason->count, plural(reason->count),
		  reason->text);
	for (size_t i = 0; i < reason->nnames; i++) {
		char *plain = inj_demangle(reason->names[i]);

		msg_debug("left alone: %s", plain ? plain : reason->names[i]);
		free(plain);
	}
}

static void no_libraries(struct select *sel)
{
	if (sel)
		select_no_libraries(sel);
}

/* Who records all functions wants to know what is none. */
static void warn_unknown(const struct recorded *r, const struct inj_mirrors *m)
{
	uint64_t unknown = unknown_code(m, r->opt);

	if (unknown > m->code / INJ_COVERAGE_SHARE)
		msg_warn("%.0f%% of the code belong to no known function, and are not recorded: there are no symbols or unwind tables of "
			 "them%s", 100.0 * (double)unknown / (double)m->code,
			 m->guessed && !r->opt->select.guess ? "; --guess takes more" : "");
}

void recorded_warn(struct recorded *r, const struct inj_session *s)
{
	struct summary sum = { 0 };

	if (r->opt->passed_over)
		msg_warn("nothing is recorded: no program that was executed is like --follow says");
	else if (!chooses(r) && !r->opt->modules.n)
		msg_warn("nothing is recorded: -F PATTERN records calls (-F '*': all), --mem memory accesses, --blocks counts of "
			 "blocks, -m what a module does");
	if (!chooses(r))
		return;
	args_warn(r->args);
	no_libraries(s->opt.is_static ? r->select : NULL);
	no_libraries(s->opt.is_static ? r->memory : NULL);
	no_libraries(s->opt.is_static ? r->blocks : NULL);
	for (int act = 0; act < RT_ACTS; act++)
		no_libraries(s->opt.is_static ? r->acts[act] : NULL);
	sum_up(&s->mirrors, &sum);
	if (warn_unmatched(r, false) == 0 && !sum.instrumented && !s->mirrors.nwaiting && s->mirrors.n)
		msg_warn("none of the %zu function%s chosen can be recorded; `sonde info -v' says why",
			 s->mirrors.n, plural(s->mirrors.n));
	msg_debug("%llu function%s instrumented", (unsigned long long)sum.instrumented,
		  plural(sum.instrumented));
	if (s->mirrors.nwaiting)
		msg_debug("%zu function%s to be instrumented when first called", s->mirrors.nwaiting,
			  plural(s->mirrors.nwaiting));
	for (size_t i = 0; i < sum.n; i++)
		say_left_alone(&sum.left_alone[i]);
	warn_unknown(r, &s->mirrors);
	if ((sum.instrumented || s->mirrors.nwaiting) && s->mirrors.unled)
		msg_warn("events that signals interrupt may be damaged: %u system call%s for signal "
			 "handlers could not be led to Sonde",
			 s->mirrors.unled, plural(s->mirrors.unled));
}

void recorded_warn_late(struct recorded *r)
{
	warn_unmatched(r, true);
}

void recorded_perf_map(struct recorded *r, const struct inj_session *s, pid_t pid)
{
	const struct inj_mirrors *m = &s->mirrors;
	struct perfmap_entry *v;
	size_t n = 0;

	if (!r->opt->perf_map)
		return;
	v = calloc(m->n - r->mapped + 1, sizeof(*v));
	if (v && r->mapped == 0)
		v[n++] = (struct perfmap_entry){ s->runtime, s->runtime_image.size, "[sonde]" };
	for (size_t i = r->mapped; v && i < m->n; i++)
		if (m->v[i].state == INJ_RECORDED_OK)
			v[n++] = (struct perfmap_entry){ m->v[i].mirror, m->v[i].mirror_len,
							 m->v[i].name };
	if (v)
		perfmap_write(&r->perf, pid, v, n);
	r->mapped = m->n;
	free(v);
}
