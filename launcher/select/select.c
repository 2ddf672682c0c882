/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/select/select.h"
#include "base/array.h"
#include "base/path.h"
#include "launcher/select/linecode.h"
#include "launcher/select/state.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A pattern as it is for one file. */
struct applied {
	struct pattern *p;
	uint64_t *addrs; /* LINE: code of that line */
	size_t naddrs;
};

struct select_file {
	struct select_file *next; /* of select_wants_in() */
	char *path;
	struct linecode *code; /* NULL: no pattern asks for a line */
	struct select *sel;
	struct applied *wanted, *excluded;
	size_t nwanted, nexcluded;
};

/* ---- all of it ---- */

static bool parse_all(struct pattern_list *list, const struct opt_list *texts, char *problem, size_t size)
{
	for (size_t i = 0; i < texts->n; i++) {
		if (!pattern_parse(list, texts->v[i], problem, size))
			return false;
	}
	return true;
}

static bool take_libs(struct select *sel, const struct opt_list *libs, char *problem, size_t size)
{
	sel->libs = calloc(libs->n + 1, sizeof(*sel->libs));
	if (!sel->libs) {
		snprintf(problem, size, "out of memory");
		return false;
	}
	for (size_t i = 0; i < libs->n; i++) {
		if (!libs->v[i][0]) {
			snprintf(problem, size, "--libs: an empty name");
			return false;
		}
		sel->libs[sel->nlibs++].glob = libs->v[i];
	}
	return true;
}

struct select *select_new(const struct select_options *o, char *problem, size_t size)
{
	struct select *sel = calloc(1, sizeof(*sel));

	if (!sel) {
		snprintf(problem, size, "out of memory");
		return NULL;
	}
	sel->option = o->option ? o->option : "-F";
	sel->trace = o->trace;
	sel->min_size = o->min_size;
	sel->guess = o->guess;
	if (parse_all(&sel->wanted, &o->functions, problem, size) &&
	    parse_all(&sel->excluded, &o->excluded, problem, size) &&
	    take_libs(sel, &o->libs, problem, size))
		return sel;
	select_free(sel);
	return NULL;
}

void select_options_free(struct select_options *o)
{
	opt_list_free(&o->functions);
	opt_list_free(&o->excluded);
	opt_list_free(&o->libs);
}

void select_free(struct select *sel)
{
	if (!sel)
		return;
	while (sel->files) {
		struct select_file *next = sel->files->next;

		select_close(sel->files);
		sel->files = next;
	}
	linecode_kept_free(sel->kept);
	pattern_list_free(&sel->wanted);
	pattern_list_free(&sel->excluded);
	free(sel->libs);
	free(sel);
}

/* ---- files ---- */

static bool in_libs(struct select *sel, const char *file)
{
	bool found = false;

	for (size_t i = 0; i < sel->nlibs; i++) {
		if (!pattern_lib_is(sel->libs[i].glob, file))
			continue;
		sel->libs[i].hit = true;
		found = true;
	}
	return found;
}

static bool lib_applies(struct pattern *p, const char *file, enum select_kind kind)
{
	if (!pattern_lib_is(p->lib, file))
		return false;
	if (kind == SELECT_LINKER && strncmp(p->lib, "ld", 2) != 0)
		return false;
	p->lib_seen = true;
	return true;
}

bool select_object(struct select *sel, const char *path, enum select_kind kind)
{
	const char *file = path_basename(path);
	bool everywhere = kind == SELECT_PROGRAM || (kind == SELECT_LIBRARY && in_libs(sel, file));
	bool wanted = false;

	for (size_t i = 0; i < sel->wanted.n; i++) {
		struct pattern *p = &sel->wanted.v[i];

		wanted |= p->lib ? lib_applies(p, file, kind) : everywhere;
	}
	for (size_t i = 0; i < sel->excluded.n; i++) {
		if (sel->excluded.v[i].lib)
			lib_applies(&sel->excluded.v[i], file, kind);
	}
	return wanted;
}

/* ---- one file ---- */

static size_t apply(struct applied *out, struct pattern_list *list, bool everywhere, const char *file,
		    enum select_kind kind)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		struct pattern *p = &list->v[i];

		if (p->lib ? lib_applies(p, file, kind) : everywhere)
			out[n++].p = p;
	}
	return n;
}

static void resolve_lines(struct select_file *f, struct applied *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct pattern *p = v[i].p;
		enum select_why why;

		if (p->kind != PATTERN_LINE)
			continue;
		if (!f->code)
			f->code = linecode_open(f->path, f->sel->trace, &f->sel->kept);
		if (!f->code)
			return;
		why = linecode_find(f->code, p->body, p->line, &v[i].addrs, &v[i].naddrs);
		if (why > p->why)
			p->why = why;
	}
}

struct select_file *select_open(struct select *sel, const char *path, enum select_kind kind)
{
	struct select_file *f = calloc(1, sizeof(*f));
	const char *file = path_basename(path);
	bool in = kind == SELECT_PROGRAM || (kind == SELECT_LIBRARY && in_libs(sel, file));

	if (!f)
		return NULL;
	f->sel = sel;
	f->path = strdup(path);
	f->wanted = calloc(sel->wanted.n + 1, sizeof(*f->wanted));
	f->excluded = calloc(sel->excluded.n + 1, sizeof(*f->excluded));
	if (!f->path || !f->wanted || !f->excluded) {
		select_close(f);
		return NULL;
	}
	f->nwanted = apply(f->wanted, &sel->wanted, in, file, kind);
	f->nexcluded = apply(f->excluded, &sel->excluded, true, file, kind);
	resolve_lines(f, f->wanted, f->nwanted);
	resolve_lines(f, f->excluded, f->nexcluded);
	return f;
}

void select_close(struct select_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->nwanted; i++)
		free(f->wanted[i].addrs);
	for (size_t i = 0; i < f->nexcluded; i++)
		free(f->excluded[i].addrs);
	free(f->wanted);
	free(f->excluded);
	free(f->path);
	linecode_close(f->code);
	free(f);
}

/* ---- one function ---- */

static bool holds_line(const struct applied *a, const struct select_function *fn)
{
	for (size_t i = 0; i < a->naddrs; i++) {
		if (a->addrs[i] - fn->addr < fn->size)
			return true;
	}
	return false;
}

static bool matches(const struct applied *a, const struct select_function *fn, struct function_name *names)
{
	if (a->p->kind == PATTERN_LINE)
		return holds_line(a, fn);
	for (size_t i = 0; i < fn->nnames; i++) {
		if (pattern_matches(a->p, &names[i]))
			return true;
	}
	return false;
}

/* What is decided already is asked only for the sake of those that wait for their first hit. */
static bool any_matches(struct applied *v, size_t n, const struct select_function *fn,
			struct function_name *names)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		if ((any && v[i].p->hit) || !matches(&v[i], fn, names))
			continue;
		v[i].p->hit = true;
		any = true;
	}
	return any;
}

static bool is_large(struct select *sel, uint64_t size)
{
	const bool large = size >= sel->min_size;

	sel->any |= large;
	sel->small |= !large;
	return large;
}

bool select_wants(struct select_file *f, const struct select_function *fn)
{
	struct function_name few[4] = { 0 }, *names = few;

	if (fn->nnames > sizeof(few) / sizeof(few[0]))
		names = calloc(fn->nnames, sizeof(*names));
	if (!names)
		return false;
	for (size_t i = 0; i < fn->nnames; i++)
		names[i].symbol = fn->names[i];
	bool wanted = any_matches(f->wanted, f->nwanted, fn, names);
	bool excluded = any_matches(f->excluded, f->nexcluded, fn, names);
	for (size_t i = 0; i < fn->nnames; i++)
		function_name_free(&names[i]);
	if (names != few)
		free(names);
	return wanted && !excluded && is_large(f->sel, fn->size);
}

/* ---- near names ---- */

static void note_near(struct applied *v, size_t n, struct function_name *name)
{
	for (size_t i = 0; i < n; i++) {
		v[i].p->searched = true;
		if (!v[i].p->hit)
			pattern_note_near(v[i].p, name);
	}
}

static bool all_have_hits(const struct applied *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!v[i].p->hit)
			return false;
	return true;
}

void select_note_near(struct select_file *f, const struct select_function *fn)
{
	if (all_have_hits(f->wanted, f->nwanted) && all_have_hits(f->excluded, f->nexcluded))
		return;
	for (size_t k = 0; k < fn->nnames; k++) {
		struct function_name name = { .symbol = fn->names[k] };

		note_near(f->wanted, f->nwanted, &name);
		note_near(f->excluded, f->nexcluded, &name);
		function_name_free(&name);
	}
}

/* ---- files in any order ---- */

static struct select_file *file_of(struct select *sel, const char *path)
{
	struct select_file *f = sel->files;

	while (f && strcmp(f->path, path) != 0)
		f = f->next;
	if (!f) {
		f = select_open(sel, path, SELECT_PROGRAM);
		if (!f)
			return NULL;
		f->next = sel->files;
		sel->files = f;
	}
	return f;
}

static bool asks_for_lines(const struct applied *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].naddrs)
			return true;
	return false;
}

/* Traces do not tell how long a function is where they tell what it is called. */
static uint64_t size_of(struct select_file *f, const struct select_function *fn)
{
	if (fn->size || (!asks_for_lines(f->wanted, f->nwanted) && !asks_for_lines(f->excluded, f->nexcluded)))
		return fn->size;
	return linecode_size(f->code, fn->addr);
}

bool select_wants_in(struct select *sel, const char *path, const struct select_function *fn)
{
	struct select_file *f = sel ? file_of(sel, path) : NULL;

	if (!f)
		return !sel;
	struct select_function sized = *fn;
	sized.size = size_of(f, fn);
	bool wanted = select_wants(f, &sized);
	select_note_near(f, fn);
	return wanted;
}

bool select_needs_libraries(const struct select *sel, const char *path)
{
	for (size_t i = 0; i < sel->wanted.n; i++) {
		const char *lib = sel->wanted.v[i].lib;

		if (lib && !pattern_lib_is(lib, path_basename(path)))
			return true;
	}
	return false;
}

bool select_asks_names(const struct select *sel)
{
	for (size_t i = 0; i < sel->wanted.n; i++)
		if (sel->wanted.v[i].kind != PATTERN_ALL)
			return true;
	return sel->excluded.n != 0;
}

/* ---- all functions of a file ---- */

struct marking {
	struct select_file *file;
	const struct inj_codefacts *facts;
	const struct inj_symbol *syms;
	size_t nsyms, at; /* syms[at] is the first one that is not before the function */
	const char **names;
	size_t room;
};

/* All symbols of its address; if there is none, the name that the facts have. */
static bool names_of(struct marking *m, size_t i, struct select_function *fn)
{
	size_t n = 0;

	while (m->at < m->nsyms && m->syms[m->at].addr < fn->addr)
		m->at++;
	for (size_t k = m->at; k < m->nsyms && m->syms[k].addr == fn->addr; k++) {
		if (!array_room(m->names, m->room, n + 1))
			return false;
		m->names[n++] = m->syms[k].name;
	}
	fn->names = n ? m->names : &m->facts->fn[i].name;
	fn->nnames = n ? n : 1;
	return true;
}

/* Names of parts say nothing; a line in one chooses the function that it belongs to. */
static void mark_parent(struct marking *m, const struct tramp_fn *part, bool *wanted)
{
	const struct select_function fn = { .addr = part->addr, .size = part->size };

	if (part->parent < m->facts->facts.nfns &&
	    any_matches(m->file->wanted, m->file->nwanted, &fn, NULL) &&
	    is_large(m->file->sel, m->facts->facts.fns[part->parent].size))
		wanted[part->parent] = true;
}

/* Patterns for names of functions: whether there were any, and if not, why. */
static void note_searched(struct applied *v, size_t n, const struct inj_codefacts *facts, size_t nsyms)
{
	for (size_t i = 0; i < n; i++) {
		struct pattern *p = v[i].p;

		if (p->kind == PATTERN_LINE)
			continue;
		p->searched |= facts->facts.nfns != 0;
		p->named |= nsyms != 0;
		p->why = facts->go		       ? SELECT_GO_STRIPPED
			 : facts->facts.nfns && !nsyms ? SELECT_STRIPPED
						       : SELECT_NO_SYMBOLS;
	}
}

static ssize_t mark_all(struct marking *m, bool *wanted)
{
	const struct tramp_facts *facts = &m->facts->facts;
	ssize_t n = 0;

	memset(wanted, 0, facts->nfns * sizeof(*wanted));
	for (size_t i = 0; i < facts->nfns; i++) {
		const struct tramp_fn *t = &facts->fns[i];
		struct select_function fn = { .addr = t->addr, .size = t->size };

		if (t->flags & TRAMP_FN_PART || (m->facts->fn[i].flags & INJ_FN_GUESSED && !m->file->sel->guess))
			continue;
		if (!names_of(m, i, &fn))
			return -1;
		wanted[i] = select_wants(m->file, &fn);
	}
	for (size_t i = 0; i < facts->nfns; i++) {
		if (facts->fns[i].flags & TRAMP_FN_PART)
			mark_parent(m, &facts->fns[i], wanted);
	}
	for (size_t i = 0; i < facts->nfns; i++)
		n += wanted[i];
	return n;
}

ssize_t select_mark(struct select *sel, const char *path, enum select_kind kind,
		    const struct inj_codefacts *facts, const struct inj_symtab *tab, bool *wanted)
{
	struct marking m = { .file = select_open(sel, path, kind), .facts = facts };
	ssize_t n = -1;

	if (!m.file)
		return -1;
	if (tab)
		m.syms = inj_symtab_all(tab, &m.nsyms);
	note_searched(m.file->wanted, m.file->nwanted, facts, m.nsyms);
	n = mark_all(&m, wanted);
	for (size_t i = 0; i < m.nsyms; i++)
		select_note_near(m.file, &(struct select_function){ .names = &m.syms[i].name, .nnames = 1 });
	select_close(m.file);
	free(m.names);
	return n;
}
