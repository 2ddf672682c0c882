/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What debug information says of functions: where they were inlined, and what parameters they have. */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launcher/common/message.h"
#include "launcher/config/resolve.h"
#include "launcher/select/names.h"

#define NOTED 3 /* places of inlining that are named */
#define SIGNATURE_MAX 512

/* ---- types and names ---- */

static void append(char text[static SIGNATURE_MAX], const char *more)
{
	size_t n = strlen(text);

	snprintf(text + n, SIGNATURE_MAX - n, "%s", more);
}

/* A type as in C, from the outside to the inside; @depth: DWARF is a file that may contradict itself. */
static void put_type(char text[static SIGNATURE_MAX], Dwarf_Die *die, unsigned int depth)
{
	Dwarf_Attribute attr;
	Dwarf_Die inner;
	bool has = dwarf_attr_integrate(die, DW_AT_type, &attr) && dwarf_formref_die(&attr, &inner);

	if (!has || depth > 16) {
		append(text, has ? "?" : "void");
		return;
	}
	switch (dwarf_tag(&inner)) {
	case DW_TAG_pointer_type:
		put_type(text, &inner, depth + 1);
		append(text, "*");
		break;
	case DW_TAG_reference_type:
		put_type(text, &inner, depth + 1);
		append(text, "&");
		break;
	case DW_TAG_const_type:
		put_type(text, &inner, depth + 1);
		append(text, " const");
		break;
	case DW_TAG_volatile_type:
	case DW_TAG_restrict_type:
	case DW_TAG_atomic_type:
		put_type(text, &inner, depth + 1);
		break;
	default:
		append(text, dwarf_diename(&inner) ? dwarf_diename(&inner) : "?");
	}
}

/* "(int, char*)" */
static void put_parameters(char text[static SIGNATURE_MAX], Dwarf_Die *function)
{
	Dwarf_Die child;
	bool first = true;

	append(text, "(");
	if (dwarf_child(function, &child) == 0) {
		do {
			bool rest = dwarf_tag(&child) == DW_TAG_unspecified_parameters;

			if (!rest && dwarf_tag(&child) != DW_TAG_formal_parameter)
				continue;
			append(text, first ? "" : ", ");
			if (rest)
				append(text, "...");
			else
				put_type(text, &child, 0);
			first = false;
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	append(text, ")");
}

/* ---- inlining ---- */

struct inlining {
	struct config_search *s;
	size_t object;
	struct select *sel;
	bool unmangled;
	size_t n, functions;	/* how often, and in how many functions that are noted */
	uint32_t seen[NOTED];
	char where[CONFIG_ERROR_MAX / 2];
	bool failed;
};

static const char *attribute_text(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(die, name, &attr) ? dwarf_formstring(&attr) : NULL;
}

/* Namespaces and classes around a declaration, from the outside to the inside, each with "::". */
static void put_scopes(char text[static SIGNATURE_MAX], Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die declared = *die, *scopes = NULL;
	int n;

	if (dwarf_attr(die, DW_AT_specification, &attr))
		(void)!dwarf_formref_die(&attr, &declared);
	n = dwarf_getscopes_die(&declared, &scopes);
	for (int i = n - 1; i > 0; i--) {
		int tag = dwarf_tag(&scopes[i]);
		const char *name = dwarf_diename(&scopes[i]);

		if (tag != DW_TAG_namespace && tag != DW_TAG_class_type && tag != DW_TAG_structure_type)
			continue;
		append(text, name ? name : "(anonymous namespace)");
		append(text, "::");
	}
	free(scopes);
}

/* As debug information has it: in the symbol table, or as in the source, without and with parameters.  Returns how many. */
static size_t names_of(Dwarf_Die *die, char plain[static SIGNATURE_MAX], char full[static SIGNATURE_MAX],
		       const char *names[static 2])
{
	const char *name = dwarf_diename(die);

	names[0] = attribute_text(die, DW_AT_linkage_name);
	if (names[0])
		return 1;
	if (!name)
		return 0;
	*plain = *full = '\0';
	put_scopes(plain, die);
	append(plain, name);
	append(full, plain);
	put_parameters(full, die);
	names[0] = plain;
	names[1] = full;
	return 2;
}

static void note_where(struct inlining *in, Dwarf_Die *die, uint32_t fn)
{
	struct config_object *o = &in->s->f->v[in->object];
	size_t len = strlen(in->where);
	Dwarf_Attribute attr;
	Dwarf_Word line = 0;
	char *name;

	for (size_t i = 0; i < in->functions && i < NOTED; i++)
		if (in->seen[i] == fn)
			return;
	if (in->functions < NOTED)
		in->seen[in->functions] = fn;
	if (in->functions++ >= NOTED)
		return;
	if (dwarf_attr(die, DW_AT_call_line, &attr))
		dwarf_formudata(&attr, &line);
	name = config_function_name(o, fn);
	snprintf(in->where + len, sizeof(in->where) - len, "%s%s", len ? ", " : "", name ? name : "?");
	len = strlen(in->where);
	if (line)
		snprintf(in->where + len, sizeof(in->where) - len, " (line %u)", (unsigned int)line);
	free(name);
}

/* One instance: its code, and the function that it is in. */
static int add_instance(Dwarf_Die *die, void *arg)
{
	struct inlining *in = arg;
	struct config_object *o = &in->s->f->v[in->object];
	struct config_found *found = in->s->found;
	bool calls = config_about[in->s->entry->type].needs & CONFIG_CALLS, any = false;
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;
	uint32_t fn = TRAMP_NONE;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0) {
		if (hi <= lo)
			continue;
		fn = tramp_code_function(o->anatomy->code, lo + o->bias);
		any |= fn != TRAMP_NONE;
		if (fn == TRAMP_NONE || calls)
			continue;
		in->failed |= !config_add_range(&found->ranges, &found->nranges, &found->ranges_room, in->object,
						lo + o->bias, hi + o->bias);
	}
	if (!any)
		return DWARF_CB_OK;
	in->n++;
	note_where(in, die, fn);
	if (!calls)
		in->failed |= !config_texts_add(&found->patterns, o->anatomy->facts.fn[fn].name, in->s->place->at);
	return in->failed ? DWARF_CB_ABORT : DWARF_CB_OK;
}

static int look_at(Dwarf_Die *die, void *arg)
{
	struct inlining *in = arg;
	char plain[SIGNATURE_MAX], full[SIGNATURE_MAX];
	const char *names[2];
	const struct select_function fn = { .names = names,
					   .nnames = dwarf_func_inline(die) ? names_of(die, plain, full, names) : 0 };

	if (!fn.nnames || (in->unmangled && function_name_is_mangled(names[0])))
		return DWARF_CB_OK;
	if (!select_wants_in(in->sel, in->s->f->v[in->object].path, &fn))
		return DWARF_CB_OK;
	(void)!dwarf_func_inline_instances(die, add_instance, in);
	return in->failed ? DWARF_CB_ABORT : DWARF_CB_OK;
}

/* All functions, those of nothing in particular: of them it goes without saying. */
static bool is_all(const struct config_search *s)
{
	return strcmp(s->place->name, "*") == 0;
}

int config_find_inlined(struct config_search *s, size_t object, struct select *sel, bool unmangled, size_t *n)
{
	struct inlining in = { .s = s, .object = object, .sel = sel, .unmangled = unmangled };
	bool calls = config_about[s->entry->type].needs & CONFIG_CALLS;
	Dwarf *dwarf = is_all(s) ? NULL : config_dwarf(&s->f->v[object]);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (dwarf && !in.failed && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		(void)!dwarf_getfuncs(&die, look_at, &in, 0);
	*n = in.n;
	if (in.failed)
		return config_no_memory();
	if (in.functions > NOTED)
		snprintf(in.where + strlen(in.where), sizeof(in.where) - strlen(in.where), " and %zu more",
			 in.functions - NOTED);
	if (in.n &&
	    !config_note(s, "%s: inlined into %s%s", s->place->name, in.where, calls ? "" : ": instrumented there"))
		return config_no_memory();
	return 0;
}

/* ---- signatures ---- */

struct function {
	uint64_t addr, bias;
	Dwarf_Die die;
	bool found;
};

static int is_at(Dwarf_Die *die, void *arg)
{
	struct function *f = arg;
	Dwarf_Addr addr, base, end;

	/* of one in several pieces (hot and cold) the first is where it begins */
	if (dwarf_entrypc(die, &addr) != 0 && dwarf_ranges(die, 0, &base, &addr, &end) <= 0)
		return DWARF_CB_OK;
	if (addr + f->bias != f->addr)
		return DWARF_CB_OK;
	f->die = *die;
	f->found = true;
	return DWARF_CB_ABORT;
}

/* "f(int, char*)"; false: nothing is known. */
static bool describe(struct config_object *o, uint64_t addr, const char *name, char text[static SIGNATURE_MAX])
{
	struct function f = { .addr = addr };
	Dwarf *dwarf = config_dwarf(o);
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	f.bias = o->bias;
	while (dwarf && !f.found && dwarf_get_units(dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		(void)!dwarf_getfuncs(&die, is_at, &f, 0);
	if (!f.found)
		return false;
	snprintf(text, SIGNATURE_MAX, "%s", name);
	put_parameters(text, &f.die);
	return true;
}

/* The words of a type that say nothing are left out: "unsigned long int" is "long unsigned". */
static unsigned int words_of(const char *s, size_t n)
{
	static const char *const words[] = { "unsigned", "long", "short", "char", "signed", "const" };
	unsigned int set = 0;

	for (unsigned int i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (memmem(s, n, words[i], strlen(words[i])))
			set |= 1u << i;
	return set;
}

static size_t count(const char *s, size_t n, char c)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += s[i] == c;
	return k;
}

/* Its last word, but for int: of a structure its name. */
static size_t own_word(const char *s, size_t n, const char **word)
{
	static const char *const none[] = { "int", "unsigned", "long", "short", "char",
					   "signed", "const", "struct", "union", "enum" };
	size_t found = 0;

	for (size_t i = 0, len; i < n; i += len ? len : 1) {
		bool skip = false;

		for (len = 0; i + len < n && !strchr(" *&", s[i + len]); len++)
			;
		for (size_t k = 0; k < sizeof(none) / sizeof(none[0]); k++)
			skip |= strlen(none[k]) == len && strncmp(s + i, none[k], len) == 0;
		if (len && !skip) {
			*word = s + i;
			found = len;
		}
	}
	return found;
}

static bool same_type(const char *a, size_t na, const char *b, size_t nb)
{
	const char *wa = a, *wb = b;
	size_t la = own_word(a, na, &wa), lb = own_word(b, nb, &wb);

	return count(a, na, '*') == count(b, nb, '*') && words_of(a, na) == words_of(b, nb) && la == lb &&
	       strncmp(wa, wb, la) == 0;
}

/* Types one after the other, from after the parenthesis on. */
static bool same_parameters(const char *a, const char *b)
{
	for (;; a++, b++) {
		size_t na = strcspn(a, ",)"), nb = strcspn(b, ",)");

		if (!same_type(a, na, b, nb) || a[na] != b[nb])
			return false;
		if (a[na] != ',')
			return true;
		a += na;
		b += nb;
	}
}

bool config_has_signature(struct config_object *o, uint64_t addr, const char *name, const char *signature, char **other)
{
	const char *wanted = function_name_params(signature), *is;
	char text[SIGNATURE_MAX] = "";

	if (!wanted || !describe(o, addr, name, text))
		return true;
	is = function_name_params(text);
	if (is && same_parameters(is + 1, wanted + 1))
		return true;
	free(*other);
	*other = strdup(text);
	return false;
}
