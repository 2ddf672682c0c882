// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/analysis/cachereference.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>

static struct ref_set *ref_set_of(struct ref_level *l, uint64_t line)
{
	return &l->set[line % (l->what->lines / l->what->ways)];
}

/* A way's path from the root, as halves: the lower half of the ways is left. */
static void ref_tree_use(struct ref_level *l, struct ref_set *set, unsigned int way)
{
	unsigned int from = 0, n = (unsigned int)l->what->ways, node = 1;

	while (n > 1) {
		int right = way >= from + n / 2;

		set->right[node] = !right;
		node = 2 * node + (unsigned int)right;
		n /= 2;
		from += right ? n : 0;
	}
}

static unsigned int ref_tree_victim(const struct ref_level *l, const struct ref_set *set)
{
	unsigned int from = 0, n = (unsigned int)l->what->ways, node = 1;

	while (n > 1) {
		int right = set->right[node];

		node = 2 * node + (unsigned int)right;
		n /= 2;
		from += right ? n : 0;
	}
	return from;
}

/* @used: the way; -1: none. */
static void ref_get_older(const struct cache_level *what, struct ref_set *set, int used)
{
	const int update = what->qlru.update, spares = update == 1 || update == 3;
	int most = -1, any_3 = 0;

	for (int i = 0; i < (int)what->ways; i++) {
		any_3 |= set->v[i].age == 3;
		if (!(update == 1 && i == used) && set->v[i].age > most)
			most = set->v[i].age;
	}
	for (int i = 0; i < (int)what->ways; i++)
		if (!(spares && i == used) && (update < 2 || !any_3))
			set->v[i].age += update < 2 ? 3 - most : 1;
}

/* The level's latest use was of this line. */
static uint64_t ref_next_use(const struct ref_level *l, uint64_t line)
{
	for (size_t i = l->log.n; l->future && i < l->future->n; i++)
		if (l->future->v[i] == line)
			return i;
	return NONE;
}

static void ref_use(struct ref_level *l, struct ref_set *set, unsigned int way, int hit)
{
	const struct cache_qlru *q = &l->what->qlru;
	struct ref_line *line = &set->v[way];

	if (l->what->policy == CACHE_OPT)
		line->time = ref_next_use(l, line->line);
	else if (l->what->policy == CACHE_LRU || !hit)
		line->time = ++l->time;
	if (l->what->policy == CACHE_TREE_PLRU)
		ref_tree_use(l, set, way);
	set->last = way;
	if (l->what->policy != CACHE_QLRU)
		return;
	if (hit)
		line->age = line->age == 3 ? q->hit3 : line->age == 2 ? q->hit2 : 0;
	else
		line->age = q->insert;
	if (!q->on_miss)
		ref_get_older(l->what, set, (int)way);
}

/* The line, used now; or NULL. */
static struct ref_line *ref_find(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);

	for (unsigned int i = 0; i < l->what->ways; i++) {
		if (set->v[i].line != line)
			continue;
		ref_use(l, set, i, 1);
		return &set->v[i];
	}
	return NULL;
}

static unsigned int ref_victim(struct ref_level *l, const struct ref_set *set)
{
	unsigned int way = 0;

	if (l->what->policy == CACHE_RANDOM)
		return (unsigned int)(cache_random(&l->random) % l->what->ways);
	if (l->what->policy == CACHE_TREE_PLRU)
		return ref_tree_victim(l, set);
	if (l->what->policy == CACHE_NMRU)
		return (unsigned int)((set->last + 1) % l->what->ways);
	for (unsigned int i = 0; i < l->what->ways; i++) {
		if (l->what->policy == CACHE_QLRU && set->v[i].age == 3)
			return i;
		if (l->what->policy == CACHE_OPT ? set->v[i].time > set->v[way].time :
		    l->what->policy != CACHE_QLRU && set->v[i].time < set->v[way].time)
			way = i;
	}
	return way;
}

struct ref_line *ref_look(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);

	for (unsigned int i = 0; i < l->what->ways; i++)
		if (set->v[i].line == line)
			return &set->v[i];
	return NULL;
}

/* What had to leave; its line is NONE if nothing had to. */
static struct ref_line ref_insert(struct ref_level *l, uint64_t line, int modified)
{
	const int last = l->what->policy == CACHE_QLRU && l->what->qlru.replace == 2;
	struct ref_set *set = ref_set_of(l, line);
	unsigned int at = MAX_WAYS;
	struct ref_line victim;

	if (l->what->policy == CACHE_QLRU && l->what->qlru.on_miss)
		ref_get_older(l->what, set, -1);
	for (unsigned int i = 0; i < l->what->ways; i++)
		if (set->v[i].line == NONE && (at == MAX_WAYS || last))
			at = i;
	if (at == MAX_WAYS)
		at = ref_victim(l, set);
	victim = set->v[at];
	set->v[at].line = line;
	set->v[at].modified = modified;
	ref_use(l, set, at, 0);
	return victim;
}

struct ref_line ref_remove(struct ref_level *l, uint64_t line)
{
	struct ref_set *set = ref_set_of(l, line);
	struct ref_line found = { .line = NONE };

	for (unsigned int i = 0; i < l->what->ways; i++) {
		if (set->v[i].line != line)
			continue;
		found = set->v[i];
		set->v[i] = (struct ref_line){ .line = NONE, .age = 3 };
	}
	return found;
}

/* What a fully associative LRU cache of as many lines does; a miss of the level is counted by kind. */
static void ref_shadow(struct ref_level *l, uint64_t line, int comes, int goes, int miss)
{
	struct ref_seen *found = NULL, *oldest = NULL;
	uint64_t has = 0;

	if (!l->seen)
		return;
	for (size_t i = 0; i < l->nseen; i++) {
		struct ref_seen *s = &l->seen[i];

		has += s->time != 0;
		if (s->line == line)
			found = s;
		if (s->time && (!oldest || s->time < oldest->time))
			oldest = s;
	}
	l->count.compulsory += miss && !found;
	l->count.capacity += miss && found && !found->time;
	if (!found) {
		assert_true(l->nseen < MAX_SEEN);
		found = &l->seen[l->nseen++];
		*found = (struct ref_seen){ .line = line };
	}
	if (goes) {
		found->time = 0;
	} else if (found->time || comes) {
		if (!found->time && has == l->what->lines)
			oldest->time = 0;
		found->time = ++l->time;
	}
}

static void ref_note(struct ref_level *l, uint64_t line)
{
	if (l->log.n == l->log.room) {
		l->log.room = 2 * l->log.room + 64;
		l->log.v = realloc(l->log.v, l->log.room * sizeof(*l->log.v));
		assert_non_null(l->log.v);
	}
	l->log.v[l->log.n++] = line;
}

static void ref_plan(struct ref *r, unsigned int at, uint64_t addr, uint64_t to)
{
	if (addr / 4096 != to / 4096)
		return;
	assert_true(r->nahead < 64);
	r->ahead[r->nahead].at = at;
	r->ahead[r->nahead++].addr = to;
}

static void ref_plan_stride(struct ref *r, unsigned int at, uint64_t addr)
{
	struct ref_level *l = r->level[at];
	const uint64_t line = addr / l->what->line;
	struct ref_stride *s = l->strides;

	while (s->known && s->insn != r->insn)
		s++;
	assert_true(s < l->strides + 15);
	if (s->known && s->last == line)
		return;
	if (s->moved && line - s->last == s->by)
		ref_plan(r, at, line * l->what->line, (line + s->by) * l->what->line);
	*s = (struct ref_stride){ .insn = r->insn, .last = line, .by = line - s->last, .known = 1, .moved = s->known };
}

int ref_exclusive(const struct ref *r, unsigned int at)
{
	return at < r->n && r->level[at]->what->holds == CACHE_EXCLUSIVE;
}

static void ref_fill(struct ref *r, unsigned int at, uint64_t addr, int modified)
{
	struct ref_level *l = r->level[at];
	const uint64_t line = l->what->line;
	struct ref_line victim = ref_insert(l, addr / line, modified);

	if (victim.line == NONE)
		return;
	for (unsigned int c = 0; c < (r->cores ? r->ncores : 1); c++) {
		struct ref *o = r->cores ? &r->cores[c] : r;

		for (unsigned int i = 0; i < at && l->what->holds == CACHE_INCLUSIVE && o->level[at] == l; i++) {
			struct ref_level *b = o->level[i];

			for (uint64_t a = victim.line * line; a < (victim.line + 1) * line; a += b->what->line) {
				if (!ref_remove(b, a / b->what->line).modified)
					continue;
				b->count.written++;
				victim.modified = 1;
			}
		}
	}
	if (!victim.modified && !ref_exclusive(r, at + 1))
		return;
	l->count.written++;
	ref_receive(r, at + 1, victim.line * line, victim.modified);
}

/* A line comes from the level before. */
void ref_receive(struct ref *r, unsigned int at, uint64_t addr, int modified)
{
	struct ref_level *l = r->level[at];
	struct ref_line *found;

	if (at == r->n)
		return;
	ref_note(l, addr / l->what->line);
	found = ref_find(l, addr / l->what->line);
	ref_shadow(l, addr / l->what->line, !l->what->through, 0, 0);
	if (l->what->through) {
		l->count.written++;
		ref_receive(r, at + 1, addr, modified);
		return;
	}
	if (found) {
		found->modified |= modified;
		return;
	}
	for (unsigned int i = at + 1; ref_exclusive(r, i); i++)
		modified |= ref_remove(r->level[i], addr / l->what->line).modified;
	ref_fill(r, at, addr, modified);
}

/* Returns whether what is read was modified in an exclusive level that gave it up. */
int ref_ask(struct ref *r, unsigned int at, uint64_t addr, int reads, int writes, int ahead)
{
	struct ref_level *l = r->level[at];
	struct ref_line *found, moved;

	if (at == r->n)
		return 0;
	ref_note(l, addr / l->what->line);
	if (ref_exclusive(r, at)) {
		moved = ref_remove(l, addr / l->what->line);
		ref_shadow(l, addr / l->what->line, 0, 1, moved.line == NONE);
		if (moved.line != NONE) {
			l->count.hits += !ahead;
			return moved.modified;
		}
		l->count.misses += !ahead;
		return ref_ask(r, at + 1, addr, 1, 0, ahead);
	}
	found = ref_find(l, addr / l->what->line);
	ref_shadow(l, addr / l->what->line, !l->what->through || reads, 0, !found);
	if (found)
		l->count.hits += !ahead;
	else
		l->count.misses += !ahead;
	if (!ahead && (reads || !l->what->through)) {
		if (l->what->prefetch == CACHE_STRIDE)
			ref_plan_stride(r, at, addr);
		else if (l->what->prefetch == CACHE_NEXT_LINE && !found)
			ref_plan(r, at, addr, addr / l->what->line * l->what->line + l->what->line);
	}
	if (l->what->through) {
		if (!found && reads)
			ref_fill(r, at, addr, ref_ask(r, at + 1, addr, 1, 0, ahead));
		if (writes) {
			l->count.written++;
			ref_ask(r, at + 1, addr, 0, 1, ahead);
		}
	} else if (found) {
		found->modified |= writes;
	} else {
		int modified = ref_ask(r, at + 1, addr, 1, 0, ahead);

		ref_fill(r, at, addr, modified || writes);
	}
	return 0;
}

/* What was planned, the levels next to the core first. */
static void ref_bring(struct ref *r)
{
	for (unsigned int at = 0; at < r->n; at++) {
		for (unsigned int i = 0; i < r->nahead; i++) {
			struct ref_level *l = r->level[at];
			const uint64_t addr = r->ahead[i].addr;

			if (r->ahead[i].at != at || ref_look(l, addr / l->what->line))
				continue;
			l->count.prefetched++;
			ref_fill(r, at, addr, ref_ask(r, at + 1, addr, 1, 0, 1));
		}
	}
	r->nahead = 0;
}

void ref_take(struct ref *r, const struct mt_access *v)
{
	const uint64_t line = r->level[0]->what->line;

	r->insn = v->insn;
	for (uint64_t at = v->addr / line; at <= (v->addr + v->size - 1) / line; at++) {
		ref_ask(r, 0, at * line, v->kind != MD_STORE, v->kind != MD_LOAD, 0);
		ref_bring(r);
	}
}

struct ref *ref_new(const struct cache_level *levels, unsigned int n)
{
	struct ref *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->n = n;
	for (unsigned int i = 0; i < n; i++) {
		r->level[i] = &r->own[i];
		r->level[i]->what = &levels[i];
		r->level[i]->seen = calloc(MAX_SEEN, sizeof(*r->level[i]->seen));
		r->level[i]->set = calloc(levels[i].lines / levels[i].ways, sizeof(*r->level[i]->set));
		assert_non_null(r->level[i]->seen);
		assert_non_null(r->level[i]->set);
		r->level[i]->random = cache_random_begin(levels[i].seed);
		for (unsigned int k = 0; k < levels[i].lines / levels[i].ways; k++)
			for (unsigned int w = 0; w < MAX_WAYS; w++)
				r->level[i]->set[k].v[w] = (struct ref_line){ .line = NONE, .age = 3 };
	}
	return r;
}

void ref_free(struct ref *r)
{
	for (unsigned int i = 0; i < r->n; i++) {
		free(r->own[i].seen);
		free(r->own[i].set);
		free(r->own[i].log.v);
	}
	free(r);
}
