/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lines several threads access, one of which stores to them: uses and sweeps of all threads of a process, by address, gone through line by line
 * where there are those of several.
 */
#include "analysis/sharing/private.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* A use, or what a sweep's first level does from `addr` on: what is put in order, of one process. */
struct range {
	uint64_t addr;
	uint32_t thread; /* its number */
	uint32_t item;	 /* index of the use, or after them of the sweep */
};

/* A range that the line is in, or was; it need not touch all lines up to the last one. */
struct active {
	uint64_t addr, last;
	const struct sh_thread *thread;
	const struct use *use; /* NULL: a sweep */
	const struct sweep *sweep;
};

struct parts {
	struct part *v;
	size_t n, room;
};

#define MEMOS 64

/* A line that has been made, by its parts. */
struct memo {
	struct parts parts;
	size_t line;
};

struct scan {
	struct sh *s;
	struct range *all;
	size_t n, room, next;
	struct active *active;
	size_t nactive, room_active;
	uint64_t soonest; /* the first last line of those */
	uint32_t *threads; /* by number: how many ranges each has there */
	size_t nthreads, nstores; /* that have any; ranges that store */
	struct parts now;
	struct memo memos[MEMOS]; /* by hash */
};

/* ---- ranges ---- */

static void add_sweep(struct scan *c, uint32_t thread, uint32_t item, const struct sweep *w)
{
	for (uint64_t i = 0; i < w->level[2].n; i++)
		for (uint64_t k = 0; k < w->level[1].n; k++)
			c->all[c->n++] = (struct range){ w->addr + i * w->level[2].stride + k * w->level[1].stride, thread, item };
}

static bool add_ranges(struct scan *c, const struct sh_thread *t)
{
	if (!array_room(c->all, c->room, c->n + t->n + t->ranges))
		return false;
	for (size_t i = 0; i < t->n; i++)
		c->all[c->n++] = (struct range){ t->uses[i].line << c->s->shift, t->number, (uint32_t)i };
	for (size_t i = 0; i < t->nsweeps; i++)
		add_sweep(c, t->number, (uint32_t)(t->n + i), &t->sweeps[i]);
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static bool stores(const struct active *a)
{
	return a->use ? a->use->writes != 0 : a->sweep->kind != MD_LOAD;
}

static void count(struct scan *c, const struct active *a, bool begins)
{
	uint32_t *n = &c->threads[a->thread->number];

	if (begins) {
		c->nthreads += !(*n)++;
		c->nstores += stores(a);
	} else {
		c->nthreads -= !--*n;
		c->nstores -= stores(a);
	}
}

/* Those that end before the line are gone. */
static void leave(struct scan *c, uint64_t line)
{
	size_t n = 0;

	if (line <= c->soonest)
		return;
	c->soonest = UINT64_MAX;
	for (const struct active *a = c->active; a < c->active + c->nactive; a++) {
		if (a->last < line) {
			count(c, a, false);
			continue;
		}
		c->soonest = a->last < c->soonest ? a->last : c->soonest;
		c->active[n++] = *a;
	}
	c->nactive = n;
}

static struct active activate(const struct sh *s, const struct range *r)
{
	struct active a = { .addr = r->addr, .last = r->addr >> s->shift, .thread = s->threads[r->thread] };

	if (r->item < a.thread->n) {
		a.use = &a.thread->uses[r->item];
	} else {
		a.sweep = &a.thread->sweeps[r->item - a.thread->n];
		a.last = (r->addr + (a.sweep->level[0].n - 1) * a.sweep->level[0].stride + a.sweep->size - 1) >> s->shift;
	}
	return a;
}

static bool go_to(struct scan *c, uint64_t line)
{
	leave(c, line);
	for (; c->next < c->n && c->all[c->next].addr >> c->s->shift == line; c->next++) {
		struct active *a;

		if (!array_room(c->active, c->room_active, c->nactive + 1))
			return false;
		a = &c->active[c->nactive++];
		*a = activate(c->s, &c->all[c->next]);
		c->soonest = a->last < c->soonest ? a->last : c->soonest;
		count(c, a, true);
	}
	return true;
}

/* ---- parts ---- */

/* The accesses of a sweep to a line: which bytes, and how many there are. */
static uint64_t touch(const struct sh *s, const struct active *r, uint64_t line, uint64_t *mask)
{
	const uint64_t size = r->sweep->size, stride = r->sweep->level[0].stride, all = r->sweep->level[0].n;
	const uint64_t begin = line << s->shift, end = begin + ((UINT64_C(1) << s->shift) - 1);
	/* The first one that ends in the line or later, and its number. */
	const uint64_t i = r->addr + (size - 1) >= begin ? 0 : (begin - r->addr - (size - 1) + stride - 1) / stride;
	uint64_t n = 0;

	*mask = 0;
	for (uint64_t at = r->addr + i * stride; i + n < all && at <= end; at += stride, n++) {
		const uint64_t last = at + (size - 1);

		*mask |= sh_mask(s->grain, at < begin ? 0 : at - begin, last > end ? end - begin : last - begin);
	}
	return n;
}

static bool add_part(struct scan *c, const struct active *r, uint64_t line)
{
	const struct use *u = r->use;
	const struct sweep *w = r->sweep;
	struct part *part;
	uint64_t n, mask;

	if (!array_room(c->now.v, c->now.room, c->now.n + 1))
		return false;
	part = &c->now.v[c->now.n];
	if (u) {
		*part = (struct part){ .thread = r->thread, .when = &u->when, .insn = u->insn, .reads = u->reads, .writes = u->writes };
		c->now.n++;
		return true;
	}
	n = touch(c->s, r, line, &mask);
	if (!n)
		return true;
	*part = (struct part){ .thread = r->thread, .when = &w->when, .insn = w->insn, .reads = w->kind == MD_STORE ? 0 : mask,
			       .writes = w->kind == MD_LOAD ? 0 : mask, .n = n, .stores = w->kind == MD_LOAD ? 0 : n };
	c->now.n++;
	return true;
}

static int by_instruction(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread->number < y->thread->number ? -1 : 1;
	if (x->insn != y->insn)
		return x->insn < y->insn ? -1 : 1;
	return x->when < y->when ? -1 : x->when > y->when;
}

static bool is_shared(const struct parts *p)
{
	bool several = false, stored = false;

	for (size_t i = 0; i < p->n; i++) {
		several |= p->v[i].thread != p->v[0].thread;
		stored |= p->v[i].writes != 0;
	}
	return several && stored;
}

/* Those of one sweep are one. */
static void join(struct parts *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct part *part = &p->v[i], *last = n ? &p->v[n - 1] : NULL;

		if (!last || last->when != part->when) {
			p->v[n++] = *part;
			continue;
		}
		last->reads |= part->reads;
		last->writes |= part->writes;
		last->n += part->n;
		last->stores += part->stores;
	}
	p->n = n;
}

static uint64_t hash_of(const struct parts *p)
{
	uint64_t h = p->n;

	for (size_t i = 0; i < p->n; i++)
		h = hash_word(h + (uintptr_t)p->v[i].when + p->v[i].reads + 3 * p->v[i].writes);
	return h;
}

/* Lines often have the same parts as one before them. */
static bool make_line(struct scan *c, int pid, uint64_t line)
{
	const size_t bytes = c->now.n * sizeof(c->now.v[0]);
	struct memo *memo = &c->memos[hash_of(&c->now) % MEMOS];

	if (memo->parts.n == c->now.n && !memcmp(memo->parts.v, c->now.v, bytes))
		return sh_make_line_like(c->s, line, memo->line);
	if (!array_room(memo->parts.v, memo->parts.room, c->now.n))
		return false;
	memcpy(memo->parts.v, c->now.v, bytes);
	memo->parts.n = c->now.n;
	memo->line = c->s->nlines;
	qsort(c->now.v, c->now.n, sizeof(c->now.v[0]), by_instruction);
	join(&c->now);
	return sh_make_line(c->s, pid, line, c->now.v, c->now.n);
}

static bool look_at(struct scan *c, int pid, uint64_t line)
{
	c->now.n = 0;
	for (size_t i = 0; i < c->nactive; i++)
		if (!add_part(c, &c->active[i], line))
			return false;
	return !is_shared(&c->now) || make_line(c, pid, line);
}

/* ---- all ---- */

/* Where the next range begins; if the line is no place to look at, nothing is missed in between. */
static bool scan(struct scan *c, int pid)
{
	while (c->next < c->n) {
		uint64_t line = c->all[c->next].addr >> c->s->shift;

		do {
			if (!go_to(c, line) || (c->nthreads > 1 && c->nstores && !look_at(c, pid, line)))
				return false;
			line++;
		} while (c->nthreads > 1 && c->nstores);
		/* In `active` now are ranges of one thread, or such that only load. */
	}
	for (size_t i = 0; i < c->nactive; i++)
		count(c, &c->active[i], false);
	c->nactive = 0;
	return true;
}

/* Of the process of thread @first and those after it, none of those before it. */
static bool find_process(struct scan *c, size_t first)
{
	struct sh_thread *const *threads = c->s->threads;
	const int pid = threads[first]->pid;

	c->n = c->next = 0;
	c->soonest = UINT64_MAX;
	for (size_t i = first; i < c->s->nthreads; i++)
		if (threads[i]->pid == pid && !add_ranges(c, threads[i]))
			return false;
	if (c->n)
		qsort(c->all, c->n, sizeof(*c->all), compare);
	return scan(c, pid);
}

static bool is_first(const struct sh *s, size_t i)
{
	size_t k = 0;

	while (s->threads[k]->pid != s->threads[i]->pid)
		k++;
	return k == i;
}

bool sh_find_lines(struct sh *s)
{
	struct scan c = { .s = s };
	bool good = true;

	c.threads = calloc(s->nthreads + 1, sizeof(*c.threads));
	for (size_t i = 0; c.threads && good && i < s->nthreads; i++)
		good = !is_first(s, i) || find_process(&c, i);
	good = c.threads && good;
	free(c.threads);
	free(c.all);
	free(c.active);
	free(c.now.v);
	for (struct memo *m = c.memos; m < c.memos + MEMOS; m++)
		free(m->parts.v);
	return good;
}
