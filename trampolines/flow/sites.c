// SPDX-License-Identifier: GPL-3.0-or-later
/* Who calls and jumps to whom, by target. */
#include <stdlib.h>

#include "base/search.h"
#include "trampolines/flow/code.h"

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

/* One round of sorting by digits, the lowest first, which leaves equal ones in their order. */
static void sort_by(const struct tramp_site *from, struct tramp_site *to, size_t n, unsigned int shift)
{
	uint32_t ends[DIGITS] = { 0 }, sum = 0;

	for (size_t i = 0; i < n; i++)
		ends[from[i].to >> shift & (DIGITS - 1)]++;
	for (size_t i = 0; i < DIGITS; i++) {
		uint32_t count = ends[i];

		ends[i] = sum;
		sum += count;
	}
	for (size_t i = 0; i < n; i++)
		to[ends[from[i].to >> shift & (DIGITS - 1)]++] = from[i];
}

static int by_origin(const void *left, const void *right)
{
	const struct tramp_site *a = left, *b = right;

	return a->from < b->from ? -1 : a->from > b->from;
}

/* What is found after data, or at a place that was passed over, comes out of order. */
static bool ascends(const struct tramp_site *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i - 1].from > v[i].from)
			return false;
	}
	return true;
}

void tramp_flow_sites(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	struct tramp_site *v = scan->sites.items, *sorted;
	size_t n = scan->sites.n;

	sorted = calloc(n + 1, sizeof(*sorted));
	if (!sorted) {
		scan->no_memory = true;
		return;
	}
	if (n && !ascends(v, n))
		qsort(v, n, sizeof(*v), by_origin);
	sort_by(v, sorted, n, 0);
	sort_by(sorted, v, n, DIGIT_BITS);
	sort_by(v, sorted, n, 2 * DIGIT_BITS);
	code->sites = sorted;
	code->nsites = n;
}

static size_t first_site(const struct tramp_code *code, uint64_t to)
{
	return search_first(i, code->nsites, code->sites[i].to >= to);
}

size_t tramp_code_sites(const struct tramp_code *code, uint64_t addr, const struct tramp_site **sites)
{
	size_t first;
	uint32_t to;

	*sites = NULL;
	if (!flow_offset(code, addr, &to))
		return 0;
	first = first_site(code, to);
	*sites = code->sites + first;
	return first_site(code, (uint64_t)to + 1) - first;
}

/* Not by a branch of the function's own bytes: a plan of its entry sees those, but not its cold parts'.  *@site: the first to @to. */
static bool is_from_elsewhere(const struct tramp_code *code, uint64_t to, size_t *site)
{
	uint32_t piece = TRAMP_NONE;
	bool found = false;

	for (; *site < code->nsites && code->sites[*site].to == to; ++*site) {
		if (piece == TRAMP_NONE)
			piece = tramp_flow_piece(code, code->base + to);
		found |= piece == TRAMP_NONE || tramp_flow_piece(code, code->base + code->sites[*site].from) != piece;
	}
	return found;
}

/*
 * In position-dependent files, most addresses of code that data seems to hold are numbers; what it holds for real is
 * where functions start.
 */
static bool is_entered(const struct tramp_code *code, uint64_t at)
{
	return flow_bit(code->table, at) || flow_bit(code->pad, at) || (flow_bit(code->external, at) && !code->absolute);
}

size_t tramp_code_entries(const struct tramp_code *code, uint64_t addr, size_t len, uint64_t *entries,
			  size_t room)
{
	uint64_t at, end;
	size_t n = 0, site;

	if (!flow_in_code(code, addr))
		return 0;
	at = addr - code->base;
	end = len < code->end - addr ? at + len : code->end - code->base;
	site = first_site(code, at);
	for (; n < room && at < end; at++) {
		bool elsewhere = is_from_elsewhere(code, at, &site);

		if (elsewhere || is_entered(code, at))
			entries[n++] = code->base + at;
	}
	return n;
}
