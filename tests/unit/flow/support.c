// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/flow/support.h"

#include <err.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

static void *grow(void *items, size_t n, size_t size)
{
	if (n & (n - 1))
		return items;
	items = reallocarray(items, n ? 2 * n : 1, size);
	if (!items)
		err(99, "facts");
	return items;
}

static void add_taken(struct file_facts *f, uint64_t addr)
{
	f->taken = grow(f->taken, f->facts.ntaken, sizeof(*f->taken));
	f->taken[f->facts.ntaken++] = addr;
}

static void add_bytes(struct file_facts *f, const char *name, const GElf_Shdr *header)
{
	if (!(header->sh_flags & SHF_ALLOC) || header->sh_type == SHT_NOBITS ||
	    header->sh_flags & SHF_TLS || header->sh_size == 0)
		return;
	f->bytes = grow(f->bytes, f->facts.nbytes, sizeof(*f->bytes));
	f->bytes[f->facts.nbytes++] = (struct tramp_bytes){
		.addr = header->sh_addr,
		.bytes = (const uint8_t *)f->elf.map + header->sh_offset,
		.len = header->sh_size,
		.code = header->sh_flags & SHF_EXECINSTR && strncmp(name, ".plt", 4) != 0,
	};
}

static void add_relocations(struct file_facts *f, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;
	GElf_Rela rela;

	for (size_t i = 0; data && i < n; i++) {
		if (gelf_getrela(data, (int)i, &rela) &&
		    GELF_R_TYPE(rela.r_info) == R_X86_64_RELATIVE)
			add_taken(f, (uint64_t)rela.r_addend);
	}
}

/* Without relocations, every word of data may be an address. */
static void add_words(struct file_facts *f, const struct tramp_bytes *b)
{
	uint64_t word;

	for (size_t i = -b->addr & 7; i + 8 <= b->len; i += 8) {
		memcpy(&word, b->bytes + i, 8);
		if (word - f->elf.text_addr < f->elf.text_size)
			add_taken(f, word);
	}
}

static void read_sections(struct file_facts *f)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(f->elf.elf, &names) != 0)
		errx(99, "no section names");
	while ((section = elf_nextscn(f->elf.elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		add_bytes(f, elf_strptr(f->elf.elf, names, header.sh_name), &header);
		if (header.sh_type == SHT_RELA)
			add_relocations(f, section, &header);
	}
	if (f->facts.ntaken)
		return;
	for (size_t i = 0; i < f->facts.nbytes; i++) {
		if (!f->bytes[i].code)
			add_words(f, &f->bytes[i]);
	}
}

static bool is_part(const char *name)
{
	const char *dot = strrchr(name, '.');

	return dot && strcmp(dot, ".cold") == 0;
}

static uint32_t parent_of(const struct file_facts *f, const char *name)
{
	size_t len = (size_t)(strrchr(name, '.') - name);

	for (uint32_t i = 0; i < f->facts.nfns; i++) {
		if (strncmp(f->names[i], name, len) == 0 && f->names[i][len] == '\0')
			return i;
	}
	return TRAMP_NONE;
}

static void add_functions(struct file_facts *f)
{
	const struct elf_code *elf = &f->elf;
	uint64_t end = 0;

	f->fns = calloc(elf->nfunctions + 1, sizeof(*f->fns));
	f->names = calloc(elf->nfunctions + 1, sizeof(*f->names));
	if (!f->fns || !f->names)
		err(99, "functions");
	for (size_t i = 0; i < elf->nfunctions; i++) {
		const struct elf_function *e = &elf->functions[i];
		struct tramp_fn *fn = &f->fns[f->facts.nfns];
		uint64_t next = i + 1 < elf->nfunctions ? e[1].addr : elf->text_addr + elf->text_size;

		if (e->size == 0 || e->addr < end)
			continue;
		*fn = (struct tramp_fn){ .addr = e->addr, .parent = TRAMP_NONE,
					 .flags = TRAMP_FN_FRAMED };
		fn->size = e->size < next - e->addr ? e->size : next - e->addr;
		if (e->name[0] == '\0')
			fn->flags |= TRAMP_FN_MAYBE_PART;
		else if (is_part(e->name))
			fn->flags |= TRAMP_FN_PART;
		f->names[f->facts.nfns++] = e->name;
		end = fn->addr + fn->size;
	}
	for (size_t i = 0; i < f->facts.nfns; i++) {
		if (f->fns[i].flags & TRAMP_FN_PART)
			f->fns[i].parent = parent_of(f, f->names[i]);
	}
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return a < b ? -1 : a > b;
}

static int by_addr(const void *left, const void *right)
{
	const struct tramp_bytes *a = left, *b = right;

	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

void file_facts_open(struct file_facts *f, const char *path)
{
	memset(f, 0, sizeof(*f));
	elf_code_open(&f->elf, path, true);
	read_sections(f);
	add_functions(f);
	if (f->facts.ntaken)
		qsort(f->taken, f->facts.ntaken, sizeof(*f->taken), by_value);
	qsort(f->bytes, f->facts.nbytes, sizeof(*f->bytes), by_addr);
	f->facts.bytes = f->bytes;
	f->facts.fns = f->fns;
	f->facts.taken = f->taken;
}

void file_facts_close(struct file_facts *f)
{
	free(f->bytes);
	free(f->fns);
	free(f->names);
	free(f->taken);
	elf_code_close(&f->elf);
}
