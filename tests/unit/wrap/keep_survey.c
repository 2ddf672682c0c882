// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What is relied on of every function of real programs, and how long it takes to find out. Without
 * arguments (make check): the C library. With: the files named; -v lists the functions.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tests/unit/wrap/elf.h"
#include "trampolines/wrap/keep.h"

struct counts {
	size_t kept, aligned, wide, incomplete, impossible;
};

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void count(struct counts *c, const struct elf_function *fn, const struct tramp_keep *keep,
		  bool verbose)
{
	const char *reason;

	c->kept += keep->gpr || keep->xmm || keep->wide;
	c->aligned += keep->align;
	c->wide += keep->wide;
	c->incomplete += keep->incomplete;
	c->impossible += !tramp_keep_possible(keep, &reason);
	if (verbose && tramp_keep_needed(keep))
		printf("\t%#lx %s: gpr %#x xmm %#x%s%s%s%s\n", fn->addr, fn->name, keep->gpr,
		       keep->xmm, keep->wide ? " wide" : "", keep->align ? " align" : "",
		       keep->stack_args ? " stack" : "", keep->incomplete ? " incomplete" : "");
}

/* A direct call or jump with 32 bits of displacement to it, wherever; false hits are rare. */
static size_t count_called(const struct elf_code *code)
{
	uint8_t *called = calloc(code->text_size + 1, 1);
	size_t n = 0;

	if (!called)
		err(99, "called");
	for (size_t i = 0; i + 5 <= code->text_size; i++) {
		uint64_t to;
		int32_t rel;

		if ((code->text[i] & 0xfe) != 0xe8)
			continue;
		memcpy(&rel, code->text + i + 1, sizeof(rel));
		to = i + 5 + (uint64_t)(int64_t)rel;
		if (to < code->text_size)
			called[to] = 1;
	}
	for (size_t i = 0; i < code->nfunctions; i++)
		n += called[code->functions[i].addr - code->text_addr];
	free(called);
	return n;
}

static void survey(const char *path, bool verbose)
{
	struct tramp_extent *extents;
	struct tramp_keep *keeps;
	struct tramp_object object;
	struct counts c = { 0 };
	struct elf_code code;
	uint64_t *targets;
	double start;

	elf_code_open(&code, path, true);
	extents = calloc(code.nfunctions + 1, sizeof(*extents));
	targets = calloc(code.nfunctions + 1, sizeof(*targets));
	keeps = calloc(code.nfunctions + 1, sizeof(*keeps));
	if (!extents || !targets || !keeps)
		err(99, "functions");
	for (size_t i = 0; i < code.nfunctions; i++) {
		extents[i] = (struct tramp_extent){ code.functions[i].addr, code.functions[i].size };
		targets[i] = code.functions[i].addr;
	}
	object = (struct tramp_object){
		.code = code.text, .len = code.text_size, .addr = code.text_addr,
		.functions = extents, .nfunctions = code.nfunctions,
	};
	start = now();
	if (!tramp_keep_analyze(&object, targets, code.nfunctions, keeps))
		err(99, "analysis");
	start = now() - start;
	for (size_t i = 0; i < code.nfunctions; i++)
		count(&c, &code.functions[i], &keeps[i], verbose);
	printf("%s: %zu functions, %zu called, %zu registers kept, %zu misaligned, %zu wide, "
	       "%zu incomplete, %zu impossible; %.1f ms for %zu KiB\n", path, code.nfunctions,
	       count_called(&code), c.kept, c.aligned, c.wide, c.incomplete, c.impossible,
	       start * 1e3, code.text_size / 1024);
	free(extents);
	free(targets);
	free(keeps);
	elf_code_close(&code);
}

int main(int argc, char **argv)
{
	bool verbose = false;
	int option;

	while ((option = getopt(argc, argv, "v")) != -1) {
		if (option != 'v')
			errx(2, "usage: %s [-v] [FILE...]", argv[0]);
		verbose = true;
	}
	if (optind == argc)
		survey(elf_libc_path(), verbose);
	for (int i = optind; i < argc; i++)
		survey(argv[i], verbose);
	return 0;
}
