/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where instructions that access memory stand: object, function, source line, loop.  From the
 * program's files, as they are now.  There are few instructions and many accesses: each is looked
 * up once.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMWHERE_H
#define SONDE_LAUNCHER_MEMORY_MEMWHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "memtrace/read/read.h"

enum memwhere_flags {
	MEMWHERE_LINES = 1,
	MEMWHERE_LOOPS = 2,	/* each function's control flow is analyzed: ask in the order of addresses */
	MEMWHERE_MANGLED = 4,
};

struct memplace {
	uint64_t insn;		/* address in the program */
	uint64_t addr;		/* in the file; insn if path is NULL */
	const char *path;	/* of the object; NULL: not known */
	const char *function;	/* NULL: not known */
	uint64_t entry;		/* of function, in the file */
	const char *file;	/* source; NULL: not known, or not asked for */
	int line;
	/* The innermost loop: where its head is in the file.  0: in none, or not asked for. */
	uint64_t loop;
	unsigned int loop_depth;
	const char *loop_file;	/* NULL: not known */
	int loop_line;
	/* The caller's, 0 at first; text is free()d with the place. */
	char *text;
	size_t text_len;
	bool asked, hidden;
};

struct memwhere;

/* NULL: no memory.  @r has to live as long. */
struct memwhere *memwhere_new(const struct mt_read *r, unsigned int flags);
void memwhere_free(struct memwhere *w);

/* Lives until memwhere_free().  NULL: no memory. */
struct memplace *memwhere(struct memwhere *w, uint64_t insn);

/*
 * Does the place's function match one of the shell patterns, with or without parameters?  No
 * patterns: yes.
 */
struct opt_list;
bool memwhere_matches(const struct memplace *place, const struct opt_list *patterns);

#endif
