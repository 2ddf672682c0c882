/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the uses of all threads make: lines that are shared, and what they are. */
#include "analysis/sharing/private.h"
#include "base/array.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

#define PAIR_USES 8    /* of a thread and line, those of most accesses, are looked at in pairs */
#define PAIR_THREADS 64

/* A use of a line that is shared. */
struct item {
	uint64_t line;
	const struct sh_thread *thread;
	const struct use *use;
	uint64_t accesses, stores;
	uint64_t from, to; /* as in struct sh_use */
};

/* Who has accessed a line: number of the first thread + 1; SHARED: several have. */
struct owner {
	uint64_t line;
	int pid;
	uint32_t thread;
	bool shared, stored;
};

struct owners {
	struct owner *v;
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
};

/* ---- which lines ---- */

static size_t slot_of(const struct owners *o, int pid, uint64_t line)
{
	return hash_slot(i, o->slots, hash_word(line + hash_word((uint64_t)pid)), !o->table[i] ||
			 (o->v[o->table[i] - 1].line == line && o->v[o->table[i] - 1].pid == pid));
}

static struct owner *owner_of(struct owners *o, int pid, uint64_t line)
{
	const size_t slot = o->n ? slot_of(o, pid, line) : 0;

	if (o->n && o->table[slot])
		return &o->v[o->table[slot] - 1];
	if (o->n >= UINT32_MAX - 1 || !array_room(o->v, o->room, o->n + 1) ||
	    !hash_grow(o->table, o->slots, o->n + 1, old, *old, &o->table[slot_of(o, o->v[*old - 1].pid, o->v[*old - 1].line)]))
		return NULL;
	o->v[o->n] = (struct owner){ .line = line, .pid = pid };
	o->table[slot_of(o, pid, line)] = (uint32_t)++o->n;
	return &o->v[o->n - 1];
}

static bool note(struct owners *o, const struct sh_thread *t)
{
	for (const struct use *u = t->uses; u < t->uses + t->n; u++) {
		struct owner *owner = owner_of(o, t->pid, u->line);

		if (!owner)
			return false;
		owner->shared |= owner->thread && owner->thread != t->number + 1;
		owner->stored |= u->writes != 0;
		owner->thread = t->number + 1;
	}
	return true;
}

static bool wanted(const struct owners *o, const struct sh_thread *t, const struct use *u)
{
	const struct owner *owner = &o->v[o->table[slot_of(o, t->pid, u->line)] - 1];

	return owner->shared && owner->stored;
}

static struct item item_of(const struct sh_thread *t, const struct use *u)
{
	struct item item = { .line = u->line, .thread = t, .use = u };

	for (uint32_t at = u->span; at; at = t->spans[at - 1].before) {
		item.accesses += t->spans[at - 1].accesses;
		item.stores += t->spans[at - 1].stores;
		item.from = t->windows[t->spans[at - 1].first].from;
	}
	item.to = u->span ? t->windows[t->spans[u->span - 1].last].to : 0;
	return item;
}

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->thread->pid != y->thread->pid)
		return x->thread->pid < y->thread->pid ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread->number < y->thread->number ? -1 : 1;
	if (x->accesses != y->accesses)
		return x->accesses > y->accesses ? -1 : 1;
	return x->use->insn < y->use->insn ? -1 : x->use->insn > y->use->insn;
}

/* Sorted.  False: no memory. */
static bool gather(const struct sh *s, struct item **items, size_t *n)
{
	struct owners o = { 0 };
	size_t room = 0;
	bool good = true;

	*items = NULL;
	*n = 0;
	for (size_t i = 0; good && i < s->nthreads; i++)
		good = note(&o, s->threads[i]);
	for (size_t i = 0; good && i < s->nthreads; i++) {
		const struct sh_thread *t = s->threads[i];

		for (const struct use *u = t->uses; good && u < t->uses + t->n; u++) {
			if (!wanted(&o, t, u))
				continue;
			good = array_room(*items, room, *n + 1);
			if (good)
				(*items)[(*n)++] = item_of(t, u);
		}
	}
	free(o.v);
	free(o.table);
	if (*n)
		qsort(*items, *n, sizeof(**items), compare);
	return good;
}

/* ---- how often they change threads ---- */

struct windows {
	struct cache_window *v;
	size_t n, room;
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
static bool add_windows(struct windows *w, const struct item *item)
{
	const struct sh_thread *t = item->thread;
	const uint64_t until = t == w->last ? w->until_others : w->until;
	size_t late = SIZE_MAX;

	for (uint32_t at = item->use->span; at; at = t->spans[at - 1].before) {
		const struct span *s = &t->spans[at - 1];

		if (!s->stores && t->windows[s->first].from > until) {
			if (late != SIZE_MAX) {
				w->v[late].from = t->windows[s->first].from;
				w->v[late].accesses += s->accesses;
				continue;
			}
			late = w->n;
		}
		if (!array_room(w->v, w->room, w->n + 1))
			return false;
		w->v[w->n++] = (struct cache_window){
			.from = t->windows[s->first].from, .to = t->windows[s->last].to,
			.accesses = s->accesses, .stores = s->stores, .cache = t->number,
		};
	}
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

/* What several instructions do in the same window is one. */
static void join(struct windows *w)
{
	size_t n = 0;

	if (w->n)
		qsort(w->v, w->n, sizeof(w->v[0]), by_time);
	for (size_t i = 0; i < w->n; i++) {
		struct cache_window *last = n ? &w->v[n - 1] : NULL;

		if (last && by_time(last, &w->v[i]) == 0) {
			last->accesses += w->v[i].accesses;
			last->stores += w->v[i].stores;
		} else {
			w->v[n++] = w->v[i];
		}
	}
	w->n = n;
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
	const struct use *u = items[a].use, *v = items[b].use;
	struct pair pair = { .a = a, .b = b };
	struct cache_bounds invalidated, transfers;

	if (!u->writes && !v->writes)
		return true;
	pair.both = (u->writes & (v->reads | v->writes)) | (v->writes & (u->reads | u->writes));
	p->windows.n = 0;
	if (!add_windows(&p->windows, &items[a]) || !add_windows(&p->windows, &items[b]) ||
	    !cache_bounds(p->windows.v, p->windows.n, &invalidated, &transfers) || !array_room(p->v, p->room, p->n + 1))
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
	return item->use->reads | item->use->writes;
}

/* All that a thread stores to in the line. */
static uint64_t stored_by(const struct item *items, size_t n, size_t i)
{
	uint64_t bytes = 0;

	for (size_t k = 0; k < n; k++)
		bytes |= items[k].thread == items[i].thread ? items[k].use->writes : 0;
	return bytes;
}

/*
 * Does it matter that both are in one line, though they access different bytes?  Not if all of these bytes go from one to the other
 * anyway, as a lock and what it is for; but if each stores to what the other one only reads, as the ends of a queue.
 */
static bool is_apart(const struct item *items, size_t n, const struct pair *p, uint64_t shared)
{
	const struct use *u = items[p->a].use, *v = items[p->b].use;

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

static bool make_line(struct sh *s, const struct item *items, size_t n, struct pairs *p)
{
	struct sh_line line = { .address = items->line << s->shift, .pid = items->thread->pid, .nuses = n };

	p->windows.n = 0;
	find_last(&p->windows, items, n);
	for (size_t i = 0; i < n; i++) {
		const struct item *item = &items[i];

		line.threads += !i || items[i - 1].thread != item->thread;
		line.accesses += item->accesses;
		line.stores += item->stores;
		if (!add_windows(&p->windows, item))
			return false;
	}
	join(&p->windows);
	line.class = SH_TRUE;
	if (!cache_bounds(p->windows.v, p->windows.n, &line.invalidated, &line.transfers) ||
	    !array_room(s->lines, s->room_lines, s->nlines + 1))
		return false;
	if (line.transfers.most >= s->o.least) {
		if (!add_pairs(p, items, n))
			return false;
		classify(p, items, n, &line);
	}
	line.handed = line.transfers.most < line.stores / SH_HANDED;
	line.uses = s->uses + s->nuses;
	for (size_t i = 0; i < n; i++)
		s->uses[s->nuses++] = (struct sh_use){
			.insn = items[i].use->insn, .reads = items[i].use->reads, .writes = items[i].use->writes,
			.accesses = items[i].accesses, .stores = items[i].stores, .from = items[i].from, .to = items[i].to,
			.tid = items[i].thread->tid, .thread = items[i].thread->number,
		};
	s->lines[s->nlines++] = line;
	return true;
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
	struct pairs p = { 0 };
	struct item *items;
	size_t n;
	bool good;

	for (size_t i = 0; i < s->nthreads; i++)
		sh_flush(s->threads[i]);
	good = gather(s, &items, &n);
	s->uses = good ? calloc(n + 1, sizeof(*s->uses)) : NULL;
	good = s->uses;
	for (size_t i = 0, end; good && i < n; i = end) {
		for (end = i + 1; end < n && items[end].line == items[i].line && items[end].thread->pid == items[i].thread->pid;)
			end++;
		good = make_line(s, items + i, end - i, &p);
	}
	free(p.v);
	free(p.windows.v);
	free(items);
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
