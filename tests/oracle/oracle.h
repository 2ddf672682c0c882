/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The oracle: what functions a program enters and leaves, found by executing one instruction after the
 * other.  Shares no code with what it judges.
 */
#ifndef TESTS_ORACLE_ORACLE_H
#define TESTS_ORACLE_ORACLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- functions of an ELF file, at link-time addresses ---- */

struct function {
	uint64_t addr, size;
	struct function *parent; /* the function that foo.cold belongs to; else itself */
	char *names;		 /* all of its names, with | between them; "sub_ADDR" where it has none */
};

struct segment {
	uint64_t addr, len; /* executable bytes of the file */
	uint8_t *bytes;
	bool *came; /* the caller's, one for each byte; false at first */
};

struct object {
	char *path;
	struct function *fns; /* ascending, not overlapping */
	size_t nfns;
	struct segment *segs;
	size_t nsegs;
	uint64_t entry;	/* link-time address of the first instruction */
	bool dynamic;	/* has an interpreter */
};

/* @symbols: the file that has the symbols, or NULL: @path itself.  Ends the process on errors. */
void object_read(struct object *o, const char *path, const char *symbols);

/* NULL: in none. */
struct function *object_function(const struct object *o, uint64_t addr);

/* The executable bytes at @addr, *left of them; NULL: none. */
const uint8_t *object_code(const struct object *o, uint64_t addr, size_t *left);

/* ---- instructions ---- */

enum insn {
	INSN_OTHER,
	INSN_CALL,
	INSN_RET,
	INSN_JMP, /* jumps that are taken always */
	INSN_JCC, /* jumps that may not be taken, loop and jrcxz too */
	INSN_SYSCALL,
	INSN_TRAP, /* int3 and the like */
};

/* *len: of branches; 0 for all else. */
enum insn insn_read(const uint8_t *bytes, size_t left, unsigned int *len);

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
