// SPDX-License-Identifier: GPL-3.0-or-later
/* The data of a program or library, as its debug information, its symbols and its sections say. */
#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/file-private.h"
#include "base/array.h"
#include "base/search.h"

/* ---- lists ---- */

static bool add(struct nm_data *d, const struct nm_datum *v)
{
	if (!array_room(d->v, d->room, d->n + 1))
		return false;
	d->v[d->n++] = *v;
	return true;
}

/* Of several at an address, the best comes last: the larger, then one that other files see, then that of the lower name. */
static int by_address(const void *a, const void *b)
{
	const struct nm_datum *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->is_local != y->is_local)
		return x->is_local ? -1 : 1;
	return x->name && y->name ? -strcmp(x->name, y->name) : 0;
}

static void sort(struct nm_data *d)
{
	uint64_t reach = 0;

	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_address);
	for (size_t i = 0; i < d->n; i++) {
		reach = d->v[i].end > reach ? d->v[i].end : reach;
		d->v[i].reach = reach;
	}
}

struct nm_datum *nm_data_at(struct nm_data *d, uint64_t addr)
{
	size_t i = search_first(k, d->n, d->v[k].begin > addr);

	for (; i && d->v[i - 1].reach > addr; i--)
		if (addr < d->v[i - 1].end)
			return &d->v[i - 1];
	return NULL;
}

/* ---- symbols and sections ---- */

static bool read_symbols(struct nm_file *f)
{
	int n = dwfl_module_getsymtab(f->module);

	for (int i = 1; i < n; i++) {
		GElf_Addr addr;
		GElf_Sym sym;
		const char *name = dwfl_module_getsym_info(f->module, i, &sym, &addr, NULL, NULL, NULL);
		struct nm_datum d = { .name = name, .is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL };
		unsigned int type = GELF_ST_TYPE(sym.st_info);

		if (!name || !*name || sym.st_shndx == SHN_UNDEF || sym.st_shndx == SHN_ABS || !sym.st_size)
			continue;
		if (type != STT_OBJECT && type != STT_COMMON && type != STT_TLS)
			continue;
		d.tls = type == STT_TLS;
		d.begin = d.tls ? sym.st_value : addr - f->bias;
		if (__builtin_add_overflow(d.begin, sym.st_size, &d.end))
			continue;
		if (!add(d.tls ? &f->tls_symbols : &f->symbols, &d))
			return false;
	}
	return true;
}

static bool read_sections(struct nm_file *f, Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names) != 0)
		return true;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr h;
		struct nm_datum d = { .is_local = true };

		if (!gelf_getshdr(scn, &h) || !(h.sh_flags & SHF_ALLOC) || (h.sh_flags & SHF_TLS))
			continue;
		d.name = elf_strptr(elf, names, h.sh_name);
		d.begin = h.sh_addr;
		if (d.name && *d.name && !__builtin_add_overflow(h.sh_addr, h.sh_size, &d.end) && !add(&f->sections, &d))
			return false;
	}
	return true;
}

/* ---- debug information ---- */

bool nm_file_place(struct nm_file *f, Dwarf_Die *die, uint64_t *addr, bool *tls)
{
	Dwarf_Attribute attr;
	Dwarf_Op *op;
	size_t n;
	Dwarf_Addr bias = 0;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &op, &n) != 0 || !n)
		return false;
	*tls = n == 2 && (op[1].atom == DW_OP_GNU_push_tls_address || op[1].atom == DW_OP_form_tls_address);
	if (n != 1 && !*tls)
		return false;
	switch (op[0].atom) {
	case DW_OP_addrx:
	case DW_OP_GNU_addr_index:
	case DW_OP_constx: {
		Dwarf_Attribute operand;

		if (dwarf_getlocation_attr(&attr, op, &operand) != 0 || dwarf_formaddr(&operand, addr) != 0)
			return false;
		break;
	}
	case DW_OP_addr:
	case DW_OP_const4u:
	case DW_OP_const8u:
	case DW_OP_const4s:
	case DW_OP_const8s:
	case DW_OP_constu:
		*addr = op[0].number;
		break;
	default:
		return false;
	}
	if (*tls)
		return true;
	if (op[0].atom != DW_OP_addr && op[0].atom != DW_OP_addrx && op[0].atom != DW_OP_GNU_addr_index)
		return false;
	/* 0: what the linker has left out */
	if (!*addr || !dwfl_module_getdwarf(f->module, &bias))
		return false;
	*addr += bias - f->bias;
	return true;
}

/* "a::" and "b" and "::"; NULL: no memory. */
static const char *add_text(struct nm_file *f, const char *space, const char *name, const char *end)
{
	char *text;

	if (!array_room(f->text, f->room_texts, f->ntexts + 1) ||
	    asprintf(&text, "%s%s%s", space ? space : "", name, end) < 0)
		return NULL;
	return f->text[f->ntexts++] = text;
}

/*
 * LLVM leaves out what a function is called of which nothing but static variables is left, as it was inlined: their symbols, "f.counter", say it.
 * False: no memory.
 */
static bool note_function(struct nm_file *f, struct nm_datum *d)
{
	const struct nm_datum *symbol = nm_data_at(d->tls ? &f->tls_symbols : &f->symbols, d->begin);
	const char *name = dwarf_diename(&d->die), *dot = symbol && name ? strchr(symbol->name, '.') : NULL;
	char *function;
	size_t len;

	if (!dot || dot == symbol->name || symbol->begin != d->begin)
		return true;
	len = strlen(name);
	if (strncmp(dot + 1, name, len) != 0 || (dot[1 + len] && dot[1 + len] != '.'))
		return true;
	function = strndup(symbol->name, (size_t)(dot - symbol->name));
	if (!function)
		return false;
	d->above = add_text(f, NULL, function, "");
	free(function);
	return d->above;
}

static bool add_variable(struct nm_file *f, Dwarf_Die *die, struct nm_datum d)
{
	uint64_t size = 0;
	Dwarf_Die type;

	if (!dwarf_diename(die) && !dwarf_hasattr_integrate(die, DW_AT_linkage_name))
		return true;
	if (!nm_file_place(f, die, &d.begin, &d.tls))
		return true;
	d.die = *die;
	d.is_local = !dwarf_hasattr_integrate(die, DW_AT_external);
	if (d.in == IN_FUNCTION && !d.above && !note_function(f, &d))
		return false;
	if (nm_type_of(die, &type))
		size = nm_type_size(&type);
	/* without a size, the symbol knows it */
	if (!size) {
		struct nm_datum *symbol = nm_data_at(d.tls ? &f->tls_symbols : &f->symbols, d.begin);

		size = symbol ? symbol->end - d.begin : 0;
	}
	if (!size || __builtin_add_overflow(d.begin, size, &d.end))
		return true;
	return add(d.tls ? &f->tls_variables : &f->variables, &d);
}

/* What is in it is called so. */
static bool enter_space(struct nm_file *f, Dwarf_Die *die, struct nm_datum *d)
{
	const char *name = dwarf_diename(die);

	d->space = add_text(f, d->space, name ? name : "(anonymous namespace)", "::");
	return d->space;
}

static bool enter_function(struct nm_file *f, Dwarf_Die *die, struct nm_datum *d)
{
	char *name = nm_symbol_name(f->nm, die);

	d->in = IN_FUNCTION;
	d->above = NULL;
	if (!name || !array_room(f->text, f->room_texts, f->ntexts + 1)) {
		free(name);
		return false;
	}
	f->text[f->ntexts++] = name;
	d->above = *name ? name : NULL;
	return true;
}

/* ---- common blocks ---- */

static bool note_common(struct nm_file *f, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *symbol = dwarf_formstring(dwarf_attr(die, DW_AT_linkage_name, &attr));

	for (size_t i = 0; symbol && i < f->ncommons; i++)
		if (strcmp(f->commons[i].symbol, symbol) == 0)
			return true;
	if (!symbol)
		return true;
	if (!array_room(f->commons, f->room_commons, f->ncommons + 1))
		return false;
	f->commons[f->ncommons++] = (struct nm_common){ symbol, *die };
	return true;
}

struct common_place {
	struct nm_file *f;
	struct nm_datum like;
};

static bool add_member(void *arg, Dwarf_Die *variable, uint64_t offset, uint64_t size)
{
	const struct common_place *place = arg;
	struct nm_datum d = place->like;

	d.die = *variable;
	d.begin += offset;
	d.end = d.begin + size;
	return add(&place->f->variables, &d);
}

static bool has_variables(const struct nm_file *f, const struct nm_datum *symbol)
{
	for (size_t i = 0; i < f->variables.n; i++)
		if (f->variables.v[i].begin >= symbol->begin && f->variables.v[i].begin < symbol->end)
			return true;
	return false;
}

/* Those of which no function says where their variables are: all that use them were inlined. */
static bool add_commons(struct nm_file *f)
{
	for (size_t i = 0; i < f->ncommons; i++) {
		struct nm_common *c = &f->commons[i];

		for (size_t k = 0; k < f->symbols.n; k++) {
			const struct nm_datum *symbol = &f->symbols.v[k];
			struct common_place place = {
				.f = f, .like = { .begin = symbol->begin, .in = IN_COMMON, .above = dwarf_diename(&c->die) },
			};

			if (strcmp(symbol->name, c->symbol) == 0 && !has_variables(f, symbol) &&
			    !nm_common_each(&c->die, symbol->end - symbol->begin, add_member, &place))
				return false;
		}
	}
	return true;
}

/* ---- the walk ---- */

/* Declared in a namespace, and defined outside of it: *space is that. */
static bool add_declared(struct nm_file *f, Dwarf_Die *die, const char *space)
{
	if (!space || !dwarf_hasattr(die, DW_AT_declaration))
		return true;
	if (!array_room(f->declared, f->room_declared, f->ndeclared + 1))
		return false;
	f->declared[f->ndeclared++] = (struct nm_declaration){ die->addr, space };
	return true;
}

static const char *space_of(const struct nm_file *f, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die declaration;

	if (!dwarf_attr(die, DW_AT_specification, &attr) || !dwarf_formref_die(&attr, &declaration))
		return NULL;
	/* it is not far */
	for (size_t i = f->ndeclared; i-- > 0;)
		if (f->declared[i].die == declaration.addr)
			return f->declared[i].space;
	return NULL;
}

static bool walk(struct nm_file *f, Dwarf_Die *parent, struct nm_datum above, unsigned int depth)
{
	Dwarf_Die die;

	if (depth > NM_DEPTH || dwarf_child(parent, &die) != 0)
		return true;
	do {
		struct nm_datum d = above;

		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			if (!d.space)
				d.space = space_of(f, &die);
			if (!add_declared(f, &die, above.space) || !add_variable(f, &die, d))
				return false;
			continue;
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			if (!enter_function(f, &die, &d))
				return false;
			break;
		case DW_TAG_common_block:
			d.in = IN_COMMON;
			d.above = dwarf_diename(&die);
			if (!note_common(f, &die))
				return false;
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
			if (!enter_space(f, &die, &d))
				return false;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			break;
		default:
			continue;
		}
		if (!walk(f, &die, d, depth + 1))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

static bool read_debug(struct nm_file *f)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	Dwarf_Addr bias;
	uint8_t type;

	f->dwarf = dwfl_module_getdwarf(f->module, &bias);
	while (f->dwarf && dwarf_get_units(f->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		if (type == DW_UT_skeleton && split.addr)
			die = split;
		if (!walk(f, &die, (struct nm_datum){ 0 }, 0))
			return false;
	}
	return add_commons(f);
}

bool nm_file_read(struct nm_file *f)
{
	Elf *elf;

	if (f->is_read || f->failed)
		return true;
	f->is_read = true;
	elf = dwfl_module_getelf(f->module, &f->bias);
	if (elf && !read_sections(f, elf))
		return false;
	if (!read_symbols(f))
		return false;
	sort(&f->sections);
	sort(&f->symbols);
	sort(&f->tls_symbols);
	if (!read_debug(f))
		return false;
	sort(&f->variables);
	sort(&f->tls_variables);
	return true;
}
