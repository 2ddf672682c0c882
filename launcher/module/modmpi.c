/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The mpi module where it was not built. Handles differ between MPI libraries, so it is compiled with the
 * mpicc of the one that the program loads; where that cannot be seen from the program's file (an
 * interpreter), with every one that is here.
 */
#include "launcher/common/message.h"
#include "launcher/module/modfile.h"
#include "launcher/module/modmpi.h"
#include "launcher/program/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NFAMILIES MODMPI_MAX

/* What shares an ABI. */
static const struct family {
	const char *name;
	const char *compiler;	/* where several are installed; else it is called mpicc */
	const char *sonames[2];	/* the first of them is in the `needs` of its module */
	const char *package;
} families[NFAMILIES] = {
	{ "Open MPI", "mpicc.openmpi", { "libmpi.so.40", "libmpi.so.20" }, "libopenmpi-dev" },
	{ "MPICH", "mpicc.mpich", { "libmpich.so.12", "libmpi.so.12" }, "libmpich-dev" },
};

struct loaded {
	bool family[NFAMILIES], any;
};

static int note_library(const char *path, void *arg)
{
	const char *slash = strrchr(path, '/');
	struct loaded *loaded = arg;

	for (size_t i = 0; i < NFAMILIES; i++) {
		if (strcmp(slash + 1, families[i].sonames[0]) == 0 ||
		    strcmp(slash + 1, families[i].sonames[1]) == 0)
			loaded->any = loaded->family[i] = true;
	}
	return 0;
}

static bool is_for(const struct modfile *m, const struct family *f)
{
	return m->needs && strstr(m->needs, f->sonames[0]);
}

static bool is_listed(const struct modfile_list *list, const struct family *f)
{
	for (size_t i = 0; i < list->n; i++) {
		if (strcmp(list->v[i].spec, "mpi") == 0 && is_for(&list->v[i], f))
			return true;
	}
	return false;
}

static bool is_installed(const char *compiler)
{
	char *path = program_find(compiler);
	bool installed = path && access(path, X_OK) == 0;

	free(path);
	return installed;
}

static bool has_headers(const char *compiler)
{
	return is_installed(compiler) && modfile_has_header(compiler, "mpi.h");
}

/*
 * Compiles it by one compiler, if that is there and has headers. *path is what came out of it: NULL where
 * nothing did, or where it is another family's. Returns 0, or EXIT_USAGE after a message.
 */
static int compile(const struct family *f, const char *compiler, const char *source, char **path)
{
	struct modfile m;

	*path = NULL;
	if (!modfile_is_cached(source, compiler) && !has_headers(compiler))
		return 0;
	int status = modfile_cached(source, compiler, path);
	if (!status)
		status = modfile_read(*path, source, &m);
	if (status)
		return status;
	if (!is_for(&m, f)) {
		free(*path);
		*path = NULL;
	}
	modfile_free(&m);
	return 0;
}

/* What an mpicc calls may be missing too. */
static const char *compiler_package(void)
{
	return is_installed("gcc") ? "" : " gcc";
}

static int missing(const struct family *f)
{
	msg_error("module mpi: to be compiled for %s, which the program loads, it needs that MPI's mpicc and "
		  "headers (Debian: apt-get install %s%s)",
		  f->name, f->package, compiler_package());
	return EXIT_USAGE;
}

static int none(void)
{
	msg_error("module mpi: it was not built, and to be compiled it needs an MPI's mpicc and headers "
		  "(Debian: apt-get install %s%s, or %s for programs that use MPICH)",
		  families[0].package, compiler_package(), families[1].package);
	return EXIT_USAGE;
}

int modmpi_compile(const char *source, const struct program *program,
		   const struct modfile_list *built, char *paths[MODMPI_MAX])
{
	struct loaded loaded = { 0 };
	bool any = false;

	memset(paths, 0, MODMPI_MAX * sizeof(*paths));
	/* Libraries that are not found are the program's own trouble. */
	if (program)
		(void)!program_libraries(program, note_library, &loaded);
	for (size_t i = 0; i < NFAMILIES; i++) {
		const struct family *f = &families[i];
		const char *compilers[] = { f->compiler, "mpicc" };
		int status = 0;

		any |= is_listed(built, f);
		if (is_listed(built, f) || (loaded.any && !loaded.family[i]))
			continue;
		for (size_t k = 0; k < 2 && !status && !paths[i]; k++)
			status = compile(f, compilers[k], source, &paths[i]);
		if (!status && !paths[i] && loaded.family[i])
			status = missing(f);
		if (status)
			return status;
		any |= paths[i] != NULL;
	}
	return any ? 0 : none();
}

bool modmpi_is_listed(const struct modfile_list *list)
{
	return is_listed(list, &families[0]) || is_listed(list, &families[1]);
}

bool modmpi_can_compile(void)
{
	return has_headers(families[0].compiler) || has_headers(families[1].compiler) ||
	       has_headers("mpicc");
}
