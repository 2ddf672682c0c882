// SPDX-License-Identifier: GPL-3.0-or-later
/* Headers, segments, sections and the dynamic section of a mapped ELF file. */
#include "config.h"

#include "injector/image/elffile.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_NAME 65536

#ifndef DT_RELR
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

/* @n elements of @size at @offset of the file; NULL: outside. */
static const uint8_t *file_at(const struct inj_elf *file, uint64_t offset, uint64_t n,
			      size_t size)
{
	if (offset > file->len || n > (file->len - offset) / size)
		return NULL;
	return file->map + offset;
}

const uint8_t *inj_elf_at(const struct inj_elf *file, uint64_t addr, uint64_t *left)
{
	for (size_t i = 0; i < file->nsegs; i++) {
		const struct inj_elf_segment *s = &file->segs[i];

		if (addr >= s->addr && addr - s->addr < s->len) {
			*left = s->len - (addr - s->addr);
			return s->bytes + (addr - s->addr);
		}
	}
	*left = 0;
	return NULL;
}

const uint8_t *inj_elf_get(const struct inj_elf *file, uint64_t addr, uint64_t len)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(file, addr, &left);

	return len <= left ? p : NULL;
}

/* ---- segments ---- */

static void add_segment(struct inj_elf *file, const Elf64_Phdr *ph)
{
	const uint8_t *bytes = file_at(file, ph->p_offset, ph->p_filesz, 1);
	uint64_t len = ph->p_filesz < ph->p_memsz ? ph->p_filesz : ph->p_memsz;

	if (!bytes) { /* cut off: what is left of it */
		if (ph->p_offset >= file->len)
			return;
		bytes = file->map + ph->p_offset;
		len = file->len - ph->p_offset < len ? file->len - ph->p_offset : len;
	}
	if (!len || ph->p_vaddr > UINT64_MAX / 2 || file->nsegs == INJ_ELF_SEGMENTS)
		return;
	file->segs[file->nsegs++] = (struct inj_elf_segment){
		.addr = ph->p_vaddr,
		.bytes = bytes,
		.len = len,
		.flags = ph->p_flags,
	};
}

static int segment_order(const void *a, const void *b)
{
	const struct inj_elf_segment *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void sort_segments(struct inj_elf *file)
{
	uint64_t end = 0;
	size_t n = 0;

	qsort(file->segs, file->nsegs, sizeof(file->segs[0]), segment_order);
	for (size_t i = 0; i < file->nsegs; i++) {
		if (n && file->segs[i].addr < end)
			continue;
		end = file->segs[i].addr + file->segs[i].len;
		file->segs[n++] = file->segs[i];
	}
	file->nsegs = n;
}

/* *dynamic: all zero if there is none. */
static bool read_segments(struct inj_elf *file, const Elf64_Ehdr *eh, Elf64_Phdr *dynamic)
{
	const uint8_t *table = file_at(file, eh->e_phoff, eh->e_phnum, sizeof(*dynamic));

	*dynamic = (Elf64_Phdr){ 0 };
	if (!table || eh->e_phentsize != sizeof(*dynamic))
		return false;
	for (size_t i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, table + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD) {
			add_segment(file, &ph);
		} else if (ph.p_type == PT_DYNAMIC) {
			*dynamic = ph;
		} else if (ph.p_type == PT_GNU_EH_FRAME) {
			file->eh_frame_hdr = ph.p_vaddr;
			file->eh_frame_hdr_size = ph.p_memsz;
		}
	}
	sort_segments(file);
	return file->nsegs != 0;
}

static void note_dynamic(struct inj_elf_dynamic *dyn, const Elf64_Dyn *d)
{
	const struct {
		int64_t tag;
		uint64_t *member;
	} members[] = {
		{ DT_RELA, &dyn->rela },	  { DT_RELASZ, &dyn->rela_size },
		{ DT_JMPREL, &dyn->jmprel },	  { DT_PLTRELSZ, &dyn->jmprel_size },
		{ DT_RELR, &dyn->relr },	  { DT_RELRSZ, &dyn->relr_size },
		{ DT_SYMTAB, &dyn->symtab },	  { DT_STRTAB, &dyn->strtab },
		{ DT_STRSZ, &dyn->strtab_size },  { DT_HASH, &dyn->hash },
		{ DT_GNU_HASH, &dyn->gnu_hash },  { DT_INIT, &dyn->init },
		{ DT_FINI, &dyn->fini },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++)
		if (members[i].tag == d->d_tag)
			*members[i].member = d->d_un.d_val;
}

static void read_dynamic(struct inj_elf *file, const Elf64_Phdr *ph)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(file, ph->p_vaddr, &left);

	left = left < ph->p_filesz ? left : ph->p_filesz;
	for (; p && left >= sizeof(Elf64_Dyn); left -= sizeof(Elf64_Dyn), p += sizeof(Elf64_Dyn)) {
		Elf64_Dyn d;

		memcpy(&d, p, sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		note_dynamic(&file->dyn, &d);
	}
}

/* ---- sections ---- */

static int section_order(const void *a, const void *b)
{
	const struct inj_elf_section *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static const char *section_name(const struct inj_elf *file, const Elf64_Shdr *names,
				uint32_t at)
{
	const char *table = (const char *)file_at(file, names->sh_offset, names->sh_size, 1);

	if (!table || at >= names->sh_size || !memchr(table + at, '\0', names->sh_size - at))
		return "";
	return table + at;
}

/* @table: all @n headers. */
static void add_section(struct inj_elf *file, const Elf64_Shdr *sh, const uint8_t *table,
			size_t n, const Elf64_Shdr *names)
{
	Elf64_Shdr linked = { 0 };

	if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS ||
	    !file_at(file, sh->sh_offset, sh->sh_size, 1))
		return;
	if (sh->sh_link < n)
		memcpy(&linked, table + sh->sh_link * sizeof(linked), sizeof(linked));
	file->secs[file->nsecs++] = (struct inj_elf_section){
		.name = section_name(file, names, sh->sh_name),
		.addr = sh->sh_flags & SHF_ALLOC ? sh->sh_addr : 0,
		.size = sh->sh_size,
		.offset = sh->sh_offset,
		.flags = sh->sh_flags,
		.names = linked.sh_offset,
		.names_size = linked.sh_size,
		.type = sh->sh_type,
	};
}

static bool read_sections(struct inj_elf *file, const Elf64_Ehdr *eh)
{
	const uint8_t *table = file_at(file, eh->e_shoff, eh->e_shnum, sizeof(Elf64_Shdr));
	Elf64_Shdr names = { 0 };

	if (!table || !eh->e_shoff || eh->e_shentsize != sizeof(Elf64_Shdr))
		return true;
	file->secs = calloc(eh->e_shnum + 1u, sizeof(*file->secs));
	if (!file->secs)
		return false;
	if (eh->e_shstrndx < eh->e_shnum)
		memcpy(&names, table + eh->e_shstrndx * sizeof(names), sizeof(names));
	for (size_t i = 0; i < eh->e_shnum && file->nsecs < INJ_ELF_SECTIONS; i++) {
		Elf64_Shdr sh;

		memcpy(&sh, table + i * sizeof(sh), sizeof(sh));
		add_section(file, &sh, table, eh->e_shnum, &names);
	}
	qsort(file->secs, file->nsecs, sizeof(*file->secs), section_order);
	return true;
}

const struct inj_elf_section *inj_elf_section(const struct inj_elf *file,
							const char *name)
{
	for (size_t i = 0; i < file->nsecs; i++)
		if (strcmp(file->secs[i].name, name) == 0)
			return &file->secs[i];
	return NULL;
}

/* ---- symbols ---- */

static struct inj_elf_symbols section_symbols(const struct inj_elf *file, uint32_t type)
{
	for (size_t i = 0; i < file->nsecs; i++) {
		const struct inj_elf_section *s = &file->secs[i];
		const uint8_t *names = file_at(file, s->names, s->names_size, 1);

		if (s->type == type && names)
			return (struct inj_elf_symbols){
				.syms = file->map + s->offset,
				.n = s->size / sizeof(Elf64_Sym),
				.room = s->size / sizeof(Elf64_Sym),
				.names = (const char *)names,
				.names_len = s->names_size,
			};
	}
	return (struct inj_elf_symbols){ 0 };
}

struct inj_elf_symbols inj_elf_symtab(const struct inj_elf *file)
{
	return section_symbols(file, SHT_SYMTAB);
}

static uint32_t word_at(const struct inj_elf *file, uint64_t addr)
{
	const uint8_t *p = inj_elf_get(file, addr, 4);
	uint32_t word = 0;

	if (p)
		memcpy(&word, p, sizeof(word));
	return word;
}

/*
 * How many symbols the dynamic linker could find: DT_HASH says so; in DT_GNU_HASH it is the end of
 * the chain that begins last, which an odd hash value ends.
 */
static uint64_t hashed_symbols(const struct inj_elf *file)
{
	uint64_t hash = file->dyn.gnu_hash, buckets, chains;
	uint32_t nbuckets, last = 0, first;

	if (!hash)
		return file->dyn.hash ? word_at(file, file->dyn.hash + 4) : 0;
	nbuckets = word_at(file, hash);
	first = word_at(file, hash + 4);
	buckets = hash + 16 + UINT64_C(8) * word_at(file, hash + 8);
	chains = buckets + UINT64_C(4) * nbuckets;
	if (!inj_elf_get(file, buckets, UINT64_C(4) * nbuckets))
		return 0;
	for (uint32_t i = 0; i < nbuckets; i++) {
		uint32_t at = word_at(file, buckets + UINT64_C(4) * i);

		last = at > last ? at : last;
	}
	if (last < first)
		return first;
	while (inj_elf_get(file, chains + UINT64_C(4) * (last - first), 4) &&
	       !(word_at(file, chains + UINT64_C(4) * (last - first)) & 1))
		last++;
	return (uint64_t)last + 1;
}

struct inj_elf_symbols inj_elf_dynsym(const struct inj_elf *file)
{
	struct inj_elf_symbols table = section_symbols(file, SHT_DYNSYM);
	uint64_t left, names_left;
	const uint8_t *syms, *names;

	if (table.n)
		return table;
	syms = inj_elf_at(file, file->dyn.symtab, &left);
	names = inj_elf_at(file, file->dyn.strtab, &names_left);
	if (!file->dyn.symtab || !syms || !names)
		return table;
	table.syms = syms;
	table.n = hashed_symbols(file);
	table.room = left / sizeof(Elf64_Sym);
	table.n = table.n < table.room ? table.n : table.room;
	table.names = (const char *)names;
	table.names_len = file->dyn.strtab_size < names_left ? file->dyn.strtab_size : names_left;
	return table;
}

Elf64_Sym inj_elf_symbol(const struct inj_elf_symbols *table, size_t i)
{
	Elf64_Sym sym;

	memcpy(&sym, table->syms + i * sizeof(sym), sizeof(sym));
	return sym;
}

const char *inj_elf_symbol_name(const struct inj_elf_symbols *table,
				     const Elf64_Sym *sym)
{
	size_t left;

	if (sym->st_name >= table->names_len)
		return "";
	left = table->names_len - sym->st_name;
	left = left < MAX_NAME ? left : MAX_NAME;
	return memchr(table->names + sym->st_name, '\0', left) ? table->names + sym->st_name : "";
}

/* ---- the unwind table ---- */

bool inj_elf_frames(const struct inj_elf *file, struct inj_eh *eh)
{
	const struct inj_elf_section *sec = inj_elf_section(file, ".eh_frame");
	struct inj_cursor header = { .addr = file->eh_frame_hdr }, *table = &eh->left;
	uint64_t left;

	*eh = (struct inj_eh){ .whole = sec != NULL };
	if (sec) {
		*table = (struct inj_cursor){ file->map + sec->offset, file->map + sec->offset + sec->size,
					      sec->addr, false };
	} else {
		header.at = file->eh_frame_hdr ? inj_elf_at(file, file->eh_frame_hdr, &left) : NULL;
		if (!header.at)
			return false;
		header.end = header.at + left;
		table->addr = inj_eh_start(header);
		table->at = inj_elf_at(file, table->addr, &left);
		table->end = table->at ? table->at + left : NULL;
	}
	eh->start = table->at;
	return eh->start != NULL;
}

/* ---- opening ---- */

static bool map_file(const char *path, struct inj_elf *file)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return false;
	file->map = map;
	file->len = (size_t)st.st_size;
	return true;
}

static bool check_header(const struct inj_elf *file, Elf64_Ehdr *eh)
{
	if (file->len < sizeof(*eh))
		return false;
	memcpy(eh, file->map, sizeof(*eh));
	return memcmp(eh->e_ident, ELFMAG, SELFMAG) == 0 && eh->e_ident[EI_CLASS] == ELFCLASS64 &&
	       eh->e_ident[EI_DATA] == ELFDATA2LSB && eh->e_machine == EM_X86_64 &&
	       (eh->e_type == ET_EXEC || eh->e_type == ET_DYN);
}

enum inj_status inj_elf_open(const char *path, struct inj_elf *file)
{
	enum inj_status status = INJ_NO_FILE;
	Elf64_Phdr dynamic;
	Elf64_Ehdr eh;

	*file = (struct inj_elf){ 0 };
	if (!map_file(path, file))
		return INJ_NO_FILE;
	if (check_header(file, &eh) && read_segments(file, &eh, &dynamic))
		status = read_sections(file, &eh) ? INJ_OK : INJ_MEMORY;
	if (status != INJ_OK) {
		inj_elf_close(file);
		return status;
	}
	file->type = eh.e_type;
	file->entry = eh.e_entry;
	if (dynamic.p_type == PT_DYNAMIC)
		read_dynamic(file, &dynamic);
	return INJ_OK;
}

void inj_elf_close(struct inj_elf *file)
{
	if (file->map)
		munmap((void *)(uintptr_t)file->map, file->len);
	free(file->secs);
	*file = (struct inj_elf){ 0 };
}
