/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Fields of global and static variables, by debug information (analysis/names/names.h): "particles.pos" is the member pos of all of
 * the array's elements, and what is in it.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/array.h"
#include "injector/image/symbols.h"
#include "launcher/common/debugfiles.h"
#include "launcher/config/resolve.h"

enum {
	LOOKED_AT = 65536,	/* bytes of a variable in which its fields are looked for: its first elements have all */
	MAX_TEXT = 512,
};

/* Addresses are those in the file. */
struct nm *config_names(struct config_files *f)
{
	const struct nm_options options = { .callbacks = &debugfiles_callbacks, .demangle = inj_demangle };
	const struct nm_object o = { .path = f->v[0].path, .file = f->v[0].path, .program = true };

	if (f->names)
		return f->names;
	f->names = nm_new(&options);
	if (f->names && !nm_add_object(f->names, &o)) {
		nm_free(f->names);
		f->names = NULL;
	}
	return f->names;
}

/* Is the member that @field begins with one of "{i,f}", which a union has in the same place?  Goes on after both. */
static bool is_of_union(const char **path, const char **field)
{
	const char *end = strchr(*path, '}'), *at = *path + 1;
	size_t len = strcspn(*field, ".");

	for (; end && at < end; at += strcspn(at, ",}") + 1) {
		if (strcspn(at, ",}") != len || strncmp(at, *field, len) != 0)
			continue;
		*path = end + 1;
		*field += len;
		return true;
	}
	return false;
}

const char *config_field_rest(const char *path, const char *field)
{
	for (;;) {
		while (path[0] == '[' && path[1] == ']')
			path += 2;
		if (!*field)
			return !*path || *path == '.' ? field : NULL;
		if (!*path)
			return *field == '.' ? field : NULL;
		if (*path == '{' ? !is_of_union(&path, &field) : *path++ != *field++)
			return NULL;
	}
}

bool config_is_of_field(struct config_files *f, const struct config_field *field, uint64_t addr, uint32_t size)
{
	struct nm_place place;

	return addr < field->hi && addr + size > field->lo && f->names && nm_find_static(f->names, addr, size, &place) &&
	       config_field_rest(place.name->path, field->field);
}

/* ---- is there such a field? ---- */

static void note(struct config_paths *v, const char *path)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->shown[i], path) == 0)
			return;
	if (strchr(path, '.') && v->n < CONFIG_SHOWN)
		v->shown[v->n++] = path;
}

bool config_see_path(struct config_paths *v, const char *path, const char *field)
{
	const char *rest = config_field_rest(path, field);

	v->found |= rest && !*rest;
	note(v, path);
	return v->found;
}

/* False: no memory. */
static bool look(struct nm *nm, const struct config_range *range, const char *field, struct config_paths *v)
{
	uint64_t end = range->hi - range->lo > LOOKED_AT ? range->lo + LOOKED_AT : range->hi;

	for (uint64_t addr = range->lo; addr < end && !v->found; addr++) {
		struct nm_place place;

		if (!nm_find_static(nm, addr, 1, &place))
			return false;
		v->typed |= place.name->variable->how == NM_BY_DEBUG;
		config_see_path(v, place.name->path, field);
	}
	return true;
}

int config_refuse_field(const struct config_search *s, const struct config_mark *at, const char *name, size_t base, const struct config_paths *v)
{
	char text[MAX_TEXT] = "";
	size_t len = 0;

	for (size_t i = 0; i < v->n; i++) {
		size_t n = strlen(v->shown[i]);

		if (len + n + 2 >= sizeof(text))
			break;
		memcpy(text + len, i ? ", " : "", i ? 2 : 0);
		len += i ? 2 : 0;
		memcpy(text + len, v->shown[i], n + 1);
		len += n;
	}
	if (!v->typed)
		return config_error(s->f->config, at, "%s: fields are known by debug information, and %.*s has none: compile it with -g",
				    name, (int)base, name);
	return config_error(s->f->config, at, "%s: no such field of %.*s%s%s", name, (int)base, name,
			    *text ? ", which has " : ", which has no fields that are told apart", text);
}

char *config_field_text(const char *path)
{
	char *field = strdup(path), *to = field;

	for (const char *from = path; field && *from; from++) {
		if (from[0] == '[' && from[1] == ']')
			from++;
		else
			*to++ = *from;
	}
	if (field)
		*to = '\0';
	return field;
}

int config_find_field(struct config_search *s, const char *name, const struct config_mark *at, const struct config_range *v, size_t n)
{
	size_t base = strcspn(name, ".[");
	char *field = config_field_text(name + base);
	struct nm *nm = config_names(s->f);
	struct config_found *found = s->found;
	struct config_paths fields = { .n = 0 };
	bool good = field && nm;
	int status = 0;

	for (size_t i = 0; good && i < n && !fields.found; i++)
		good = look(nm, &v[i], field, &fields);
	if (good && !fields.found)
		status = config_refuse_field(s, at, name, base, &fields);
	for (size_t i = 0; good && !status && i < n; i++) {
		struct config_field one = { v[i].lo, v[i].hi, strdup(field) };

		good = one.field && array_room(found->fields, found->fields_room, found->nfields + 1);
		if (good)
			found->fields[found->nfields++] = one;
		else
			free(one.field);
	}
	free(field);
	return good ? status : config_no_memory();
}
