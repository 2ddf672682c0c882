/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of an ELF file, and whether their entries can be patched. */
#ifndef SONDE_LAUNCHER_INSPECT_FUNCTIONS_H
#define SONDE_LAUNCHER_INSPECT_FUNCTIONS_H

#include "injector/image/symbols.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function {
	const struct inj_symbol *symbols; /* its names, beside each other; one or more */
	size_t nnames;
	uint64_t size;			  /* the largest that a symbol gives; 0: not known */
	bool is_ifunc;			  /* the code is another's, chosen when the program starts */
	bool is_part;			  /* the cold part of another function, no function itself */
	const char *refused;		  /* why not, static text; NULL: can be patched */
};

/*
 * Calls visit for each function of the file, by address, until it returns false. Returns 0, or
 * EXIT_USAGE after a message.
 */
int functions_of(const char *path, bool (*visit)(void *arg, const struct function *f), void *arg)
	__attribute__((warn_unused_result));

/* Counting by reason; reasons are compared as pointers. */
#define FUNCTIONS_MAX_REASONS 32
struct functions_count {
	const char *reason;
	size_t n;
};
void functions_count(struct functions_count *counts, size_t *n, const char *reason);

#endif
