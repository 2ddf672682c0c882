// SPDX-License-Identifier: GPL-3.0-or-later
/* What is at an address of an object's code; and the lists that the pass over it fills. */
#include "trampolines/flow/code.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"

static const struct tramp_bytes *last_at(const struct tramp_facts *facts, uint64_t addr)
{
	size_t after = search_first(i, facts->nbytes, facts->bytes[i].addr > addr);

	return after ? &facts->bytes[after - 1] : NULL;
}

const struct tramp_bytes *tramp_flow_bytes(const struct tramp_code *code, uint64_t addr)
{
	const struct tramp_bytes *b = last_at(code->facts, addr);

	return b && addr - b->addr < b->len ? b : NULL;
}

bool tramp_flow_is_code(const struct tramp_code *code, uint64_t addr)
{
	const struct tramp_bytes *b = flow_in_code(code, addr) ? tramp_flow_bytes(code, addr) : NULL;

	return b && b->code;
}

const uint8_t *tramp_code_at(const struct tramp_code *code, uint64_t addr, size_t *left)
{
	const struct tramp_bytes *b = tramp_flow_bytes(code, addr);

	if (!b)
		return NULL;
	*left = b->len - (size_t)(addr - b->addr);
	return b->bytes + (addr - b->addr);
}

uint32_t tramp_flow_piece(const struct tramp_code *code, uint64_t addr)
{
	const struct tramp_facts *facts = code->facts;
	uint32_t i;

	if (!flow_in_code(code, addr))
		return TRAMP_NONE;
	i = code->page[(addr - code->base) >> FLOW_PAGE_LOG2];
	while (i < facts->nfns && addr - facts->fns[i].addr >= facts->fns[i].size) {
		if (facts->fns[i].addr > addr)
			return TRAMP_NONE;
		i++;
	}
	return i < facts->nfns ? i : TRAMP_NONE;
}

uint32_t tramp_code_function(const struct tramp_code *code, uint64_t addr)
{
	uint32_t piece = tramp_flow_piece(code, addr);

	return piece == TRAMP_NONE ? TRAMP_NONE : code->owner[piece];
}

uint32_t tramp_code_owner(const struct tramp_code *code, uint32_t fn)
{
	return code->owner[fn];
}

bool tramp_code_external(const struct tramp_code *code, uint64_t addr)
{
	uint32_t piece;

	if (!flow_in_code(code, addr))
		return false;
	if (flow_is_external(code, addr - code->base))
		return true;
	piece = tramp_flow_piece(code, addr);
	return piece != TRAMP_NONE && code->owner[piece] == piece &&
	       code->facts->fns[piece].addr == addr;
}

uint64_t tramp_code_base(const struct tramp_code *code)
{
	return code->base;
}

const struct tramp_facts *tramp_code_facts(const struct tramp_code *code)
{
	return code->facts;
}

bool tramp_flow_listed(const uint64_t *list, size_t n, uint64_t addr)
{
	size_t at = search_first(i, n, list[i] >= addr);

	return at < n && list[at] == addr;
}

bool tramp_flow_noreturn(const struct tramp_code *code, uint64_t addr)
{
	uint32_t piece;

	if (tramp_flow_listed(code->facts->noreturn, code->facts->nnoreturn, addr))
		return true;
	piece = tramp_flow_piece(code, addr);
	return piece != TRAMP_NONE && code->facts->fns[piece].addr == addr &&
	       code->bits[piece] & FLOW_FN_NORETURN;
}

bool tramp_code_passed(const struct tramp_code *code, uint32_t fn)
{
	return code->bits[fn] & FLOW_FN_TAKEN &&
	       !tramp_flow_listed(code->facts->taken, code->facts->ntaken, code->facts->fns[fn].addr);
}

bool tramp_code_syncs(const struct tramp_code *code, uint64_t addr)
{
	return tramp_flow_listed(code->facts->sync, code->facts->nsync, addr);
}

uint64_t tramp_flow_next_external(const struct tramp_code *code, uint64_t at, uint64_t end)
{
	while (at < end) {
		uint64_t word = flow_external_word(code, at / 64) >> (at % 64);

		if (word) {
			at += (uint64_t)__builtin_ctzll(word);
			return at < end ? at : end;
		}
		at = (at / 64 + 1) * 64;
	}
	return end;
}

void tramp_flow_append(struct flow_scan *scan, struct flow_list *list, const void *item, size_t size)
{
	if (list->n == list->room) {
		size_t room = list->room ? list->room * 2 : 256;
		void *items = reallocarray(list->items, room, size);

		if (!items) {
			scan->no_memory = true;
			return;
		}
		list->items = items;
		list->room = room;
	}
	memcpy((char *)list->items + list->n++ * size, item, size);
}
