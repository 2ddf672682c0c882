/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where instructions that access memory stand: object, function, source line, loop.  The trace says it; the program's
 * files are only looked at to say so if they are others by now, and for the lines of a recording that was not finished, if they
 * are not.  There are few instructions and many accesses: each is looked up once.
 */
#ifndef SONDE_LAUNCHER_MEMORY_MEMWHERE_H
#define SONDE_LAUNCHER_MEMORY_MEMWHERE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "launcher/select/select.h"
#include "memtrace/read/read.h"

enum memwhere_flags {
	MEMWHERE_LINES = 1,
	MEMWHERE_MANGLED = 2,
	MEMWHERE_BLOCKS = 4,	/* of a trace that has them, and no sooner than when all of it has been written */
};

struct memnames;
struct nm_name;

struct memplace {
	uint64_t insn;		/* address in the program, or the key */
	uint64_t addr;		/* in the file; insn if path is NULL */
	const char *path;	/* of the object; NULL: not known */
	const struct sonde_trace_object *object; /* likewise */
	const char *function;	/* NULL: not known */
	const char *symbol;	/* its name in the symbol table */
	uint64_t entry, size;	/* of function, in the file */
	const char *file;	/* source; NULL: not known */
	int line;
	/* The innermost loop: where its head is in the file.  0: in none, or not known. */
	uint64_t loop;
	unsigned int loop_depth;
	const char *loop_file;	/* NULL: not known */
	int loop_line;
	uint64_t block;		/* where it begins, in the file; 0: not known, or not asked */
	const char *block_file;	/* NULL: not known */
	int block_line;
	const struct nm_name *name; /* what was accessed, of a key of memnames.h; else NULL */
	/* The caller's, 0 at first; text is free()d with the place. */
	char *text;
	size_t text_len;
	bool asked, hidden;
};

struct memwhere;

/* From here on memwhere() takes keys of @names, which has to live as long, in place of instructions. */
void memwhere_use_names(struct memwhere *w, const struct memnames *names);

/* NULL: no memory.  @r has to live as long. */
struct memwhere *memwhere_new(const struct mt_read *r, unsigned int flags);
void memwhere_free(struct memwhere *w);

/* Parts of the trace that say which blocks there are and cannot be read; of some or all instructions they are not known. */
uint64_t memwhere_damage(const struct memwhere *w);

/* Lives until memwhere_free().  NULL: no memory. */
struct memplace *memwhere(struct memwhere *w, uint64_t insn);

/* Is the place's function one of the selection?  NULL: all are. */
bool memwhere_matches(const struct memplace *place, struct select *sel);

#endif
