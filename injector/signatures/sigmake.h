/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signatures are made of objects, one after the other, and then laid out as a file.
 *
 *	struct inj_sig_maker *m = inj_sig_maker_new();
 *	... inj_sig_add_object(m, sections, n) ...
 *	uint8_t *file = inj_sig_lay_out(m, "libc.a", &len);
 */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGMAKE_H
#define SONDE_INJECTOR_SIGNATURES_SIGMAKE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "injector/signatures/sigformat.h"

struct inj_sig_maker;

/* A symbol of a function; several may have one address. */
struct inj_sig_in_func {
	uint64_t at, len;	/* in the section; len 0: not known */
	const char *name;
	uint32_t flags;		/* enum sig_name_flags */
};

struct inj_sig_in_reloc {
	uint64_t at;
	uint32_t type;
	const char *global;	/* name of the symbol; NULL: a local one, at sections[section] + value */
	size_t section;		/* SIZE_MAX: none of those given */
	uint64_t value;
	int64_t addend;
};

struct inj_sig_in_section {
	const uint8_t *code;
	uint64_t len;
	struct inj_sig_in_func *funcs;	/* in any order; are sorted */
	size_t nfuncs;
	struct inj_sig_in_reloc *relocs; /* likewise */
	size_t nrelocs;
	bool shared;		/* of a group: SIG_UNIT_SHARED */
};

/* What has become of functions. */
struct inj_sig_made {
	size_t units, funcs;
	uint64_t bytes;
	size_t unknown;		/* sections with relocations that are not known, which were left out */
	size_t alike;		/* sections left out since too many begin alike */
};

struct inj_sig_maker *inj_sig_maker_new(void);	/* NULL: no memory */
void inj_sig_maker_free(struct inj_sig_maker *m);

/* False: no memory. */
bool inj_sig_add_object(struct inj_sig_maker *m, struct inj_sig_in_section *sections, size_t n) __attribute__((warn_unused_result));

/* All of it as a file, malloc'ed; NULL: no memory, or more than the format can say. */
uint8_t *inj_sig_lay_out(struct inj_sig_maker *m, const char *archives, size_t *len, struct inj_sig_made *made);

/*
 * sigarchive.c: adds the objects of an archive, or an object.  False: *problem is complete after "FILE ", static.
 */
bool inj_sig_add_archive(struct inj_sig_maker *m, const char *path, const char **problem) __attribute__((warn_unused_result));

#endif
