/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of functions by signature: the files of signatures that this process uses, and what they call the functions of an ELF
 * file.  inj_symtab_open() takes names from here for a file without a symbol table.
 */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGNATURES_H
#define SONDE_INJECTOR_SIGNATURES_SIGNATURES_H

#include "injector/image/elffile.h"
#include "injector/signatures/sigmatch.h"

/*
 * All *.sig of these folders, or files themselves, NULL-terminated; the first of a name counts.  They are read when they are first
 * needed, once, and stay: later calls change nothing.  Without a call there are none.  @complain is called for what cannot be used.
 * False: no memory.
 */
bool inj_signatures_use(const char *const *folders, void (*complain)(const char *path, const char *problem)) INJ_CHECK;

const struct inj_sig_file *inj_signatures(size_t *n);

/* Stands for all of them; 0: there are none. */
uint64_t inj_signatures_key(void);

/* What is known of an ELF file for matching.  All but the bytes is the caller's: inj_sig_code_free(). */
bool inj_sig_code_of(const struct inj_elf *file, const struct inj_sig_known *known, size_t nknown, struct inj_sig_code *code) INJ_CHECK;
void inj_sig_code_free(struct inj_sig_code *code);

/* The names of the file at @path.  False: there are none. */
bool inj_signatures_name(const char *path, const struct inj_sig_known *known, size_t nknown, struct inj_sig_result *r) INJ_CHECK;

#endif
