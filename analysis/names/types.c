// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Types in debug information.  It may be damaged: types that contain themselves, sizes that do not fit; so every walk has a
 * depth, and nothing is multiplied without a check.
 */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"

#define MAX_DIMENSIONS 16
#define MAX_NAME 4096 /* of a type */

/* ---- from one to the next ---- */

static bool type_die(Dwarf_Die *of, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(of, DW_AT_type, &attr) && dwarf_formref_die(&attr, type);
}

static bool is_alias(int tag)
{
	switch (tag) {
	case DW_TAG_typedef:
	case DW_TAG_const_type:
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type:
	case DW_TAG_packed_type:
	case DW_TAG_shared_type:
	case DW_TAG_template_alias:
		return true;
	}
	return false;
}

bool nm_type_of(Dwarf_Die *of, Dwarf_Die *type)
{
	Dwarf_Die next = *of;

	for (unsigned int depth = 0; depth < NM_DEPTH; depth++) {
		if (!type_die(&next, type))
			return false;
		if (!is_alias(dwarf_tag(type)))
			return true;
		next = *type;
	}
	return false;
}

static bool is_pointer(int tag)
{
	return tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type ||
	       tag == DW_TAG_ptr_to_member_type;
}

/* ---- sizes ---- */

static bool constant(Dwarf_Die *die, unsigned int name, uint64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Word word;

	if (!dwarf_attr_integrate(die, name, &attr))
		return false;
	switch (dwarf_whatform(&attr)) {
	case DW_FORM_block:
	case DW_FORM_block1:
	case DW_FORM_block2:
	case DW_FORM_block4:
	case DW_FORM_exprloc:
		return false;
	}
	if (dwarf_formudata(&attr, &word) != 0)
		return false;
	*value = word;
	return true;
}

static bool signed_constant(Dwarf_Die *die, unsigned int name, int64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Sword word;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formsdata(&attr, &word) != 0)
		return false;
	*value = word;
	return true;
}

bool nm_is_descriptor(Dwarf_Die *array)
{
	return dwarf_hasattr_integrate(array, DW_AT_data_location);
}

/* 0: not known. */
static uint64_t dimension(Dwarf_Die *range)
{
	Dwarf_Die unit;
	int64_t low = 0, high;
	uint64_t count, begin = 0;
	int language;

	if (constant(range, DW_AT_count, &count))
		return count;
	if (!signed_constant(range, DW_AT_upper_bound, &high))
		return 0;
	/* an unsigned bound of all ones is that of an array of no elements, as GCC writes it */
	if (!signed_constant(range, DW_AT_lower_bound, &low)) {
		language = dwarf_diecu(range, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;
		if (language >= 0 && dwarf_default_lower_bound(language, &low) != 0)
			low = 0;
	}
	begin = (uint64_t)high - (uint64_t)low + 1;
	return high < low ? 0 : begin;
}

uint64_t nm_type_count(Dwarf_Die *array, unsigned int *dimensions)
{
	uint64_t count = 1, n;
	Dwarf_Die range;

	*dimensions = 0;
	if (dwarf_child(array, &range) == 0) {
		do {
			if (dwarf_tag(&range) != DW_TAG_subrange_type && dwarf_tag(&range) != DW_TAG_enumeration_type)
				continue;
			n = dwarf_tag(&range) == DW_TAG_subrange_type ? dimension(&range) : 0;
			if (__builtin_mul_overflow(count, n, &count))
				count = 0;
		} while (++*dimensions < MAX_DIMENSIONS && dwarf_siblingof(&range, &range) == 0);
	}
	if (*dimensions)
		return count;
	*dimensions = 1;
	return 0;
}

static uint64_t size_of(Dwarf_Die *type, unsigned int depth)
{
	unsigned int dimensions;
	uint64_t size, count;
	Dwarf_Die element;

	if (depth > NM_DEPTH)
		return 0;
	if (constant(type, DW_AT_byte_size, &size))
		return size;
	if (is_pointer(dwarf_tag(type)))
		return sizeof(void *);
	if (dwarf_tag(type) != DW_TAG_array_type || nm_is_descriptor(type) || !nm_type_of(type, &element))
		return 0;
	count = nm_type_count(type, &dimensions);
	size = size_of(&element, depth + 1);
	return __builtin_mul_overflow(count, size, &size) ? 0 : size;
}

uint64_t nm_type_size(Dwarf_Die *type)
{
	return size_of(type, 0);
}

bool nm_member_offset(Dwarf_Die *member, uint64_t *offset)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;

	*offset = 0;
	if (constant(member, DW_AT_data_bit_offset, offset)) {
		*offset /= 8;
		return true;
	}
	if (!dwarf_attr_integrate(member, DW_AT_data_member_location, &attr))
		return dwarf_tag(member) == DW_TAG_member; /* of a union */
	if (constant(member, DW_AT_data_member_location, offset))
		return true;
	if (dwarf_getlocation(&attr, &op, &n) != 0 || n != 1 || op[0].atom != DW_OP_plus_uconst)
		return false;
	*offset = op[0].number;
	return true;
}

/* ---- names ---- */

static const char *tag_word(Dwarf_Die *type)
{
	Dwarf_Die unit;
	int language = dwarf_diecu(type, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	switch (language) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		break;
	default:
		return ""; /* elsewhere a structure's name is that of a type */
	}
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
		return "struct ";
	case DW_TAG_union_type:
		return "union ";
	case DW_TAG_enumeration_type:
		return "enum ";
	}
	return "";
}

static const char *unnamed(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
		return "struct {...}";
	case DW_TAG_class_type:
		return "class {...}";
	case DW_TAG_union_type:
		return "union {...}";
	case DW_TAG_enumeration_type:
		return "enum {...}";
	case DW_TAG_subroutine_type:
		return "function";
	}
	return "?";
}

static void put_dimensions(Dwarf_Die *array, FILE *out)
{
	unsigned int n = 0;
	Dwarf_Die range;

	if (dwarf_child(array, &range) == 0) {
		do {
			uint64_t count = dwarf_tag(&range) == DW_TAG_subrange_type ? dimension(&range) : 0;

			if (count)
				fprintf(out, "[%llu]", (unsigned long long)count);
			else
				fputs("[]", out);
		} while (++n < MAX_DIMENSIONS && dwarf_siblingof(&range, &range) == 0);
	}
	if (!n)
		fputs("[]", out);
}

/* The type that @of refers to: prefix and base now, what comes after the name (of arrays, of pointers to these) as well. */
static void put_type(Dwarf_Die *of, bool element, unsigned int depth, FILE *out)
{
	Dwarf_Die type;
	int tag;

	if (depth > NM_DEPTH) {
		putc('?', out);
		return;
	}
	if (!type_die(of, &type)) {
		fputs("void", out);
		return;
	}
	tag = dwarf_tag(&type);
	if (tag == DW_TAG_typedef && dwarf_diename(&type)) {
		Dwarf_Die real;

		/* of an array that has a name of its own, the element is what is asked for */
		if (!element || !nm_type_of(&type, &real) || dwarf_tag(&real) != DW_TAG_array_type) {
			fputs(dwarf_diename(&type), out);
			return;
		}
	}
	if (is_alias(tag)) {
		put_type(&type, element, depth + 1, out);
	} else if (is_pointer(tag)) {
		put_type(&type, false, depth + 1, out);
		fputs(tag == DW_TAG_pointer_type ? " *" : tag == DW_TAG_ptr_to_member_type ? " ::*" : " &", out);
	} else if (tag == DW_TAG_array_type) {
		put_type(&type, element, depth + 1, out);
		if (!element)
			put_dimensions(&type, out);
	} else if (dwarf_diename(&type)) {
		fprintf(out, "%s%s", tag_word(&type), dwarf_diename(&type));
	} else {
		fputs(tag == DW_TAG_string_type ? "character" : unnamed(tag), out);
	}
}

char *nm_symbol_name(const struct nm *nm, Dwarf_Die *die)
{
	const char *name = dwarf_diename(die), *symbol = NULL;
	Dwarf_Attribute attr;
	char *text = NULL;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) || dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		symbol = dwarf_formstring(&attr);
	if (symbol && nm->o.demangle)
		text = nm->o.demangle(symbol);
	/* Fortran's symbols are names with something added */
	if (text && strcmp(text, symbol) != 0)
		return text;
	free(text);
	return strdup(name ? name : symbol ? symbol : "");
}

char *nm_type_name(Dwarf_Die *of, bool element)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return NULL;
	put_type(of, element, 0, out);
	if (fclose(out) != 0) {
		free(text);
		return NULL;
	}
	if (size > MAX_NAME)
		text[MAX_NAME] = '\0';
	return text;
}
