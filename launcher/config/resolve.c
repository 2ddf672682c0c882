/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/config/resolve.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/array.h"
#include "base/path.h"
#include "base/search.h"
#include "launcher/cache/cache.h"
#include "launcher/common/debugfiles.h"
#include "launcher/common/message.h"
#include "launcher/select/pattern.h"

int config_no_memory(void)
{
	msg_error("no memory");
	return EXIT_TRACER;
}

/* ---- files ---- */

static int add_object(struct config_files *f, const char *path, enum select_kind kind)
{
	struct config_object o = { .path = strdup(path), .real = realpath(path, NULL), .kind = kind };

	if (!o.real)
		o.real = strdup(path);
	if (!o.path || !o.real || !array_room(f->v, f->room, f->n + 1)) {
		free(o.path);
		free(o.real);
		return config_no_memory();
	}
	f->v[f->n++] = o;
	return 0;
}

static int add_library(const char *path, void *files)
{
	struct config_files *f = files;
	char *interp = realpath(f->program.interp, NULL), *real = realpath(path, NULL);
	bool linker = interp && real && strcmp(interp, real) == 0;

	free(interp);
	free(real);
	return add_object(f, path, linker ? SELECT_LINKER : SELECT_LIBRARY);
}

int config_list_libraries(struct config_files *f)
{
	int status = f->libraries_listed ? 0 : program_libraries(&f->program, add_library, f);

	f->libraries_listed = true;
	if (status < 0)
		msg_warn("%s: not all of its libraries were found", f->program.path);
	return status < 0 ? 0 : status;
}

struct anatomy *config_anatomy(struct config_object *o)
{
	if (o->anatomy)
		return o->anatomy;
	o->anatomy = calloc(1, sizeof(*o->anatomy));
	if (!o->anatomy) {
		config_no_memory();
	} else if (anatomy_open(o->anatomy, o->path) != 0) {
		free(o->anatomy);
		o->anatomy = NULL;
	}
	return o->anatomy;
}

struct lines *config_lines(struct config_object *o)
{
	if (!o->lines_asked)
		o->lines = lines_open(o->path);
	o->lines_asked = true;
	return o->lines;
}

Dwarf *config_dwarf(struct config_object *o)
{
	GElf_Addr dwarf_bias = 0, main_bias = 0;
	Dwfl_Module *module;

	if (o->dwarf_asked)
		return o->dwarf;
	o->dwarf_asked = true;
	o->dwfl = dwfl_begin(&debugfiles_callbacks);
	if (!o->dwfl)
		return NULL;
	dwfl_report_begin(o->dwfl);
	module = dwfl_report_offline(o->dwfl, "", o->path, -1);
	dwfl_report_end(o->dwfl, NULL, NULL);
	o->dwarf = module ? dwfl_module_getdwarf(module, &dwarf_bias) : NULL;
	if (o->dwarf && dwfl_module_getelf(module, &main_bias))
		o->bias = dwarf_bias - main_bias;
	return o->dwarf;
}

/* By its name alone; SIZE_MAX: it is none. */
static size_t find_object(const struct config_files *f, const char *path)
{
	for (size_t i = 0; i < f->n; i++)
		if (strcmp(f->v[i].path, path) == 0 || strcmp(f->v[i].real, path) == 0)
			return i;
	return SIZE_MAX;
}

size_t config_object_of(struct config_files *f, const char *path)
{
	struct config_alias alias = { .object = find_object(f, path) };
	char *real;

	if (alias.object != SIZE_MAX)
		return alias.object;
	for (size_t i = 0; i < f->naliases; i++)
		if (strcmp(f->aliases[i].path, path) == 0)
			return f->aliases[i].object;
	real = realpath(path, NULL);
	alias.object = real ? find_object(f, real) : SIZE_MAX;
	free(real);
	alias.path = strdup(path);
	if (alias.path && array_room(f->aliases, f->aliases_room, f->naliases + 1))
		f->aliases[f->naliases++] = alias;
	else
		free(alias.path);
	return alias.object;
}

void config_files_close(struct config_files *f)
{
	for (size_t i = 0; i < f->n; i++) {
		struct config_object *o = &f->v[i];

		if (o->anatomy)
			anatomy_close(o->anatomy);
		free(o->anatomy);
		lines_close(o->lines);
		dwfl_end(o->dwfl);
		*o = (struct config_object){ .path = o->path, .real = o->real, .kind = o->kind };
	}
}

void config_files_free(struct config_files *f)
{
	config_files_close(f);
	for (size_t i = 0; i < f->n; i++) {
		free(f->v[i].path);
		free(f->v[i].real);
	}
	free(f->v);
	for (size_t i = 0; i < f->naliases; i++)
		free(f->aliases[i].path);
	free(f->aliases);
	nm_free(f->names);
	for (size_t i = 0; f->found && i < f->config->n; i++) {
		struct config_found *found = &f->found[i];

		free(found->ranges);
		free(found->heads);
		free(found->variables);
		for (size_t k = 0; k < found->nfields; k++)
			free(found->fields[k].field);
		free(found->fields);
		for (size_t k = 0; k < found->nnamed; k++)
			config_named_free(&found->named[k]);
		free(found->named);
		config_texts_free(&found->also);
		config_texts_free(&found->patterns);
		config_texts_free(&found->libraries);
		config_texts_free(&found->notes);
	}
	free(f->found);
	program_free(&f->program);
	*f = (struct config_files){ 0 };
}

/* ---- what was found ---- */

bool config_add_range(struct config_range **v, size_t *n, size_t *room, size_t object, uint64_t lo, uint64_t hi)
{
	if (!array_room(*v, *room, *n + 1))
		return false;
	(*v)[(*n)++] = (struct config_range){ object, lo, hi };
	return true;
}

bool config_note(struct config_search *s, const char *fmt, ...)
{
	char text[CONFIG_ERROR_MAX];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return config_texts_add(&s->found->notes, text, s->place->at);
}

static int by_place(const void *a, const void *b)
{
	const struct config_range *x = a, *y = b;

	if (x->object != y->object)
		return x->object < y->object ? -1 : 1;
	return x->lo < y->lo ? -1 : x->lo > y->lo;
}

static size_t sort(struct config_range *v, size_t n)
{
	size_t kept = 0;

	if (n)
		qsort(v, n, sizeof(*v), by_place);
	for (size_t i = 0; i < n; i++) {
		struct config_range *last = kept ? &v[kept - 1] : NULL;

		if (!last || last->object != v[i].object || v[i].lo > last->hi)
			v[kept++] = v[i];
		else if (v[i].hi > last->hi)
			last->hi = v[i].hi;
	}
	return kept;
}

static bool in_library(const struct config_found *found, const char *path)
{
	for (size_t i = 0; i < found->libraries.n; i++)
		if (pattern_lib_is(found->libraries.v[i], path_basename(path)))
			return true;
	return false;
}

bool config_holds(struct config_files *f, const struct config_found *found, const char *path, uint64_t addr)
{
	const struct config_range *v = found->ranges;
	size_t object = config_object_of(f, path), at;

	if (in_library(found, path))
		return true;
	if (object == SIZE_MAX)
		return false;
	at = search_first(i, found->nranges, v[i].object > object || (v[i].object == object && v[i].lo > addr));
	return at && v[at - 1].object == object && addr < v[at - 1].hi;
}

/* ---- places ---- */

/* Is the program linked with it?  If not, libraries whose names are like it, up to their ".so", go into *near. */
static bool is_linked(const struct config_search *s, struct near_names *near)
{
	bool found = false;

	for (size_t i = 1; i < s->f->n; i++) {
		const char *file = strrchr(s->f->v[i].path, '/') + 1, *end = strstr(file, ".so");
		char *own = strndup(file, end ? (size_t)(end - file) : strlen(file));
		struct function_name name = { .symbol = own };

		found |= pattern_lib_is(s->place->name, file);
		if (own)
			near_note(near, s->place->name, NEAR_WORD, &name);
		function_name_free(&name);
		free(own);
	}
	return found;
}

/* One that the program is not linked with may be loaded by it, or is a slip of the pen. */
static int find_library(struct config_search *s)
{
	const char *name = s->place->name;
	struct near_names near = { 0 };
	char hint[NEAR_MAX_TEXT], *pattern;
	int status = config_list_libraries(s->f);
	bool linked;

	if (status)
		return status;
	if (s->f->program.is_static)
		return config_error(s->f->config, &s->place->at, "library %s: %s is static, it has no libraries", name,
				    s->f->program.path);
	linked = is_linked(s, &near);
	near_text(&near, hint, sizeof(hint));
	if (!linked)
		msg_warn("%s: line %zu, column %zu: library %s: the program is not linked with it%s", s->f->config->path,
			 s->place->at.line, s->place->at.column, name, hint);
	if (asprintf(&pattern, "*@%s", name) < 0)
		return config_no_memory();
	if (!config_texts_add(&s->found->patterns, pattern, s->place->at) ||
	    !config_texts_add(&s->found->libraries, name, s->place->at) ||
	    !config_note(s,
			 linked ? "all functions of %s"
				: "%s: the program is not linked with it; all its functions if it is loaded later",
			 name))
		status = config_no_memory();
	free(pattern);
	return status;
}

static int find_all(struct config_search *s)
{
	if (config_texts_add(&s->found->patterns, "*", s->place->at) &&
	    config_add_range(&s->found->ranges, &s->found->nranges, &s->found->ranges_room, 0, 0, UINT64_MAX) &&
	    config_note(s, "all functions of the program"))
		return 0;
	return config_no_memory();
}

/* What accesses it may be any code of the program. */
static int find_variable(struct config_search *s)
{
	int status = find_all(s);

	return status ? status : config_find_variable(s, s->place->name, &s->place->at);
}

static int find_place(struct config_search *s)
{
	static int (*const find[])(struct config_search *s) = {
		[CONFIG_FUNCTION] = config_find_function, [CONFIG_LOOP] = config_find_loop,
		[CONFIG_LINES] = config_find_lines,	  [CONFIG_VARIABLE] = find_variable,
		[CONFIG_LIBRARY] = find_library,	  [CONFIG_ALL] = find_all,
	};

	return find[s->place->kind](s);
}

/* Those of caches are found out about before anything runs, too. */
static int check_systems(const struct config *c, const struct config_entry *e)
{
	struct cache_systems systems = { 0 };
	int status = 0;

	for (size_t i = 0; !status && i < e->systems.n; i++) {
		static const char ours[] = "sonde: ";
		char *said = NULL;

		msg_hold(&said);
		status = systems_add(&systems, e->systems.v[i]);
		msg_hold(NULL);
		if (status && said)
			config_error(c, &e->systems.at[i], "%.*s", (int)strcspn(said, "\n") - (int)strlen(ours),
				     said + strlen(ours));
		free(said);
	}
	cache_systems_free(&systems);
	return status;
}

/* Where the program's data are is known of its own code alone. */
static int check_variables(const struct config_search *s)
{
	bool elsewhere = s->found->libraries.n;

	for (size_t i = 0; i < s->found->nranges; i++)
		elsewhere |= s->found->ranges[i].object != 0;
	if (!elsewhere || (!s->found->nvariables && !s->found->nfields))
		return 0;
	return config_error(s->f->config, &s->entry->variables.at[0],
			    "variables are accessed by code of the program: its location cannot be in a library");
}

static int find_entry(struct config_files *f, size_t i)
{
	const struct config_entry *e = &f->config->v[i];
	struct config_search s = { f, e, NULL, &f->found[i] };
	int status = check_systems(f->config, e);

	for (size_t k = 0; !status && k < e->nplaces; k++) {
		s.place = &e->places[k];
		status = find_place(&s);
	}
	for (size_t k = 0; !status && k < e->variables.n; k++)
		status = config_find_variable(&s, e->variables.v[k], &e->variables.at[k]);
	if (!status)
		status = check_variables(&s);
	if (!status && (e->type == CONFIG_BLOCK_COUNTER || e->type == CONFIG_TRIP_COUNTER))
		status = config_add_blocks(&s);
	s.found->nranges = sort(s.found->ranges, s.found->nranges);
	s.found->nvariables = sort(s.found->variables, s.found->nvariables);
	return status;
}

int config_resolve(struct config_files *f, const struct config *c, const char *program)
{
	int status;

	*f = (struct config_files){ .config = c };
	status = program_resolve(c->program ? c->program : program, &f->program);
	if (status)
		return status;
	if (f->program.is_script && !c->program)
		msg_warn("%s is a script: locations are looked for in its interpreter, %s; 'program: FILE' in %s names "
			 "another",
			 program, f->program.elf_path, c->path);
	f->found = calloc(c->n + 1, sizeof(*f->found));
	status = f->found ? add_object(f, f->program.elf_path, SELECT_PROGRAM) : config_no_memory();
	for (size_t i = 0; !status && i < c->n; i++)
		status = find_entry(f, i);
	return status;
}
