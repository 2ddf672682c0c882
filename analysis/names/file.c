// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The data of a program or library: variables of its debug information, else symbols, else sections.  A file is read when an
 * address in it is asked for first.
 */
#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/search.h"

/* Ascending by address; reach: the highest end up to here. */
struct datum {
	uint64_t begin, end, reach; /* in the file; of thread-local storage: in its block */
	const char *name;	    /* of symbols and sections */
	Dwarf_Die die;		    /* of debug information */
	const char *space;	    /* "ns::": namespaces and modules around it; NULL: none */
	const char *above;	    /* function, with these, or common block around it; NULL: none */
	bool tls, is_local;
	enum { IN_NOTHING, IN_FUNCTION, IN_COMMON } in;
	struct nm_entry *entry;	    /* NULL: not yet asked for */
};

struct data {
	struct datum *v;
	size_t n, room;
};

/* A variable that is declared in a namespace. */
struct declared {
	const void *die;
	const char *space;
};

/* A common block, as some function declares it. */
struct common {
	const char *symbol;
	Dwarf_Die die;
};

struct nm_file {
	struct nm *nm;
	char *path, *file;
	uint64_t load, begin, end; /* in memory */
	uint64_t tls_size, tls_offset; /* of the block; from its begin to the thread pointer */
	bool program, is_read, failed;
	Dwfl *dwfl;
	Dwfl_Module *module;
	Dwarf *dwarf;
	GElf_Addr bias;	   /* of addresses by libdwfl: what was added to those in the file */
	struct declared *declared;
	size_t ndeclared, room_declared;
	struct common *commons; /* each symbol once */
	size_t ncommons, room_commons;
	char **text;	   /* spaces, functions in them */
	size_t ntexts, room_texts;
	struct nm_scopes scopes;
	Dwarf_Die unit;	   /* that code was looked for in last; unit.addr NULL: none */
	struct data variables, symbols, sections, tls_variables, tls_symbols;
};

/* ---- where it is ---- */

static bool open_module(struct nm_file *f)
{
	f->dwfl = dwfl_begin(f->nm->o.callbacks);
	if (!f->dwfl)
		return false;
	dwfl_report_begin(f->dwfl);
	f->module = dwfl_report_offline(f->dwfl, "", f->file, -1);
	dwfl_report_end(f->dwfl, NULL, NULL);
	return f->module != NULL;
}

/* Where glibc and musl put the program's block: directly before the thread pointer (variant II of the TLS ABI). */
static void note_tls(struct nm_file *f, const GElf_Phdr *p)
{
	uint64_t align = p->p_align ? p->p_align : 1, first;

	if ((align & (align - 1)) || p->p_memsz > UINT32_MAX || align > UINT32_MAX)
		return;
	first = -p->p_vaddr & (align - 1);
	f->tls_size = p->p_memsz;
	f->tls_offset = ((p->p_memsz - (first < p->p_memsz ? first : p->p_memsz) + align - 1) & -align) + first;
}

static void note_segments(struct nm_file *f, Elf *elf)
{
	uint64_t lo = UINT64_MAX, hi = 0;
	GElf_Phdr p;
	size_t n;

	if (elf_getphdrnum(elf, &n) != 0)
		return;
	for (size_t i = 0; i < n && gelf_getphdr(elf, (int)i, &p); i++) {
		if (p.p_type == PT_TLS)
			note_tls(f, &p);
		if (p.p_type != PT_LOAD || !p.p_memsz || p.p_vaddr > UINT64_MAX - p.p_memsz)
			continue;
		lo = p.p_vaddr < lo ? p.p_vaddr : lo;
		hi = p.p_vaddr + p.p_memsz > hi ? p.p_vaddr + p.p_memsz : hi;
	}
	if (lo < hi) {
		f->begin = f->load + lo;
		f->end = f->load + hi;
	}
	if (f->begin > f->end)
		f->begin = f->end = f->load;
}

struct nm_file *nm_file_new(struct nm *nm, const struct nm_object *o)
{
	struct nm_file *f = calloc(1, sizeof(*f));
	Elf *elf;

	if (!f)
		return NULL;
	*f = (struct nm_file){ .nm = nm, .load = o->load, .begin = o->load, .end = o->load, .program = o->program };
	f->path = strdup(o->path);
	f->file = o->file ? strdup(o->file) : NULL;
	if (!f->path || (o->file && !f->file)) {
		nm_file_free(f);
		return NULL;
	}
	elf = f->file && open_module(f) ? dwfl_module_getelf(f->module, &f->bias) : NULL;
	if (elf)
		note_segments(f, elf);
	f->failed = !elf;
	return f;
}

static void free_data(struct data *d)
{
	free(d->v);
}

void nm_file_free(struct nm_file *f)
{
	if (!f)
		return;
	free_data(&f->variables);
	free_data(&f->symbols);
	free_data(&f->sections);
	free_data(&f->tls_variables);
	free_data(&f->tls_symbols);
	for (size_t i = 0; i < f->ntexts; i++)
		free(f->text[i]);
	free(f->text);
	free(f->declared);
	free(f->commons);
	nm_scopes_free(&f->scopes);
	dwfl_end(f->dwfl);
	free(f->path);
	free(f->file);
	free(f);
}

struct nm_scopes *nm_file_scopes(struct nm_file *f)
{
	return &f->scopes;
}

bool nm_file_is(const struct nm_file *f, const struct nm_object *o)
{
	return f->load == o->load && strcmp(f->path, o->path) == 0;
}

const char *nm_file_path(const struct nm_file *f)
{
	return f->path;
}

uint64_t nm_file_address(const struct nm_file *f, uint64_t addr)
{
	return addr - f->load;
}

Dwfl_Module *nm_file_module(const struct nm_file *f)
{
	return f->failed ? NULL : f->module;
}

uint64_t nm_file_bias(const struct nm_file *f)
{
	return f->bias;
}

uint64_t nm_file_load(const struct nm_file *f)
{
	return f->load;
}

uint64_t nm_file_begin(const struct nm_file *f)
{
	return f->begin;
}

uint64_t nm_file_end(const struct nm_file *f)
{
	return f->end;
}

const unsigned char *nm_file_bytes(struct nm_file *f, uint64_t addr, size_t *n)
{
	Elf *elf = f->failed ? NULL : dwfl_module_getelf(f->module, &f->bias);
	uint64_t in_file = addr - f->load;
	size_t bytes, segments;
	const char *raw = elf ? elf_rawfile(elf, &bytes) : NULL;
	GElf_Phdr p;

	if (!raw || elf_getphdrnum(elf, &segments) != 0)
		return NULL;
	for (size_t i = 0; i < segments && gelf_getphdr(elf, (int)i, &p); i++) {
		uint64_t at = in_file - p.p_vaddr;

		if (p.p_type != PT_LOAD || in_file < p.p_vaddr || at >= p.p_filesz || p.p_offset > bytes || at >= bytes - p.p_offset)
			continue;
		*n = p.p_filesz - at < bytes - p.p_offset - at ? p.p_filesz - at : bytes - p.p_offset - at;
		return (const unsigned char *)raw + p.p_offset + at;
	}
	return NULL;
}

/* ---- lists ---- */

static bool add(struct data *d, const struct datum *v)
{
	if (!array_room(d->v, d->room, d->n + 1))
		return false;
	d->v[d->n++] = *v;
	return true;
}

/* Of several at an address, the best comes last: the larger, then one that other files see, then that of the lower name. */
static int by_address(const void *a, const void *b)
{
	const struct datum *x = a, *y = b;

	if (x->begin != y->begin)
		return x->begin < y->begin ? -1 : 1;
	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	if (x->is_local != y->is_local)
		return x->is_local ? -1 : 1;
	return x->name && y->name ? -strcmp(x->name, y->name) : 0;
}

static void sort(struct data *d)
{
	uint64_t reach = 0;

	if (d->n)
		qsort(d->v, d->n, sizeof(*d->v), by_address);
	for (size_t i = 0; i < d->n; i++) {
		reach = d->v[i].end > reach ? d->v[i].end : reach;
		d->v[i].reach = reach;
	}
}

static struct datum *at(struct data *d, uint64_t addr)
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
		struct datum d = { .name = name, .is_local = GELF_ST_BIND(sym.st_info) == STB_LOCAL };
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
		struct datum d = { .is_local = true };

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
static bool note_function(struct nm_file *f, struct datum *d)
{
	const struct datum *symbol = at(d->tls ? &f->tls_symbols : &f->symbols, d->begin);
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

static bool add_variable(struct nm_file *f, Dwarf_Die *die, struct datum d)
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
		struct datum *symbol = at(d.tls ? &f->tls_symbols : &f->symbols, d.begin);

		size = symbol ? symbol->end - d.begin : 0;
	}
	if (!size || __builtin_add_overflow(d.begin, size, &d.end))
		return true;
	return add(d.tls ? &f->tls_variables : &f->variables, &d);
}

/* What is in it is called so. */
static bool enter_space(struct nm_file *f, Dwarf_Die *die, struct datum *d)
{
	const char *name = dwarf_diename(die);

	d->space = add_text(f, d->space, name ? name : "(anonymous namespace)", "::");
	return d->space;
}

static bool enter_function(struct nm_file *f, Dwarf_Die *die, struct datum *d)
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
	f->commons[f->ncommons++] = (struct common){ symbol, *die };
	return true;
}

struct common_place {
	struct nm_file *f;
	struct datum like;
};

static bool add_member(void *arg, Dwarf_Die *variable, uint64_t offset, uint64_t size)
{
	const struct common_place *place = arg;
	struct datum d = place->like;

	d.die = *variable;
	d.begin += offset;
	d.end = d.begin + size;
	return add(&place->f->variables, &d);
}

static bool has_variables(const struct nm_file *f, const struct datum *symbol)
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
		struct common *c = &f->commons[i];

		for (size_t k = 0; k < f->symbols.n; k++) {
			const struct datum *symbol = &f->symbols.v[k];
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
	f->declared[f->ndeclared++] = (struct declared){ die->addr, space };
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

static bool walk(struct nm_file *f, Dwarf_Die *parent, struct datum above, unsigned int depth)
{
	Dwarf_Die die;

	if (depth > NM_DEPTH || dwarf_child(parent, &die) != 0)
		return true;
	do {
		struct datum d = above;

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
		if (!walk(f, &die, (struct datum){ 0 }, 0))
			return false;
	}
	return add_commons(f);
}

static bool read_file(struct nm_file *f)
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

/* ---- names ---- */

/* With what it is in, as its language writes it; malloc'ed.  NULL: no memory. */
static char *full_name(struct nm_file *f, struct datum *d, bool *has_scope)
{
	const char *name = d->name ? d->name : dwarf_diename(&d->die);
	char *text = NULL;

	if (d->name && f->nm->o.demangle)
		text = f->nm->o.demangle(d->name);
	else if (!d->name)
		text = nm_symbol_name(f->nm, &d->die);
	*has_scope = d->in != IN_FUNCTION || (text && name && strcmp(text, name) != 0);
	if (text && (!name || strcmp(text, name) != 0))
		return text;
	free(text);
	name = name ? name : "";
	if (d->in == IN_COMMON && asprintf(&text, "/%s/%s%s", d->above ? d->above : "", *name ? " " : "", name) >= 0)
		return text;
	if (d->in == IN_NOTHING && d->space && asprintf(&text, "%s%s", d->space, name) >= 0)
		return text;
	return strdup(name);
}

static struct nm_entry *entry_of(struct nm_file *f, struct datum *d, enum nm_how how)
{
	struct nm_variable v = {
		.kind = d->tls ? NM_TLS : d->is_local ? NM_STATIC : NM_GLOBAL, .how = how, .object = f->path,
	};
	bool has_scope = true;
	char *name;

	if (d->entry)
		return d->entry;
	name = how == NM_BY_SECTION ? strdup(d->name) : full_name(f, d, &has_scope);
	if (!name)
		return NULL;
	v.name = name;
	v.scope = has_scope ? NULL : d->above;
	if (how == NM_BY_DEBUG) {
		v.file = dwarf_decl_file(&d->die);
		if (dwarf_decl_line(&d->die, &v.line) != 0 || !v.file)
			v.line = 0;
	}
	d->entry = nm_entry_new(f->nm, &v, how == NM_BY_DEBUG ? &d->die : NULL, false);
	free(name);
	return d->entry;
}

static struct nm_entry *found(struct nm_file *f, struct datum *d, enum nm_how how, uint64_t bias, uint64_t *begin, uint64_t *size)
{
	*begin = d->begin + bias;
	*size = d->end - d->begin;
	return entry_of(f, d, how);
}

struct nm_entry *nm_file_find(struct nm_file *f, uint64_t addr, uint64_t *begin, uint64_t *size)
{
	uint64_t in_file = addr - f->load;
	struct datum *d;

	if (!read_file(f))
		return NULL;
	if ((d = at(&f->variables, in_file)))
		return found(f, d, NM_BY_DEBUG, f->load, begin, size);
	if ((d = at(&f->symbols, in_file)))
		return found(f, d, NM_BY_SYMBOL, f->load, begin, size);
	if ((d = at(&f->sections, in_file)))
		return found(f, d, NM_BY_SECTION, f->load, begin, size);
	return f->nm->unknown;
}

bool nm_file_variable(struct nm_file *f, uint64_t addr, Dwarf_Die *variable)
{
	struct datum *d = read_file(f) ? at(&f->variables, addr - f->load) : NULL;

	if (!d || d->begin != addr - f->load)
		return false;
	*variable = d->die;
	return true;
}

uint64_t nm_file_tls(const struct nm_file *f, uint64_t fs)
{
	return fs - f->tls_offset;
}

struct nm_entry *nm_file_find_tls(struct nm_file *f, uint64_t addr, uint64_t fs, uint64_t *begin, uint64_t *size)
{
	uint64_t block = fs - f->tls_offset;
	struct datum *d;

	if (!f->tls_size || addr < block || addr - block >= f->tls_size)
		return f->nm->unknown;
	if (!read_file(f))
		return NULL;
	if ((d = at(&f->tls_variables, addr - block)))
		return found(f, d, NM_BY_DEBUG, block, begin, size);
	if ((d = at(&f->tls_symbols, addr - block)))
		return found(f, d, NM_BY_SYMBOL, block, begin, size);
	return f->nm->unknown;
}

Dwarf_Die *nm_file_unit(struct nm_file *f, uint64_t in_file, uint64_t *bias)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die, split;
	Dwarf_Addr to_dwarf;
	uint8_t type;

	if (f->failed || !(f->dwarf = dwfl_module_getdwarf(f->module, &to_dwarf)))
		return NULL;
	*bias = to_dwarf - f->bias;
	if (f->unit.addr && dwarf_haspc(&f->unit, in_file - *bias) == 1)
		return &f->unit;
	/* a table of units by address is not always there */
	while (dwarf_get_units(f->dwarf, unit, &unit, NULL, &type, &die, &split) == 0) {
		if (dwarf_haspc(&die, in_file - *bias) != 1)
			continue;
		f->unit = type == DW_UT_skeleton && split.addr ? split : die;
		return &f->unit;
	}
	return NULL;
}

bool nm_file_is_program(const struct nm_file *f)
{
	return f->program;
}
