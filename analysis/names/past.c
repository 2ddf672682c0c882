// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Frames of threads that have been gone through, and where their thread-local storage is, for accesses that other threads have made to these: from where to where each was, at most, and
 * when.  Frames of one place that were left by one instruction are one, so that there are as many as the program's calls are deep and its
 * code has functions.  What an access may have been to is known if all frames that may have been there then say the same.
 */
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

#define MOST_FRAMES (1u << 20) /* of all threads: then no more are kept, and what is there is not believed */

static size_t slot_of(const struct nm_past *p, uint64_t cfa, const struct nm_insn *insn)
{
	return hash_slot(i, p->room_table, hash_word(cfa ^ hash_word((uintptr_t)insn)),
			 !p->table[i] || (p->frame[p->table[i] - 1].cfa == cfa && p->frame[p->table[i] - 1].insn == insn));
}

struct nm_past *nm_past_new(struct nm *nm, int pid, uint64_t from)
{
	struct nm_past *p = calloc(1, sizeof(*p));

	if (!p || !array_room(nm->past, nm->room_past, nm->npast + 1)) {
		free(p);
		return NULL;
	}
	p->pid = pid;
	p->from = from;
	p->to = UINT64_MAX;
	p->low = UINT64_MAX;
	return nm->past[nm->npast++] = p;
}

void nm_past_free(struct nm_past *p)
{
	free(p->frame);
	free(p->least);
	free(p->table);
	free(p);
}

static void merge(struct nm_past_frame *to, const struct nm_past_frame *from)
{
	to->low = from->low < to->low ? from->low : to->low;
	to->from = from->from < to->from ? from->from : to->from;
	to->to = from->to > to->to ? from->to : to->to;
}

bool nm_past_add(struct nm_past *p, const struct nm_frame *f, uint64_t to)
{
	const struct nm_past_frame frame = { f->cfa, f->low, f->from, to, f->insn };
	uint32_t *slot;

	if (p->n >= MOST_FRAMES) {
		p->incomplete = true;
		return true;
	}
	if (!array_room(p->frame, p->room, p->n + 1) ||
	    !hash_grow(p->table, p->room_table, p->n + 1, old, *old, &p->table[slot_of(p, p->frame[*old - 1].cfa, p->frame[*old - 1].insn)]))
		return false;
	slot = &p->table[slot_of(p, f->cfa, f->insn)];
	if (*slot) {
		merge(&p->frame[*slot - 1], &frame);
	} else {
		p->frame[p->n] = frame;
		*slot = (uint32_t)++p->n;
	}
	p->low = f->low < p->low ? f->low : p->low;
	p->high = f->cfa > p->high ? f->cfa : p->high;
	return true;
}

static int by_cfa(const void *a, const void *b)
{
	const struct nm_past_frame *x = a, *y = b;

	return x->cfa < y->cfa ? -1 : x->cfa > y->cfa;
}

/* All have been added. */
static bool sort(struct nm_past *p)
{
	if (p->least)
		return true;
	p->least = calloc(p->n + 1, sizeof(*p->least));
	if (!p->least)
		return false;
	qsort(p->frame, p->n, sizeof(*p->frame), by_cfa);
	free(p->table);
	p->table = NULL;
	p->room_table = 0;
	p->least[p->n] = UINT64_MAX;
	for (size_t i = p->n; i-- > 0;)
		p->least[i] = p->frame[i].low < p->least[i + 1] ? p->frame[i].low : p->least[i + 1];
	return true;
}

/* The next one from *i on that may have had some of these bytes then; NULL: none. */
static const struct nm_past_frame *next(const struct nm_past *p, const struct nm_when *w, uint64_t begin, uint64_t end, size_t *i)
{
	for (; *i < p->n && p->least[*i] < end; ++*i) {
		const struct nm_past_frame *f = &p->frame[*i];

		if (f->cfa > begin && f->low < end && f->from <= w->to && f->to >= w->from)
			return &p->frame[(*i)++];
	}
	return NULL;
}

static size_t first(const struct nm_past *p, uint64_t begin)
{
	return search_first(i, p->n, p->frame[i].cfa > begin);
}

/* Is it the only one that may have had any of these bytes? */
static bool is_alone(const struct nm_past *p, const struct nm_when *w, uint64_t begin, uint64_t end)
{
	size_t i = first(p, begin);

	return next(p, w, begin, end, &i) && !next(p, w, begin, end, &i);
}

static struct nm_entry *find_in(struct nm *nm, struct nm_past *p, const struct nm_when *w, uint64_t addr, struct nm_past_found *found)
{
	struct nm_entry *e = NULL;
	const struct nm_past_frame *f;
	bool same = !p->incomplete, throughout;
	size_t i;

	if (!sort(p))
		return NULL;
	for (i = first(p, addr); same && (f = next(p, w, addr, addr + 1, &i));) {
		const struct nm_frame frame = { .cfa = f->cfa, .insn = f->insn };
		struct nm_entry *other = nm_stack_find(nm, &frame, addr, true, &found->begin, &found->size, &throughout);

		if (!other)
			return NULL;
		same = !e || e == other;
		e = other;
	}
	if (!e || !same) {
		found->begin = addr;
		found->size = 0;
		return nm_area(nm, &nm->stack, NM_STACK, "stack");
	}
	found->stays = found->size && is_alone(p, w, found->begin, found->begin + found->size);
	return e;
}

static bool is_then(const struct nm_past *p, const struct nm_when *w)
{
	return p->pid == w->pid && p->from <= w->to && p->to >= w->from;
}

struct nm_entry *nm_past_find(struct nm *nm, const struct nm_when *w, uint64_t addr, struct nm_past_found *found)
{
	struct nm_entry *e;

	*found = (struct nm_past_found){ .begin = addr };
	for (size_t i = 0; i < nm->npast; i++) {
		struct nm_past *p = nm->past[i];

		if (!is_then(p, w))
			continue;
		if (addr >= p->low && addr < p->high)
			return find_in(nm, p, w, addr, found);
		e = nm_tls_find(nm, p->fs, addr, &found->begin, &found->size);
		if (e != nm->unknown) {
			found->stays = found->size;
			return e;
		}
	}
	return nm->unknown;
}

bool nm_find_kept(struct nm *nm, const struct nm_when *when, uint64_t addr, uint32_t size, struct nm_place *place)
{
	struct nm_past_found found;
	struct nm_entry *e = nm_past_find(nm, when, addr, &found);
	struct nm_extent same;

	*place = (struct nm_place){ .name = &nm->unknown->root->name, .begin = found.begin, .size = found.size };
	return nm_place_of(nm, e, addr, size, place, &same);
}
