/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a line is that threads share, and how often it changes threads. */
#include "analysis/sharing/private.h"
#include "base/array.h"

#include <stdlib.h>
#include <string.h>

#define PAIR_USES 8    /* of a thread and line, those of most accesses, are looked at in pairs */
#define PAIR_THREADS 64

/* What one instruction of a thread does to a line that is shared, all parts of it. */
struct item {
	const struct sh_thread *thread;
	const struct part *parts;
	size_t n;
	uint64_t insn, reads, writes;
	uint64_t accesses, stores;
	uint64_t from, to; /* as in struct sh_use */
	const struct span *next; /* in fetch() */
};

/* ---- items ---- */

/* Spans of a use count accesses and stores, those of a sweep how often it is made. */
static uint64_t accesses_of(const struct span *s, const struct part *p)
{
	return p->n ? s->n * p->n : s->n;
}

static uint64_t stores_of(const struct span *s, const struct part *p)
{
	return p->n ? s->n * p->stores : s->stores;
}

static void sum_up(struct item *item, const struct part *p)
{
	const struct sh_thread *t = p->thread;

	for (const struct span *s = p->when; s; s = sh_before(t, s)) {
		const uint64_t from = t->windows[s->first].from, to = t->windows[s->last].to;

		item->accesses += accesses_of(s, p);
		item->stores += stores_of(s, p);
		item->from = item->from < from ? item->from : from;
		item->to = item->to > to ? item->to : to;
	}
	item->reads |= p->reads;
	item->writes |= p->writes;
}

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread->number < y->thread->number ? -1 : 1;
	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->insn < y->insn ? -1 : x->insn > y->insn;
}

/* All spans into the cache: those of a part are anywhere in memory, one after another, so those of all parts are waited for at once. */
static void fetch(struct item *items, const struct part *parts, size_t n)
{
	bool any = true;

	for (size_t i = 0; i < n; i++)
		items[i].next = parts[i].when;
	while (any) {
		any = false;
		for (size_t i = 0; i < n; i++) {
			items[i].next = items[i].next ? sh_before(parts[i].thread, items[i].next) : NULL;
			any |= items[i].next != NULL;
		}
	}
}

/* Of parts by thread and instruction. */
static size_t make_items(struct item *items, const struct part *parts, size_t n)
{
	size_t nitems = 0;

	for (size_t i = 0, end; i < n; i = end) {
		struct item *item = &items[nitems++];

		*item = (struct item){ .thread = parts[i].thread, .parts = &parts[i], .insn = parts[i].insn, .from = UINT64_MAX };
		for (end = i; end < n && parts[end].thread == item->thread && parts[end].insn == item->insn; end++)
			sum_up(item, &parts[end]);
		item->n = end - i;
	}
	qsort(items, nitems, sizeof(*items), compare);
	return nitems;
}

/* ---- how often they change threads ---- */

struct windows {
	struct cache_window *v, *merged;
	size_t n, room, room_merged;
	/* Of the line: until when it is stored to by the thread that is the last one to do so, and by the last one of all others. */
	uint64_t until, until_others;
	const struct sh_thread *last;
};

static void find_last(struct windows *w, const struct item *items, size_t n)
{
	w->until = w->until_others = 0;
	w->last = NULL;
	for (size_t i = 0; i < n; i++) {
		const struct item *item = &items[i];

		if (!item->stores)
			continue;
		if (item->thread == w->last) {
			w->until = item->to > w->until ? item->to : w->until;
		} else if (!w->last || item->to > w->until) {
			w->until_others = w->until;
			w->until = item->to;
			w->last = item->thread;
		} else {
			w->until_others = item->to > w->until_others ? item->to : w->until_others;
		}
	}
}

/* Loads after the last store of another thread are one: nothing comes between them. */
static bool add_part(struct windows *w, const struct part *p, uint64_t until, size_t *late)
{
	const struct sh_thread *t = p->thread;

	for (const struct span *s = p->when; s; s = sh_before(t, s)) {
		const struct cache_window window = {
			.from = t->windows[s->first].from, .to = t->windows[s->last].to,
			.accesses = accesses_of(s, p), .stores = stores_of(s, p), .cache = t->number,
		};

		if (!window.stores && window.from > until) {
			if (*late != SIZE_MAX) {
				struct cache_window *v = &w->v[*late];

				v->from = v->from < window.from ? v->from : window.from;
				v->to = v->to > window.to ? v->to : window.to;
				v->accesses += window.accesses;
				continue;
			}
			*late = w->n;
		}
		if (!array_room(w->v, w->room, w->n + 1))
			return false;
		w->v[w->n++] = window;
	}
	return true;
}

static bool add_windows(struct windows *w, const struct item *item)
{
	const uint64_t until = item->thread == w->last ? w->until_others : w->until;
	size_t late = SIZE_MAX;

	for (size_t i = 0; i < item->n; i++)
		if (!add_part(w, &item->parts[i], until, &late))
			return false;
	return true;
}

static int by_time(const void *a, const void *b)
{
	const struct cache_window *x = a, *y = b;

	if (x->cache != y->cache)
		return x->cache < y->cache ? -1 : 1;
	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

static void reverse(struct cache_window *v, size_t n)
{
	for (size_t i = 0; i < n / 2; i++) {
		const struct cache_window first = v[i];

		v[i] = v[n - 1 - i];
		v[n - 1 - i] = first;
	}
}

/* How many of @n go up or down, one after another; they go up then. */
static size_t run_of(struct cache_window *v, size_t n)
{
	size_t i = 1;

	while (i < n && v[i].cache == v[0].cache && by_time(&v[i - 1], &v[i]) < 0)
		i++;
	if (i > 1)
		return i;
	while (i < n && v[i].cache == v[0].cache && by_time(&v[i - 1], &v[i]) > 0)
		i++;
	reverse(v, i);
	return i;
}

/* Two runs to @to, in which what is done in the same window is one.  Returns how many there are. */
static size_t merge(struct cache_window *to, const struct cache_window *x, size_t nx, const struct cache_window *y, size_t ny)
{
	const struct cache_window *endx = x + nx, *endy = y + ny;
	size_t n = 0;

	while (x < endx && y < endy) {
		const int order = by_time(x, y);

		to[n] = order > 0 ? *y++ : *x++;
		if (order == 0) {
			to[n].accesses += y->accesses;
			to[n].stores += y++->stores;
		}
		n++;
	}
	for (; x < endx; x++)
		to[n++] = *x;
	for (; y < endy; y++)
		to[n++] = *y;
	return n;
}

/*
 * What is done in the same window is one.  Parts are of mostly the same windows, each from the last one on, by thread: so what a thread's have been made
 * into stays short.
 */
static bool join(struct windows *w)
{
	size_t begin = 0, n = 0; /* of the thread's; of all */

	for (size_t i = 0, run; i < w->n; i += run) {
		run = run_of(&w->v[i], w->n - i);
		if (n && w->v[n - 1].cache != w->v[i].cache)
			begin = n;
		if (begin == i) { /* the first one, where it belongs */
			n += run;
			continue;
		}
		if (!array_room(w->merged, w->room_merged, n - begin + run))
			return false;
		n = begin + merge(w->merged, &w->v[begin], n - begin, &w->v[i], run);
		memcpy(&w->v[begin], w->merged, (n - begin) * sizeof(w->v[0]));
	}
	w->n = n;
	return true;
}

/* ---- pairs ---- */

struct pair {
	size_t a, b;
	uint64_t weight;
	uint64_t both; /* bytes that one writes and the other accesses */
};

struct pairs {
	struct pair *v;
	size_t n, room;
	struct windows windows;
};

static bool add_pair(struct pairs *p, const struct item *items, size_t a, size_t b)
{
	const struct item *u = &items[a], *v = &items[b];
	struct pair pair = { .a = a, .b = b };
	struct cache_bounds invalidated, transfers;

	if (!u->writes && !v->writes)
		return true;
	pair.both = (u->writes & (v->reads | v->writes)) | (v->writes & (u->reads | u->writes));
	p->windows.n = 0;
	if (!add_windows(&p->windows, u) || !add_windows(&p->windows, v))
		return false;
	if (!join(&p->windows) || !cache_bounds(p->windows.v, p->windows.n, &invalidated, &transfers) || !array_room(p->v, p->room, p->n + 1))
		return false;
	pair.weight = transfers.most;
	if (pair.weight)
		p->v[p->n++] = pair;
	return true;
}

static bool is_looked_at(const struct item *items, size_t i, size_t *rank)
{
	*rank = i && items[i - 1].thread == items[i].thread ? *rank + 1 : 0;
	return *rank < PAIR_USES && items[i].thread->number - items[0].thread->number < PAIR_THREADS;
}

static bool add_pairs(struct pairs *p, const struct item *items, size_t n)
{
	size_t rank = 0, other;

	p->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_looked_at(items, i, &rank))
			continue;
		other = 0;
		for (size_t k = 0; k < n; k++)
			if (is_looked_at(items, k, &other) && items[k].thread->number > items[i].thread->number &&
			    !add_pair(p, items, i, k))
				return false;
	}
	return true;
}

static uint64_t bytes_of(const struct item *item)
{
	return item->reads | item->writes;
}

/* All that a thread stores to in the line. */
static uint64_t stored_by(const struct item *items, size_t n, size_t i)
{
	uint64_t bytes = 0;

	for (size_t k = 0; k < n; k++)
		bytes |= items[k].thread == items[i].thread ? items[k].writes : 0;
	return bytes;
}

/*
 * Does it matter that both are in one line, though they access different bytes?  Not if all of these bytes go from one to the other
 * anyway, as a lock and what it is for; but if each stores to what the other one only reads, as the ends of a queue.
 */
static bool is_apart(const struct item *items, size_t n, const struct pair *p, uint64_t shared)
{
	const struct item *u = &items[p->a], *v = &items[p->b];

	if (p->both)
		return false;
	if ((bytes_of(&items[p->a]) | bytes_of(&items[p->b])) & ~shared)
		return true;
	return u->writes && v->writes && !(u->writes & stored_by(items, n, p->b)) && !(v->writes & stored_by(items, n, p->a));
}

static void classify(const struct pairs *p, const struct item *items, size_t n, struct sh_line *line)
{
	const struct pair *most[2] = { NULL, NULL }; /* apart, together */
	uint64_t top = 0, shared = 0;

	for (size_t i = 0; i < p->n; i++)
		top = p->v[i].weight > top ? p->v[i].weight : top;
	for (size_t i = 0; i < p->n; i++)
		shared |= p->v[i].weight >= (top + 99) / 100 ? p->v[i].both : 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct pair *pair = &p->v[i], **to = &most[pair->both != 0];

		if (pair->weight < (top + 99) / 100 || (!pair->both && !is_apart(items, n, pair, shared)))
			continue;
		if (!*to || pair->weight > (*to)->weight)
			*to = pair;
	}
	line->class = most[0] && most[1] ? SH_MIXED : most[0] ? SH_FALSE : SH_TRUE;
	if (most[0] || most[1]) {
		line->a = (most[0] ? most[0] : most[1])->a;
		line->b = (most[0] ? most[0] : most[1])->b;
	}
}

/* ---- all ---- */

static bool add_uses(struct sh *s, const struct item *items, size_t n)
{
	if (!array_room(s->uses, s->room_uses, s->nuses + n))
		return false;
	for (size_t i = 0; i < n; i++)
		s->uses[s->nuses++] = (struct sh_use){
			.insn = items[i].insn, .reads = items[i].reads, .writes = items[i].writes,
			.accesses = items[i].accesses, .stores = items[i].stores, .from = items[i].from, .to = items[i].to,
			.tid = items[i].thread->tid, .thread = items[i].thread->number,
		};
	return true;
}

static bool bound(struct sh *s, const struct item *items, size_t n, struct pairs *p, struct sh_line *line)
{
	p->windows.n = 0;
	find_last(&p->windows, items, n);
	for (size_t i = 0; i < n; i++) {
		const struct item *item = &items[i];

		line->threads += !i || items[i - 1].thread != item->thread;
		line->accesses += item->accesses;
		line->stores += item->stores;
		if (!add_windows(&p->windows, item))
			return false;
	}
	if (!join(&p->windows) || !cache_bounds(p->windows.v, p->windows.n, &line->invalidated, &line->transfers))
		return false;
	if (line->transfers.most >= s->o.least) {
		if (!add_pairs(p, items, n))
			return false;
		classify(p, items, n, line);
	}
	line->handed = line->transfers.most < line->stores / SH_HANDED;
	return true;
}

static bool line_room(struct sh *s)
{
	return array_room(s->lines, s->room_lines, s->nlines + 1) && array_room(s->first, s->room_first, s->nlines + 1);
}

bool sh_make_line_like(struct sh *s, uint64_t line, size_t like)
{
	if (!line_room(s))
		return false;
	s->first[s->nlines] = s->first[like];
	s->lines[s->nlines] = s->lines[like];
	s->lines[s->nlines++].address = line << s->shift;
	return true;
}

bool sh_make_line(struct sh *s, int pid, uint64_t line, const struct part *parts, size_t n)
{
	struct sh_line *to;
	struct pairs p = { 0 };
	struct item *items;
	bool good;

	if (!line_room(s))
		return false;
	items = calloc(n, sizeof(*items));
	if (!items)
		return false;
	fetch(items, parts, n);
	to = &s->lines[s->nlines];
	s->first[s->nlines] = s->nuses;
	*to = (struct sh_line){ .address = line << s->shift, .pid = pid, .class = SH_TRUE, .nuses = make_items(items, parts, n) };
	good = bound(s, items, to->nuses, &p, to) && add_uses(s, items, to->nuses);
	s->nlines += good;
	free(p.v);
	free(p.windows.v);
	free(p.windows.merged);
	free(items);
	return good;
}

static int by_transfers(const void *a, const void *b)
{
	const struct sh_line *x = a, *y = b;

	if (x->transfers.most != y->transfers.most)
		return x->transfers.most < y->transfers.most ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

bool sh_finish(struct sh *s)
{
	bool good = true;

	for (size_t i = 0; good && i < s->nthreads; i++)
		good = sh_flush(s->threads[i]);
	good = good && sh_find_lines(s);
	for (size_t i = 0; i < s->nlines; i++)
		s->lines[i].uses = &s->uses[s->first[i]];
	if (s->nlines)
		qsort(s->lines, s->nlines, sizeof(s->lines[0]), by_transfers);
	return good;
}

const struct sh_line *sh_line(const struct sh *s, size_t i)
{
	return i < s->nlines ? &s->lines[i] : NULL;
}

uint64_t sh_missed(const struct sh *s)
{
	uint64_t n = 0;

	for (size_t i = 0; i < s->nthreads; i++)
		n += s->threads[i]->missed;
	return n;
}

void sh_sum(const struct sh *s, struct sh_sum *sum)
{
	*sum = (struct sh_sum){ 0 };
	for (size_t i = 0; i < s->nlines; i++) {
		sum->lines++;
		sum->handed += s->lines[i].handed;
		sum->transfers.least += s->lines[i].transfers.least;
		sum->transfers.most += s->lines[i].transfers.most;
	}
}
