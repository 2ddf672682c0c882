/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines that say what code is called, and which events it has. */
#include <string.h>

#include "tracefmt/read/labels.h"
#include "tracefmt/read/metadata/line.h"

#define MAX_FUNCTIONS (1u << 24)

enum sonde_trace_status tf_read_module(struct tf_line *r)
{
	const char *name = tf_line_str(r, "name", "");
	struct sonde_trace_module *m = name ? tf_trace_module(r->t, name) : NULL;

	if (!m)
		return SONDE_TRACE_E_NOMEM;
	if (!*m->path)
		m->path = tf_line_str(r, "path", "");
	if (!*m->description)
		m->description = tf_line_str(r, "description", "");
	return m->path && m->description ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

enum sonde_trace_status tf_read_object(struct tf_line *r)
{
	struct sonde_trace_object *o = tf_arena_alloc(&r->t->arena, sizeof *o);
	uint64_t id;

	if (!o)
		return SONDE_TRACE_E_NOMEM;
	o->path = tf_line_str(r, "path", "");
	o->build_id = tf_line_str(r, "build-id", "");
	if (!o->path || !o->build_id)
		return SONDE_TRACE_E_NOMEM;
	if (!*o->path || !tf_line_number(r, "id", &id) || id >= TF_MAX_IDS || !tf_line_number(r, "code", &o->code) ||
	    tf_list_get(&r->part->object, id))
		return SONDE_TRACE_E_CORRUPT;
	o->id = (uint32_t)id;
	o->index = r->t->objects.n;
	o->rank_index = r->part->pub.index;
	return tf_list_set(&r->part->object, id, o) && tf_list_add(&r->t->objects, o) ? SONDE_TRACE_OK :
											 SONDE_TRACE_E_NOMEM;
}

enum sonde_trace_status tf_read_code(struct tf_line *r)
{
	struct sonde_trace_code *c = tf_arena_alloc(&r->t->arena, sizeof *c);
	uint64_t line = tf_line_number_or_0(r, "line");

	if (!c)
		return SONDE_TRACE_E_NOMEM;
	c->path = tf_line_str(r, "path", "");
	c->function = tf_line_str(r, "function", "");
	c->file = tf_line_str(r, "file", "");
	if (!c->path || !c->function || !c->file)
		return SONDE_TRACE_E_NOMEM;
	if (!tf_line_number(r, "address", &c->address) || !tf_line_number(r, "offset", &c->offset) || line > INT_MAX)
		return SONDE_TRACE_E_CORRUPT;
	c->line = (int)line;
	return tf_list_add(&r->part->code, c) ? SONDE_TRACE_OK : SONDE_TRACE_E_NOMEM;
}

enum sonde_trace_status tf_read_function(struct tf_line *r)
{
	const char *name = tf_line_str(r, "name", NULL), *path = tf_line_str(r, "path", "");
	const char *demangled = tf_line_str(r, "demangled", NULL);
	struct sonde_trace_function *f;
	uint64_t id;

	if (!name || !tf_line_number(r, "id", &id) || id >= MAX_FUNCTIONS)
		return SONDE_TRACE_E_CORRUPT;
	f = path ? tf_trace_function(r->t, name, path) : NULL;
	if (!f || !tf_list_set(&r->part->function, id, f))
		return SONDE_TRACE_E_NOMEM;
	if (demangled && f->demangled == f->name)
		f->demangled = demangled;
	if (!f->address)
		f->address = tf_line_number_or_0(r, "address");
	return SONDE_TRACE_OK;
}

static bool add_probe_site(struct tf_line *r, uint64_t id, enum sonde_trace_kind kind,
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
static enum sonde_trace_status read_probe(struct tf_line *r, const json_t *probe, const char *path)
{
	const json_t *demangled = json_array_get(probe, 4);
	const char *name = tf_line_bytes(r, json_array_get(probe, 2));
	struct sonde_trace_function *f;
	uint64_t id, event, address;

	if (!name || !tf_line_number_of(json_array_get(probe, 0), &id) || id >= MAX_FUNCTIONS ||
	    !tf_line_number_of(json_array_get(probe, 1), &event) || event >= TF_MAX_IDS - 1 ||
	    !tf_line_number_of(json_array_get(probe, 3), &address) ||
	    tf_list_get(&r->part->site, event) || tf_list_get(&r->part->site, event + 1))
		return SONDE_TRACE_E_CORRUPT;
	f = tf_trace_function(r->t, name, path);
	if (!f || !tf_list_set(&r->part->function, id, f))
		return SONDE_TRACE_E_NOMEM;
	if (!f->address)
		f->address = address;
	if (json_is_string(demangled) && f->demangled == f->name) {
		name = tf_line_bytes(r, demangled);
		f->demangled = name ? tf_arena_strdup(&r->t->arena, name) : NULL;
	}
	return f->demangled && add_probe_site(r, event, SONDE_TRACE_ENTER, f) &&
			       add_probe_site(r, event + 1, SONDE_TRACE_LEAVE, f) ?
		       SONDE_TRACE_OK :
		       SONDE_TRACE_E_NOMEM;
}

enum sonde_trace_status tf_read_functions(struct tf_line *r)
{
	const json_t *list = json_object_get(r->line, "list");
	const char *path = tf_line_str(r, "path", "");
	enum sonde_trace_status status = SONDE_TRACE_OK;

	if (!path)
		return SONDE_TRACE_E_NOMEM;
	for (size_t i = 0, n = json_array_size(list); i < n && !status; i++)
		status = read_probe(r, json_array_get(list, i), path);
	return status;
}

static enum sonde_trace_type type_of(const char *name)
{
	int type = SONDE_TRACE_I32;

	while (type <= SONDE_TRACE_APART && strcmp(sonde_trace_type_name(type), name))
		type++;
	return type;
}

/* A field without a value: it is about the time of the call.  Waiting of no class is called "wait". */
static enum sonde_trace_status read_mark(struct tf_line *r, struct sonde_trace_site *site,
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
	return tf_line_bytes(arg, name);
}

/* A field of which some values have names. */
static enum sonde_trace_status read_labels(struct tf_line *r, struct sonde_trace_field *to, const json_t *list)
{
	if (!list)
		return SONDE_TRACE_OK;
	if (to->type != SONDE_TRACE_I64)
		return SONDE_TRACE_E_CORRUPT;
	to->type = SONDE_TRACE_STR;
	return tf_labels_read(&r->t->arena, list, label_name, r, &to->labels);
}

static enum sonde_trace_status read_fields(struct tf_line *r, struct sonde_trace_site *site)
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
		const char *name = tf_line_bytes(r, json_array_get(field, 0));
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
static bool get_module(struct tf_line *r, const struct sonde_trace_module **out)
{
	const char *name = tf_line_str(r, "module", NULL);

	*out = name ? tf_trace_module(r->t, name) : NULL;
	return !name || *out;
}

enum sonde_trace_status tf_read_event(struct tf_line *r)
{
	struct sonde_trace_site *site = tf_arena_alloc(&r->t->arena, sizeof *site);
	uint64_t id, function;
	int kind = kind_of(json_string_value(json_object_get(r->line, "kind")));
	enum sonde_trace_status status;

	if (!site)
		return SONDE_TRACE_E_NOMEM;
	if (!kind || !tf_line_number(r, "id", &id) || id >= TF_MAX_IDS ||
	    !tf_line_number(r, "function", &function) || tf_list_get(&r->part->site, id))
		return SONDE_TRACE_E_CORRUPT;
	site->id = (uint32_t)id;
	site->kind = (enum sonde_trace_kind)kind;
	site->function = tf_list_get(&r->part->function, function);
	if (!site->function)
		return SONDE_TRACE_E_CORRUPT;
	status = read_fields(r, site);
	if (status)
		return status;
	site->name = tf_line_str(r, "name", "");
	if (!site->name || !get_module(r, &site->module) ||
	    !tf_list_set(&r->part->site, id, site) || !tf_list_add(&r->t->sites, site))
		return SONDE_TRACE_E_NOMEM;
	return SONDE_TRACE_OK;
}

enum sonde_trace_status tf_read_counter(struct tf_line *r)
{
	const char *name = tf_line_str(r, "name", NULL);
	const struct sonde_trace_function *function = NULL;
	const struct sonde_trace_module *module;
	struct sonde_trace_counter *counter;
	uint64_t id, f;

	if (!name || !tf_line_number(r, "id", &id) || id >= RING_COUNTERS)
		return SONDE_TRACE_E_CORRUPT;
	if (tf_line_number(r, "function", &f))
		function = tf_list_get(&r->part->function, f);
	if (!get_module(r, &module))
		return SONDE_TRACE_E_NOMEM;
	counter = tf_trace_counter(r->t, name, function, module);
	return counter && tf_list_set(&r->part->counter, id, counter) ? SONDE_TRACE_OK :
									SONDE_TRACE_E_NOMEM;
}
