/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every address and length from the file goes through inj_image_at() or a check against the file's
 * size, both without sums that could wrap. A zero page after the image ends every string: a
 * hostile relocation may write over the end of a string that has been looked at already.
 */
#include "injector/image/elffile.h"
#include "injector/image/elfimage.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

#define PAGE UINT64_C(4096)
#define MAX_PHDRS 128

#ifndef DT_RELRSZ
#define DT_RELRSZ 35
#define DT_RELR 36
#endif

struct file {
	const uint8_t *bytes;
	uint64_t len;
};

const char *inj_image_text(enum inj_image_status status)
{
	switch (status) {
	case INJ_IMAGE_OK:
		return "no error";
	case INJ_IMAGE_IO:
		return "cannot be read";
	case INJ_IMAGE_MEMORY:
		return "out of memory";
	case INJ_IMAGE_NOT_ELF:
		return "is not an ELF shared object";
	case INJ_IMAGE_MACHINE:
		return "is not for x86-64";
	case INJ_IMAGE_BAD:
		return "is a damaged ELF file";
	case INJ_IMAGE_TOO_BIG:
		return "takes too much memory";
	case INJ_IMAGE_NO_SYMBOL:
		return "has no such symbol";
	case INJ_IMAGE_RELOC:
		return "has relocations that only the dynamic linker can do";
	case INJ_IMAGE_UNDEFINED:
		return "has undefined symbols";
	}
	return "unknown error";
}

/* ---- access ---- */

void *inj_image_at(const struct inj_image *img, uint64_t vaddr, uint64_t len)
{
	if (vaddr > img->size || len > img->size - vaddr)
		return NULL;
	return img->mem + vaddr;
}

const char *inj_image_string(const struct inj_image *img, uint64_t vaddr)
{
	if (vaddr >= img->size)
		return NULL;
	const char *s = (const char *)img->mem + vaddr;

	return memchr(s, '\0', img->size - vaddr) ? s : NULL;
}

/* ---- laying out ---- */

static enum inj_image_status check_header(const struct file *f, Elf64_Ehdr *h)
{
	if (f->len < sizeof(*h))
		return INJ_IMAGE_NOT_ELF;
	memcpy(h, f->bytes, sizeof(*h));
	if (memcmp(h->e_ident, ELFMAG, SELFMAG) != 0)
		return INJ_IMAGE_NOT_ELF;
	if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB ||
	    h->e_machine != EM_X86_64)
		return INJ_IMAGE_MACHINE;
	if (h->e_type != ET_DYN)
		return INJ_IMAGE_NOT_ELF;
	if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 || h->e_phnum > MAX_PHDRS)
		return INJ_IMAGE_BAD;
	if (h->e_phoff > f->len || h->e_phnum * sizeof(Elf64_Phdr) > f->len - h->e_phoff)
		return INJ_IMAGE_NOT_ELF;
	return INJ_IMAGE_OK;
}

static enum inj_image_status add_segment(const struct file *f, const Elf64_Phdr *ph,
					 struct inj_image *img)
{
	uint64_t end = img->size;

	if (ph->p_filesz > ph->p_memsz || ph->p_offset > f->len ||
	    ph->p_filesz > f->len - ph->p_offset)
		return INJ_IMAGE_BAD;
	if (ph->p_vaddr > INJ_IMAGE_MAX || ph->p_memsz > INJ_IMAGE_MAX - ph->p_vaddr)
		return INJ_IMAGE_TOO_BIG;
	if (ph->p_vaddr < end)
		return INJ_IMAGE_BAD;
	img->segments[img->nsegments++] = (struct inj_segment){
		.vaddr = ph->p_vaddr,
		.memsz = ph->p_memsz,
		.filesz = ph->p_filesz,
		.flags = ph->p_flags,
	};
	img->size = ph->p_vaddr + ph->p_memsz;
	return INJ_IMAGE_OK;
}

static void note_phdr(const Elf64_Phdr *ph, struct inj_image *img)
{
	switch (ph->p_type) {
	case PT_GNU_RELRO:
		img->relro = ph->p_vaddr;
		img->relro_size = ph->p_memsz;
		break;
	case PT_GNU_EH_FRAME:
		img->eh_frame_hdr = ph->p_vaddr;
		img->eh_frame_hdr_size = ph->p_memsz;
		break;
	case PT_TLS:
		img->has_tls = true;
		break;
	default:
		break;
	}
}

static enum inj_image_status read_phdrs(const struct file *f, const Elf64_Ehdr *h,
					Elf64_Phdr *phdrs, struct inj_image *img)
{
	memcpy(phdrs, f->bytes + h->e_phoff, h->e_phnum * sizeof(*phdrs));
	img->segments = calloc(h->e_phnum, sizeof(*img->segments));
	if (!img->segments)
		return INJ_IMAGE_MEMORY;
	for (size_t i = 0; i < h->e_phnum; i++) {
		enum inj_image_status status = INJ_IMAGE_OK;

		if (phdrs[i].p_type == PT_LOAD)
			status = add_segment(f, &phdrs[i], img);
		else
			note_phdr(&phdrs[i], img);
		if (status)
			return status;
	}
	img->size = (img->size + PAGE - 1) & ~(PAGE - 1);
	return img->size ? INJ_IMAGE_OK : INJ_IMAGE_BAD;
}

/* What lies outside the image is as if it were not there. */
static void drop_bad_ranges(struct inj_image *img)
{
	if (!inj_image_at(img, img->relro, img->relro_size))
		img->relro = img->relro_size = 0;
	if (!inj_image_at(img, img->eh_frame_hdr, img->eh_frame_hdr_size))
		img->eh_frame_hdr = img->eh_frame_hdr_size = 0;
}

static enum inj_image_status fill_memory(const struct file *f, const Elf64_Phdr *phdrs, size_t n,
					 struct inj_image *img)
{
	size_t len = img->size + PAGE;
	void *mem = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mem == MAP_FAILED)
		return INJ_IMAGE_MEMORY;
	img->mem = mem;
	img->mapped = len;
	for (size_t i = 0; i < n; i++) {
		if (phdrs[i].p_type == PT_LOAD && phdrs[i].p_filesz)
			memcpy(img->mem + phdrs[i].p_vaddr, f->bytes + phdrs[i].p_offset,
			       phdrs[i].p_filesz);
	}
	return INJ_IMAGE_OK;
}

/* ---- the dynamic section ---- */

struct dynamic {
	uint64_t hash, gnu_hash, relaent, syment, relrent;
};

static void note_dynamic(const Elf64_Dyn *d, struct inj_image *img, struct dynamic *dyn)
{
	const struct {
		int64_t tag;
		uint64_t *member;
	} members[] = {
		{ DT_SYMTAB, &img->dynsym },     { DT_STRTAB, &img->dynstr },
		{ DT_STRSZ, &img->dynstr_size }, { DT_RELA, &img->rela },
		{ DT_RELASZ, &img->rela_size },  { DT_JMPREL, &img->jmprel },
		{ DT_PLTRELSZ, &img->jmprel_size }, { DT_RELR, &img->relr },
		{ DT_RELRSZ, &img->relr_size },  { DT_HASH, &dyn->hash },
		{ DT_GNU_HASH, &dyn->gnu_hash }, { DT_RELAENT, &dyn->relaent },
		{ DT_SYMENT, &dyn->syment },
	};

	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		if (members[i].tag == d->d_tag)
			*members[i].member = d->d_un.d_val;
	}
}

static bool read_u32(const struct inj_image *img, uint64_t vaddr, uint32_t *value)
{
	const void *p = inj_image_at(img, vaddr, sizeof(*value));

	if (p)
		memcpy(value, p, sizeof(*value));
	return p != NULL;
}

static uint64_t count_symbols(const struct inj_image *img, const struct dynamic *dyn)
{
	const uint8_t *table;
	uint32_t nchain;

	if (dyn->hash && read_u32(img, dyn->hash + 4, &nchain))
		return nchain;
	table = dyn->gnu_hash ? inj_image_at(img, dyn->gnu_hash, 0) : NULL;
	return table ? inj_gnu_hash_symbols(table, img->size - dyn->gnu_hash) : 0;
}

static bool table_inside(const struct inj_image *img, uint64_t at, uint64_t size, uint64_t entry)
{
	return size == 0 || (size % entry == 0 && inj_image_at(img, at, size));
}

static enum inj_image_status check_dynamic(struct inj_image *img, const struct dynamic *dyn)
{
	if ((dyn->relaent && dyn->relaent != sizeof(Elf64_Rela)) ||
	    (dyn->syment && dyn->syment != sizeof(Elf64_Sym)))
		return INJ_IMAGE_BAD;
	if (!table_inside(img, img->rela, img->rela_size, sizeof(Elf64_Rela)) ||
	    !table_inside(img, img->jmprel, img->jmprel_size, sizeof(Elf64_Rela)) ||
	    !table_inside(img, img->relr, img->relr_size, sizeof(uint64_t)) ||
	    !inj_image_at(img, img->dynstr, img->dynstr_size))
		return INJ_IMAGE_BAD;
	img->nsyms = count_symbols(img, dyn);
	if (img->nsyms > img->size / sizeof(Elf64_Sym) ||
	    !inj_image_at(img, img->dynsym, img->nsyms * sizeof(Elf64_Sym)))
		return INJ_IMAGE_BAD;
	return INJ_IMAGE_OK;
}

static enum inj_image_status read_dynamic(const Elf64_Phdr *phdrs, size_t n, struct inj_image *img)
{
	struct dynamic dyn = { 0 };
	size_t at = 0;

	while (at < n && phdrs[at].p_type != PT_DYNAMIC)
		at++;
	if (at == n)
		return INJ_IMAGE_OK; /* nothing to relocate, nothing exported */
	const uint8_t *p = inj_image_at(img, phdrs[at].p_vaddr, phdrs[at].p_memsz);
	if (!p)
		return INJ_IMAGE_BAD;
	for (uint64_t i = 0; i < phdrs[at].p_memsz / sizeof(Elf64_Dyn); i++) {
		Elf64_Dyn d;

		memcpy(&d, p + i * sizeof(d), sizeof(d));
		if (d.d_tag == DT_NULL)
			break;
		note_dynamic(&d, img, &dyn);
	}
	return check_dynamic(img, &dyn);
}

/* ---- opening ---- */

enum inj_image_status inj_image_parse(const void *bytes, size_t len, struct inj_image *img)
{
	struct file f = { bytes, len };
	Elf64_Phdr phdrs[MAX_PHDRS];
	Elf64_Ehdr h;

	*img = (struct inj_image){ 0 };
	enum inj_image_status status = check_header(&f, &h);
	if (!status)
		status = read_phdrs(&f, &h, phdrs, img);
	if (!status)
		status = fill_memory(&f, phdrs, h.e_phnum, img);
	if (!status) {
		drop_bad_ranges(img);
		status = read_dynamic(phdrs, h.e_phnum, img);
	}
	if (status)
		inj_image_close(img);
	return status;
}

/* read(), not mmap(): a file that shrinks meanwhile would kill us by SIGBUS. */
static void *read_file(int fd, size_t *len)
{
	struct stat st;

	if (fstat(fd, &st) != 0)
		return NULL;
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)(4 * INJ_IMAGE_MAX)) {
		errno = S_ISDIR(st.st_mode) ? EISDIR : EFBIG;
		return NULL;
	}
	uint8_t *bytes = malloc((size_t)st.st_size + 1);
	*len = 0;
	while (bytes && *len < (size_t)st.st_size) {
		ssize_t n = pread(fd, bytes + *len, (size_t)st.st_size - *len, (off_t)*len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			free(bytes);
			return NULL;
		}
		if (n == 0)
			break;
		*len += (size_t)n;
	}
	return bytes;
}

enum inj_image_status inj_image_open(const char *path, struct inj_image *img)
{
	size_t len;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	*img = (struct inj_image){ 0 };
	if (fd < 0)
		return INJ_IMAGE_IO;
	void *bytes = read_file(fd, &len);
	int saved = errno;
	close(fd);
	errno = saved;
	if (!bytes)
		return INJ_IMAGE_IO;
	enum inj_image_status status = inj_image_parse(bytes, len, img);
	free(bytes);
	return status;
}

/* Whoever finds the file in /proc can neither cut it off nor change it. */
static void *map_copy(struct inj_image *from)
{
	if (!from->fd && !files_are_scarce()) {
		int fd = memfd_create("sonde-image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

		if (fd > 0 && write(fd, from->mem, from->mapped) == (ssize_t)from->mapped &&
		    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
			from->fd = fd;
		else if (fd >= 0)
			close(fd);
	}
	if (from->fd)
		return mmap(NULL, from->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE, from->fd, 0);
	return mmap(NULL, from->mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

enum inj_image_status inj_image_copy(struct inj_image *from, struct inj_image *img)
{
	size_t bytes = from->nsegments * sizeof(*from->segments);
	void *mem = map_copy(from);

	*img = *from;
	img->fd = 0;
	img->mem = mem == MAP_FAILED ? NULL : mem;
	img->segments = malloc(bytes + 1);
	if (!img->mem || !img->segments) {
		inj_image_close(img);
		return INJ_IMAGE_MEMORY;
	}
	if (!from->fd)
		memcpy(img->mem, from->mem, from->mapped);
	memcpy(img->segments, from->segments, bytes);
	return INJ_IMAGE_OK;
}

void inj_image_close(struct inj_image *img)
{
	if (img->mem)
		munmap(img->mem, img->mapped);
	if (img->fd)
		close(img->fd);
	free(img->segments);
	*img = (struct inj_image){ 0 };
}

/* ---- symbols ---- */

static bool get_symbol(const struct inj_image *img, uint64_t index, Elf64_Sym *sym)
{
	if (index > img->size / sizeof(*sym))
		return false;
	const void *p = inj_image_at(img, img->dynsym + index * sizeof(*sym), sizeof(*sym));

	if (p)
		memcpy(sym, p, sizeof(*sym));
	return p != NULL;
}

static const char *symbol_name(const struct inj_image *img, const Elf64_Sym *sym)
{
	if (sym->st_name >= img->dynstr_size)
		return NULL;
	return inj_image_string(img, img->dynstr + sym->st_name);
}

enum inj_image_status inj_image_symbol(const struct inj_image *img, const char *name,
				       uint64_t *vaddr)
{
	for (uint64_t i = 1; i < img->nsyms; i++) {
		Elf64_Sym sym;
		const char *found;

		if (!get_symbol(img, i, &sym) || sym.st_shndx == SHN_UNDEF ||
		    ELF64_ST_BIND(sym.st_info) == STB_LOCAL)
			continue;
		found = symbol_name(img, &sym);
		if (found && strcmp(found, name) == 0) {
			if (sym.st_value >= img->size)
				return INJ_IMAGE_BAD;
			*vaddr = sym.st_value;
			return INJ_IMAGE_OK;
		}
	}
	return INJ_IMAGE_NO_SYMBOL;
}

/* ---- relocation ---- */

struct reloc_job {
	struct inj_image *img;
	uint64_t base;
	inj_resolver resolver;
	void *arg;
	struct inj_undefined *undefined;
	uint8_t *seen;	/* one bit a symbol: undefined ones are listed once */
	size_t nseen;	/* bits */
	bool unsupported, missing;
};

static enum inj_image_status list_undefined(struct reloc_job *job, uint64_t index, const char *name)
{
	struct inj_undefined *u = job->undefined;

	job->missing = true;
	if (!u || index >= job->nseen || (job->seen[index / 8] & 1u << index % 8))
		return INJ_IMAGE_OK;
	job->seen[index / 8] |= (uint8_t)(1u << index % 8);
	/* Grown at powers of two. */
	if ((u->n & (u->n - 1)) == 0) {
		const char **names = reallocarray(u->names, u->n ? 2 * u->n : 1, sizeof(*names));

		if (!names)
			return INJ_IMAGE_MEMORY;
		u->names = names;
	}
	u->names[u->n++] = name;
	return INJ_IMAGE_OK;
}

static enum inj_image_status resolve_undefined(struct reloc_job *job, uint64_t index,
					       const Elf64_Sym *sym, uint64_t *addr)
{
	const char *name = symbol_name(job->img, sym);

	*addr = 0;
	if (!name)
		return INJ_IMAGE_BAD;
	if (job->resolver && job->resolver(job->arg, name, addr))
		return INJ_IMAGE_OK;
	*addr = 0;
	if (ELF64_ST_BIND(sym->st_info) == STB_WEAK)
		return INJ_IMAGE_OK;
	return list_undefined(job, index, name);
}

/* S of the relocation's formula. Symbol 0 stands for no symbol, value 0. */
static enum inj_image_status symbol_value(struct reloc_job *job, uint64_t index, uint64_t *addr)
{
	Elf64_Sym sym;

	*addr = 0;
	if (index == 0)
		return INJ_IMAGE_OK;
	if (!get_symbol(job->img, index, &sym))
		return INJ_IMAGE_BAD;
	if (sym.st_shndx == SHN_UNDEF)
		return resolve_undefined(job, index, &sym, addr);
	if (ELF64_ST_TYPE(sym.st_info) == STT_GNU_IFUNC || ELF64_ST_TYPE(sym.st_info) == STT_TLS) {
		job->unsupported = true;
		return INJ_IMAGE_OK;
	}
	*addr = sym.st_value + (sym.st_shndx == SHN_ABS ? 0 : job->base);
	return INJ_IMAGE_OK;
}

static enum inj_image_status apply_one(struct reloc_job *job, const Elf64_Rela *r)
{
	enum inj_image_status status = INJ_IMAGE_OK;
	uint64_t value;

	switch (ELF64_R_TYPE(r->r_info)) {
	case R_X86_64_NONE:
		return INJ_IMAGE_OK;
	case R_X86_64_RELATIVE:
		value = job->base + (uint64_t)r->r_addend;
		break;
	case R_X86_64_64:
		status = symbol_value(job, ELF64_R_SYM(r->r_info), &value);
		value += (uint64_t)r->r_addend;
		break;
	case R_X86_64_GLOB_DAT:
	case R_X86_64_JUMP_SLOT:
		status = symbol_value(job, ELF64_R_SYM(r->r_info), &value);
		break;
	default:
		job->unsupported = true;
		return INJ_IMAGE_OK;
	}
	if (status)
		return status;
	void *place = inj_image_at(job->img, r->r_offset, sizeof(value));
	if (!place)
		return INJ_IMAGE_BAD;
	memcpy(place, &value, sizeof(value));
	return INJ_IMAGE_OK;
}

static enum inj_image_status apply_table(struct reloc_job *job, uint64_t at, uint64_t size)
{
	for (uint64_t i = 0; i < size / sizeof(Elf64_Rela); i++) {
		Elf64_Rela r;

		memcpy(&r, job->img->mem + at + i * sizeof(r), sizeof(r));
		enum inj_image_status status = apply_one(job, &r);
		if (status)
			return status;
	}
	return INJ_IMAGE_OK;
}

static bool add_at(struct inj_image *img, uint64_t vaddr, uint64_t delta)
{
	uint8_t *p = inj_image_at(img, vaddr, sizeof(delta));
	uint64_t word;

	if (!p)
		return false;
	memcpy(&word, p, sizeof(word));
	word += delta;
	memcpy(p, &word, sizeof(word));
	return true;
}

/*
 * DT_RELR: an even word is the address of a relative relocation; an odd one a bitmap of the 63 words
 * that follow the last one. Its addends are in place, so the base is exchanged for the new one.
 * (Generic ABI, "Relative Relocation Table".)
 */
static enum inj_image_status apply_relr(struct inj_image *img, uint64_t base)
{
	uint64_t delta = base - img->relr_base;
	uint64_t next = 0;

	for (uint64_t i = 0; i < img->relr_size / 8; i++) {
		uint64_t entry;

		memcpy(&entry, img->mem + img->relr + 8 * i, sizeof(entry));
		if (!(entry & 1)) {
			if (!add_at(img, entry, delta))
				return INJ_IMAGE_BAD;
			next = entry + 8;
			continue;
		}
		for (uint64_t bit = 1; bit < 64; bit++) {
			if ((entry >> bit & 1) && !add_at(img, next + 8 * (bit - 1), delta))
				return INJ_IMAGE_BAD;
		}
		next += 8 * 63;
	}
	img->relr_base = base;
	return INJ_IMAGE_OK;
}

static enum inj_image_status run_job(struct reloc_job *job)
{
	struct inj_image *img = job->img;
	enum inj_image_status status = apply_relr(img, job->base);

	if (!status)
		status = apply_table(job, img->rela, img->rela_size);
	/* Some linkers count DT_JMPREL's part of DT_RELA in DT_RELASZ; twice is harmless. */
	if (!status)
		status = apply_table(job, img->jmprel, img->jmprel_size);
	if (status)
		return status;
	if (job->unsupported)
		return INJ_IMAGE_RELOC;
	return job->missing ? INJ_IMAGE_UNDEFINED : INJ_IMAGE_OK;
}

enum inj_image_status inj_image_relocate(struct inj_image *img, uint64_t base,
					 inj_resolver resolver, void *arg,
					 struct inj_undefined *undefined)
{
	struct reloc_job job = {
		.img = img,
		.base = base,
		.resolver = resolver,
		.arg = arg,
		.undefined = undefined,
		.nseen = img->size / sizeof(Elf64_Sym) + 1,
	};

	if (undefined)
		*undefined = (struct inj_undefined){ 0 };
	job.seen = calloc(job.nseen / 8 + 1, 1);
	if (!job.seen)
		return INJ_IMAGE_MEMORY;
	enum inj_image_status status = run_job(&job);
	free(job.seen);
	return status;
}

void inj_undefined_free(struct inj_undefined *u)
{
	free(u->names);
	*u = (struct inj_undefined){ 0 };
}
