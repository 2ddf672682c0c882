/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An x86-64 program or library, mapped to be read: the one reader of ELF files.  Whatever is handed out has been
 * checked to lie within the file; nothing here changes after inj_elf_open().
 */
#ifndef SONDE_INJECTOR_IMAGE_ELFFILE_H
#define SONDE_INJECTOR_IMAGE_ELFFILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/image/ehframe.h"
#include "injector/status.h"

#define INJ_ELF_SEGMENTS 128
#define INJ_BUILD_ID_MAX 64
#define INJ_ELF_SECTIONS 4096 /* further ones are not seen */

/* What the file has of a PT_LOAD. */
struct inj_elf_segment {
	uint64_t addr;
	const uint8_t *bytes;
	uint64_t len;
	uint32_t flags;		/* PF_R, PF_W, PF_X */
};

/* A section; in memory if flags has SHF_ALLOC. */
struct inj_elf_section {
	const char *name;
	uint64_t addr, size, offset, flags;
	uint64_t names, names_size; /* of the section it links to: a symbol table's strings */
	uint32_t type;
};

/* From the dynamic section; addresses are link-time ones, 0: none. */
struct inj_elf_dynamic {
	uint64_t rela, rela_size, jmprel, jmprel_size, relr, relr_size;
	uint64_t symtab, strtab, strtab_size, hash, gnu_hash, init, fini;
	uint64_t debug;	/* of the word that the dynamic linker sets to its struct r_debug's address */
};

struct inj_elf {
	const uint8_t *map;
	size_t len;
	uint16_t type;		/* ET_EXEC, ET_DYN */
	uint64_t entry;
	struct inj_elf_segment segs[INJ_ELF_SEGMENTS]; /* ascending, not overlapping */
	size_t nsegs;
	struct inj_elf_section *secs; /* ascending by address, then by offset */
	size_t nsecs;		/* 0: no section headers */
	const uint8_t *headers; /* of all sections, by index */
	size_t nheaders;
	Elf64_Shdr names;	/* of the section that has the sections' names */
	bool has_interp;
	const char *interp;	/* the dynamic linker's name; NULL: none, or damaged */
	const uint8_t *build_id; /* NULL: none */
	size_t build_id_len;	/* 1 to INJ_BUILD_ID_MAX */
	uint64_t eh_frame_hdr, eh_frame_hdr_size;
	struct inj_elf_dynamic dyn;
	const uint8_t *dynamic;	/* the entries of the dynamic section, without the last */
	size_t ndynamic;
	const char *problem;	/* after an error: complete after "FILE ", static */
};

/* Errors: NO_FILE (also: no x86-64 executable or library), MEMORY; then only file->problem is set. */
enum inj_status inj_elf_open(const char *path, struct inj_elf *file) INJ_CHECK;
void inj_elf_close(struct inj_elf *file);

/* The file's bytes at a link-time address, *left of them; NULL: none. */
const uint8_t *inj_elf_at(const struct inj_elf *file, uint64_t addr, uint64_t *left);

/* @len bytes at @addr; NULL: they are not all there. */
const uint8_t *inj_elf_get(const struct inj_elf *file, uint64_t addr, uint64_t len);

/* The segment that is executable and holds @addr; NULL: none. */
const struct inj_elf_segment *inj_elf_code(const struct inj_elf *file, uint64_t addr);

/* The next library that it needs; *at is 0 at first.  NULL: no more. */
const char *inj_elf_needed(const struct inj_elf *file, size_t *at);

/* The first section of that name; NULL: none. */
const struct inj_elf_section *inj_elf_section(const struct inj_elf *file,
							const char *name);

/* The section header of that index, as a symbol's st_shndx.  Returns the section's name; NULL: there is none. */
const char *inj_elf_section_header(const struct inj_elf *file, size_t index, Elf64_Shdr *sh);

/*
 * A symbol table and its names.  @n: symbols that are surely there; without section headers those
 * which are exported.  @room: symbols that relocations may refer to.
 */
struct inj_elf_symbols {
	const uint8_t *syms;
	size_t n, room;
	const char *names;
	size_t names_len;
};

/* .symtab, or the table of the dynamic linker (also without section headers); n = 0: none. */
struct inj_elf_symbols inj_elf_symtab(const struct inj_elf *file);
struct inj_elf_symbols inj_elf_dynsym(const struct inj_elf *file);

/* Can the file have a symbol of that name?  Without it being opened, which takes longer.  True also if that is not known. */
bool inj_elf_may_define(const char *path, const char *name);

/* Symbol @i of @room; its name, "" where that is damaged. */
Elf64_Sym inj_elf_symbol(const struct inj_elf_symbols *table, size_t i);
const char *inj_elf_symbol_name(const struct inj_elf_symbols *table,
				     const Elf64_Sym *sym);

/* The number of symbols in a DT_GNU_HASH table (and before it); 0: it is damaged. */
uint64_t inj_gnu_hash_symbols(const uint8_t *table, uint64_t len);

/* Begins an iteration over the unwind table; false: there is none. */
bool inj_elf_frames(const struct inj_elf *file, struct inj_eh *eh);

#endif
