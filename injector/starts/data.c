// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Data in the same segment as code, where no section says which is which: linkers put it before or after all code of the segment (ld -N,
 * -z noseparate-code, --no-rosegment).  It is known by the functions that were found without knowing: these refer to it.
 * After the last of them, data begins with the first address that is referred to and may be no function; before the first, it goes at
 * least up to the last such address, and over the relocations that are there.  What is between may be code.
 */
#include "config.h"

#include <string.h>

#include "base/search.h"
#include "injector/starts/starts.h"

enum {
	ADDRESS = 4,	/* bytes of one in an instruction that is not relative */
	WORD = 8,
};

/* Of one piece. */
struct extent {
	uint64_t from, to;	/* of the piece */
	uint64_t first, last;	/* of what surely is code: where the first function begins, and the last ends */
	uint64_t before, after;	/* the last address before these that is referred to, and the first one after them */
};

/* ---- functions ---- */

static bool in_piece(const struct extent *e, uint64_t addr)
{
	return addr >= e->from && addr < e->to;
}

static void include(struct extent *e, uint64_t from, uint64_t to)
{
	if (!in_piece(e, from))
		return;
	e->first = from < e->first ? from : e->first;
	e->last = to > e->last ? to : e->last;
}

/* Called, or begun as functions are: data that instructions refer to may look like any other code. */
static bool is_function(const struct inj_start *start)
{
	return start->certain && start->end > start->addr && !(start->shape & TRAMP_SHAPE_BAD) &&
	       (start->called || start->by & (INJ_FN_BY_ENTRY | INJ_FN_BY_VTABLE) || start->shape & TRAMP_SHAPE_PROLOGUE);
}

/* With what it leads to: entries of a PLT are no functions.  Where its jumps are not understood, they may lead to all that comes after it. */
static void include_start(const struct inj_starts *s, struct extent *e, const struct inj_start *start)
{
	if (start->dead || !is_function(start))
		return;
	include(e, start->addr, start->shape & (TRAMP_SHAPE_UNSURE | TRAMP_SHAPE_CUT) ? start->limit : start->end);
	for (size_t k = start->edge; k < start->edge + start->nedges; k++)
		include(e, s->edges[k].to, s->edges[k].to + 1);
}

static void find_functions(const struct inj_starts *s, struct extent *e)
{
	for (size_t i = 0; i < s->cf->nfns; i++)
		include(e, s->cf->fns[i].addr, s->cf->fns[i].addr + s->cf->fns[i].size);
	for (size_t i = 0; i < s->settled; i++)
		include_start(s, e, &s->v[i]);
}

/* ---- references ---- */

/* What may be a function is no data. */
static void refer(const struct inj_starts *s, struct extent *e, uint64_t addr)
{
	const struct inj_start *start;

	if (!in_piece(e, addr) || (addr >= e->first && addr < e->last))
		return;
	start = inj_starts_at(s, addr);
	if (start && !start->dead)
		return;
	if (addr < e->first && addr >= e->before)
		e->before = addr + 1;
	else if (addr >= e->last && addr < e->after)
		e->after = addr;
}

/* Operands in memory, of indirect calls and jumps as well, and addresses that are loaded. */
static void look_at(const struct inj_starts *s, struct extent *e, const struct tramp_op *op)
{
	bool indirect = op->kind == TRAMP_OP_CALL_IND || op->kind == TRAMP_OP_JMP_IND;
	uint64_t addr = tramp_code_base(s->code) + op->off;
	const uint8_t *p = inj_elf_get(&s->cf->file, addr, op->len);
	uint32_t absolute;
	int32_t relative;

	if (!p)
		return;
	if ((op->kind == TRAMP_OP_RIP || indirect) && op->disp_at && op->disp_len == sizeof(relative)) {
		memcpy(&relative, p + op->disp_at, sizeof(relative));
		refer(s, e, addr + op->len + (uint64_t)(int64_t)relative);
	} else if ((op->kind == TRAMP_OP_PLAIN || indirect) && op->len > ADDRESS && s->cf->words) { /* the last operand, or its displacement */
		memcpy(&absolute, p + op->len - ADDRESS, sizeof(absolute));
		refer(s, e, absolute);
	}
}

/* By what is surely code. */
static bool find_references(const struct inj_starts *s, struct extent *e)
{
	struct tramp_flow flow = { 0 };
	bool good = true;

	for (size_t i = 0; good && i < s->settled; i++) {
		if (s->v[i].dead || !is_function(&s->v[i]))
			continue;
		good = tramp_flow_build(&flow, s->code, s->fn[i]) == TRAMP_CODE_OK;
		for (uint32_t k = 0; good && k < flow.nops; k++)
			look_at(s, e, &flow.ops[k]);
	}
	tramp_flow_free(&flow);
	return good;
}

static bool is_relocation(const struct inj_cf *cf, uint64_t addr)
{
	const uint8_t *p = inj_elf_get(&cf->file, addr, sizeof(Elf64_Rela));
	Elf64_Rela r;

	if (!p)
		return false;
	memcpy(&r, p, sizeof(r));
	return (r.r_info == R_X86_64_IRELATIVE || r.r_info == R_X86_64_RELATIVE) && inj_elf_get(&cf->file, r.r_offset, sizeof(uint64_t)) &&
	       inj_elf_get(&cf->file, (uint64_t)r.r_addend, 1);
}

/* Static programs relocate themselves, and may find the relocations by words of data. */
static void skip_relocations(const struct inj_cf *cf, struct extent *e)
{
	uint64_t addr = (e->before + WORD - 1) / WORD * WORD;

	while (addr + sizeof(Elf64_Rela) <= e->first) {
		if (is_relocation(cf, addr))
			e->before = addr += sizeof(Elf64_Rela);
		else
			addr += WORD;
	}
}

/* ---- all ---- */

/* False: no memory. */
static bool measure(const struct inj_starts *s, const struct tramp_bytes *piece, struct extent *e)
{
	uint64_t begin = piece->addr, end = piece->addr + piece->len;

	*e = (struct extent){ .from = begin, .to = end, .first = end, .last = begin, .before = begin, .after = end };
	find_functions(s, e);
	if (e->first >= e->last) {	/* none */
		e->after = end;
		return true;
	}
	if (!find_references(s, e))
		return false;
	skip_relocations(s->cf, e);
	return true;
}

/* Without sections, and without a segment for what is neither executed nor written, which such data would be in. */
bool inj_starts_may_hold_data(const struct inj_cf *cf)
{
	for (size_t i = 0; i < cf->file.nsegs; i++)
		if (!(cf->file.segs[i].flags & (PF_W | PF_X)))
			return false;
	return !cf->file.nsecs;
}

bool inj_starts_data(struct inj_starts *s)
{
	struct inj_cf *cf = s->cf;

	for (size_t i = 0; i < cf->nbytes; i++) {
		struct extent e;

		if (!cf->bytes[i].code)
			continue;
		if (!measure(s, &cf->bytes[i], &e))
			return false;
		i += inj_cf_is_data(cf, i, e.before, e.after);
	}
	return true;
}
