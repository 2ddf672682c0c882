// SPDX-License-Identifier: GPL-3.0-or-later
/* Variables that have no address of their own, as debug information declares them: those of functions, and thread-local ones. */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"

#define LOOKED_AT 65536 /* bytes of a variable in which its fields are looked for: its first elements have all */

struct visit {
	bool (*take)(void *arg, const struct nm_declared *d);
	void *arg;
	struct nm_file *file;
	uint64_t bias; /* of addresses in memory over the debug information's */
};

static bool is_register(uint8_t atom)
{
	return atom >= DW_OP_breg0 && atom <= DW_OP_breg31;
}

/* Is it an address, by itself or of a piece? */
static bool is_memory(const Dwarf_Op *op, size_t n)
{
	if (!n || op[n - 1].atom == DW_OP_stack_value)
		return false;
	for (size_t i = 0; i < n; i++)
		if (op[i].atom == DW_OP_fbreg || op[i].atom == DW_OP_call_frame_cfa || op[i].atom == DW_OP_bregx || is_register(op[i].atom) ||
		    op[i].atom == DW_OP_addr || op[i].atom == DW_OP_addrx || op[i].atom == DW_OP_GNU_addr_index)
			return true;
	return false;
}

static bool is_tls(const Dwarf_Op *op, size_t n)
{
	return n && (op[n - 1].atom == DW_OP_GNU_push_tls_address || op[n - 1].atom == DW_OP_form_tls_address);
}

static void look_at_places(struct nm_declared *d)
{
	Dwarf_Attribute attr;
	Dwarf_Addr base, begin, end;
	Dwarf_Op *op;
	size_t n;
	ptrdiff_t at = 0;

	if (!dwarf_attr_integrate(&d->die, DW_AT_location, &attr))
		return;
	while ((at = dwarf_getlocations(&attr, at, &base, &begin, &end, &op, &n)) > 0) {
		d->tls |= is_tls(op, n);
		d->in_memory |= d->tls || is_memory(op, n);
	}
}

static bool take(const struct visit *v, Dwarf_Die *die, const struct nm_declared *in)
{
	struct nm_declared d = { .die = *die, .function = in->function, .bias = v->bias, .name = dwarf_diename(die) };
	bool tls;

	if (!d.name)
		return true;
	look_at_places(&d);
	if (d.function.addr && d.in_memory && nm_file_place(v->file, die, &d.address, &tls))
		d.address = tls ? 0 : d.address + nm_file_load(v->file);
	return (!d.function.addr && !d.tls) || v->take(v->arg, &d);
}

/* False: @take has returned that. */
static bool walk(const struct visit *v, Dwarf_Die *parent, const struct nm_declared *in, unsigned int depth)
{
	Dwarf_Die die;

	if (depth > NM_DEPTH || dwarf_child(parent, &die) != 0)
		return true;
	do {
		struct nm_declared inner = *in;

		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
		case DW_TAG_formal_parameter:
			if (!take(v, &die, in))
				return false;
			continue;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			inner.function = die;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			break;
		default:
			continue;
		}
		if (!walk(v, &die, &inner, depth + 1))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

bool nm_each_declared(struct nm *nm, bool (*take)(void *arg, const struct nm_declared *d), void *arg)
{
	const struct nm_declared none = { 0 };

	for (size_t i = 0; i < nm->nfiles; i++) {
		Dwfl_Module *module = nm_file_module(nm->file[i]);
		Dwarf_Addr to_dwarf = 0;
		Dwarf *dwarf = module ? dwfl_module_getdwarf(module, &to_dwarf) : NULL;
		struct visit v = { take, arg, nm->file[i], nm_file_bias(nm->file[i]) };
		Dwarf_CU *unit = NULL;
		Dwarf_Die die, split;
		uint8_t type;

		/* from debug information to the file, and from there to where it was loaded */
		v.bias = to_dwarf - v.bias + nm_file_load(nm->file[i]);
		while (dwarf && dwarf_get_units(dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
			if (type == DW_UT_skeleton && split.addr)
				die = split;
			if (!walk(&v, &die, &none, 0))
				return false;
		}
	}
	return true;
}

char *nm_declared_scope(struct nm *nm, const struct nm_declared *d)
{
	Dwarf_Die function = d->function;
	char *name = function.addr ? nm_symbol_name(nm, &function) : strdup("");
	struct nm_place place;

	/* the variable's symbol may say what the function's debug information does not */
	if (!name || *name || !d->address)
		return name;
	if (!nm_find_static(nm, d->address, 1, &place) || !place.name->variable->scope)
		return name;
	free(name);
	return strdup(place.name->variable->scope);
}

bool nm_declared_is_at(const struct nm_declared *d, uint64_t lo, uint64_t hi)
{
	Dwarf_Die function = d->function;
	uint64_t base, begin, end;
	ptrdiff_t at = 0;

	while (function.addr && (at = dwarf_ranges(&function, at, &base, &begin, &end)) > 0)
		if (begin + d->bias < hi && end + d->bias > lo)
			return true;
	return false;
}

bool nm_declared_paths(struct nm *nm, const struct nm_declared *d, bool (*take)(void *arg, const char *path), void *arg)
{
	const struct nm_variable v = { .kind = NM_STACK, .how = NM_BY_DEBUG, .name = d->name };
	Dwarf_Die die = d->die, type;
	struct nm_entry *e = nm_entry_new(nm, &v, &die, false);
	uint64_t size = nm_type_of(&die, &type) ? nm_type_size(&type) : 0;
	struct nm_extent same;

	for (uint64_t at = 0; e && at < size && at < LOOKED_AT; at++) {
		const struct nm_field *f = nm_field_at(nm, e, at, 1, &same);

		if (!f)
			return false;
		if (!take(arg, f->name.path))
			break;
	}
	return e;
}
