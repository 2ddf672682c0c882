/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "launcher/inspect/anatomy.h"
#include "launcher/common/message.h"
#include "injector/mirror/probeenv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/search.h"

static const char reason_never[] = "does not return like other functions";
static const char reason_go[] = "Go moves it between threads, and its stacks";
static const char reason_ours[] = "Sonde needs it for itself";

/* ---- the file ---- */

static int no_memory(const char *path)
{
	msg_error("%s: out of memory", path);
	return EXIT_USAGE;
}

static int read_facts(struct anatomy *a)
{
	enum inj_status status = inj_symtab_open(a->path, INJ_SYMTAB_DEBUG_FILE, &a->tab);

	if (status == INJ_OK)
		status = inj_codefacts_read(a->path, a->tab, &a->facts);
	if (status == INJ_OK)
		return 0;
	if (status == INJ_MEMORY)
		return no_memory(a->path);
	msg_error("%s: %s", a->path,
		  status == INJ_NOT_SUPPORTED ? "has no code" : "cannot be read as a program or library");
	return EXIT_USAGE;
}

static int read_code(struct anatomy *a)
{
	switch (tramp_code_new(&a->facts.facts, &a->code)) {
	case TRAMP_CODE_OK:
		return 0;
	case TRAMP_CODE_MEMORY:
		return no_memory(a->path);
	case TRAMP_CODE_TOO_BIG:
		msg_error("%s: more than 4 GiB of code", a->path);
		return EXIT_USAGE;
	case TRAMP_CODE_EMPTY:
		msg_error("%s: has no code", a->path);
		return EXIT_USAGE;
	}
	return EXIT_USAGE;
}

int anatomy_open(struct anatomy *a, const char *path)
{
	/* as for a program that is recorded */
	const struct tramp_probe_env env = inj_probe_env(TRAMP_PROBE_RECORD, 1);

	*a = (struct anatomy){ .path = path };
	int status = read_facts(a);
	if (!status)
		status = read_code(a);
	if (!status) {
		a->checker = tramp_checker_new();
		a->mirror = tramp_mirror_new(a->code, &env, a->checker);
		if (!a->checker || !a->mirror)
			status = no_memory(path);
	}
	if (status)
		anatomy_close(a);
	return status;
}

void anatomy_close(struct anatomy *a)
{
	tramp_flow_free(&a->flow);
	if (a->mirror)
		tramp_mirror_free(a->mirror);
	if (a->checker)
		tramp_checker_free(a->checker);
	if (a->code)
		tramp_code_free(a->code);
	inj_codefacts_free(&a->facts);
	if (a->tab)
		inj_symtab_close(a->tab);
	*a = (struct anatomy){ 0 };
}

/* ---- one function ---- */

bool anatomy_is_function(const struct anatomy *a, size_t i)
{
	return tramp_code_function(a->code, a->facts.facts.fns[i].addr) == i;
}

bool *anatomy_wanted(const struct anatomy *a, struct select *sel, enum select_kind kind, size_t *n)
{
	size_t nfns = a->facts.facts.nfns;
	bool *wanted = calloc(nfns + 1, sizeof(*wanted));

	if (!wanted || select_mark(sel, a->path, kind, &a->facts, a->tab, wanted) < 0) {
		no_memory(a->path);
		free(wanted);
		return NULL;
	}
	*n = 0;
	for (size_t i = 0; i < nfns; i++) {
		wanted[i] = wanted[i] && anatomy_is_function(a, i);
		*n += wanted[i];
	}
	return wanted;
}

const struct inj_symbol *anatomy_symbols(const struct anatomy *a, size_t i, size_t *n)
{
	uint64_t addr = a->facts.facts.fns[i].addr;
	size_t nsyms, first;
	const struct inj_symbol *syms = inj_symtab_all(a->tab, &nsyms);

	first = search_first(k, nsyms, syms[k].addr >= addr);
	for (*n = 0; first + *n < nsyms && syms[first + *n].addr == addr; ++*n)
		;
	return syms + first;
}

bool anatomy_flow(struct anatomy *a, size_t i)
{
	return tramp_flow_build(&a->flow, a->code, (uint32_t)i) == TRAMP_CODE_OK &&
	       tramp_flow_loops(&a->flow) == TRAMP_CODE_OK;
}

/* Handlers of signals are set there; what else Sonde needs it knows only of a program that runs. */
static bool is_ours(const struct inj_codefacts *facts, size_t i)
{
	const struct tramp_fn *fn = &facts->facts.fns[i];

	for (size_t k = 0; k < facts->nsigaction; k++)
		if (facts->sigaction[k] - fn->addr < fn->size)
			return true;
	return false;
}

const char *anatomy_plan(struct anatomy *a, size_t i, struct tramp_mirror_plan *plan)
{
	const struct tramp_mirror_request req = {
		.fn = (uint32_t)i,
		.want = TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT,
		.enter = 1,
		.leave = 2,
	};

	*plan = (struct tramp_mirror_plan){ 0 };
	if (a->facts.fn[i].flags & INJ_FN_NEVER)
		return reason_never;
	if (a->facts.fn[i].flags & INJ_FN_GO)
		return reason_go;
	if (is_ours(&a->facts, i))
		return reason_ours;
	enum tramp_mirror_status status = tramp_mirror_plan(a->mirror, &req, plan);
	if (status == TRAMP_MIRROR_OK || status == TRAMP_MIRROR_NEVER_LEAVES)
		return NULL;
	return tramp_mirror_text(status);
}

/* ---- names ---- */

/* Versions of a symbol, and C++ constructors, have the same name several times. */
static bool is_repeated(char *const *names, size_t index)
{
	for (size_t i = 0; i < index; i++) {
		if (names[i] && strcmp(names[i], names[index]) == 0)
			return true;
	}
	return false;
}

void print_symbols(const struct inj_symbol *symbols, size_t n, bool mangled)
{
	char **names = calloc(n, sizeof(*names));

	for (size_t i = 0; names && i < n; i++) {
		names[i] = mangled ? NULL : inj_demangle(symbols[i].name);
		if (!names[i])
			names[i] = strdup(symbols[i].name);
		if (names[i] && !is_repeated(names, i))
			printf("%s%s", i ? " = " : "", names[i]);
	}
	for (size_t i = 0; names && i < n; i++)
		free(names[i]);
	free(names);
}

void print_source(const struct inj_symbol *symbols)
{
	if (symbols[0].source)
		printf("  (signature %s)", symbols[0].source);
}

#define MAYBE_MAX 4 /* names that one without a name may have: more are counted */

/* Equal code may be any of the functions that have it. */
static void print_maybe(const struct anatomy *a, uint64_t addr, bool mangled)
{
	const char *names[MAYBE_MAX], *source = "";
	size_t n = inj_symtab_maybe(a->tab, addr, names, MAYBE_MAX, &source);

	for (size_t i = 0; i < n && i < MAYBE_MAX; i++) {
		char *plain = mangled ? NULL : inj_demangle(names[i]);

		printf("%s%s", i ? " or " : "  (may be ", plain ? plain : names[i]);
		free(plain);
	}
	if (n > MAYBE_MAX)
		printf(" or %zu others", n - MAYBE_MAX);
	if (n)
		printf(": signature %s%s)", source, n > 1 ? ", alike" : ", not sure");
}

void anatomy_print_names(const struct anatomy *a, size_t i, bool mangled)
{
	size_t n;
	const struct inj_symbol *symbols = anatomy_symbols(a, i, &n);
	const struct inj_symbol nameless = { .name = a->facts.fn[i].name };

	print_symbols(n ? symbols : &nameless, n ? n : 1, mangled);
	if (n)
		print_source(symbols);
	else
		print_maybe(a, a->facts.facts.fns[i].addr, mangled);
}
