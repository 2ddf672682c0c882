/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recording by -F would find in an ELF file: its functions, their control flow, and whether mirrors
 * of them can be made.  From the file alone.
 */
#ifndef SONDE_LAUNCHER_INSPECT_ANATOMY_H
#define SONDE_LAUNCHER_INSPECT_ANATOMY_H

#include "injector/facts/facts.h"
#include "injector/image/symbols.h"
#include "launcher/select/select.h"
#include "trampolines/flow/flow.h"
#include "trampolines/mirror/mirror.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct anatomy {
	const char *path;
	struct inj_symtab *tab;
	struct inj_codefacts facts;
	struct tramp_code *code;
	struct tramp_checker *checker;
	struct tramp_mirror *mirror;
	struct tramp_flow flow; /* of the last function that anatomy_flow() was asked for */
};

/* Returns 0, or EXIT_USAGE after a message.  @path has to live as long. */
int anatomy_open(struct anatomy *a, const char *path) __attribute__((warn_unused_result));
void anatomy_close(struct anatomy *a);

/* Is the i-th of the facts' functions one by itself, not a part? */
bool anatomy_is_function(const struct anatomy *a, size_t i);

/*
 * wanted[i] (malloc'ed, to be freed by the caller) for each function, without parts; *n: how many.
 * NULL after a message.
 */
bool *anatomy_wanted(const struct anatomy *a, struct select *sel, enum select_kind kind, size_t *n);

/* All symbols of the i-th function beside each other; *n is 0 if it has none but facts.fn[i].name. */
const struct inj_symbol *anatomy_symbols(const struct anatomy *a, size_t i, size_t *n);

/* Blocks and loops of the i-th function into a->flow.  false: no memory. */
bool anatomy_flow(struct anatomy *a, size_t i);

/*
 * Plans the i-th function's mirror with probes at its entry and exits.  Returns NULL, or why it is left
 * alone: complete after "not instrumented: ", static.
 */
const char *anatomy_plan(struct anatomy *a, size_t i, struct tramp_mirror_plan *plan);

/* Names joined by " = ", as in the source or mangled. */
void anatomy_print_names(const struct anatomy *a, size_t i, bool mangled);

/* The same for symbols that stand beside each other. */
void print_symbols(const struct inj_symbol *symbols, size_t n, bool mangled);

/* Where names are from that no symbol table has: "  (signature libc.sig)"; else nothing. */
void print_source(const struct inj_symbol *symbols);

#endif
