// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Facts of a program that is built in several ways: it prints where its labels are, relative to its
 * functions, so that what the facts say can be compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/unit/injector/codefacts_support.h"

static const char source[] =
	"#include <stdio.h>\n"
	"#include <stdlib.h>\n"
	"#define OPAQUE __attribute__((noinline, noclone))\n"
	"extern char call_site[], set_action[];\n"
	/* a function within another; a label that is a function without type, size, unwind entry */
	"__asm__(\".text\\n.globl outer\\n.type outer,@function\\nouter: nop\\nnop\\n\"\n"
	"\".globl inner\\n.type inner,@function\\ninner: nop\\nret\\n.size inner, 1\\nnop\\n\"\n"
	"\".size outer, .-outer\\n.globl bare\\nbare: nop\\nret\\n\"\n"
	"\".globl set_action\\n.type set_action,@function\\nset_action: mov $13, %eax\\nmov $8, %r10d\\n\"\n"
	"\".globl call_site\\n.hidden call_site\\ncall_site: syscall\\nret\\n\"\n"
	"\".size set_action, .-set_action\\n\");\n"
	"int (*volatile say)(const char *) = puts;\n"
	"OPAQUE void clean(int *n) { puts(\"\"); *n = 0; }\n"
	"OPAQUE int guarded(int n) { __attribute__((cleanup(clean))) int v = n; say(\"g\"); return v; }\n"
	"OPAQUE int rare(int n) { if (__builtin_expect(n == 77, 0)) { puts(\"bad\"); abort(); } return n; }\n"
	"OPAQUE int jumps(int n, int print) {\n"
	"	static void *const to[] = { &&a, &&b, &&c };\n"
	"	if (print) for (int i = 0; i < 3; i++)\n"
	"		printf(\"jumps %ld\\n\", (long)((char *)to[i] - (char *)jumps));\n"
	"	goto *to[n % 3];\n"
	"a:	puts(\"a\"); return 1;\n"
	"b:	puts(\"b\"); return 2;\n"
	"c:	puts(\"c\"); return 3;\n"
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	(void)argv;\n"
	"	printf(\"set_action %ld\\n\", (long)(call_site - set_action));\n"
	"	return rare(argc) + guarded(argc) + jumps(argc, 1) < 0;\n"
	"}\n";

struct build {
	const char *name, *flags;
	bool exec;
};

static const struct build builds[] = {
	{ "pie", "-fPIE -pie", false },
	{ "exec", "-fno-pie -no-pie", true },
	{ "static", "-fno-pie -no-pie -static", true },
	{ "static-pie", "-fPIE -static-pie", false },
	{ "relr", "-fPIE -pie -Wl,-z,pack-relative-relocs", false },
	{ "cet", "-fPIE -pie -fcf-protection -Wl,-z,now -Wl,-z,ibtplt", false },
};

static void build(const char *name, const char *flags)
{
	const char *cc = getenv("CC");
	char command[1024];
	FILE *file = fopen("code.c", "w");

	assert_non_null(file);
	assert_true(fputs(source, file) >= 0);
	assert_int_equal(fclose(file), 0);
	snprintf(command, sizeof(command), "%s -g0 -O2 -w -fexceptions %s -o %s code.c",
		 cc ? cc : "cc", flags, name);
	assert_int_equal(system(command), 0);
}

struct program {
	struct inj_symtab *tab;
	struct inj_codefacts facts;
};

static void open_program(const char *name, struct program *p)
{
	assert_int_equal(inj_symtab_open(name, 0, &p->tab), INJ_OK);
	assert_int_equal(inj_codefacts_read(name, p->tab, &p->facts), INJ_OK);
	check_facts(&p->facts);
}

static void close_program(struct program *p)
{
	inj_codefacts_free(&p->facts);
	inj_symtab_close(p->tab);
}

static size_t named(const struct program *p, const char *name)
{
	for (size_t i = 0; i < p->facts.facts.nfns; i++)
		if (strcmp(p->facts.fn[i].name, name) == 0)
			return i;
	return SIZE_MAX;
}

static const struct tramp_fn *function(const struct program *p, const char *name)
{
	size_t i = named(p, name);

	assert_int_not_equal(i, SIZE_MAX);
	return &p->facts.facts.fns[i];
}

/* ---- */

static void check_bounds(const struct program *p)
{
	const struct tramp_fn *outer = function(p, "outer"), *inner = function(p, "inner");

	assert_int_equal(outer->size, 2);
	assert_int_equal(inner->addr, outer->addr + 2);
	assert_int_equal(inner->size, 3); /* what outer would have without it */
	assert_int_equal(function(p, "bare")->addr, inner->addr + inner->size);
	assert_int_equal(function(p, "bare")->size, 2);
	assert_false(function(p, "bare")->flags & TRAMP_FN_FRAMED);
	assert_true(function(p, "rare")->flags & TRAMP_FN_FRAMED);
	assert_int_equal(named(p, "call_site"), SIZE_MAX); /* within set_action() */
}

static void check_part(const struct program *p)
{
	size_t part = named(p, "rare.cold");

	if (part == SIZE_MAX)
		return; /* clang makes none */
	assert_true(p->facts.facts.fns[part].flags & TRAMP_FN_PART);
	assert_int_equal(p->facts.facts.fns[part].parent, named(p, "rare"));
}

/* What the program prints: a function's name and how far after its start something is. */
static void check_places(const struct program *p, const char *name)
{
	char command[64], line[128], which[64];
	size_t labels = 0, calls = 0;
	long distance;
	FILE *out;

	snprintf(command, sizeof(command), "./%s", name);
	out = popen(command, "r");
	assert_non_null(out);
	while (fgets(line, sizeof(line), out)) {
		if (sscanf(line, "%63s %ld", which, &distance) != 2)
			continue;
		uint64_t addr = function(p, which)->addr + (uint64_t)distance;

		if (strcmp(which, "jumps") == 0) {
			assert_true(has_address(p->facts.facts.taken, p->facts.facts.ntaken, addr));
			labels++;
		} else {
			assert_true(has_address(p->facts.sigaction, p->facts.nsigaction, addr));
			calls++;
		}
	}
	assert_int_equal(pclose(out), 0);
	assert_int_equal(labels, 3);
	assert_int_equal(calls, 1);
}

static void check_pads(const struct program *p)
{
	size_t guarded = named(p, "guarded"), here = 0;

	for (size_t i = 0; i < p->facts.facts.npads; i++) {
		size_t fn = function_with(&p->facts, p->facts.facts.pads[i]);

		assert_true(fn < p->facts.facts.nfns);
		here += fn == guarded || p->facts.facts.fns[fn].parent == guarded;
	}
	assert_int_equal(here, 1);
}

/* abort() is a function here, or an entry of a PLT or a slot. */
static void check_noreturn(const struct program *p, bool is_static)
{
	const uint64_t *v = p->facts.facts.noreturn;
	size_t n = p->facts.facts.nnoreturn;

	assert_true(n > 0);
	if (is_static)
		assert_true(has_address(v, n, function(p, "abort")->addr));
	for (size_t i = 0; i < n && !is_static; i++)
		assert_int_equal(function_with(&p->facts, v[i]), p->facts.facts.nfns);
	assert_false(has_address(v, n, function(p, "rare")->addr));
}

static void test_builds(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(builds) / sizeof(builds[0]); i++) {
		struct program p;

		print_message("%s\n", builds[i].name);
		build(builds[i].name, builds[i].flags);
		open_program(builds[i].name, &p);
		assert_int_equal(p.facts.no_relocations, builds[i].exec);
		assert_false(p.facts.go);
		check_bounds(&p);
		check_part(&p);
		check_places(&p, builds[i].name);
		check_pads(&p);
		check_noreturn(&p, strncmp(builds[i].name, "static", 6) == 0);
		assert_true(p.facts.fn[named(&p, "_start")].flags & INJ_FN_NEVER);
		assert_false(p.facts.fn[named(&p, "main")].flags & INJ_FN_NEVER);
		close_program(&p);
	}
}

/* Takes the section headers off. */
static void cut_sections(const char *name)
{
	Elf64_Ehdr eh;
	FILE *file = fopen(name, "r+");

	assert_non_null(file);
	assert_int_equal(fread(&eh, sizeof(eh), 1, file), 1);
	eh.e_shoff = 0;
	eh.e_shnum = eh.e_shstrndx = 0;
	rewind(file);
	assert_int_equal(fwrite(&eh, sizeof(eh), 1, file), 1);
	assert_int_equal(fclose(file), 0);
}

/* What symbols say and unwind tables say as well is found without symbols and without sections. */
static void compare_bare(const struct program *full, const struct program *bare)
{
	const struct tramp_facts *a = &full->facts.facts, *b = &bare->facts.facts;

	for (size_t i = 0; i < a->nfns; i++) {
		size_t k = function_with(&bare->facts, a->fns[i].addr);

		if (!(a->fns[i].flags & TRAMP_FN_FRAMED))
			continue;
		assert_true(k < b->nfns);
		assert_int_equal(a->fns[i].addr, b->fns[k].addr);
		assert_int_equal(a->fns[i].size, b->fns[k].size);
		if (a->fns[i].flags & TRAMP_FN_PART)
			assert_true(b->fns[k].flags & TRAMP_FN_MAYBE_PART);
	}
	assert_int_equal(a->npads, b->npads);
	assert_memory_equal(a->pads, b->pads, a->npads * sizeof(*a->pads));
	for (size_t i = 0; i < a->nnoreturn; i++)
		assert_true(has_address(b->noreturn, b->nnoreturn, a->noreturn[i]));
	assert_int_equal(full->facts.nsigaction, bare->facts.nsigaction);
}

static void test_bare(void **state)
{
	static const char *const flags[] = { "-fPIE -pie", "-fno-pie -no-pie" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		struct program full, bare;
		char stripped[64];

		build("full", flags[i]);
		snprintf(stripped, sizeof(stripped), "%s -s", flags[i]);
		build("bare", stripped);
		open_program("full", &full);
		open_program("bare", &bare);
		compare_bare(&full, &bare);
		close_program(&bare);
		cut_sections("bare");
		open_program("bare", &bare);
		compare_bare(&full, &bare);
		close_program(&bare);
		close_program(&full);
	}
}

/* Slots and entries of the linker's tables that lead to the file's own functions. */
static size_t own(const char *name, const char *flags)
{
	struct program p;
	size_t n;

	build(name, flags);
	open_program(name, &p);
	n = p.facts.facts.nown;
	close_program(&p);
	return n;
}

/* Four functions of the library call each other. */
static void test_own(void **state)
{
	size_t slots = own("slots", "-fPIC -shared -fno-plt");

	(void)state;
	assert_true(slots >= 3);
	assert_int_equal(own("library", "-fPIC -shared -fplt -Wl,-z,lazy"), slots + 4);
	assert_int_equal(own("bound", "-fPIC -shared -Wl,-Bsymbolic"), 0);
}

static void test_errors(void **state)
{
	struct inj_codefacts facts;
	struct inj_symtab *tab;

	(void)state;
	build("errors", "");
	assert_int_equal(inj_symtab_open("errors", 0, &tab), INJ_OK);
	assert_int_equal(inj_codefacts_read("no-such-file", tab, &facts), INJ_NO_FILE);
	assert_int_equal(inj_codefacts_read("code.c", tab, &facts), INJ_NO_FILE);
	assert_int_equal(inj_codefacts_read(".", tab, &facts), INJ_NO_FILE);
	inj_codefacts_free(&facts); /* harmless */
	inj_symtab_close(tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builds),
		cmocka_unit_test(test_bare),
		cmocka_unit_test(test_own),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
