/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * LRU and FIFO keep a set's lines in order, the newest first; the other policies leave them where they are.  Nothing ever
 * leaves a set but for another line, so a set is full if its last slot is.
 */
#include "analysis/cache/level.h"

#include <stdlib.h>
#include <string.h>

bool cache_state_init(struct cache_state *s, const struct cache_level *level, struct cache_state *next, unsigned int index)
{
	const uint64_t sets = level->lines / level->ways;

	*s = (struct cache_state){
		.slots = calloc(level->lines, sizeof(*s->slots)),
		.trees = level->policy == CACHE_TREE_PLRU ? calloc(sets, sizeof(*s->trees)) : NULL,
		.sets = sets, .mask = sets & (sets - 1) ? 0 : sets - 1, .ways = level->ways,
		.random = cache_random_begin(level->seed), .shift = (unsigned int)__builtin_ctzll(level->line),
		.policy = level->policy, .through = level->through, .next = next, .index = index,
	};
	if (s->slots && (s->trees || level->policy != CACHE_TREE_PLRU))
		return true;
	cache_state_free(s);
	return false;
}

void cache_state_free(struct cache_state *s)
{
	free(s->slots);
	free(s->trees);
	s->slots = s->trees = NULL;
}

static uint64_t set_of(const struct cache_state *s, uint64_t line)
{
	return s->mask || s->sets == 1 ? line & s->mask : line % s->sets;
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

/* ---- a set ---- */

static void move_back(uint64_t *slots, uint64_t n)
{
	for (; n; n--)
		slots[n] = slots[n - 1];
}

/* The line's slot, which counts as used now; NULL: it is not there. */
static uint64_t *find(struct cache_state *s, uint64_t line)
{
	const uint64_t set = set_of(s, line), key = (line + 1) << 1;
	uint64_t *slots = s->slots + set * s->ways, at = 0, found;

	while (at < s->ways && (slots[at] & ~UINT64_C(1)) != key && slots[at])
		at++;
	if (at == s->ways || !slots[at])
		return NULL;
	if (s->policy == CACHE_TREE_PLRU)
		tree_use(&s->trees[set], s->ways, at);
	if (s->policy != CACHE_LRU || !at)
		return &slots[at];
	found = slots[at];
	move_back(slots, at);
	slots[0] = found;
	return slots;
}

static uint64_t free_way(const uint64_t *slots)
{
	uint64_t at = 0;

	while (slots[at])
		at++;
	return at;
}

/* Returns what was in the slot before; 0: nothing. */
static uint64_t put(struct cache_state *s, uint64_t line, bool modified)
{
	const uint64_t set = set_of(s, line);
	uint64_t *slots = s->slots + set * s->ways, at = 0, victim = slots[s->ways - 1];

	if (s->policy == CACHE_LRU || s->policy == CACHE_FIFO) {
		move_back(slots, victim ? s->ways - 1 : free_way(slots));
	} else {
		if (!victim)
			at = free_way(slots);
		else if (s->policy == CACHE_RANDOM)
			at = cache_random(&s->random) % s->ways;
		else
			at = tree_victim(s->trees[set], s->ways);
		victim = slots[at];
	}
	slots[at] = (line + 1) << 1 | modified;
	if (s->policy == CACHE_TREE_PLRU)
		tree_use(&s->trees[set], s->ways, at);
	return victim;
}

/* ---- levels ---- */

/* The line of the next level that holds @line. */
static uint64_t next_line(const struct cache_state *s, uint64_t line)
{
	return line >> (s->next->shift - s->shift);
}

static void write_back(struct cache_state *s, uint64_t line, struct cache_count *counts);

static void put_in(struct cache_state *s, uint64_t line, bool modified, struct cache_count *counts)
{
	const uint64_t victim = put(s, line, modified);

	if (!(victim & 1))
		return;
	counts[s->index].written++;
	if (s->next)
		write_back(s->next, next_line(s, (victim >> 1) - 1), counts);
}

static void write_back(struct cache_state *s, uint64_t line, struct cache_count *counts)
{
	uint64_t *slot = find(s, line);

	if (s->through) {
		counts[s->index].written++;
		if (s->next)
			write_back(s->next, next_line(s, line), counts);
	} else if (slot) {
		*slot |= 1;
	} else {
		put_in(s, line, true, counts);
	}
}

static void refer(struct cache_state *s, uint64_t line, unsigned int how, struct cache_count *counts)
{
	struct cache_count *count = &counts[s->index];
	uint64_t *slot = find(s, line);
	const bool written = how & CACHE_WRITE;

	count->hits += slot != NULL;
	count->misses += slot == NULL;
	if (!slot && (!s->through || how & CACHE_READ)) {
		if (s->next)
			refer(s->next, next_line(s, line), CACHE_READ, counts);
		put_in(s, line, written && !s->through, counts);
	} else if (slot && !s->through) {
		*slot |= written;
	}
	if (!written || !s->through)
		return;
	count->written++;
	if (s->next)
		refer(s->next, next_line(s, line), CACHE_WRITE, counts);
}

void cache_access(struct cache_state *s, uint64_t first, uint64_t last, unsigned int how, struct cache_count *counts)
{
	const uint64_t end = last >> s->shift;

	for (uint64_t line = first >> s->shift; line <= end; line++)
		refer(s, line, how, counts);
}
