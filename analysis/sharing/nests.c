/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an instruction does in loops in each other: a run of accesses that is made again, as far away each time, is the next level's step.
 * At the end of all levels that is one sweep, by strides from the smallest on: rows of a matrix that are gone through by columns are columns one
 * after another.
 */
#include "analysis/sharing/private.h"
#include "base/array.h"
#include "base/hash.h"

/* ---- sweeps ---- */

static bool is_sweep(const struct sweep *x, const struct sweep *y)
{
	uint64_t differs = (x->insn ^ y->insn) | (x->addr ^ y->addr) | (x->size ^ y->size) | (unsigned int)(x->kind ^ y->kind);

	for (unsigned int i = 0; i < LEVELS; i++)
		differs |= (x->level[i].stride ^ y->level[i].stride) | (x->level[i].n ^ y->level[i].n);
	return !differs;
}

static uint64_t hash_of(const struct sweep *w)
{
	uint64_t h = hash_word(w->insn);

	for (unsigned int i = 0; i < LEVELS; i++)
		h = hash_word(h + w->level[i].n);
	return hash_word(h + w->addr);
}

static size_t slot_of(const struct sh_thread *t, const struct sweep *w)
{
	return hash_slot(i, t->sweep_slots, hash_of(w), !t->sweep_table[i] || is_sweep(&t->sweeps[t->sweep_table[i] - 1], w));
}

/* NULL: no memory, or there are too many. */
static struct sweep *sweep_of(struct sh_thread *t, const struct sweep *w)
{
	const size_t slot = t->nsweeps ? slot_of(t, w) : 0;
	uint64_t ranges;

	if (t->nsweeps && t->sweep_table[slot])
		return &t->sweeps[t->sweep_table[slot] - 1];
	if (t->nsweeps == MOST_SWEEPS || __builtin_mul_overflow(w->level[1].n, w->level[2].n, &ranges) || ranges > MOST_RANGES - t->ranges ||
	    !array_room(t->sweeps, t->room_sweeps, t->nsweeps + 1) ||
	    !hash_grow(t->sweep_table, t->sweep_slots, t->nsweeps + 1, old, *old,
		       &t->sweep_table[slot_of(t, &t->sweeps[*old - 1])]))
		return NULL;
	t->ranges += ranges;
	t->sweeps[t->nsweeps] = *w;
	t->sweep_table[slot_of(t, w)] = (uint32_t)++t->nsweeps;
	return &t->sweeps[t->nsweeps - 1];
}

/* ---- from nests to sweeps ---- */

/* Adds a level where its stride belongs, the one of more accesses first if there are two of that stride. */
static void insert(struct level *level, unsigned int n, struct level one)
{
	for (; n && (level[n - 1].stride > one.stride || (level[n - 1].stride == one.stride && level[n - 1].n < one.n)); n--)
		level[n] = level[n - 1];
	level[n] = one;
}

/* Levels that go on where the one before them ends are one with it. */
static void join(struct level *level)
{
	unsigned int n = 1;

	for (unsigned int i = 1; i < LEVELS; i++) {
		struct level *last = &level[n - 1];

		if (level[i].n > 1 && last->stride * last->n == level[i].stride)
			last->n *= level[i].n;
		else
			level[n++] = level[i];
	}
	for (; n < LEVELS; n++)
		level[n] = (struct level){ .n = 1 };
}

/* All strides up, how often it is made apart.  False: it goes around the end of the address space. */
static bool make_sweep(const struct sh_thread *t, const struct nest *nest, struct sweep *w, uint64_t *times, uint64_t *length)
{
	uint64_t up, end;
	unsigned int n = 0;

	w->addr = nest->addr;
	*times = 1;
	*length = 0;
	for (unsigned int i = 0; i < LEVELS; i++) {
		struct level one = nest->level[i];
		const bool down = one.stride >> 63;

		if (one.n == 1 || !one.stride) {
			*times *= one.n;
			continue;
		}
		one.stride = down ? -one.stride : one.stride;
		if (__builtin_mul_overflow(one.stride, one.n - 1, &up) || __builtin_add_overflow(*length, up, length) || (down && w->addr < up))
			return false;
		w->addr -= down ? up : 0;
		insert(w->level, n++, one);
	}
	for (; n < LEVELS; n++)
		w->level[n] = (struct level){ .n = 1 };
	join(w->level);
	return !__builtin_add_overflow(w->addr, *length, &end) && !__builtin_add_overflow(end, (UINT64_C(1) << t->s->shift) + w->size, &end);
}

/* Is it over enough lines? */
static bool is_long(const struct sh *s, const struct sweep *w, uint64_t length)
{
	const uint64_t line = UINT64_C(1) << s->shift;

	return length >= SWEEP_LINES * line && w->level[0].stride <= SWEEP_STRIDE * line &&
	       (w->level[0].n >= SWEEP_LINES || w->level[0].n * w->level[1].n >= SWEEP_LINES);
}

static bool enter_lines(struct sh_thread *t, struct recent *r, uint64_t addr, const struct level *level, uint64_t times)
{
	for (uint64_t i = 0; i < level[2].n; i++)
		for (uint64_t k = 0; k < level[1].n; k++)
			if (!sh_enter_run(t, r, addr + i * level[2].stride + k * level[1].stride, &level[0], times))
				return false;
	return true;
}

static bool enter(struct sh_thread *t, struct recent *r, const struct nest *nest)
{
	struct sweep w = { .insn = r->insn, .size = r->size, .kind = r->kind & MD_KIND }, *sweep = NULL;
	uint64_t times, length;

	if (!make_sweep(t, nest, &w, &times, &length))
		return enter_lines(t, r, nest->addr, nest->level, 1);
	if (is_long(t->s, &w, length))
		sweep = sweep_of(t, &w);
	if (!sweep)
		return enter_lines(t, r, w.addr, w.level, times);
	if (!sh_span(t, &sweep->when, r->window))
		return false;
	sweep->when.n += times;
	return true;
}

/* ---- nests ---- */

static bool is_same(const struct level *x, const struct level *y, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++)
		if (x[i].n != y[i].n || x[i].stride != y[i].stride)
			return false;
	return true;
}

/* As a run of accesses does, a level begins with the second step that is as the one before. */
bool sh_nest(struct sh_thread *t, struct recent *r, unsigned int level, const struct nest *done)
{
	struct nest *nest, before;
	struct level *l;

	if (level == LEVELS)
		return enter(t, r, done);
	nest = &t->nests[r - t->recent][level - 1];
	l = &nest->level[level];
	if (l->n && is_same(nest->level, done->level, level)) {
		if (l->n == 1)
			l->stride = done->addr - nest->addr;
		if (done->addr == nest->addr + l->n * l->stride) {
			l->n++;
			return true;
		}
		if (l->n == 2) {
			before = *nest;
			nest->addr += l->stride;
			l->stride = done->addr - nest->addr;
			before.level[level] = (struct level){ .n = 1 };
			return sh_nest(t, r, level + 1, &before);
		}
	}
	before = *nest;
	*nest = *done;
	*l = (struct level){ .n = 1 };
	return !before.level[level].n || sh_nest(t, r, level + 1, &before);
}

bool sh_nest_end(struct sh_thread *t, struct recent *r)
{
	for (unsigned int level = 1; level < LEVELS; level++) {
		struct nest *nest = &t->nests[r - t->recent][level - 1];
		const struct nest before = *nest;

		nest->level[level].n = 0;
		if (before.level[level].n && !sh_nest(t, r, level + 1, &before))
			return false;
	}
	return true;
}
