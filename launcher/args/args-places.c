// SPDX-License-Identifier: GPL-3.0-or-later
/* Where arguments are when a function is entered, from DWARF's locations. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/args/args.h"
#include "trampolines/flow/flow.h"

#define DWARF_XMM0 17
#define CFA_ABOVE 8 /* the canonical frame address, above the frame address: the return address is in between */

/* DWARF numbers the first eight registers in its own order. */
static bool register_place(Dwarf_Word number, struct rt_probe_value *value)
{
	static const uint8_t first[] = { TRAMP_RAX, TRAMP_RDX, TRAMP_RCX, TRAMP_RBX, TRAMP_RSI, TRAMP_RDI, TRAMP_RBP, TRAMP_RSP };

	if (number >= DWARF_XMM0 && number < DWARF_XMM0 + 8) {
		value->from = (uint8_t)(RT_FROM_VECTOR + number - DWARF_XMM0);
		return true;
	}
	if (number > 11)
		return false;
	value->from = (uint8_t)(RT_FROM_REG + (number < 8 ? first[number] : number));
	/* the runtime does not have these, and no caller leaves arguments there */
	return number < 8 ? first[number] != TRAMP_RBX && first[number] != TRAMP_RSP && first[number] != TRAMP_RBP : true;
}

static bool register_number(const Dwarf_Op *op, Dwarf_Word *number)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		*number = op->atom - DW_OP_reg0;
	else if (op->atom == DW_OP_regx)
		*number = op->number;
	else
		return false;
	return true;
}

static bool base_register(const Dwarf_Op *op, Dwarf_Word *number, int64_t *offset)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		*number = op->atom - DW_OP_breg0;
		*offset = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		*number = op->number;
		*offset = (int64_t)op->number2;
	} else {
		return false;
	}
	return true;
}

static bool literal(const Dwarf_Op *op, int64_t *value)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31) {
		*value = op->atom - DW_OP_lit0;
		return true;
	}
	switch (op->atom) {
	case DW_OP_const1u:
	case DW_OP_const1s:
	case DW_OP_const2u:
	case DW_OP_const2s:
	case DW_OP_const4u:
	case DW_OP_const4s:
	case DW_OP_const8s:
	case DW_OP_constu:
	case DW_OP_consts:
		*value = (int64_t)op->number;
		return true;
	default:
		return false;
	}
}

static enum args_place constant_place(int64_t value, struct rt_probe_value *to)
{
	if (value != (int32_t)value)
		return ARGS_NOWHERE;
	*to = (struct rt_probe_value){ .from = RT_FROM_CONST, .offset = (int32_t)value };
	return ARGS_AT;
}

/* Is the function's frame base the canonical frame address? */
static bool has_cfa(Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	return dwarf_attr_integrate(function, DW_AT_frame_base, &attr) && dwarf_getlocation(&attr, &op, &n) == 0 && n == 1 &&
	       op->atom == DW_OP_call_frame_cfa;
}

static enum args_place frame_place(Dwarf_Die *function, const Dwarf_Op *op, size_t n, struct rt_probe_value *value)
{
	int64_t offset = (int64_t)op->number;
	bool indirect = n == 2 && op[1].atom == DW_OP_deref;

	if (n > 1 && !indirect)
		return ARGS_NOWHERE;
	/* what the function keeps in its own frame is not there yet */
	if (offset < 0 || offset > INT32_MAX - CFA_ABOVE || !has_cfa(function))
		return indirect ? ARGS_INDIRECT_BY_ABI : ARGS_BY_ABI;
	*value = (struct rt_probe_value){ .from = RT_FROM_FRAME, .offset = (int32_t)offset + CFA_ABOVE };
	return indirect ? ARGS_INDIRECT : ARGS_AT;
}

/* A mask of the lowest bytes: Clang's, before it narrows a value. */
static bool is_mask(const Dwarf_Op *op)
{
	return op[0].atom == DW_OP_constu && op[1].atom == DW_OP_and &&
	       (op->number == UINT8_MAX || op->number == UINT16_MAX || op->number == UINT32_MAX);
}

/* Is the value itself computed, without a change but of its type? */
static bool only_converts(const Dwarf_Op *op, size_t n)
{
	size_t i = n > 2 && is_mask(op) ? 2 : 0;

	for (; i + 1 < n; i++)
		if (op[i].atom != DW_OP_convert && op[i].atom != DW_OP_GNU_convert)
			return false;
	return n && op[n - 1].atom == DW_OP_stack_value;
}

/* Relative to a register: @op, @n of them, are what comes after that. */
static enum args_place based_place(Dwarf_Word number, int64_t offset, const Dwarf_Op *op, size_t n, struct rt_probe_value *value)
{
	enum { RSP = 7 };

	if (!offset && only_converts(op, n))
		return register_place(number, value) ? ARGS_AT : ARGS_NOWHERE;

	if (number == RSP && !n && offset >= 0 && offset <= INT32_MAX) {
		*value = (struct rt_probe_value){ .from = RT_FROM_FRAME, .offset = (int32_t)offset };
		return ARGS_AT;
	}
	if (n || offset || !register_place(number, value))
		return ARGS_NOWHERE;
	return ARGS_INDIRECT;
}

static enum args_place place_of(Dwarf_Die *function, const Dwarf_Op *op, size_t n, struct rt_probe_value *value)
{
	Dwarf_Word number;
	int64_t offset;

	if (n == 1 && register_number(op, &number))
		return register_place(number, value) ? ARGS_AT : ARGS_NOWHERE;
	if (op->atom == DW_OP_fbreg)
		return frame_place(function, op, n, value);
	if (base_register(op, &number, &offset))
		return based_place(number, offset, op + 1, n - 1, value);
	if (n == 2 && op[1].atom == DW_OP_stack_value && literal(op, &offset))
		return constant_place(offset, value);
	return ARGS_NOWHERE;
}

enum args_place args_place(Dwarf_Die *function, Dwarf_Die *parameter, uint64_t pc, struct rt_probe_value *value)
{
	Dwarf_Attribute attr;
	Dwarf_Sword constant;
	Dwarf_Op *op;
	size_t n;

	if (dwarf_attr_integrate(parameter, DW_AT_const_value, &attr))
		return dwarf_formsdata(&attr, &constant) == 0 ? constant_place(constant, value) : ARGS_NOWHERE;
	if (!dwarf_attr(parameter, DW_AT_location, &attr))
		return ARGS_NOWHERE;
	if (dwarf_getlocation_addr(&attr, pc, &op, &n, 1) != 1 || !n)
		return ARGS_LATER;
	return place_of(function, op, n, value);
}
