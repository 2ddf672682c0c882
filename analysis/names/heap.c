// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Blocks of the heap: what they are taken for, and which one was at an address at a time, as far as the calls that are recorded say it (blocks.c has
 * the way of one thread through them).
 */
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/hash.h"

static size_t typed_slot(const struct nm *nm, uint32_t site, const void *type)
{
	return hash_slot(i, nm->room_typed, hash_word(hash_word((uintptr_t)type) ^ site),
			 !nm->typed[i].entry || (nm->typed[i].site == site && nm->typed[i].type == type));
}

/* As an array of what @pointer points to; the plain ones if that is not known.  NULL: no memory. */
static struct nm_entry *typed(struct nm *nm, uint32_t site, Dwarf_Die *pointer)
{
	struct nm_entry *plain = nm->site[site].entry;
	struct nm_typed *slot;
	Dwarf_Die type;

	if (!pointer->addr || !nm_type_of(pointer, &type) || !nm_type_size(&type))
		return plain;
	if (!hash_grow(nm->typed, nm->room_typed, nm->ntyped + 1, old, old->entry, &nm->typed[typed_slot(nm, old->site, old->type)]))
		return NULL;
	slot = &nm->typed[typed_slot(nm, site, type.addr)];
	if (!slot->entry) {
		*slot = (struct nm_typed){ site, type.addr, nm_entry_new(nm, &plain->v, pointer, true) };
		nm->ntyped += slot->entry != NULL;
	}
	return slot->entry;
}

/* The pointer that blocks of the site are put into.  False: no memory. */
static bool pointer_of_site(struct nm *nm, uint32_t site, Dwarf_Die *pointer)
{
	if (!nm->site[site].asked && nm->site[site].code && !nm_pointer_of_call(nm, nm->site[site].code, &nm->site[site].pointer))
		return false;
	nm->site[site].asked = true;
	*pointer = nm->site[site].pointer;
	return true;
}

struct nm_entry *nm_heap_find(struct nm *nm, uint64_t insn, uint32_t site, uint64_t size)
{
	Dwarf_Die pointer;

	/* of several blocks, where in it the access was is not known */
	if (!size)
		return nm->site[site].entry;
	if (!nm_pointer_find(nm, insn, &pointer) || (!pointer.addr && !pointer_of_site(nm, site, &pointer)))
		return NULL;
	return typed(nm, site, &pointer);
}

static bool site_of(const struct nm *nm, const struct nm_entry *e, uint32_t *site)
{
	for (*site = 0; *site < nm->nsites; ++*site)
		if (nm->site[*site].entry == e)
			return true;
	for (size_t i = 0; i < nm->room_typed; i++) {
		*site = nm->typed[i].site;
		if (nm->typed[i].entry == e)
			return true;
	}
	return false;
}

bool nm_heap_entry(struct nm *nm, const struct nm_entry *e, struct nm_entry **put)
{
	Dwarf_Die pointer;
	uint32_t site;

	*put = NULL;
	if (!site_of(nm, e, &site))
		return true;
	if (!pointer_of_site(nm, site, &pointer))
		return false;
	*put = pointer.addr ? typed(nm, site, &pointer) : NULL;
	return !pointer.addr || *put;
}

/* ---- at a time ---- */

/* A block that has the address, and from when to when. */
struct past {
	uint64_t addr, size, from;
	uint32_t site;
	bool live;
};

struct seeing {
	const struct nm_when *when;
	uint64_t addr;
	struct past now;   /* the one that is there */
	struct past found;
	bool several, differ;
};

static void see(struct seeing *s, uint64_t until)
{
	if (!s->now.live || s->now.from > s->when->to || until < s->when->from)
		return;
	s->differ |= s->found.live && s->found.site != s->now.site;
	s->several |= s->found.live && (s->found.addr != s->now.addr || s->found.size != s->now.size);
	s->found = s->now;
}

bool nm_find_block(struct nm *nm, const struct nm_when *when, uint64_t addr, uint32_t size, struct nm_place *place)
{
	struct nm_history *h = &nm->history;
	struct seeing s = { .when = when, .addr = addr };
	struct nm_extent same;
	struct nm_entry *e = nm->unknown;

	nm_history_sort(h);
	*place = (struct nm_place){ .name = &nm->unknown->root->name, .begin = addr };
	for (size_t i = 0; i < h->n && h->v[i].time <= when->to; i++) {
		const struct nm_event *ev = &h->v[i];
		const struct nm_block b = { ev->addr, ev->size, ev->site };

		if (ev->thread >= h->nthreads || h->thread[ev->thread].pid != when->pid)
			continue;
		if (ev->site & NM_FREED) {
			if (s.now.live && ev->addr == s.now.addr) {
				see(&s, ev->time);
				s.now.live = false;
			}
		} else if (addr >= b.addr && addr - b.addr < nm_block_bytes(&b)) {
			see(&s, ev->time);
			s.now = (struct past){ b.addr, nm_block_bytes(&b), ev->time, b.site, true };
		}
	}
	see(&s, UINT64_MAX);
	if (s.differ)
		e = nm->ambiguous;
	else if (s.found.live) {
		place->begin = s.several ? addr : s.found.addr;
		place->size = s.several ? 0 : s.found.size;
		e = nm_heap_find(nm, when->insn, s.found.site, place->size);
	}
	return nm_place_of(nm, e, addr, size, place, &same);
}
