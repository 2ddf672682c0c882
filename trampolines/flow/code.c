// SPDX-License-Identifier: GPL-3.0-or-later
/* The pass over an object's code, step by step. */
#include "trampolines/flow/code.h"

#include <stdlib.h>

enum tramp_code_status tramp_flow_bounds(struct tramp_code *code)
{
	const struct tramp_facts *facts = code->facts;

	code->base = UINT64_MAX;
	for (size_t i = 0; i < facts->nbytes; i++) {
		const struct tramp_bytes *b = &facts->bytes[i];

		if (!b->code || b->len == 0)
			continue;
		if (b->addr < code->base)
			code->base = b->addr;
		code->end = b->addr + b->len;
	}
	if (code->base == UINT64_MAX)
		return TRAMP_CODE_EMPTY;
	if (code->end < code->base || code->end - code->base >= UINT32_MAX ||
	    facts->nfns >= TRAMP_NONE)
		return TRAMP_CODE_TOO_BIG;
	code->absolute = facts->bytes[0].addr >= 0x10000; /* vm.mmap_min_addr */
	return TRAMP_CODE_OK;
}

static void fill_pages(struct tramp_code *code)
{
	const struct tramp_facts *facts = code->facts;
	size_t npages = ((code->end - code->base) >> FLOW_PAGE_LOG2) + 1;
	uint32_t fn = 0;

	for (size_t i = 0; i < npages; i++) {
		uint64_t addr = code->base + ((uint64_t)i << FLOW_PAGE_LOG2);

		while (fn < facts->nfns && facts->fns[fn].addr + facts->fns[fn].size <= addr)
			fn++;
		code->page[i] = fn;
	}
}

static bool allocate(struct tramp_code *code)
{
	size_t words = (code->end - code->base) / 64 + 1;
	size_t npages = ((code->end - code->base) >> FLOW_PAGE_LOG2) + 1;
	size_t nfns = code->facts->nfns + 1;

	code->external = calloc(words, sizeof(uint64_t));
	code->table = calloc(words, sizeof(uint64_t));
	code->pad = calloc(words, sizeof(uint64_t));
	code->page = calloc(npages, sizeof(uint32_t));
	code->bits = calloc(nfns, sizeof(uint16_t));
	code->owner = calloc(nfns, sizeof(uint32_t));
	code->first_part = calloc(nfns, sizeof(uint32_t));
	code->next_part = calloc(nfns, sizeof(uint32_t));
	return code->external && code->table && code->pad && code->page && code->bits && code->owner &&
	       code->first_part && code->next_part;
}

static void note_taken(struct tramp_code *code)
{
	const struct tramp_facts *facts = code->facts;

	for (size_t i = 0; i < facts->ntaken; i++) {
		if (flow_in_code(code, facts->taken[i]))
			flow_set_bit(code->external, facts->taken[i] - code->base);
	}
}

/*
 * What only jump tables hold is not for others to call.  In position-dependent files, words of data that
 * hold addresses of code are guessed, and tables are among them: these lead there from their function alone.
 */
static void find_taken(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	const struct tramp_facts *facts = code->facts;

	for (size_t i = 0; i < facts->ntaken; i++) {
		uint32_t piece = tramp_flow_piece(code, facts->taken[i]);

		if (piece == TRAMP_NONE)
			continue;
		if (flow_bit(code->table, facts->taken[i] - code->base)) {
			if (code->absolute && facts->fns[piece].addr != facts->taken[i])
				flow_clear_bit(code->external, facts->taken[i] - code->base);
		} else if (facts->fns[piece].addr == facts->taken[i]) {
			code->bits[piece] |= FLOW_FN_TAKEN;
		}
	}
}

static void note_pads(struct tramp_code *code)
{
	const struct tramp_facts *facts = code->facts;

	for (size_t i = 0; i < facts->npads; i++) {
		if (flow_in_code(code, facts->pads[i]))
			flow_set_bit(code->pad, facts->pads[i] - code->base);
	}
}

/*
 * Words that look like addresses of code, but of no instruction, in functions of which all instructions are
 * known: these are numbers.
 */
static void drop_numbers(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	size_t words = (code->end - code->base) / 64 + 1;

	for (size_t i = 0; i < words; i++) {
		uint64_t odd = code->external[i] & ~scan->starts[i];

		for (; odd; odd &= odd - 1) {
			uint64_t at = i * 64 + (uint64_t)__builtin_ctzll(odd);
			uint32_t piece = tramp_flow_piece(code, code->base + at);

			if (piece != TRAMP_NONE && code->facts->fns[piece].flags & TRAMP_FN_FRAMED &&
			    !(code->bits[piece] & FLOW_FN_ODD))
				code->external[i] &= ~(odd & -odd);
		}
	}
}

/* Branches into functions' insides, from all that is known now. */
static void note_crosses(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	const struct flow_cross *crosses = scan->crosses.items;

	for (size_t i = 0; i < scan->crosses.n; i++) {
		const struct flow_cross *c = &crosses[i];
		uint64_t to = code->base + c->to;
		uint32_t owner = tramp_code_function(code, to);
		uint32_t from = c->from == TRAMP_NONE ? TRAMP_NONE : code->owner[c->from];

		if (owner != TRAMP_NONE && (from == owner || code->facts->fns[owner].addr == to))
			continue;
		flow_set_bit(code->external, c->to);
	}
}

/* Functions whose every end is a call or jump to one that does not return; to a fixed point. */
static void find_noreturn(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	const struct flow_tie *ends = scan->ends.items;
	bool changed = true;

	for (size_t fn = 0; fn < code->facts->nfns; fn++) {
		if (!(code->bits[fn] & FLOW_FN_EXITS) && code->facts->fns[fn].size &&
		    code->first_part[fn] == TRAMP_NONE && code->owner[fn] == fn)
			code->bits[fn] |= FLOW_FN_NORETURN;
	}
	while (changed) {
		changed = false;
		for (size_t i = 0; i < scan->ends.n; i++) {
			const struct flow_tie *tie = &ends[i];

			if (!(code->bits[tie->fn] & FLOW_FN_NORETURN) ||
			    code->bits[tie->callee] & FLOW_FN_NORETURN)
				continue;
			code->bits[tie->fn] &= (uint16_t)~FLOW_FN_NORETURN;
			changed = true;
		}
	}
}

static void spread_flags(struct flow_scan *scan)
{
	uint16_t *bits = scan->code->bits;
	const struct flow_tie *passes = scan->passes.items;
	bool changed = true;

	while (changed) {
		changed = false;
		for (size_t i = 0; i < scan->passes.n; i++) {
			if (!(bits[passes[i].fn] & FLOW_FN_FLAGS) ||
			    bits[passes[i].callee] & FLOW_FN_FLAGS)
				continue;
			bits[passes[i].callee] |= FLOW_FN_FLAGS;
			changed = true;
		}
	}
}

static enum tramp_code_status run_scan(struct tramp_code *code)
{
	struct flow_scan scan = { .code = code };
	size_t words = (code->end - code->base) / 64 + 1;

	scan.decoder = tramp_flow_decoder_new();
	scan.starts = calloc(words, sizeof(uint64_t));
	scan.wanted = calloc(words, sizeof(uint64_t));
	scan.no_memory = !scan.decoder || !scan.starts || !scan.wanted;
	if (!scan.no_memory) {
		tramp_flow_known_parts(code);
		tramp_flow_scan(&scan);
		tramp_flow_tables(&scan);
		drop_numbers(&scan);
		find_taken(&scan);
		tramp_flow_sites(&scan);
		tramp_flow_parts(&scan);
		note_crosses(&scan);
		find_noreturn(&scan);
		spread_flags(&scan);
	}
	free(scan.decoder);
	free(scan.starts);
	free(scan.wanted);
	free(scan.crosses.items);
	free(scan.sites.items);
	free(scan.bases.items);
	free(scan.ends.items);
	free(scan.passes.items);
	return scan.no_memory ? TRAMP_CODE_MEMORY : TRAMP_CODE_OK;
}

enum tramp_code_status tramp_code_new(const struct tramp_facts *facts, struct tramp_code **out)
{
	struct tramp_code *code = calloc(1, sizeof(*code));
	enum tramp_code_status status = TRAMP_CODE_MEMORY;

	*out = NULL;
	if (!code)
		return status;
	code->facts = facts;
	status = tramp_flow_bounds(code);
	if (status == TRAMP_CODE_OK && !allocate(code))
		status = TRAMP_CODE_MEMORY;
	if (status == TRAMP_CODE_OK) {
		fill_pages(code);
		note_taken(code);
		note_pads(code);
		status = run_scan(code);
	}
	if (status == TRAMP_CODE_OK)
		*out = code;
	else
		tramp_code_free(code);
	return status;
}

void tramp_code_free(struct tramp_code *code)
{
	if (code && !code->borrowed) {
		free(code->external);
		free(code->table);
		free(code->pad);
		free(code->sites);
		free(code->page);
		free(code->bits);
		free(code->owner);
		free(code->first_part);
		free(code->next_part);
	}
	free(code);
}
