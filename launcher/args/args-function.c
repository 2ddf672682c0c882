// SPDX-License-Identifier: GPL-3.0-or-later
/* What is recorded of one function. */
#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/args/args-private.h"
#include "trampolines/flow/flow.h"

/* In place of a value that cannot be had; a name of the only value there is. */
static bool set_note(struct tf_field *field, struct tf_shape *shape, struct rt_probe_value *value, const char *note)
{
	struct tf_label *label = malloc(sizeof(*label));

	if (!label)
		return false;
	*label = (struct tf_label){ 0, note };
	field->type = SONDE_TRACE_I64;
	shape->labels = label;
	shape->nlabels = 1;
	*value = (struct rt_probe_value){ .from = RT_FROM_CONST };
	return true;
}

/* The value of a scalar type, in the place itself. */
static void set_value(struct tf_field *field, struct tf_shape *shape, struct rt_probe_value *value, const struct args_type *type)
{
	field->type = type->type;
	shape->labels = type->labels;
	shape->nlabels = type->nlabels;
	if (type->type == SONDE_TRACE_STR)
		value->kind = RT_VALUE_STRING;
	else if (type->bytes < 8 && value->from != RT_FROM_CONST)
		shape->width = type->bytes;
}

/* It is a reference in the machine code: the value of a scalar, or else the address. */
static void set_behind(struct tf_field *field, struct tf_shape *shape, struct rt_probe_value *value, const struct args_type *type)
{
	if (!type->type || type->type == SONDE_TRACE_STR || type->type == SONDE_TRACE_PTR) {
		field->type = SONDE_TRACE_PTR;
		return;
	}
	field->type = type->floating ? SONDE_TRACE_F64 : type->is_signed || type->nlabels ? SONDE_TRACE_I64 : SONDE_TRACE_U64;
	shape->labels = type->labels;
	shape->nlabels = type->nlabels;
	shape->width = type->floating && type->bytes < 8 ? type->bytes : 0;
	value->bytes = type->bytes;
	value->kind = type->floating ? RT_VALUE_INDIRECT_FLOAT : type->is_signed ? RT_VALUE_INDIRECT : RT_VALUE_INDIRECT_UNSIGNED;
}

/* Clones of the compiler's that need not take what the source says. */
static bool is_clone(const char *symbol)
{
	return strstr(symbol, ".isra.") || strstr(symbol, ".constprop.") || strstr(symbol, ".part.");
}

static bool has_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	bool flag = false;

	return dwarf_attr_integrate(die, name, &attr) && dwarf_formflag(&attr, &flag) == 0 && flag;
}

static bool is_artificial(Dwarf_Die *die)
{
	return has_flag(die, DW_AT_artificial);
}

/* Others may call it: it takes what the source says. */
static bool is_external(Dwarf_Die *die)
{
	return has_flag(die, DW_AT_external);
}

static enum args_place find_place(Dwarf_Die *function, Dwarf_Die *parameter, uint64_t addr, const char *symbol,
				  struct args_abi *abi, struct rt_probe_value *value)
{
	struct rt_probe_value passed = { 0 };
	enum args_place place = args_place(function, parameter, addr, value);
	bool indirect = place == ARGS_INDIRECT || place == ARGS_INDIRECT_BY_ABI;
	bool known = args_abi_next(abi, parameter, indirect, &passed);

	if (place == ARGS_LATER) {
		if (!known || passed.from != RT_FROM_FRAME || !is_external(function) || is_clone(symbol))
			return ARGS_NOWHERE;
		*value = passed;
		return ARGS_AT;
	}
	if (place != ARGS_BY_ABI && place != ARGS_INDIRECT_BY_ABI)
		return place;
	if (!known || is_clone(symbol))
		return ARGS_NOWHERE;
	*value = passed;
	return indirect ? ARGS_INDIRECT : ARGS_AT;
}

static bool set_argument(struct tf_field *field, struct tf_shape *shape, struct rt_probe_value *value, enum args_place place, Dwarf_Die *parameter)
{
	struct args_type type;

	if (!args_type(parameter, &type))
		return false;
	if (place == ARGS_INDIRECT) {
		set_behind(field, shape, value, &type);
	} else if (!type.type) {
		return set_note(field, shape, value, "{...}");
	} else if (place == ARGS_NOWHERE || (value->from == RT_FROM_CONST && type.type == SONDE_TRACE_F64)) {
		free(type.labels);
		return set_note(field, shape, value, "<optimized out>");
	} else {
		set_value(field, shape, value, &type);
	}
	if (shape->labels != type.labels)
		free(type.labels);
	return true;
}

static bool add_argument(Dwarf_Die *parameter, enum args_place place, const struct rt_probe_value *value, const char *name,
			 struct args_function *f)
{
	struct tramp_values *values = &f->values.entered;
	struct tf_field *field = &f->entered[values->n];

	if (values->n == RT_VALUES)
		return true;
	values->v[values->n] = *value;
	field->name = name;
	values->n++;
	return set_argument(field, &f->entered_shape[field - f->entered], &values->v[field - f->entered], place, parameter);
}

static void add_name(const char *name, char *has, size_t size)
{
	size_t n = strlen(has);

	snprintf(has + n, size - n, "%s%s", n ? "," : "", name);
}

/* What a structure's address is returned for, or of a kind that is not in one register, is not recorded. */
static bool add_returned(Dwarf_Die *function, const char *symbol, struct args_function *f)
{
	struct tramp_values *values = &f->values.returned;
	enum args_class word[2], class;
	struct args_type type;
	uint32_t words, align;

	class = args_class(function, word, &words, &align);
	if (!args_type(function, &type))
		return false;
	if ((class != ARGS_INTEGER && class != ARGS_SSE) || words > 1 || !type.type || strstr(symbol, ".isra.")) {
		free(type.labels);
		return true;
	}
	values->v[0].from = class == ARGS_SSE ? RT_FROM_VECTOR : RT_FROM_REG + TRAMP_RAX;
	values->n = 1;
	f->returned[0].name = "return";
	set_value(&f->returned[0], &f->returned_shape[0], &values->v[0], &type);
	return true;
}

bool args_function(Dwarf_Die *die, uint64_t addr, const char *symbol, const struct args_wanted *w, struct args_function *f,
		   char *has, size_t size)
{
	struct args_abi abi;
	Dwarf_Die child;

	args_abi_begin(&abi, die);
	if (dwarf_child(die, &child) == 0) {
		do {
			const char *name = dwarf_diename(&child);
			struct rt_probe_value value = { 0 };
			enum args_place place;

			if (dwarf_tag(&child) != DW_TAG_formal_parameter)
				continue;
			place = find_place(die, &child, addr, symbol, &abi, &value);
			if (!name || (is_artificial(&child) && strcmp(name, "this") != 0))
				continue;
			add_name(name, has, size);
			if (args_wants(w, name) && !add_argument(&child, place, &value, name, f))
				return false;
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	return !args_wants(w, "return") || add_returned(die, symbol, f);
}
