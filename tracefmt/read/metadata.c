/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading the metadata of one directory: one function per type of line.  Each returns OK, or
 * E_CORRUPT when the line makes no sense (it is then counted and left out), or E_NOMEM.
 */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "tracefmt/write/encode.h"
#include "tracefmt/json.h"
#include "tracefmt/ring.h"
#include "tracefmt/read/labels.h"
#include "tracefmt/read/trace-internal.h"

#define MAX_FUNCTIONS (1u << 24)
#define MAX_ARGS 65536

struct reader {
	struct sonde_trace *t;
	struct tf_part *part;
	const json_t *line;
	char *scratch; /* room for the longest string of the line, turned into bytes */
	struct sonde_trace_message *why;
	bool first;
};

typedef enum sonde_trace_status (*line_fn)(struct reader *r);

/* --- members ----------------------------------------------------------------------------- */

static bool number_of(const json_t *v, uint64_t *out)
{
	char *end;

	if (json_is_integer(v) && json_integer_value(v) >= 0) {
		*out = (uint64_t)json_integer_value(v);
		return true;
	}
	if (!json_is_string(v) || *json_string_value(v) < '0' || *json_string_value(v) > '9')
		return false;
	errno = 0;
	*out = strtoull(json_string_value(v), &end, 10);
	return !errno && !*end;
}

static bool get_number(const struct reader *r, const char *key, uint64_t *out)
{
	return number_of(json_object_get(r->line, key), out);
}

static uint64_t number_or_0(const struct reader *r, const char *key)
{
	uint64_t v = 0;

	return get_number(r, key, &v) ? v : 0;
}

static bool get_int(const struct reader *r, const char *key, int *out)
{
	const json_t *v = json_object_get(r->line, key);

	if (!json_is_integer(v) || json_integer_value(v) < INT_MIN ||
	    json_integer_value(v) > INT_MAX)
		return false;
	*out = (int)json_integer_value(v);
	return true;
}

static int positive_or_0(const struct reader *r, const char *key)
{
	int v = 0;

	return get_int(r, key, &v) && v > 0 ? v : 0;
}

/*
 * The string as bytes: characters U+F700..U+F7FF (EF 9C 80 to EF 9F BF) stand for one byte
 * each.  Valid until the next call; NULL if it is no string, or no memory.
 */
static const char *bytes_of(struct reader *r, const json_t *v)
{
	const unsigned char *s;
	char *to;

	if (!json_is_string(v))
		return NULL;
	to = realloc(r->scratch, json_string_length(v) + 1);
	if (!to)
		return NULL;
	r->scratch = to;
	for (s = (const unsigned char *)json_string_value(v); *s; s++) {
		if (s[0] == 0xef && s[1] >= 0x9c && s[1] <= 0x9f) {
			*to++ = (char)((s[1] & 3) << 6 | (s[2] & 0x3f));
			s += 2;
		} else {
			*to++ = (char)*s;
		}
	}
	*to = '\0';
	return r->scratch;
}

/* The member as a string of the trace's own; @otherwise if it is not there; NULL: no memory. */
static const char *get_str(struct reader *r, const char *key, const char *otherwise)
{
	const json_t *v = json_object_get(r->line, key);
	const char *s;

	if (!json_is_string(v))
		return otherwise;
	s = bytes_of(r, v);
	return s ? tf_arena_strdup(&r->t->arena, s) : NULL;
}

/* The array @key of strings; what is none in it reads as "". */
static const char *const *get_strings(struct reader *r, const char *key, size_t *n)
{
	const json_t *list = json_object_get(r->line, key);
	const char **v;

	*n = json_array_size(list);
	v = tf_arena_alloc(&r->t->arena, (*n + 1) * sizeof *v);
	for (size_t i = 0; v && i < *n; i++) {
		const char *s = bytes_of(r, json_array_get(list, i));

		v[i] = tf_arena_strdup(&r->t->arena, s ? s : "");
		if (!v[i])
			return NULL;
	}
	return v;
}

/* --- lines ------------------------------------------------------------------------------- */

static enum sonde_trace_status add_point(struct reader *r)
{
	uint64_t tsc, mono;

	if (!get_number(r, "tsc", &tsc) || !get_number(r, "mono", &mono))
		return SONDE_TRACE_E_CORRUPT;
	return tf_timeline_add(&r->part->timeline, tsc, mono) ? SONDE_TRACE_OK :
								SONDE_TRACE_E_NOMEM;
}

/* Times of this process's time-stamp counter, and of that of another node. */
static enum sonde_trace_status read_exchange(struct reader *r)
{
	struct tf_part *part = r->part;
	struct tf_exchange x;

	if (!get_int(r, "round", &x.round) || !get_int(r, "rank", &x.rank) || !get_number(r, "sent", &x.sent) ||
	    !get_number(r, "arrived", &x.arrived) || !get_number(r, "answered", &x.answered) ||
	    !get_number(r, "returned", &x.returned) || !tf_exchange_valid(&x))
		return SONDE_TRACE_E_CORRUPT;
	if (!array_room(part->exchange, part->room_exchanges, part->nexchanges + 1))
		return SONDE_TRACE_E_NOMEM;
	part->exchange[part->nexchanges++] = x;
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_args(struct reader *r)
{
	const char *const *v;
	size_t n;

	if (json_array_size(json_object_get(r->line, "args")) > MAX_ARGS)
		return SONDE_TRACE_E_CORRUPT;
	v = get_strings(r, "args", &n);
	if (!v)
		return SONDE_TRACE_E_NOMEM;
	r->part->pub.args = v;
	r->part->pub.nargs = n;
	return SONDE_TRACE_OK;
}

static void explain(struct reader *r, const char *text)
{
	snprintf(r->why->text, sizeof r->why->text, "%.400s/metadata: %s", r->part->pub.dir, text);
}

static void read_caches(struct reader *r, uint64_t *caches)
{
	const json_t *list = json_object_get(r->line, "caches");

	for (size_t i = 0; i < SONDE_TRACE_CACHES; i++)
		if (!number_of(json_array_get(list, i), &caches[i]) || !caches[i])
			return;
}

static enum sonde_trace_status read_trace(struct reader *r)
{
	struct sonde_trace_rank *rank = &r->part->pub;
	const char *id = json_string_value(json_object_get(r->line, "id"));
	uint64_t format;

	if (!r->first || !get_number(r, "format", &format))
		return SONDE_TRACE_E_CORRUPT;
	if (format < 1 || format > TF_VERSION) {
		explain(r, "written in a format that this version of Sonde does not know");
		return SONDE_TRACE_E_VERSION;
	}
	rank->version = get_str(r, "version", "");
	rank->program = get_str(r, "program", "");
	rank->host = get_str(r, "host", "");
	r->part->boot = get_str(r, "boot", "");
	if (!rank->version || !rank->program || !rank->host || !r->part->boot)
		return SONDE_TRACE_E_NOMEM;
	r->part->id = id ? strtoull(id, NULL, 16) : 0;
	if (!get_int(r, "rank", &rank->rank) || rank->rank < -1)
		return SONDE_TRACE_E_CORRUPT;
	rank->pid = positive_or_0(r, "pid");
	rank->parent = positive_or_0(r, "parent");
	rank->start_real_ns = number_or_0(r, "real");
	r->part->start_mono = number_or_0(r, "mono");
	read_caches(r, rank->caches);
	if (rank->start_real_ns > INT64_MAX || r->part->start_mono > INT64_MAX)
		return SONDE_TRACE_E_CORRUPT;
	if (add_point(r) || !r->part->timeline.n)
		return SONDE_TRACE_E_CORRUPT;
	return read_args(r);
}

static enum sonde_trace_status read_module(struct reader *r)
{
	const char *name = get_str(r, "name", "");
	struct sonde_trace_module *m = name ? tf_trace_module(r->t, name) : NULL;

	if (!m)
		return SONDE_TRACE_E_NOMEM;
	if (!*m->path)
		m->path = get_str(r, "path", "");
	if (!*m->description)
		m->description = get_str(r, "description", "");
	return m->path && m->description ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_object(struct reader *r)
{
	struct sonde_trace_object *o = tf_arena_alloc(&r->t->arena, sizeof *o);
	uint64_t id;

	if (!o)
		return SONDE_TRACE_E_NOMEM;
	o->path = get_str(r, "path", "");
	o->build_id = get_str(r, "build-id", "");
	if (!o->path || !o->build_id)
		return SONDE_TRACE_E_NOMEM;
	if (!*o->path || !get_number(r, "id", &id) || id >= TF_MAX_IDS || !get_number(r, "code", &o->code) ||
	    tf_list_get(&r->part->object, id))
		return SONDE_TRACE_E_CORRUPT;
	o->id = (uint32_t)id;
	o->index = r->t->objects.n;
	o->rank_index = r->part->pub.index;
	return tf_list_set(&r->part->object, id, o) && tf_list_add(&r->t->objects, o) ? SONDE_TRACE_OK :
											 SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_code(struct reader *r)
{
	struct sonde_trace_code *c = tf_arena_alloc(&r->t->arena, sizeof *c);
	uint64_t line = number_or_0(r, "line");

	if (!c)
		return SONDE_TRACE_E_NOMEM;
	c->path = get_str(r, "path", "");
	c->function = get_str(r, "function", "");
	c->file = get_str(r, "file", "");
	if (!c->path || !c->function || !c->file)
		return SONDE_TRACE_E_NOMEM;
	if (!get_number(r, "address", &c->address) || !get_number(r, "offset", &c->offset) || line > INT_MAX)
		return SONDE_TRACE_E_CORRUPT;
	c->line = (int)line;
	return tf_list_add(&r->part->code, c) ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_function(struct reader *r)
{
	const char *name = get_str(r, "name", NULL), *path = get_str(r, "path", "");
	const char *demangled = get_str(r, "demangled", NULL);
	struct sonde_trace_function *f;
	uint64_t id;

	if (!name || !get_number(r, "id", &id) || id >= MAX_FUNCTIONS)
		return SONDE_TRACE_E_CORRUPT;
	f = path ? tf_trace_function(r->t, name, path) : NULL;
	if (!f || !tf_list_set(&r->part->function, id, f))
		return SONDE_TRACE_E_NOMEM;
	if (demangled && f->demangled == f->name)
		f->demangled = demangled;
	if (!f->address)
		f->address = number_or_0(r, "address");
	return SONDE_TRACE_OK;
}

/* --- functions that probes record -------------------------------------------------------- */

static bool add_probe_site(struct reader *r, uint64_t id, enum sonde_trace_kind kind,
			   const struct sonde_trace_function *f)
{
	static const struct sonde_trace_field no_fields;
	struct sonde_trace_site *site = tf_arena_alloc(&r->t->arena, sizeof *site);

	if (!site)
		return false;
	*site = (struct sonde_trace_site){ .id = (uint32_t)id, .kind = kind, .function = f,
					   .name = "", .fields = &no_fields };
	return tf_list_set(&r->part->site, id, site) && tf_list_add(&r->t->sites, site);
}

/* [function id, enter event, "name", address], and "demangled" where it differs. */
static enum sonde_trace_status read_probe(struct reader *r, const json_t *probe, const char *path)
{
	const json_t *demangled = json_array_get(probe, 4);
	const char *name = bytes_of(r, json_array_get(probe, 2));
	struct sonde_trace_function *f;
	uint64_t id, event, address;

	if (!name || !number_of(json_array_get(probe, 0), &id) || id >= MAX_FUNCTIONS ||
	    !number_of(json_array_get(probe, 1), &event) || event >= TF_MAX_IDS - 1 ||
	    !number_of(json_array_get(probe, 3), &address) ||
	    tf_list_get(&r->part->site, event) || tf_list_get(&r->part->site, event + 1))
		return SONDE_TRACE_E_CORRUPT;
	f = tf_trace_function(r->t, name, path);
	if (!f || !tf_list_set(&r->part->function, id, f))
		return SONDE_TRACE_E_NOMEM;
	if (!f->address)
		f->address = address;
	if (json_is_string(demangled) && f->demangled == f->name) {
		name = bytes_of(r, demangled);
		f->demangled = name ? tf_arena_strdup(&r->t->arena, name) : NULL;
	}
	return f->demangled && add_probe_site(r, event, SONDE_TRACE_ENTER, f) &&
			       add_probe_site(r, event + 1, SONDE_TRACE_LEAVE, f) ?
		       SONDE_TRACE_OK :
		       SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_functions(struct reader *r)
{
	const json_t *list = json_object_get(r->line, "list");
	const char *path = get_str(r, "path", "");
	enum sonde_trace_status status = SONDE_TRACE_OK;

	if (!path)
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0, n = json_array_size(list); i < n && !status; i++)
		status = read_probe(r, json_array_get(list, i), path);
	return status;
}

/* [text, count, name, ...] */
static enum sonde_trace_status read_reason(struct reader *r, const json_t *list, struct sonde_trace_reason *to)
{
	const char *text = bytes_of(r, json_array_get(list, 0));
	size_t n = json_array_size(list);
	const char **names;

	if (!text || !number_of(json_array_get(list, 1), &to->count))
		return SONDE_TRACE_E_CORRUPT;
	to->text = tf_arena_strdup(&r->t->arena, text);
	to->names = names = tf_arena_alloc(&r->t->arena, n * sizeof *names);
	if (!to->text || !names)
		return SONDE_TRACE_E_NOMEM;
	for (to->nnames = 0; to->nnames + 2 < n; to->nnames++) {
		text = bytes_of(r, json_array_get(list, to->nnames + 2));
		if (!text)
			return SONDE_TRACE_E_CORRUPT;
		names[to->nnames] = tf_arena_strdup(&r->t->arena, text);
		if (!names[to->nnames])
			return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_reasons(struct reader *r, struct sonde_trace_recording *to)
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

static enum sonde_trace_status read_recording(struct reader *r)
{
	struct sonde_trace_recording *to = tf_arena_alloc(&r->t->arena, sizeof *to);
	enum sonde_trace_status status;

	if (!to)
		return SONDE_TRACE_E_NOMEM;
	to->instrumented = number_or_0(r, "instrumented");
	to->uncalled = number_or_0(r, "uncalled");
	to->memory = number_or_0(r, "memory");
	to->blocks = number_or_0(r, "blocks") == 1;
	to->blocks_beside = number_or_0(r, "blocks") == 2;
	to->clock = get_str(r, "clock", "");
	to->filters = get_strings(r, "filters", &to->nfilters);
	status = to->clock && to->filters ? read_reasons(r, to) : SONDE_TRACE_E_NOMEM;
	if (!status)
		r->part->pub.recording = to;
	return status;
}

/* More than one is an average. */
static enum sonde_trace_status read_cost(struct reader *r)
{
	struct tf_part *part = r->part;

	part->inside += (double)number_or_0(r, "inside") * 1e-3;
	part->outside += (double)number_or_0(r, "outside") * 1e-3;
	part->ncosts++;
	return SONDE_TRACE_OK;
}

/* Millionths. */
static double share_of(const struct reader *r, const char *key)
{
	return (double)number_or_0(r, key) * 1e-6;
}

static enum sonde_trace_status read_sampled(struct reader *r)
{
	struct sonde_trace_sampled *to = tf_arena_alloc(&r->t->arena, sizeof *to);

	if (!to)
		return SONDE_TRACE_E_NOMEM;
	*to = (struct sonde_trace_sampled){
		.by = get_str(r, "by", ""),
		.burst = number_or_0(r, "burst"),
		.every = number_or_0(r, "every"),
		.overhead = share_of(r, "overhead"),
		.bursts = number_or_0(r, "bursts"),
		.on = number_or_0(r, "on"),
		.lived = number_or_0(r, "lived"),
		.on_units = number_or_0(r, "on-units"),
		.all_units = number_or_0(r, "all-units"),
		.visits = number_or_0(r, "visits"),
		.on_cpu_ns = number_or_0(r, "on-cpu"),
		.cpu_ns = number_or_0(r, "all-cpu"),
		.cost_ns = number_or_0(r, "cost"),
		.sonde_ns = number_or_0(r, "sonde"),
	};
	if (!to->by)
		return SONDE_TRACE_E_NOMEM;
	r->part->pub.sampled = to;
	return SONDE_TRACE_OK;
}

/* --- events ------------------------------------------------------------------------------ */

static enum sonde_trace_type type_of(const char *name)
{
	int type = SONDE_TRACE_I32;

	while (type <= SONDE_TRACE_APART && strcmp(sonde_trace_type_name(type), name))
		type++;
	return type;
}

/* A field without a value: it is about the time of the call.  Waiting of no class is called "wait". */
static enum sonde_trace_status read_mark(struct reader *r, struct sonde_trace_site *site,
					 enum sonde_trace_type type, const char *name)
{
	if (type == SONDE_TRACE_APART)
		site->apart = true;
	else
		site->waits = true;
	site->time_class = strcmp(name, "wait") ? tf_arena_strdup(&r->t->arena, name) : "";
	return site->time_class ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static const char *label_name(void *arg, const json_t *name)
{
	return bytes_of(arg, name);
}

/* A field of which some values have names. */
static enum sonde_trace_status read_labels(struct reader *r, struct sonde_trace_field *to, const json_t *list)
{
	if (!list)
		return SONDE_TRACE_OK;
	if (to->type != SONDE_TRACE_I64)
		return SONDE_TRACE_E_CORRUPT;
	to->type = SONDE_TRACE_STR;
	return tf_labels_read(&r->t->arena, list, label_name, r, &to->labels);
}

static enum sonde_trace_status read_fields(struct reader *r, struct sonde_trace_site *site)
{
	const json_t *list = json_object_get(r->line, "fields");
	size_t n = json_array_size(list);
	struct sonde_trace_field *fields;

	if (n > TF_MAX_VALUES)
		return SONDE_TRACE_E_CORRUPT;
	site->fields = fields = tf_arena_alloc(&r->t->arena, (n + 1) * sizeof *fields);
	if (!fields)
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *field = json_array_get(list, i);
		const char *type_name = json_string_value(json_array_get(field, 1));
		const char *name = bytes_of(r, json_array_get(field, 0));
		enum sonde_trace_type type = type_name ? type_of(type_name) : SONDE_TRACE_APART + 1;
		struct sonde_trace_field *to = &fields[site->nfields];
		enum sonde_trace_status status;

		if (!name || type > SONDE_TRACE_APART)
			return SONDE_TRACE_E_CORRUPT;
		if (type >= SONDE_TRACE_WAIT) {
			status = read_mark(r, site, type, name);
			if (status)
				return status;
			continue;
		}
		to->type = type;
		to->name = tf_arena_strdup(&r->t->arena, name);
		if (!to->name)
			return SONDE_TRACE_E_NOMEM;
		status = read_labels(r, to, json_array_get(field, 2));
		if (status)
			return status;
		site->nfields++;
	}
	return SONDE_TRACE_OK;
}

static int kind_of(const char *name)
{
	static const char *const kinds[] = { "enter", "leave", "point" };

	for (int i = 0; name && i < 3; i++)
		if (!strcmp(kinds[i], name))
			return SONDE_TRACE_ENTER + i;
	return 0;
}

/* The module that the line names, in *@out, or NULL there.  False: no memory. */
static bool get_module(struct reader *r, const struct sonde_trace_module **out)
{
	const char *name = get_str(r, "module", NULL);

	*out = name ? tf_trace_module(r->t, name) : NULL;
	return !name || *out;
}

static enum sonde_trace_status read_event(struct reader *r)
{
	struct sonde_trace_site *site = tf_arena_alloc(&r->t->arena, sizeof *site);
	uint64_t id, function;
	int kind = kind_of(json_string_value(json_object_get(r->line, "kind")));
	enum sonde_trace_status status;

	if (!site)
		return SONDE_TRACE_E_NOMEM;
	if (!kind || !get_number(r, "id", &id) || id >= TF_MAX_IDS ||
	    !get_number(r, "function", &function) || tf_list_get(&r->part->site, id))
		return SONDE_TRACE_E_CORRUPT;
	site->id = (uint32_t)id;
	site->kind = (enum sonde_trace_kind)kind;
	site->function = tf_list_get(&r->part->function, function);
	if (!site->function)
		return SONDE_TRACE_E_CORRUPT;
	status = read_fields(r, site);
	if (status)
		return status;
	site->name = get_str(r, "name", "");
	if (!site->name || !get_module(r, &site->module) ||
	    !tf_list_set(&r->part->site, id, site) || !tf_list_add(&r->t->sites, site))
		return SONDE_TRACE_E_NOMEM;
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_counter(struct reader *r)
{
	const char *name = get_str(r, "name", NULL);
	const struct sonde_trace_function *function = NULL;
	const struct sonde_trace_module *module;
	struct sonde_trace_counter *counter;
	uint64_t id, f;

	if (!name || !get_number(r, "id", &id) || id >= RING_COUNTERS)
		return SONDE_TRACE_E_CORRUPT;
	if (get_number(r, "function", &f))
		function = tf_list_get(&r->part->function, f);
	if (!get_module(r, &module))
		return SONDE_TRACE_E_NOMEM;
	counter = tf_trace_counter(r->t, name, function, module);
	return counter && tf_list_set(&r->part->counter, id, counter) ? SONDE_TRACE_OK :
									SONDE_TRACE_E_NOMEM;
}

static struct tf_process_in *find_process(struct reader *r, int pid)
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

static enum sonde_trace_status read_process(struct reader *r)
{
	struct tf_process_in *p;
	int pid;

	if (!get_int(r, "pid", &pid))
		return SONDE_TRACE_E_CORRUPT;
	p = find_process(r, pid);
	if (!p)
		return SONDE_TRACE_E_NOMEM;
	get_int(r, "parent", &p->pub.parent);
	if (!p->start)
		p->start = number_or_0(r, "tsc");
	p->pub.comm = get_str(r, "comm", p->pub.comm);
	return p->pub.comm ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_process_end(struct reader *r)
{
	struct tf_process_in *p;
	int pid;

	if (!get_int(r, "pid", &pid))
		return SONDE_TRACE_E_CORRUPT;
	p = find_process(r, pid);
	if (!p)
		return SONDE_TRACE_E_NOMEM;
	p->end = number_or_0(r, "tsc");
	p->pub.ended = get_int(r, "exit", &p->pub.exit_status);
	p->pub.ended |= get_int(r, "signal", &p->pub.signal);
	return p->pub.ended ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

static enum sonde_trace_status read_exec(struct reader *r)
{
	struct tf_exec_in *e = tf_arena_alloc(&r->t->arena, sizeof *e);

	if (!e)
		return SONDE_TRACE_E_NOMEM;
	if (!get_int(r, "pid", &e->pub.pid) || e->pub.pid <= 0 || !get_number(r, "tsc", &e->ticks) ||
	    json_array_size(json_object_get(r->line, "args")) > MAX_ARGS)
		return SONDE_TRACE_E_CORRUPT;
	if (json_object_get(r->line, "number") && (!get_int(r, "number", &e->number) || e->number <= 0))
		return SONDE_TRACE_E_CORRUPT;
	e->pub.index = r->t->execs.n;
	e->pub.rank_index = r->part->pub.index;
	e->pub.path = get_str(r, "path", "");
	e->pub.left_alone = e->number ? "" : get_str(r, "left-alone", "not known");
	e->pub.args = get_strings(r, "args", &e->pub.nargs);
	return e->pub.path && e->pub.left_alone && e->pub.args && tf_list_add(&r->t->execs, e) ?
		       SONDE_TRACE_OK :
		       SONDE_TRACE_E_NOMEM;
}

/* Only names of files in the directory itself. */
static const char *get_file(struct reader *r)
{
	const char *name = bytes_of(r, json_object_get(r->line, "file"));

	return name && *name && *name != '.' && !strchr(name, '/') ? name : NULL;
}

static enum sonde_trace_status read_thread(struct reader *r)
{
	const char *name = get_file(r);
	struct tf_thread_in *thread;
	int pid, tid;

	if (!name || !get_int(r, "pid", &pid) || !get_int(r, "tid", &tid) ||
	    tf_trace_thread(r->t, r->part, name, false))
		return SONDE_TRACE_E_CORRUPT;
	thread = tf_trace_thread(r->t, r->part, name, true);
	if (!thread)
		return SONDE_TRACE_E_NOMEM;
	thread->pub.pid = pid;
	thread->pub.tid = tid;
	thread->pub.comm = get_str(r, "comm", "");
	return thread->pub.comm ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_counts(struct reader *r, struct tf_thread_in *thread)
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

		if (!number_of(json_array_get(pair, 0), &id) ||
		    !number_of(json_array_get(pair, 1), &value))
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
static enum sonde_trace_status read_calls(struct reader *r)
{
	const json_t *list = json_object_get(r->line, "list");
	size_t n = json_array_size(list);
	const char *name = get_file(r);
	struct tf_thread_in *thread = name ? tf_trace_thread(r->t, r->part, name, false) : NULL;

	if (!thread || thread->pub.ended)
		return SONDE_TRACE_E_CORRUPT;
	if (!grow_calls(thread, n))
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0; i < n; i++) {
		const json_t *pair = json_array_get(list, i);
		struct sonde_trace_calls one = { 0 };
		uint64_t id;

		if (!number_of(json_array_get(pair, 0), &id) ||
		    !number_of(json_array_get(pair, 1), &one.calls))
			return SONDE_TRACE_E_CORRUPT;
		one.function = tf_list_get(&r->part->function, id);
		if (one.function && one.calls)
			thread->calls[thread->pub.ncalls++] = one;
	}
	return SONDE_TRACE_OK;
}

static bool read_thread_sampled(struct reader *r, struct tf_thread_in *thread)
{
	struct sonde_trace_thread_sampled *to;

	if (!json_object_get(r->line, "bursts"))
		return true;
	to = tf_arena_alloc(&r->t->arena, sizeof *to);
	if (!to)
		return false;
	*to = (struct sonde_trace_thread_sampled){
		.bursts = number_or_0(r, "bursts"),
		.on_units = number_or_0(r, "on-units"),
		.all_units = number_or_0(r, "all-units"),
	};
	thread->pub.sampled = to;
	return true;
}

static enum sonde_trace_status read_thread_end(struct reader *r)
{
	const char *name = get_file(r);
	struct tf_thread_in *thread = name ? tf_trace_thread(r->t, r->part, name, false) :
					     NULL;

	if (!thread || thread->pub.ended)
		return SONDE_TRACE_E_CORRUPT;
	thread->pub.lost = number_or_0(r, "lost");
	thread->pub.nested = number_or_0(r, "nested");
	thread->pub.damaged = number_or_0(r, "damaged");
	thread->pub.backward = number_or_0(r, "backward");
	thread->pub.memory_lost = number_or_0(r, "memory-lost");
	thread->stated = number_or_0(r, "events");
	thread->pub.ended = true;
	thread->pub.comm = get_str(r, "comm", thread->pub.comm);
	if (!thread->pub.comm || !read_thread_sampled(r, thread))
		return SONDE_TRACE_E_NOMEM;
	return read_counts(r, thread);
}

static enum sonde_trace_status read_flight(struct reader *r)
{
	return get_number(r, "bytes", &r->part->pub.flight) ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

static enum sonde_trace_status read_max_size(struct reader *r)
{
	return get_number(r, "bytes", &r->part->pub.max_size) ? SONDE_TRACE_OK : SONDE_TRACE_E_CORRUPT;
}

static enum sonde_trace_status read_older(struct reader *r)
{
	const char *name = get_file(r);
	struct tf_thread_in *thread = name ? tf_trace_thread(r->t, r->part, name, false) : NULL;
	uint64_t events = number_or_0(r, "events");

	r->part->pub.older += events;
	if (thread)
		thread->older += events;
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_budget(struct reader *r)
{
	struct tf_chosen_in *c = &r->part->chosen;

	c->known = true;
	c->pub.overhead = (double)number_or_0(r, "overhead") * 1e-6;
	c->pub.plain_ns = number_or_0(r, "plain");
	c->pub.probes_ns = number_or_0(r, "probes");
	c->pub.sonde_ns = number_or_0(r, "sonde");
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_chosen(struct reader *r)
{
	const json_t *list = json_object_get(r->line, "list"), *counted = json_object_get(r->line, "counted");
	uint64_t ticks, id;

	if (!get_number(r, "tsc", &ticks) || !json_is_boolean(counted))
		return SONDE_TRACE_E_CORRUPT;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const struct sonde_trace_function *f;

		if (!number_of(json_array_get(list, i), &id))
			return SONDE_TRACE_E_CORRUPT;
		f = tf_list_get(&r->part->function, id);
		if (f && !tf_chosen_add(&r->part->chosen, ticks, f, json_is_true(counted)))
			return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_bursts(struct reader *r)
{
	const json_t *list = json_object_get(r->line, "list");
	uint64_t ticks, length;

	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *pair = json_array_get(list, i);

		if (!number_of(json_array_get(pair, 0), &ticks) || !number_of(json_array_get(pair, 1), &length))
			return SONDE_TRACE_E_CORRUPT;
		if (!tf_chosen_burst(&r->part->chosen, ticks, length))
			return SONDE_TRACE_E_NOMEM;
	}
	return SONDE_TRACE_OK;
}

static enum sonde_trace_status read_switch(struct reader *r)
{
	const json_t *on = json_object_get(r->line, "on");
	uint64_t ticks;

	if (!get_number(r, "tsc", &ticks) || !json_is_boolean(on))
		return SONDE_TRACE_E_CORRUPT;
	return tf_switches_add(&r->part->switches, ticks, json_is_true(on)) ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

static enum sonde_trace_status read_end(struct reader *r)
{
	static const char *const names[] = { "unfinished", "exited", "killed", "detached", "executed", "ended" };
	const int n = sizeof names / sizeof names[0];
	const char *ending = json_string_value(json_object_get(r->line, "ending"));
	struct sonde_trace_rank *rank = &r->part->pub;
	int i = 0;

	while (ending && i < n && strcmp(names[i], ending))
		i++;
	if (!ending || i == n || r->part->ended)
		return SONDE_TRACE_E_CORRUPT;
	rank->ending = (enum sonde_trace_ending)i;
	if ((rank->ending == SONDE_TRACE_EXITED && !get_int(r, "exit", &rank->exit_status)) ||
	    (rank->ending == SONDE_TRACE_KILLED && !get_int(r, "signal", &rank->signal)))
		return SONDE_TRACE_E_CORRUPT;
	r->part->lost_elsewhere = number_or_0(r, "lost");
	rank->lost_threads = number_or_0(r, "lost_threads");
	rank->discarded = number_or_0(r, "discarded");
	rank->complete = json_is_true(json_object_get(r->line, "complete"));
	r->part->ended = true;
	r->part->end = number_or_0(r, "tsc");
	return add_point(r);
}

static const struct {
	const char *type;
	line_fn read;
} lines[] = {
	{ "trace", read_trace },	     { "clock", add_point },
	{ "module", read_module },	     { "object", read_object },
	{ "code", read_code },
	{ "function", read_function },	     { "functions", read_functions },
	{ "event", read_event },	     { "counter", read_counter },
	{ "process", read_process },	     { "process-end", read_process_end },
	{ "thread", read_thread },	     { "thread-end", read_thread_end },
	{ "calls", read_calls },	     { "recording", read_recording },
	{ "sampled", read_sampled },	     { "cost", read_cost },
	{ "exec", read_exec },		     { "switch", read_switch },
	{ "budget", read_budget },	     { "chosen", read_chosen },
	{ "bursts", read_bursts },	     { "exchange", read_exchange },
	{ "flight", read_flight },	     { "older", read_older },
	{ "max-size", read_max_size },
	{ "end", read_end },
};

static enum sonde_trace_status read_line(struct reader *r)
{
	const char *type = json_string_value(json_object_get(r->line, "type"));

	if (!type)
		return SONDE_TRACE_E_CORRUPT;
	for (size_t i = 0; i < sizeof lines / sizeof lines[0]; i++)
		if (!strcmp(lines[i].type, type))
			return r->first && i ? SONDE_TRACE_E_CORRUPT : lines[i].read(r);
	return r->first ? SONDE_TRACE_E_CORRUPT : SONDE_TRACE_OK; /* of a later version */
}

static enum sonde_trace_status parse_line(struct reader *r, const char *text, size_t size)
{
	enum sonde_trace_status status;
	json_t *line = json_loadb(text, size, 0, NULL);

	if (!line)
		return SONDE_TRACE_E_CORRUPT;
	r->line = line;
	status = read_line(r);
	json_decref(line);
	return status;
}

enum sonde_trace_status tf_metadata_parse(struct sonde_trace *t, struct tf_part *part,
					  const char *text, size_t size,
					  struct sonde_trace_message *why)
{
	struct reader r = { .t = t, .part = part, .why = why, .first = true };
	enum sonde_trace_status status = SONDE_TRACE_E_TRUNCATED;
	const char *end;

	explain(&r, size ? "ends within its first line" : "empty");
	for (; (end = memchr(text, '\n', size)); size -= (size_t)(end + 1 - text), text = end + 1) {
		status = parse_line(&r, text, (size_t)(end - text));
		if (status == SONDE_TRACE_E_CORRUPT && r.first) {
			explain(&r, "not the metadata of a trace");
			status = SONDE_TRACE_E_NOTRACE;
		} else if (status == SONDE_TRACE_E_CORRUPT) {
			part->pub.bad_lines++;
			status = SONDE_TRACE_OK;
		} else if (status == SONDE_TRACE_E_NOMEM) {
			explain(&r, "no memory");
		}
		if (status)
			break;
		r.first = false;
	}
	free(r.scratch);
	return status;
}

static enum sonde_trace_status read_all(int fd, struct tf_buf *b)
{
	for (;;) {
		uint8_t *at = tf_buf_need(b, 65536);
		ssize_t got;

		if (!at)
			return SONDE_TRACE_E_NOMEM;
		got = read(fd, at, 65536);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got ? SONDE_TRACE_E_SYSTEM : SONDE_TRACE_OK;
		b->size += (size_t)got;
	}
}

enum sonde_trace_status tf_metadata_read(struct sonde_trace *t, struct tf_part *part,
					 const char *dir, struct sonde_trace_message *why)
{
	struct tf_buf text = { 0 };
	char path[PATH_MAX];
	enum sonde_trace_status status;
	int fd = -1, error;

	errno = ENAMETOOLONG;
	if (snprintf(path, sizeof path, "%s/metadata", dir) < (int)sizeof path)
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	status = fd < 0 ? SONDE_TRACE_E_SYSTEM : read_all(fd, &text);
	error = errno;
	if (fd >= 0)
		close(fd);
	if (status)
		snprintf(why->text, sizeof why->text, "%.400s/metadata: %s", dir,
			 status == SONDE_TRACE_E_NOMEM ? "no memory" : strerror(error));
	else
		status = tf_metadata_parse(t, part, text.data ? (const char *)text.data : "",
					   text.size, why);
	tf_buf_free(&text);
	errno = error;
	return status;
}
