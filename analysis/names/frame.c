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

bool nm_frame_rule(struct nm_file *f, uint64_t in_file, struct nm_rule *rule)
{
	Dwarf_Addr bias;
	Dwarf_CFI *cfi;
	Dwarf_Frame *frame;
	Dwarf_Op *op;
	size_t n;
	bool good = false;

	*rule = (struct nm_rule){ .reg = -1 };
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
		free(frame);
		good = rule->reg == REG_RBP || rule->reg == REG_RSP;
	}
	return good;
}

/* ---- variables ---- */

struct search {
	struct nm_file *f;
	uint64_t pc; /* as libdw has it */
	int64_t offset;
	struct nm_rule rule;
	Dwarf_Attribute frame_base;
	bool has_frame_base;
};

/* What a register holds there, from the CFA on. */
static bool register_offset(const struct search *s, int reg, int64_t *offset)
{
	if (reg != s->rule.reg)
		return false;
	*offset = -s->rule.offset;
	return true;
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
		return register_offset(s, (int)op[0].atom - DW_OP_reg0, offset);
	if (op[0].atom >= DW_OP_breg0 && op[0].atom <= DW_OP_breg31 && register_offset(s, (int)op[0].atom - DW_OP_breg0, offset))
		return !__builtin_add_overflow(*offset, (int64_t)op[0].number, offset);
	return false;
}

/* Where a variable begins, if it is in memory of the frame. */
static bool variable_offset(struct search *s, Dwarf_Die *die, int64_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attr) || dwarf_getlocation_addr(&attr, s->pc, &op, &n, 1) != 1 || n != 1)
		return false;
	if (op[0].atom == DW_OP_fbreg ? !frame_base_offset(s, offset) :
	    op[0].atom >= DW_OP_breg0 && op[0].atom <= DW_OP_breg31 ?
					 !register_offset(s, (int)op[0].atom - DW_OP_breg0, offset) :
					 op[0].atom != DW_OP_call_frame_cfa)
		return false;
	return op[0].atom == DW_OP_call_frame_cfa || !__builtin_add_overflow(*offset, (int64_t)op[0].number, offset);
}

static bool has_offset(struct search *s, Dwarf_Die *die, int64_t *begin, uint64_t *size)
{
	Dwarf_Die type;

	*begin = 0;
	if (!variable_offset(s, die, begin) || s->offset < *begin || !nm_type_of(die, &type))
		return false;
	*size = nm_type_size(&type);
	return (uint64_t)s->offset - (uint64_t)*begin < *size;
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

static const char *function_in(Dwarf_Die *scopes, int n, int from)
{
	for (int i = from; i < n; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram || dwarf_tag(&scopes[i]) == DW_TAG_inlined_subroutine)
			return dwarf_diename(&scopes[i]);
	return NULL;
}

bool nm_frame_find(struct nm_file *f, uint64_t in_file, int64_t offset, struct nm_in_frame *found)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = dwfl_module_addrdie(nm_file_module(f), in_file + nm_file_bias(f), &bias), *scopes = NULL;
	struct search s = { .f = f, .offset = offset };
	bool good = false;
	int n;

	*found = (struct nm_in_frame){ 0 };
	if (!unit)
		return false;
	s.pc = in_file + nm_file_bias(f) - bias;
	nm_frame_rule(f, in_file, &s.rule);
	n = dwarf_getscopes(unit, s.pc, &scopes);
	for (int i = 0; i < n && !s.has_frame_base; i++)
		s.has_frame_base = dwarf_tag(&scopes[i]) == DW_TAG_subprogram && dwarf_attr_integrate(&scopes[i], DW_AT_frame_base, &s.frame_base);
	for (int i = 0; i < n && !good; i++) {
		if (dwarf_tag(&scopes[i]) == DW_TAG_compile_unit)
			break;
		good = find_in(&s, &scopes[i], &found->die, &found->begin, &found->size);
		if (good)
			found->function = function_in(scopes, n, i);
	}
	if (!good)
		found->function = n > 0 ? function_in(scopes, n, 0) : NULL;
	free(scopes);
	return good;
}
