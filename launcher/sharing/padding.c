/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What if: the same accesses, some of them to other addresses.  Elements of a variable go to a place where nothing else is, each to a multiple of
 * so many bytes; all else stays where it is.
 */
#include "launcher/sharing/sharing.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define ELSEWHERE UINT64_C(0x4000000000000000) /* no program has memory there */
#define APART 40 /* bits of addresses for each place */

/* In memory: elements from `begin` on. */
struct sharing_place {
	uint64_t begin, end, element, step;
};

/* ---- options ---- */

static bool number(const char *text, char **end, uint64_t *n)
{
	errno = 0;
	*n = strtoull(text, end, 10);
	return *end != text && !errno && *text >= '0' && *text <= '9';
}

bool sharing_pads_parse(struct sharing_pads *pads, const char *text, unsigned int line)
{
	const char *colon = strrchr(text, ':'), *slash;
	struct sharing_pad pad = { .align = line };
	size_t n = strlen(text);
	char *end;

	if (colon && colon > text && colon[-1] != ':' && colon[1] >= '0' && colon[1] <= '9') {
		if (!number(colon + 1, &end, &pad.align) || *end || pad.align > UINT32_MAX)
			return false;
		n = (size_t)(colon - text);
	}
	slash = memrchr(text, '/', n);
	if (slash && slash[1] >= '0' && slash[1] <= '9') {
		if (!number(slash + 1, &end, &pad.element) || end != text + n || !pad.element || pad.element > UINT32_MAX)
			return false;
		n = (size_t)(slash - text);
	}
	if (!n || pad.align < 1 || pad.align & (pad.align - 1) || !array_room(pads->v, pads->room, pads->n + 1))
		return false;
	pad.name = strndup(text, n);
	if (!pad.name)
		return false;
	pad.blocks = strstr(pad.name, " in ") != NULL;
	pads->blocks |= pad.blocks;
	pads->v[pads->n++] = pad;
	return true;
}

void sharing_pads_free(struct sharing_pads *pads)
{
	for (size_t i = 0; i < pads->n; i++)
		free(pads->v[i].name);
	free(pads->v);
	free(pads->places);
	free(pads->batch);
}

/* ---- where variables are ---- */

/* How many elements the first dimension of a type has; 1: it is no array. */
static uint64_t elements(const char *type)
{
	const char *at = type ? strchr(type, '[') : NULL;
	char *end;
	uint64_t n;

	return at && number(at + 1, &end, &n) && *end == ']' && n ? n : 1;
}

/* A field, or one that is an array whose elements are there; neither is in an array itself. */
static bool is_field(const char *path, bool *array)
{
	const char *at = strstr(path, "[]");

	*array = at;
	return *path == '.' && (!at || !at[2]);
}

/* The part of a variable that @pad names, that has @place; false: it does not. */
static bool part_of(const struct sharing_pad *pad, const struct nm_place *place, struct sharing_place *to)
{
	const struct nm_variable *v = place->name->variable;
	char *name = sharing_variable(place);
	const bool whole = strcmp(v->name, pad->name) == 0;
	bool array, part = !whole && name && strcmp(name, pad->name) == 0 && is_field(place->name->path, &array) && place->name->size;

	free(name);
	if ((!whole && !part) || v->how < NM_BY_SYMBOL || !place->size)
		return false;
	*to = (struct sharing_place){ .begin = place->begin, .end = place->begin + place->size };
	if (part) {
		to->begin += place->name->offset;
		to->element = place->name->size;
		to->end = array ? to->end : to->begin + to->element;
	} else {
		to->element = place->size / elements(v->type);
	}
	to->element = pad->element ? pad->element : to->element;
	to->element = to->element ? to->element : place->size;
	to->step = (to->element + pad->align - 1) / pad->align * pad->align;
	return true;
}

static bool add_place(struct sharing_pads *pads, const struct sharing_place *place)
{
	for (size_t i = 0; i < pads->nplaces; i++)
		if (pads->places[i].begin == place->begin)
			return true;
	if (!array_room(pads->places, pads->room_places, pads->nplaces + 1))
		return false;
	pads->places[pads->nplaces++] = *place;
	return true;
}

static bool find_in(struct sharing_pads *pads, const struct sharing_pad *pad, const struct sh_line *line, struct memnames *names,
		    unsigned int each, bool *found)
{
	for (size_t i = 0; i < line->nuses; i++) {
		uint64_t mask = line->uses[i].reads | line->uses[i].writes;

		for (; mask; mask &= mask - 1) {
			const uint64_t at = line->address + (uint64_t)__builtin_ctzll(mask) * each;
			struct sharing_place place;
			struct nm_place named;

			if (!memnames_static(names, at, 1, &named))
				return false;
			if (!part_of(pad, &named, &place))
				continue;
			*found = true;
			if (!add_place(pads, &place))
				return false;
		}
	}
	return true;
}

const char *sharing_pads_find(struct sharing_pads *pads, const struct sh *s, struct memnames *names, unsigned int each)
{
	const struct sh_line *line;

	pads->nplaces = 0;
	for (size_t i = 0; i < pads->n; i++) {
		bool found = pads->v[i].blocks; /* these are found when they are accessed */

		for (size_t k = 0; !pads->v[i].blocks && (line = sh_line(s, k)); k++)
			if (!find_in(pads, &pads->v[i], line, names, each, &found))
				return "";
		if (!found)
			return pads->v[i].name;
	}
	return NULL;
}

/* ---- accesses ---- */

uint64_t sharing_pads_moved(const struct sharing_pads *pads, uint64_t addr)
{
	for (size_t i = 0; i < pads->nplaces; i++) {
		const struct sharing_place *p = &pads->places[i];
		const uint64_t at = addr - p->begin;

		if (addr >= p->begin && addr < p->end)
			return ELSEWHERE + ((uint64_t)i << APART) + at / p->element * p->step + at % p->element;
	}
	return addr;
}

bool sharing_pads_original(const struct sharing_pads *pads, uint64_t *addr)
{
	const uint64_t i = (*addr - ELSEWHERE) >> APART;
	const struct sharing_place *p = *addr >= ELSEWHERE && i < pads->nplaces ? &pads->places[i] : NULL;
	const uint64_t at = p ? *addr - ELSEWHERE - (i << APART) : 0;

	if (p)
		*addr = p->begin + at / p->step * p->element + at % p->step;
	return p;
}

const struct mt_access *sharing_pads_take(struct sharing_pads *pads, const struct mt_access *v, size_t n)
{
	if (!pads->nplaces)
		return v;
	if (!array_room(pads->batch, pads->room_batch, n))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		pads->batch[i] = v[i];
		pads->batch[i].addr = sharing_pads_moved(pads, v[i].addr);
	}
	return pads->batch;
}
