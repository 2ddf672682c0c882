// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where a caller leaves arguments: System V ABI, AMD64 supplement, 3.2.3.  For code that is not optimized, where DWARF only tells
 * where the function itself puts them.
 */
#include <dwarf.h>
#include <string.h>

#include "launcher/args/args.h"
#include "trampolines/flow/flow.h"

#define INTEGERS 6
#define VECTORS 8
#define DEEPEST 32 /* structures in each other */

static bool type_of(Dwarf_Die *die, Dwarf_Die *real)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	return dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &type) && dwarf_peel_type(&type, real) == 0;
}

static enum args_class merge(enum args_class a, enum args_class b)
{
	if (a == ARGS_MEMORY || b == ARGS_MEMORY)
		return ARGS_MEMORY;
	return a == ARGS_INTEGER || b == ARGS_INTEGER ? ARGS_INTEGER : a == ARGS_NONE ? b : a;
}

static bool is_float(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;

	return dwarf_attr(die, DW_AT_encoding, &attr) && dwarf_formudata(&attr, &encoding) == 0 &&
	       (encoding == DW_ATE_float || encoding == DW_ATE_complex_float);
}

/* False: it is of a kind that is not known here. */
static bool classify(Dwarf_Die *type, uint64_t at, enum args_class word[2], int depth);

static bool member(Dwarf_Die *die, uint64_t at, enum args_class word[2], int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Word offset = 0, bit;
	Dwarf_Die type;

	if (dwarf_attr_integrate(die, DW_AT_data_bit_offset, &attr) && dwarf_formudata(&attr, &bit) == 0) {
		if (at + bit / 8 < 16)
			word[(at + bit / 8) / 8] = ARGS_INTEGER;
		return true;
	}
	if (dwarf_attr_integrate(die, DW_AT_data_member_location, &attr) && dwarf_formudata(&attr, &offset) != 0)
		return false;
	return type_of(die, &type) && classify(&type, at + offset, word, depth + 1);
}

static bool members(Dwarf_Die *type, uint64_t at, enum args_class word[2], int depth)
{
	Dwarf_Attribute external;
	Dwarf_Die child;

	if (dwarf_child(type, &child) != 0)
		return true;
	do {
		int tag = dwarf_tag(&child);

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || dwarf_attr(&child, DW_AT_external, &external))
			continue;
		if (!member(&child, at, word, depth))
			return false;
	} while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

static bool elements(Dwarf_Die *type, uint64_t at, enum args_class word[2], int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Die element;
	Dwarf_Word bytes = 0;
	int size;

	if (dwarf_attr(type, DW_AT_GNU_vector, &attr) || !type_of(type, &element) || dwarf_aggregate_size(type, &bytes) != 0)
		return false;
	size = dwarf_bytesize(&element);
	for (Dwarf_Word i = 0; size > 0 && i < bytes && at + i < 16; i += (Dwarf_Word)size)
		if (!classify(&element, at + i, word, depth + 1))
			return false;
	return true;
}

static bool classify(Dwarf_Die *type, uint64_t at, enum args_class word[2], int depth)
{
	int tag = dwarf_tag(type), size = dwarf_bytesize(type);

	if (at >= 16 || depth > DEEPEST)
		return at >= 16;
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
		return members(type, at, word, depth);
	case DW_TAG_array_type:
		return elements(type, at, word, depth);
	case DW_TAG_base_type:
		if (size > 8 || size < 1)
			return false;
		word[at / 8] = merge(word[at / 8], is_float(type) ? ARGS_SSE : ARGS_INTEGER);
		return true;
	case DW_TAG_enumeration_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		word[at / 8] = ARGS_INTEGER;
		return true;
	default:
		return false;
	}
}

static bool passed_by_reference(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word how;

	return dwarf_attr(type, DW_AT_calling_convention, &attr) && dwarf_formudata(&attr, &how) == 0 &&
	       how == DW_CC_pass_by_reference;
}

static bool is_aggregate(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type || tag == DW_TAG_union_type;
}

enum args_class args_class(Dwarf_Die *die, enum args_class word[2], uint32_t *words, uint32_t *align)
{
	Dwarf_Die type;
	int size;

	word[0] = word[1] = ARGS_NONE;
	*words = 1;
	*align = 8;
	if (!type_of(die, &type))
		return ARGS_NONE;
	size = dwarf_bytesize(&type);
	if (passed_by_reference(&type)) {
		word[0] = ARGS_INTEGER;
		return ARGS_INTEGER;
	}
	/* long double, and others of its size, which are aligned */
	if (dwarf_tag(&type) == DW_TAG_base_type && size == 16 && is_float(&type)) {
		const char *name = dwarf_diename(&type);

		*words = 2;
		*align = 16;
		return name && strcmp(name, "long double") == 0 ? ARGS_MEMORY : ARGS_NONE;
	}
	if (size > 16 && is_aggregate(dwarf_tag(&type))) {
		*words = ((uint32_t)size + 7) / 8;
		return ARGS_MEMORY;
	}
	if (!classify(&type, 0, word, 0))
		return ARGS_NONE;
	*words = size > 8 ? 2 : 1;
	return word[0] == ARGS_NONE ? ARGS_NONE : word[0];
}

void args_abi_begin(struct args_abi *abi, Dwarf_Die *function)
{
	enum args_class word[2];
	uint32_t words, align;

	*abi = (struct args_abi){ 0 };
	/* where to put what it returns comes first */
	abi->integers = args_class(function, word, &words, &align) == ARGS_MEMORY && align == 8;
}

bool args_abi_next(struct args_abi *abi, Dwarf_Die *parameter, bool by_reference, struct rt_probe_value *value)
{
	static const uint8_t integer[INTEGERS] = { TRAMP_RDI, TRAMP_RSI, TRAMP_RDX, TRAMP_RCX, TRAMP_R8, TRAMP_R9 };
	enum args_class word[2] = { ARGS_INTEGER, ARGS_NONE }, class = ARGS_INTEGER;
	uint32_t words = 1, align = 8, integers = 0, vectors = 0;

	if (!by_reference)
		class = args_class(parameter, word, &words, &align);
	abi->lost |= class == ARGS_NONE;
	if (abi->lost)
		return false;
	for (uint32_t i = 0; i < words && i < 2 && class != ARGS_MEMORY; i++) {
		integers += word[i] == ARGS_INTEGER;
		vectors += word[i] == ARGS_SSE;
	}
	if (class == ARGS_MEMORY || abi->integers + integers > INTEGERS || abi->vectors + vectors > VECTORS) {
		abi->stack = (abi->stack + align - 1) / align * align;
		*value = (struct rt_probe_value){ .from = RT_FROM_FRAME, .offset = (int32_t)(8 + abi->stack) };
		abi->stack += 8 * words;
		return words == 1;
	}
	if (word[0] == ARGS_INTEGER)
		value->from = (uint8_t)(RT_FROM_REG + integer[abi->integers]);
	else
		value->from = (uint8_t)(RT_FROM_VECTOR + abi->vectors);
	abi->integers += integers;
	abi->vectors += vectors;
	return words == 1;
}
