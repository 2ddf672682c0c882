// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Calls through the linker's tables: slots of the GOT, and the entries of the PLT that jump through them,
 * [endbr64] [bnd] jmp *slot(%rip).  Which of them lead to functions that do not return, to functions that threads
 * wait in, and to functions of this very file, as long as no other file's are before them.
 */
#include "config.h"

#include <string.h>

#include "injector/facts/facts-int.h"
#include "trampolines/insn/x86-64/decode.h"

enum { ENDBR_SIZE = 4, BND = 0xf2 };

size_t inj_codefacts_prefix(const uint8_t *code, size_t left)
{
	size_t at = tramp_endbr64_size(code, left);

	return at < left && code[at] == BND ? at + 1 : at;
}

static void slot(struct inj_cf *cf, const Elf64_Rela *r)
{
	const struct inj_elf_symbols *syms = &cf->dynsym;
	uint64_t type = ELF64_R_TYPE(r->r_info), index = ELF64_R_SYM(r->r_info);
	Elf64_Sym sym;
	uint32_t facts;

	if ((type != R_X86_64_GLOB_DAT && type != R_X86_64_JUMP_SLOT) || index >= syms->room)
		return;
	sym = inj_elf_symbol(syms, index);
	facts = inj_cf_name(inj_elf_symbol_name(syms, &sym));
	if (facts & INJ_NAME_SYNC)
		inj_addrs_add(&cf->sync, r->r_offset);
	if (facts & INJ_NAME_NORETURN)
		inj_addrs_add(&cf->noreturn, r->r_offset);
	else if (sym.st_shndx != SHN_UNDEF)
		inj_addrs_add(&cf->own, r->r_offset);
}

/* Where the entry starts that has its jump at @at. */
static uint64_t entry_start(const struct tramp_bytes *piece, size_t at)
{
	if (at >= 1 && piece->bytes[at - 1] == BND)
		at--;
	if (at >= ENDBR_SIZE)
		at -= tramp_endbr64_size(piece->bytes + at - ENDBR_SIZE, ENDBR_SIZE);
	return piece->addr + at;
}

static void scan_entries(const struct tramp_bytes *piece, const struct inj_addrs *slots, struct inj_addrs *entries)
{
	const uint8_t *bytes = piece->bytes, *p = bytes;

	while (piece->len >= 6 && (size_t)(p - bytes) <= piece->len - 6 &&
	       (p = memchr(p, 0xff, piece->len - 5 - (size_t)(p - bytes)))) {
		size_t at = (size_t)(p++ - bytes);
		int32_t distance;

		if (bytes[at + 1] != 0x25)
			continue;
		memcpy(&distance, bytes + at + 2, sizeof(distance));
		if (inj_addrs_has(slots, piece->addr + at + 6 + (uint64_t)(int64_t)distance))
			inj_addrs_add(entries, entry_start(piece, at));
	}
}

static bool in_executable(const struct inj_cf *cf, const struct tramp_bytes *piece)
{
	for (size_t i = 0; i < cf->file.nsegs; i++) {
		const struct inj_elf_segment *seg = &cf->file.segs[i];

		if (piece->addr >= seg->addr && piece->addr - seg->addr < seg->len)
			return seg->flags & PF_X;
	}
	return false;
}

/* Adds to slots the entries that jump through them. */
static void add_entries(const struct inj_cf *cf, struct inj_addrs *addrs)
{
	struct inj_addrs slots = { 0 };

	inj_addrs_sort(addrs);
	/* a copy, since entries are added while slots are looked up */
	for (size_t i = 0; i < addrs->n; i++)
		inj_addrs_add(&slots, addrs->v[i]);
	addrs->failed |= slots.failed;
	for (size_t i = 0; i < cf->nbytes; i++) {
		const struct tramp_bytes *piece = &cf->bytes[i];

		if (in_executable(cf, piece) && (!piece->code || !cf->file.nsecs))
			scan_entries(piece, &slots, addrs);
	}
	inj_addrs_free(&slots);
}

void inj_cf_slots(struct inj_cf *cf)
{
	inj_cf_relocations(cf, slot);
	add_entries(cf, &cf->noreturn);
	add_entries(cf, &cf->own);
	add_entries(cf, &cf->sync);
	inj_addrs_sort(&cf->own);
}
