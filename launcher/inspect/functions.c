/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The questions that are asked of a function before it is patched, asked of all functions of a file:
 * can its entry be planned, with the branches that go into it from elsewhere; and do its callers leave
 * room for a wrapper.
 */
#include "launcher/inspect/functions.h"
#include "injector/facts/analysis.h"
#include "injector/mirror/planners.h"
#include "launcher/common/message.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED_AT_AFTER 256u /* bytes after a function that may be padding */

static const char reason_cold[] = "a part of another function";
static const char reason_outside[] = "not in executable code";

/* What one file comes to. */
struct survey {
	struct inj_codefacts facts;
	struct tramp_code *code;
	struct function *v;
	struct inj_facts *known; /* of v */
	size_t n;
};

static bool is_cold_part(const char *name)
{
	const char *cold = strstr(name, ".cold");

	return cold && (cold[5] == '\0' || cold[5] == '.');
}

/* All symbols of one address: those from v[i] on. */
static struct function next_function(const struct inj_symbol *v, size_t n, size_t i)
{
	struct function f = { .symbols = &v[i] };

	for (; i < n && v[i].addr == f.symbols[0].addr; i++, f.nnames++) {
		if (v[i].size > f.size)
			f.size = v[i].size;
		f.is_ifunc |= (v[i].flags & INJ_SYM_IFUNC) != 0;
	}
	f.is_part = is_cold_part(f.symbols[0].name);
	return f;
}

static bool find_functions(struct survey *s, const struct inj_symtab *tab)
{
	size_t n;
	const struct inj_symbol *symbols = inj_symtab_all(tab, &n);

	s->v = calloc(n + 1, sizeof(*s->v));
	s->known = calloc(n + 1, sizeof(*s->known));
	if (!s->v || !s->known)
		return false;
	for (size_t i = 0; i < n; i += s->v[s->n++].nnames) {
		s->v[s->n] = next_function(symbols, n, i);
		s->known[s->n].addr = symbols[i].addr;
	}
	return inj_analyze_code(s->code, s->known, s->n);
}

/* ---- what is asked of each ---- */

static const char *plan_entry(const uint8_t *bytes, size_t left, const struct inj_facts *known)
{
	struct tramp_branch branches[INJ_MAX_ENTRIES];
	struct tramp_plan plan;
	struct tramp_function fn = {
		.addr = known->addr,
		.code = bytes,
		.size = known->size < left ? known->size : left,
		.avail = known->avail,
		.branches = branches,
		.nbranches = known->nentries,
	};

	for (size_t i = 0; i < known->nentries; i++)
		branches[i] = (struct tramp_branch){ .to = known->entries[i] };
	if (fn.avail > fn.size + LOOKED_AT_AFTER)
		fn.avail = fn.size + LOOKED_AT_AFTER;
	if (fn.avail > left)
		fn.avail = left;
	enum tramp_status status = tramp_plan_entry(&fn, &plan);
	return status == TRAMP_OK ? NULL : tramp_reason_text(status);
}

/* IFUNCs are not judged: the symbol is the resolver's, and that is not what would be patched. */
static const char *judge(const struct survey *s, size_t i)
{
	const struct inj_facts *known = &s->known[i];
	const char *reason = NULL;
	size_t left;
	const uint8_t *bytes = tramp_code_at(s->code, known->addr, &left);

	if (s->v[i].is_part)
		return reason_cold;
	if (!bytes || !known->size)
		return reason_outside;
	if (s->v[i].is_ifunc)
		return NULL;
	reason = plan_entry(bytes, left, known);
	if (!reason)
		(void)!tramp_keep_possible(&known->keep, &reason);
	return reason;
}

/* ---- all of it ---- */

/* Says what is wrong with a file. */
static bool is_readable(const char *path)
{
	struct inj_elf file;
	bool readable = inj_elf_open(path, &file) == INJ_OK;

	if (readable)
		inj_elf_close(&file);
	else
		msg_error("%s: %s", path, file.problem);
	return readable;
}

static int make_survey(struct survey *s, const char *path, const struct inj_symtab *tab)
{
	switch (inj_codefacts_read(path, tab, &s->facts)) {
	case INJ_OK:
		break;
	case INJ_MEMORY:
		msg_error("%s: out of memory", path);
		return EXIT_USAGE;
	default:
		msg_error("%s: cannot be read as a program or library", path);
		return EXIT_USAGE;
	}
	s->facts.facts.threads = inj_processors();
	if (tramp_code_new(&s->facts.facts, &s->code) != TRAMP_CODE_OK || !find_functions(s, tab)) {
		msg_error("%s: out of memory", path);
		return EXIT_USAGE;
	}
	for (size_t i = 0; i < s->n; i++)
		s->v[i].refused = judge(s, i);
	return 0;
}

int functions_of(const char *path, bool (*visit)(void *arg, const struct function *f), void *arg)
{
	struct survey s = { 0 };
	struct inj_symtab *tab = NULL;
	int status = EXIT_USAGE;

	if (!is_readable(path))
		return EXIT_USAGE;
	if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK)
		msg_error("%s: its symbols cannot be read", path);
	else
		status = make_survey(&s, path, tab);
	for (size_t i = 0; !status && i < s.n && visit(arg, &s.v[i]); i++)
		;
	tramp_code_free(s.code);
	inj_codefacts_free(&s.facts);
	if (tab)
		inj_symtab_close(tab);
	free(s.v);
	free(s.known);
	return status;
}

void functions_count(struct functions_count *counts, size_t *n, const char *reason)
{
	for (size_t i = 0; i < *n; i++) {
		if (counts[i].reason == reason) {
			counts[i].n++;
			return;
		}
	}
	if (*n < FUNCTIONS_MAX_REASONS)
		counts[(*n)++] = (struct functions_count){ reason, 1 };
}
