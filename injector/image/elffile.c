// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "injector/image/elffile.h"

#include <fcntl.h>
#include <limits.h>
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

const struct inj_elf_segment *inj_elf_code(const struct inj_elf *file, uint64_t addr)
{
	for (size_t i = 0; i < file->nsegs; i++) {
		const struct inj_elf_segment *s = &file->segs[i];

		if ((s->flags & PF_X) && addr >= s->addr && addr - s->addr < s->len)
			return s;
	}
	return NULL;
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

static void note_interp(struct inj_elf *file, const Elf64_Phdr *ph)
{
	const char *name = (const char *)file_at(file, ph->p_offset, 1, 1);
	size_t left = name ? file->len - ph->p_offset : 0;

	if (file->has_interp)
		return;
	file->has_interp = true;
	if (name && memchr(name, '\0', left < PATH_MAX ? left : PATH_MAX))
		file->interp = name;
}

#define NOTE_ALIGN 4 /* also where a segment says 8: its notes have sizes that are multiples of that */

/* @bytes, and what pads them; NULL: they are not all there. */
static const uint8_t *take(const uint8_t **at, uint64_t *left, uint64_t bytes)
{
	const uint8_t *taken = *at;
	uint64_t whole = (bytes + NOTE_ALIGN - 1) / NOTE_ALIGN * NOTE_ALIGN;

	if (bytes > *left)
		return NULL;
	whole = whole < *left ? whole : *left;
	*at += whole;
	*left -= whole;
	return taken;
}

/* The notes (elf(5), "Notes") of one segment; the first build-id counts. */
static void note_build_id(struct inj_elf *file, const uint8_t *at, uint64_t left)
{
	const uint8_t *head, *name, *value;
	Elf64_Nhdr nh;

	while (at && !file->build_id && (head = take(&at, &left, sizeof(nh)))) {
		memcpy(&nh, head, sizeof(nh));
		name = take(&at, &left, nh.n_namesz);
		value = name ? take(&at, &left, nh.n_descsz) : NULL;
		if (!value)
			return;
		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != sizeof(ELF_NOTE_GNU) ||
		    memcmp(name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) != 0 || !nh.n_descsz ||
		    nh.n_descsz > INJ_BUILD_ID_MAX)
			continue;
		file->build_id = value;
		file->build_id_len = nh.n_descsz;
	}
}

/* *dynamic: all zero if there is none. */
static bool read_segments(struct inj_elf *file, const Elf64_Ehdr *eh, Elf64_Phdr *dynamic)
{
	const uint8_t *table = file_at(file, eh->e_phoff, eh->e_phnum, sizeof(*dynamic));

	*dynamic = (Elf64_Phdr){ 0 };
	if (!table)
		return false;
	for (size_t i = 0; i < eh->e_phnum; i++) {
		Elf64_Phdr ph;

		memcpy(&ph, table + i * sizeof(ph), sizeof(ph));
		if (ph.p_type == PT_LOAD) {
			add_segment(file, &ph);
		} else if (ph.p_type == PT_DYNAMIC) {
			*dynamic = ph;
		} else if (ph.p_type == PT_INTERP) {
			note_interp(file, &ph);
		} else if (ph.p_type == PT_NOTE) {
			note_build_id(file, file_at(file, ph.p_offset, ph.p_filesz, 1), ph.p_filesz);
		} else if (ph.p_type == PT_GNU_EH_FRAME) {
			file->eh_frame_hdr = ph.p_vaddr;
			file->eh_frame_hdr_size = ph.p_memsz;
		}
	}
	sort_segments(file);
	return true;
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

static Elf64_Dyn dynamic_at(const struct inj_elf *file, size_t i)
{
	Elf64_Dyn d;

	memcpy(&d, file->dynamic + i * sizeof(d), sizeof(d));
	return d;
}

static void read_dynamic(struct inj_elf *file, const Elf64_Phdr *ph)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(file, ph->p_vaddr, &left);

	left = left < ph->p_filesz ? left : ph->p_filesz;
	file->dynamic = p;
	for (; p && left >= sizeof(Elf64_Dyn); left -= sizeof(Elf64_Dyn), file->ndynamic++) {
		Elf64_Dyn d = dynamic_at(file, file->ndynamic);

		if (d.d_tag == DT_NULL)
			break;
		if (d.d_tag == DT_DEBUG)
			file->dyn.debug = ph->p_vaddr + file->ndynamic * sizeof(d) + offsetof(Elf64_Dyn, d_un);
		note_dynamic(&file->dyn, &d);
	}
}

const char *inj_elf_needed(const struct inj_elf *file, size_t *at)
{
	while (*at < file->ndynamic) {
		Elf64_Dyn d = dynamic_at(file, (*at)++);
		uint64_t left;
		const char *names = (const char *)inj_elf_at(file, file->dyn.strtab, &left);

		if (d.d_tag == DT_NEEDED && names && d.d_un.d_val < left &&
		    memchr(names + d.d_un.d_val, '\0', left - d.d_un.d_val))
			return names + d.d_un.d_val;
	}
	return NULL;
}

/* ---- sections ---- */

static int section_order(const void *a, const void *b)
{
	const struct inj_elf_section *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static const char *section_name(const struct inj_elf *file, uint32_t at)
{
	const Elf64_Shdr *names = &file->names;
	const char *table = (const char *)file_at(file, names->sh_offset, names->sh_size, 1);

	if (!table || at >= names->sh_size || !memchr(table + at, '\0', names->sh_size - at))
		return "";
	return table + at;
}

const char *inj_elf_section_header(const struct inj_elf *file, size_t index, Elf64_Shdr *sh)
{
	if (index >= file->nheaders)
		return NULL;
	memcpy(sh, file->headers + index * sizeof(*sh), sizeof(*sh));
	return section_name(file, sh->sh_name);
}

static void add_section(struct inj_elf *file, size_t index)
{
	Elf64_Shdr sh, linked = { 0 };
	const char *name = inj_elf_section_header(file, index, &sh);

	if (sh.sh_type == SHT_NULL || sh.sh_type == SHT_NOBITS || !file_at(file, sh.sh_offset, sh.sh_size, 1))
		return;
	inj_elf_section_header(file, sh.sh_link, &linked);
	file->secs[file->nsecs++] = (struct inj_elf_section){
		.name = name,
		.addr = sh.sh_flags & SHF_ALLOC ? sh.sh_addr : 0,
		.size = sh.sh_size,
		.offset = sh.sh_offset,
		.flags = sh.sh_flags,
		.names = linked.sh_offset,
		.names_size = linked.sh_size,
		.type = sh.sh_type,
	};
}

static bool read_sections(struct inj_elf *file, const Elf64_Ehdr *eh)
{
	const uint8_t *table = file_at(file, eh->e_shoff, eh->e_shnum, sizeof(Elf64_Shdr));

	if (!table || !eh->e_shoff || eh->e_shentsize != sizeof(Elf64_Shdr))
		return true;
	file->secs = calloc(eh->e_shnum + 1u, sizeof(*file->secs));
	if (!file->secs)
		return false;
	file->headers = table;
	file->nheaders = eh->e_shnum;
	inj_elf_section_header(file, eh->e_shstrndx, &file->names);
	for (size_t i = 0; i < file->nheaders && file->nsecs < INJ_ELF_SECTIONS; i++)
		add_section(file, i);
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

static uint32_t word(const uint8_t *table, uint64_t i)
{
	uint32_t value;

	memcpy(&value, table + 4 * i, sizeof(value));
	return value;
}

/* Number of buckets, first symbol, words of the Bloom filter, shift; filter, buckets, chains. */
uint64_t inj_gnu_hash_symbols(const uint8_t *table, uint64_t len)
{
	uint64_t words = len / 4, nbuckets, first, buckets, last = 0;

	if (words < 4)
		return 0;
	nbuckets = word(table, 0);
	first = word(table, 1);
	buckets = 4 + UINT64_C(2) * word(table, 2);
	if (buckets > words || nbuckets > words - buckets)
		return 0;
	for (uint64_t i = 0; i < nbuckets; i++) {
		uint64_t at = word(table, buckets + i);

		last = at > last ? at : last;
	}
	if (last < first)
		return first;
	for (uint64_t at = buckets + nbuckets + (last - first); at < words; at++, last++)
		if (word(table, at) & 1)
			return last + 1;
	return 0;
}

/* How many symbols the dynamic linker could find. */
static uint64_t hashed_symbols(const struct inj_elf *file)
{
	uint64_t left;
	const uint8_t *table;

	if (file->dyn.gnu_hash) {
		table = inj_elf_at(file, file->dyn.gnu_hash, &left);
		return inj_gnu_hash_symbols(table, left);
	}
	table = file->dyn.hash ? inj_elf_get(file, file->dyn.hash, 8) : NULL;
	return table ? word(table, 1) : 0;
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

static const char *map_file(const char *path, struct inj_elf *file)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	void *map = MAP_FAILED;

	if (fd < 0)
		return "cannot be read";
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map == MAP_FAILED)
		return "cannot be read";
	file->map = map;
	file->len = (size_t)st.st_size;
	return NULL;
}

static const char *header_problem(const struct inj_elf *file, Elf64_Ehdr *eh)
{
	if (file->len < SELFMAG || memcmp(file->map, ELFMAG, SELFMAG) != 0)
		return "is not an ELF file";
	if (file->len < sizeof(*eh))
		return "is a truncated ELF file";
	memcpy(eh, file->map, sizeof(*eh));
	if (eh->e_ident[EI_DATA] != ELFDATA2LSB)
		return "is not a program for x86-64";
	if (eh->e_machine == EM_386)
		return "is a 32-bit program; Sonde traces 64-bit ones";
	if (eh->e_machine != EM_X86_64)
		return "is not a program for x86-64";
	if (eh->e_ident[EI_CLASS] != ELFCLASS64)
		return "is an x32 program; Sonde traces 64-bit ones";
	if (eh->e_type != ET_EXEC && eh->e_type != ET_DYN)
		return "is an object file, not a program";
	if (eh->e_phentsize != sizeof(Elf64_Phdr) || eh->e_phnum == 0)
		return "is a damaged ELF file";
	return NULL;
}

/*
 * Files packed by UPX (its src/conf.h, src/packhead.cpp, src/stub/src/include/linux.h) hold no code of the program, but for what unpacks it into
 * memory.  Two headers say so, each with the format that is meant: l_info after the program headers, and the packer's near the file's
 * end.  One is enough, since who does not want to be unpacked overwrites the other.
 */
#define UPX_ELF64_X86_64 22 /* UPX_F_LINUX_ELF64_AMD64 */
#define UPX_TAIL 64	    /* bytes: the packer's header, and what may come after it */

static bool is_packed(const struct inj_elf *file, const Elf64_Ehdr *eh)
{
	static const char magic[4] = "UPX!";
	const uint8_t *info = file_at(file, eh->e_phoff, eh->e_phnum + 1u, sizeof(Elf64_Phdr)), *tail = file->map + file->len - UPX_TAIL;

	if (info)
		info += eh->e_phnum * sizeof(Elf64_Phdr); /* checksum, magic, 2 bytes of length, version, format */
	if (info && memcmp(info + 4, magic, sizeof(magic)) == 0 && info[11] == UPX_ELF64_X86_64)
		return true;
	if (file->len < sizeof(*eh) + UPX_TAIL)
		return false;
	for (int i = 0; i + 6 <= UPX_TAIL; i++) /* magic, version, format */
		if (memcmp(tail + i, magic, sizeof(magic)) == 0 && tail[i + 5] == UPX_ELF64_X86_64)
			return true;
	return false;
}

static enum inj_status read_file(struct inj_elf *file)
{
	Elf64_Phdr dynamic;
	Elf64_Ehdr eh;

	file->problem = header_problem(file, &eh);
	if (!file->problem && is_packed(file, &eh))
		file->problem = "is packed by UPX; unpack it with `upx -d'";
	if (!file->problem && !read_segments(file, &eh, &dynamic))
		file->problem = "is a truncated ELF file";
	if (file->problem)
		return INJ_NO_FILE;
	file->type = eh.e_type;
	file->entry = eh.e_entry;
	if (dynamic.p_type == PT_DYNAMIC)
		read_dynamic(file, &dynamic);
	if (read_sections(file, &eh))
		return INJ_OK;
	file->problem = "out of memory";
	return INJ_MEMORY;
}

enum inj_status inj_elf_open(const char *path, struct inj_elf *file)
{
	enum inj_status status = INJ_NO_FILE;
	const char *problem;

	*file = (struct inj_elf){ 0 };
	file->problem = map_file(path, file);
	if (!file->problem)
		status = read_file(file);
	if (status != INJ_OK) {
		problem = file->problem;
		inj_elf_close(file);
		file->problem = problem;
	}
	return status;
}

void inj_elf_close(struct inj_elf *file)
{
	if (file->map)
		munmap((void *)(uintptr_t)file->map, file->len);
	free(file->secs);
	*file = (struct inj_elf){ 0 };
}
