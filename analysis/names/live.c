// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks that do not overlap, by address: leaves of up to LEAF blocks, and their first addresses in one array.  A million blocks take some
 * 24 bytes each, and a split moves a few thousand words.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/names/live.h"
#include "base/array.h"
#include "base/search.h"

#define LEAF 256

struct nm_leaf {
	uint32_t n;
	struct nm_block v[LEAF];
};

/* The leaf that @addr belongs into, if there are any. */
static size_t leaf_of(const struct nm_live *l, uint64_t addr)
{
	size_t after = search_first(i, l->n, l->first[i] > addr);

	return after ? after - 1 : 0;
}

static size_t after_in(const struct nm_leaf *leaf, uint64_t addr)
{
	return search_first(i, leaf->n, leaf->v[i].addr > addr);
}

struct nm_block *nm_live_find(const struct nm_live *l, uint64_t addr)
{
	struct nm_leaf *leaf = l->n ? l->leaf[leaf_of(l, addr)] : NULL;
	size_t after = leaf ? after_in(leaf, addr) : 0;

	return after && addr - leaf->v[after - 1].addr < nm_block_bytes(&leaf->v[after - 1]) ? &leaf->v[after - 1] : NULL;
}

void nm_live_gap(const struct nm_live *l, uint64_t addr, uint64_t *lo, uint64_t *hi)
{
	const size_t i = l->n ? leaf_of(l, addr) : 0, after = l->n ? after_in(l->leaf[i], addr) : 0;
	const struct nm_block *before = after ? &l->leaf[i]->v[after - 1] : NULL, *next = NULL;

	if (l->n && after < l->leaf[i]->n)
		next = &l->leaf[i]->v[after];
	else if (i + 1 < l->n)
		next = &l->leaf[i + 1]->v[0];
	if (before && before->addr + nm_block_bytes(before) > *lo)
		*lo = before->addr + nm_block_bytes(before);
	if (next && next->addr < *hi)
		*hi = next->addr;
}

static void drop_leaf(struct nm_live *l, size_t i)
{
	free(l->leaf[i]);
	memmove(l->leaf + i, l->leaf + i + 1, (l->n - i - 1) * sizeof(*l->leaf));
	memmove(l->first + i, l->first + i + 1, (l->n - i - 1) * sizeof(*l->first));
	l->n--;
}

static void drop(struct nm_live *l, size_t i, size_t at)
{
	struct nm_leaf *leaf = l->leaf[i];

	memmove(leaf->v + at, leaf->v + at + 1, (leaf->n - at - 1) * sizeof(*leaf->v));
	l->blocks--;
	if (!--leaf->n)
		drop_leaf(l, i);
	else
		l->first[i] = leaf->v[0].addr;
}

bool nm_live_remove(struct nm_live *l, uint64_t addr)
{
	size_t i = leaf_of(l, addr), after = l->n ? after_in(l->leaf[i], addr) : 0;

	if (!after || l->leaf[i]->v[after - 1].addr != addr)
		return false;
	drop(l, i, after - 1);
	return true;
}

/* What is still there, though its memory has been given anew: nobody saw that it was freed. */
static void drop_overlapping(struct nm_live *l, const struct nm_block *b)
{
	uint64_t end = b->addr + nm_block_bytes(b);
	struct nm_block *old;

	while ((old = nm_live_find(l, b->addr)))
		nm_live_remove(l, old->addr);
	while (l->n) {
		size_t i = leaf_of(l, b->addr), at = after_in(l->leaf[i], b->addr);

		if (at == l->leaf[i]->n) {
			i++;
			at = 0;
		}
		if (i == l->n || l->leaf[i]->v[at].addr >= end)
			return;
		drop(l, i, at);
	}
}

static bool room_for_leaf(struct nm_live *l)
{
	size_t room = l->room_first;

	return array_room(l->leaf, l->room, l->n + 1) && array_room(l->first, room, l->n + 1) && (l->room_first = room);
}

/* The upper half of a full leaf gets one of its own. */
static bool split(struct nm_live *l, size_t i)
{
	struct nm_leaf *upper = room_for_leaf(l) ? malloc(sizeof(*upper)) : NULL, *lower = l->leaf[i];

	if (!upper)
		return false;
	upper->n = LEAF / 2;
	lower->n = LEAF - upper->n;
	memcpy(upper->v, lower->v + lower->n, upper->n * sizeof(*upper->v));
	memmove(l->leaf + i + 2, l->leaf + i + 1, (l->n - i - 1) * sizeof(*l->leaf));
	memmove(l->first + i + 2, l->first + i + 1, (l->n - i - 1) * sizeof(*l->first));
	l->leaf[i + 1] = upper;
	l->first[i + 1] = upper->v[0].addr;
	l->n++;
	return true;
}

static bool first_leaf(struct nm_live *l)
{
	struct nm_leaf *leaf = room_for_leaf(l) ? calloc(1, sizeof(*leaf)) : NULL;

	if (!leaf)
		return false;
	l->leaf[0] = leaf;
	l->first[0] = 0;
	l->n = 1;
	return true;
}

bool nm_live_add(struct nm_live *l, const struct nm_block *b)
{
	struct nm_leaf *leaf;
	size_t i, at;

	drop_overlapping(l, b);
	if (!l->n && !first_leaf(l))
		return false;
	i = leaf_of(l, b->addr);
	if (l->leaf[i]->n == LEAF && !split(l, i))
		return false;
	i = leaf_of(l, b->addr);
	leaf = l->leaf[i];
	at = after_in(leaf, b->addr);
	memmove(leaf->v + at + 1, leaf->v + at, (leaf->n - at) * sizeof(*leaf->v));
	leaf->v[at] = *b;
	leaf->n++;
	l->first[i] = leaf->v[0].addr;
	l->blocks++;
	return true;
}

void nm_live_free(struct nm_live *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->leaf[i]);
	free(l->leaf);
	free(l->first);
	*l = (struct nm_live){ 0 };
}
