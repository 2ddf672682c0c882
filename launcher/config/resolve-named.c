/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Variables of functions and threads, and blocks of the heap: they have no address of their own, so the accesses to them are chosen by their names, when the
 * trace is read (outputs-named.c).  Here it is found out whether there are such, and what has to be recorded so that they have names.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names.h"
#include "base/array.h"
#include "launcher/config/resolve.h"
#include "launcher/memory/names/memblocks.h"
#include "launcher/select/near.h"

static const char operator_new[] = "operator new", operator_new_array[] = "operator new[]";

struct named {
	struct config_search *s;
	const struct config_variable *v;
	const struct config_mark *at;
	struct near_names *near;
	char *base, *field;	/* of v->name */
	const char *last;	/* of base: without namespaces */
	bool of_thread;		/* a symbol says that there is one */
	size_t n;		/* that are in memory */
	bool registers, functions; /* there is one in registers; there is such a function */
	char *first;		/* a function that has it */
	char *other;		/* one that has it, but is not at the location */
	struct config_paths paths;
	bool failed;
};

void config_named_free(struct config_named *n)
{
	free(n->name);
	free(n->field);
	free(n->function);
	free(n->file);
}

static bool copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static bool is_there(const struct config_found *found, const struct config_named *n)
{
	for (size_t i = 0; i < found->nnamed; i++) {
		const struct config_named *old = &found->named[i];

		if (old->kind == n->kind && strcmp(old->name, n->name) == 0 && strcmp(old->field, n->field) == 0 && old->line == n->line &&
		    strcmp(old->function ? old->function : "", n->function ? n->function : "") == 0 &&
		    strcmp(old->file ? old->file : "", n->file ? n->file : "") == 0)
			return true;
	}
	return false;
}

static bool add(struct config_found *found, const struct config_named *n)
{
	struct config_named new = { .kind = n->kind, .line = n->line };

	if (is_there(found, n))
		return true;
	if (copy(&new.name, n->name) && copy(&new.field, n->field) && copy(&new.function, n->function) && copy(&new.file, n->file) &&
	    array_room(found->named, found->named_room, found->nnamed + 1)) {
		found->named[found->nnamed++] = new;
		return true;
	}
	config_named_free(&new);
	return false;
}

/* ---- other places, for what they say ---- */

/* Calls in code of a line. */
struct calls {
	const char *giver;
	bool found; /* it may be one of these */
};

bool config_same_giver(const char *a, const char *b)
{
	static const char *const same[][2] = { { "aligned_alloc", "memalign" }, { "mmap", "mmap64" } };

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if ((strcmp(a, same[i][0]) == 0 || strcmp(a, same[i][1]) == 0) && (strcmp(b, same[i][0]) == 0 || strcmp(b, same[i][1]) == 0))
			return true;
	return strcmp(a, b) == 0;
}

/* One of the program's own functions may call it, too: it may be statically linked, or be the program's. */
static bool may_give(const char *callee, const char *giver)
{
	if (!callee)
		return true;
	if (strcmp(giver, operator_new) == 0)
		return strncmp(callee, "_Znw", 4) == 0;
	if (strcmp(giver, operator_new_array) == 0)
		return strncmp(callee, "_Zna", 4) == 0;
	return config_same_giver(callee, giver);
}

static void take_call(void *arg, uint64_t returns, const char *callee)
{
	struct calls *calls = arg;

	(void)returns;
	calls->found |= may_give(callee, calls->giver);
}

/* Functions, or lines: found like a location, but nothing is measured there.  @also: it has to be recorded. */
static int find_elsewhere(struct config_search *s, const struct config_place *place, bool also, struct calls *calls)
{
	struct config_found found = { 0 };
	struct config_search other = { s->f, s->entry, place, &found };
	int status = place->kind == CONFIG_FUNCTION ? config_find_function(&other) : config_find_lines(&other);

	for (size_t i = 0; !status && calls && i < found.nranges; i++)
		nm_each_callee(s->f->names, found.ranges[i].lo, found.ranges[i].hi, take_call, calls);

	for (size_t i = 0; !status && also && i < found.patterns.n; i++)
		if (!config_texts_add(&s->found->also, found.patterns.v[i], place->at))
			status = config_no_memory();
	free(found.ranges);
	config_texts_free(&found.patterns);
	config_texts_free(&found.notes);
	return status;
}

static int find_its_function(struct named *n, bool also)
{
	const struct config_place place = { .kind = CONFIG_FUNCTION, .text = n->v->function, .name = n->v->function, .at = *n->at };

	return find_elsewhere(n->s, &place, also, NULL);
}

/* ---- of functions and threads ---- */

bool config_same_function(const char *known, const char *wanted)
{
	size_t len = strcspn(known, "(");
	const char *last = wanted;

	/* debug information leaves out the module of a Fortran procedure */
	for (const char *s; !strstr(known, "::") && (s = strstr(last, "::"));)
		last = s + 2;
	if (strcmp(known, last) == 0)
		return true;
	return (!known[len] || !last[strcspn(last, "(")]) && strcspn(last, "(") == len && strncmp(known, last, len) == 0;
}

static bool is_at_location(const struct named *n, const struct nm_declared *d)
{
	const struct config_found *found = n->s->found;

	for (size_t i = 0; i < found->nranges; i++)
		if (found->ranges[i].object == 0 && nm_declared_is_at(d, found->ranges[i].lo, found->ranges[i].hi))
			return true;
	return false;
}

static bool see(void *arg, const char *path)
{
	struct named *n = arg;

	n->paths.typed = true;
	return !config_see_path(&n->paths, path, n->field);
}

static bool take_it(struct named *n, const struct nm_declared *d, char *scope)
{
	const struct config_named one = { .kind = d->tls ? CONFIG_OF_THREAD : CONFIG_OF_FUNCTION, .name = n->base, .field = n->field,
					  .function = d->tls ? NULL : scope };

	if (!d->in_memory) {
		n->registers = true;
		return true;
	}
	n->n++;
	if (!n->first && !(n->first = strdup(scope)))
		return false;
	return (n->paths.found || nm_declared_paths(n->s->f->names, d, see, n)) && add(n->s->found, &one);
}

static void note_near(struct named *n, const struct nm_declared *d)
{
	struct function_name name = { .symbol = d->name };

	near_note(n->near, n->base, NEAR_WORD, &name);
	function_name_free(&name);
}

static bool look(void *arg, const struct nm_declared *d)
{
	struct named *n = arg;
	const bool same = strcmp(d->name, n->last) == 0, of_thread = d->tls && !n->v->function;
	char *scope;

	if (!same && !n->v->function) {
		if (of_thread || is_at_location(n, d))
			note_near(n, d);
		return true;
	}
	if (!of_thread && !n->v->function && !is_at_location(n, d)) {
		if (!n->other && d->in_memory)
			n->other = nm_declared_scope(n->s->f->names, d);
		return true;
	}
	scope = nm_declared_scope(n->s->f->names, d);
	n->failed |= !scope;
	if (scope && (!n->v->function || config_same_function(scope, n->v->function))) {
		n->functions = true;
		if (same)
			n->failed |= !take_it(n, d, scope);
		else
			note_near(n, d);
	}
	free(scope);
	return !n->failed;
}

static int refuse(const struct named *n, const char *text)
{
	const char *function = n->v->function ? n->v->function : "";
	char hint[NEAR_MAX_TEXT];

	near_text(n->near, hint, sizeof(hint));
	if (n->registers)
		return config_error(n->s->f->config, n->at, "%s: the compiler has it in registers alone, or has left it out: no memory is accessed for it", text);
	if (n->other)
		return config_error(n->s->f->config, n->at, "%s: no such variable of the program, or of functions at the location; '%s:%s' is one", text,
				    n->other, n->base);
	if (*function && !n->functions)
		return config_error(n->s->f->config, n->at, "%s: no variables of %s are known by debug information (-g)", text, function);
	return config_error(n->s->f->config, n->at, "%s: no such variable of %s%s%s", text, *function ? function : "the program, or of functions at the location",
			    config_dwarf(&n->s->f->v[0]) || *function ? "" : " (those of functions are known by debug information: -g)", hint);
}

static int find_variable(struct named *n)
{
	const struct config_named by_symbol = { .kind = CONFIG_OF_THREAD, .name = n->base, .field = n->field };
	size_t base = strlen(n->base);
	int status = n->v->function ? find_its_function(n, true) : 0;

	if (status)
		return status;
	if (!config_names(n->s->f) || (!nm_each_declared(n->s->f->names, look, n) && n->failed) || n->failed)
		return config_no_memory();
	if (!n->n && n->of_thread && !add(n->s->found, &by_symbol))
		return config_no_memory();
	if (!n->n && !n->of_thread)
		return refuse(n, n->v->name);
	if (!n->paths.found && *n->field)
		return config_refuse_field(n->s, n->at, n->v->name, base, &n->paths);
	if (!config_note(n->s, n->first && *n->first ? "%s: a variable of %s%s" : "%s: a variable of each thread's own%.0s%s", n->v->name,
			 n->first ? n->first : "", n->registers ? "; elsewhere it is in registers" : ""))
		return config_no_memory();
	return 0;
}

/* ---- of the heap ---- */

/* What gives memory, without fields: up to "." or "[", but for "operator new[]". */
static size_t giver_length(const char *name)
{
	size_t array = strlen(operator_new_array);

	return strncmp(name, operator_new_array, array) == 0 ? array : strcspn(name, ".[");
}

/* Lines of the file that call it, next to the one that does not. */
struct lines_near {
	struct named *n;
	struct calls calls;
	struct lines *lines;
	int before, after; /* 0: none */
};

static void take_near(void *arg, uint64_t returns, const char *callee)
{
	struct lines_near *near = arg;
	const int wanted = (int)near->n->v->line;
	const char *file;
	int line;

	if (!callee || !may_give(callee, near->calls.giver))
		return;
	file = lines_at(near->lines, returns - 1, &line);
	if (!file || !lines_is_file(file, near->n->v->file))
		return;
	if (line < wanted && line > near->before)
		near->before = line;
	if (line > wanted && (!near->after || line < near->after))
		near->after = line;
}

static int refuse_line(struct named *n)
{
	struct config_object *program = &n->s->f->v[0];
	const struct anatomy *a = config_anatomy(program);
	struct lines_near near = { n, { n->base, false }, config_lines(program), 0, 0 };
	const struct config_variable *v = n->v;
	char hint[64] = "";

	for (uint32_t i = 0; a && near.lines && i < a->facts.facts.nfns; i++)
		nm_each_callee(n->s->f->names, a->facts.facts.fns[i].addr, a->facts.facts.fns[i].addr + a->facts.facts.fns[i].size, take_near, &near);
	if (near.before && near.after)
		snprintf(hint, sizeof(hint), "; lines %d and %d have one", near.before, near.after);
	else if (near.before || near.after)
		snprintf(hint, sizeof(hint), "; line %d has one", near.before + near.after);
	return config_error(n->s->f->config, n->at, "%s at %s:%u: there is no call of %s%s", v->name, v->file, v->line, n->base, hint);
}

static int find_blocks(struct named *n)
{
	struct calls calls = { n->base, false };
	const struct config_variable *v = n->v;
	const struct config_named one = { .kind = CONFIG_OF_HEAP, .name = n->base, .field = n->field, .function = v->function, .file = v->file, .line = v->line };
	int status = v->function ? find_its_function(n, false) : 0;

	if (v->file) {
		struct config_place place = { .kind = CONFIG_LINES, .file = v->file, .line = v->line, .last = v->line, .at = *n->at };

		if (asprintf(&place.text, "%s at %s:%u", v->name, v->file, v->line) < 0)
			return config_no_memory();
		if (!config_names(n->s->f))
			status = config_no_memory();
		else
			status = find_elsewhere(n->s, &place, false, &calls);
		free(place.text);
		if (!status && !calls.found)
			status = refuse_line(n);
	}
	if (status)
		return status;
	/* calls in between say which block has the memory when */
	n->s->found->needs_heap = true;
	if (!add(n->s->found, &one) || !config_texts_add(&n->s->found->also, "*", *n->at))
		return config_no_memory();
	if (v->file ? config_note(n->s, "%s at %s:%u: blocks of the heap, chosen when the trace is read", v->name, v->file, v->line) :
		      config_note(n->s, "%s in %s: blocks of the heap, chosen when the trace is read", v->name, v->function))
		return 0;
	return config_no_memory();
}

int config_find_named(struct config_search *s, const struct config_variable *v, const struct config_mark *at, struct near_names *near, bool of_thread)
{
	struct named n = { .s = s, .v = v, .at = at, .near = near, .of_thread = of_thread };
	size_t base = v->kind == CONFIG_PLAIN ? strcspn(v->name, ".[") : giver_length(v->name);
	int status;

	n.base = strndup(v->name, base);
	n.field = config_field_text(v->name + base);
	n.last = n.base ? strrchr(n.base, ':') : NULL;
	n.last = n.last ? n.last + 1 : n.base;
	if (!n.base || !n.field)
		status = config_no_memory();
	else if (v->kind != CONFIG_PLAIN && memblocks_gives(n.base))
		status = find_blocks(&n);
	else if (v->kind == CONFIG_AT_LINE)
		status = config_error(s->f->config, at, "%s at %s:%u: '%s' is none of malloc, calloc, realloc, operator new and the like", v->name, v->file,
				      v->line, n.base);
	else
		status = find_variable(&n);
	free(n.base);
	free(n.field);
	free(n.first);
	free(n.other);
	return status;
}
