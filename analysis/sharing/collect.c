/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each thread does to each line: tables by thread, so that threads need nothing of each other.  Most accesses are where the instruction's
 * accesses before lead to, and only counted.  What such a sweep (nests.c) is over is found at the end, if other threads come there: it is entered
 * as a whole, once, however often it is made.  Short ones are entered line by line as uses, (line, instruction).
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
	s->o.most_uses = o->most_uses && o->most_uses < SH_USES ? o->most_uses : SH_USES;
	s->shift = (unsigned int)__builtin_ctz(o->line);
	s->grain = s->shift > 6 ? s->shift - 6 : 0;
	return s;
}

static void free_thread(struct sh_thread *t)
{
	free(t->windows);
	free(t->uses);
	free(t->regions);
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
	free(s->first);
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

static size_t slot_of(const struct sh_thread *t, uint64_t number, uint64_t insn)
{
	return hash_slot(i, t->slots, hash_word(number + hash_word(insn)), !t->table[i] ||
			 (t->regions[t->table[i] - 1].number == number && t->regions[t->table[i] - 1].insn == insn));
}

/* NULL: no memory, or there are too many. */
static struct region *region_of(struct sh_thread *t, uint64_t number, uint64_t insn)
{
	const size_t slot = t->nregions ? slot_of(t, number, insn) : 0;

	if (t->nregions && t->table[slot])
		return &t->regions[t->table[slot] - 1];
	if (t->n >= t->s->o.most_uses || !array_room(t->regions, t->room_regions, t->nregions + 1) ||
	    !hash_grow(t->table, t->slots, t->nregions + 1, old, *old,
		       &t->table[slot_of(t, t->regions[*old - 1].number, t->regions[*old - 1].insn)]))
		return NULL;
	t->regions[t->nregions] = (struct region){ .number = number, .insn = insn };
	t->table[slot_of(t, number, insn)] = (uint32_t)++t->nregions;
	return &t->regions[t->nregions - 1];
}

/* Its index + 1; 0: no memory, or there are too many. */
static uint32_t use_of(struct sh_thread *t, uint64_t line, uint64_t insn)
{
	struct region *region = region_of(t, line >> REGION_LOG2, insn);
	uint32_t *use = region ? &region->use[line & ((1u << REGION_LOG2) - 1)] : NULL;

	if (!use || *use)
		return use ? *use : 0;
	if (t->n >= t->s->o.most_uses || !array_room(t->uses, t->room, t->n + 1))
		return 0;
	t->uses[t->n] = (struct use){ .line = line, .insn = insn };
	*use = (uint32_t)++t->n;
	return *use;
}

/* By enum md_kind. */
static const uint64_t reading[] = { [MD_LOAD] = UINT64_MAX, [MD_STORE] = 0, [MD_MODIFY] = UINT64_MAX };
static const uint64_t writing[] = { [MD_LOAD] = 0, [MD_STORE] = UINT64_MAX, [MD_MODIFY] = UINT64_MAX };

/* @n accesses of what the instruction does now to bytes of a line.  Its uses are of one slot of recent ones, so windows come in their order. */
static inline __attribute__((always_inline)) bool enter(struct sh_thread *t, struct recent *r, uint64_t line, uint64_t mask, uint64_t n)
{
	const unsigned int kind = r->kind & MD_KIND;
	struct use *u;

	if (!r->use || r->line != line) {
		r->use = use_of(t, line, r->insn);
		r->line = line;
	}
	if (!r->use) {
		t->missed += n;
		return t->n >= t->s->o.most_uses;
	}
	u = &t->uses[r->use - 1];
	if ((u->when.last != r->window || !u->when.nspans) && !sh_span(t, &u->when, r->window))
		return false;
	u->reads |= reading[kind] & mask;
	u->writes |= writing[kind] & mask;
	u->when.n += n;
	u->when.stores += (writing[kind] & 1) * n;
	return true;
}

/* ---- line by line ---- */

/* One access to several lines. */
static bool enter_lines(struct sh_thread *t, struct recent *r, uint64_t addr, uint64_t n)
{
	const struct sh *s = t->s;
	const uint64_t end = addr + r->size - 1, last = end < addr ? UINT64_MAX : end, bytes = UINT64_C(1) << s->shift;

	for (uint64_t line = addr >> s->shift; line <= last >> s->shift; line++) {
		const uint64_t from = line == addr >> s->shift ? addr & (bytes - 1) : 0;
		const uint64_t to = line == last >> s->shift ? last & (bytes - 1) : bytes - 1;

		if (!enter(t, r, line, sh_mask(s->grain, from, to), n))
			return false;
	}
	return true;
}

bool sh_enter_run(struct sh_thread *t, struct recent *r, uint64_t addr, const struct level *run, uint64_t times)
{
	const struct sh *s = t->s;
	const uint64_t inside = (UINT64_C(1) << s->shift) - 1, stride = run->stride;

	for (uint64_t i = 0, n; i < run->n; i += n, addr += n * stride) {
		const uint64_t first = addr & inside;
		uint64_t last = first + r->size - 1, mask;

		n = stride ? 1 : run->n;
		if (last > inside) {
			if (!enter_lines(t, r, addr, n * times))
				return false;
			continue;
		}
		mask = sh_mask(s->grain, first, last);
		for (; stride && i + n < run->n && last + stride <= inside && last + stride > last; n++) {
			last += stride;
			mask |= sh_mask(s->grain, last + 1 - r->size, last);
		}
		if (!enter(t, r, addr >> s->shift, mask, n * times))
			return false;
	}
	return true;
}

/* ---- accesses ---- */

static bool enter_one(struct sh_thread *t, struct recent *r, uint64_t addr)
{
	const struct sh *s = t->s;
	const uint64_t inside = (UINT64_C(1) << s->shift) - 1, first = addr & inside, last = first + r->size - 1;

	return last > inside ? enter_lines(t, r, addr, 1) : enter(t, r, addr >> s->shift, sh_mask(s->grain, first, last), 1);
}

/* Is the run as the one before it, where that and the ones before lead to?  It is the most frequent thing that sh_nest() finds. */
static inline bool goes_on(struct sh_thread *t, const struct recent *r, uint64_t addr)
{
	struct nest *nest = &t->nests[r - t->recent][0];
	const struct level *run = &nest->level[0];
	struct level *next = &nest->level[1];

	if (next->n < 2 || run->n != r->n || run->stride != r->stride || addr != nest->addr + next->n * next->stride)
		return false;
	next->n++;
	return true;
}

/* The run so far is done, if there is any. */
static bool end_run(struct sh_thread *t, struct recent *r)
{
	const struct nest run = { .addr = r->next - r->n * r->stride, .level = { { .stride = r->stride, .n = r->n } } };

	if (run.level[0].n > 2 && goes_on(t, r, run.addr)) {
		r->n = 0;
		return true;
	}
	r->n = 0;
	if (run.level[0].n > 2)
		return sh_nest(t, r, 1, &run);
	for (uint64_t i = 0; i < run.level[0].n; i++)
		if (!enter_one(t, r, run.addr + i * r->stride))
			return false;
	return true;
}

bool sh_flush(struct sh_thread *t)
{
	for (struct recent *r = t->recent; r < t->recent + RECENT; r++)
		if (!end_run(t, r) || !sh_nest_end(t, r))
			return false;
	return true;
}

/* Size and kind are beside each other; what comes after them is nothing. */
static inline uint64_t what_of(const struct mt_access *a, uint64_t window)
{
	uint64_t word;

	memcpy(&word, &a->size, sizeof(word));
	return (word & ((UINT64_C(1) << 40) - 1)) | window << 40;
}
_Static_assert(offsetof(struct mt_access, kind) == offsetof(struct mt_access, size) + 4, "what_of()");

/* Another instruction, or not what it did, or not then. */
static bool restart(struct sh_thread *t, struct recent *r, uint32_t window, const struct mt_access *a)
{
	struct mt_access one = *a;

	if (!end_run(t, r) || !sh_nest_end(t, r))
		return false;
	if (r->insn != a->insn)
		r->use = 0;
	one.kind &= (uint8_t)~MD_REPEATED;
	r->insn = a->insn;
	r->what = what_of(&one, window);
	r->window = window;
	r->size = a->size;
	r->kind = one.kind;
	t->used = true;
	return true;
}

/* @a and what repeats it are a run, or go on with one. */
static bool begin_repeated(struct sh_thread *t, struct recent *r, const struct mt_access *a)
{
	const uint64_t stride = a[1].addr, n = a[1].size;
	const bool same = r->n == 1 ? a->addr - (r->next - r->stride) == stride : r->n && r->next == a->addr && r->stride == stride;

	if (!same && !end_run(t, r))
		return false;
	r->stride = stride;
	r->next = a->addr + n * stride;
	r->n += n;
	return true;
}

/*
 * It is not where the instruction's last ones lead to.  A run begins with the second step that is as the one before; the first step is most often
 * that of the run before, so that is what is waited for after its first access.
 */
static bool begin(struct sh_thread *t, struct recent *r, uint32_t window, const struct mt_access *a)
{
	const unsigned int kind = a->kind & MD_KIND;

	if (kind > MD_MODIFY || !a->size || (a->kind & MD_STACK && t->s->o.no_stack))
		return true;
	if ((r->insn != a->insn || r->window != window || r->size != a->size || r->kind != (a->kind & (uint8_t)~MD_REPEATED)) &&
	    !restart(t, r, window, a))
		return false;
	if (a->kind & MD_REPEATED)
		return begin_repeated(t, r, a);
	if (r->n == 1) {
		r->stride = a->addr - (r->next - r->stride);
	} else if (r->n == 2) {
		const uint64_t second = r->next - r->stride;

		if (!enter_one(t, r, second - r->stride))
			return false;
		r->stride = a->addr - second;
		r->n = 1;
	} else if (!end_run(t, r)) {
		return false;
	}
	r->next = a->addr + r->stride;
	r->n++;
	return true;
}

/* Where the instruction is, or the first one of where it may be, if there is no room for it. */
static inline struct recent *recent_of(struct sh_thread *t, uint64_t insn)
{
	struct recent *first = &t->recent[insn * UINT64_C(0x9e3779b97f4a7c15) >> (64 - RECENT_LOG2)];

	if (__builtin_expect(first->insn == insn, 1))
		return first;
	for (struct recent *r = first; r < first + RECENT_WAYS; r++)
		if (r->insn == insn || !r->insn)
			return r;
	return first;
}

bool sh_thread_take(struct sh_thread *t, const struct mt_access *v, size_t n)
{
	const uint32_t window = (uint32_t)t->nwindows - 1;

	for (const struct mt_access *a = v; a < v + n; a++) {
		struct recent *r = recent_of(t, a->insn);

		if (__builtin_expect(!((r->next ^ a->addr) | (r->what ^ what_of(a, window)) | (r->insn ^ a->insn)) && r->n, 1)) {
			r->next += r->stride;
			r->n++;
		} else if (!begin(t, r, window, a)) {
			return false;
		}
	}
	return true;
}
