// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Functions of an ELF file: its symbols, and where there are none what .eh_frame_hdr points to (Linux
 * Standard Base, "Exception Frames"; only the encodings that linkers write).
 */
#include <err.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/oracle/oracle.h"

struct symbol {
	uint64_t addr, size;
	const char *name;
	const char *file; /* of local ones: what the file's symbol before them said */
	bool frame;	  /* from an unwind table */
};

struct reading {
	Elf *elf;
	struct symbol *v;
	size_t n;
};

void die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	verrx(99, format, args);
}

static void *grow(void *v, size_t n, size_t each)
{
	v = realloc(v, n * each);
	if (!v)
		die("no memory");
	return v;
}

static void add(struct reading *r, struct symbol s)
{
	if (r->n % 1024 == 0)
		r->v = grow(r->v, r->n + 1024, sizeof(*r->v));
	r->v[r->n++] = s;
}

/* Executable, and not a PLT: where a function may lie. */
static bool in_code(struct reading *r, uint64_t addr, uint64_t *end)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	elf_getshdrstrndx(r->elf, &names);
	while ((scn = elf_nextscn(r->elf, scn))) {
		gelf_getshdr(scn, &sh);
		if (!(sh.sh_flags & SHF_EXECINSTR) || addr < sh.sh_addr || addr >= sh.sh_addr + sh.sh_size)
			continue;
		*end = sh.sh_addr + sh.sh_size;
		return strncmp(elf_strptr(r->elf, names, sh.sh_name), ".plt", 4) != 0;
	}
	return false;
}

static void read_symbols(struct reading *r, Elf *elf, Elf_Scn *scn, const GElf_Shdr *sh)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	const char *file = "";
	GElf_Sym sym;

	for (size_t i = 0; data && i < sh->sh_size / sh->sh_entsize; i++) {
		const char *name;
		int type;

		gelf_getsym(data, (int)i, &sym);
		name = elf_strptr(elf, sh->sh_link, sym.st_name);
		type = GELF_ST_TYPE(sym.st_info);
		if (type == STT_FILE)
			file = name;
		if ((type != STT_FUNC && type != STT_GNU_IFUNC) || sym.st_shndx == SHN_UNDEF || !name)
			continue;
		add(r, (struct symbol){ .addr = sym.st_value, .size = sym.st_size, .name = name,
			.file = GELF_ST_BIND(sym.st_info) == STB_LOCAL ? file : "" });
	}
}

static int32_t word(const uint8_t *p)
{
	int32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

/* A sorted table of pairs, relative to the header: where code starts, where its FDE is. */
static void read_frames(struct reading *r, const GElf_Shdr *hdr, const uint8_t *h, const GElf_Shdr *eh,
			const uint8_t *e)
{
	if (hdr->sh_size < 12 || h[1] != 0x1b || h[2] != 0x03 || h[3] != 0x3b)
		die("an .eh_frame_hdr of another encoding");
	for (int32_t i = 0; i < word(h + 8); i++) {
		const uint8_t *entry = h + 12 + 8 * i;
		uint64_t start = hdr->sh_addr + (uint64_t)(int64_t)word(entry);
		uint64_t fde = hdr->sh_addr + (uint64_t)(int64_t)word(entry + 4);

		if (fde < eh->sh_addr || fde + 16 > eh->sh_addr + eh->sh_size)
			die("an FDE outside of .eh_frame");
		add(r, (struct symbol){ .addr = start, .frame = true,
			.size = (uint32_t)word(e + (fde - eh->sh_addr) + 12) });
	}
}

static void read_sections(struct reading *r, Elf *elf)
{
	GElf_Shdr sh, hdr = { 0 }, eh = { 0 };
	const uint8_t *h = NULL, *e = NULL;
	Elf_Scn *scn = NULL;
	size_t names;

	elf_getshdrstrndx(elf, &names);
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;

		gelf_getshdr(scn, &sh);
		name = elf_strptr(elf, names, sh.sh_name);
		if (sh.sh_type == SHT_NOBITS)
			continue; /* in a debug file */
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			read_symbols(r, elf, scn, &sh);
		if (strcmp(name, ".eh_frame_hdr") == 0) {
			hdr = sh;
			h = elf_rawdata(scn, NULL)->d_buf;
		} else if (strcmp(name, ".eh_frame") == 0) {
			eh = sh;
			e = elf_rawdata(scn, NULL)->d_buf;
		}
	}
	if (h && e)
		read_frames(r, &hdr, h, &eh, e);
}

/* By address; of one address symbols before frames, then by name. */
static int by_addr(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	if (x->frame != y->frame)
		return x->frame - y->frame;
	return x->name && y->name ? strcmp(x->name, y->name) : 0;
}

static char *joined(char *names, const char *name)
{
	size_t len = names ? strlen(names) : 0, more = strlen(name);
	char *at;

	/* sorted: a name that is there already (.symtab and .dynsym) is the last one */
	at = names ? strrchr(names, '|') : NULL;
	if (names && strcmp(at ? at + 1 : names, name) == 0)
		return names;
	names = grow(names, len + more + 2, 1);
	if (len)
		names[len++] = '|';
	memcpy(names + len, name, more + 1);
	return names;
}

static void make_functions(struct object *o, struct reading *r, const char ***files)
{
	uint64_t end = 0, limit;

	qsort(r->v, r->n, sizeof(*r->v), by_addr);
	o->fns = grow(NULL, r->n + 1, sizeof(*o->fns));
	*files = grow(NULL, r->n + 1, sizeof(**files));
	for (size_t i = 0; i < r->n; i++) {
		const struct symbol *s = &r->v[i];
		struct function *f = o->nfns ? &o->fns[o->nfns - 1] : NULL;

		if (!in_code(r, s->addr, &limit) || (s->frame && s->addr < end))
			continue;
		if (!f || f->addr != s->addr) {
			f = &o->fns[o->nfns];
			*f = (struct function){ .addr = s->addr };
			(*files)[o->nfns++] = s->file ? s->file : "";
		}
		if (s->name)
			f->names = joined(f->names, s->name);
		if (s->size > f->size)
			f->size = s->size;
		if (f->addr + f->size > end)
			end = f->addr + f->size;
	}
}

/* Up to the next function at most; without a size up to it, or to the section's end. */
static void cut_functions(struct object *o, struct reading *r)
{
	for (size_t i = 0; i < o->nfns; i++) {
		struct function *f = &o->fns[i];
		uint64_t limit = 0;

		in_code(r, f->addr, &limit);
		if (i + 1 < o->nfns && f[1].addr < limit)
			limit = f[1].addr;
		if (f->size == 0 || f->addr + f->size > limit)
			f->size = limit - f->addr;
		if (!f->names && asprintf(&f->names, "sub_%lx", f->addr) < 0)
			die("no memory");
		f->parent = f;
	}
}

static bool has_name(const struct function *f, const char *name, size_t len)
{
	const char *at = f->names;

	while (at) {
		if (strncmp(at, name, len) == 0 && (at[len] == '\0' || at[len] == '|'))
			return true;
		at = strchr(at, '|');
		at = at ? at + 1 : NULL;
	}
	return false;
}

/* foo.cold (foo.cold.5 of older compilers) belongs to foo; of several those of the same source file. */
static void find_parent(struct object *o, const char **files, size_t i)
{
	const char *cold = strstr(o->fns[i].names, ".cold");
	struct function *found = NULL;

	if (!cold)
		return;
	for (size_t k = 0; k < o->nfns; k++) {
		if (!has_name(&o->fns[k], o->fns[i].names, (size_t)(cold - o->fns[i].names)))
			continue;
		if (!found || strcmp(files[k], files[i]) == 0)
			found = &o->fns[k];
	}
	if (found)
		o->fns[i].parent = found;
}

static void read_segments(struct object *o, Elf *elf, int fd)
{
	size_t n;
	GElf_Phdr ph;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++) {
		struct segment *s;

		gelf_getphdr(elf, (int)i, &ph);
		if (ph.p_type == PT_INTERP)
			o->dynamic = true;
		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		o->segs = grow(o->segs, o->nsegs + 1, sizeof(*o->segs));
		s = &o->segs[o->nsegs++];
		*s = (struct segment){ ph.p_vaddr, ph.p_filesz, grow(NULL, ph.p_filesz, 1),
				       calloc(ph.p_filesz, sizeof(bool)) };
		if (!s->came)
			die("no memory");
		if (pread(fd, s->bytes, s->len, (off_t)ph.p_offset) != (ssize_t)s->len)
			die("%s: cannot read its code", o->path);
	}
}

static Elf *open_elf(const char *path, int *fd)
{
	Elf *elf;

	*fd = open(path, O_RDONLY | O_CLOEXEC);
	elf = *fd < 0 ? NULL : elf_begin(*fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		die("%s: cannot be read as ELF", path);
	return elf;
}

void object_read(struct object *o, const char *path, const char *symbols)
{
	struct reading r = { 0 };
	const char **files;
	GElf_Ehdr eh;
	Elf *elf;
	int fd;

	elf_version(EV_CURRENT);
	*o = (struct object){ .path = realpath(path, NULL) };
	elf = open_elf(path, &fd);
	gelf_getehdr(elf, &eh);
	o->entry = eh.e_entry;
	read_segments(o, elf, fd);
	r.elf = elf;
	read_sections(&r, elf);
	if (symbols)
		read_sections(&r, open_elf(symbols, &fd));
	make_functions(o, &r, &files);
	cut_functions(o, &r);
	for (size_t i = 0; i < o->nfns; i++)
		find_parent(o, files, i);
	free(files);
	free(r.v);
}

struct function *object_function(const struct object *o, uint64_t addr)
{
	size_t lo = 0, hi = o->nfns;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (o->fns[mid].addr <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo == 0 || addr - o->fns[lo - 1].addr >= o->fns[lo - 1].size)
		return NULL;
	return o->fns[lo - 1].parent;
}

const uint8_t *object_code(const struct object *o, uint64_t addr, size_t *left)
{
	for (size_t i = 0; i < o->nsegs; i++) {
		const struct segment *s = &o->segs[i];

		if (addr < s->addr || addr - s->addr >= s->len)
			continue;
		*left = s->len - (addr - s->addr);
		return s->bytes + (addr - s->addr);
	}
	return NULL;
}
