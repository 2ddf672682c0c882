/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What data are called: globals and statics by their address, blocks of the heap by address and time; where lines have no such name, all threads are
 * gone through for their frames and thread-local storage.
 */
#include "launcher/sharing/sharing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool has_name(const struct nm_place *place)
{
	return place->name->variable->how >= NM_BY_SYMBOL && place->name->variable->kind != NM_AMBIGUOUS;
}

static bool is_local(const struct nm_variable *v)
{
	return v->scope && (v->kind == NM_HEAP || v->kind == NM_STACK);
}

char *sharing_variable(const struct nm_place *place)
{
	const struct nm_variable *v = place->name->variable;
	char *text;

	if (!has_name(place) ||
	    asprintf(&text, "%s%s%s%s", v->name, place->name->path, is_local(v) ? " in " : "", is_local(v) ? v->scope : "") < 0)
		return NULL;
	return text;
}

char *sharing_whole(const struct nm_place *place)
{
	const struct nm_place whole = { nm_whole(place->name), place->begin, place->size };

	return sharing_variable(&whole);
}

/* False: no memory. */
static bool set_name(struct sharing_side *side, const struct nm_place *place)
{
	const struct nm_variable *v = place->name->variable;
	char *name;

	if (!has_name(place))
		return true;
	name = sharing_variable(place);
	side->kind = v->kind;
	side->of = v->index + 1;
	side->begin = place->size ? place->begin : 0;
	side->whole = v->type || v->how == NM_BY_DEBUG;
	side->variable = name;
	/* which one of an array */
	if (name && (*place->name->path ? strstr(place->name->path, "[]") != NULL : side->data != place->begin)) {
		if (asprintf(&side->variable, "%s (+%" PRIu64 ")", name, side->data - place->begin) < 0)
			side->variable = NULL;
		free(name);
	}
	return side->variable;
}

bool sharing_name(struct sharing_rows *rows, const struct sh_line *line, struct sharing_side *side, struct memnames *names)
{
	const uint64_t mask = side->use.reads | side->use.writes;
	const uint64_t at = line->address + (mask ? (uint64_t)__builtin_ctzll(mask) * sharing_grain(rows->bytes) : 0);
	const struct nm_when when = { line->pid, side->use.from, side->use.to, side->use.insn };
	struct nm_place place;

	side->data = sharing_moves_original(rows->moves, at);
	if (!names)
		return true;
	if (!nm_find_static(memnames_nm(names), side->data, 1, &place) || !set_name(side, &place))
		return false;
	return side->variable || (nm_find_block(memnames_nm(names), &when, side->data, 1, &place) && set_name(side, &place));
}

/* ---- stacks ---- */

/* False: no memory. */
static bool name_kept(const struct sharing_row *r, struct sharing_side *side, struct memnames *names)
{
	const struct nm_when when = { r->line.pid, side->use.from, side->use.to, side->use.insn };
	struct nm_place place;

	return side->variable || (nm_find_kept(memnames_nm(names), &when, side->data, 1, &place) && set_name(side, &place));
}

bool sharing_name_stacks(struct sharing_rows *rows, size_t first, struct memnames *names, const struct memtrace_thread *any)
{
	size_t n = 0;

	for (size_t i = first; i < rows->n; i++)
		n += !rows->v[i].side[0].variable || !rows->v[i].side[1].variable;
	if (!n)
		return true;
	if (!memnames_stacks(names, any->read, any->trace, sonde_trace_rank(any->trace, any->rank_index)))
		return false;
	for (size_t i = first; i < rows->n; i++)
		if (!name_kept(&rows->v[i], &rows->v[i].side[0], names) || !name_kept(&rows->v[i], &rows->v[i].side[1], names))
			return false;
	return true;
}
