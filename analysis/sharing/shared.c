/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which lines several threads access, one of which stores to them: uses and sweeps of all threads, by their first lines, gone through line by line
 * where there are those of several.
 */
#include "analysis/sharing/private.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

/* A use, or a sweep, which need not touch all of these lines. */
struct range {
	uint64_t first, last;
	const struct sh_thread *thread;
	const struct use *use; /* NULL: a sweep, its first level from `addr` on */
	const struct sweep *sweep;
	uint64_t addr;
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
	struct range **active; /* which the line is in, or was */
	size_t nactive, room_active;
	uint32_t *threads; /* by number: how many ranges each has there */
	size_t nthreads, nstores; /* that have any; ranges that store */
	struct parts now;
	struct memo memos[MEMOS]; /* by hash */
};

static bool stores(const struct range *r)
{
	return r->use ? r->use->writes != 0 : r->sweep->kind != MD_LOAD;
}

/* ---- ranges ---- */

static void add_sweep(struct scan *c, const struct sh_thread *t, const struct sweep *w)
{
	const unsigned int shift = c->s->shift;
	const uint64_t length = (w->level[0].n - 1) * w->level[0].stride + w->size - 1;

	for (uint64_t i = 0; i < w->level[2].n; i++)
		for (uint64_t k = 0; k < w->level[1].n; k++) {
			const uint64_t addr = w->addr + i * w->level[2].stride + k * w->level[1].stride;

			c->all[c->n++] = (struct range){ .first = addr >> shift, .last = (addr + length) >> shift, .thread = t, .sweep = w,
							 .addr = addr };
		}
}

static bool add_ranges(struct scan *c, const struct sh_thread *t)
{
	if (!array_room(c->all, c->room, c->n + t->n + t->ranges))
		return false;
	for (const struct use *u = t->uses; u && u < t->uses + t->n; u++)
		c->all[c->n++] = (struct range){ .first = u->line, .last = u->line, .thread = t, .use = u };
	for (const struct sweep *w = t->sweeps; w && w < t->sweeps + t->nsweeps; w++)
		add_sweep(c, t, w);
	return true;
}

static int compare(const void *a, const void *b)
{
	const struct range *x = a, *y = b;

	if (x->thread->pid != y->thread->pid)
		return x->thread->pid < y->thread->pid ? -1 : 1;
	return x->first < y->first ? -1 : x->first > y->first;
}

static void count(struct scan *c, const struct range *r, bool begins)
{
	uint32_t *n = &c->threads[r->thread->number];

	if (begins) {
		c->nthreads += !(*n)++;
		c->nstores += stores(r);
	} else {
		c->nthreads -= !--*n;
		c->nstores -= stores(r);
	}
}

/* Those that end before the line are gone, those that begin there are added. */
static bool go_to(struct scan *c, int pid, uint64_t line)
{
	size_t n = 0;

	for (size_t i = 0; i < c->nactive; i++) {
		if (c->active[i]->last >= line && c->active[i]->thread->pid == pid)
			c->active[n++] = c->active[i];
		else
			count(c, c->active[i], false);
	}
	c->nactive = n;
	for (; c->next < c->n && c->all[c->next].thread->pid == pid && c->all[c->next].first == line; c->next++) {
		if (!array_room(c->active, c->room_active, c->nactive + 1))
			return false;
		c->active[c->nactive++] = &c->all[c->next];
		count(c, &c->all[c->next], true);
	}
	return true;
}

/* ---- parts ---- */

/* The accesses of a sweep to a line: which bytes, and how many there are. */
static uint64_t touch(const struct sh *s, const struct range *r, uint64_t line, uint64_t *mask)
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

static bool add_part(struct scan *c, const struct range *r, uint64_t line)
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

/* Lines often have the same parts as one before them. */
static bool make_line(struct scan *c, int pid, uint64_t line)
{
	const size_t bytes = c->now.n * sizeof(c->now.v[0]);
	struct memo *memo = &c->memos[hash_bytes(c->now.v, bytes) % MEMOS];

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
		if (!add_part(c, c->active[i], line))
			return false;
	return !is_shared(&c->now) || make_line(c, pid, line);
}

/* ---- all ---- */

/* Where the next range begins; if the line is no place to look at, nothing is missed in between. */
static bool scan(struct scan *c)
{
	while (c->next < c->n) {
		const int pid = c->all[c->next].thread->pid;
		uint64_t line = c->all[c->next].first;

		do {
			if (!go_to(c, pid, line) || (c->nthreads > 1 && c->nstores && !look_at(c, pid, line)))
				return false;
			line++;
		} while (c->nthreads > 1 && c->nstores);
		/* In `active` now are ranges of one thread, or such that only load. */
	}
	return true;
}

bool sh_find_lines(struct sh *s)
{
	struct scan c = { .s = s };
	bool good = true;

	c.threads = calloc(s->nthreads + 1, sizeof(*c.threads));
	for (size_t i = 0; c.threads && good && i < s->nthreads; i++)
		good = add_ranges(&c, s->threads[i]);
	if (c.threads && good && c.n)
		qsort(c.all, c.n, sizeof(*c.all), compare);
	good = c.threads && good && scan(&c);
	free(c.threads);
	free(c.all);
	free(c.active);
	free(c.now.v);
	for (struct memo *m = c.memos; m < c.memos + MEMOS; m++)
		free(m->parts.v);
	return good;
}
