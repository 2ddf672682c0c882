/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file a command name means, and whether it can be traced: what the shell and the kernel
 * would do, decided before anything is started.
 */
#ifndef SONDE_LAUNCHER_PROGRAM_PROGRAM_H
#define SONDE_LAUNCHER_PROGRAM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

struct program {
	char *path;	/* what to execve() */
	char *elf_path; /* the ELF file that will run: `path`, or a script's interpreter */
	char *interp;	/* PT_INTERP of elf_path, NULL when it has none */
	char **needed;	/* DT_NEEDED of elf_path */
	size_t nneeded;
	bool is_script;	/* path is a script, elf_path its interpreter */
	bool is_static;	/* nothing links it when it is started: static, static-PIE, or interp is a library at a fixed address (klibc) */
	bool is_pie;	/* position-independent, static or not */
	bool via_shell;	/* a text file without #!: path is /bin/sh, see program_argv() */
	char *script;	/* via_shell: the text file */
};

/*
 * Looks up and checks `name` (in $PATH when it has no slash).  Returns 0 with *p filled in, or
 * the exit status (126 or 127) after a message that says why.
 */
int program_resolve(const char *name, struct program *p) __attribute__((warn_unused_result));

/*
 * The ELF file that `name` means, malloc'ed, for reading: a library may lie about without the right to be executed.  Returns
 * as program_resolve().
 */
int program_elf_file(const char *name, char **file) __attribute__((warn_unused_result));

/*
 * The file that `name` means: itself when it has a slash, else the first executable of that name in
 * $PATH, or the first that is there at all. malloc'ed; NULL: none.
 */
char *program_find(const char *name);

/*
 * Calls each() with every library that the program is linked with, directly or through others, and
 * with the dynamic linker. That linker itself is asked, which knows its own rules; the program is not
 * run. Returns what each() returned as soon as that is not 0, else 0; -1: not all were found. None, and
 * 0, for a static program.
 */
int program_libraries(const struct program *p, int (*each)(const char *path, void *arg), void *arg)
	__attribute__((warn_unused_result));

/*
 * The argument vector to execve() p->path with: argv itself, or for via_shell a new vector whose
 * memory belongs to *p's caller (one free()).  NULL: no memory.
 */
char **program_argv(const struct program *p, char **argv);

void program_free(struct program *p);

#endif
