// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Most libraries do not contain a name.  To read their tables of names takes a tenth of what it takes to map the file and take the
 * mapping away again.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "injector/image/elffile.h"

#define MAX_SECTIONS 4096
#define MAX_NAMES (UINT64_C(64) << 20) /* bytes */

/* NULL: they are not all there. */
static void *take(int fd, uint64_t offset, size_t bytes)
{
	void *v = malloc(bytes + 1);

	if (v && offset <= INT64_MAX && pread(fd, v, bytes, (off_t)offset) == (ssize_t)bytes)
		return v;
	free(v);
	return NULL;
}

static bool contains(int fd, const Elf64_Shdr *names, const char *name)
{
	char *v = names->sh_size <= MAX_NAMES ? take(fd, names->sh_offset, names->sh_size) : NULL;
	bool does = !v || memmem(v, names->sh_size, name, strlen(name) + 1);

	free(v);
	return does;
}

static bool may_contain(int fd, const Elf64_Shdr *sections, size_t n, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < n; i++) {
		const Elf64_Shdr *s = &sections[i];

		if ((s->sh_type != SHT_DYNSYM && s->sh_type != SHT_SYMTAB) || !s->sh_size)
			continue;
		any = true;
		if (s->sh_link >= n || contains(fd, &sections[s->sh_link], name))
			return true;
	}
	return !any;
}

bool inj_elf_may_define(const char *path, const char *name)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Shdr *sections = NULL;
	bool may = true;
	Elf64_Ehdr eh;

	if (fd < 0)
		return true;
	if (pread(fd, &eh, sizeof(eh), 0) == sizeof(eh) && memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0 &&
	    eh.e_ident[EI_CLASS] == ELFCLASS64 && eh.e_shentsize == sizeof(*sections) && eh.e_shnum <= MAX_SECTIONS)
		sections = take(fd, eh.e_shoff, eh.e_shnum * sizeof(*sections));
	if (sections)
		may = may_contain(fd, sections, eh.e_shnum, name);
	free(sections);
	close(fd);
	return may;
}
