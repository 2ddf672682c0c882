/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The functions of an ELF file of this machine, for tests that go over real code. */
#ifndef SONDE_TESTS_UNIT_WRAP_ELF_H
#define SONDE_TESTS_UNIT_WRAP_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_function {
	const char *name;	/* "" where it is known from unwind information only */
	uint64_t addr;
	size_t size;
	size_t avail;
	const uint8_t *code;
};

struct elf_code {
	struct elf_function *functions;		/* by address, no address twice */
	size_t nfunctions;
	const uint8_t *text;			/* the section .text */
	uint64_t text_addr;
	size_t text_size;
	void *map;
	size_t map_size;
	void *elf;
};

/*
 * Exits with a message where the file cannot be read. With `unwind`, functions that only .eh_frame
 * knows are among them; these may be parts of others (cold parts).
 */
void elf_code_open(struct elf_code *code, const char *path, bool unwind);
void elf_code_close(struct elf_code *code);

/* The file that the C library of this process was loaded from. */
const char *elf_libc_path(void);

#endif
