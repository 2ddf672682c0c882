/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What has been found out about ELF files, kept in memory: programs of a job have their libraries in common, and each of them
 * is instrumented alike.  A file is the same as before if its inode, size and times are.
 *
 *	inj_known_file()	what is known of a file, for as long as it is wanted
 *	inj_known_symbols() ...	read when it is first asked for
 *	inj_known_leave()	nobody has to want it: some are kept for the next one
 *
 * Safe to call from several threads; files are read one after the other, but their code is looked at at the same time.
 */
#ifndef SONDE_INJECTOR_FACTS_KNOWN_H
#define SONDE_INJECTOR_FACTS_KNOWN_H

#include "injector/facts/analysis.h"
#include "injector/facts/kept.h"
#include "injector/image/elfimage.h"
#include "trampolines/trampoline.h"

struct inj_known;

/* NULL: there is no such file, or no memory. */
struct inj_known *inj_known_file(const char *path);
void inj_known_leave(struct inj_known *k);	/* NULL: nothing */

/*
 * Its symbols, which live as long as it is wanted; NULL: they cannot be read.  Here and below @path is where the file can be
 * opened now.
 */
struct inj_symtab *inj_known_symbols(struct inj_known *k, const char *path, bool debug_file);

/*
 * What is known of its code, which lives as symbols do: from @cache_dir (NULL: nothing is kept there); else it is looked at.  NULL: it cannot be read, or has none.
 */
struct inj_kept *inj_known_code(struct inj_known *k, const struct inj_kept_source *source);

/* False: it cannot be read. */
bool inj_known_identity(struct inj_known *k, const char *path, struct inj_identity *id);

/* The file as an image, which is the caller's: inj_image_close(). */
enum inj_image_status inj_known_image(struct inj_known *k, const char *path, struct inj_image *img)
	__attribute__((warn_unused_result));

/* How the entry of a function of the file is patched; addresses are the file's. */
struct inj_known_plan {
	struct inj_facts facts;
	const char *refused;	/* static; NULL: it can be patched */
	struct tramp_plan plan;
	uint8_t code[TRAMP_DISPLACED_MAX]; /* what has to be in memory for that to be true */
	uint32_t ncode;
};

/* False: nothing is known of the function at @addr. */
bool inj_known_plan(struct inj_known *k, uint64_t addr, struct inj_known_plan *plan);
/* Where there is no memory for that, it is not remembered. */
void inj_known_keep_plan(struct inj_known *k, const struct inj_known_plan *plan);

/* Five bytes of an instruction that is followed by a system call which may execute a program: see syscall/exec.c. */
struct inj_known_exec {
	uint64_t addr;
	uint8_t mov[5];
};

/* @scan finds them when they are first asked for: NULL, or an array of *n, malloc'ed.  What is returned lives as symbols do. */
const struct inj_known_exec *inj_known_execs(struct inj_known *k, const char *path,
					     struct inj_known_exec *(*scan)(const struct inj_elf *file, size_t *n), size_t *n);

#endif
