// SPDX-License-Identifier: GPL-3.0-or-later
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

#define FEW 16		  /* allocations that may have been made are looked at one by one up to here */
#define MAX_THREADS 65535 /* further ones have no calls of their own */
#define MOST_GRAINS 128	  /* changes of larger blocks count as changes everywhere */
#define LOOK_AHEAD 4096	  /* own events after the last one that was seen */

/* ---- the history ---- */

static uint32_t thread_of(struct nm_history *h, int pid, int tid)
{
	for (size_t i = h->nthreads; i-- > 0;)
		if (h->thread[i].pid == pid && h->thread[i].tid == tid)
			return (uint32_t)i;
	return UINT32_MAX;
}

static uint32_t add_thread(struct nm_history *h, int pid, int tid)
{
	uint32_t i = thread_of(h, pid, tid);

	if (i != UINT32_MAX || h->nthreads >= MAX_THREADS)
		return i;
	if (!array_room(h->thread, h->room_threads, h->nthreads + 1))
		return UINT32_MAX;
	h->thread[h->nthreads].pid = pid;
	h->thread[h->nthreads].tid = tid;
	return (uint32_t)h->nthreads++;
}

static size_t call_slot(const struct nm_history *h, uint64_t address)
{
	return hash_slot(i, h->room_calls, hash_word(address), !h->calls[i] || h->calls[i] == address);
}

static bool is_call(const struct nm_history *h, uint64_t address)
{
	return h->room_calls && h->calls[call_slot(h, address)];
}

bool nm_add_site(struct nm *nm, const struct nm_site *site, uint32_t *index)
{
	const struct nm_variable v = { .kind = NM_HEAP, .how = NM_BY_ALLOCATION, .name = site->what, .scope = site->function,
				       .object = site->object, .file = site->file, .line = site->line, .callers = site->callers };
	struct nm_history *h = &nm->history;
	struct nm_known_site *s;

	if (nm->nsites >= NM_FREED || !array_room(nm->site, nm->room_sites, nm->nsites + 1) ||
	    !hash_grow(h->calls, h->room_calls, h->ncalls + 1, old, *old, &h->calls[call_slot(h, *old)]))
		return false;
	s = &nm->site[nm->nsites];
	*s = (struct nm_known_site){ .code = site->code, .in_stream = site->in_stream };
	if (site->object && !(s->object = strdup(site->object)))
		return false;
	s->entry = nm_entry_new(nm, &v, NULL, false);
	if (!s->entry) {
		free(s->object);
		return false;
	}
	s->entry->v.object = s->object;
	if (site->code && site->in_stream && !is_call(h, site->code)) {
		h->calls[call_slot(h, site->code)] = site->code;
		h->ncalls++;
	}
	*index = (uint32_t)nm->nsites++;
	return true;
}

static bool add(struct nm *nm, const struct nm_call *call, struct nm_event e)
{
	struct nm_history *h = &nm->history;
	uint32_t thread = add_thread(h, call->pid, call->tid);

	if (!array_room(h->v, h->room, h->n + 1))
		return false;
	e.thread = thread == UINT32_MAX ? MAX_THREADS : thread;
	h->v[h->n++] = e;
	h->sorted = false;
	return true;
}

bool nm_add_block(struct nm *nm, const struct nm_call *call, uint64_t addr, uint64_t size)
{
	if (call->site >= nm->nsites)
		return true;
	if (!addr || addr >> 48 || !size || size > (UINT64_C(1) << 48) - addr)
		return add(nm, call, (struct nm_event){ .time = call->time, .site = call->site | NM_FREED });
	return add(nm, call, (struct nm_event){ call->time, addr, 0, nm_block_size(size), call->site });
}

bool nm_free_block(struct nm *nm, const struct nm_call *call, uint64_t addr, bool and_more)
{
	if (call->site >= nm->nsites)
		return true;
	return add(nm, call, (struct nm_event){ call->time, addr >> 48 ? 0 : addr, 0, and_more, call->site | NM_FREED });
}

/* As they were added, where the time is the same. */
static int by_time(const void *a, const void *b)
{
	const struct nm_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	/* a block is freed before its memory is given anew */
	return (int)!(x->site & NM_FREED) - (int)!(y->site & NM_FREED);
}

void nm_history_sort(struct nm_history *h)
{
	bool ascends = true;

	if (h->sorted)
		return;
	for (size_t i = 1; i < h->n && ascends; i++)
		ascends = h->v[i - 1].time <= h->v[i].time;
	if (!ascends)
		qsort(h->v, h->n, sizeof(*h->v), by_time);
	h->sorted = true;
}

void nm_history_free(struct nm_history *h)
{
	free(h->v);
	free(h->thread);
	free(h->calls);
}

/* ---- a thread's time ---- */

static bool is_of(const struct nm_cursor *c, const struct nm_event *e)
{
	const struct nm_history *h = &c->nm->history;

	return e->thread < h->nthreads && h->thread[e->thread].pid == c->pid;
}

static const struct nm_known_site *site_of(const struct nm_cursor *c, const struct nm_event *e)
{
	return &c->nm->site[e->site & ~NM_FREED];
}

/* The thread's next event from @i on; the number of all: there is none. */
static size_t own_from(const struct nm_cursor *c, size_t i)
{
	const struct nm_history *h = &c->nm->history;

	while (i < h->n && h->v[i].thread != c->thread)
		i++;
	return i;
}

static void note_change(struct nm_cursor *c, uint64_t addr, uint64_t bytes)
{
	const uint64_t last = (addr + bytes - 1) / NM_GRAIN;

	if (last - addr / NM_GRAIN >= MOST_GRAINS) {
		c->all_changed = c->epoch;
		return;
	}
	for (uint64_t i = addr / NM_GRAIN; i <= last; i++)
		c->changed[nm_grain(i * NM_GRAIN)] = c->epoch;
}

static void come(struct nm_cursor *c, const struct nm_block *b)
{
	const size_t before = c->live.blocks;

	note_change(c, b->addr, nm_block_bytes(b));
	c->failed |= !nm_live_add(&c->live, b);
	if (c->live.blocks != before + 1)
		c->all_changed = c->epoch; /* others went */
}

static void go(struct nm_cursor *c, uint64_t addr)
{
	const struct nm_block *b = nm_live_find(&c->live, addr);

	if (!b || b->addr != addr)
		return;
	note_change(c, addr, nm_block_bytes(b));
	nm_live_remove(&c->live, addr);
}

/* All that has happened up to @time is over. */
static void advance(struct nm_cursor *c, uint64_t time)
{
	const struct nm_history *h = &c->nm->history;

	if (time <= c->from)
		return;
	c->from = time;
	for (; c->at < h->n && h->v[c->at].time <= time; c->at++) {
		const struct nm_event *e = &h->v[c->at];

		if (!is_of(c, e) || !e->addr)
			continue;
		c->epoch++;
		if (e->site & NM_FREED)
			go(c, e->addr);
		else
			come(c, &(struct nm_block){ e->addr, e->size, e->site });
	}
}

/* Until when?  Until the next own call that will be seen, or the next chunk. */
static void look_ahead(struct nm_cursor *c)
{
	const struct nm_history *h = &c->nm->history;
	uint64_t to = c->next_chunk;
	size_t steps = 0;

	for (size_t i = c->own; i < h->n && h->v[i].time < to && steps++ < LOOK_AHEAD; i++)
		if (h->v[i].thread == c->thread && site_of(c, &h->v[i])->in_stream)
			to = h->v[i].time;
	if (to != c->to)
		c->epoch++;
	c->to = to;
	c->calm = c->at >= h->n || h->v[c->at].time >= to;
}

bool nm_cursor_begin(struct nm_cursor *c, struct nm *nm, int pid, int tid)
{
	nm_history_sort(&nm->history);
	*c = (struct nm_cursor){ .nm = nm, .pid = pid, .to = UINT64_MAX, .next_chunk = UINT64_MAX, .epoch = 1 };
	c->thread = thread_of(&nm->history, pid, tid);
	c->own = own_from(c, 0);
	look_ahead(c);
	return true;
}

void nm_cursor_end(struct nm_cursor *c)
{
	nm_live_free(&c->live);
	free(c->may);
	free(c->reach);
}

void nm_cursor_chunk(struct nm_cursor *c, uint64_t from, uint64_t next)
{
	const struct nm_history *h = &c->nm->history;

	if (!h->n)
		return;
	advance(c, from);
	while (c->own < h->n && h->v[c->own].time <= from)
		c->own = own_from(c, c->own + 1);
	c->next_chunk = next;
	look_ahead(c);
}

void nm_cursor_call(struct nm_cursor *c, uint64_t address)
{
	const struct nm_history *h = &c->nm->history;
	size_t i = c->own, steps = 0;

	if (!is_call(h, address))
		return;
	while (i < h->n && (h->v[i].time > c->next_chunk || site_of(c, &h->v[i])->code != address)) {
		if (h->v[i].time > c->next_chunk || ++steps > LOOK_AHEAD)
			return;
		i = own_from(c, i + 1);
	}
	if (i >= h->n)
		return;
	/* realloc() frees one and allocates another */
	if ((h->v[i].site & NM_FREED) && h->v[i].size)
		i = own_from(c, i + 1) < h->n ? own_from(c, i + 1) : i;
	c->own = own_from(c, i + 1);
	advance(c, h->v[i].time);
	look_ahead(c);
}

/* ---- what it may have been ---- */

struct found {
	const struct nm *nm;
	uint64_t addr;
	const struct nm_block *one;
	struct nm_entry *entry;
	bool several, differ;
	bool others; /* that may have been there, too, in a part of it */
	struct nm_block copy;
};

static void consider(struct found *f, const struct nm_block *b)
{
	struct nm_entry *entry;

	if (f->addr < b->addr || f->addr - b->addr >= nm_block_bytes(b))
		return;
	entry = f->nm->site[b->site].entry;
	if (f->one) {
		f->several |= f->copy.addr != b->addr || f->copy.size != b->size;
		f->differ |= f->entry != entry;
		return;
	}
	f->copy = *b;
	f->one = &f->copy;
	f->entry = entry;
}

/* Another one, where it is. */
static bool is_beside(const struct found *f, const struct nm_block *b)
{
	const uint64_t bytes = nm_block_bytes(&f->copy), begin = f->copy.addr;

	return (b->addr != begin || b->size != f->copy.size) && b->addr < begin + bytes && b->addr + nm_block_bytes(b) > begin;
}

static int by_address(const void *a, const void *b)
{
	const struct nm_block *x = a, *y = b;

	return (x->addr > y->addr) - (x->addr < y->addr);
}

static bool list_may(struct nm_cursor *c, size_t end)
{
	const struct nm_history *h = &c->nm->history;
	uint64_t reach = 0;

	c->nmay = 0;
	for (size_t i = c->at; i < end; i++) {
		const struct nm_event *e = &h->v[i];

		if ((e->site & NM_FREED) || !is_of(c, e))
			continue;
		if (!array_room(c->may, c->room_may, c->nmay + 1) || !array_room(c->reach, c->room_reach, c->nmay + 1))
			return false;
		c->may[c->nmay++] = (struct nm_block){ e->addr, e->size, e->site };
	}
	if (c->nmay)
		qsort(c->may, c->nmay, sizeof(*c->may), by_address);
	for (size_t i = 0; i < c->nmay; i++) {
		uint64_t last = c->may[i].addr + nm_block_bytes(&c->may[i]);

		reach = last > reach ? last : reach;
		c->reach[i] = reach;
	}
	c->may_begin = c->at;
	c->may_end = end;
	return true;
}

/* One by one: the events up to @end. */
static void consider_few(struct nm_cursor *c, struct found *f, size_t end)
{
	const struct nm_event *v = c->nm->history.v;

	for (unsigned int again = 0; again < 2; again++) {
		for (size_t i = c->at; i < end; i++) {
			const struct nm_block b = { v[i].addr, v[i].size, v[i].site };

			if ((v[i].site & NM_FREED) || !is_of(c, &v[i]))
				continue;
			if (again)
				f->others |= f->one && is_beside(f, &b);
			else
				consider(f, &b);
		}
	}
}

static void consider_may(struct nm_cursor *c, struct found *f)
{
	const struct nm_history *h = &c->nm->history;
	size_t end = c->at;

	while (end < h->n && end - c->at <= FEW && h->v[end].time < c->to)
		end++;
	if (end - c->at <= FEW) {
		consider_few(c, f, end);
		return;
	}
	end = search_first(i, h->n, h->v[i].time >= c->to);
	if ((c->may_begin != c->at || c->may_end != end) && !list_may(c, end)) {
		c->failed = true;
		return;
	}
	end = search_first(i, c->nmay, c->may[i].addr > f->addr);
	for (; end && c->reach[end - 1] > f->addr && !f->differ; end--)
		consider(f, &c->may[end - 1]);
	if (!f->one)
		return;
	end = search_first(i, c->nmay, c->may[i].addr >= f->copy.addr + nm_block_bytes(&f->copy));
	for (; end && c->reach[end - 1] > f->copy.addr && !f->others; end--)
		f->others = is_beside(f, &c->may[end - 1]);
}

enum nm_found nm_cursor_find(struct nm_cursor *c, uint64_t addr, uint32_t *site, uint64_t *begin, uint64_t *size)
{
	struct nm_lately *lately = &c->lately[nm_lately(addr)];
	struct found f = { .nm = c->nm, .addr = addr };
	const struct nm_block *b;

	if (!c->nm->history.n)
		return NM_FOUND_NONE;
	if (c->calm && addr - lately->begin < lately->size && nm_cursor_stays(c, lately->epoch, addr)) {
		*site = lately->site;
		*begin = lately->begin;
		*size = lately->size;
		return NM_FOUND_ONE;
	}
	b = nm_live_find(&c->live, addr);
	if (b)
		consider(&f, b);
	consider_may(c, &f);
	if (!f.one)
		return NM_FOUND_NONE;
	if (f.differ)
		return NM_FOUND_SEVERAL;
	*site = f.copy.site;
	*begin = f.several ? addr : f.copy.addr;
	*size = f.several ? 0 : nm_block_bytes(&f.copy);
	if (c->calm)
		*lately = (struct nm_lately){ *begin, *size, c->epoch, *site };
	return f.others ? NM_FOUND_HERE : NM_FOUND_ONE;
}
