/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Instructions by address, and which pairs of instruction and line stand for them. */
#include "launcher/memory/profile/memprofile-private.h"

#include <stdlib.h>
#include <string.h>

/* ---- instructions ---- */

static size_t slot_of(const struct memprofile_insns *s, uint64_t insn)
{
	return hash_slot(i, 2 * (size_t)s->room, memprofile_hash(insn), !s->hash[i] || s->hot[s->hash[i] - 1].insn == insn);
}

bool memprofile_make_hash(struct memprofile_insns *s)
{
	uint32_t *hash = calloc(2 * (size_t)s->room, sizeof(*hash));

	if (!hash)
		return false;
	free(s->hash);
	s->hash = hash;
	for (uint32_t i = 0; i < s->n; i++)
		hash[slot_of(s, s->hot[i].insn)] = i + 1;
	return true;
}

static bool grow(struct memprofile_insns *s)
{
	const uint32_t had = s->room, room = had ? 2 * had : 256;
	struct memprofile_state *v = realloc(s->v, room * sizeof(*v));
	struct memprofile_hot *hot = v ? aligned_alloc(64, room * sizeof(*hot)) : NULL;

	s->v = v ? v : s->v;
	if (!hot)
		return false;
	if (s->n)
		memcpy(hot, s->hot, s->n * sizeof(*hot));
	free(s->hot);
	s->hot = hot;
	s->room = room;
	if (memprofile_make_hash(s))
		return true;
	s->room = had; /* for which there is a hash */
	return false;
}

uint32_t memprofile_find(struct memprofile_insns *s, uint64_t insn)
{
	struct memprofile_state new = { .sum.insn = insn };
	size_t slot;

	if (!s->room && !grow(s))
		return MEMPROFILE_NONE;
	slot = slot_of(s, insn);
	if (s->hash[slot])
		return s->hash[slot] - 1;
	if (s->n == s->room) {
		if (!grow(s))
			return MEMPROFILE_NONE;
		slot = slot_of(s, insn);
	}
	if (s->sampled) {
		new.groups = calloc(MEMPROFILE_GROUPS, sizeof(*new.groups));
		if (!new.groups)
			return MEMPROFILE_NONE;
	}
	s->v[s->n] = new;
	s->hot[s->n] = (struct memprofile_hot){ .insn = insn };
	s->hash[slot] = s->n + 1;
	return s->n++;
}

void memprofile_free_insns(struct memprofile_insns *s)
{
	for (uint32_t i = 0; i < s->n && s->sampled; i++)
		free(s->v[i].groups);
	free(s->v);
	free(s->hot);
	free(s->hash);
	*s = (struct memprofile_insns){ 0 };
}

/* ---- pairs ---- */

bool memprofile_stays(const void *arg, const struct mempair *pair)
{
	const struct memprofile_insns *insns = arg;

	return memlines_sampled(memlines_hash(pair->line), insns->v[pair->id - 1].shift);
}

bool memprofile_apply_shifts(struct mempairs *pairs, struct memprofile_insns *insns)
{
	if (!mempairs_thin(pairs, memprofile_stays, insns))
		return false;
	for (uint32_t i = 0; i < insns->n; i++)
		insns->v[i].npairs = 0;
	for (size_t i = 0; i < pairs->room; i++)
		if (pairs->table[i].id)
			insns->v[pairs->table[i].id - 1].npairs++;
	return true;
}

/* Of the instructions that have more than others: where there are few lines, all stay. */
bool memprofile_thin_pairs(struct mempairs *pairs, struct memprofile_insns *insns, size_t lines)
{
	while (pairs->n >= MEMPROFILE_PAIRS_PER_LINE * lines) {
		bool any = false;

		for (uint32_t i = 0; i < insns->n; i++) {
			struct memprofile_state *s = &insns->v[i];

			if (s->npairs * (uint64_t)insns->n < pairs->n || s->shift >= MEMPROFILE_MAX_SHIFT)
				continue;
			s->shift++;
			any = true;
		}
		if (!any)
			return true;
		if (!memprofile_apply_shifts(pairs, insns))
			return false;
	}
	return true;
}
