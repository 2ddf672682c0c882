// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which scopes of debug information an address of code is in: the function, inlined ones, blocks.
 *
 * dwarf_getscopes() goes through all of the unit for each address, which takes milliseconds where a unit is a whole program, and gives
 * what an inlined function is declared in, not what it is inlined into, whose frame its code uses.  Here the functions of a
 * unit are put in order by address once.
 */
#include <dwarf.h>
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/search.h"

/* A range of a function's code. */
struct code {
	uint64_t begin, end;
	Dwarf_Die function;
};

struct nm_unit_code {
	const void *unit;
	struct code *v; /* by address */
	size_t n, room;
	bool failed;
};

static void add_ranges(struct nm_unit_code *u, Dwarf_Die *function)
{
	uint64_t base, begin, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(function, at, &base, &begin, &end)) > 0) {
		if (!array_room(u->v, u->room, u->n + 1)) {
			u->failed = true;
			return;
		}
		u->v[u->n++] = (struct code){ begin, end, *function };
	}
}

/* Functions are in namespaces and modules, too, and in functions. */
static void add_functions(struct nm_unit_code *u, Dwarf_Die *parent, unsigned int depth)
{
	Dwarf_Die die;

	if (depth > NM_DEPTH || dwarf_child(parent, &die) != 0)
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
			add_ranges(u, &die);
			add_functions(u, &die, depth + 1);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			add_functions(u, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static int by_begin(const void *left, const void *right)
{
	const struct code *a = left, *b = right;

	return a->begin < b->begin ? -1 : a->begin > b->begin;
}

/* NULL: no memory. */
static const struct nm_unit_code *code_of(struct nm_scopes *s, Dwarf_Die *unit)
{
	struct nm_unit_code *u;

	for (size_t i = 0; i < s->nunits; i++)
		if (s->units[i].unit == unit->addr)
			return &s->units[i];
	if (!array_room(s->units, s->room, s->nunits + 1))
		return NULL;
	u = &s->units[s->nunits];
	*u = (struct nm_unit_code){ .unit = unit->addr };
	add_functions(u, unit, 0);
	if (u->failed) {
		free(u->v);
		return NULL;
	}
	if (u->n)
		qsort(u->v, u->n, sizeof(*u->v), by_begin);
	s->nunits++;
	return u;
}

static bool is_scope(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_try_block || tag == DW_TAG_catch_block;
}

static bool find_within(Dwarf_Die *scope, uint64_t pc, Dwarf_Die *within)
{
	if (dwarf_child(scope, within) != 0)
		return false;
	do {
		if (is_scope(within) && dwarf_haspc(within, pc) > 0)
			return true;
	} while (dwarf_siblingof(within, within) == 0);
	return false;
}

static void find_scopes(struct nm_scopes *s, Dwarf_Die function, uint64_t pc)
{
	Dwarf_Die die = function;

	s->n = 0;
	do {
		if (!array_room(s->v, s->room_v, (size_t)s->n + 1))
			return;
		/* the innermost is the first */
		for (int i = s->n++; i > 0; i--)
			s->v[i] = s->v[i - 1];
		s->v[0] = die;
	} while (s->n <= NM_DEPTH && find_within(&s->v[0], pc, &die));
}

Dwarf_Die *nm_scopes_at(struct nm_file *f, uint64_t in_file, uint64_t *bias, int *n)
{
	struct nm_scopes *s = nm_file_scopes(f);
	Dwarf_Die *unit = nm_file_unit(f, in_file, bias);
	const struct nm_unit_code *u;
	uint64_t pc;
	size_t at;

	*n = 0;
	if (!unit)
		return NULL;
	pc = in_file - *bias;
	if (s->n && s->unit == unit->addr && s->pc == pc) {
		*n = s->n;
		return s->v;
	}
	u = code_of(s, unit);
	if (!u)
		return NULL;
	at = search_first(i, u->n, u->v[i].begin > pc);
	if (at == 0 || pc >= u->v[at - 1].end)
		return NULL;
	s->unit = unit->addr;
	s->pc = pc;
	find_scopes(s, u->v[at - 1].function, pc);
	*n = s->n;
	return s->n ? s->v : NULL;
}

void nm_scopes_free(struct nm_scopes *s)
{
	for (size_t i = 0; i < s->nunits; i++)
		free(s->units[i].v);
	free(s->units);
	free(s->v);
}
