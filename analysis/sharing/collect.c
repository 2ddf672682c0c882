/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each thread does to each line: tables by thread, so that threads need nothing of each other.  Most accesses are where the instruction's
 * accesses before lead to, and only counted.  What such a sweep is over is found at the end, if other threads come there: it is entered
 * as a whole, once, however often it is made.  Short ones are entered line by line as uses, (line, instruction).
 */
#include "analysis/sharing/private.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>

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
	free(t->sweeps);
	free(t->sweep_table);
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

/* As use_of(); most likely it is what it was last time after @before, index + 1, or 0 if there is none. */
static uint32_t use_after(struct sh_thread *t, uint32_t before, uint64_t line, uint64_t insn)
{
	uint32_t use = before ? t->uses[before - 1].next : 0;

	if (use && t->uses[use - 1].line == line && t->uses[use - 1].insn == insn) {
		__builtin_prefetch(&t->uses[t->uses[use - 1].next]);
		return use;
	}
	use = use_of(t, line, insn);
	if (before)
		t->uses[before - 1].next = use;
	return use;
}

/* An instruction's uses have the same slot of recent ones, so windows come in their order. */
static bool flush_use(struct sh_thread *t, struct recent *r)
{
	struct use *u = r->use ? &t->uses[r->use - 1] : NULL;
	struct span *span;

	if (!u || !r->accesses)
		return true;
	span = sh_span(t, &u->when, r->use_window);
	if (!span)
		return false;
	u->reads |= r->reads;
	u->writes |= r->writes;
	span->n += r->accesses;
	span->stores += r->stores;
	r->accesses = r->stores = 0;
	return true;
}

/* By enum md_kind. */
static const uint64_t reading[] = { [MD_LOAD] = UINT64_MAX, [MD_STORE] = 0, [MD_MODIFY] = UINT64_MAX };
static const uint64_t writing[] = { [MD_LOAD] = 0, [MD_STORE] = UINT64_MAX, [MD_MODIFY] = UINT64_MAX };

static __attribute__((noinline)) bool change_use(struct sh_thread *t, struct recent *r, uint64_t line)
{
	if (!flush_use(t, r))
		return false;
	if (!r->use || r->line != line) {
		r->use = use_after(t, r->use, line, r->insn);
		r->line = line;
		r->reads = r->writes = 0;
	}
	r->use_window = r->window;
	return true;
}

/* @n accesses of what the instruction does now to bytes of a line. */
static inline __attribute__((always_inline)) bool enter(struct sh_thread *t, struct recent *r, uint64_t line, uint64_t mask, uint64_t n)
{
	const unsigned int kind = r->kind & MD_KIND;

	if ((!r->use || r->line != line || r->use_window != r->window) && !change_use(t, r, line))
		return false;
	if (!r->use) {
		t->missed += n;
		return t->n >= t->s->o.most_uses;
	}
	r->reads |= reading[kind] & mask;
	r->writes |= writing[kind] & mask;
	r->accesses += n;
	r->stores += (writing[kind] & 1) * n;
	return true;
}

/* ---- sweeps ---- */

static bool is_sweep(const struct sweep *x, const struct sweep *y)
{
	return !((x->insn ^ y->insn) | (x->addr ^ y->addr) | (x->stride ^ y->stride) | (x->n ^ y->n) | (x->size ^ y->size) |
		 (unsigned int)(x->kind ^ y->kind));
}

static size_t slot_of_sweep(const struct sh_thread *t, const struct sweep *w)
{
	return hash_slot(i, t->sweep_slots, hash_word(w->addr + hash_word(w->insn + hash_word(w->n))),
			 !t->sweep_table[i] || is_sweep(&t->sweeps[t->sweep_table[i] - 1], w));
}

/* NULL: no memory, or there are too many. */
static struct sweep *sweep_of(struct sh_thread *t, const struct sweep *w)
{
	const size_t slot = t->nsweeps ? slot_of_sweep(t, w) : 0;

	if (t->nsweeps && t->sweep_table[slot])
		return &t->sweeps[t->sweep_table[slot] - 1];
	if (t->nsweeps == MOST_SWEEPS || !array_room(t->sweeps, t->room_sweeps, t->nsweeps + 1) ||
	    !hash_grow(t->sweep_table, t->sweep_slots, t->nsweeps + 1, old, *old,
		       &t->sweep_table[slot_of_sweep(t, &t->sweeps[*old - 1])]))
		return NULL;
	t->sweeps[t->nsweeps] = *w;
	t->sweep_table[slot_of_sweep(t, w)] = (uint32_t)++t->nsweeps;
	return &t->sweeps[t->nsweeps - 1];
}

/* Is it over enough lines, and not around the end of the address space?  Then it goes up from now on. */
static bool is_long(const struct sh *s, struct sweep *w)
{
	const bool down = w->stride >> 63;
	const uint64_t stride = down ? -w->stride : w->stride, line = UINT64_C(1) << s->shift;
	uint64_t length, end;

	if (w->n < SWEEP_LINES || stride > SWEEP_STRIDE * line || __builtin_mul_overflow(stride, w->n - 1, &length) || length < SWEEP_LINES * line)
		return false;
	if (down && w->addr < length)
		return false;
	w->addr -= down ? length : 0;
	w->stride = stride;
	return !__builtin_add_overflow(w->addr, length, &end) && !__builtin_add_overflow(end, line + w->size, &end);
}

/* One access to several lines. */
static bool enter_lines(struct sh_thread *t, struct recent *r, uint64_t addr)
{
	const struct sh *s = t->s;
	const uint64_t end = addr + r->size - 1, last = end < addr ? UINT64_MAX : end, bytes = UINT64_C(1) << s->shift;

	for (uint64_t line = addr >> s->shift; line <= last >> s->shift; line++) {
		const uint64_t from = line == addr >> s->shift ? addr & (bytes - 1) : 0;
		const uint64_t to = line == last >> s->shift ? last & (bytes - 1) : bytes - 1;

		if (!enter(t, r, line, sh_mask(s->grain, from, to), 1))
			return false;
	}
	return true;
}

/* Line by line. */
static bool enter_short(struct sh_thread *t, struct recent *r, uint64_t addr)
{
	const struct sh *s = t->s;
	const uint64_t inside = (UINT64_C(1) << s->shift) - 1;

	for (uint64_t i = 0, n; i < r->n; i += n, addr += n * r->stride) {
		const uint64_t first = addr & inside;
		uint64_t last = first + r->size - 1, mask;

		n = 1;
		if (last > inside) {
			if (!enter_lines(t, r, addr))
				return false;
			continue;
		}
		mask = sh_mask(s->grain, first, last);
		if (!r->stride)
			n = r->n - i;
		for (; r->stride && i + n < r->n && last + r->stride <= inside && last + r->stride > last; n++) {
			last += r->stride;
			mask |= sh_mask(s->grain, last + 1 - r->size, last);
		}
		if (!enter(t, r, addr >> s->shift, mask, n))
			return false;
	}
	return true;
}

static bool end_sweep(struct sh_thread *t, struct recent *r)
{
	struct sweep w = { .insn = r->insn, .addr = r->next - r->n * r->stride, .stride = r->stride, .n = r->n, .size = r->size,
			   .kind = r->kind & MD_KIND };
	struct sweep *sweep = NULL;
	struct span *span;

	if (is_long(t->s, &w))
		sweep = sweep_of(t, &w);
	if (!sweep)
		return enter_short(t, r, r->next - r->n * r->stride);
	span = sh_span(t, &sweep->when, r->window);
	if (!span)
		return false;
	span->n++;
	return true;
}

bool sh_flush(struct sh_thread *t)
{
	for (struct recent *r = t->recent; r < t->recent + RECENT; r++) {
		if ((r->n && !end_sweep(t, r)) || !flush_use(t, r))
			return false;
		r->n = 0;
	}
	return true;
}

/* ---- accesses ---- */

static bool enter_one(struct sh_thread *t, struct recent *r, uint64_t addr)
{
	const struct sh *s = t->s;
	const uint64_t inside = (UINT64_C(1) << s->shift) - 1, first = addr & inside, last = first + r->size - 1;

	return last > inside ? enter_lines(t, r, addr) : enter(t, r, addr >> s->shift, sh_mask(s->grain, first, last), 1);
}

/* The sweep so far is entered, if there is any; and what another instruction did. */
static bool restart(struct sh_thread *t, struct recent *r, const struct mt_access *a)
{
	if (r->n) {
		if (!end_sweep(t, r))
			return false;
		r->n = 0;
		r->next -= r->stride;
	}
	if (r->insn != a->insn) {
		if (!flush_use(t, r))
			return false;
		r->insn = a->insn;
		r->use = 0;
		r->next = a->addr;
		r->stride = UINT64_MAX;
	}
	t->used = true;
	return true;
}

/* @a and what repeats it are a sweep, or go on with one. */
static bool begin_repeated(struct sh_thread *t, struct recent *r, uint32_t window, const struct mt_access *a)
{
	const uint64_t stride = a[1].addr, n = a[1].size;
	const uint8_t kind = a->kind & (uint8_t)~MD_REPEATED;

	if (!r->n || r->insn != a->insn || r->next != a->addr || r->stride != stride || r->window != window || r->size != a->size || r->kind != kind) {
		if (!restart(t, r, a))
			return false;
		r->window = window;
		r->size = a->size;
		r->kind = kind;
		r->stride = stride;
		r->next = a->addr;
	}
	r->next += n * stride;
	r->n += n;
	return true;
}

/* It is not where the instruction's last ones lead to.  A sweep begins with the second step that is as the one before. */
static bool begin(struct sh_thread *t, struct recent *r, uint32_t window, const struct mt_access *a)
{
	const unsigned int kind = a->kind & MD_KIND;
	uint64_t step;

	if (kind > MD_MODIFY || !a->size || (a->kind & MD_STACK && t->s->o.no_stack))
		return true;
	if (a->kind & MD_REPEATED)
		return begin_repeated(t, r, window, a);
	if (!restart(t, r, a))
		return false;
	step = a->addr - r->next;
	r->next = a->addr;
	r->window = window;
	r->size = a->size;
	r->kind = a->kind;
	if (step != r->stride) {
		r->stride = step;
		return enter_one(t, r, a->addr);
	}
	r->next += step;
	r->n = 1;
	return true;
}

bool sh_thread_take(struct sh_thread *t, const struct mt_access *v, size_t n)
{
	const uint32_t window = (uint32_t)t->nwindows - 1;

	for (const struct mt_access *a = v; a < v + n; a++) {
		struct recent *r = &t->recent[a->insn * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_LOG2)];

		if (__builtin_expect(!((r->insn ^ a->insn) | (r->next ^ a->addr) | (r->window ^ window) | (r->size ^ a->size) |
				       (unsigned int)(r->kind ^ a->kind) | !r->n), 1)) {
			r->next += r->stride;
			r->n++;
		} else if (!begin(t, r, window, a)) {
			return false;
		}
	}
	return true;
}
