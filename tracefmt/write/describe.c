/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the trace says about modules, functions, events, counters and processes. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <x86intrin.h>
#include <xxhash.h>

#include "base/array.h"
#include "tracefmt/json.h"
#include "tracefmt/write/codes.h"
#include "tracefmt/write/writer-internal.h"

static enum sonde_trace_status no_memory(struct tf_writer *w)
{
	tf_writer_no_memory(w);
	return tf_writer_result(w);
}

static bool grow(struct tf_table *t, uint32_t id)
{
	uint32_t room = t->room;

	if (!array_room(t->v, t->room, (size_t)id + 1))
		return false;
	memset(t->v + room, 0, (t->room - room) * sizeof *t->v);
	return true;
}

/* Takes back the line that has been made. */
static enum sonde_trace_status drop_line(struct tf_writer *w, enum sonde_trace_status status)
{
	tf_buf_clear(&w->line);
	return status;
}

/*
 * What to do with the line, given what is known of the same thing: write it (OK), nothing, for
 * it says what was said before (END), or refuse (E_INVALID).
 */
static enum sonde_trace_status compare(struct tf_writer *w, struct tf_known *known)
{
	uint64_t hash;

	if (w->line.failed)
		return SONDE_TRACE_E_NOMEM;
	hash = XXH64(w->line.data, w->line.size, 0) | 1;
	if (known->hash & 1)
		return known->hash == hash ? SONDE_TRACE_END : SONDE_TRACE_E_INVALID;
	known->hash = hash;
	return SONDE_TRACE_OK;
}

/* The end of all of them: compares the line with what is known, and writes it. */
static enum sonde_trace_status settle(struct tf_writer *w, struct tf_known *known)
{
	enum sonde_trace_status status = compare(w, known);

	switch (status) {
	case SONDE_TRACE_OK:
		tf_writer_line(w);
		return tf_writer_result(w);
	case SONDE_TRACE_END:
		return drop_line(w, SONDE_TRACE_OK);
	case SONDE_TRACE_E_NOMEM:
		drop_line(w, status);
		return no_memory(w);
	default:
		return drop_line(w, status);
	}
}

/* Number of the module, or UINT32_MAX. */
static uint32_t find_module(const struct tf_writer *w, const char *name)
{
	for (uint32_t i = 0; i < w->nmodules; i++)
		if (!strcmp(w->module_names[i], name))
			return i;
	return UINT32_MAX;
}

/* Returns its number, or UINT32_MAX: no memory. */
static uint32_t add_module(struct tf_writer *w, const char *name)
{
	char **names = realloc(w->module_names, (w->nmodules + 1) * sizeof *names);
	struct tf_known *modules;

	if (!names)
		return UINT32_MAX;
	w->module_names = names;
	modules = realloc(w->modules, (w->nmodules + 1) * sizeof *modules);
	if (!modules)
		return UINT32_MAX;
	w->modules = modules;
	modules[w->nmodules] = (struct tf_known){ 0 };
	names[w->nmodules] = strdup(name);
	return names[w->nmodules] ? w->nmodules++ : UINT32_MAX;
}

enum sonde_trace_status tf_writer_module(struct tf_writer *w, const char *name,
					 const char *description, const char *path)
{
	uint32_t i;

	if (!name)
		return SONDE_TRACE_E_INVALID;
	i = find_module(w, name);
	if (i == UINT32_MAX)
		i = add_module(w, name);
	if (i == UINT32_MAX)
		return no_memory(w);
	tf_json_begin(&w->line, "module");
	tf_json_str(&w->line, "name", name);
	tf_json_str(&w->line, "description", description ? description : "");
	tf_json_str(&w->line, "path", path ? path : "");
	tf_json_end(&w->line);
	return settle(w, &w->modules[i]);
}

enum sonde_trace_status tf_writer_object(struct tf_writer *w, const struct tf_object *object)
{
	struct tf_buf *line = &w->line;

	if (object->id >= TF_MAX_IDS || !object->path)
		return SONDE_TRACE_E_INVALID;
	if (!grow(&w->objects, object->id))
		return no_memory(w);
	tf_json_begin(line, "object");
	tf_json_uint(line, "id", object->id);
	tf_json_str(line, "path", object->path);
	if (*object->build_id)
		tf_json_str(line, "build-id", object->build_id);
	tf_json_uint(line, "code", object->code);
	tf_json_end(line);
	return settle(w, &w->objects.v[object->id]);
}

bool tf_writer_announce(struct tf_writer *w, uint32_t function)
{
	if (!grow(&w->functions, function))
		return false;
	if (!w->functions.v[function].hash)
		w->functions.v[function].hash = TF_ANNOUNCED;
	return true;
}

enum sonde_trace_status tf_writer_function(struct tf_writer *w, const struct tf_function *function)
{
	struct tf_buf *line = &w->line;

	if (function->id >= TF_MAX_FUNCTIONS || !function->name)
		return SONDE_TRACE_E_INVALID;
	if (!grow(&w->functions, function->id))
		return no_memory(w);
	tf_json_begin(line, "function");
	tf_json_uint(line, "id", function->id);
	tf_json_str(line, "name", function->name);
	if (function->demangled && strcmp(function->demangled, function->name))
		tf_json_str(line, "demangled", function->demangled);
	tf_json_str(line, "path", function->path);
	if (function->address)
		tf_json_uint(line, "address", function->address);
	tf_json_end(line);
	return settle(w, &w->functions.v[function->id]);
}

static bool function_known(const struct tf_writer *w, uint32_t id)
{
	return id < w->functions.room && w->functions.v[id].hash;
}

static bool shape_valid(const struct tf_event *event, size_t i)
{
	const struct tf_shape *shape = event->shapes ? &event->shapes[i] : NULL;

	if (!shape)
		return true;
	if (shape->nlabels > TF_MAX_LABELS || (shape->nlabels && event->fields[i].type != SONDE_TRACE_I64))
		return false;
	return shape->width <= 4 && shape->width != 3 && (event->fields[i].type != SONDE_TRACE_F64 || !(shape->width % 4));
}

static bool event_valid(const struct tf_writer *w, const struct tf_event *event)
{
	if (event->id < TF_FIRST_EVENT || event->id >= TF_MAX_IDS ||
	    event->nfields > TF_MAX_FIELDS || !function_known(w, event->function) ||
	    (tf_sites_known(&w->sites, event->id) && w->sites.more[event->id].probe))
		return false;
	if ((event->module && find_module(w, event->module) == UINT32_MAX) ||
	    (event->framed && event->kind != SONDE_TRACE_LEAVE))
		return false;
	for (size_t i = 0; i < event->nfields; i++)
		if (event->fields[i].type < SONDE_TRACE_I32 ||
		    event->fields[i].type > SONDE_TRACE_APART || !event->fields[i].name ||
		    !shape_valid(event, i))
			return false;
	return event->kind >= SONDE_TRACE_ENTER && event->kind <= SONDE_TRACE_POINT;
}

static void put_labels(struct tf_buf *line, const struct tf_shape *f)
{
	for (size_t i = 0; i < f->nlabels; i++) {
		tf_buf_str(line, i ? ",[" : ",[[");
		tf_json_signed(line, f->labels[i].value);
		tf_buf_byte(line, ',');
		tf_json_quoted(line, f->labels[i].name);
		tf_buf_byte(line, ']');
	}
	if (f->nlabels)
		tf_buf_byte(line, ']');
}

static void put_event(struct tf_buf *line, const struct tf_event *event)
{
	static const char *const kind[] = { "", "enter", "leave", "point" };

	tf_json_begin(line, "event");
	tf_json_uint(line, "id", event->id);
	tf_json_str(line, "kind", kind[event->kind]);
	tf_json_uint(line, "function", event->function);
	tf_json_str(line, "module", event->module);
	tf_json_str(line, "name", event->name);
	if (event->nfields) {
		tf_json_key(line, "fields");
		for (size_t i = 0; i < event->nfields; i++) {
			tf_buf_str(line, i ? ",[" : "[[");
			tf_json_quoted(line, event->fields[i].name);
			tf_buf_byte(line, ',');
			tf_json_quoted(line, sonde_trace_type_name(event->fields[i].type));
			if (event->shapes)
				put_labels(line, &event->shapes[i]);
			tf_buf_byte(line, ']');
		}
		tf_buf_byte(line, ']');
	}
	tf_json_end(line);
}

/* "code", and for the callers of that "code2" to "code9". */
static bool is_code(const struct tf_field *field)
{
	const char *name = field->name;

	return field->type == SONDE_TRACE_PTR && strncmp(name, "code", 4) == 0 && (!name[4] || (name[4] >= '2' && name[4] <= '9' && !name[5]));
}

/* Which of its values are addresses of code: the first, and how many are beside it; none, or no memory to note any: 0. */
static void code_values(struct tf_sites *s, const struct tf_event *event, struct tf_site *site)
{
	uint8_t n = 0;

	site->code = site->codes = 0;
	for (size_t i = 0; i < event->nfields && event->fields[i].type != SONDE_TRACE_STR; i++) {
		n += event->fields[i].type < SONDE_TRACE_WAIT;
		if (is_code(&event->fields[i]) && !site->code)
			site->code = n;
		if (site->code && n == site->code + site->codes && is_code(&event->fields[i]))
			site->codes++;
	}
	if (site->code && !s->codes)
		s->codes = calloc(1, sizeof *s->codes);
	if (!s->codes)
		site->code = site->codes = 0;
}

enum sonde_trace_status tf_writer_event(struct tf_writer *w, const struct tf_event *event)
{
	uint8_t types[TF_MAX_FIELDS], widths[TF_MAX_FIELDS];
	uint32_t module = 0;
	unsigned n = 0;

	if (!event_valid(w, event))
		return SONDE_TRACE_E_INVALID;
	if (!grow(&w->events, event->id))
		return no_memory(w);
	put_event(&w->line, event);
	if (w->events.v[event->id].hash || w->line.failed)
		return settle(w, &w->events.v[event->id]);
	if (event->module)
		module = 1 + find_module(w, event->module);
	for (size_t i = 0; i < event->nfields; i++)
		if (event->fields[i].type < SONDE_TRACE_WAIT) {
			widths[n] = event->shapes ? event->shapes[i].width : 0;
			types[n++] = (uint8_t)event->fields[i].type;
		}
	if (tf_sites_add(&w->sites, event->id, event->kind, event->function, module, types, n,
			 &w->functions.v[event->function].head)) {
		drop_line(w, SONDE_TRACE_E_NOMEM);
		return no_memory(w);
	}
	for (unsigned i = 0; i < n; i++) {
		w->sites.more[event->id].widths[i] = widths[i];
		w->sites.site[event->id].narrow |= widths[i] != 0;
	}
	w->sites.site[event->id].depth = event->depth;
	w->sites.more[event->id].entry = event->entry;
	w->sites.site[event->id].framed |= event->framed;
	code_values(&w->sites, event, &w->sites.site[event->id]);
	w->sites.site[event->id].exchange = tf_exchange_event(&w->sites, event);
	return settle(w, &w->events.v[event->id]);
}

uint64_t *tf_writer_codes(const struct tf_writer *w, size_t *n)
{
	const struct tf_codes *c = w->sites.codes;
	uint64_t *v = c ? malloc((c->n + 1) * sizeof *v) : NULL;

	*n = 0;
	for (size_t i = 0; v && i < 2 * TF_CODES_MAX; i++)
		if (c->slot[i])
			v[(*n)++] = c->slot[i];
	return v;
}

enum sonde_trace_status tf_writer_code(struct tf_writer *w, const struct tf_code *code)
{
	struct tf_buf *line = &w->line;

	tf_json_begin(line, "code");
	tf_json_uint(line, "address", code->address);
	tf_json_str(line, "path", code->path);
	tf_json_uint(line, "offset", code->offset);
	tf_json_str(line, "function", code->function);
	if (code->file) {
		tf_json_str(line, "file", code->file);
		tf_json_int(line, "line", code->line);
	}
	tf_json_end(line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_counter(struct tf_writer *w, const struct tf_counter *counter)
{
	struct tf_buf *line = &w->line;

	if (counter->id >= RING_COUNTERS || !counter->name ||
	    (counter->function >= 0 && (counter->function >= TF_MAX_FUNCTIONS ||
					!function_known(w, (uint32_t)counter->function))) ||
	    (counter->module && find_module(w, counter->module) == UINT32_MAX))
		return SONDE_TRACE_E_INVALID;
	if (!grow(&w->counters, counter->id))
		return no_memory(w);
	tf_json_begin(line, "counter");
	tf_json_uint(line, "id", counter->id);
	tf_json_str(line, "name", counter->name);
	if (counter->function >= 0)
		tf_json_int(line, "function", counter->function);
	tf_json_str(line, "module", counter->module);
	tf_json_end(line);
	return settle(w, &w->counters.v[counter->id]);
}

static void put_reasons(struct tf_buf *line, const struct tf_recording *r)
{
	tf_json_key(line, "left-alone");
	tf_buf_byte(line, '[');
	for (size_t i = 0; i < r->nleft_alone; i++) {
		tf_buf_str(line, i ? ",[" : "[");
		tf_json_quoted(line, r->left_alone[i].text ? r->left_alone[i].text : "");
		tf_buf_byte(line, ',');
		tf_json_number(line, r->left_alone[i].count);
		for (size_t k = 0; k < r->left_alone[i].nnames; k++) {
			tf_buf_byte(line, ',');
			tf_json_quoted(line, r->left_alone[i].names[k]);
		}
		tf_buf_byte(line, ']');
	}
	tf_buf_byte(line, ']');
}

enum sonde_trace_status tf_writer_recording(struct tf_writer *w, const struct tf_recording *r)
{
	struct tf_buf *line = &w->line;

	tf_json_begin(line, "recording");
	tf_json_str(line, "clock", r->clock);
	tf_json_uint(line, "instrumented", r->instrumented);
	if (r->uncalled)
		tf_json_uint(line, "uncalled", r->uncalled);
	if (r->code) {
		tf_json_uint(line, "code", r->code);
		tf_json_uint(line, "unknown", r->unknown);
	}
	if (r->memory)
		tf_json_uint(line, "memory", r->memory);
	if (r->blocks || r->blocks_beside)
		tf_json_uint(line, "blocks", r->blocks ? 1 : 2);
	put_reasons(line, r);
	tf_json_key(line, "filters");
	tf_buf_byte(line, '[');
	for (size_t i = 0; i < r->nfilters; i++) {
		if (i)
			tf_buf_byte(line, ',');
		tf_json_quoted(line, r->filters[i] ? r->filters[i] : "");
	}
	tf_buf_byte(line, ']');
	tf_json_end(line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

static void put_now(struct tf_buf *line)
{
	tf_json_uint(line, "tsc", __rdtsc());
}

enum sonde_trace_status tf_writer_process(struct tf_writer *w, int pid, int parent,
					  const char *comm)
{
	tf_json_begin(&w->line, "process");
	tf_json_int(&w->line, "pid", pid);
	if (parent > 0)
		tf_json_int(&w->line, "parent", parent);
	tf_json_str(&w->line, "comm", comm);
	put_now(&w->line);
	tf_json_end(&w->line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

/* In thousandths of a tick. */
enum sonde_trace_status tf_writer_cost(struct tf_writer *w, const struct tf_cost *cost)
{
	tf_json_begin(&w->line, "cost");
	tf_json_uint(&w->line, "inside", (uint64_t)(cost->inside * 1e3 + 0.5));
	tf_json_uint(&w->line, "outside", (uint64_t)(cost->outside * 1e3 + 0.5));
	tf_json_end(&w->line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_sampled(struct tf_writer *w, const struct sonde_trace_sampled *s)
{
	struct tf_buf *line = &w->line;

	tf_json_begin(line, "sampled");
	tf_json_str(line, "by", s->by);
	if (s->every) {
		tf_json_uint(line, "burst", s->burst);
		tf_json_uint(line, "every", s->every);
	}
	if (s->overhead > 0)
		tf_json_uint(line, "overhead", (uint64_t)(s->overhead * 1e6 + 0.5));
	tf_json_uint(line, "bursts", s->bursts);
	tf_json_uint(line, "on", s->on);
	tf_json_uint(line, "lived", s->lived);
	if (s->all_units) {
		tf_json_uint(line, "on-units", s->on_units);
		tf_json_uint(line, "all-units", s->all_units);
	}
	if (s->visits)
		tf_json_uint(line, "visits", s->visits);
	if (s->cpu_ns) {
		tf_json_uint(line, "on-cpu", s->on_cpu_ns);
		tf_json_uint(line, "all-cpu", s->cpu_ns);
	}
	if (s->cost_ns) {
		tf_json_uint(line, "cost", s->cost_ns);
		tf_json_uint(line, "sonde", s->sonde_ns);
		tf_json_uint(line, "asked", s->asked_ns);
	}
	if (s->switches) {
		tf_json_uint(line, "switches", s->switches);
		tf_json_uint(line, "switching", s->switch_ns);
		tf_json_uint(line, "used", s->used_ns);
	}
	if (s->stay)
		tf_json_str(line, "stay", s->stay);
	tf_json_end(line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_process_end(struct tf_writer *w, int pid, int status)
{
	tf_json_begin(&w->line, "process-end");
	tf_json_int(&w->line, "pid", pid);
	if (WIFSIGNALED(status))
		tf_json_int(&w->line, "signal", WTERMSIG(status));
	else
		tf_json_int(&w->line, "exit", WEXITSTATUS(status));
	put_now(&w->line);
	tf_json_end(&w->line);
	tf_writer_line(w);
	return tf_writer_result(w);
}

enum sonde_trace_status tf_writer_exec(struct tf_writer *w, const struct tf_exec *exec)
{
	struct tf_buf *line = &w->line;

	if (exec->pid <= 0 || !exec->path || exec->number < 0 || !exec->number == !exec->left_alone)
		return SONDE_TRACE_E_INVALID;
	tf_json_begin(line, "exec");
	tf_json_int(line, "pid", exec->pid);
	tf_json_uint(line, "tsc", exec->tsc);
	tf_json_str(line, "path", exec->path);
	if (exec->args)
		tf_writer_args(line, exec->args);
	if (exec->number)
		tf_json_int(line, "number", exec->number);
	tf_json_str(line, "left-alone", exec->left_alone);
	tf_json_end(line);
	tf_writer_line(w);
	return tf_writer_result(w);
}
