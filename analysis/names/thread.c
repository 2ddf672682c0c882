// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The accesses of a thread.  Of an instruction it is noted where its last access went, and which others have the same name; most accesses
 * are named by that alone.
 */
#include <stdlib.h>

#include "analysis/names/names-private.h"
#include "base/hash.h"

#define SLOTS 4096
#define TCB_BYTES 2304 /* of glibc's struct pthread, about */
#define RED_ZONE 128

struct slot {
	uint64_t insn;
	uint64_t begin, size; /* of the variable */
	struct nm_extent same;
	const struct nm_name *name;
};

struct nm_thread {
	struct nm *nm;
	int pid, tid;
	uint64_t fs, tsc, next;
	uint64_t low, high; /* the part of the stack that has been seen; none: low > high */
	struct slot slot[SLOTS];
};

struct nm_thread *nm_begin(struct nm *nm, int pid, int tid)
{
	struct nm_thread *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->nm = nm;
	t->pid = pid;
	t->tid = tid;
	t->low = UINT64_MAX;
	return t;
}

void nm_end(struct nm_thread *t)
{
	free(t);
}

void nm_chunk(struct nm_thread *t, uint64_t fs, uint64_t tsc, uint64_t next)
{
	t->fs = fs ? fs : t->fs;
	t->tsc = tsc;
	t->next = next;
}

static struct nm_entry *find_tls(struct nm_thread *t, uint64_t addr, uint64_t *begin, uint64_t *size)
{
	for (size_t i = 0; t->fs && addr < t->fs && i < t->nm->nfiles; i++)
		if (nm_file_is_program(t->nm->file[i]))
			return nm_file_find_tls(t->nm->file[i], addr, t->fs, begin, size);
	if (!t->fs || addr < t->fs || addr - t->fs >= TCB_BYTES)
		return t->nm->unknown;
	*begin = t->fs;
	return nm_area(t->nm, &t->nm->tcb, NM_TLS, "thread control block");
}

/* *begin: that of what was found, or of the access. */
static struct nm_entry *find(struct nm_thread *t, uint64_t addr, uint64_t *begin, uint64_t *size)
{
	struct nm_file *f = nm_file_at(t->nm, addr);
	struct nm_entry *e;

	if (f)
		return nm_file_find(f, addr, begin, size);
	e = find_tls(t, addr, begin, size);
	if (e != t->nm->unknown)
		return e;
	if (addr + RED_ZONE >= t->low && addr <= t->high)
		return nm_area(t->nm, &t->nm->stack, NM_STACK, "stack");
	return e;
}

static bool is_same(const struct slot *s, const struct mt_access *a)
{
	uint64_t offset = a->addr - s->begin;

	if (s->insn != a->insn || offset >= s->size)
		return false;
	if (s->same.stride)
		offset %= s->same.stride;
	return offset >= s->same.lo && offset < s->same.hi && a->size <= s->same.hi - offset;
}

bool nm_find(struct nm_thread *t, const struct mt_access *a, struct nm_place *place)
{
	struct slot *s = &t->slot[hash_word(a->insn) % SLOTS];
	struct nm_extent same = { 0 };
	bool good;

	if (a->kind & MD_STACK) {
		t->low = a->addr < t->low ? a->addr : t->low;
		t->high = a->addr > t->high ? a->addr : t->high;
	}
	if (is_same(s, a)) {
		*place = (struct nm_place){ s->name, s->begin, s->size };
		return true;
	}
	*place = (struct nm_place){ .begin = a->addr };
	good = nm_place_of(t->nm, find(t, a->addr, &place->begin, &place->size), a->addr, a->size, place, &same);
	if (good)
		*s = (struct slot){ a->insn, place->begin, place->size, same, place->name };
	return good;
}
