/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/cache/shadow.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

void cache_shadow_free(struct cache_shadow *s)
{
	free(s->lines);
	free(s->table);
	*s = (struct cache_shadow){ .most = s->most };
}

static size_t slot_of(const struct cache_shadow *s, uint64_t line)
{
	return hash_slot(i, s->slots, hash_word(line), !s->table[i] || s->lines[s->table[i] - 1].line == line);
}

/* ---- the list ---- */

static struct cache_shadow_line *at(struct cache_shadow *s, uint32_t i)
{
	return &s->lines[i - 1];
}

static bool is_there(struct cache_shadow *s, uint32_t i)
{
	return at(s, i)->newer != i;
}

static void take_out(struct cache_shadow *s, uint32_t i)
{
	struct cache_shadow_line *line = at(s, i);

	*(line->newer ? &at(s, line->newer)->older : &s->newest) = line->older;
	*(line->older ? &at(s, line->older)->newer : &s->oldest) = line->newer;
	line->newer = i;
	s->has--;
}

static void put_in(struct cache_shadow *s, uint32_t i)
{
	struct cache_shadow_line *line = at(s, i);

	if (s->has == s->most)
		take_out(s, s->oldest);
	line->newer = 0;
	line->older = s->newest;
	*(s->newest ? &at(s, s->newest)->newer : &s->oldest) = i;
	s->newest = i;
	s->has++;
}

/* ---- lines ---- */

/* 0: no memory. */
static uint32_t add(struct cache_shadow *s, uint64_t line)
{
	if (s->n >= UINT32_MAX - 1 || !array_room(s->lines, s->room, s->n + 1) ||
	    !hash_grow(s->table, s->slots, s->n + 1, old, *old, &s->table[slot_of(s, s->lines[*old - 1].line)]))
		return 0;
	s->lines[s->n] = (struct cache_shadow_line){ .line = line, .newer = (uint32_t)s->n + 1 };
	s->table[slot_of(s, line)] = (uint32_t)++s->n;
	return (uint32_t)s->n;
}

enum cache_shadow_was cache_shadow_use(struct cache_shadow *s, uint64_t line, enum cache_shadow_then then)
{
	uint32_t i = s->n ? s->table[slot_of(s, line)] : 0;
	enum cache_shadow_was was = CACHE_SHADOW_NEW;

	if (i)
		was = is_there(s, i) ? CACHE_SHADOW_THERE : CACHE_SHADOW_OUT;
	else if (!(i = add(s, line)))
		return CACHE_SHADOW_FAILED;
	if (was == CACHE_SHADOW_THERE)
		take_out(s, i);
	if (then == CACHE_SHADOW_IN || (then == CACHE_SHADOW_LEAVE && was == CACHE_SHADOW_THERE))
		put_in(s, i);
	return was;
}
