// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Facts of the C library, or of the files named, against what libelf and libdw read from them.
 * It has at least FUNCTIONS_MIN functions.  With -t, the time it takes.
 */
#include "config.h"

#include <err.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "tests/unit/injector/codefacts_support.h"
#include "tests/unit/wrap/elf.h"

#define FUNCTIONS_MIN 1000

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool starts_function(const struct inj_codefacts *f, uint64_t addr)
{
	size_t k = function_with(f, addr);

	return k < f->facts.nfns && f->facts.fns[k].addr == addr;
}

/*
 * Every function that libelf knows is one; every entry of the unwind table starts one or lies
 * within one.  That of a signal handler's return address starts one byte before it.
 */
static size_t compare(const char *path, const struct inj_codefacts *f, const struct elf_code *elf)
{
	size_t missing = 0;

	for (size_t i = 0; i < elf->nfunctions; i++) {
		const struct elf_function *e = &elf->functions[i];

		if (starts_function(f, e->addr) ||
		    (!e->name[0] && (starts_function(f, e->addr + 1) ||
				     function_with(f, e->addr) < f->facts.nfns)))
			continue;
		printf("%s: %#" PRIx64 " %s: not found\n", path, e->addr, e->name);
		missing++;
	}
	return missing;
}

/* Returns how much is wrong; *@functions are those that libelf knows. */
static size_t survey(const char *path, bool timed, size_t *functions)
{
	struct inj_codefacts facts;
	struct inj_symtab *tab;
	struct elf_code elf;
	size_t wrong, outside = 0;
	double start;

	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK)
		errx(1, "%s: no symbols", path);
	start = now();
	if (inj_codefacts_read(path, tab, &facts) != INJ_OK)
		errx(1, "%s: no facts", path);
	if (timed)
		printf("%s: %.1f ms\n", path, now() - start);
	check_facts(&facts);
	for (size_t i = 0; i < facts.facts.npads; i++)
		outside += function_with(&facts, facts.facts.pads[i]) == facts.facts.nfns;
	elf_code_open(&elf, path, true);
	wrong = compare(path, &facts, &elf) + outside;
	printf("%s: %zu functions (%zu by libelf), %zu taken, %zu landing pads (%zu nowhere), "
	       "%zu do not return, %zu may be rt_sigaction\n",
	       path, facts.facts.nfns, elf.nfunctions, facts.facts.ntaken, facts.facts.npads,
	       outside, facts.facts.nnoreturn, facts.nsigaction);
	*functions = elf.nfunctions;
	elf_code_close(&elf);
	inj_codefacts_free(&facts);
	inj_symtab_close(tab);
	return wrong;
}

int main(int argc, char **argv)
{
	bool timed = argc > 1 && strcmp(argv[1], "-t") == 0;
	int first = timed ? 2 : 1;
	size_t wrong = 0, functions;

	if (first == argc) {
		wrong = survey(elf_libc_path(), timed, &functions);
		wrong += functions < FUNCTIONS_MIN;
	}
	for (int i = first; i < argc; i++)
		wrong += survey(argv[i], timed, &functions);
	return wrong != 0;
}
