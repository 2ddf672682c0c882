/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions of an ELF file, by BFD: .symtab, .dynsym, and the symbols of a separate debug file
 * (found by build-id, then by debuglink); and those that sonde/mark.h brings, by their sections.  Addresses are those in the
 * file (link-time).
 */
#ifndef SONDE_INJECTOR_IMAGE_SYMBOLS_H
#define SONDE_INJECTOR_IMAGE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "injector/status.h"

enum inj_symbol_flags {
	INJ_SYM_GLOBAL = 1,  /* global or weak: visible to other files of a link */
	INJ_SYM_IFUNC = 2,   /* addr is the resolver's */
	INJ_SYM_OLD = 4,     /* an old version (name@VERSION), not the default one */
	INJ_SYM_DYNAMIC = 8, /* from .dynsym */
	INJ_SYM_DEBUG = 16,  /* from a separate debug file */
	INJ_SYM_SIGNATURE = 32, /* from its bytes: injector/signatures/signatures.h */
};

struct inj_symbol {
	const char *name; /* without version; mangled */
	uint64_t addr;
	uint64_t size;	/* 0: not known */
	uint64_t avail; /* bytes up to the next function's start or the end of the section */
	uint32_t flags;
	const char *source; /* SIGNATURE: name of the file of signatures, which lives as the name does; else NULL */
};

struct inj_symtab;

#define INJ_DEBUG_FOLDER "/usr/lib/debug" /* of separate debug files */
#define INJ_SYMTAB_DEBUG_FILE 1u /* also read the separate debug file, if there is one */
#define INJ_SYMTAB_NO_SIGNATURES 2u /* else they name functions where there is no other symbol table than .dynsym */

/* Errors: NO_FILE, MEMORY. */
enum inj_status inj_symtab_open(const char *path, unsigned int flags, struct inj_symtab **out)
	INJ_CHECK;
void inj_symtab_close(struct inj_symtab *tab);

/* All functions, sorted by address; aliases stand beside each other. */
const struct inj_symbol *inj_symtab_all(const struct inj_symtab *tab, size_t *n);

/*
 * The function called @name: the default version before old ones, global before local.  A name
 * that contains "::", "(" or a space is compared with the demangled names (without
 * parameters if @name has none).  *others (may be NULL) is the number of further functions of
 * that name at other addresses.  NULL: none.
 */
const struct inj_symbol *inj_symtab_find(const struct inj_symtab *tab, const char *name,
					 size_t *others);

/* Is there a function whose resolver (IFUNC) is at @addr, or which starts there? */
const struct inj_symbol *inj_symtab_at(const struct inj_symtab *tab, uint64_t addr);

/*
 * A function without a name that signatures say several of, or one that they are not sure of: how many, the first ones into
 * names[@room], the file of signatures into *source.
 */
size_t inj_symtab_maybe(const struct inj_symtab *tab, uint64_t addr, const char *names[], size_t room, const char **source);

/* Address of a data object of .dynsym; false: there is none. */
bool inj_symtab_object(const struct inj_symtab *tab, const char *name, uint64_t *addr);

/* The name as a programmer wrote it, malloc'ed; NULL when it is not mangled. */
char *inj_demangle(const char *name);

#endif
