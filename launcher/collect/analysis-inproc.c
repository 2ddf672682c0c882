// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Which modules can be given memory accesses in the program's own threads: those that need nothing else there, and keep
 * what they know where we find it.
 */
#include "config.h"

#include <bfd.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/collect/analysis.h"
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
static bool is_variable(const asymbol *sym)
{
	static const char *const sections[] = { ".data.rel.ro", ".dynamic", ".got", ".init_array", ".fini_array", NULL };
	static const char *const names[] = { "sonde__", "completed.", "__dso_handle", "__TMC_", "__start_sonde_",
					     "__stop_sonde_", NULL };
	const asection *section = sym->section;

	return sym->flags & BSF_OBJECT && section->flags & SEC_ALLOC && !(section->flags & SEC_READONLY) &&
	       !begins_with_one(section->name, sections) && !begins_with_one(sym->name, names);
}

static char *find_variable(asymbol *const *syms, long n)
{
	for (long i = 0; i < n; i++)
		if (is_variable(syms[i]))
			return strdup(syms[i]->name);
	return NULL;
}

/* The name of one of the module's variables, malloc'ed; NULL: it has none, or has been stripped. */
static char *variable_of(const char *path)
{
	bfd *file = bfd_openr(path, NULL);
	char *name = NULL;
	asymbol **syms;
	long room;

	if (!file)
		return NULL;
	room = bfd_check_format(file, bfd_object) ? bfd_get_symtab_upper_bound(file) : 0;
	syms = room > 0 ? malloc((size_t)room) : NULL;
	if (syms)
		name = find_variable(syms, bfd_canonicalize_symtab(file, syms));
	free(syms);
	bfd_close(file);
	return name;
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

static int check(const struct modfile *m)
{
	if (m->keeps_memory || m->profiles_memory) {
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
			msg_error("--analyze=inproc: more than %d modules", RING_ANALYSIS_MODULES);
			status = EXIT_USAGE;
		}
		if (status == 0)
			paths[(*n)++] = m->path;
	}
	if (status == 0 && *n == 0) {
		msg_error("--analyze=inproc: no module takes memory accesses");
		status = EXIT_USAGE;
	}
	return status;
}
