// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Where the variables of a Fortran common block are in it, if debug information does not say: GCC says nothing of blocks in functions
 * that were inlined everywhere.  By the standard they are one after the other in the order in which they are declared; compilers align
 * them (-falign-commons of gfortran).
 */
#include <dwarf.h>

#include "analysis/names/names-private.h"

enum { MOST_ALIGNED = 16 };
#define COMMON_MOST (UINT64_C(1) << 40) /* bytes */

/* Of a variable of that type, in bytes; 0: not known. */
static uint64_t alignment_of(Dwarf_Die *type)
{
	Dwarf_Die of;
	Dwarf_Word encoding;
	Dwarf_Attribute attr;
	uint64_t size;

	for (unsigned int depth = 0; dwarf_tag(type) == DW_TAG_array_type && depth < NM_DEPTH; depth++) {
		if (!nm_type_of(type, &of))
			return 0;
		*type = of;
	}
	size = nm_type_size(type);
	switch (dwarf_tag(type)) {
	case DW_TAG_string_type:
		return 1;
	case DW_TAG_pointer_type:
		return size;
	case DW_TAG_base_type:
		if (dwarf_attr(type, DW_AT_encoding, &attr) && dwarf_formudata(&attr, &encoding) == 0 && encoding == DW_ATE_complex_float)
			size /= 2;
		return size > MOST_ALIGNED ? MOST_ALIGNED : size;
	default:
		return 0;
	}
}

/* The next one, from *at on. */
static bool place(Dwarf_Die *variable, uint64_t *at, uint64_t *size, uint64_t *align)
{
	Dwarf_Die type, element;

	if (!nm_type_of(variable, &type))
		return false;
	element = type;
	*align = alignment_of(&element);
	*size = nm_type_size(&type);
	if (!*size || !*align || (*align & (*align - 1)) || *at > COMMON_MOST || *size > COMMON_MOST)
		return false;
	*at = (*at + *align - 1) & -*align;
	return true;
}

/* @arg NULL: only to find out whether all have a place. */
static bool each(Dwarf_Die *common, uint64_t size, nm_common_fn member, void *arg)
{
	uint64_t at = 0, bytes, align, most = 1;
	Dwarf_Die die;

	if (dwarf_child(common, &die) != 0)
		return false;
	do {
		if (dwarf_tag(&die) != DW_TAG_variable)
			continue;
		if (!place(&die, &at, &bytes, &align) || at + bytes > size || (arg && !member(arg, &die, at, bytes)))
			return false;
		at += bytes;
		most = align > most ? align : most;
	} while (dwarf_siblingof(&die, &die) == 0);
	return arg || ((at + most - 1) & -most) == size;
}

bool nm_common_each(Dwarf_Die *common, uint64_t size, nm_common_fn variable, void *arg)
{
	return !each(common, size, variable, NULL) || each(common, size, variable, arg);
}
