// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Files of programs and libraries: where they are in memory, and what is at an address: a variable of its debug information, else
 * a symbol, else a section.
 */
#include <dwarf.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/file-private.h"
#include "base/search.h"

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

static void free_data(struct nm_data *d)
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

/* ---- names ---- */

/* With what it is in, as its language writes it; malloc'ed.  NULL: no memory. */
static char *full_name(struct nm_file *f, struct nm_datum *d, bool *has_scope)
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

static struct nm_entry *entry_of(struct nm_file *f, struct nm_datum *d, enum nm_how how)
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

static struct nm_entry *found(struct nm_file *f, struct nm_datum *d, enum nm_how how, uint64_t bias, uint64_t *begin, uint64_t *size)
{
	*begin = d->begin + bias;
	*size = d->end - d->begin;
	return entry_of(f, d, how);
}

struct nm_entry *nm_file_find(struct nm_file *f, uint64_t addr, uint64_t *begin, uint64_t *size)
{
	uint64_t in_file = addr - f->load;
	struct nm_datum *d;

	if (!nm_file_read(f))
		return NULL;
	if ((d = nm_data_at(&f->variables, in_file)))
		return found(f, d, NM_BY_DEBUG, f->load, begin, size);
	if ((d = nm_data_at(&f->symbols, in_file)))
		return found(f, d, NM_BY_SYMBOL, f->load, begin, size);
	if ((d = nm_data_at(&f->sections, in_file)))
		return found(f, d, NM_BY_SECTION, f->load, begin, size);
	return f->nm->unknown;
}

static void narrow(uint64_t at, uint64_t addr, uint64_t *lo, uint64_t *hi)
{
	if (at <= addr)
		*lo = at > *lo ? at : *lo;
	else
		*hi = at < *hi ? at : *hi;
}

void nm_file_gap(const struct nm_file *f, uint64_t addr, uint64_t *lo, uint64_t *hi)
{
	const struct nm_data *const data[] = { &f->variables, &f->symbols };

	*lo = f->begin;
	*hi = f->end;
	for (size_t i = 0; i < sizeof(data) / sizeof(*data); i++) {
		const size_t after = search_first(k, data[i]->n, data[i]->v[k].begin > addr - f->load);

		if (after)
			narrow(data[i]->v[after - 1].reach + f->load, addr, lo, hi);
		if (after < data[i]->n)
			narrow(data[i]->v[after].begin + f->load, addr, lo, hi);
	}
	for (size_t i = 0; i < f->sections.n; i++) {
		narrow(f->sections.v[i].begin + f->load, addr, lo, hi);
		narrow(f->sections.v[i].end + f->load, addr, lo, hi);
	}
}

bool nm_file_variable(struct nm_file *f, uint64_t addr, Dwarf_Die *variable)
{
	struct nm_datum *d = nm_file_read(f) ? nm_data_at(&f->variables, addr - f->load) : NULL;

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
	struct nm_datum *d;

	if (!f->tls_size || addr < block || addr - block >= f->tls_size)
		return f->nm->unknown;
	if (!nm_file_read(f))
		return NULL;
	if ((d = nm_data_at(&f->tls_variables, addr - block)))
		return found(f, d, NM_BY_DEBUG, block, begin, size);
	if ((d = nm_data_at(&f->tls_symbols, addr - block)))
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
