/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each thread does to each line: a table of uses (line, instruction) by thread, so that threads need nothing of each other.  Most
 * accesses are to the line that the instruction accessed last, and only counted.
 */
#include "analysis/sharing/private.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

struct sh *sh_new(const struct sh_options *o)
{
	struct sh *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->o = *o;
	s->o.most_uses = o->most_uses ? o->most_uses : SH_USES;
	s->shift = (unsigned int)__builtin_ctz(o->line);
	s->grain = s->shift > 6 ? s->shift - 6 : 0;
	return s;
}

static void free_thread(struct sh_thread *t)
{
	free(t->windows);
	free(t->uses);
	free(t->table);
	free(t->spans);
	free(t);
}

void sh_free(struct sh *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->nthreads; i++)
		free_thread(s->threads[i]);
	free(s->threads);
	free(s->lines);
	free(s->uses);
	free(s);
}

struct sh_thread *sh_thread_new(struct sh *s, int pid, int tid)
{
	struct sh_thread *t = calloc(1, sizeof(*t));

	if (!t || !array_room(s->threads, s->room_threads, s->nthreads + 1) || !array_room(t->windows, t->room_windows, 1)) {
		free(t);
		return NULL;
	}
	t->s = s;
	t->pid = pid;
	t->tid = tid;
	t->number = (uint32_t)s->nthreads;
	t->windows[t->nwindows++] = (struct window){ .to = UINT64_MAX };
	s->threads[s->nthreads] = t;
	__atomic_store_n(&s->nthreads, s->nthreads + 1, __ATOMIC_RELAXED); /* others look at it at any time */
	return t;
}

/* ---- windows ---- */

/* Its use is there; an instruction's uses have the same slot, so no other one has anything for that. */
static void flush(struct sh_thread *t, struct recent *r)
{
	struct use *u = r->use ? &t->uses[r->use - 1] : NULL;

	if (!u || !r->accesses)
		return;
	u->reads |= r->reads;
	u->writes |= r->writes;
	t->spans[u->span - 1].accesses += r->accesses;
	t->spans[u->span - 1].stores += r->stores;
	r->accesses = r->stores = 0;
}

void sh_flush(struct sh_thread *t)
{
	for (size_t i = 0; i < RECENT; i++)
		flush(t, &t->recent[i]);
}

/* Every other window becomes part of the one before it. */
static void halve_windows(struct sh_thread *t)
{
	const size_t n = (t->nwindows + 1) / 2;

	sh_flush(t);
	for (size_t i = 0; i < n; i++) {
		t->windows[i].from = t->windows[2 * i].from;
		t->windows[i].to = t->windows[2 * i + (2 * i + 1 < t->nwindows)].to;
	}
	t->nwindows = n;
	for (size_t i = 0; i < t->nspans; i++) {
		t->spans[i].first /= 2;
		t->spans[i].last /= 2;
	}
	for (size_t i = 0; i < t->n; i++)
		t->uses[i].shift -= t->uses[i].shift != 0;
	memset(t->recent, 0, sizeof(t->recent));
}

bool sh_thread_time(struct sh_thread *t, uint64_t now, bool exact)
{
	const uint64_t from = exact ? now : t->now;

	if (now <= t->now)
		return true;
	t->now = now;
	if (!t->used) {
		t->windows[t->nwindows - 1].from = from;
		return true;
	}
	if (t->nwindows == MOST_WINDOWS)
		halve_windows(t);
	if (!array_room(t->windows, t->room_windows, t->nwindows + 1))
		return false;
	t->windows[t->nwindows - 1].to = now;
	t->windows[t->nwindows++] = (struct window){ .from = from, .to = UINT64_MAX };
	t->used = false;
	return true;
}

/* ---- spans ---- */

/* So that half as many as there may be, of this length, go back to the first one. */
static uint16_t shift_of(uint32_t first, uint32_t last)
{
	const uint32_t length = (last - first) / (MOST_SPANS / 2);

	return length ? (uint16_t)(31 - __builtin_clz(length)) : 0;
}

/* Every other span becomes part of the one after it. */
static void halve(struct sh_thread *t, struct use *u)
{
	const uint32_t latest = t->spans[u->span - 1].last;
	uint32_t first = latest;

	u->nspans = 0;
	for (uint32_t at = u->span; at; at = t->spans[at - 1].before) {
		struct span *s = &t->spans[at - 1], *other;
		const uint32_t before = s->before;

		u->nspans++;
		first = s->first;
		if (!before)
			break;
		other = &t->spans[before - 1];
		s->before = other->before;
		s->first = first = other->first;
		s->accesses += other->accesses;
		s->stores += other->stores;
		other->before = t->free;
		t->free = before;
	}
	u->shift = shift_of(first, latest);
}

static uint32_t new_span(struct sh_thread *t)
{
	const uint32_t at = t->free;

	if (at) {
		t->free = t->spans[at - 1].before;
		return at;
	}
	if (t->nspans >= UINT32_MAX - 1 || !array_room(t->spans, t->room_spans, t->nspans + 1))
		return 0;
	return (uint32_t)++t->nspans;
}

/* Is there no other thread so far?  If one is seen too late, spans are longer than they need be. */
static bool is_alone(const struct sh_thread *t)
{
	return t->s->o.live && __atomic_load_n(&t->s->nthreads, __ATOMIC_RELAXED) == 1;
}

/* The use's latest span goes on to the window that is open, if it may. */
static bool extend_span(struct sh_thread *t, const struct use *u)
{
	const uint32_t window = (uint32_t)t->nwindows - 1;
	struct span *s = u->span ? &t->spans[u->span - 1] : NULL;

	if (!s || (s->last >> u->shift != window >> u->shift && !is_alone(t)))
		return false;
	s->last = window;
	t->used = true;
	return true;
}

/* The use has one for the window that is open.  False: no memory. */
static bool open_span(struct sh_thread *t, struct use *u)
{
	const uint32_t window = (uint32_t)t->nwindows - 1;
	uint32_t at;

	if (extend_span(t, u))
		return true;
	if (u->nspans == MOST_SPANS)
		halve(t, u);
	at = new_span(t);
	if (!at)
		return false;
	t->spans[at - 1] = (struct span){ .before = u->span, .first = window, .last = window };
	u->span = at;
	u->nspans++;
	t->used = true;
	return true;
}

/* ---- uses ---- */

static size_t slot_of(const struct sh_thread *t, uint64_t line, uint64_t insn)
{
	return hash_slot(i, t->slots, hash_word(line + hash_word(insn)), !t->table[i] ||
			 (t->uses[t->table[i] - 1].line == line && t->uses[t->table[i] - 1].insn == insn));
}

/* Its index + 1; 0: no memory, or there are too many. */
static uint32_t use_of(struct sh_thread *t, uint64_t line, uint64_t insn)
{
	const size_t slot = t->n ? slot_of(t, line, insn) : 0;

	if (t->n && t->table[slot])
		return t->table[slot];
	if (t->n >= t->s->o.most_uses || t->n >= UINT32_MAX - 1 || !array_room(t->uses, t->room, t->n + 1) ||
	    !hash_grow(t->table, t->slots, t->n + 1, old, *old,
		       &t->table[slot_of(t, t->uses[*old - 1].line, t->uses[*old - 1].insn)]))
		return 0;
	t->uses[t->n] = (struct use){ .line = line, .insn = insn };
	t->table[slot_of(t, line, insn)] = (uint32_t)++t->n;
	return (uint32_t)t->n;
}

/* The instruction will most likely go on by as many lines. */
static inline __attribute__((always_inline)) void expect(const struct sh_thread *t, const struct recent *r, uint64_t line, uint64_t insn)
{
	if (t->slots && r->insn == insn)
		__builtin_prefetch(&t->table[hash_word(line + (line - r->line) + hash_word(insn)) & (t->slots - 1)]);
}

/* In a new window, the same use; else another one. */
static bool find(struct sh_thread *t, struct recent *r, uint64_t line, uint64_t insn)
{
	const bool same = r->use && r->insn == insn && r->line == line;

	if (same && r->accesses != UINT32_MAX && extend_span(t, &t->uses[r->use - 1])) {
		r->window = (uint32_t)t->nwindows - 1;
		return true;
	}
	flush(t, r);
	if (!same) {
		expect(t, r, line, insn);
		*r = (struct recent){ .use = use_of(t, line, insn) };
	}
	if (!r->use) {
		t->missed++;
		return t->n >= t->s->o.most_uses;
	}
	if (!open_span(t, &t->uses[r->use - 1])) {
		r->use = 0;
		return false;
	}
	r->insn = insn;
	r->line = line;
	r->window = (uint32_t)t->nwindows - 1;
	return true;
}

/* By enum md_kind. */
static const uint64_t reading[] = { [MD_LOAD] = UINT64_MAX, [MD_STORE] = 0, [MD_MODIFY] = UINT64_MAX };
static const uint64_t writing[] = { [MD_LOAD] = 0, [MD_STORE] = UINT64_MAX, [MD_MODIFY] = UINT64_MAX };

/* @mask: of the line's bytes. */
static inline bool take(struct sh_thread *t, uint32_t window, uint64_t line, uint64_t mask, const struct mt_access *a)
{
	struct recent *r = &t->recent[a->insn * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_LOG2)];
	const unsigned int kind = a->kind & MD_KIND;

	if (__builtin_expect((r->insn ^ a->insn) | (r->line ^ line) | (r->window ^ window) | (r->accesses == UINT32_MAX), 0)) {
		if (!find(t, r, line, a->insn))
			return false;
		if (!r->use)
			return true;
	}
	r->reads |= reading[kind] & mask;
	r->writes |= writing[kind] & mask;
	r->accesses++;
	r->stores += (uint32_t)writing[kind] & 1;
	return true;
}

/* The bits for bytes @first to @last of a line. */
static inline uint64_t mask_of(const struct sh *s, uint64_t first, uint64_t last)
{
	const uint64_t low = first >> s->grain, high = last >> s->grain;

	return UINT64_MAX >> (63 - (high - low)) << low;
}

static bool take_lines(struct sh_thread *t, uint32_t window, const struct mt_access *a)
{
	const struct sh *s = t->s;
	const uint64_t end = a->addr + a->size - 1, last = end < a->addr ? UINT64_MAX : end, bytes = UINT64_C(1) << s->shift;

	for (uint64_t line = a->addr >> s->shift; line <= last >> s->shift; line++) {
		const uint64_t from = line == a->addr >> s->shift ? a->addr & (bytes - 1) : 0;
		const uint64_t to = line == last >> s->shift ? last & (bytes - 1) : bytes - 1;

		if (!take(t, window, line, mask_of(s, from, to), a))
			return false;
	}
	return true;
}

bool sh_thread_take(struct sh_thread *t, const struct mt_access *v, size_t n)
{
	const struct sh *s = t->s;
	const uint64_t inside = (UINT64_C(1) << s->shift) - 1;
	const uint32_t window = (uint32_t)t->nwindows - 1;

	for (const struct mt_access *a = v; a < v + n; a++) {
		const uint64_t first = a->addr & inside, last = first + a->size - 1;

		if ((a->kind & MD_KIND) > MD_MODIFY || !a->size || (a->kind & MD_STACK && s->o.no_stack))
			continue;
		if (last <= inside ? !take(t, window, a->addr >> s->shift, mask_of(s, first, last), a) : !take_lines(t, window, a))
			return false;
	}
	return true;
}
