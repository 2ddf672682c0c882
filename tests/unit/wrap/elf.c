// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/wrap/elf.h"

#include <dlfcn.h>
#include <err.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FDE_PCREL_SDATA4 0x1b

static void add_function(struct elf_code *code, const char *name, uint64_t addr, size_t size)
{
	uint64_t text_end = code->text_addr + code->text_size;
	struct elf_function *fn;

	if (addr < code->text_addr || addr >= text_end || size > text_end - addr)
		return;
	if ((code->nfunctions & (code->nfunctions - 1)) == 0) {
		size_t room = code->nfunctions ? code->nfunctions * 2 : 1;

		code->functions = reallocarray(code->functions, room, sizeof(*fn));
		if (!code->functions)
			err(99, "functions");
	}
	fn = &code->functions[code->nfunctions++];
	*fn = (struct elf_function){
		.name = name, .addr = addr, .size = size,
		.code = code->text + (addr - code->text_addr),
	};
}

static void add_symbols(struct elf_code *code, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t count = header->sh_entsize ? header->sh_size / header->sh_entsize : 0;

	for (size_t i = 0; data && i < count; i++) {
		const char *name;
		GElf_Sym sym;
		int type;

		if (!gelf_getsym(data, (int)i, &sym) || sym.st_shndx == SHN_UNDEF)
			continue;
		type = GELF_ST_TYPE(sym.st_info);
		name = elf_strptr(code->elf, header->sh_link, sym.st_name);
		if ((type == STT_FUNC || type == STT_GNU_IFUNC) && name)
			add_function(code, name, sym.st_value, sym.st_size);
	}
}

/* The entries of .eh_frame whose addresses are in the form that x86-64 compilers use. */
static void add_fdes(struct elf_code *code, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const uint8_t *bytes = data ? data->d_buf : NULL;
	size_t size = bytes ? data->d_size : 0;
	uint32_t length, id;
	int32_t start;
	uint32_t range;

	for (size_t at = 0; at + 16 <= size; at += 4 + length) {
		memcpy(&length, bytes + at, 4);
		memcpy(&id, bytes + at + 4, 4);
		if (length == 0 || length > size - at - 4)
			return;
		if (id == 0)
			continue;
		memcpy(&start, bytes + at + 8, 4);
		memcpy(&range, bytes + at + 12, 4);
		add_function(code, "", header->sh_addr + at + 8 + (uint64_t)(int64_t)start, range);
	}
}

static int by_address(const void *left, const void *right)
{
	const struct elf_function *a = left, *b = right;

	if (a->addr != b->addr)
		return a->addr < b->addr ? -1 : 1;
	return (a->name[0] == '\0') - (b->name[0] == '\0');	/* symbols first */
}

static void finish_functions(struct elf_code *code)
{
	uint64_t end = code->text_addr + code->text_size;
	size_t kept = 0;

	if (code->nfunctions)
		qsort(code->functions, code->nfunctions, sizeof(*code->functions), by_address);
	for (size_t i = 0; i < code->nfunctions; i++) {
		if (kept && code->functions[kept - 1].addr == code->functions[i].addr)
			continue;
		code->functions[kept++] = code->functions[i];
	}
	code->nfunctions = kept;
	for (size_t i = 0; i < kept; i++) {
		struct elf_function *fn = &code->functions[i];
		uint64_t next = i + 1 < kept ? fn[1].addr : end;

		fn->avail = next - fn->addr;
		if (fn->avail < fn->size)	/* symbols may overlap */
			fn->avail = fn->size;
	}
}

static void for_sections(struct elf_code *code, bool unwind)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(code->elf, &names) != 0)
		errx(99, "no section names");
	while ((section = elf_nextscn(code->elf, section))) {
		if (!gelf_getshdr(section, &header))
			continue;
		if (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM)
			add_symbols(code, section, &header);
		else if (unwind && header.sh_type != SHT_NOBITS &&
			 strcmp(elf_strptr(code->elf, names, header.sh_name), ".eh_frame") == 0)
			add_fdes(code, section, &header);
	}
}

static void find_text(struct elf_code *code)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(code->elf, &names) != 0)
		errx(99, "no section names");
	while ((section = elf_nextscn(code->elf, section))) {
		if (!gelf_getshdr(section, &header) ||
		    strcmp(elf_strptr(code->elf, names, header.sh_name), ".text") != 0)
			continue;
		code->text = (const uint8_t *)code->map + header.sh_offset;
		code->text_addr = header.sh_addr;
		code->text_size = header.sh_size;
	}
	if (!code->text || header.sh_type == SHT_NOBITS)
		errx(99, "no .text");
}

void elf_code_open(struct elf_code *code, const char *path, bool unwind)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	memset(code, 0, sizeof(*code));
	if (fd < 0 || fstat(fd, &st) != 0)
		err(99, "%s", path);
	code->map_size = (size_t)st.st_size;
	code->map = mmap(NULL, code->map_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (code->map == MAP_FAILED)
		err(99, "%s", path);
	elf_version(EV_CURRENT);
	code->elf = elf_memory(code->map, code->map_size);
	if (!code->elf || elf_kind(code->elf) != ELF_K_ELF)
		errx(99, "%s: %s", path, elf_errmsg(-1));
	find_text(code);
	for_sections(code, unwind);
	finish_functions(code);
}

void elf_code_close(struct elf_code *code)
{
	elf_end(code->elf);
	munmap(code->map, code->map_size);
	free(code->functions);
}

const char *elf_libc_path(void)
{
	static char path[4096];
	Dl_info info;

	if (!dladdr((void *)(uintptr_t)abort, &info) || !realpath(info.dli_fname, path))
		errx(99, "where is the C library?");
	return path;
}
