/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "analysis/sharing/pages.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

#define RECENT 64 /* pages whose records are at hand */

struct touch {
	uint64_t from, to, insn, at; /* to 0: there was none; UINT64_MAX: it is not over */
};

/* What a thread does to a page. */
struct record {
	uint64_t page;
	uint64_t loads, stores;
	uint64_t insn, votes; /* the majority, if there is one: Boyer and Moore, "MJRTY - A fast majority vote algorithm", 1981 */
	struct touch any, store;
};

struct sh_pages_thread {
	struct sh_pages *p;
	int pid, tid;
	uint32_t number;
	uint64_t now, from; /* the last time it said; when what comes was made at the earliest */
	struct record *v;
	size_t n, room;
	uint32_t *table; /* index + 1 */
	size_t slots;
	uint32_t *fresh; /* records that have touches since `from' */
	size_t nfresh, room_fresh;
	uint32_t recent[RECENT]; /* index + 1 */
};

struct sh_pages {
	unsigned int shift;
	bool no_stack;
	struct sh_pages_thread **threads;
	size_t nthreads, room_threads;
	struct sh_page *pages;
	size_t npages;
	struct sh_page_use *uses;
};

struct sh_pages *sh_pages_new(unsigned int shift, bool no_stack)
{
	struct sh_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->shift = shift;
	p->no_stack = no_stack;
	return p;
}

void sh_pages_free(struct sh_pages *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->nthreads; i++) {
		free(p->threads[i]->v);
		free(p->threads[i]->table);
		free(p->threads[i]->fresh);
		free(p->threads[i]);
	}
	free(p->threads);
	free(p->pages);
	free(p->uses);
	free(p);
}

struct sh_pages_thread *sh_pages_thread_new(struct sh_pages *p, int pid, int tid)
{
	struct sh_pages_thread *t = calloc(1, sizeof(*t));

	if (!t || p->nthreads >= UINT32_MAX || !array_room(p->threads, p->room_threads, p->nthreads + 1)) {
		free(t);
		return NULL;
	}
	t->p = p;
	t->pid = pid;
	t->tid = tid;
	t->number = (uint32_t)p->nthreads;
	p->threads[p->nthreads++] = t;
	return t;
}

/* ---- accesses ---- */

bool sh_pages_thread_time(struct sh_pages_thread *t, uint64_t now, bool exact)
{
	if (now <= t->now)
		return true;
	for (size_t i = 0; i < t->nfresh; i++) {
		struct record *r = &t->v[t->fresh[i]];

		r->any.to = r->any.to == UINT64_MAX ? now : r->any.to;
		r->store.to = r->store.to == UINT64_MAX ? now : r->store.to;
	}
	t->nfresh = 0;
	t->from = exact ? now : t->now;
	t->now = now;
	return true;
}

static size_t slot_of(const struct sh_pages_thread *t, uint64_t page)
{
	return hash_slot(i, t->slots, hash_word(page), !t->table[i] || t->v[t->table[i] - 1].page == page);
}

/* Index + 1; 0: no memory. */
static uint32_t find(struct sh_pages_thread *t, uint64_t page)
{
	uint32_t *recent = &t->recent[page % RECENT];
	size_t slot;

	if (*recent && t->v[*recent - 1].page == page)
		return *recent;
	if (t->n >= UINT32_MAX - 1 || !array_room(t->v, t->room, t->n + 1) ||
	    !hash_grow(t->table, t->slots, t->n + 1, old, *old, &t->table[slot_of(t, t->v[*old - 1].page)]))
		return 0;
	slot = slot_of(t, page);
	if (!t->table[slot]) {
		t->v[t->n] = (struct record){ .page = page };
		t->table[slot] = (uint32_t)++t->n;
	}
	*recent = t->table[slot];
	return *recent;
}

static bool touch(struct sh_pages_thread *t, uint32_t i, const struct mt_access *a, uint64_t at, bool store)
{
	struct record *r = &t->v[i];
	const struct touch new = { t->from, UINT64_MAX, a->insn, at };

	if (r->any.to && (r->store.to || !store))
		return true;
	if (!array_room(t->fresh, t->room_fresh, t->nfresh + 1))
		return false;
	r->any = r->any.to ? r->any : new;
	r->store = store ? new : r->store;
	t->fresh[t->nfresh++] = i;
	return true;
}

static bool take(struct sh_pages_thread *t, const struct mt_access *a, uint64_t page, uint64_t at)
{
	const bool store = (a->kind & MD_KIND) != MD_LOAD;
	const uint32_t i = find(t, page);
	struct record *r = i ? &t->v[i - 1] : NULL;

	if (!r)
		return false;
	r->loads += !store;
	r->stores += store;
	if (!r->votes)
		r->insn = a->insn;
	r->votes += r->insn == a->insn ? 1 : UINT64_MAX;
	return touch(t, i - 1, a, at, store);
}

bool sh_pages_thread_take(struct sh_pages_thread *t, const struct mt_access *v, size_t n)
{
	const unsigned int shift = t->p->shift;

	for (const struct mt_access *a = v; a < v + n; a++) {
		const uint64_t end = a->addr + a->size - 1, last = end < a->addr ? UINT64_MAX : end;

		if ((a->kind & MD_KIND) > MD_MODIFY || !a->size || (a->kind & MD_STACK && t->p->no_stack))
			continue;
		if (!take(t, a, a->addr >> shift, a->addr))
			return false;
		for (uint64_t page = (a->addr >> shift) + 1; page <= last >> shift; page++)
			if (!take(t, a, page, page << shift))
				return false;
	}
	return true;
}

/* ---- all threads ---- */

struct item {
	uint64_t page;
	const struct sh_pages_thread *thread;
	const struct record *r;
};

static int compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;

	if (x->thread->pid != y->thread->pid)
		return x->thread->pid < y->thread->pid ? -1 : 1;
	if (x->page != y->page)
		return x->page < y->page ? -1 : 1;
	return x->thread->number < y->thread->number ? -1 : x->thread->number > y->thread->number;
}

static const struct touch *touch_of(const struct item *item, bool store)
{
	return store ? &item->r->store : &item->r->any;
}

static void find_first(struct sh_page *page, const struct item *items, size_t n)
{
	const struct touch *first = NULL;
	bool store = false;

	for (size_t i = 0; i < n; i++)
		store |= items[i].r->store.to != 0;
	for (size_t i = 0; i < n; i++) {
		const struct touch *t = touch_of(&items[i], store);

		if (!t->to || (first && t->from >= first->from))
			continue;
		first = t;
		page->first = (uint32_t)i;
	}
	for (size_t i = 0; i < n; i++)
		page->unsure |= i != page->first && touch_of(&items[i], store)->to && touch_of(&items[i], store)->from < first->to;
	page->insn = first->insn;
	page->at = first->at;
	page->from = first->from;
	page->to = first->to;
}

static void make_page(struct sh_pages *p, const struct item *items, size_t n, struct sh_page_use *uses)
{
	struct sh_page page = { .address = items->page << p->shift, .pid = items->thread->pid, .uses = uses, .nuses = n };

	for (size_t i = 0; i < n; i++)
		uses[i] = (struct sh_page_use){ items[i].thread->tid, items[i].thread->number, items[i].r->loads, items[i].r->stores,
						items[i].r->insn };
	find_first(&page, items, n);
	p->pages[p->npages++] = page;
}

bool sh_pages_finish(struct sh_pages *p)
{
	struct item *items;
	size_t n = 0, k = 0;

	for (size_t i = 0; i < p->nthreads; i++)
		n += p->threads[i]->n;
	items = calloc(n + 1, sizeof(*items));
	p->uses = calloc(n + 1, sizeof(*p->uses));
	p->pages = calloc(n + 1, sizeof(*p->pages));
	if (!items || !p->uses || !p->pages) {
		free(items);
		return false;
	}
	for (size_t i = 0; i < p->nthreads; i++)
		for (const struct record *r = p->threads[i]->v; r < p->threads[i]->v + p->threads[i]->n; r++)
			items[k++] = (struct item){ r->page, p->threads[i], r };
	qsort(items, n, sizeof(*items), compare);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && items[end].page == items[i].page && items[end].thread->pid == items[i].thread->pid;)
			end++;
		make_page(p, items + i, end - i, p->uses + i);
	}
	free(items);
	return true;
}

const struct sh_page *sh_page(const struct sh_pages *p, size_t i)
{
	return i < p->npages ? &p->pages[i] : NULL;
}
