/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What if types were laid out in another way (analysis/names/layout.h)?  Each access is named, and made to where that variable or block would have what it
 * accesses: in its place, or in an array of members that were taken out of it, elsewhere.  Blocks of the heap that are padded are found like that, too: all
 * of a name are one after another, elsewhere.
 */
#include "launcher/sharing/sharing.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define ELSEWHERE UINT64_C(0x5000000000000000) /* neither programs nor what is padded have memory there */
#define APART 40 /* bits of addresses for each array */

/* By the index of variables, and made when they are accessed first. */
struct sharing_layout {
	bool made;
	struct nm_layout *layout; /* NULL: nothing changes, or: */
	const struct sharing_pad *pad;
	struct pool {
		uint64_t base, used;
	} *pool; /* for each of its arrays: those of all blocks, one after the other; of a pad: all blocks */
};

/* A variable or block that changes. */
struct sharing_block {
	uint64_t begin, size;
	const struct nm_variable *v;
	const struct nm_layout *layout;
	const struct sharing_pad *pad; /* in place of that */
	uint64_t *base; /* of its arrays; of a pad: of itself */
};

bool sharing_layouts_parse(struct sharing_layouts *l, const char *text, bool soa)
{
	const char *dot = soa ? NULL : strrchr(text, '.');
	struct nm_change c = { .what = soa ? NM_SOA : NM_SPLIT };

	if (!*text || (!soa && (!dot || dot == text || !dot[1])) || !array_room(l->v, l->room, l->n + 1))
		return false;
	c.type = soa ? strdup(text) : strndup(text, (size_t)(dot - text));
	c.member = dot ? strdup(dot + 1) : NULL;
	if (!c.type || (dot && !c.member)) {
		free((char *)c.type);
		free((char *)c.member);
		return false;
	}
	l->v[l->n++] = c;
	return true;
}

void sharing_layouts_end_rank(struct sharing_layouts *l)
{
	for (size_t i = 0; i < l->nvariables; i++) {
		nm_layout_free(l->variable[i].layout);
		free(l->variable[i].pool);
	}
	for (size_t i = 0; i < l->nblocks; i++)
		free(l->block[i].base);
	free(l->table);
	l->table = NULL;
	l->nvariables = l->nblocks = l->slots = 0;
}

void sharing_layouts_free(struct sharing_layouts *l)
{
	sharing_layouts_end_rank(l);
	for (size_t i = 0; i < l->n; i++) {
		free((char *)l->v[i].type);
		free((char *)l->v[i].member);
	}
	free(l->v);
	free(l->variable);
	free(l->block);
	free(l->batch);
}

/* ---- variables and blocks ---- */

/* *pad NULL: it is none of these.  False: no memory. */
static bool find_pad(struct sharing_pads *pads, const struct nm_place *place, const struct sharing_pad **pad)
{
	char *name;

	*pad = NULL;
	if (!pads->blocks || place->name->variable->kind != NM_HEAP)
		return true;
	name = sharing_whole(place);
	for (size_t i = 0; name && !*pad && i < pads->n; i++) {
		if (!pads->v[i].blocks || strcmp(pads->v[i].name, name) != 0)
			continue;
		pads->v[i].found = true;
		*pad = &pads->v[i];
	}
	free(name);
	return name;
}

/* NULL: no memory. */
static struct sharing_layout *layout_of(struct sharing_layouts *l, struct sharing_pads *pads, struct nm *nm, const struct nm_place *place)
{
	const struct nm_variable *v = place->name->variable;
	struct sharing_layout *made;
	size_t n;

	if (v->index >= l->nvariables) {
		if (!array_room(l->variable, l->room_variables, (size_t)v->index + 1))
			return NULL;
		memset(l->variable + l->nvariables, 0, (v->index + 1 - l->nvariables) * sizeof(*l->variable));
		l->nvariables = (size_t)v->index + 1;
	}
	made = &l->variable[v->index];
	if (made->made)
		return made;
	if (!nm_layout_new(nm, v, l->v, l->n, &made->layout))
		return NULL;
	if (!find_pad(pads, place, &made->pad))
		return NULL;
	l->padded |= made->layout && made->pad;
	n = made->layout ? nm_layout_arrays(made->layout) : made->pad != NULL;
	made->pool = n ? calloc(n, sizeof(*made->pool)) : NULL;
	if (n && !made->pool)
		return NULL;
	for (size_t i = 0; i < n; i++)
		made->pool[i].base = ELSEWHERE + (l->arrays++ << APART);
	made->made = true;
	return made;
}

static size_t slot_of(const struct sharing_layouts *l, uint64_t begin, uint64_t size)
{
	return hash_slot(i, l->slots, hash_word(begin ^ size << 20), !l->table[i] ||
			 (l->block[l->table[i] - 1].begin == begin && l->block[l->table[i] - 1].size == size));
}

static bool is_of(const struct nm_variable *a, const struct nm_variable *b)
{
	return a == b || (a->kind == NM_HEAP && b->kind == NM_HEAP && a->line == b->line && strcmp(a->name, b->name) == 0 &&
			  strcmp(a->scope ? a->scope : "", b->scope ? b->scope : "") == 0);
}

/* Bytes of an element of a padded block, and from one to the next. */
static uint64_t element_of(const struct sharing_block *b)
{
	return b->pad->element ? b->pad->element : b->size;
}

static uint64_t step_of(const struct sharing_block *b)
{
	return (element_of(b) + b->pad->align - 1) / b->pad->align * b->pad->align;
}

static uint64_t padded_bytes(const struct sharing_block *b)
{
	return (b->size + element_of(b) - 1) / element_of(b) * step_of(b);
}

static bool place_padded(struct sharing_block *b, struct sharing_layout *from)
{
	b->pad = from->pad;
	b->base = malloc(sizeof(*b->base));
	if (!b->base)
		return false;
	*b->base = from->pool->base + from->pool->used;
	from->pool->used += padded_bytes(b);
	return true;
}

static bool place_arrays(struct sharing_block *b, struct sharing_layout *from)
{
	const size_t n = from->layout ? nm_layout_arrays(from->layout) : 0;

	if (!from->layout)
		return place_padded(b, from);
	b->layout = from->layout;
	b->base = n ? calloc(n, sizeof(*b->base)) : NULL;
	for (size_t i = 0; b->base && i < n; i++) {
		b->base[i] = from->pool[i].base + from->pool[i].used;
		from->pool[i].used += nm_layout_array_bytes(from->layout, b->size, (uint32_t)i + 1);
	}
	return !n || b->base;
}

/* *block NULL: it is where it is.  False: no memory. */
static bool find_block(struct sharing_layouts *l, struct sharing_pads *pads, struct nm *nm, const struct nm_place *place, struct sharing_block **block)
{
	const struct nm_variable *v = place->name->variable;
	struct sharing_layout *from;
	struct sharing_block *b;
	size_t slot;

	*block = NULL;
	if (!place->size)
		return true;
	slot = l->nblocks ? slot_of(l, place->begin, place->size) : 0;
	b = l->nblocks && l->table[slot] ? &l->block[l->table[slot] - 1] : NULL;
	if (b && is_of(b->v, v)) {
		*block = b;
		return true;
	}
	from = layout_of(l, pads, nm, place);
	if (!from || (!from->layout && !from->pad))
		return from;
	if (b) { /* another one at the same address, earlier or later */
		free(b->base);
		*b = (struct sharing_block){ .begin = place->begin, .size = place->size, .v = v };
		*block = b;
		return place_arrays(b, from);
	}
	if (!array_room(l->block, l->room_blocks, l->nblocks + 1) ||
	    !hash_grow(l->table, l->slots, l->nblocks + 1, old, *old,
		       &l->table[slot_of(l, l->block[*old - 1].begin, l->block[*old - 1].size)]))
		return false;
	b = &l->block[l->nblocks];
	*b = (struct sharing_block){ .begin = place->begin, .size = place->size, .v = v };
	if (!place_arrays(b, from))
		return false;
	l->table[slot_of(l, b->begin, b->size)] = (uint32_t)++l->nblocks;
	*block = b;
	return true;
}

/* ---- accesses ---- */

static bool put(struct sharing_layouts *l, const struct mt_access *a, uint64_t addr, uint64_t size)
{
	if (!array_room(l->batch, l->room_batch, l->nbatch + 1))
		return false;
	l->batch[l->nbatch] = *a;
	l->batch[l->nbatch].addr = addr;
	l->batch[l->nbatch++].size = (uint32_t)size;
	return true;
}

/* The access to several members is one to each of them. */
static bool put_moved(struct sharing_layouts *l, const struct mt_access *a, const struct sharing_block *b)
{
	uint64_t offset = a->addr - b->begin, left = a->size;

	while (left && offset < b->size) {
		const struct nm_moved to = nm_layout_move(b->layout, b->size, offset);
		const uint64_t n = to.bytes < left ? to.bytes : left;

		if (to.array != NM_PADDING && !put(l, a, (to.array ? b->base[to.array - 1] : b->begin) + to.offset, n))
			return false;
		offset += n;
		left -= n;
	}
	return !left || put(l, a, b->begin + offset, left);
}

/* The access to several elements is one to each of them. */
static bool put_padded(struct sharing_layouts *l, const struct mt_access *a, const struct sharing_block *b)
{
	const uint64_t element = element_of(b), step = step_of(b);
	uint64_t offset = a->addr - b->begin, left = a->size;

	while (left && offset < b->size) {
		const uint64_t rest = element - offset % element, n = rest < left ? rest : left;

		if (!put(l, a, *b->base + offset / element * step + offset % element, n))
			return false;
		offset += n;
		left -= n;
	}
	return !left || put(l, a, b->begin + offset, left);
}

const struct mt_access *sharing_layouts_take(struct sharing_layouts *l, struct sharing_pads *pads, struct memnames *names,
					     const struct mt_access *v, size_t *n)
{
	struct nm_thread *t = memnames_batch(names);
	struct nm *nm = memnames_nm(names);

	l->nbatch = 0;
	for (size_t i = 0; i < *n; i++) {
		const uint64_t padded = sharing_pads_moved(pads, v[i].addr);
		struct sharing_block *b;
		struct nm_place place;

		if (!nm_find(t, &v[i], &place) || !find_block(l, pads, nm, &place, &b))
			return NULL;
		l->padded |= b && padded != v[i].addr;
		if (b && b->pad ? !put_padded(l, &v[i], b) : b ? !put_moved(l, &v[i], b) : !put(l, &v[i], padded, v[i].size))
			return NULL;
	}
	*n = l->nbatch;
	return l->nbatch ? l->batch : v;
}

bool sharing_layouts_original(const struct sharing_layouts *l, uint64_t *addr)
{
	for (const struct sharing_block *b = l->block; b < l->block + l->nblocks; b++) {
		const size_t n = b->pad ? 0 : nm_layout_arrays(b->layout);

		if (b->pad) {
			const uint64_t at = *addr - *b->base;

			if (*addr < *b->base || at >= padded_bytes(b))
				continue;
			*addr = b->begin + at / step_of(b) * element_of(b) + at % step_of(b);
			return true;
		}
		if (*addr >= b->begin && *addr - b->begin < nm_layout_bytes(b->layout, b->size)) {
			*addr = b->begin + nm_layout_back(b->layout, b->size, 0, *addr - b->begin);
			return true;
		}
		for (uint32_t i = 0; i < n; i++) {
			if (*addr < b->base[i] || *addr - b->base[i] >= nm_layout_array_bytes(b->layout, b->size, i + 1))
				continue;
			*addr = b->begin + nm_layout_back(b->layout, b->size, i + 1, *addr - b->base[i]);
			return true;
		}
	}
	return false;
}
