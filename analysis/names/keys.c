// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Numbers for pairs of an instruction and a name.  Most accesses go to where another one of the same instruction went not long ago: then
 * the number is the same, and what is to be checked is in one line of the processor's cache.
 */
#include "analysis/names/thread.h"
#include "base/search.h"

/* ---- is it the same? ---- */

/* The access is in the frame that the instruction's last one was in, and that is where it was. */
static bool is_in_frame(const struct nm_thread *t, uint32_t i, const struct mt_access *a)
{
	const struct nm_slot *s = &t->slot[i];
	const struct nm_frame *f = &t->stack.frame[s->frame];

	if (s->frame >= t->stack.n || f->serial != s->serial || f->insn != s->at)
		return false;
	return s->frame + 1 == t->stack.n || f[1].cfa <= a->addr;
}

static inline __attribute__((always_inline)) bool is_quick(const struct nm_thread *t, uint32_t i, const struct mt_access *a)
{
	const struct nm_quick *q = &t->quick[i];
	const uint64_t offset = a->addr - q->lo;

	if (!q->key)
		return false;
	if (q->lasts == NM_LASTS_FIXED)
		return a->size == q->bytes;
	if (offset >= q->span || (!q->begins && a->size > q->span - offset))
		return false;
	switch ((enum nm_lasts)q->lasts) {
	case NM_LASTS:
		return true;
	case NM_LASTS_AREAS:
		return q->areas == t->areas && nm_cursor_stays(&t->blocks, q->stamp, a->addr);
	case NM_LASTS_EPOCH:
		return nm_cursor_stays(&t->blocks, q->stamp, a->addr);
	case NM_LASTS_TURN:
		return q->stamp == t->turn;
	case NM_LASTS_STACK:
		return q->implicit == ((a->kind & MD_STACK) != 0) && is_in_frame(t, i, a) && nm_cursor_stays(&t->blocks, q->stamp, a->addr);
	default:
		return false;
	}
}

/* ---- which others are ---- */

/* Of a variable that is known. */
static void take_variable(const struct nm_thread *t, struct nm_quick *q, const struct nm_slot *s, uint64_t addr, bool whole)
{
	const struct nm_extent *same = &s->same;
	uint64_t base = 0, end = same->hi < s->size ? same->hi : s->size;

	q->lo = s->begin;
	q->span = s->size;
	q->begins = whole || same->hi == UINT64_MAX;
	if (!q->begins) {
		if (same->stride) {
			base = (addr - s->begin) / same->stride * same->stride;
			end = same->hi < s->size - base ? same->hi : s->size - base;
		}
		q->lo = s->begin + base + same->lo;
		q->span = end > same->lo ? end - same->lo : 0;
	}
	q->lasts = s->serial ? NM_LASTS_STACK : s->turn ? NM_LASTS_TURN : s->epoch ? NM_LASTS_EPOCH : NM_LASTS;
	q->stamp = s->turn ? s->turn : t->blocks.epoch;
}

static void narrow(struct nm_quick *q, uint64_t lo, uint64_t hi)
{
	uint64_t end = q->lo + q->span;

	q->lo = lo > q->lo ? lo : q->lo;
	end = hi < end ? hi : end;
	q->span = end > q->lo ? end - q->lo : 0;
}

/* Of a frame without variables, or of what pushes and calls do in any. */
static void take_frame(const struct nm_thread *t, struct nm_quick *q, const struct nm_slot *s)
{
	const struct nm_frame *f = &t->stack.frame[s->frame];

	narrow(q, t->low - NM_RED_ZONE, f->cfa);
	if (s->frame + 1 < t->stack.n)
		narrow(q, f[1].cfa, UINT64_MAX);
	q->lasts = NM_LASTS_STACK;
}

/* Of memory that is not known at all. */
static void take_nothing(const struct nm_thread *t, struct nm_quick *q, uint64_t addr)
{
	if (!t->blocks.calm)
		q->span = 0;
	else if (addr < t->high)
		narrow(q, 0, t->low - NM_RED_ZONE);
	else
		narrow(q, t->high, UINT64_MAX);
	q->lasts = NM_LASTS_AREAS;
}

/* q->key, by what was found. */
static bool take(struct nm_thread *t, uint32_t i, const struct mt_access *a, const struct nm_name *name, const struct nm_keys *keys)
{
	struct nm_quick *q = &t->quick[i];
	const struct nm_slot *s = &t->slot[i];
	uint64_t lo, hi;

	q->key = keys->key(keys->arg, a->insn, keys->whole ? nm_whole(name) : name);
	q->implicit = a->kind & MD_STACK;
	q->bytes = a->size;
	if (s->fixed) {
		q->lasts = NM_LASTS_FIXED;
	} else if (s->size) {
		take_variable(t, q, s, a->addr, keys->whole);
	} else if (s->lo != s->hi) {
		q->lo = s->lo;
		q->span = s->hi - s->lo;
		q->begins = true;
		q->lasts = s->epoch ? NM_LASTS_EPOCH : NM_LASTS;
		q->stamp = s->epoch;
	} else if ((s->serial && s->throughout) || s->nothing) {
		nm_thread_gap(t, a->addr, &lo, &hi);
		q->lo = lo;
		q->span = hi > lo ? hi - lo : 0;
		q->begins = true;
		q->stamp = t->blocks.epoch;
		q->areas = t->areas;
		if (s->nothing)
			take_nothing(t, q, a->addr);
		else
			take_frame(t, q, s);
	} else {
		q->lasts = NM_LASTS;
		q->span = 0;
	}
	return q->key;
}

static bool is_in_object(struct nm_thread *t, uint64_t addr)
{
	const struct nm *nm = t->nm;
	size_t after;

	if (addr >= t->between[0] && addr < t->between[1])
		return false;
	after = search_first(i, nm->nfiles, nm_file_begin(nm->file[i]) > addr);
	if (after && addr < nm_file_end(nm->file[after - 1]))
		return true;
	t->between[0] = after ? nm_file_end(nm->file[after - 1]) : 0;
	t->between[1] = after < nm->nfiles ? nm_file_begin(nm->file[after]) : UINT64_MAX;
	return false;
}

/* It is another block of the same site, which an instruction takes for the same. */
static bool is_of_site(struct nm_thread *t, uint32_t i, const struct mt_access *a)
{
	const struct nm_slot *s = &t->slot[i];
	struct nm_quick *q = &t->quick[i];
	uint64_t begin, size;
	uint32_t site;

	if (!q->key || s->site == NM_FREED || s->about->shows_frame || (a->kind & MD_STACK) || is_in_object(t, a->addr))
		return false;
	if (nm_cursor_find(&t->blocks, a->addr, &site, &begin, &size) != NM_FOUND_ONE || site != s->site || t->blocks.failed)
		return false;
	q->lo = begin;
	q->span = size;
	q->stamp = t->blocks.epoch;
	return true;
}

bool nm_find_keys(struct nm_thread *t, const struct mt_access *v, size_t n, const struct nm_keys *keys, struct mt_access *to)
{
	for (size_t k = 0; k < n; k++) {
		const struct mt_access *a = &v[k];
		const uint32_t i = nm_thread_noted(t, a);
		struct nm_place place;

		if (i == UINT32_MAX)
			return false;
		if (!is_quick(t, i, a) && !(keys->whole && is_of_site(t, i, a)) && (!nm_thread_find(t, i, a, &place) || !take(t, i, a, place.name, keys)))
			return false;
		to[k] = *a;
		to[k].insn = t->quick[i].key;
	}
	return !t->stack.failed;
}
