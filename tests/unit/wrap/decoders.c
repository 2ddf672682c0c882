// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Zydis and libopcodes have to see the same instructions, in all functions of the files named, or of the C library,
 * and the C++ library, Python and gdb where they are installed. Where both say that a byte is no instruction, they
 * agree.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "tests/unit/wrap/elf.h"
#include "trampolines/trampoline.h"

enum { SKIPPED = 77, LISTED_MAX = 50, INSNS_MIN = 100000 };

struct tally {
	size_t functions;
	size_t insns;
	size_t undecodable;
	size_t different;
};

static void show(const struct elf_function *fn, size_t at, size_t first, size_t second)
{
	printf("%s+%#zx (%#" PRIx64 "): %zu bytes by Zydis, %zu by libopcodes:", fn->name, at,
	       fn->addr + at, first, second);
	for (size_t i = 0; i < 15 && at + i < fn->size; i++)
		printf(" %02x", fn->code[at + i]);
	printf("\n");
}

static void compare_function(struct tramp_checker *checker, const struct elf_function *fn,
			     struct tally *tally)
{
	size_t at = 0;

	while (at < fn->size) {
		size_t left = fn->size - at;
		size_t first = tramp_insn_length(fn->code + at, left);
		size_t second = tramp_checker_length(checker, fn->code + at, left);

		tally->insns++;
		if (first != second && tally->different++ < LISTED_MAX)
			show(fn, at, first, second);
		if (first == 0)
			tally->undecodable++;
		at += first ? first : 1;
	}
	tally->functions++;
}

static void compare_file(struct tramp_checker *checker, const char *path, struct tally *tally)
{
	struct elf_code code;

	elf_code_open(&code, path, true);
	for (size_t i = 0; i < code.nfunctions; i++)
		compare_function(checker, &code.functions[i], tally);
	elf_code_close(&code);
}

static bool is_elf(const char *path)
{
	char magic[4] = "";
	FILE *f = fopen(path, "re");
	bool is = f && fread(magic, 1, 4, f) == 4 && memcmp(magic, "\177ELF", 4) == 0;

	if (f)
		fclose(f);
	return is;
}

static void compare_installed(struct tramp_checker *checker, struct tally *tally)
{
	static const char *const paths[] = {
		"/usr/lib/x86_64-linux-gnu/libstdc++.so.6", "/usr/lib64/libstdc++.so.6", "/usr/bin/python3",
		"/usr/bin/gdb",
	};

	compare_file(checker, elf_libc_path(), tally);
	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		if (!is_elf(paths[i]))
			continue;
		printf("%s\n", paths[i]);
		compare_file(checker, paths[i], tally);
	}
}

int main(int argc, char **argv)
{
	struct tramp_checker *checker = tramp_checker_new();
	struct tally tally = { 0 };

	if (!checker)
		err(99, "checker");
	if (tramp_checker_length(checker, (const uint8_t *)"\x90", 1) == 0) {
		puts("built without libopcodes");
		return SKIPPED;
	}
	if (argc == 1)
		compare_installed(checker, &tally);
	for (int i = 1; i < argc; i++)
		compare_file(checker, argv[i], &tally);
	tramp_checker_free(checker);
	printf("%zu functions, %zu instructions, %zu undecodable, %zu different\n",
	       tally.functions, tally.insns, tally.undecodable, tally.different);
	return tally.different || (argc == 1 && tally.insns < INSNS_MIN) ? 1 : 0;
}
