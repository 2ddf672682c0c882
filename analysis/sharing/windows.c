/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a thread did something: windows, and spans of them. */
#include "analysis/sharing/private.h"
#include "base/array.h"

#include <string.h>

/* ---- spans ---- */

/* So that half as many as there may be, of this length, go back to the first one. */
static uint16_t shift_of(uint32_t first, uint32_t last)
{
	const uint32_t length = (last - first) / (MOST_SPANS / 2);

	return length ? (uint16_t)(31 - __builtin_clz(length)) : 0;
}

/* Every other span becomes part of the one after it. */
static void halve(struct sh_thread *t, struct span *latest)
{
	struct span *s = latest;

	latest->nspans = 1;
	while (s->before) {
		const uint32_t before = s->before;
		struct span *other = &t->spans[before - 1];

		s->before = other->before;
		s->first = other->first;
		s->n += other->n;
		s->stores += other->stores;
		other->before = t->free;
		t->free = before;
		if (!s->before)
			break;
		s = &t->spans[s->before - 1];
		latest->nspans++;
	}
	latest->shift = shift_of(s->first, latest->last);
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

bool sh_span(struct sh_thread *t, struct span *s, uint32_t window)
{
	uint32_t at;

	if (s->nspans && (s->last >> s->shift == window >> s->shift || is_alone(t))) {
		s->last = window;
		return true;
	}
	if (s->nspans == MOST_SPANS)
		halve(t, s);
	if (s->nspans) {
		at = new_span(t);
		if (!at)
			return false;
		t->spans[at - 1] = *s;
		s->before = at;
	}
	s->first = s->last = window;
	s->n = s->stores = 0;
	s->nspans++;
	return true;
}

/* ---- windows ---- */

static void halve_numbers(struct span *s)
{
	s->first /= 2;
	s->last /= 2;
	s->shift -= s->shift != 0;
}

/* Every other window becomes part of the one before it. */
static bool halve_windows(struct sh_thread *t)
{
	const size_t n = (t->nwindows + 1) / 2;

	if (!sh_flush(t))
		return false;
	for (size_t i = 0; i < n; i++) {
		t->windows[i].from = t->windows[2 * i].from;
		t->windows[i].to = t->windows[2 * i + (2 * i + 1 < t->nwindows)].to;
	}
	t->nwindows = n;
	for (size_t i = 0; i < t->nspans; i++)
		halve_numbers(&t->spans[i]);
	for (size_t i = 0; i < t->n; i++)
		halve_numbers(&t->uses[i].when);
	for (size_t i = 0; i < t->nsweeps; i++)
		halve_numbers(&t->sweeps[i].when);
	memset(t->recent, 0, sizeof(t->recent));
	return true;
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
	if ((t->nwindows == MOST_WINDOWS && !halve_windows(t)) ||
	    !array_room(t->windows, t->room_windows, t->nwindows + 1))
		return false;
	t->windows[t->nwindows - 1].to = now;
	t->windows[t->nwindows++] = (struct window){ .from = from, .to = UINT64_MAX };
	t->used = false;
	return true;
}
