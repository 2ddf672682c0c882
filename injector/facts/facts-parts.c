// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which function a cold part belongs to: by its name (foo.part.0.cold to foo.part.0, else to foo),
 * and where several functions are called so (static ones of several files), the one that jumps
 * into it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "injector/facts/facts-int.h"

#define JUMPS_BUDGET 8	/* times the bytes of code */
#define MAX_SUFFIXES 8	/* foo.isra.0.part.0.cold has four besides .cold */

/* A name that a part's function may have. */
struct base {
	const char *name;
	size_t len;
	uint32_t first;		/* of its candidates, as index into found[] plus one */
};

struct candidate {
	uint32_t fn;
	uint32_t next;		/* plus one */
};

struct search {
	struct inj_cf *cf;
	struct base *slots;
	size_t nslots;		/* a power of two */
	struct candidate *found;
	size_t nfound, room;
	uint64_t budget;	/* bytes that may still be searched for jumps */
};

static struct base *find_base(const struct search *s, const char *name, size_t len)
{
	return &s->slots[hash_slot(i, s->nslots, hash_bytes(name, len),
				   !s->slots[i].name ||
				   (s->slots[i].len == len && memcmp(s->slots[i].name, name, len) == 0))];
}

/* The next shorter name: without its last suffix; 0: none.  *left: how many times yet. */
static size_t shorten(const char *name, size_t len, int *left)
{
	if (--*left <= 0)
		return 0;
	while (len && name[len - 1] != '.')
		len--;
	return len > 1 ? len - 1 : 0;
}

static size_t base_length(const struct inj_cf *cf, size_t fn)
{
	const char *name = cf->info[fn].name, *suffix;
	bool sure;

	if (!(cf->info[fn].flags & INJ_FN_SYMBOL) ||
	    !(cf->fns[fn].flags & (TRAMP_FN_PART | TRAMP_FN_MAYBE_PART)))
		return 0;
	suffix = inj_cf_part_suffix(name, &sure);
	return suffix ? (size_t)(suffix - name) : 0;
}

static bool note_bases(struct search *s)
{
	const struct inj_cf *cf = s->cf;
	size_t names = 0;

	for (size_t i = 0; i < cf->nfns; i++)
		names += base_length(cf, i) ? MAX_SUFFIXES : 0;
	s->nslots = hash_room(names);
	s->slots = calloc(s->nslots, sizeof(*s->slots));
	if (!s->slots)
		return false;
	for (size_t i = 0; i < cf->nfns; i++) {
		const char *name = cf->info[i].name;
		int left = MAX_SUFFIXES;

		for (size_t len = base_length(cf, i); len; len = shorten(name, len, &left)) {
			struct base *base = find_base(s, name, len);

			base->name = name;
			base->len = len;
		}
	}
	return true;
}

static bool note_candidate(struct search *s, const struct inj_symbol *sym)
{
	struct base *base = find_base(s, sym->name, strlen(sym->name));
	size_t fn;

	if (!base->name)
		return true;
	fn = inj_cf_function(s->cf, sym->addr);
	if (fn == s->cf->nfns || s->cf->fns[fn].addr != sym->addr)
		return true;
	if (!array_room(s->found, s->room, s->nfound + 1))
		return false;
	s->found[s->nfound++] = (struct candidate){ (uint32_t)fn, base->first };
	base->first = (uint32_t)s->nfound;
	return true;
}

/* jmp or jcc, at any byte, from function @fn into the part. */
static bool jumps_into(struct search *s, const struct tramp_fn *fn, const struct tramp_fn *part)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(&s->cf->file, fn->addr, &left);
	uint64_t size = fn->size < left ? fn->size : left;

	if (!p || size >= s->budget) {
		s->budget = 0;
		return false;
	}
	s->budget -= size + 1;
	for (uint64_t i = 2; i + 4 <= size; i++) {
		int32_t distance;

		if (p[i - 1] != 0xe9 && (p[i - 2] != 0x0f || (p[i - 1] & 0xf0) != 0x80))
			continue;
		memcpy(&distance, p + i, sizeof(distance));
		if (fn->addr + i + 4 + (uint64_t)(int64_t)distance - part->addr < part->size)
			return true;
	}
	return false;
}

static uint32_t choose(struct search *s, const struct base *base, size_t part)
{
	const struct tramp_fn *fns = s->cf->fns;
	const struct candidate *only = &s->found[base->first - 1];

	if (!only->next)
		return only->fn;
	for (uint32_t i = base->first; i && s->budget; i = s->found[i - 1].next)
		if (jumps_into(s, &fns[s->found[i - 1].fn], &fns[part]))
			return s->found[i - 1].fn;
	return TRAMP_NONE;
}

static void find_parent(struct search *s, size_t part)
{
	const char *name = s->cf->info[part].name;
	int left = MAX_SUFFIXES;

	for (size_t len = base_length(s->cf, part); len; len = shorten(name, len, &left)) {
		const struct base *base = find_base(s, name, len);
		uint32_t fn = base->first ? choose(s, base, part) : TRAMP_NONE;

		if (!base->first)
			continue;
		s->cf->fns[part].parent = fn == part ? TRAMP_NONE : fn;
		return;
	}
}

enum inj_status inj_cf_parts(struct inj_cf *cf)
{
	struct search s = { .cf = cf, .budget = JUMPS_BUDGET * (cf->hi - cf->lo) };
	bool ok = note_bases(&s);
	size_t n;
	const struct inj_symbol *syms = inj_symtab_all(cf->tab, &n);

	for (size_t i = 0; ok && i < n; i++)
		ok = note_candidate(&s, &syms[i]);
	for (size_t i = 0; ok && i < cf->nfns; i++)
		if (base_length(cf, i))
			find_parent(&s, i);
	free(s.slots);
	free(s.found);
	return ok ? INJ_OK : INJ_MEMORY;
}
