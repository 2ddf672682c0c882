// SPDX-License-Identifier: GPL-3.0-or-later
/* What the pass over an object's code has found, out of arrays that somebody else has kept. */
#include <stdlib.h>

#include "trampolines/flow/code.h"

static size_t words_of(const struct tramp_code *code)
{
	return (code->end - code->base) / 64 + 1;
}

static size_t pages_of(const struct tramp_code *code)
{
	return ((code->end - code->base) >> FLOW_PAGE_LOG2) + 1;
}

void tramp_code_arrays(const struct tramp_code *code, struct tramp_code_arrays *a)
{
	size_t n = code->facts->nfns, map = words_of(code) * sizeof(*code->external);

	*a = (struct tramp_code_arrays){
		.at = {
			[TRAMP_CODE_OWNER] = code->owner, [TRAMP_CODE_BITS] = code->bits,
			[TRAMP_CODE_FIRST_PART] = code->first_part, [TRAMP_CODE_NEXT_PART] = code->next_part,
			[TRAMP_CODE_PAGE] = code->page, [TRAMP_CODE_EXTERNAL] = code->external,
			[TRAMP_CODE_TABLE] = code->table, [TRAMP_CODE_PAD] = code->pad, [TRAMP_CODE_SITES] = code->sites,
		},
		.bytes = {
			[TRAMP_CODE_OWNER] = n * sizeof(*code->owner), [TRAMP_CODE_BITS] = n * sizeof(*code->bits),
			[TRAMP_CODE_FIRST_PART] = n * sizeof(*code->first_part),
			[TRAMP_CODE_NEXT_PART] = n * sizeof(*code->next_part),
			[TRAMP_CODE_PAGE] = pages_of(code) * sizeof(*code->page), [TRAMP_CODE_EXTERNAL] = map,
			[TRAMP_CODE_TABLE] = map, [TRAMP_CODE_PAD] = map,
			[TRAMP_CODE_SITES] = code->nsites * sizeof(*code->sites),
		},
		.large_model = code->large_model,
	};
}

/* Nothing is written through these. */
static void *array(const struct tramp_code_arrays *a, enum tramp_code_part part)
{
	return (void *)(uintptr_t)a->at[part];
}

static bool sizes_fit(const struct tramp_code *code, const struct tramp_code_arrays *a)
{
	struct tramp_code_arrays want;

	tramp_code_arrays(code, &want);
	for (int part = 0; part < TRAMP_CODE_PARTS; part++)
		if (a->bytes[part] != want.bytes[part])
			return false;
	return true;
}

static bool owners_are_sound(const struct tramp_code *code)
{
	const struct tramp_facts *facts = code->facts;

	for (size_t i = 0; i < facts->nfns; i++) {
		const struct tramp_fn *fn = &facts->fns[i];
		uint32_t owner = code->owner[i];

		if (fn->addr < code->base || fn->addr >= code->end || fn->size > code->end - fn->addr)
			return false;
		if (owner >= facts->nfns || code->owner[owner] != owner)
			return false;
	}
	return true;
}

enum tramp_code_status tramp_code_from(const struct tramp_facts *facts, const struct tramp_code_arrays *a,
				       struct tramp_code **out)
{
	struct tramp_code *code = calloc(1, sizeof(*code));
	enum tramp_code_status status = TRAMP_CODE_MEMORY;

	*out = NULL;
	if (!code)
		return status;
	*code = (struct tramp_code){
		.facts = facts, .large_model = a->large_model, .borrowed = true,
		.owner = array(a, TRAMP_CODE_OWNER), .bits = array(a, TRAMP_CODE_BITS),
		.first_part = array(a, TRAMP_CODE_FIRST_PART), .next_part = array(a, TRAMP_CODE_NEXT_PART),
		.page = array(a, TRAMP_CODE_PAGE), .external = array(a, TRAMP_CODE_EXTERNAL),
		.table = array(a, TRAMP_CODE_TABLE), .pad = array(a, TRAMP_CODE_PAD), .sites = array(a, TRAMP_CODE_SITES),
		.nsites = a->bytes[TRAMP_CODE_SITES] / sizeof(*code->sites),
	};
	status = tramp_flow_bounds(code);
	if (status == TRAMP_CODE_OK && (!sizes_fit(code, a) || !owners_are_sound(code)))
		status = TRAMP_CODE_EMPTY;
	if (status == TRAMP_CODE_OK)
		*out = code;
	else
		tramp_code_free(code);
	return status;
}

/* ---- the rest ---- */

/* Lists end: they ascend. */
static bool parts_are_sound(const struct tramp_code *code)
{
	size_t n = code->facts->nfns;

	for (size_t i = 0; i < n; i++) {
		uint32_t first = code->first_part[i], next = code->next_part[i];

		if (first != TRAMP_NONE && (first >= n || first == i || code->owner[first] != i))
			return false;
		if (next != TRAMP_NONE && (next >= n || next <= i || code->owner[next] != code->owner[i]))
			return false;
	}
	return true;
}

static bool pages_are_sound(const struct tramp_code *code)
{
	const struct tramp_fn *fns = code->facts->fns;
	size_t n = code->facts->nfns;

	for (size_t i = 0; i < pages_of(code); i++) {
		uint64_t addr = code->base + ((uint64_t)i << FLOW_PAGE_LOG2);
		uint32_t fn = code->page[i];

		if (fn > n || (fn && fns[fn - 1].addr + fns[fn - 1].size > addr) ||
		    (fn < n && fns[fn].addr + fns[fn].size <= addr))
			return false;
	}
	return true;
}

static bool sites_are_sound(const struct tramp_code *code)
{
	uint32_t last = 0;

	for (size_t i = 0; i < code->nsites; i++) {
		if (code->sites[i].to < last || code->sites[i].from >= code->end - code->base)
			return false;
		last = code->sites[i].to;
	}
	return true;
}

bool tramp_code_sound(const struct tramp_code *code)
{
	return parts_are_sound(code) && pages_are_sound(code) && sites_are_sound(code);
}
