// SPDX-License-Identifier: GPL-3.0-or-later
/* Which functions' arguments, and those found in DWARF. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "launcher/args/args-private.h"
#include "launcher/common/message.h"

/* "PATTERN[:NAME,...]"; false: no memory. */
static bool split_rule(const char *text, struct args_rule *rule)
{
	const char *names = strrchr(text, ':');

	/* C++ has two of them in its names */
	if (names && names > text && (names[-1] == ':' || !names[1]))
		names = NULL;
	rule->text = text;
	rule->pattern = names ? strndup(text, (size_t)(names - text)) : strdup(text);
	rule->names = names ? names + 1 : NULL;
	return rule->pattern && opt_list_append(&rule->select_options.functions, rule->pattern) &&
	       opt_list_append(&rule->select_options.libs, "*");
}

static int add_rule(struct args *a, const char *text)
{
	struct args_rule *rule = &a->rule[a->nrules];
	char problem[256];

	a->nrules++;
	if (!split_rule(text, rule)) {
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	rule->select_options.option = "--args";
	rule->select = select_new(&rule->select_options, problem, sizeof(problem));
	if (rule->select)
		return 0;
	msg_error("%s", problem);
	return EXIT_USAGE;
}

int args_new(const struct opt_list *list, struct args **out)
{
	struct args *a;
	int status = 0;

	*out = NULL;
	if (!list->n)
		return 0;
	a = calloc(1, sizeof(*a));
	if (a)
		a->rule = calloc(list->n, sizeof(*a->rule));
	if (!a || !a->rule) {
		free(a);
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < list->n && status == 0; i++)
		status = add_rule(a, list->v[i]);
	if (status)
		args_free(a);
	else
		*out = a;
	return status;
}

static void free_function(struct args_function *f)
{
	for (int i = 0; i < RT_VALUES; i++)
		free((void *)f->entered_shape[i].labels);
	free((void *)f->returned_shape[0].labels);
	free(f);
}

void args_free(struct args *a)
{
	if (!a)
		return;
	for (size_t i = 0; i < a->nrules; i++) {
		select_free(a->rule[i].select);
		opt_list_free(&a->rule[i].select_options.functions);
		opt_list_free(&a->rule[i].select_options.libs);
		free(a->rule[i].pattern);
	}
	for (size_t i = 0; i < a->nfunctions; i++)
		free_function(a->function[i]);
	for (size_t i = 0; i < a->nfiles; i++)
		args_file_free(&a->file[i]);
	free(a->rule);
	free(a->function);
	free(a->file);
	free(a);
}

static enum select_kind kind_of(const struct inj_object *o)
{
	if (o->is_main)
		return SELECT_PROGRAM;
	return o->is_linker ? SELECT_LINKER : SELECT_LIBRARY;
}

/* What is marked does not matter, but that there is a hit. */
static bool mark_rule(struct args_rule *rule, struct inj_object *o)
{
	const struct inj_symtab *tab = select_asks_names(rule->select) ? inj_object_symbols(o) : NULL;
	bool *wanted = calloc(o->facts->facts.nfns + 1, sizeof(*wanted));
	bool done = wanted && (!select_object(rule->select, o->path, kind_of(o)) ||
			       select_mark(rule->select, o->path, kind_of(o), o->facts, tab, wanted) >= 0);

	free(wanted);
	return done;
}

bool args_mark(struct args *a, struct inj_object *o)
{
	for (size_t i = 0; a && i < a->nrules; i++)
		if (strcmp(a->rule[i].pattern, "*") != 0 && !mark_rule(&a->rule[i], o))
			return false;
	return true;
}

void args_warn(struct args *a)
{
	for (size_t i = 0; a && i < a->nrules; i++)
		if (strcmp(a->rule[i].pattern, "*") != 0)
			select_warn(a->rule[i].select, false);
}

/* ---- one function ---- */

static bool is_named(const char *names, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = names; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (strncmp(at, name, n) == 0 && (at[n] == ',' || !at[n]))
			return true;
	}
	return false;
}

bool args_wants(const struct args_wanted *w, const char *name)
{
	if (w->all)
		return true;
	for (size_t i = 0; i < w->nrules; i++)
		if (w->matches[i] && is_named(w->rule[i].names, name))
			return true;
	return false;
}

/* False: nothing of it is wanted. */
static bool match_rules(struct args *a, const struct inj_object *o, uint64_t addr, const char *name, struct args_wanted *w)
{
	const struct select_function fn = { .addr = addr, .size = 1, .names = &name, .nnames = 1 };
	bool any = false;

	for (size_t i = 0; i < a->nrules; i++) {
		w->matches[i] = strcmp(a->rule[i].pattern, "*") == 0 || select_wants_in(a->rule[i].select, o->path, &fn);
		w->all |= w->matches[i] && !a->rule[i].names;
		any |= w->matches[i];
	}
	return any;
}

static struct args_file *file_of(struct args *a, const struct inj_object *o)
{
	struct args_file *f;

	for (size_t i = 0; i < a->nfiles; i++)
		if (strcmp(a->file[i].path, o->path) == 0)
			return &a->file[i];
	if (!array_room(a->file, a->room_files, a->nfiles + 1))
		return NULL;
	f = &a->file[a->nfiles];
	if (!args_file_open(f, o->path))
		return NULL;
	a->nfiles++;
	if (!f->nfunctions)
		msg_warn("%s: no debug information says what arguments its functions have: none are recorded of them; compile it "
			 "with -g, or install its debug symbols", o->file);
	return f;
}

/* Each name that was asked for and is not there, once for a rule. */
static void warn_names(struct args *a, const struct args_wanted *w, const char *function, const char *has)
{
	for (size_t i = 0; i < a->nrules; i++) {
		struct args_rule *rule = &a->rule[i];

		for (const char *at = rule->names; at && w->matches[i] && !rule->warned; at = strchr(at, ',')) {
			char name[256];

			at += *at == ',';
			snprintf(name, sizeof(name), "%.*s", (int)strcspn(at, ","), at);
			if (strcmp(name, "return") == 0 || is_named(has, name))
				continue;
			rule->warned = true;
			msg_warn("--args %s: %s has no argument '%s'%s%s", rule->text, function, name, *has ? ", but " : "", has);
		}
	}
}

const struct args_function *args_of(struct args *a, const struct inj_object *o, uint64_t addr, const char *name)
{
	struct args_wanted w = { .rule = a->rule, .nrules = a->nrules, .matches = calloc(a->nrules, sizeof(bool)) };
	struct args_function *f = calloc(1, sizeof(*f));
	char has[512] = "";
	const struct args_file *file;
	Dwarf_Die die;
	bool done = false;

	if (f && w.matches && array_room(a->function, a->room_functions, a->nfunctions + 1) && match_rules(a, o, addr, name, &w)) {
		file = file_of(a, o);
		if (file && args_file_function(file, addr, &die)) {
			done = args_function(&die, addr, name, &w, f, has, sizeof(has));
			warn_names(a, &w, name, has);
		}
	}
	free(w.matches);
	if (f && (!done || !(f->values.entered.n || f->values.returned.n))) {
		free_function(f);
		return NULL;
	}
	if (f)
		a->function[a->nfunctions++] = f;
	return f;
}
