// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Addresses of code that are written down somewhere: in relocations, symbols, the headers, and
 * where words may hold addresses without a relocation, in any word of data.
 */
#include "config.h"

#include <string.h>

#include "injector/facts/facts-int.h"

/* ---- relocations ---- */

static void table(struct inj_cf *cf, uint64_t addr, uint64_t size,
		  void (*each)(struct inj_cf *, const Elf64_Rela *))
{
	uint64_t left;
	const uint8_t *p = addr ? inj_elf_at(&cf->file, addr, &left) : NULL;

	if (!p)
		return;
	size = size < left ? size : left;
	for (; size >= sizeof(Elf64_Rela); size -= sizeof(Elf64_Rela), p += sizeof(Elf64_Rela)) {
		Elf64_Rela r;

		memcpy(&r, p, sizeof(r));
		each(cf, &r);
	}
}

void inj_cf_relocations(struct inj_cf *cf, void (*each)(struct inj_cf *, const Elf64_Rela *))
{
	const struct inj_elf_dynamic *dyn = &cf->file.dyn;
	const struct inj_elf_section *sec = NULL;

	table(cf, dyn->rela, dyn->rela_size, each);
	table(cf, dyn->jmprel, dyn->jmprel_size, each);
	if (!dyn->rela && !dyn->jmprel) /* static: the IRELATIVE ones, between two symbols */
		sec = inj_elf_section(&cf->file, ".rela.plt");
	if (sec && (sec->flags & SHF_ALLOC))
		table(cf, sec->addr, sec->size, each);
}

static bool symbol_value(const struct inj_cf *cf, uint64_t index, uint64_t *value)
{
	uint64_t left, at = index * sizeof(Elf64_Sym);
	const uint8_t *p = inj_elf_at(&cf->file, cf->file.dyn.symtab, &left);
	Elf64_Sym sym;

	if (!cf->file.dyn.symtab || !p || at > left || left - at < sizeof(sym))
		return false;
	memcpy(&sym, p + at, sizeof(sym));
	*value = sym.st_value;
	return sym.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(sym.st_info) != STT_TLS;
}

static void taken(struct inj_cf *cf, uint64_t place, uint64_t addr)
{
	if (addr - cf->lo >= cf->hi - cf->lo)
		return;
	inj_cf_mark(cf, addr);
	if (place - cf->rseq < cf->rseq_size)
		inj_addrs_add(&cf->never, addr);
}

/* What is surely, or very likely, an address. */
static void pointer(struct inj_cf *cf, uint64_t place, uint64_t addr)
{
	taken(cf, place, addr);
	if (addr - cf->lo < cf->hi - cf->lo)
		inj_addrs_add(&cf->pointers, addr);
}

static void relocation(struct inj_cf *cf, const Elf64_Rela *r)
{
	uint64_t value = 0, addend = (uint64_t)r->r_addend;

	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_RELATIVE:
	case R_X86_64_IRELATIVE:
	case R_X86_64_RELATIVE64:
		pointer(cf, r->r_offset, addend);
		break;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		addend = 0;
		/* fall through */
	case R_X86_64_64:
	case R_X86_64_32:
	case R_X86_64_32S:
		if (!ELF64_R_SYM(r->r_info) || symbol_value(cf, ELF64_R_SYM(r->r_info), &value))
			pointer(cf, r->r_offset, value + addend);
		break;
	default:
		break;
	}
}

static void take_word(struct inj_cf *cf, uint64_t place)
{
	const uint8_t *p = inj_elf_get(&cf->file, place, 8);
	uint64_t word;

	if (!p)
		return;
	memcpy(&word, p, sizeof(word));
	pointer(cf, place, word);
}

/*
 * DT_RELR: an even word is the place of a relocation; an odd one tells in its other 63 bits which
 * of the words after the last place are such as well (Generic ABI, "Relative Relocation Table").
 */
static void relative_places(struct inj_cf *cf)
{
	uint64_t left, next = 0, size = cf->file.dyn.relr_size;
	const uint8_t *p = inj_elf_at(&cf->file, cf->file.dyn.relr, &left);

	if (!cf->file.dyn.relr || !p)
		return;
	for (size = size < left ? size : left; size >= 8; size -= 8, p += 8) {
		uint64_t entry;

		memcpy(&entry, p, sizeof(entry));
		if (!(entry & 1)) {
			take_word(cf, entry);
			next = entry + 8;
			continue;
		}
		for (uint64_t bits = entry >> 1, at = next; bits; bits >>= 1, at += 8)
			if (bits & 1)
				take_word(cf, at);
		next += UINT64_C(8) * 63;
	}
}

/* ---- words ---- */

/* Every aligned word and half word of [from, to), which the file has. */
static void scan_words(struct inj_cf *cf, uint64_t from, uint64_t to, bool data)
{
	const uint8_t *p;

	from = (from + 3) & ~UINT64_C(3);
	if (from >= to)
		return;
	p = inj_elf_get(&cf->file, from, to - from);
	for (; p && to - from >= 4; from += 4, p += 4) {
		uint32_t half;
		uint64_t word;

		memcpy(&half, p, sizeof(half));
		if (half - cf->lo < cf->hi - cf->lo)
			taken(cf, from, half);
		if (from % 8 == 0 && to - from >= 8) {
			memcpy(&word, p, sizeof(word));
			(data ? pointer : taken)(cf, from, word);
		}
	}
}

/* What holds no addresses that code could jump to, but numbers that may look so. */
static bool holds_none(const struct inj_elf_section *sec)
{
	static const char *const others[] = {
		".eh_frame", ".eh_frame_hdr", ".gcc_except_table", ".gopclntab",
	};

	switch (sec->type) {
	case SHT_STRTAB:
	case SHT_HASH:
	case SHT_GNU_HASH:
	case SHT_GNU_versym:
	case SHT_GNU_verneed:
	case SHT_GNU_verdef:
	case SHT_NOTE:
	case SHT_DYNSYM:
	case SHT_RELA:
		return true;
	default:
		break;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strcmp(sec->name, others[i]) == 0)
			return true;
	return false;
}

static void scan_piece(struct inj_cf *cf, const struct tramp_bytes *piece)
{
	uint64_t at = piece->addr, end = piece->addr + piece->len;

	for (size_t i = 0; i < cf->file.nsecs; i++) {
		const struct inj_elf_section *sec = &cf->file.secs[i];

		if (!(sec->flags & SHF_ALLOC) || sec->addr < at || sec->addr >= end ||
		    sec->size > end - sec->addr || !holds_none(sec))
			continue;
		scan_words(cf, at, sec->addr, !piece->code);
		at = sec->addr + sec->size;
	}
	scan_words(cf, at, end, !piece->code);
}

/* Without sections, data may lie in the same segment as code. */
static void scan_data(struct inj_cf *cf)
{
	for (size_t i = 0; i < cf->nbytes; i++)
		if (!cf->bytes[i].code || !cf->file.nsecs)
			scan_piece(cf, &cf->bytes[i]);
}

/* ---- symbols ---- */

static void take_symbols(struct inj_cf *cf, const struct inj_elf_symbols *syms)
{
	for (size_t i = 1; i < syms->n; i++) {
		Elf64_Sym sym = inj_elf_symbol(syms, i);

		if (sym.st_shndx != SHN_UNDEF && sym.st_shndx != SHN_ABS &&
		    ELF64_ST_BIND(sym.st_info) != STB_LOCAL &&
		    ELF64_ST_TYPE(sym.st_info) != STT_TLS)
			inj_cf_mark(cf, sym.st_value);
	}
}

void inj_cf_taken(struct inj_cf *cf)
{
	cf->taken.n = cf->pointers.n = 0;
	inj_cf_relocations(cf, relocation);
	relative_places(cf);
	if (cf->words)
		scan_data(cf);
	take_symbols(cf, &cf->dynsym);
	take_symbols(cf, &cf->symtab);
	inj_cf_mark(cf, cf->file.entry);
	inj_cf_mark(cf, cf->file.dyn.init);
	inj_cf_mark(cf, cf->file.dyn.fini);
	inj_cf_collect(cf, &cf->taken);
	inj_addrs_sort(&cf->never);
	inj_addrs_sort(&cf->pointers);
}
