/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of functions by signature: the files of signatures that this process uses, and what they call the functions of an ELF
 * file.  inj_symtab_open() takes names from here for a file without a symbol table.
 */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGNATURES_H
#define SONDE_INJECTOR_SIGNATURES_SIGNATURES_H

#include "injector/image/elffile.h"
#include "injector/signatures/sigmatch.h"

struct inj_signatures_where {
	const char *const *folders; /* all *.sig of them, or files themselves, NULL-terminated; the first of a name counts */
	const char *cache;	    /* folder where it is kept what they say of files; NULL: nothing is */
	void (*complain)(const char *path, const char *problem); /* is called for what cannot be used */
};

/*
 * They are read when they are first needed, once, and stay: later calls change nothing.  Without a call there are none.  False: no
 * memory.
 */
bool inj_signatures_use(const struct inj_signatures_where *where) INJ_CHECK;

const struct inj_sig_file *inj_signatures(size_t *n);

/* Stands for all of them; 0: there are none.  It needs their heads only. */
uint64_t inj_signatures_key(void);

/* What is known of an ELF file for matching.  All but the bytes is the caller's: inj_sig_code_free(). */
bool inj_sig_code_of(const struct inj_elf *file, const struct inj_sig_known *known, size_t nknown, struct inj_sig_code *code) INJ_CHECK;
void inj_sig_code_free(struct inj_sig_code *code);

/* The folder of inj_signatures_use(). */
const char *inj_signatures_cache(void);

struct inj_sig_name_of {
	uint64_t addr;
	uint64_t size;		/* 0: not known */
	const char *name;
	const char *source;	/* the file of signatures, without its folder */
	uint32_t flags;		/* enum sig_name_flags */
};

/* Ascending by address; several names of one function stand beside each other, the nicest first. */
struct inj_sig_names {
	struct inj_sig_name_of *v; /* names, and after them those of functions that they may be */
	size_t n, nunsure;
	void *text;		/* private */
};

/* What signatures say of the file at @path, from the cache, or else it is matched.  False: nothing, and nothing is to be freed. */
bool inj_signatures_name(const char *path, const struct inj_sig_known *known, size_t nknown, struct inj_sig_names *names) INJ_CHECK;
void inj_sig_names_free(struct inj_sig_names *names);

#endif
