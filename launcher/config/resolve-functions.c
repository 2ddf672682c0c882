/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions by patterns: in the program, or else in the libraries that it is linked with. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/message.h"
#include "launcher/config/resolve.h"
#include "launcher/select/names.h"

/* Functions that a pattern has found. */
struct hits {
	struct config_search *s;
	struct select *sel;
	const char *pattern;
	const char
		*signature; /* parameters are to be like this; NULL: they are part of the pattern, or there are none */
	size_t n;
	char *other;		/* what they are in place of that */
	size_t nrefused;	/* of the first ones of the program: that are not going to be instrumented ... */
	const char *refused;	/* ... why the last one */
};

#define LOOKED_AT 64 /* functions for which that is found out */

static const char *symbol_of(const struct anatomy *a, size_t i)
{
	size_t n;
	const struct inj_symbol *symbols = anatomy_symbols(a, i, &n);

	return n ? symbols->name : a->facts.fn[i].name;
}

/* The @i-th function of an object: its code, parts included; and if @pattern, its name for the recorder.  False: no memory. */
static bool add_function(struct config_search *s, size_t object, size_t i, bool pattern)
{
	const struct anatomy *a = s->f->v[object].anatomy;
	const struct tramp_facts *facts = &a->facts.facts;
	struct config_found *found = s->found;

	/* whatever belongs to it, it does so by way of the flow's owner: foo.cold */
	for (size_t k = 0; k < facts->nfns; k++) {
		const struct tramp_fn *fn = &facts->fns[k];

		if (k != i && !((fn->flags & TRAMP_FN_PART) && tramp_code_owner(a->code, (uint32_t)k) == i))
			continue;
		if (!config_add_range(&found->ranges, &found->nranges, &found->ranges_room, object, fn->addr,
				      fn->addr + fn->size))
			return false;
	}
	return !pattern || config_texts_add(&found->patterns, symbol_of(a, i), s->place->at);
}

char *config_function_name(struct config_object *o, size_t i)
{
	const char *symbol = symbol_of(o->anatomy, i);
	char *name = inj_demangle(symbol);

	return name ? name : strdup(symbol);
}

/* Of a pattern without parameters for a signature of C's. */
static bool fits(struct hits *h, struct config_object *o, size_t i)
{
	const char *symbol = symbol_of(o->anatomy, i);

	return !h->signature ||
	       (!function_name_is_mangled(symbol) &&
		config_has_signature(o, o->anatomy->facts.facts.fns[i].addr, symbol, h->signature, &h->other));
}

static void note_refused(struct hits *h, struct anatomy *a, size_t i)
{
	struct tramp_mirror_plan plan;
	const char *why = anatomy_plan(a, i, &plan);

	h->nrefused += why != NULL;
	h->refused = why ? why : h->refused;
}

static int add_hits(struct hits *h, size_t object, const bool *wanted)
{
	struct config_object *o = &h->s->f->v[object];

	for (size_t i = 0; i < o->anatomy->facts.facts.nfns; i++) {
		if (!wanted[i] || !fits(h, o, i))
			continue;
		h->n++;
		if (h->n <= LOOKED_AT)
			note_refused(h, o->anatomy, i);
		if (!add_function(h->s, object, i, false))
			return config_no_memory();
	}
	return 0;
}

static int find_in_program(struct hits *h, size_t *inlined)
{
	struct anatomy *a = config_anatomy(&h->s->f->v[0]);
	size_t n;
	bool *wanted = a ? anatomy_wanted(a, h->sel, SELECT_PROGRAM, &n) : NULL;
	int status = wanted ? add_hits(h, 0, wanted) : EXIT_USAGE;

	free(wanted);
	return status ? status : config_find_inlined(h->s, 0, h->sel, h->signature, inlined);
}

static int add_library_function(struct hits *h, size_t object, const struct inj_symbol *sym)
{
	struct config_found *found = h->s->found;

	h->n++;
	if (config_add_range(&found->ranges, &found->nranges, &found->ranges_room, object, sym->addr,
			     sym->addr + (sym->size ? sym->size : 1)))
		return 0;
	return config_no_memory();
}

/* By symbols alone: a look at all of a library's code takes long. */
static int find_in_library(struct hits *h, size_t object)
{
	const struct config_object *o = &h->s->f->v[object];
	const struct inj_symbol *symbols;
	struct select_file *file;
	struct inj_symtab *tab;
	int status = 0;
	size_t n;

	if (!select_object(h->sel, o->path, o->kind))
		return 0;
	if (inj_symtab_open(o->path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK)
		return 0;
	symbols = inj_symtab_all(tab, &n);
	file = select_open(h->sel, o->path, o->kind);
	if (!file)
		status = config_no_memory();
	for (size_t i = 0; !status && i < n; i++) {
		const struct inj_symbol *sym = &symbols[i];
		const struct select_function fn = {
			.addr = sym->addr, .size = sym->size, .names = &sym->name, .nnames = 1 };

		if (select_wants(file, &fn))
			status = add_library_function(h, object, sym);
	}
	select_close(file);
	inj_symtab_close(tab);
	return status;
}

static int find_in_libraries(struct hits *h)
{
	int status = config_list_libraries(h->s->f);

	for (size_t i = 1; !status && i < h->s->f->n; i++)
		status = find_in_library(h, i);
	return status;
}

/* A selection by one pattern; with @libs in libraries, too. */
static struct select *selection(const struct config_search *s, const char **pattern, bool libs, int *status)
{
	static const char *all[] = { "*" };
	const struct select_options o = { .option = "", .functions = { pattern, 1 }, .libs = { all, libs } };
	char problem[200];
	struct select *sel = select_new(&o, problem, sizeof(problem));

	if (!sel)
		*status = config_error(s->f->config, &s->place->at, "%s", problem);
	return sel;
}

static int not_found(const struct hits *h, const struct select *sel)
{
	const struct config_search *s = h->s;
	char text[SELECT_MISS_TEXT] = "no such function";
	struct select_miss miss;
	size_t at = 0;

	if (h->other)
		return config_error(s->f->config, &s->place->at, "%s: its parameters are others: %s", s->place->name,
				    h->other);
	if (select_next_miss(sel, &at, &miss))
		select_miss_text(&miss, text, sizeof(text));
	return config_error(s->f->config, &s->place->at, "%s", text);
}

/* The note of a function that was inlined: the one after which only numbers were noted. */
static const char *inlined_note(const struct config_texts *notes)
{
	size_t i = notes->n;

	while (i > 1 && !strstr(notes->v[i - 1], ": inlined into "))
		i--;
	return notes->v[i - 1];
}

/* Calls of inlined code are not made. */
static int check_inlined(const struct hits *h, size_t inlined, const struct config_texts *notes)
{
	const struct config_search *s = h->s;
	bool calls = config_about[s->entry->type].needs & CONFIG_CALLS;

	if (!calls || !inlined)
		return 0;
	if (!h->n)
		return config_error(s->f->config, &s->place->at,
				    "%s, so nothing calls it; compile it with __attribute__((noinline)), or take "
				    "block-counter for its code",
				    inlined_note(notes));
	msg_warn("%s: line %zu: %s, too: that is no call, and not recorded", s->f->config->path, s->place->at.line,
		 inlined_note(notes));
	return 0;
}

/* Looks for @pattern in the program and, unless it is there, in libraries. */
static int find_pattern(struct hits *h, size_t *inlined)
{
	int status = 0;
	bool elsewhere;

	h->sel = selection(h->s, &h->pattern, false, &status);
	if (!h->sel)
		return status;
	elsewhere = select_needs_libraries(h->sel, h->s->f->v[0].path);
	if (!elsewhere)
		status = find_in_program(h, inlined);
	else
		status = find_in_libraries(h);
	return status;
}

static int add_pattern(struct hits *h, const char *lib)
{
	char *pattern;
	int status = 0;

	if (asprintf(&pattern, "%s%s%s", h->pattern, lib ? "@" : "", lib ? lib : "") < 0)
		return config_no_memory();
	if (h->n && !config_texts_add(&h->s->found->patterns, pattern, h->s->place->at))
		status = config_no_memory();
	free(pattern);
	return status;
}

/* The file of the last function that was found, as a pattern has it. */
static const char *library_of(const struct hits *h)
{
	const struct config_found *found = h->s->found;

	return strrchr(h->s->f->v[found->ranges[found->nranges - 1].object].path, '/') + 1;
}

static int note_functions(struct hits *h, const char *lib)
{
	char but[256] = "";

	if (h->nrefused)
		snprintf(but, sizeof(but), "; %zu cannot be instrumented: %s", h->nrefused, h->refused);
	if (!h->n || config_note(h->s, "%s: %zu function%s%s%s%s", h->pattern, h->n, h->n == 1 ? "" : "s",
				 lib ? " of " : "", lib ? lib : "", but))
		return 0;
	return config_no_memory();
}

static void end_hits(struct hits *h)
{
	select_free(h->sel);
	free(h->other);
}

/* "f(int)" of C, whose symbols have no parameters. */
static int find_bare(struct config_search *s, struct hits *h, size_t *inlined)
{
	const char *name = s->place->name, *params = *name == '/' ? NULL : function_name_params(name);
	struct hits bare = { .s = s, .signature = name };
	char *text;
	int status;

	if (!params)
		return 0;
	text = strndup(name, (size_t)(params - name));
	if (!text)
		return config_no_memory();
	bare.pattern = text;
	status = find_pattern(&bare, inlined);
	if (!status)
		status = add_pattern(&bare, NULL);
	if (!status)
		status = note_functions(&bare, NULL);
	h->n = bare.n;
	h->other = bare.other;
	bare.other = NULL;
	end_hits(&bare);
	free(text);
	return status;
}

int config_find_function(struct config_search *s)
{
	struct hits h = { .s = s, .pattern = s->place->name }, lib = h;
	size_t inlined = 0;
	int status = find_pattern(&h, &inlined);

	if (!status && h.n + inlined) {
		status = add_pattern(&h, NULL);
		if (!status)
			status = note_functions(&h, NULL);
	} else if (!status) {
		status = find_bare(s, &h, &inlined);
		if (!status && !h.n && !inlined && !h.other && !strchr(h.pattern, '@')) {
			lib.sel = selection(s, &lib.pattern, true, &status);
			if (lib.sel)
				status = find_in_libraries(&lib);
			if (!status && lib.n)
				status = add_pattern(&lib, library_of(&lib));
			if (!status && lib.n)
				status = note_functions(&lib, library_of(&lib));
		}
	}
	if (!status && !h.n && !inlined && !lib.n)
		status = not_found(&h, h.sel);
	if (!status)
		status = check_inlined(&h, inlined, &s->found->notes);
	end_hits(&h);
	end_hits(&lib);
	return status;
}
