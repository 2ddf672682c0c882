// SPDX-License-Identifier: GPL-3.0-or-later
/* What a call goes to that leads through the procedure linkage table, or by its slot. */
#include <Zydis/Zydis.h>
#include <gelf.h>
#include <string.h>

#include "analysis/names/names-private.h"

static bool has(const unsigned char *bytes, size_t n, const char *wanted, size_t len)
{
	return bytes && n >= len && memcmp(bytes, wanted, len) == 0;
}

/* At @addr: an instruction of so many opcode bytes, and a distance from its end. */
static uint64_t target(const unsigned char *bytes, uint64_t addr, size_t opcode)
{
	int32_t distance;

	memcpy(&distance, bytes + opcode, sizeof(distance));
	return addr + opcode + sizeof(distance) + (uint64_t)(int64_t)distance;
}

/* endbr64; bnd jmp *slot(%rip), the first two perhaps.  0: it is no such entry. */
static uint64_t slot_of_entry(struct nm_file *f, uint64_t addr)
{
	size_t n = 0;
	const unsigned char *bytes = nm_file_bytes(f, addr, &n);
	size_t at = has(bytes, n, "\xf3\x0f\x1e\xfa", 4) ? 4 : 0;

	at += bytes && n > at && bytes[at] == 0xf2;
	return bytes && n >= at + 6 && bytes[at] == 0xff && bytes[at + 1] == 0x25 ? target(bytes + at, addr + at, 2) : 0;
}

static uint64_t slot_of_call(struct nm_file *f, uint64_t returns)
{
	size_t n = 0;
	const unsigned char *bytes = nm_file_bytes(f, returns - 6, &n);

	if (!bytes || n < 6)
		return 0;
	if (bytes[0] == 0xff && bytes[1] == 0x15)
		return target(bytes, returns - 6, 2);
	return bytes[1] == 0xe8 ? slot_of_entry(f, target(bytes + 1, returns - 5, 1)) : 0;
}

static const char *symbol(Elf *elf, const GElf_Shdr *relocations, uint64_t index)
{
	Elf_Scn *scn = elf_getscn(elf, relocations->sh_link);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	GElf_Shdr table;
	GElf_Sym sym;

	if (!data || index > INT32_MAX || !gelf_getshdr(scn, &table) || !gelf_getsym(data, (int)index, &sym))
		return NULL;
	return elf_strptr(elf, table.sh_link, sym.st_name);
}

static const char *relocated(Elf *elf, const GElf_Shdr *section, Elf_Data *data, uint64_t slot)
{
	GElf_Rela r;

	for (int i = 0; data && gelf_getrela(data, i, &r); i++)
		if (r.r_offset == slot && (GELF_R_TYPE(r.r_info) == R_X86_64_JUMP_SLOT || GELF_R_TYPE(r.r_info) == R_X86_64_GLOB_DAT))
			return symbol(elf, section, GELF_R_SYM(r.r_info));
	return NULL;
}

const char *nm_callee(struct nm *nm, uint64_t returns)
{
	struct nm_file *f = nm_file_at(nm, returns - 1);
	const uint64_t slot = f ? slot_of_call(f, returns) : 0;
	Dwfl_Module *mod = slot ? nm_file_module(f) : NULL;
	const char *name = NULL;
	GElf_Addr bias;
	Elf *elf = mod ? dwfl_module_getelf(mod, &bias) : NULL;
	GElf_Shdr section;

	for (Elf_Scn *scn = NULL; elf && !name && (scn = elf_nextscn(elf, scn));)
		if (gelf_getshdr(scn, &section) && section.sh_type == SHT_RELA && section.sh_flags & SHF_ALLOC)
			name = relocated(elf, &section, elf_getdata(scn, NULL), nm_file_address(f, slot));
	return name;
}

void nm_each_callee(struct nm *nm, uint64_t lo, uint64_t hi, void (*take)(void *arg, uint64_t returns, const char *callee), void *arg)
{
	struct nm_file *f = nm_file_at(nm, lo);
	size_t n = 0;
	const unsigned char *bytes = f ? nm_file_bytes(f, lo, &n) : NULL;
	ZydisDecodedInstruction insn;
	ZydisDecoder decoder;

	if (!bytes || ZYAN_FAILED(ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return;
	n = n < hi - lo ? n : hi - lo;
	for (size_t at = 0; at < n && !ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes + at, n - at, &insn));) {
		at += insn.length;
		if (insn.meta.category == ZYDIS_CATEGORY_CALL)
			take(arg, lo + at, nm_callee(nm, lo + at));
	}
}
