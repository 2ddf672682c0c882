// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The accesses of a thread.  Of an instruction it is noted where its last access went, and which others have the same name; most accesses
 * are named by that alone.
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/names/thread.h"
#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"

#define TCB_BYTES 2304 /* of glibc's struct pthread, about */

struct nm_thread *nm_begin(struct nm *nm, int pid, int tid)
{
	struct nm_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->nm = nm;
	t->pid = pid;
	t->tid = tid;
	t->low = UINT64_MAX;
	t->next = t->stack.to = UINT64_MAX;
	t->turn = t->areas = 1;
	if (nm_cursor_begin(&t->blocks, nm, pid, tid))
		return t;
	free(t);
	return NULL;
}

void nm_end(struct nm_thread *t)
{
	if (!t)
		return;
	nm_cursor_end(&t->blocks);
	nm_stack_free(&t->stack);
	free(t->quick);
	free(t->slot);
	free(t->table);
	free(t);
}

void nm_chunk(struct nm_thread *t, uint64_t fs, uint64_t tsc, uint64_t next)
{
	if (fs && fs != t->fs) {
		t->fs = fs;
		for (uint32_t i = 0; i < t->n; i++)
			t->quick[i].key = 0;
	}
	if (tsc == t->tsc && next == t->next)
		return;
	nm_cursor_chunk(&t->blocks, tsc, next);
	t->tsc = t->stack.from = tsc;
	t->next = t->stack.to = next;
	if (t->stack.past)
		t->stack.past->fs = t->fs;
	t->turn++;
}

void nm_paused(struct nm_thread *t)
{
	nm_stack_end(&t->stack, t->stack.to);
}

bool nm_keep_stack(struct nm_thread *t)
{
	t->stack.past = nm_past_new(t->nm, t->pid, 0);
	return t->stack.past;
}

void nm_ended(struct nm_thread *t, uint64_t tsc)
{
	nm_stack_end(&t->stack, tsc);
	if (t->stack.past)
		t->stack.past->to = tsc;
}

/* What another thread has there. */
static struct nm_entry *find_other(struct nm_thread *t, uint64_t addr, uint64_t *begin, uint64_t *size, struct nm_slot *s)
{
	const struct nm_when when = { .pid = t->pid, .from = t->tsc, .to = t->next };
	struct nm_past_found found;
	struct nm_entry *e = nm_past_find(t->nm, &when, addr, &found);

	s->once = !found.stays;
	s->turn = t->turn;
	*begin = found.begin;
	*size = found.size;
	return e;
}

struct nm_entry *nm_tls_find(struct nm *nm, uint64_t fs, uint64_t addr, uint64_t *begin, uint64_t *size)
{
	for (size_t i = 0; fs && addr < fs && i < nm->nfiles; i++)
		if (nm_file_is_program(nm->file[i]))
			return nm_file_find_tls(nm->file[i], addr, fs, begin, size);
	if (!fs || addr < fs || addr - fs >= TCB_BYTES)
		return nm->unknown;
	*begin = fs;
	return nm_area(nm, &nm->tcb, NM_TLS, "thread control block");
}

/* Pushes and pops, calls and returns make room and give it back: they are to no variable. */
static struct nm_entry *find_stack(struct nm_thread *t, const struct mt_access *a, uint64_t *begin, uint64_t *size, struct nm_slot *s)
{
	const uint64_t addr = a->addr;
	struct nm_frame *frame = addr + NM_RED_ZONE >= t->low ? nm_stack_frame(&t->stack, addr) : NULL;

	if (!frame)
		return nm_area(t->nm, &t->nm->stack, NM_STACK, "stack");
	s->serial = frame->serial;
	s->frame = (size_t)(frame - t->stack.frame);
	s->at = frame->insn;
	return nm_stack_find(t->nm, frame, addr, !(a->kind & MD_STACK), begin, size, &s->throughout);
}

/* *begin: that of what was found, or of the access. */
static struct nm_entry *find(struct nm_thread *t, const struct mt_access *a, uint64_t *begin, uint64_t *size, struct nm_slot *s)
{
	const uint64_t addr = a->addr;
	struct nm_file *f = nm_file_at(t->nm, addr);
	struct nm_entry *e;
	uint32_t site;

	/* a stack may be in a block, or in a variable */
	if (s->about->shows_frame || (a->kind & MD_STACK))
		return find_stack(t, a, begin, size, s);
	if (f) {
		e = nm_file_find(f, addr, begin, size);
		if (e && (e == t->nm->unknown || e->v.how == NM_BY_SECTION))
			nm_file_gap(f, addr, &s->lo, &s->hi);
		return e;
	}
	switch (nm_cursor_find(&t->blocks, addr, &site, begin, size)) {
	case NM_FOUND_HERE:
		s->once = true;
		return nm_heap_find(t->nm, a->insn, site, *size);
	case NM_FOUND_ONE:
		s->site = site;
		return nm_heap_find(t->nm, a->insn, site, *size);
	case NM_FOUND_SEVERAL:
		return t->nm->ambiguous;
	case NM_FOUND_NONE:
		break;
	}
	e = nm_tls_find(t->nm, t->fs, addr, begin, size);
	if (e && e == t->nm->tcb) {
		s->lo = t->fs;
		s->hi = t->fs + TCB_BYTES;
	}
	if (e != t->nm->unknown)
		return e;
	if (addr + NM_RED_ZONE >= t->low && addr < t->high)
		return find_stack(t, a, begin, size, s);
	if (t->nm->npast)
		return find_other(t, addr, begin, size, s);
	s->nothing = true;
	return e;
}

static bool is_same(const struct nm_thread *t, const struct nm_slot *s, const struct mt_access *a)
{
	uint64_t offset = a->addr - s->begin;

	if (offset >= s->size || (s->epoch && s->epoch != t->blocks.epoch) || (s->turn && s->turn != t->turn))
		return false;
	if (s->serial && (s->frame >= t->stack.n || t->stack.frame[s->frame].serial != s->serial ||
			  t->stack.frame[s->frame].insn != s->at))
		return false;
	if (s->same.stride)
		offset %= s->same.stride;
	return offset >= s->same.lo && offset < s->same.hi && a->size <= s->same.hi - offset;
}

/* Always at the same place of the function's frame: where that is, debug information has said once. */
static bool is_fixed(const struct nm_slot *s, const struct mt_access *a)
{
	return s->fixed && s->bytes == a->size;
}

/* There may be a block in its place at another time. */
static bool is_for_a_time(const struct nm_name *name)
{
	const enum nm_kind kind = name->variable->kind;

	return kind == NM_HEAP || kind == NM_AMBIGUOUS || kind == NM_TLS;
}

void nm_thread_note(struct nm_thread *t, const struct mt_access *a, const struct nm_insn *about)
{
	if (t->left) {
		nm_stack_left(&t->stack, t->left);
		t->left = 0;
	}
	if ((about->shows_frame || (a->kind & MD_STACK)) && (a->addr < t->low || a->addr >= t->high)) {
		t->low = a->addr < t->low ? a->addr : t->low;
		t->high = a->addr >= t->high ? a->addr + 1 : t->high;
		t->areas++;
	}
	if (about->shows_frame && !about->varies) {
		const uint64_t cfa = a->addr + (uint64_t)about->to_cfa;

		if (cfa > t->high) {
			t->high = cfa;
			t->areas++;
		}
		if (about->leaves)
			t->left = cfa;
		/* what a call pushes is its function's who is called */
		nm_stack_seen(&t->stack, cfa, a->addr + (about->returns && (a->kind & MD_STACK) ? 8 : 0), about);
	}
	/* the frame has grown down to there */
	if (t->stack.past && about->below && (a->kind & MD_STACK))
		nm_stack_reaches(&t->stack, a->addr + (about->returns ? 8 : 0));
	if (about->returns && (a->kind & MD_STACK))
		nm_cursor_call(&t->blocks, about->returns);
}

/* ---- instructions ---- */

static size_t insn_slot(const struct nm_thread *t, uint64_t insn)
{
	return hash_slot(i, t->room_table, hash_word(insn), !t->table[i] || t->quick[t->table[i] - 1].insn == insn);
}

uint32_t nm_thread_insn(struct nm_thread *t, uint64_t insn)
{
	const struct nm_insn *about;
	size_t slot;

	if (t->n >= UINT32_MAX - 1 || !array_room(t->quick, t->room_quick, t->n + 1u) || !array_room(t->slot, t->room_slot, t->n + 1u) ||
	    !hash_grow(t->table, t->room_table, t->n + 1u, old, *old, &t->table[insn_slot(t, t->quick[*old - 1].insn)]))
		return UINT32_MAX;
	slot = insn_slot(t, insn);
	if (t->table[slot])
		return t->table[slot] - 1;
	about = nm_insn(t->nm, insn);
	if (!about)
		return UINT32_MAX;
	t->slot[t->n] = (struct nm_slot){ .about = about };
	t->quick[t->n] = (struct nm_quick){ .insn = insn, .shows = about->shows_frame || about->returns };
	t->table[slot] = t->n + 1;
	return t->n++;
}

void nm_thread_gap(const struct nm_thread *t, uint64_t addr, uint64_t *lo, uint64_t *hi)
{
	const struct nm *nm = t->nm;
	const size_t after = search_first(i, nm->nfiles, nm_file_begin(nm->file[i]) > addr);
	uint64_t tls = t->fs;

	*lo = after ? nm_file_end(nm->file[after - 1]) : 0;
	*hi = after < nm->nfiles ? nm_file_begin(nm->file[after]) : UINT64_MAX;
	nm_live_gap(&t->blocks.live, addr, lo, hi);
	for (size_t i = 0; t->fs && i < nm->nfiles; i++)
		if (nm_file_is_program(nm->file[i]))
			tls = nm_file_tls(nm->file[i], t->fs);
	if (t->fs && addr < tls)
		*hi = tls < *hi ? tls : *hi;
	else if (t->fs && addr >= t->fs + TCB_BYTES)
		*lo = t->fs + TCB_BYTES > *lo ? t->fs + TCB_BYTES : *lo;
	else if (t->fs)
		*hi = *lo; /* between what is thread-local: too little to matter */
}

/* ---- accesses ---- */

bool nm_note(struct nm_thread *t, const struct mt_access *a)
{
	return nm_thread_noted(t, a) != UINT32_MAX && !t->stack.failed;
}

bool nm_thread_find(struct nm_thread *t, uint32_t i, const struct mt_access *a, struct nm_place *place)
{
	struct nm_slot *s = &t->slot[i];
	struct nm_extent same = { 0 };
	bool good;

	if (is_fixed(s, a)) {
		*place = (struct nm_place){ s->name, a->addr - s->below, s->size };
		return true;
	}
	if (is_same(t, s, a)) {
		*place = (struct nm_place){ s->name, s->begin, s->size };
		return true;
	}
	*place = (struct nm_place){ .begin = a->addr };
	s->serial = s->turn = 0;
	s->site = NM_FREED;
	s->once = s->nothing = s->throughout = false;
	s->lo = s->hi = 0;
	good = nm_place_of(t->nm, find(t, a, &place->begin, &place->size, s), a->addr, a->size, place, &same);
	/* what is above the frame address is the caller's, and of another one the next time */
	s->fixed = good && s->about->shows_frame && !s->about->varies && s->about->to_cfa > 0 && place->name->variable->kind == NM_STACK;
	s->bytes = a->size;
	s->below = a->addr - place->begin;
	s->begin = place->begin;
	/* in a section there may be variables, too */
	s->size = good && !s->once && place->name->variable->how != NM_BY_SECTION ? place->size : 0;
	s->same = same;
	s->name = place->name;
	s->epoch = is_for_a_time(place->name) ? t->blocks.epoch : 0;
	return good && !t->blocks.failed && !t->stack.failed;
}

bool nm_find(struct nm_thread *t, const struct mt_access *a, struct nm_place *place)
{
	const uint32_t i = nm_thread_noted(t, a);

	if (i != UINT32_MAX)
		return nm_thread_find(t, i, a, place);
	*place = (struct nm_place){ .name = &t->nm->unknown->root->name };
	return false;
}
