// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which function each piece of code belongs to.
 *
 * A piece that the facts call a part goes to its parent.  One without a name, which may be a part, is one if
 * nobody calls it, nobody has its address, and control comes to it (to any of its bytes; by jumps, jump
 * tables, or from above) from exactly one function and that function's parts.
 */
#include "trampolines/flow/code.h"

#include <stdlib.h>
#include <string.h>

enum {
	ROUNDS_MAX = 4,		/* parts that only parts lead to */
	DEPTH_MAX = 8,
};

#define SEVERAL (TRAMP_NONE - 1)

static uint32_t root_of(const struct tramp_facts *facts, uint32_t fn)
{
	uint32_t root = fn;

	for (int i = 0; i < DEPTH_MAX; i++) {
		const struct tramp_fn *f = &facts->fns[root];

		if (!(f->flags & TRAMP_FN_PART) || f->parent >= facts->nfns || f->parent == root)
			return root;
		root = f->parent;
	}
	return fn;
}

void tramp_flow_known_parts(struct tramp_code *code)
{
	for (uint32_t i = 0; i < code->facts->nfns; i++)
		code->owner[i] = root_of(code->facts, i);
}

static bool may_be_part(const struct tramp_code *code, uint32_t piece)
{
	return piece != TRAMP_NONE && code->facts->fns[piece].flags & TRAMP_FN_MAYBE_PART &&
	       !(code->bits[piece] & (FLOW_FN_CALLED | FLOW_FN_TAKEN));
}

static void find_sources(const struct flow_scan *scan, uint32_t *source)
{
	const struct tramp_code *code = scan->code;
	const struct flow_cross *crosses = scan->crosses.items;

	memset(source, 0xff, code->facts->nfns * sizeof(*source));
	for (size_t i = 0; i < scan->crosses.n; i++) {
		uint32_t piece = tramp_flow_piece(code, code->base + crosses[i].to);
		uint32_t from = crosses[i].from;

		if (!may_be_part(code, piece))
			continue;
		from = from == TRAMP_NONE ? SEVERAL : code->owner[from];
		if (from == piece)
			continue;
		if (source[piece] == TRAMP_NONE)
			source[piece] = from;
		else if (source[piece] != from)
			source[piece] = SEVERAL;
	}
}

static bool give_away(struct tramp_code *code, const uint32_t *source)
{
	bool changed = false;

	for (uint32_t i = 0; i < code->facts->nfns; i++) {
		uint32_t to = source[i];

		if (to >= SEVERAL || code->owner[i] != i || code->owner[to] == i)
			continue;
		code->owner[i] = code->owner[to];
		changed = true;
	}
	return changed;
}

/* Parts of parts belong to the whole. */
static void flatten(struct tramp_code *code)
{
	for (uint32_t i = 0; i < code->facts->nfns; i++) {
		uint32_t owner = code->owner[i];

		for (int depth = 0; depth < DEPTH_MAX && code->owner[owner] != owner; depth++)
			owner = code->owner[owner];
		code->owner[i] = code->owner[owner] == owner ? owner : i;
	}
}

static void link_parts(struct tramp_code *code)
{
	size_t n = code->facts->nfns;

	memset(code->first_part, 0xff, n * sizeof(*code->first_part));
	memset(code->next_part, 0xff, n * sizeof(*code->next_part));
	for (size_t i = n; i-- > 0;) {
		uint32_t owner = code->owner[i];

		if (owner == i)
			continue;
		code->next_part[i] = code->first_part[owner];
		code->first_part[owner] = (uint32_t)i;
		code->bits[owner] |= code->bits[i] & (FLOW_FN_JUMPS | FLOW_FN_TABLES | FLOW_FN_EXITS);
	}
}

static void note_joined(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	const struct flow_cross *crosses = scan->crosses.items;

	for (size_t i = 0; i < scan->crosses.n; i++) {
		uint32_t piece = tramp_flow_piece(code, code->base + crosses[i].to), from = crosses[i].from;

		if (piece != TRAMP_NONE &&
		    (from == TRAMP_NONE || code->owner[from] != code->owner[piece]))
			code->bits[code->owner[piece]] |= FLOW_FN_JOINED;
	}
}

void tramp_flow_parts(struct flow_scan *scan)
{
	struct tramp_code *code = scan->code;
	uint32_t *source = calloc(code->facts->nfns + 1, sizeof(*source));
	bool changed = source != NULL;

	scan->no_memory |= !source;
	for (int round = 0; changed && round < ROUNDS_MAX; round++) {
		find_sources(scan, source);
		changed = give_away(code, source);
		flatten(code);
	}
	free(source);
	link_parts(code);
	note_joined(scan);
}
