/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/program/program-elf.h"
#include "base/array.h"
#include "launcher/common/message.h"
#include "injector/image/elffile.h"

#include <stdlib.h>
#include <string.h>

static int bad(const char *path, const char *why)
{
	msg_error("%s: %s", path, why);
	return EXIT_CANNOT_RUN;
}

static int read_interp(const char *path, const struct inj_elf *file, struct program *p)
{
	if (!file->has_interp)
		return 0;
	p->interp = file->interp ? strdup(file->interp) : NULL;
	return p->interp ? 0 : bad(path, "is a damaged ELF file (its dynamic linker's name)");
}

static void add_needed(struct program *p, const char *name)
{
	if (!array_one_more(p->needed, p->nneeded))
		return;
	p->needed[p->nneeded] = strdup(name);
	p->nneeded += p->needed[p->nneeded] != NULL;
}

static int read_file(const char *path, const struct inj_elf *file, struct program *p)
{
	int status = file->entry ? read_interp(path, file, p) : bad(path, "is a shared library, not a program");
	const char *name;

	p->is_static = !p->interp || !file->ndynamic;
	p->is_pie = file->type == ET_DYN;
	/* best effort: what is missing is the dynamic linker's to complain about */
	for (size_t at = 0; !status && (name = inj_elf_needed(file, &at));)
		add_needed(p, name);
	return status;
}

int program_read_elf(const char *path, struct program *p)
{
	struct inj_elf file;
	int status;

	if (inj_elf_open(path, &file) != INJ_OK)
		return bad(path, file.problem);
	status = read_file(path, &file, p);
	inj_elf_close(&file);
	return status;
}
