// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Padding after a block: no-operations and int3 that nobody comes to, up to the next block or function.
 * Each function owns the padding after it, so no two of them take the same.
 */
#include "base/search.h"
#include "trampolines/insn/x86-64/decode.h"
#include "trampolines/mirror/x86-64/plan.h"

enum { PADDING_ALIGN = 16, PADDING_MAX = 4096 };

/* Does control never go on after the block? */
static bool ends_here(const struct tramp_mirror *m, uint32_t i)
{
	switch (mir_flow_block(m, i)->ends) {
	case TRAMP_END_JMP:
	case TRAMP_END_SWITCH:
	case TRAMP_END_RET:
	case TRAMP_END_TAIL:
	case TRAMP_END_TAIL_IND:
	case TRAMP_END_NORETURN:
		return true;
	default:
		return false;
	}
}

/* First function that begins at `addr` or after it. */
static size_t next_function(const struct tramp_facts *facts, uint64_t addr)
{
	return search_first(i, facts->nfns, facts->fns[i].addr >= addr);
}

uint64_t mir_next_function(const struct tramp_mirror *m, uint64_t addr)
{
	const struct tramp_facts *facts = tramp_code_facts(m->code);
	size_t fn = next_function(facts, addr);

	return fn < facts->nfns ? facts->fns[fn].addr : UINT64_MAX;
}

static uint64_t gap_limit(const struct tramp_mirror *m, uint32_t i, uint64_t start, size_t left)
{
	uint64_t limit = start + (left < PADDING_MAX ? left : PADDING_MAX);
	uint64_t next = mir_next_function(m, start);

	if (next < limit)
		limit = next;
	if (i + 1 < m->flow.nblocks && m->code_base + m->flow.blocks[i + 1].start < limit)
		limit = m->code_base + m->flow.blocks[i + 1].start;
	return limit;
}

static size_t padding_length(const uint8_t *code, size_t avail)
{
	struct tramp_decoded insn;

	if (code[0] == 0xcc)
		return 1;
	return tramp_decode(code, avail, &insn) && insn.nop ? insn.length : 0;
}

/* How many bytes from `start` to `limit` are padding. */
static uint32_t padding(const struct tramp_mirror *m, uint64_t start, uint64_t limit,
			const uint8_t *code)
{
	size_t n = 0, room = limit - start;

	while (n < room) {
		size_t len = padding_length(code + n, room - n);

		for (size_t k = 0; k < len; k++) {
			if (tramp_code_external(m->code, start + n + k))
				return 0;
		}
		if (!len)
			break;
		n += len;
	}
	/* What is not known after it has to look like the start of something. */
	return n == room || (start + n) % PADDING_ALIGN == 0 ? (uint32_t)n : 0;
}

void mir_find_gap(struct tramp_mirror *m, uint32_t i)
{
	struct mir_block *b = &m->blocks.v[i];
	uint32_t end = mir_flow_block(m, i)->end;
	uint64_t start = m->code_base + end;
	const uint8_t *code;
	uint64_t limit;
	size_t left;

	if (b->flags & MIR_GAP)
		return;
	b->flags |= MIR_GAP;
	b->gap = b->gap_end = end;
	if (!ends_here(m, i) || (b->flags & MIR_RIGID))
		return;
	code = tramp_code_at(m->code, start, &left);
	limit = code ? gap_limit(m, i, start, left) : start;
	if (limit > start)
		b->gap_end = end + padding(m, start, limit, code);
}
