/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LRU and FIFO keep a set's lines in order, the newest first, and its free slots at the end; the other policies leave lines
 * where they are.
 */
#include "analysis/cache/level.h"

#include <stdlib.h>

#define HOST_CACHE (32u << 10)

static bool has_words(enum cache_policy policy)
{
	return policy == CACHE_TREE_PLRU || policy == CACHE_NMRU || policy == CACHE_QLRU;
}

static bool is_list(const struct cache_state *s)
{
	return s->policy == CACHE_LRU || s->policy == CACHE_FIFO;
}

/* Room for times and hints.  So many hints that few of them are for two lines that are there. */
static bool init_hints(struct cache_state *s, uint64_t lines)
{
	unsigned int bits = 4;

	while (UINT64_C(1) << bits < 8 * lines)
		bits++;
	s->hint_shift = 64 - bits;
	s->used = calloc(lines, sizeof(*s->used));
	s->hints = calloc(UINT64_C(1) << bits, sizeof(*s->hints));
	return s->used && s->hints;
}

bool cache_state_init(struct cache_state *s, const struct cache_level *level, bool alone, const struct cache_some *some)
{
	const uint64_t sets = level->lines / level->ways, room = sets / some->one_in, lines = room * level->ways;

	*s = (struct cache_state){
		.words = has_words(level->policy) ? calloc(room, sizeof(*s->words)) : NULL,
		.next = level->policy == CACHE_OPT ? calloc(lines, sizeof(*s->next)) : NULL,
		.sets = sets, .mask = sets & (sets - 1) ? 0 : sets - 1, .ways = level->ways,
		.random = cache_random_begin(level->seed), .shift = (unsigned int)__builtin_ctzll(level->line),
		.set_bits = (unsigned int)__builtin_ctzll(sets),
		.policy = level->policy, .qlru = level->qlru, .large = lines * sizeof(*s->slots) > HOST_CACHE,
	};
	s->drop = (unsigned int)__builtin_ctzll(some->one_in);
	s->below = s->drop ? some->unit - s->shift : 0;
	const bool hinted = alone && level->ways >= CACHE_HINTED_WAYS && lines <= CACHE_HINTED_LINES;

	if (alone && sets >= CACHE_NARROW_SETS && !s->drop && !hinted)
		s->narrow = calloc(lines, sizeof(*s->narrow));
	else
		s->slots = calloc(lines, sizeof(*s->slots));
	if ((!s->slots && !s->narrow) || (hinted && !init_hints(s, lines)) || (!s->words && has_words(level->policy)) ||
	    (!s->next && level->policy == CACHE_OPT)) {
		cache_state_free(s);
		return false;
	}
	for (uint64_t i = 0; i < room && level->policy == CACHE_QLRU; i++)
		s->words[i] = UINT64_MAX;
	return true;
}

void cache_state_free(struct cache_state *s)
{
	free(s->slots);
	free(s->narrow);
	free(s->used);
	free(s->hints);
	free(s->words);
	free(s->next);
	*s = (struct cache_state){ 0 };
}

bool cache_state_widen(struct cache_state *s)
{
	s->slots = calloc(s->sets * s->ways, sizeof(*s->slots));
	if (!s->slots)
		return false;
	for (uint64_t i = 0; i < s->sets * s->ways; i++) {
		const uint64_t above = s->narrow[i] >> 1;

		if (above)
			s->slots[i] = ((above - 1) * s->sets + i / s->ways + 1) << 1 | (s->narrow[i] & 1);
	}
	free(s->narrow);
	s->narrow = NULL;
	return true;
}

/* ---- trees ---- */

/* The victim is to be looked for in the other halves. */
static void tree_use(uint64_t *tree, uint64_t ways, uint64_t way)
{
	uint64_t node = 1;

	for (uint64_t half = ways / 2; half; half /= 2) {
		uint64_t right = (way & half) != 0;

		*tree = (*tree & ~(UINT64_C(1) << node)) | (uint64_t)!right << node;
		node = 2 * node + right;
	}
}

static uint64_t tree_victim(uint64_t tree, uint64_t ways)
{
	uint64_t node = 1;

	while (node < ways)
		node = 2 * node + (tree >> node & 1);
	return node - ways;
}

/* ---- ages: two bits a way, 3 is the oldest ---- */

#define AGE_ONES UINT64_C(0x5555555555555555)
#define NO_WAY UINT64_MAX

/* 1 in the field of each of the first @ways. */
static uint64_t ones(uint64_t ways)
{
	return AGE_ONES >> (64 - 2 * ways);
}

static uint64_t oldest(uint64_t ages, uint64_t of)
{
	if (ages & ages >> 1 & of)
		return 3;
	return ages >> 1 & of ? 2 : (ages & of) != 0;
}

/* When there is none of age 3, all get older; @way, unless it is NO_WAY, was used now. */
static void get_older(uint64_t *ages, uint64_t ways, const struct cache_qlru *how, uint64_t way)
{
	const uint64_t all = ones(ways);
	const uint64_t others = way == NO_WAY ? all : all & ~(UINT64_C(1) << 2 * way);

	switch (how->update) {
	case 0:
		*ages += (3 - oldest(*ages, all)) * all;
		break;
	case 1:
		if (others)
			*ages += (3 - oldest(*ages, others)) * others;
		break;
	default:
		if (oldest(*ages, all) < 3)
			*ages += how->update == 2 ? all : others;
	}
}

static void age_set(uint64_t *ages, uint64_t way, uint64_t age)
{
	*ages = (*ages & ~(UINT64_C(3) << 2 * way)) | age << 2 * way;
}

static void age_hit(struct cache_state *s, uint64_t *ages, uint64_t way)
{
	const uint64_t age = *ages >> 2 * way & 3;

	age_set(ages, way, age == 3 ? s->qlru.hit3 : age == 2 ? s->qlru.hit2 : 0);
	if (!s->qlru.on_miss)
		get_older(ages, s->ways, &s->qlru, way);
}

static void age_miss(struct cache_state *s, uint64_t *ages, uint64_t way)
{
	age_set(ages, way, s->qlru.insert);
	if (!s->qlru.on_miss)
		get_older(ages, s->ways, &s->qlru, way);
}

static uint64_t age_victim(uint64_t ages, uint64_t ways)
{
	const uint64_t threes = ages & ages >> 1 & ones(ways);

	return threes ? (uint64_t)__builtin_ctzll(threes) / 2 : 0;
}

/* ---- a set ---- */

/* Puts it before the first @n, which move on; what was after these is gone. */
static void put_first(uint64_t *slots, uint64_t n, uint64_t slot)
{
	/* lists are short: a call of memmove() would take longer */
	for (uint64_t i = 0; i <= n; i++) {
		uint64_t next = slots[i];

		slots[i] = slot;
		slot = next;
	}
}

static void use(struct cache_state *s, uint64_t set, uint64_t way, bool hit)
{
	if (s->policy == CACHE_TREE_PLRU)
		tree_use(&s->words[set], s->ways, way);
	else if (s->policy == CACHE_NMRU)
		s->words[set] = way;
	else if (s->policy == CACHE_QLRU && hit)
		age_hit(s, &s->words[set], way);
	else if (s->policy == CACHE_QLRU)
		age_miss(s, &s->words[set], way);
	else if (s->policy == CACHE_OPT)
		s->next[set * s->ways + way] = s->coming;
}

/* Where it is; ways: nowhere. */
static uint64_t way_of(const uint64_t *slots, uint64_t ways, uint64_t line)
{
	const uint64_t key = (line + 1) << 1;
	uint64_t at = 0;

	/* four at a time, since branches are what it takes time for */
	for (; at + 4 <= ways; at += 4) {
		unsigned int found = ((slots[at] ^ key) <= 1) | ((slots[at + 1] ^ key) <= 1) << 1 |
				     ((slots[at + 2] ^ key) <= 1) << 2 | ((slots[at + 3] ^ key) <= 1) << 3;

		if (found)
			return at + (unsigned int)__builtin_ctz(found);
	}
	while (at < ways && (slots[at] ^ key) > 1)
		at++;
	return at;
}

uint64_t *cache_look(const struct cache_state *s, uint64_t line)
{
	uint64_t *slots = s->slots + cache_set_of(s, line) * s->ways;
	const uint64_t at = way_of(slots, s->ways, line);

	return at == s->ways ? NULL : &slots[at];
}

uint64_t *cache_find(struct cache_state *s, uint64_t line)
{
	const uint64_t set = cache_set_of(s, line), at = way_of(s->slots + set * s->ways, s->ways, line);
	uint64_t *slots = s->slots + set * s->ways;

	if (at == s->ways)
		return NULL;
	if (s->policy != CACHE_LRU) {
		use(s, set, at, true);
		return &slots[at];
	}
	put_first(slots, at, slots[at]);
	return slots;
}

/* The first, or last, free slot; ways: none. */
static uint64_t free_way(const struct cache_state *s, const uint64_t *slots)
{
	const bool last = s->policy == CACHE_QLRU && s->qlru.replace == 2;

	if (slots[last ? 0 : s->ways - 1] && !s->removed)
		return s->ways;
	for (uint64_t i = 0; i < s->ways; i++) {
		uint64_t at = last ? s->ways - 1 - i : i;

		if (!slots[at])
			return at;
	}
	return s->ways;
}

/* The first of those that are asked for latest. */
static uint64_t latest_way(const uint64_t *next, uint64_t ways)
{
	uint64_t way = 0;

	for (uint64_t i = 1; i < ways; i++)
		if (next[i] > next[way])
			way = i;
	return way;
}

static uint64_t victim_way(struct cache_state *s, uint64_t set)
{
	switch (s->policy) {
	case CACHE_RANDOM:
		return cache_random(&s->random) % s->ways;
	case CACHE_TREE_PLRU:
		return tree_victim(s->words[set], s->ways);
	case CACHE_NMRU:
		return s->words[set] + 1 < s->ways ? s->words[set] + 1 : 0;
	case CACHE_OPT:
		return latest_way(&s->next[set * s->ways], s->ways);
	default:
		return age_victim(s->words[set], s->ways);
	}
}

uint64_t cache_put(struct cache_state *s, uint64_t line, bool modified)
{
	const uint64_t set = cache_set_of(s, line);
	uint64_t *slots = s->slots + set * s->ways, at, victim;

	if (is_list(s)) {
		victim = slots[s->ways - 1];
		put_first(slots, victim ? s->ways - 1 : free_way(s, slots), (line + 1) << 1 | modified);
		return victim;
	}
	if (s->policy == CACHE_QLRU && s->qlru.on_miss)
		get_older(&s->words[set], s->ways, &s->qlru, NO_WAY);
	at = free_way(s, slots);
	if (at == s->ways)
		at = victim_way(s, set);
	victim = slots[at];
	slots[at] = (line + 1) << 1 | modified;
	use(s, set, at, false);
	return victim;
}

uint64_t cache_remove(struct cache_state *s, uint64_t line)
{
	const uint64_t set = cache_set_of(s, line);
	uint64_t *slots = s->slots + set * s->ways, at = way_of(slots, s->ways, line), found;

	if (at == s->ways)
		return 0;
	found = slots[at];
	for (; is_list(s) && at + 1 < s->ways; at++)
		slots[at] = slots[at + 1];
	slots[at] = 0;
	if (s->policy == CACHE_QLRU)
		age_set(&s->words[set], at, 3);
	s->removed = true;
	return found;
}
