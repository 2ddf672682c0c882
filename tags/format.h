/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The section .sonde.tags, version 1: which instructions access which variables, as the compiler knew it.  See
 * doc/tags-format.md.  It is not loaded (no SHF_ALLOC), little-endian, not aligned: a sequence of chunks, one for each
 * function, or two for one with a part in another section.  A chunk is
 *
 *	struct tags_chunk
 *	struct tags_entry[ntags]	ascending by begin
 *	struct tags_fact[nfacts]
 *	char[nstrings]			strings, each with its NUL; the first one is empty
 *
 * Shared by the plugin, which is C++, and the reader.
 */
#ifndef SONDE_TAGS_FORMAT_H
#define SONDE_TAGS_FORMAT_H

#include <stdint.h>

#define TAGS_SECTION ".sonde.tags"
#define TAGS_MAGIC 0x47415453u /* "STAG" */
#define TAGS_VERSION 1u

/* What comes first, up to `size', is the same in every version. */
struct tags_chunk {
	uint32_t magic;
	uint32_t version;
	uint32_t size;		/* of all of it, bytes */
	uint32_t ntags;
	uint64_t base;		/* link-time address that entries count from; 0 if the linker has dropped the code */
	uint32_t nfacts;
	uint32_t nstrings;	/* bytes, at least 1 */
	uint32_t function;	/* its name in the source: a string */
	uint32_t zero;
};

/*
 * The instructions in [base + begin, base + begin + length): what the compiler has written as one.  That is one machine
 * instruction that accesses memory in nearly all cases, maybe after padding; several in inline assembly and the like.
 * Accesses of the same instructions have entries beside each other.
 */
struct tags_entry {
	uint32_t begin;
	uint32_t length;
	uint32_t fact;		/* index */
};

enum tags_flags {
	TAGS_READ = 1,
	TAGS_WRITE = 2,		/* both: the same memory is read and written */
	TAGS_VECTORIZED = 4,	/* several elements at once, which the source accesses one by one */
	TAGS_IFCONVERTED = 8,	/* the source has a branch in the loop (its line is `branch'), the loop of this instruction has none */
	TAGS_FLAGS = 15,
};

enum tags_kind {
	TAGS_VARIABLE,		/* what an expression of the source names */
	TAGS_SPILL,		/* a register's value, for want of registers */
	TAGS_SAVED,		/* a register of the caller */
	TAGS_CONSTANT,		/* a constant that is in memory */
	TAGS_ADDRESS,		/* an address, from the global offset table */
	TAGS_TABLE,		/* a jump table */
	TAGS_ARGUMENT,		/* of a call, on the stack */
	TAGS_CANARY,		/* -fstack-protector */
	TAGS_KINDS
};

/* Strings are offsets into the chunk's; 0: none. */
struct tags_fact {
	uint32_t flags;		/* enum tags_flags */
	uint32_t kind;		/* enum tags_kind */
	uint32_t size;		/* bytes that are accessed; 0: not known, or varies */
	uint32_t expr;		/* the source expression */
	uint32_t variable;	/* the variable, or the pointer that it is accessed by */
	uint32_t type;		/* of the expression */
	uint32_t file, line;	/* source; line 0: not known */
	uint32_t loop;		/* line of the innermost loop's condition in the source; 0: none */
	uint32_t depth;		/* how many loops of the source it is in */
	uint32_t branch;	/* line of a branch in that loop; 0: none */
};

#endif
