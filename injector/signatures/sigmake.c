// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "injector/signatures/sigmake.h"
#include "injector/signatures/sigmake-int.h"
#include "injector/signatures/sigmask.h"

struct inj_sig_maker *inj_sig_maker_new(void)
{
	return calloc(1, sizeof(struct inj_sig_maker));
}

void inj_sig_maker_free(struct inj_sig_maker *m)
{
	if (!m)
		return;
	free(m->units);
	free(m->funcs);
	free(m->names);
	free(m->symbols);
	free(m->refs);
	free(m->text);
	free(m->strings);
	free(m->globals);
	free(m->bodies);
	free(m->room);
	free(m->covers);
	free(m);
}

/* ---- strings and symbols, each once ---- */

static uint64_t string_hash(const char *s)
{
	return hash_bytes(s, strlen(s));
}

/* SIG_NONE: no memory. */
uint32_t inj_sig_text(struct inj_sig_maker *m, const char *s)
{
	size_t len = strlen(s) + 1, at;

	if (!hash_grow(m->strings, m->strings_room, m->nstrings + 1, old, *old,
		       &m->strings[hash_slot(i, m->strings_room, string_hash(m->text + *old - 1), !m->strings[i])]))
		return SIG_NONE;
	at = hash_slot(i, m->strings_room, string_hash(s), !m->strings[i] || strcmp(m->text + m->strings[i] - 1, s) == 0);
	if (m->strings[at])
		return m->strings[at] - 1;
	if (m->ntext + len >= SIG_NONE || !array_room(m->text, m->text_room, m->ntext + len))
		return SIG_NONE;
	memcpy(m->text + m->ntext, s, len);
	m->strings[at] = (uint32_t)m->ntext + 1;
	m->nstrings++;
	m->ntext += len;
	return m->strings[at] - 1;
}

static uint64_t symbol_hash(const struct sig_symbol *s)
{
	return s->text == SIG_NONE ? hash_word(s->func + UINT64_C(0x100000000)) : hash_word(s->text);
}

static bool same_symbol(const struct sig_symbol *a, const struct sig_symbol *b)
{
	return a->text == b->text && (a->text != SIG_NONE || a->func == b->func);
}

/* Index of a symbol; SIG_NONE: no memory. */
static uint32_t intern(struct inj_sig_maker *m, struct sig_symbol want)
{
	size_t at;

	if (!hash_grow(m->globals, m->globals_room, m->nsymbols + 1, old, *old,
		       &m->globals[hash_slot(i, m->globals_room, symbol_hash(&m->symbols[*old - 1]), !m->globals[i])]))
		return SIG_NONE;
	at = hash_slot(i, m->globals_room, symbol_hash(&want),
		       !m->globals[i] || same_symbol(&m->symbols[m->globals[i] - 1], &want));
	if (m->globals[at])
		return m->globals[at] - 1;
	if (m->nsymbols + 1 >= SIG_NONE || !array_room(m->symbols, m->symbols_room, m->nsymbols + 1))
		return SIG_NONE;
	m->symbols[m->nsymbols++] = want;
	m->globals[at] = (uint32_t)m->nsymbols;
	return m->globals[at] - 1;
}

/* ---- the functions of a section ---- */

static int by_place(const void *a, const void *b)
{
	const struct inj_sig_in_func *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* The nicest name of an address first: as the injector would choose. */
static int niceness(const struct inj_sig_in_func *f)
{
	size_t underscores = strspn(f->name, "_");

	return (f->flags & SIG_NAME_GLOBAL ? 8 : 0) + 2 * (underscores < 3 ? 3 - (int)underscores : 0);
}

static int by_niceness(const void *a, const void *b)
{
	const struct inj_sig_in_func *x = a, *y = b;

	return niceness(x) != niceness(y) ? niceness(y) - niceness(x) : strcmp(x->name, y->name);
}

static bool add_names(struct inj_sig_maker *m, const struct inj_sig_in_func *v, size_t n)
{
	if (!array_room(m->names, m->names_room, m->nnames + n))
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t text = inj_sig_text(m, v[i].name);

		if (text == SIG_NONE)
			return false;
		m->names[m->nnames++] = (struct sig_name){ text, v[i].flags };
	}
	return true;
}

/* The next address with a function: *from is where to go on.  0: no more. */
static size_t next_function(const struct inj_sig_in_section *s, size_t *from, uint64_t *len)
{
	size_t n;

	do {
		n = 0;
		*len = 0;
		for (; *from + n < s->nfuncs && s->funcs[*from + n].at == s->funcs[*from].at; n++)
			if (s->funcs[*from + n].len > *len)
				*len = s->funcs[*from + n].len;
		*from += n;
	} while (n && (!*len || *len > s->len || s->funcs[*from - 1].at > s->len - *len));
	return n;
}

static bool add_functions(struct inj_sig_maker *m, struct inj_sig_in_section *s, struct sig_unit *u, uint64_t *base)
{
	size_t from = 0, n;
	uint64_t len, end = 0;

	qsort(s->funcs, s->nfuncs, sizeof(*s->funcs), by_place);
	u->funcs = (uint32_t)m->nfuncs;
	while ((n = next_function(s, &from, &len))) {
		struct inj_sig_in_func *v = s->funcs + from - n;

		if (m->nfuncs == u->funcs)
			*base = v->at;
		if (!array_room(m->funcs, m->funcs_room, m->nfuncs + 1))
			return false;
		qsort(v, n, sizeof(*v), by_niceness);
		m->funcs[m->nfuncs++] = (struct sig_func){ (uint32_t)(v->at - *base), (uint32_t)len, (uint32_t)m->nnames, (uint32_t)n };
		if (!add_names(m, v, n))
			return false;
		end = v->at + len > end ? v->at + len : end;
	}
	u->nfuncs = (uint32_t)m->nfuncs - u->funcs;
	u->len = (uint32_t)(end - *base);
	return m->nfuncs < SIG_NONE && m->nnames < SIG_NONE;
}

/* ---- what references cover ---- */

static int by_reloc(const void *a, const void *b)
{
	const struct inj_sig_in_reloc *x = a, *y = b;

	return x->at < y->at ? -1 : x->at > y->at;
}

/* Into m->covers, with the relocation's index as symbol.  False: one is not known. */
static bool cover_all(struct inj_sig_maker *m, struct inj_sig_in_section *s, const struct sig_unit *u, uint64_t base, size_t *n)
{
	uint64_t end = 0;

	*n = 0;
	if (s->nrelocs)
		qsort(s->relocs, s->nrelocs, sizeof(*s->relocs), by_reloc);
	for (size_t i = 0; i < s->nrelocs; i++) {
		struct sig_ref ref;
		uint64_t at = s->relocs[i].at - base;

		if (s->relocs[i].at < base || at >= u->len || at < end)
			continue; /* elsewhere, or the call of a TLS sequence */
		if (!inj_sig_mask(s->relocs[i].type, s->code + base, u->len, at, &ref) || (ref.len && ref.start < end))
			return false;
		if (!ref.len)
			continue;
		if (!array_room(m->covers, m->covers_room, *n + 1)) {
			m->failed = true;
			return false;
		}
		ref.symbol = (uint32_t)i;
		m->covers[(*n)++] = ref;
		end = ref.start + ref.len;
	}
	return true;
}

static void measure(struct sig_unit *u, const uint8_t *code, const struct sig_ref *refs, size_t n, uint32_t first_len, uint8_t *room)
{
	u->fixed = u->len;
	for (size_t i = 0; i < n; i++)
		u->fixed -= refs[i].len;
	u->first_len = first_len;
	u->prefix = inj_sig_prefix(n ? refs[0].start : u->len);
	if (u->prefix >= sizeof(u->lead))
		memcpy(&u->lead, code, sizeof(u->lead));
	u->key = inj_sig_key(code, u->prefix, first_len);
	u->hash = inj_sig_hash(code, u->len, refs, n, room);
	u->nrefs = (uint32_t)n;
}

/* ---- units that are there already: those of groups, and archives that are given twice ---- */

static bool same_names(const struct inj_sig_maker *m, const struct sig_unit *a, const struct sig_unit *b)
{
	if (a->hash != b->hash || a->len != b->len || a->nfuncs != b->nfuncs || a->nrefs != b->nrefs)
		return false;
	for (uint32_t i = 0; i < a->nfuncs; i++) {
		const struct sig_func *f = &m->funcs[a->funcs + i], *g = &m->funcs[b->funcs + i];

		if (f->at != g->at || f->nnames != g->nnames || !(m->names[f->names].flags & SIG_NAME_GLOBAL) ||
		    memcmp(&m->names[f->names], &m->names[g->names], f->nnames * sizeof(struct sig_name)) != 0)
			return false;
	}
	return true;
}

/* Makes @u one of the units, or finds the one that is the same.  SIG_NONE: no memory. */
static uint32_t settle(struct inj_sig_maker *m, const struct sig_unit *u, size_t names)
{
	size_t at;

	if (!hash_grow(m->bodies, m->bodies_room, m->nunits + 1, old, *old,
		       &m->bodies[hash_slot(i, m->bodies_room, m->units[*old - 1].hash, !m->bodies[i])]))
		return SIG_NONE;
	at = hash_slot(i, m->bodies_room, u->hash, !m->bodies[i] || same_names(m, &m->units[m->bodies[i] - 1], u));
	if (m->bodies[at]) {
		m->nfuncs = u->funcs;
		m->nnames = names;
		return m->bodies[at] - 1;
	}
	if (m->nunits + 1 >= SIG_NONE || !array_room(m->units, m->units_room, m->nunits + 1))
		return SIG_NONE;
	m->units[m->nunits++] = *u;
	m->bodies[at] = (uint32_t)m->nunits;
	return m->bodies[at] - 1;
}

/* ---- references as they are in the file ---- */

static void put_byte(struct inj_sig_maker *m, uint64_t byte)
{
	if (array_room(m->refs, m->refs_room, m->nrefs + 1))
		m->refs[m->nrefs++] = (uint8_t)byte;
	else
		m->failed = true;
}

static void put_unsigned(struct inj_sig_maker *m, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		put_byte(m, v | 0x80);
	put_byte(m, v);
}

static void put_signed(struct inj_sig_maker *m, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		put_byte(m, ((uint64_t)v & 0x7f) | 0x80);
	put_byte(m, (uint64_t)v & 0x7f);
}

/* The section as it is after its unit was made. */
struct made {
	uint32_t unit;		/* SIG_NONE: none */
	bool fresh;
	uint64_t base;
	struct sig_ref *refs;	/* of a fresh one */
	size_t nrefs;
};

/* The function that starts there, as a symbol; SIG_NONE: none. */
static uint32_t local_symbol(struct inj_sig_maker *m, const struct made *made, uint64_t at)
{
	const struct sig_unit *u;
	size_t i;

	if (made->unit == SIG_NONE || at < made->base)
		return SIG_NONE;
	u = &m->units[made->unit];
	at -= made->base;
	i = search_first(k, u->nfuncs, m->funcs[u->funcs + k].at >= at);
	if (i == u->nfuncs || m->funcs[u->funcs + i].at != at)
		return SIG_NONE;
	return intern(m, (struct sig_symbol){ SIG_NONE, made->unit, u->funcs + (uint32_t)i });
}

static void put_symbol(struct inj_sig_maker *m, const struct made *all, size_t n, const struct sig_ref *ref,
		       const struct inj_sig_in_reloc *r)
{
	int64_t next = ref->kind == SIG_REF_ABSOLUTE ? 0 : 4; /* relative to the next instruction */
	uint32_t symbol = SIG_NONE, text;
	int64_t addend = r->addend;

	if (ref->kind == SIG_REF_OPAQUE) {
		put_unsigned(m, 0);
		return;
	}
	if (r->global) {
		text = inj_sig_text(m, r->global);
		symbol = text == SIG_NONE ? SIG_NONE : intern(m, (struct sig_symbol){ text, SIG_NONE, SIG_NONE });
		m->failed |= symbol == SIG_NONE;
	} else if (r->section < n) {
		symbol = local_symbol(m, &all[r->section], r->value + (uint64_t)(r->addend + next));
		addend = -next;
	}
	put_unsigned(m, symbol == SIG_NONE ? 0 : (uint64_t)symbol + 1);
	if (symbol != SIG_NONE)
		put_signed(m, addend);
}

static void put_refs(struct inj_sig_maker *m, const struct inj_sig_in_section *s, const struct made *all, size_t n, const struct made *made)
{
	uint32_t end = 0;

	m->units[made->unit].refs = (uint32_t)m->nrefs;
	for (size_t i = 0; i < made->nrefs; i++) {
		const struct sig_ref *ref = &made->refs[i];

		put_unsigned(m, ref->start - end);
		put_byte(m, ref->len);
		put_byte(m, ref->at - ref->start);
		put_byte(m, ref->kind);
		put_symbol(m, all, n, ref, &s->relocs[ref->symbol]);
		end = ref->start + ref->len;
	}
	m->failed |= m->nrefs >= SIG_NONE;
}

/* ---- an object ---- */

static bool add_section(struct inj_sig_maker *m, struct inj_sig_in_section *s, struct made *made)
{
	struct sig_unit u = { .flags = s->shared ? SIG_UNIT_SHARED : 0 };
	size_t names = m->nnames, units = m->nunits, n = 0;

	*made = (struct made){ .unit = SIG_NONE };
	if (!s->nfuncs || s->len > SIG_MAX_LEN)
		return true;
	if (!add_functions(m, s, &u, &made->base))
		return false;
	if (!u.nfuncs || !cover_all(m, s, &u, made->base, &n)) {
		m->unknown += u.nfuncs != 0;
		m->nfuncs = u.funcs;
		m->nnames = names;
		return !m->failed;
	}
	if (!array_room(m->room, m->room_room, u.len))
		return false;
	measure(&u, s->code + made->base, m->covers, n, m->funcs[u.funcs].len, m->room);
	made->unit = settle(m, &u, names);
	made->fresh = m->nunits > units;
	made->refs = calloc(n + 1, sizeof(*made->refs));
	made->nrefs = n;
	if (n && made->refs)
		memcpy(made->refs, m->covers, n * sizeof(*made->refs));
	return made->unit != SIG_NONE && made->refs;
}

bool inj_sig_add_object(struct inj_sig_maker *m, struct inj_sig_in_section *sections, size_t n)
{
	struct made *made = calloc(n + 1, sizeof(*made));
	bool good = made != NULL;

	for (size_t i = 0; good && i < n; i++)
		good = add_section(m, &sections[i], &made[i]);
	for (size_t i = 0; good && i < n; i++)
		if (made[i].fresh)
			put_refs(m, &sections[i], made, n, &made[i]);
	for (size_t i = 0; made && i < n; i++)
		free(made[i].refs);
	free(made);
	return good && !m->failed;
}
