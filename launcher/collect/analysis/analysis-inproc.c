// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which modules can be given memory accesses in the program's own threads: those that need nothing else there, and keep
 * what they know where we find it.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "injector/image/elffile.h"
#include "launcher/collect/analysis/analysis.h"
#include "launcher/common/message.h"
#include "tracefmt/ring.h"

#define HINT "use --analyze=collector"

/* ---- variables ---- */

static bool begins_with_one(const char *name, const char *const *v)
{
	for (; *v; v++)
		if (strncmp(name, *v, strlen(*v)) == 0)
			return true;
	return false;
}

/* Not those of sonde/module.h, nor what compilers and linkers put into every library. */
static bool is_variable(const struct inj_elf *file, const Elf64_Sym *sym, const char *name)
{
	static const char *const sections[] = { ".data.rel.ro", ".dynamic", ".got", ".init_array", ".fini_array", NULL };
	static const char *const names[] = { "sonde__", "completed.", "__dso_handle", "__TMC_", "__start_sonde_",
					     "__stop_sonde_", NULL };
	Elf64_Shdr sh;
	const char *section = inj_elf_section_header(file, sym->st_shndx, &sh);

	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_shndx != SHN_UNDEF && section &&
	       (sh.sh_flags & SHF_ALLOC) && (sh.sh_flags & SHF_WRITE) && !begins_with_one(section, sections) &&
	       !begins_with_one(name, names);
}

/* The name of one of the module's variables, malloc'ed; NULL: it has none, or has been stripped. */
static char *variable_of(const char *path)
{
	struct inj_elf_symbols table;
	struct inj_elf file;
	char *found = NULL;

	if (inj_elf_open(path, &file) != INJ_OK)
		return NULL;
	table = inj_elf_symtab(&file);
	for (size_t i = 1; i < table.n && !found; i++) {
		Elf64_Sym sym = inj_elf_symbol(&table, i);
		const char *name = inj_elf_symbol_name(&table, &sym);

		if (is_variable(&file, &sym, name))
			found = strdup(name);
	}
	inj_elf_close(&file);
	return found;
}

/* ---- */

static int check_variables(const struct modfile *m)
{
	char *name = variable_of(m->path);

	if (!name)
		return 0;
	msg_error("module %s has a variable, `%s', which threads and processes would not share: keep it in "
		  "sonde_thread_data(), or " HINT, m->name, name);
	free(name);
	return EXIT_USAGE;
}

static bool for_sonde(const struct modfile *m)
{
	return m->keeps_memory || m->profiles_memory || m->simulates_caches || m->finds_sharing;
}

static int check(const struct modfile *m)
{
	if (for_sonde(m)) {
		msg_error("module %s cannot work in the program: " HINT, m->name);
		return EXIT_USAGE;
	}
	if (m->needs_libc) {
		msg_error("module %s needs %s, which is not there in the program's threads: write it against "
			  "sonde/module.h alone, or " HINT, m->name, m->undefined);
		return EXIT_USAGE;
	}
	return check_variables(m);
}

/* It knows nothing but what it knows of each thread. */
static bool is_apart(const struct modfile *m)
{
	char *variable = m->merges ? variable_of(m->path) : NULL;

	free(variable);
	return m->merges && !variable && !m->needs_libc;
}

bool analysis_apart(const struct modfile_list *modules)
{
	for (size_t i = 0; i < modules->n; i++)
		if (modules->v[i].nmemory && !is_apart(&modules->v[i]))
			return false;
	return true;
}

bool analysis_may_move(const struct modfile_list *modules)
{
	size_t n = 0;

	for (size_t i = 0; i < modules->n; i++) {
		const struct modfile *m = &modules->v[i];

		if (!modfile_takes_memory(m))
			continue;
		if (for_sonde(m) || !is_apart(m) || ++n > RING_ANALYSIS_MODULES)
			return false;
	}
	return n > 0;
}

int analysis_inproc(const struct modfile_list *modules, char **paths, size_t *n)
{
	int status = 0;

	*n = 0;
	for (size_t i = 0; i < modules->n && status == 0; i++) {
		const struct modfile *m = &modules->v[i];

		if (!modfile_takes_memory(m))
			continue;
		status = check(m);
		if (status == 0 && *n == RING_ANALYSIS_MODULES) {
			msg_error("--analyze=program: more than %d modules", RING_ANALYSIS_MODULES);
			status = EXIT_USAGE;
		}
		if (status == 0)
			paths[(*n)++] = m->path;
	}
	if (status == 0 && *n == 0) {
		msg_error("--analyze=program: no module takes memory accesses");
		status = EXIT_USAGE;
	}
	return status;
}
