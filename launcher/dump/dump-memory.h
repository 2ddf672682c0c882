/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `sonde dump --mem`: dump-memory.c chooses threads and files, dump-memory-format.c and
 * dump-memory-drmemtrace.c make lines or records.
 */
#ifndef SONDE_LAUNCHER_DUMP_DUMP_MEMORY_H
#define SONDE_LAUNCHER_DUMP_DUMP_MEMORY_H

#include <stdbool.h>
#include <stdio.h>

#include "launcher/common/output.h"
#include "launcher/memory/memtrace.h"
#include "launcher/memory/memwhere.h"
#include "tracefmt/buffer.h"

/* Names of the formats, for the option's table; the first is the default. */
#define DUMP_MEMORY_FORMATS "text\0json\0lackey\0din\0champsim\0memtrace\0drmemtrace\0"

struct dump_memory_options {
	const char *format;		/* one of the above; NULL: text */
	const char *output;		/* file or folder; NULL: standard output */
	const struct select_options *select;
	struct pick *pick;
	bool blocks;	/* the order of blocks, in place of accesses: text or json, always with lines */
	bool lines, mangled;
};

/* The exit status. */
int dump_memory(const char *dir, const struct dump_memory_options *o)
	__attribute__((warn_unused_result));

#define DUMP_MEMORY_BUFFER 65536

/* Accesses on their way into a file. */
struct dump_memory {
	const struct dump_memory_options *o;
	const struct dump_memory_format *format;
	struct memwhere *where;		/* NULL: the format needs none, nor do the options */
	struct output file;
	char *path;			/* of a thread's own */
	FILE *out;			/* file.f */
	struct select *select;		/* NULL: all functions */
	uint64_t damage;
	bool any;			/* instruction of a function that matches */
	bool failed;			/* out of memory; else ferror(out) tells */
	struct tf_buf thread;		/* how lines of this thread begin */
	uint64_t tsc;			/* of the chunk that the accesses are from */
	/* champsim: the instruction whose accesses are being collected; drmemtrace: told last */
	uint64_t insn;
	unsigned int loads, stores;
	char record[64];
	/* drmemtrace */
	const struct memtrace_thread *thread_of;
	uint64_t reported;			/* the last tsc that is in the file; 0: none */
	uint64_t windows;
	size_t n;
	char buffer[DUMP_MEMORY_BUFFER];
};

struct dump_memory_format {
	const char *name;
	bool places;	/* wants d->where */
	bool threads;	/* says which thread it was */
	void (*begin)(struct dump_memory *d, const struct memtrace_thread *thread);
	void (*put)(struct dump_memory *d, const struct mt_access *a, struct memplace *place);
	void (*off)(struct dump_memory *d); /* recording was off; NULL: not said */
	void (*end)(struct dump_memory *d);
};

void drmemtrace_begin(struct dump_memory *d, const struct memtrace_thread *t);
void drmemtrace_put(struct dump_memory *d, const struct mt_access *a, struct memplace *place);
void drmemtrace_off(struct dump_memory *d);
void drmemtrace_end(struct dump_memory *d);

/* By name; NULL: the default. */
const struct dump_memory_format *dump_memory_format(const char *name);

static inline void dump_memory_flush(struct dump_memory *d)
{
	if (d->out)
		fwrite(d->buffer, 1, d->n, d->out); /* ferror() is looked at */
	d->n = 0;
}

/* At least @bytes are free at the returned place; d->n is to be moved on by what was used of them. */
static inline char *dump_memory_room(struct dump_memory *d, size_t bytes)
{
	if (bytes > sizeof d->buffer - d->n)
		dump_memory_flush(d);
	return d->buffer + d->n;
}

#endif
