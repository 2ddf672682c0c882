/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/record/program-elf.h"
#include "launcher/common/message.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_PHDRS 256
#define MAX_DYNAMIC 4096  /* entries of the dynamic section that are looked at */

struct elf {
	int fd;
	Elf64_Ehdr header;
	Elf64_Phdr ph[MAX_PHDRS];
	size_t nph;
};

static int bad(const char *path, const char *why)
{
	msg_error("%s: %s", path, why);
	return EXIT_CANNOT_RUN;
}

static bool read_at(int fd, void *buf, size_t len, uint64_t offset)
{
	return offset <= INT64_MAX && pread(fd, buf, len, (off_t)offset) == (ssize_t)len;
}

static const char *header_problem(const Elf64_Ehdr *h)
{
	bool is_64 = h->e_ident[EI_CLASS] == ELFCLASS64;

	if (h->e_ident[EI_DATA] != ELFDATA2LSB)
		return "is not a program for x86-64";
	if (h->e_machine == EM_386)
		return "is a 32-bit program; Sonde traces 64-bit ones";
	if (h->e_machine != EM_X86_64)
		return "is not a program for x86-64";
	if (!is_64)
		return "is an x32 program; Sonde traces 64-bit ones";
	if (h->e_type != ET_EXEC && h->e_type != ET_DYN)
		return "is an object file, not a program";
	if (h->e_phentsize != sizeof(Elf64_Phdr) || h->e_phnum == 0 || h->e_phnum > MAX_PHDRS)
		return "is a damaged ELF file";
	if (h->e_entry == 0)
		return "is a shared library, not a program";
	return NULL;
}

static int read_headers(const char *path, struct elf *e)
{
	if (!read_at(e->fd, &e->header, sizeof(e->header), 0))
		return bad(path, "is a truncated ELF file");
	const char *problem = header_problem(&e->header);
	if (problem)
		return bad(path, problem);
	e->nph = e->header.e_phnum;
	if (!read_at(e->fd, e->ph, e->nph * sizeof(e->ph[0]), e->header.e_phoff))
		return bad(path, "is a truncated ELF file");
	return 0;
}

static const Elf64_Phdr *find_phdr(const struct elf *e, uint32_t type)
{
	for (size_t i = 0; i < e->nph; i++) {
		if (e->ph[i].p_type == type)
			return &e->ph[i];
	}
	return NULL;
}

/* Where in the file the bytes of an address are; UINT64_MAX: nowhere. */
static uint64_t file_offset(const struct elf *e, uint64_t vaddr)
{
	for (size_t i = 0; i < e->nph; i++) {
		const Elf64_Phdr *ph = &e->ph[i];

		if (ph->p_type == PT_LOAD && vaddr >= ph->p_vaddr &&
		    vaddr - ph->p_vaddr < ph->p_filesz)
			return ph->p_offset + (vaddr - ph->p_vaddr);
	}
	return UINT64_MAX;
}

/* A string of at most PATH_MAX bytes, or NULL. */
static char *read_string(const struct elf *e, uint64_t offset)
{
	char buf[PATH_MAX];

	if (offset > INT64_MAX)
		return NULL;
	ssize_t n = pread(e->fd, buf, sizeof(buf), (off_t)offset);
	if (n <= 0 || !memchr(buf, '\0', (size_t)n))
		return NULL;
	return strdup(buf);
}

static int read_interp(const char *path, const struct elf *e, struct program *p)
{
	const Elf64_Phdr *ph = find_phdr(e, PT_INTERP);

	if (!ph)
		return 0;
	p->interp = read_string(e, ph->p_offset);
	return p->interp ? 0 : bad(path, "is a damaged ELF file (its dynamic linker's name)");
}

static bool add_needed(struct program *p, char *name)
{
	char **v = name ? reallocarray(p->needed, p->nneeded + 1, sizeof(*v)) : NULL;

	if (!v) {
		free(name);
		return false;
	}
	v[p->nneeded++] = name;
	p->needed = v;
	return true;
}

static Elf64_Dyn *read_dynamic(const struct elf *e, size_t *n)
{
	const Elf64_Phdr *ph = find_phdr(e, PT_DYNAMIC);

	if (!ph)
		return NULL;
	*n = ph->p_filesz / sizeof(Elf64_Dyn);
	if (*n > MAX_DYNAMIC)
		*n = MAX_DYNAMIC;
	Elf64_Dyn *dyn = calloc(*n + 1, sizeof(*dyn));
	if (dyn && !read_at(e->fd, dyn, *n * sizeof(*dyn), ph->p_offset)) {
		free(dyn);
		return NULL;
	}
	return dyn;
}

/* Best effort: a name that cannot be read is the dynamic linker's to complain about. */
static void read_needed(const struct elf *e, struct program *p)
{
	size_t n = 0;
	Elf64_Dyn *dyn = read_dynamic(e, &n);
	uint64_t strtab = UINT64_MAX;

	for (size_t i = 0; dyn && i < n && dyn[i].d_tag != DT_NULL; i++) {
		if (dyn[i].d_tag == DT_STRTAB)
			strtab = file_offset(e, dyn[i].d_un.d_val);
	}
	for (size_t i = 0; dyn && strtab != UINT64_MAX && i < n && dyn[i].d_tag != DT_NULL; i++) {
		uint64_t at;

		if (dyn[i].d_tag == DT_NEEDED &&
		    !__builtin_add_overflow(strtab, dyn[i].d_un.d_val, &at))
			add_needed(p, read_string(e, at));
	}
	free(dyn);
}

int program_read_elf(const char *path, struct program *p)
{
	struct elf e = { .fd = open(path, O_RDONLY | O_CLOEXEC) };

	if (e.fd < 0)
		return bad(path, "cannot be read");
	int status = read_headers(path, &e);
	if (!status)
		status = read_interp(path, &e, p);
	if (!status) {
		p->is_static = !p->interp;
		p->is_pie = e.header.e_type == ET_DYN;
		read_needed(&e, p);
	}
	close(e.fd);
	return status;
}
