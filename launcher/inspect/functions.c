/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The questions that are asked of a function before it is patched, asked of all functions of a file:
 * can its entry be planned, with the branches that go into it from elsewhere; and do its callers leave
 * room for a wrapper.
 */
#include "launcher/inspect/functions.h"
#include "launcher/common/message.h"
#include "injector/image/elffile.h"
#include "trampolines/wrap/keep.h"
#include "trampolines/trampoline.h"

#include <stdlib.h>
#include <string.h>

#define LOOKED_AT_AFTER 256u /* bytes after a function that may be padding */

static const char reason_cold[] = "a part of another function";
static const char reason_outside[] = "not in executable code";

/* What one file comes to. */
struct survey {
	struct inj_elf file;
	struct function *v;
	size_t n;
	struct tramp_extent *extents; /* of all that is known to be a function */
	size_t nextents;
	struct tramp_range *ranges; /* of v */
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

static int by_address(const void *a, const void *b)
{
	const struct tramp_extent *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Entries of the unwind table; with NULL they are counted. */
static size_t unwind_starts(const struct inj_elf *file, struct tramp_extent *out)
{
	struct inj_fde fde;
	struct inj_eh eh;
	size_t n = 0;

	if (!inj_elf_frames(file, &eh))
		return 0;
	for (; inj_eh_next(&eh, &fde); n++)
		if (out)
			out[n] = (struct tramp_extent){ fde.addr, 0 };
	return n;
}

/* Symbols and unwind table together: libraries are stripped of most of their symbols. */
static bool find_extents(struct survey *s)
{
	s->extents = calloc(s->n + unwind_starts(&s->file, NULL) + 1, sizeof(*s->extents));
	if (!s->extents)
		return false;
	for (size_t i = 0; i < s->n; i++)
		s->extents[s->nextents++] = (struct tramp_extent){ s->ranges[i].addr, s->ranges[i].size };
	s->nextents += unwind_starts(&s->file, s->extents + s->nextents);
	qsort(s->extents, s->nextents, sizeof(*s->extents), by_address);
	return true;
}

static bool find_functions(struct survey *s, const struct inj_symtab *tab)
{
	size_t n;
	const struct inj_symbol *symbols = inj_symtab_all(tab, &n);

	s->v = calloc(n + 1, sizeof(*s->v));
	s->ranges = calloc(n + 1, sizeof(*s->ranges));
	if (!s->v || !s->ranges)
		return false;
	for (size_t i = 0; i < n; i += s->v[s->n++].nnames) {
		s->v[s->n] = next_function(symbols, n, i);
		s->ranges[s->n] = (struct tramp_range){ symbols[i].addr, s->v[s->n].size };
	}
	return true;
}

/* ---- entries ---- */

static const char *plan_entry(const struct inj_elf_segment *seg, const struct function *f,
			      const struct tramp_branch *branches, size_t nbranches)
{
	const struct inj_symbol *sym = &f->symbols[0];
	uint64_t room = seg->len - (sym->addr - seg->addr);
	struct tramp_plan plan;
	struct tramp_function fn = {
		.addr = sym->addr,
		.code = seg->bytes + (sym->addr - seg->addr),
		.size = f->size < room ? f->size : room,
		.branches = branches,
		.nbranches = nbranches,
	};

	fn.avail = sym->avail > fn.size ? sym->avail : fn.size;
	if (fn.avail > fn.size + LOOKED_AT_AFTER)
		fn.avail = fn.size + LOOKED_AT_AFTER;
	if (fn.avail > room)
		fn.avail = room;
	enum tramp_status status = tramp_plan_entry(&fn, &plan);
	return status == TRAMP_OK ? NULL : tramp_reason_text(status);
}

/* IFUNCs are not judged: the symbol is the resolver's, and that is not what would be patched. */
static bool is_in(const struct survey *s, const struct function *f, const struct inj_elf_segment *seg)
{
	return !f->is_part && !f->is_ifunc && inj_elf_code(&s->file, f->symbols[0].addr) == seg;
}

/* Twice: for the number, then for the branches. */
static bool plan_entries(struct survey *s, const struct inj_elf_segment *seg)
{
	size_t room = tramp_find_branches(seg->bytes, seg->len, seg->addr, s->ranges, s->n, NULL, 0);
	struct tramp_branch *branches = calloc(room + 1, sizeof(*branches));

	if (!branches)
		return false;
	size_t n = tramp_find_branches(seg->bytes, seg->len, seg->addr, s->ranges, s->n, branches, room);
	for (size_t i = 0; i < s->n; i++) {
		if (is_in(s, &s->v[i], seg))
			s->v[i].refused = plan_entry(seg, &s->v[i], branches, n < room ? n : room);
	}
	free(branches);
	return true;
}

/* ---- callers ---- */

static bool ask_callers(struct survey *s, const struct inj_elf_segment *seg)
{
	const struct tramp_object object = {
		.code = seg->bytes,
		.len = seg->len,
		.addr = seg->addr,
		.functions = s->extents,
		.nfunctions = s->nextents,
	};
	uint64_t *targets = calloc(s->n + 1, sizeof(*targets));
	struct tramp_keep *keeps = calloc(s->n + 1, sizeof(*keeps));
	struct function **asked = calloc(s->n + 1, sizeof(*asked));
	bool ok = targets && keeps && asked;
	size_t n = 0;

	for (size_t i = 0; ok && i < s->n; i++) {
		if (!is_in(s, &s->v[i], seg) || s->v[i].refused)
			continue;
		asked[n] = &s->v[i];
		targets[n++] = s->v[i].symbols[0].addr;
	}
	ok = ok && tramp_keep_analyze(&object, targets, n, keeps);
	for (size_t i = 0; ok && i < n; i++) {
		const char *reason;

		if (!tramp_keep_possible(&keeps[i], &reason))
			asked[i]->refused = reason;
	}
	free(targets);
	free(keeps);
	free(asked);
	return ok;
}

/* ---- all of it ---- */

static bool judge_all(struct survey *s)
{
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].is_part)
			s->v[i].refused = reason_cold;
		else if (!inj_elf_code(&s->file, s->v[i].symbols[0].addr))
			s->v[i].refused = reason_outside;
	}
	for (size_t i = 0; i < s->file.nsegs; i++) {
		const struct inj_elf_segment *seg = &s->file.segs[i];

		if ((seg->flags & PF_X) && (!plan_entries(s, seg) || !ask_callers(s, seg)))
			return false;
	}
	return true;
}

static int make_survey(struct survey *s, const char *path, const struct inj_symtab *tab)
{
	if (find_functions(s, tab) && find_extents(s) && judge_all(s))
		return 0;
	msg_error("%s: out of memory", path);
	return EXIT_USAGE;
}

int functions_of(const char *path, bool (*visit)(void *arg, const struct function *f), void *arg)
{
	struct survey s = { 0 };
	struct inj_symtab *tab = NULL;
	int status = EXIT_USAGE;

	if (inj_elf_open(path, &s.file) != INJ_OK)
		msg_error("%s: %s", path, s.file.problem);
	else if (inj_symtab_open(path, INJ_SYMTAB_DEBUG_FILE, &tab) != INJ_OK)
		msg_error("%s: its symbols cannot be read", path);
	else
		status = make_survey(&s, path, tab);
	for (size_t i = 0; !status && i < s.n && visit(arg, &s.v[i]); i++)
		;
	if (tab)
		inj_symtab_close(tab);
	free(s.v);
	free(s.ranges);
	free(s.extents);
	inj_elf_close(&s.file);
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
