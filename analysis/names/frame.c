// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What is in a function's frame, by debug information: offsets are from the canonical frame address (CFA), which is what the
 * stack pointer was before the call that the function was entered by.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"

/* By the numbers of DWARF. */
enum { REG_RBP = 6, REG_RSP = 7 };
#define MAX_RULES 64 /* of a function that are looked at */

/* *bytes: from there on the rule is the same for so many at least. */
static bool rule_at(struct nm_file *f, uint64_t in_file, struct nm_rule *rule, uint64_t *bytes)
{
	Dwarf_Addr bias, begin, end;
	Dwarf_CFI *cfi;
	Dwarf_Frame *frame;
	Dwarf_Op *op;
	size_t n;
	bool good = false;

	*rule = (struct nm_rule){ .reg = -1 };
	*bytes = 1;
	for (unsigned int k = 0; k < 2 && !good; k++) {
		cfi = k ? dwfl_module_dwarf_cfi(nm_file_module(f), &bias) : dwfl_module_eh_cfi(nm_file_module(f), &bias);
		if (!cfi || dwarf_cfi_addrframe(cfi, in_file + nm_file_bias(f) - bias, &frame) != 0)
			continue;
		if (dwarf_frame_cfa(frame, &op, &n) == 0 && n == 1) {
			if (op[0].atom >= DW_OP_breg0 && op[0].atom <= DW_OP_breg31)
				*rule = (struct nm_rule){ (int)op[0].atom - DW_OP_breg0, (int64_t)op[0].number };
			else if (op[0].atom == DW_OP_bregx && op[0].number < 32)
				*rule = (struct nm_rule){ (int)op[0].number, (int64_t)op[0].number2 };
		}
		if (dwarf_frame_info(frame, &begin, &end, NULL) >= 0 && end > in_file + nm_file_bias(f) - bias)
			*bytes = end - (in_file + nm_file_bias(f) - bias);
		free(frame);
		good = rule->reg == REG_RBP || rule->reg == REG_RSP;
	}
	return good;
}

bool nm_frame_rule(struct nm_file *f, uint64_t in_file, struct nm_rule *rule)
{
	uint64_t bytes;

	return rule_at(f, in_file, rule, &bytes);
}

/* ---- variables ---- */

struct search {
	struct nm_file *f;
	uint64_t pc; /* as libdw has it */
	int64_t offset;
	struct nm_rule rule;
	Dwarf_Attribute frame_base;
	bool has_frame_base;
	uint64_t bias; /* of pc, from addresses in the file */
	Dwarf_Die function; /* whose frame it is */
	struct nm_rule body; /* if it has been asked for: */
	bool has_body;
};

/* What a register holds there, from the CFA on. */
static bool register_offset(const struct search *s, int reg, int64_t *offset)
{
	if (reg != s->rule.reg)
		return false;
	*offset = -s->rule.offset;
	return true;
}

/*
 * A frame base that is a register (LLVM's) means what that holds after the prologue, also at instructions where it holds something else, as at the
 * return.  It is taken from the unwind rule of the function that counts for most of its code.
 */
static bool body_offset(struct search *s, int reg, int64_t *offset)
{
	uint64_t base, begin, end, bytes, most = 0;
	struct nm_rule rule;

	if (!s->has_body && dwarf_ranges(&s->function, 0, &base, &begin, &end) > 0) {
		for (unsigned int k = 0; k < MAX_RULES && begin < end; k++, begin += bytes) {
			if (!rule_at(s->f, begin + s->bias, &rule, &bytes) || rule.reg != reg || bytes <= most)
				continue;
			most = bytes;
			s->body = rule;
		}
	}
	s->has_body = true;
	*offset = -s->body.offset;
	return s->body.reg == reg;
}

static bool frame_base_offset(struct search *s, int64_t *offset)
{
	Dwarf_Op *op;
	size_t n;

	if (!s->has_frame_base || dwarf_getlocation_addr(&s->frame_base, s->pc, &op, &n, 1) != 1 || n != 1)
		return false;
	*offset = 0;
	if (op[0].atom == DW_OP_call_frame_cfa)
		return true;
	if (op[0].atom >= DW_OP_reg0 && op[0].atom <= DW_OP_reg31)
		return body_offset(s, (int)op[0].atom - DW_OP_reg0, offset);
	if (op[0].atom >= DW_OP_breg0 && op[0].atom <= DW_OP_breg31 && body_offset(s, (int)op[0].atom - DW_OP_breg0, offset))
		return !__builtin_add_overflow(*offset, (int64_t)op[0].number, offset);
	return false;
}

/* A place in memory of the frame. */
static bool op_offset(struct search *s, const Dwarf_Op *op, int64_t *offset)
{
	*offset = 0;
	if (op->atom == DW_OP_call_frame_cfa)
		return true;
	if (op->atom == DW_OP_fbreg ? !frame_base_offset(s, offset) :
				      op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31 ||
					      !register_offset(s, (int)op->atom - DW_OP_breg0, offset))
		return false;
	return !__builtin_add_overflow(*offset, (int64_t)op->number, offset);
}

static bool is_within(int64_t offset, int64_t begin, uint64_t size)
{
	return offset >= begin && (uint64_t)offset - (uint64_t)begin < size;
}

/* In pieces, some of which may be in memory: *begin is where the variable would, if all of it were at the piece's place. */
static bool find_piece(struct search *s, const Dwarf_Op *op, size_t n, int64_t *begin)
{
	uint64_t at = 0;
	size_t first = 0;

	for (size_t i = 0; i < n; i++) {
		if (op[i].atom != DW_OP_piece)
			continue;
		if (i == first + 1 && op_offset(s, &op[first], begin) && is_within(s->offset, *begin, op[i].number))
			return !__builtin_sub_overflow(*begin, (int64_t)at, begin);
		if (__builtin_add_overflow(at, op[i].number, &at) || at > INT64_MAX)
			return false;
		first = i + 1;
	}
	return false;
}

static bool has_offset(struct search *s, Dwarf_Die *die, int64_t *begin, uint64_t *size)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;
	Dwarf_Op *op;
	size_t n;

	*begin = 0;
	if (!dwarf_attr_integrate(die, DW_AT_location, &attr) || dwarf_getlocation_addr(&attr, s->pc, &op, &n, 1) != 1 || !n ||
	    !nm_type_of(die, &type))
		return false;
	*size = nm_type_size(&type);
	if (n > 1)
		return find_piece(s, op, n, begin) && is_within(s->offset, *begin, *size);
	return op_offset(s, &op[0], begin) && is_within(s->offset, *begin, *size);
}

static bool find_in(struct search *s, Dwarf_Die *scope, Dwarf_Die *die, int64_t *begin, uint64_t *size)
{
	if (dwarf_child(scope, die) != 0)
		return false;
	do {
		int tag = dwarf_tag(die);

		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && has_offset(s, die, begin, size))
			return true;
	} while (dwarf_siblingof(die, die) == 0);
	return false;
}

/*
 * Code of a block may have been moved out of it: then its variables are found if no other is in the same place.  *matches: how many
 * have been found.
 */
static void find_below(struct search *s, Dwarf_Die *scope, unsigned int depth, struct nm_in_frame *found, unsigned int *matches)
{
	struct nm_in_frame in = { .function = found->function };
	Dwarf_Die die;

	if (depth > NM_DEPTH || dwarf_child(scope, &die) != 0)
		return;
	do {
		int tag = dwarf_tag(&die);

		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && has_offset(s, &die, &in.begin, &in.size)) {
			in.die = die;
			*found = in;
			++*matches;
		} else if (tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) {
			find_below(s, &die, depth + 1, found, matches);
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static Dwarf_Die function_in(Dwarf_Die *scopes, int n, int from)
{
	for (int i = from; i < n; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram || dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			return scopes[i];
	return (Dwarf_Die){ 0 };
}

/* The processor's number of one of DWARF. */
static int number_of(unsigned int reg)
{
	static const int8_t at[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };

	return reg < sizeof(at) ? at[reg] : -1;
}

static bool is_in_register(Dwarf_Die *die, uint64_t pc, int reg)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	return dwarf_attr_integrate(die, DW_AT_location, &attr) && dwarf_getlocation_addr(&attr, pc, &op, &n, 1) == 1 && n == 1 &&
	       op[0].atom >= DW_OP_reg0 && op[0].atom <= DW_OP_reg31 && number_of(op[0].atom - DW_OP_reg0) == reg;
}

bool nm_frame_register(struct nm_file *f, uint64_t in_file, int reg, Dwarf_Die *variable)
{
	uint64_t bias;
	int n;
	Dwarf_Die *scopes = nm_scopes_at(f, in_file, &bias, &n);
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		if (dwarf_child(&scopes[i], variable) != 0)
			continue;
		do {
			int tag = dwarf_tag(variable);

			found = (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) && is_in_register(variable, in_file - bias, reg);
		} while (!found && dwarf_siblingof(variable, variable) == 0);
	}
	return found;
}

bool nm_frame_function(struct nm_file *f, uint64_t in_file, uint64_t *begin, uint64_t *end)
{
	uint64_t bias;
	int n;
	Dwarf_Die *scopes = nm_scopes_at(f, in_file, &bias, &n);
	bool found = false;

	for (int i = 0; i < n && !found; i++) {
		if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram || dwarf_lowpc(&scopes[i], begin) != 0 || dwarf_highpc(&scopes[i], end) != 0)
			continue;
		found = *begin <= in_file - bias && in_file - bias < *end;
		*begin += bias;
		*end += bias;
	}
	return found;
}

bool nm_frame_find(struct nm_file *f, uint64_t in_file, int64_t offset, struct nm_in_frame *found)
{
	uint64_t bias;
	int n;
	Dwarf_Die *scopes = nm_scopes_at(f, in_file, &bias, &n);
	struct search s = { .f = f, .offset = offset, .body = { .reg = -1 } };
	struct nm_in_frame below = { 0 };
	unsigned int matches = 0;
	bool good = false;

	*found = (struct nm_in_frame){ .unknown = !scopes };
	if (!scopes)
		return false;
	s.pc = in_file - bias;
	s.bias = bias;
	nm_frame_rule(f, in_file, &s.rule);
	for (int i = 0; i < n && !s.has_frame_base; i++) {
		s.has_frame_base = dwarf_tag(&scopes[i]) == DW_TAG_subprogram && dwarf_attr_integrate(&scopes[i], DW_AT_frame_base, &s.frame_base);
		s.function = scopes[i];
	}
	for (int i = 0; i < n && !good; i++) {
		good = find_in(&s, &scopes[i], &found->die, &found->begin, &found->size);
		if (good)
			found->function = function_in(scopes, n, i);
	}
	if (!good) {
		found->function = function_in(scopes, n, 0);
		for (int i = 0; i < n && !matches; i++)
			if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram)
				find_below(&s, &scopes[i], 0, &below, &matches);
		good = matches == 1;
	}
	if (matches == 1) {
		below.function = found->function;
		*found = below;
	}
	return good;
}
