/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which functions earlier recordings of a program have called, as it lies in a file of the user's cache folder: a hint at what is
 * worth instrumenting before the program runs, and nothing else.  What is there may be damaged, or of somebody else's making.
 *
 * A file of the cache is for one program, by its path, and lists ELF files, by what is known of their code (kept.h): one that was
 * changed has nothing here.
 */
#ifndef SONDE_INJECTOR_FACTS_CALLED_H
#define SONDE_INJECTOR_FACTS_CALLED_H

#include <stdbool.h>
#include <stdint.h>

struct inj_called;

/* One ELF file's. */
struct inj_called_file;

/* NULL: nothing is kept, or no memory. */
struct inj_called *inj_called_open(const char *cache_dir, const char *program);

/* Writes what has changed.  NULL: nothing. */
void inj_called_close(struct inj_called *c);

/* The ELF file of @key, with @nfns functions; it lives as long as @c.  NULL: no memory, or @c is NULL. */
struct inj_called_file *inj_called_of(struct inj_called *c, uint64_t key, uint32_t nfns);

/* @fn below nfns. */
bool inj_called_before(const struct inj_called_file *f, uint32_t fn);
void inj_called_note(struct inj_called_file *f, uint32_t fn, bool called);

#endif
