// SPDX-License-Identifier: GPL-3.0-or-later
/* Types of arguments, from DWARF to those of a trace. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/args/args.h"

#define MOST_LABELS 256 /* larger enumerations are shown as numbers */

static bool encoding_of(Dwarf_Die *die, Dwarf_Word *encoding)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, DW_AT_encoding, &attr) && dwarf_formudata(&attr, encoding) == 0;
}

static void set_integer(struct args_type *out, uint8_t bytes, bool is_signed)
{
	if (is_signed)
		out->type = bytes > 4 ? SONDE_TRACE_I64 : SONDE_TRACE_I32;
	else
		out->type = bytes > 4 ? SONDE_TRACE_U64 : SONDE_TRACE_U32;
	out->is_signed = is_signed;
}

static bool set_bool(struct args_type *out)
{
	static const struct tf_label names[] = { { 0, "false" }, { 1, "true" } };

	out->labels = malloc(sizeof(names));
	if (!out->labels)
		return false;
	memcpy(out->labels, names, sizeof(names));
	out->nlabels = 2;
	out->type = SONDE_TRACE_I64;
	out->is_signed = false;
	return true;
}

static bool base_type(Dwarf_Die *die, struct args_type *out)
{
	Dwarf_Word encoding;

	if (!encoding_of(die, &encoding))
		return true;
	switch (encoding) {
	case DW_ATE_boolean:
		return set_bool(out);
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		set_integer(out, out->bytes, true);
		break;
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
		set_integer(out, out->bytes, false);
		break;
	case DW_ATE_address:
		out->type = SONDE_TRACE_PTR;
		break;
	case DW_ATE_float:
		out->floating = out->bytes >= 4;
		out->type = out->floating ? SONDE_TRACE_F64 : 0;
		break;
	}
	return true;
}

static bool constant(Dwarf_Die *die, int64_t *value)
{
	Dwarf_Attribute attr;
	Dwarf_Sword sword;
	Dwarf_Word word;

	if (!dwarf_attr(die, DW_AT_const_value, &attr))
		return false;
	if (dwarf_formsdata(&attr, &sword) == 0)
		*value = sword;
	else if (dwarf_formudata(&attr, &word) == 0)
		*value = (int64_t)word;
	else
		return false;
	return true;
}

/* Negative names say that the type is signed. */
static bool enumeration(Dwarf_Die *die, struct args_type *out)
{
	struct tf_label *v = calloc(MOST_LABELS, sizeof(*v));
	Dwarf_Die child;
	size_t n = 0;

	if (!v)
		return false;
	set_integer(out, out->bytes, true);
	if (dwarf_child(die, &child) == 0) {
		do {
			if (dwarf_tag(&child) != DW_TAG_enumerator || !dwarf_diename(&child) || n > MOST_LABELS)
				continue;
			if (n < MOST_LABELS && !constant(&child, &v[n].value))
				continue;
			if (n < MOST_LABELS)
				v[n].name = dwarf_diename(&child);
			n++;
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	if (!n || n > MOST_LABELS) {
		free(v);
		return true;
	}
	out->labels = v;
	out->nlabels = n;
	out->type = SONDE_TRACE_I64;
	return true;
}

static bool is_string(Dwarf_Die *pointer)
{
	Dwarf_Attribute attr;
	Dwarf_Die die, real;

	if (!dwarf_attr_integrate(pointer, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &die) ||
	    dwarf_peel_type(&die, &real) != 0)
		return false;
	return dwarf_tag(&real) == DW_TAG_base_type && dwarf_diename(&real) && strcmp(dwarf_diename(&real), "char") == 0;
}

bool args_type(Dwarf_Die *of, struct args_type *out)
{
	Dwarf_Attribute attr;
	Dwarf_Die die, real;
	int size;

	memset(out, 0, sizeof(*out));
	if (!dwarf_attr_integrate(of, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &die) || dwarf_peel_type(&die, &real) != 0)
		return true;
	size = dwarf_bytesize(&real);
	out->bytes = (uint8_t)(size < 0 ? 8 : size);
	switch (dwarf_tag(&real)) {
	case DW_TAG_pointer_type:
		out->type = is_string(&real) ? SONDE_TRACE_STR : SONDE_TRACE_PTR;
		return true;
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		out->type = SONDE_TRACE_PTR;
		return true;
	}
	if (size != 1 && size != 2 && size != 4 && size != 8)
		return true;
	if (dwarf_tag(&real) == DW_TAG_base_type)
		return base_type(&real, out);
	return dwarf_tag(&real) != DW_TAG_enumeration_type || enumeration(&real, out);
}
