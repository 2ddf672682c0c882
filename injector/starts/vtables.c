// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Virtual functions, by the tables that C++ programs have of them (Itanium C++ ABI, 2.5.2 "Virtual Table Components", 2.9.5 "RTTI
 * Layout"): the distance to the object's beginning, the type, addresses of functions.  A type is known by its second word, which points to
 * its mangled name.  Nothing else looks like that, so these are functions, whatever else is known of them.
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"
#include "injector/starts/starts.h"

enum {
	WORD = 8,
	NAME_MAX_LEN = 4096,	/* bytes of a type's name: those of templates are long */
	TOP_MAX = 1 << 24,	/* bytes of an object: more is no distance within one */
	NONE_MAX = 2,		/* destructors of a class without objects; more is what is between tables */
};

/* What the dynamic linker puts somewhere. */
struct held {
	uint64_t place, value;
};

struct tables {
	struct inj_starts *s;
	struct held *held;	/* ascending by place */
	size_t n;
};

/* ---- words ---- */

static int by_place(const void *a, const void *b)
{
	const struct held *x = a, *y = b;

	return x->place < y->place ? -1 : x->place > y->place;
}

static void note(struct inj_cf *cf, const Elf64_Rela *r)
{
	if (ELF64_R_TYPE(r->r_info) == R_X86_64_RELATIVE) {
		inj_addrs_add(&cf->held, r->r_offset);
		inj_addrs_add(&cf->held, (uint64_t)r->r_addend);
	}
}

/* Pairs of words, sorted by the first one. */
static bool collect(struct tables *t)
{
	struct inj_cf *cf = t->s->cf;

	if (!cf->words)
		inj_cf_relocations(cf, note);
	t->n = cf->held.n / 2;
	t->held = calloc(t->n + 1, sizeof(*t->held));
	for (size_t i = 0; t->held && i < t->n; i++)
		t->held[i] = (struct held){ cf->held.v[2 * i], cf->held.v[2 * i + 1] };
	if (t->held && t->n)
		qsort(t->held, t->n, sizeof(*t->held), by_place);
	t->s->failed |= cf->held.failed;
	inj_addrs_free(&cf->held);
	return t->held != NULL;
}

static bool get_word(const struct tables *t, uint64_t place, uint64_t *word)
{
	size_t at = search_first(i, t->n, t->held[i].place >= place);
	const uint8_t *p;

	if (at < t->n && t->held[at].place == place) {
		*word = t->held[at].value;
		return true;
	}
	p = inj_elf_get(&t->s->cf->file, place, WORD);
	if (p)
		memcpy(word, p, WORD);
	return p != NULL;
}

/* ---- types ---- */

/* A number and an identifier of that length, or what begins with a letter, as nested names and templates do; "*": of one file alone. */
static bool is_type_name(const struct inj_elf *file, uint64_t addr)
{
	uint64_t left;
	const uint8_t *p = inj_elf_at(file, addr, &left);
	size_t len = 0, at, number = 0;

	left = left < NAME_MAX_LEN ? left : NAME_MAX_LEN;
	while (p && len < left && (isalnum(p[len]) || p[len] == '_' || p[len] == '*' || p[len] == '.' || p[len] == '$'))
		len++;
	if (!p || len < 2 || len == left || p[len])
		return false;
	at = p[0] == '*';
	if (!isdigit(p[at]))
		return strchr("NSIPKFMAZ", p[at]) != NULL && p[at] && len > at + 2;
	while (isdigit(p[at]) && number < NAME_MAX_LEN)
		number = 10 * number + (size_t)(p[at++] - '0');
	return number && number <= len - at && (isalpha(p[at]) || p[at] == '_');
}

/* Where no section says what is code, that may lie between functions. */
static bool is_type(const struct tables *t, uint64_t addr)
{
	uint64_t name;

	return addr && addr % WORD == 0 && get_word(t, addr + WORD, &name) && is_type_name(&t->s->cf->file, name);
}

/* ---- tables ---- */

/* Does one begin after the two words at @place? */
static bool is_table(const struct tables *t, uint64_t place)
{
	uint64_t top, type;

	if (!get_word(t, place, &top) || -top > TOP_MAX || top % WORD)
		return false;
	return get_word(t, place + WORD, &type) && is_type(t, type);
}

/* Its functions.  0: there is none, where a class has no code of its own for it. */
static void take_functions(const struct tables *t, uint64_t place, uint64_t end)
{
	uint64_t word;
	int none = 0;

	for (; place < end && none <= NONE_MAX && get_word(t, place, &word) && (!word || inj_cf_code(t->s->cf, word)); place += WORD) {
		none = word ? 0 : none + 1;
		if (is_type(t, word) || is_type(t, place) || inj_starts_in_plt(t->s->cf, word)) /* the next table; a type; the GOT */
			return;
		if (word)
			inj_starts_add(t->s, word, INJ_FN_BY_VTABLE, false);
	}
}

/* Those whose type is at a place within [from, to). */
static void scan(const struct tables *t, uint64_t from, uint64_t to)
{
	for (uint64_t place = (from + WORD - 1) / WORD * WORD; place < to && to - place >= 3 * WORD; place += WORD)
		if (is_table(t, place))
			take_functions(t, place + 2 * WORD, to);
}

bool inj_starts_virtual(struct inj_starts *s)
{
	struct tables t = { .s = s };
	const struct inj_cf *cf = s->cf;

	if (!collect(&t))
		return false;
	for (size_t i = 0; i < cf->nbytes; i++)
		if (!cf->bytes[i].code || !cf->file.nsecs) /* without sections, data may lie in the same segment as code */
			scan(&t, cf->bytes[i].addr, cf->bytes[i].addr + cf->bytes[i].len);
	free(t.held);
	return true;
}
