/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of matching, kept in a cache folder. */
#ifndef SONDE_INJECTOR_SIGNATURES_SIGKEPT_H
#define SONDE_INJECTOR_SIGNATURES_SIGKEPT_H

#include "injector/signatures/signatures.h"

/* The file for that ELF file and these signatures, malloc'ed; NULL: there is none. */
char *inj_sig_kept_name(const char *folder, const char *path, uint64_t signatures);

/* @file is the one at @path.  False: nothing is kept of it as it is now, or it is damaged. */
bool inj_sig_kept_open(const char *name, const char *path, uint64_t signatures, const struct inj_elf *file, struct inj_sig_names *names);

/* The same of memory, aligned to 8, that stays there.  @sum: the checksum has to be right. */
bool inj_sig_kept_from(const void *bytes, size_t len, bool sum, const struct inj_elf *file, struct inj_sig_names *names);

/* Where that fails they are not kept. */
void inj_sig_kept_store(const char *name, const char *path, uint64_t signatures, const struct inj_sig_names *names);

#endif
