/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include "launcher/select/names.h"
#include "injector/image/symbols.h"

#include <bfd.h> /* wants PACKAGE of config.h */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEMANGLE_BARE 0 /* no DMGL_PARAMS of libiberty's demangle.h: no return type either */

/* ---- text ---- */

const char *function_name_behind_operator(const char *s)
{
	s += strlen("operator");
	if (strncmp(s, "()", 2) == 0 || strncmp(s, "[]", 2) == 0)
		return s + 2;
	return *s == ',' ? s + 1 : s + strspn(s, "+-*/%^&|~!=<>");
}

static bool is_operator(const char *s)
{
	return strncmp(s, "operator", strlen("operator")) == 0;
}

/*
 * One step through a name: over an operator's characters, or over all between brackets, or one character.
 * "(anonymous namespace)" is a name, other round brackets are parameters.
 */
static const char *step(const char *s)
{
	static const char anonymous[] = "(anonymous namespace)";
	int depth = 0;

	if (is_operator(s))
		return function_name_behind_operator(s);
	if (strncmp(s, anonymous, strlen(anonymous)) == 0)
		return s + strlen(anonymous);
	if (*s != '<')
		return s + 1;
	do {
		if (is_operator(s)) {
			s = function_name_behind_operator(s);
			continue;
		}
		depth += (*s == '<') - (*s == '>' && s[-1] != '-');
		s++;
	} while (*s && depth > 0);
	return s;
}

const char *function_name_params(const char *text)
{
	for (const char *s = text, *next; *s; s = next) {
		next = step(s);
		if (*s == '(' && next == s + 1)
			return s;
	}
	return NULL;
}

const char *function_name_own(const char *text, const char *end)
{
	const char *own = text;

	for (const char *s = text; *s && s < end; s = step(s))
		if (s[0] == ':' && s[1] == ':')
			own = s + 2;
	return own;
}

/* NULL: there are none, or no memory. */
static char *without_templates(const char *text)
{
	char *copy = strchr(text, '<') ? malloc(strlen(text) + 1) : NULL, *to = copy;

	if (!copy)
		return NULL;
	for (const char *s = text, *next; *s; s = next) {
		next = step(s);
		if (*s != '<')
			to = mempcpy(to, s, (size_t)(next - s));
	}
	/* "operator<< <char>" */
	while (to > copy && to[-1] == ' ')
		to--;
	*to = '\0';
	return copy;
}

static void cut_clone(char *text)
{
	char *clone = text ? strstr(text, " [clone ") : NULL;

	if (clone)
		*clone = '\0';
}

/* "name[abi:cxx11](int)": tags that nobody has written in the source, of the name or of types in it. */
static void cut_abi_tags(char *text)
{
	char *tag = text, *end;

	while (tag && (tag = strstr(tag, "[abi:")) && (end = strchr(tag, ']')))
		memmove(tag, end + 1, strlen(end + 1) + 1);
}

/* ---- forms ---- */

/* Takes over the text; NULL is none. */
static void add(struct function_name *name, char *text, enum name_form_kind kind)
{
	if (text && name->nforms < NAME_MAX_FORMS)
		name->form[name->nforms++] = (struct name_form){ text, kind };
	else
		free(text);
}

bool function_name_is_mangled(const char *symbol)
{
	return symbol[0] == '_' && (symbol[1] == 'Z' || symbol[1] == 'R');
}

/* Names that are in a trace as they were wrapped: "ns::f(int)".  Go's "main.(*T).f" is not like that. */
static char *bare_of_source(const char *text)
{
	const char *params = function_name_params(text);

	if (params && params > text && params[-1] != '.')
		return strndup(text, (size_t)(params - text));
	return strdup(text);
}

static void make_cxx(struct function_name *name, char *bare)
{
	cut_clone(bare);
	cut_abi_tags(bare);
	add(name, bare, NAME_PLAIN);
	add(name, without_templates(bare), NAME_NO_TEMPLATE);
}

/* In "void ns::g<int>(int)", or "void (*f(int))(char)": where the name begins; NULL: not found. */
static const char *find_bare(const char *full, const char *bare)
{
	size_t n = strlen(bare);

	for (const char *at = strstr(full, bare); at; at = strstr(at + 1, bare))
		if (at[n] == '(')
			return at;
	return NULL;
}

static void make_params(struct function_name *name)
{
	char *full = function_name_is_mangled(name->symbol) ? inj_demangle(name->symbol) : NULL, *text = NULL;
	const char *at;

	name->made_params = true;
	cut_clone(full);
	cut_abi_tags(full);
	if (!full || !name->nplain)
		goto out;
	at = find_bare(full, name->form[0].text);
	if (at && at > full)
		add(name, strdup(at), NAME_PARAMS);
	if (at && name->nplain > 1 &&
	    asprintf(&text, "%s%s", name->form[1].text, at + strlen(name->form[0].text)) >= 0)
		add(name, text, NAME_PARAMS_NO_TEMPLATE);
	add(name, full, NAME_PARAMS);
	return;
out:
	free(full);
}

/* ---- what compilers of C and Fortran make of names ---- */

static bool ends_word(const char *s)
{
	return *s == '\0' || *s == '.';
}

/* What is appended to the name of a clone; NULL: nothing.  A number alone: of a function in a function. */
static const char *clone_suffix(const char *name)
{
	static const char *const words[] = { "constprop", "isra", "part", "cold", "lto_priv", "llvm" };

	for (const char *dot = strchr(name + 1, '.'); dot; dot = strchr(dot + 1, '.')) {
		size_t digits = strspn(dot + 1, "0123456789");

		if (digits && !dot[1 + digits])
			return dot;
		for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
			size_t len = strlen(words[i]);

			if (strncmp(dot + 1, words[i], len) == 0 && ends_word(dot + 1 + len))
				return dot;
		}
	}
	return NULL;
}

static void add_procedure(struct function_name *name, const char *module, size_t nmodule, const char *own,
			  size_t nown)
{
	char *text = NULL;

	if (!nmodule || !nown)
		return;
	if (asprintf(&text, "%.*s::%.*s", (int)nmodule, module, (int)nown, own) < 0)
		text = NULL;
	add(name, text, NAME_PLAIN);
	add(name, strndup(own, nown), NAME_PLAIN);
}

/* gfortran: __phys_MOD_relax; Intel's: phys_mp_relax_ */
static bool make_module_procedure(struct function_name *name, const char *symbol)
{
	const char *cut = strncmp(symbol, "__", 2) == 0 ? strstr(symbol + 2, "_MOD_") : NULL;
	size_t len = strlen(symbol);

	if (cut) {
		add_procedure(name, symbol + 2, (size_t)(cut - symbol - 2), cut + 5, strlen(cut + 5));
		return true;
	}
	cut = len && symbol[len - 1] == '_' ? strstr(symbol, "_mp_") : NULL;
	if (!cut || cut + 4 >= symbol + len)
		return false;
	add_procedure(name, symbol, (size_t)(cut - symbol), cut + 4, (size_t)(symbol + len - 1 - (cut + 4)));
	return true;
}

/* flang: _QMphysPrelax, _QMphysFsolvePinner; capitals say what follows, the program's names have none. */
static bool make_flang(struct function_name *name, const char *symbol)
{
	char scope[256] = "";
	size_t n = 0;
	const char *s = symbol + 2;

	if (strncmp(symbol, "_Q", 2) != 0)
		return false;
	while (*s && strchr("MSF", *s)) {
		size_t len = strcspn(s + 1, "MSFP");
		int put = snprintf(scope + n, sizeof(scope) - n, "%s%.*s", n ? "::" : "", (int)len, s + 1);

		if (put < 0 || (size_t)put >= sizeof(scope) - n)
			return true;
		n += (size_t)put;
		s += 1 + len;
	}
	if (*s == 'P' && n)
		add_procedure(name, scope, n, s + 1, strlen(s + 1));
	else if (*s == 'P' && s[1])
		add(name, strdup(s + 1), NAME_PLAIN);
	return true;
}

/* Procedures outside of modules: relax_; relax__ if it has an underscore itself. */
static void make_external(struct function_name *name, const char *symbol)
{
	size_t len = strlen(symbol), cut = len;

	while (cut && symbol[cut - 1] == '_' && len - cut < 2)
		cut--;
	if (cut && cut < len && symbol[0] != '_')
		add(name, strndup(symbol, cut), NAME_PLAIN);
}

static void make_c(struct function_name *name)
{
	const char *suffix = clone_suffix(name->symbol);
	char *stem = suffix ? strndup(name->symbol, (size_t)(suffix - name->symbol)) : NULL;
	const char *symbol = stem ? stem : name->symbol;

	if (!make_module_procedure(name, symbol) && !make_flang(name, symbol))
		make_external(name, symbol);
	add(name, stem, NAME_PLAIN);
}

/* ---- the name ---- */

static void make(struct function_name *name)
{
	const char *symbol = name->symbol;

	name->made = true;
	if (function_name_is_mangled(symbol)) {
		char *bare = bfd_demangle(NULL, symbol, DEMANGLE_BARE);

		if (bare)
			make_cxx(name, bare);
	} else if (strpbrk(symbol, "(<: ")) {
		char *bare = bare_of_source(symbol);

		if (bare)
			make_cxx(name, bare);
	} else if (*symbol) {
		make_c(name);
	}
	name->nplain = name->nforms;
}

size_t function_name_forms(struct function_name *name, bool params)
{
	if (!name->made)
		make(name);
	if (params && !name->made_params)
		make_params(name);
	return params ? name->nforms : name->nplain;
}

void function_name_free(struct function_name *name)
{
	for (size_t i = 0; i < name->nforms; i++)
		free(name->form[i].text);
}

const char *function_name_shown(struct function_name *name)
{
	return function_name_forms(name, false) ? name->form[0].text : name->symbol;
}
