/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Prototypes from DWARF. Only what the machine code agrees with counts: a function's definition (not
 * an inlined instance), with an exported symbol of its name. Types are reduced to what the calling
 * convention sees: every pointer is a `void *`.
 */
#include "launcher/common/debugfiles.h"
#include "launcher/common/message.h"
#include "launcher/module/proto.h"

#include <ctype.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwfl.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- exported symbols ---- */

struct exports {
	const char **v; /* sorted; into the ELF file's string table */
	size_t n;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_export(const GElf_Sym *sym)
{
	int bind = GELF_ST_BIND(sym->st_info), type = GELF_ST_TYPE(sym->st_info);

	return sym->st_shndx != SHN_UNDEF && (bind == STB_GLOBAL || bind == STB_WEAK) &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC);
}

static bool add_table(struct exports *e, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && sh->sh_entsize ? data->d_size / sh->sh_entsize : 0;
	const char **v = reallocarray(e->v, e->n + n + 1, sizeof(*v));

	if (!v)
		return false;
	e->v = v;
	for (size_t i = 0; i < n; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym) || !is_export(&sym))
			continue;
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		if (name && *name)
			e->v[e->n++] = name;
	}
	return true;
}

/* .dynsym and .symtab: a program's functions are in the second only. */
static bool read_exports(struct exports *e, Elf *elf, char **soname)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr sh;
		GElf_Dyn dyn;

		if (!gelf_getshdr(scn, &sh))
			continue;
		if ((sh.sh_type == SHT_DYNSYM || sh.sh_type == SHT_SYMTAB) &&
		    !add_table(e, elf, scn, &sh))
			return false;
		Elf_Data *data = sh.sh_type == SHT_DYNAMIC ? elf_getdata(scn, NULL) : NULL;
		for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++) {
			const char *name = dyn.d_tag == DT_SONAME
						   ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val)
						   : NULL;

			if (name && !*soname)
				*soname = strdup(name);
		}
	}
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), compare);
	return true;
}

static bool is_exported(const struct exports *e, const char *name)
{
	return bsearch(&name, e->v, e->n, sizeof(*e->v), compare) != NULL;
}

/* ---- types ---- */

struct type {
	const char *text; /* NULL: by value it cannot be written down */
	enum proto_class class;
};

static struct type integer(uint64_t size, bool is_signed)
{
	switch (size) {
	case 1:
		return is_signed ? (struct type){ "signed char", PROTO_I32 }
				 : (struct type){ "unsigned char", PROTO_U32 };
	case 2:
		return is_signed ? (struct type){ "short", PROTO_I32 }
				 : (struct type){ "unsigned short", PROTO_U32 };
	case 4:
		return is_signed ? (struct type){ "int", PROTO_I32 }
				 : (struct type){ "unsigned int", PROTO_U32 };
	case 8:
		return is_signed ? (struct type){ "long", PROTO_I64 }
				 : (struct type){ "unsigned long", PROTO_U64 };
	case 16:
		return is_signed ? (struct type){ "__int128", PROTO_NONE }
				 : (struct type){ "unsigned __int128", PROTO_NONE };
	default:
		return (struct type){ 0 };
	}
}

static struct type floating(uint64_t size, const char *name)
{
	if (size == 4)
		return (struct type){ "float", PROTO_F64 };
	if (size == 8)
		return (struct type){ "double", PROTO_F64 };
	if (size == 16 && name && strcmp(name, "long double") == 0)
		return (struct type){ "long double", PROTO_F64 };
	return (struct type){ 0 };
}

static struct type base_type(Dwarf_Die *die, uint64_t size)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	if (!dwarf_attr(die, DW_AT_encoding, &attr) || dwarf_formudata(&attr, &encoding) != 0)
		return (struct type){ 0 };
	switch (encoding) {
	case DW_ATE_boolean:
		return size == 1 ? (struct type){ "_Bool", PROTO_U32 } : integer(size, false);
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		return integer(size, true);
	case DW_ATE_unsigned:
	case DW_ATE_unsigned_char:
	case DW_ATE_UTF:
	case DW_ATE_address:
		return integer(size, false);
	case DW_ATE_float:
		return floating(size, dwarf_diename(die));
	default:
		return (struct type){ 0 };
	}
}

static struct type type_of(Dwarf_Die *of)
{
	Dwarf_Attribute attr;
	Dwarf_Die die, real;

	if (!dwarf_attr_integrate(of, DW_AT_type, &attr))
		return (struct type){ "void", PROTO_VOID };
	/* Typedefs and qualifiers; one that leads to nothing is `const void` or the like. */
	if (!dwarf_formref_die(&attr, &die) || dwarf_peel_type(&die, &real) < 0)
		return (struct type){ 0 };
	int size = dwarf_bytesize(&real);
	switch (dwarf_tag(&real)) {
	case DW_TAG_base_type:
		return size > 0 ? base_type(&real, (uint64_t)size) : (struct type){ 0 };
	case DW_TAG_enumeration_type:
		return integer(size > 0 ? (uint64_t)size : 4, true);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return (struct type){ "void *", PROTO_PTR };
	default:
		return (struct type){ 0 };
	}
}

/* ---- functions ---- */

struct search {
	struct proto_list *list;
	struct select *sel;
	const char *path;
	struct exports exports;
	bool no_memory, any_dwarf;
};

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attr) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr))
		return dwarf_formstring(&attr);
	return dwarf_diename(die);
}

static char *identifier(const char *symbol)
{
	char *id = strdup(symbol);

	for (char *p = id; p && *p; p++) {
		if (!isalnum((unsigned char)*p) && *p != '_')
			*p = '_';
	}
	return id;
}

static bool is_keyword(const char *name)
{
	static const char *const keywords[] = {
		"auto", "break", "case", "char", "const", "continue", "default", "do", "double",
		"else", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long",
		"register", "restrict", "return", "short", "signed", "sizeof", "static", "struct",
		"switch", "typedef", "typeof", "asm", "union", "unsigned", "void", "volatile", "while",
		"unix", "linux",
	};

	for (size_t i = 0; i < sizeof(keywords) / sizeof(keywords[0]); i++) {
		if (strcmp(name, keywords[i]) == 0)
			return true;
	}
	return false;
}

/* C++ may have a parameter twice (in a destructor's clone), none may lack a name in our text. */
static char *parameter_name(Dwarf_Die *die, const struct proto *f)
{
	const char *name = dwarf_diename(die);
	char *made = NULL;
	bool usable = name && *name && !is_keyword(name);

	for (const char *p = name; usable && *p; p++)
		usable = isalnum((unsigned char)*p) || *p == '_';
	for (size_t i = 0; usable && i < f->nparams; i++)
		usable = strcmp(f->params[i].name, name) != 0;
	if (usable)
		return strdup(name);
	return asprintf(&made, "a%zu", f->nparams + 1) < 0 ? NULL : made;
}

static bool add_parameter(Dwarf_Die *die, struct proto *f)
{
	struct type type = type_of(die);
	char *name = parameter_name(die, f);
	char *decl = NULL;

	if (!type.text || type.class == PROTO_VOID) {
		f->refused = "it takes a structure, or another type that is not simple, by value";
		free(name);
		return true;
	}
	bool star = type.class == PROTO_PTR;
	if (name && asprintf(&decl, "%s%s%s", type.text, star ? "" : " ", name) < 0)
		decl = NULL;
	return proto_add_param(f, decl, name, type.class);
}

static bool read_children(Dwarf_Die *die, struct proto *f)
{
	Dwarf_Die child;

	if (dwarf_child(die, &child) != 0)
		return true;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_unspecified_parameters)
			f->refused = "it takes variable arguments";
		else if (tag == DW_TAG_formal_parameter && !add_parameter(&child, f))
			return false;
	} while (dwarf_siblingof(&child, &child) == 0);
	return true;
}

static bool add_function(struct search *s, Dwarf_Die *die, const char *symbol)
{
	struct type ret = type_of(die);
	struct proto f = {
		.symbol = strdup(symbol),
		.id = identifier(symbol),
		.ret = strdup(ret.text ? ret.text : "void"),
		.ret_class = ret.class,
	};

	if (!f.symbol || !f.id || !f.ret || !read_children(die, &f)) {
		proto_free(&f);
		return false;
	}
	if (!ret.text)
		f.refused = "it returns a structure, or another type that is not simple";
	return proto_add(s->list, &f);
}

/* A definition: it has code of its own, in one piece or (hot and cold) in several. */
static int visit(Dwarf_Die *die, void *arg)
{
	struct search *s = arg;
	const char *symbol;

	if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
		return DWARF_CB_OK;
	symbol = linkage_name(die);
	if (!symbol || !is_exported(&s->exports, symbol))
		return DWARF_CB_OK;
	if (!select_wants_in(s->sel, s->path, &(struct select_function){ .names = &symbol, .nnames = 1 }))
		return DWARF_CB_OK;
	if (!add_function(s, die, symbol)) {
		s->no_memory = true;
		return DWARF_CB_ABORT;
	}
	return DWARF_CB_OK;
}

static void search_units(struct search *s, Dwfl_Module *module)
{
	Dwarf_Addr bias;
	Dwarf_Die *unit = NULL;

	while (!s->no_memory && (unit = dwfl_module_nextcu(module, unit, &bias))) {
		s->any_dwarf = true;
		dwarf_getfuncs(unit, visit, s, 0);
	}
}

static int compare_protos(const void *a, const void *b)
{
	return strcmp(((const struct proto *)a)->symbol, ((const struct proto *)b)->symbol);
}

static int conclude(struct search *s, const char *path)
{
	if (s->no_memory) {
		msg_error("out of memory");
		return EXIT_USAGE;
	}
	if (!s->any_dwarf) {
		msg_error("%s: has no debug information that tells the prototypes; install its debug "
			  "symbols, compile it with -g, or use --header", path);
		return EXIT_USAGE;
	}
	if (s->list->n)
		qsort(s->list->v, s->list->n, sizeof(*s->list->v), compare_protos);
	return 0;
}

static int search_file(struct search *s, Dwfl *dwfl, const char *path, char **soname)
{
	GElf_Addr bias;

	dwfl_report_begin(dwfl);
	Dwfl_Module *module = dwfl_report_offline(dwfl, "", path, -1);
	if (!module || dwfl_report_end(dwfl, NULL, NULL) != 0) {
		msg_error("%s: cannot be read as an ELF file: %s", path, dwfl_errmsg(-1));
		return EXIT_USAGE;
	}
	Elf *elf = dwfl_module_getelf(module, &bias);
	if (!elf || !read_exports(&s->exports, elf, soname))
		s->no_memory = true;
	/* The debug information has a .symtab too where the file was stripped. */
	if (!s->no_memory)
		search_units(s, module);
	return conclude(s, path);
}

int proto_from_dwarf(struct proto_list *list, const char *path, struct select *sel,
		     char **soname)
{
	struct search s = { .list = list, .sel = sel, .path = path };
	Dwfl *dwfl = dwfl_begin(&debugfiles_callbacks);

	*soname = NULL;
	if (access(path, R_OK) != 0 || !dwfl) {
		msg_error("%s: cannot be read: %s", path, dwfl ? strerror(errno) : dwfl_errmsg(-1));
		dwfl_end(dwfl);
		return EXIT_USAGE;
	}
	int status = search_file(&s, dwfl, path, soname);
	free(s.exports.v);
	dwfl_end(dwfl);
	return status;
}
