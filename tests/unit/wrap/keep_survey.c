// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Every function of an ELF file: why its entry cannot be patched, and what its callers rely on.  To be compared line by
 * line with what another version prints.  Without arguments (make check): the C library, whose functions have to be
 * known, mostly patchable, and mostly relied on for nothing.
 */
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "injector/facts/analysis.h"
#include "tests/unit/wrap/elf.h"

enum { FEW = 1000, PADDING_MAX = 256 };

struct counts {
	size_t functions, refused, kept, possible;
};

static const char *plan(const struct tramp_code *code, const struct inj_facts *f)
{
	struct tramp_branch branches[INJ_MAX_ENTRIES];
	struct tramp_function fn = { .addr = f->addr, .size = f->size, .branches = branches,
				     .nbranches = f->nentries };
	struct tramp_plan unused;
	enum tramp_status status;
	size_t left;

	fn.code = tramp_code_at(code, f->addr, &left);
	if (!fn.code)
		return "no code";
	fn.avail = f->avail < f->size + PADDING_MAX ? f->avail : f->size + PADDING_MAX;
	for (size_t i = 0; i < f->nentries; i++)
		branches[i] = (struct tramp_branch){ .to = f->entries[i] };
	status = tramp_plan_entry(&fn, &unused);
	return status == TRAMP_OK ? NULL : tramp_reason_text(status);
}

static void print(const struct tramp_code *code, const struct inj_facts *f, const char *name,
		  struct counts *c, bool verbose)
{
	const struct tramp_keep *keep = &f->keep;
	const char *refused = plan(code, f), *impossible;
	bool possible = tramp_keep_possible(keep, &impossible);

	c->functions++;
	c->refused += refused != NULL;
	c->kept += tramp_keep_needed(keep);
	c->possible += possible;
	if (!verbose)
		return;
	printf("%#lx %s: %s; gpr %#x xmm %#x%s%s%s%s%s\n", (unsigned long)f->addr, name,
	       refused ? refused : "patched", keep->gpr, keep->xmm, keep->wide ? " wide" : "",
	       keep->align ? " align" : "", keep->stack_args ? " stack" : "",
	       keep->far_stack_args ? " far" : "", keep->incomplete ? " incomplete" : "");
}

static struct counts survey(const char *path, bool verbose)
{
	struct inj_codefacts facts;
	struct inj_symtab *tab;
	struct tramp_code *code;
	struct inj_facts *known;
	struct counts c = { 0 };
	size_t n;

	if (inj_symtab_open(path, 0, &tab) != INJ_OK || inj_codefacts_read(path, tab, &facts) != INJ_OK ||
	    tramp_code_new(&facts.facts, &code) != TRAMP_CODE_OK)
		errx(99, "%s: cannot be read", path);
	n = facts.facts.nfns;
	known = calloc(n + 1, sizeof(*known));
	if (!known)
		err(99, "functions");
	for (size_t i = 0; i < n; i++)
		known[i].addr = facts.facts.fns[i].addr;
	if (!inj_analyze_code(code, known, n))
		errx(99, "no memory");
	for (size_t i = 0; i < n; i++) {
		if (tramp_code_function(code, known[i].addr) == i)
			print(code, &known[i], facts.fn[i].name, &c, verbose);
		else if (verbose)
			printf("%#lx %s: a part of another\n", (unsigned long)known[i].addr,
			       facts.fn[i].name);
	}
	free(known);
	tramp_code_free(code);
	inj_codefacts_free(&facts);
	inj_symtab_close(tab);
	return c;
}

int main(int argc, char **argv)
{
	struct counts c;

	for (int i = 1; i < argc; i++)
		survey(argv[i], true);
	if (argc > 1)
		return 0;
	c = survey(elf_libc_path(), false);
	printf("%zu functions, %zu refused, %zu keep something, %zu possible\n", c.functions, c.refused,
	       c.kept, c.possible);
	return c.functions < FEW || c.refused * 4 > c.functions || c.kept * 4 > c.functions ||
	       c.kept == 0 || c.possible * 50 < c.functions * 49;
}
