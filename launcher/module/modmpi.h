/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The mpi module, for each MPI that it was not built for. */
#ifndef SONDE_LAUNCHER_MODMPI_H
#define SONDE_LAUNCHER_MODMPI_H

#include <stdbool.h>

struct modfile_list;
struct program;

#define MODMPI_MAX 2 /* families of MPI that share handles */

/*
 * Compiles the module, or takes it from the cache, for the MPI that the program loads if that is not
 * among `built`; where the program's file does not say which (or program is NULL), for each MPI whose
 * headers are here. paths[] are the compiled files, malloc'ed, or NULL; the caller frees them, also
 * after an error. Returns 0, or EXIT_USAGE after one line that says which package is missing.
 */
int modmpi_compile(const char *source, const struct program *program,
		   const struct modfile_list *built, char *paths[MODMPI_MAX])
	__attribute__((warn_unused_result));

/* Is it there for one MPI at least; can it be compiled for one? */
bool modmpi_is_listed(const struct modfile_list *list);
bool modmpi_can_compile(void);

#endif
