// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/search.h"

/* ---- what is interned ---- */

bool nm_field_add(struct nm *nm, struct nm_field *field)
{
	if (nm->nfields >= UINT32_MAX || !array_room(nm->field, nm->room_fields, nm->nfields + 1))
		return false;
	field->name.index = (uint32_t)nm->nfields;
	nm->field[nm->nfields++] = field;
	return true;
}

static bool copy(char **to, const char *from)
{
	*to = from ? strdup(from) : NULL;
	return !from || *to;
}

static void entry_free(struct nm_entry *e)
{
	free(e->name);
	free(e->scope);
	free(e->type);
	free(e->element);
	free(e->file);
	free(e->callers);
	free(e);
}

struct nm_entry *nm_entry_new(struct nm *nm, const struct nm_variable *v, Dwarf_Die *variable, bool many)
{
	struct nm_entry *e = nm->nentries < UINT32_MAX ? calloc(1, sizeof(*e)) : NULL;

	if (!e)
		return NULL;
	if (!copy(&e->name, v->name ? v->name : "") || !copy(&e->scope, v->scope) || !copy(&e->file, v->file) || !copy(&e->callers, v->callers) ||
	    (variable && (!(e->type = nm_type_name(variable, false)) || !(e->element = nm_type_name(variable, true)))) ||
	    !array_room(nm->entry, nm->room_entries, nm->nentries + 1) || !nm_root_new(nm, e, variable, many)) {
		entry_free(e);
		return NULL;
	}
	e->v = *v;
	e->v.index = (uint32_t)nm->nentries;
	e->v.name = e->name;
	e->v.scope = e->scope;
	e->v.type = e->type;
	e->v.element = e->element;
	e->v.file = e->file;
	e->v.callers = e->callers;
	nm->entry[nm->nentries++] = e;
	return e;
}

const struct nm_variable *nm_variable(const struct nm *nm, uint32_t index)
{
	return index < nm->nentries ? &nm->entry[index]->v : NULL;
}

const struct nm_name *nm_name(const struct nm *nm, uint32_t index)
{
	return index < nm->nfields ? &nm->field[index]->name : NULL;
}

const struct nm_name *nm_whole(const struct nm_name *name)
{
	const struct nm_entry *e = (const struct nm_entry *)((const char *)name->variable - offsetof(struct nm_entry, v));

	return &e->root->name;
}

/* ---- all of it ---- */

struct nm *nm_new(const struct nm_options *o)
{
	static const struct nm_variable unknown = { .kind = NM_UNKNOWN }, ambiguous = { .kind = NM_AMBIGUOUS };
	struct nm *nm = calloc(1, sizeof(*nm));

	if (!nm)
		return NULL;
	nm->o = *o;
	nm->unknown = nm_entry_new(nm, &unknown, NULL, false);
	nm->ambiguous = nm->unknown ? nm_entry_new(nm, &ambiguous, NULL, false) : NULL;
	if (nm->ambiguous)
		return nm;
	nm_free(nm);
	return NULL;
}

void nm_free(struct nm *nm)
{
	if (!nm)
		return;
	for (size_t i = 0; i < nm->nfields; i++)
		nm_field_free(nm->field[i]);
	for (size_t i = 0; i < nm->nentries; i++)
		entry_free(nm->entry[i]);
	for (size_t i = 0; i < nm->nfiles; i++)
		nm_file_free(nm->file[i]);
	for (size_t i = 0; i < nm->nsites; i++)
		free(nm->site[i].object);
	for (size_t i = 0; i < nm->room_insns; i++)
		free(nm->insn[i]);
	for (size_t i = 0; i < nm->npast; i++)
		nm_past_free(nm->past[i]);
	nm_history_free(&nm->history);
	free(nm->past);
	free(nm->site);
	free(nm->insn);
	free(nm->local);
	free(nm->pointer);
	free(nm->through);
	free(nm->typed);
	free(nm->spot);
	free(nm->field);
	free(nm->entry);
	free(nm->file);
	free(nm);
}

bool nm_add_object(struct nm *nm, const struct nm_object *o)
{
	struct nm_file *f = NULL;
	size_t at;

	for (size_t i = 0; i < nm->nfiles; i++)
		if (nm_file_is(nm->file[i], o))
			return true;
	if (!array_room(nm->file, nm->room_files, nm->nfiles + 1))
		return false;
	f = nm_file_new(nm, o);
	if (!f)
		return false;
	at = search_first(i, nm->nfiles, nm_file_begin(nm->file[i]) > nm_file_begin(f));
	memmove(nm->file + at + 1, nm->file + at, (nm->nfiles - at) * sizeof(*nm->file));
	nm->file[at] = f;
	nm->nfiles++;
	return true;
}

struct nm_file *nm_file_at(const struct nm *nm, uint64_t addr)
{
	size_t after = search_first(i, nm->nfiles, nm_file_begin(nm->file[i]) > addr);

	return after && addr < nm_file_end(nm->file[after - 1]) ? nm->file[after - 1] : NULL;
}

/* ---- places ---- */

struct nm_entry *nm_area(struct nm *nm, struct nm_entry **area, enum nm_kind kind, const char *name)
{
	const struct nm_variable v = { .kind = kind, .how = NM_BY_AREA, .name = name };

	if (!*area)
		*area = nm_entry_new(nm, &v, NULL, false);
	return *area;
}

bool nm_place_of(struct nm *nm, struct nm_entry *e, uint64_t addr, uint32_t size, struct nm_place *place, struct nm_extent *same)
{
	struct nm_field *f = NULL;

	if (e)
		f = e->root->shape == NM_LEAF ? e->root : nm_field_at(nm, e, addr - place->begin, size, same);
	if (e && e->root->shape == NM_LEAF)
		*same = (struct nm_extent){ .hi = UINT64_MAX };
	place->name = f ? &f->name : &nm->unknown->root->name;
	return f != NULL;
}

bool nm_find_static(struct nm *nm, uint64_t addr, uint32_t size, struct nm_place *place)
{
	struct nm_file *f = nm_file_at(nm, addr);
	struct nm_extent same;

	*place = (struct nm_place){ .name = &nm->unknown->root->name };
	return !f || nm_place_of(nm, nm_file_find(f, addr, &place->begin, &place->size), addr, size, place, &same);
}

const char *nm_kind_word(enum nm_kind kind)
{
	static const char *const words[NM_KINDS] = { "unknown", "ambiguous", "global", "static", "tls", "heap", "stack" };

	return words[kind];
}

const char *nm_how_word(enum nm_how how)
{
	static const char *const words[NM_HOWS] = {
		"nothing", "area", "section", "symbol", "DWARF", "allocation",
	};

	return words[how];
}
