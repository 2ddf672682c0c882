/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/memory/alignment.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define LINE 64u
#define PAGE 4096u

static struct alignment *slot_of(const struct alignments *a, uint64_t insn)
{
	return &a->slots[hash_slot(i, a->room, hash_word(insn), !a->slots[i].accesses || a->slots[i].insn == insn)];
}

/* Of a size that is no power of two, nothing is expected. */
static bool is_unaligned(const struct mt_access *v)
{
	return v->size && !(v->size & (v->size - 1)) && v->addr & (v->size - 1);
}

static bool crosses(const struct mt_access *v, uint64_t unit)
{
	return v->size && v->addr / unit != (v->addr + v->size - 1) / unit;
}

static void note(struct alignment *s, const struct mt_access *v)
{
	if (!s->accesses) {
		s->lo = s->hi = v->addr;
		s->size = v->size;
	}
	s->accesses++;
	s->sizes |= s->size != v->size;
	s->size = v->size;
	s->stack |= (v->kind & MD_STACK) != 0;
	s->unaligned += is_unaligned(v);
	s->lines += crosses(v, LINE);
	s->pages += crosses(v, PAGE);
	/* against the first one seen at the lower end: what differs from it differs from another */
	s->varying |= s->lo ^ v->addr;
	if (v->addr < s->lo)
		s->lo = v->addr;
	if (v->addr + v->size > s->hi)
		s->hi = v->addr + v->size;
}

bool alignments_take(struct alignments *a, const struct mt_access *v, size_t n)
{
	struct alignment *s = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!s || s->insn != v[i].insn) {
			if (!hash_grow(a->slots, a->room, a->n + 1, old, old->accesses, slot_of(a, old->insn)))
				return false;
			s = slot_of(a, v[i].insn);
			a->n += !s->accesses;
			s->insn = v[i].insn;
		}
		note(s, &v[i]);
	}
	return true;
}

const struct alignment *alignments_find(const struct alignments *a, uint64_t insn)
{
	const struct alignment *s = a->room ? slot_of(a, insn) : NULL;

	return s && s->accesses ? s : NULL;
}

void alignments_clear(struct alignments *a)
{
	if (a->slots)
		memset(a->slots, 0, a->room * sizeof(*a->slots));
	a->n = 0;
}

void alignments_free(struct alignments *a)
{
	free(a->slots);
	*a = (struct alignments){ 0 };
}
