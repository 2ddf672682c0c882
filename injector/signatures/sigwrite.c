// SPDX-License-Identifier: GPL-3.0-or-later
/* Laying out: who defines which symbol, the index, one part after the other. */
#include "config.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/hash.h"
#include "injector/signatures/sigmake-int.h"

#define ALIGN 8

/* A symbol's definition: the first that is not of a group, or else the first. */
static void define(struct inj_sig_maker *m, uint32_t unit, uint32_t func, uint32_t text)
{
	struct sig_symbol *s;
	size_t at;

	if (!m->nsymbols)
		return;
	at = hash_slot(i, m->globals_room, hash_word(text), !m->globals[i] || m->symbols[m->globals[i] - 1].text == text);
	s = m->globals[at] ? &m->symbols[m->globals[at] - 1] : NULL;
	if (!s || (s->unit != SIG_NONE && !(m->units[s->unit].flags & SIG_UNIT_SHARED)))
		return;
	s->unit = unit;
	s->func = func;
}

static void define_all(struct inj_sig_maker *m)
{
	for (uint32_t u = 0; u < m->nunits; u++) {
		for (uint32_t f = m->units[u].funcs; f < m->units[u].funcs + m->units[u].nfuncs; f++) {
			const struct sig_name *name = &m->names[m->funcs[f].names];

			for (uint32_t i = 0; i < m->funcs[f].nnames; i++)
				if (name[i].flags & SIG_NAME_GLOBAL)
					define(m, u, f, name[i].text);
		}
	}
}

/* ---- the index ---- */

static int by_key(const void *a, const void *b)
{
	const struct sig_entry *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->unit < y->unit ? -1 : x->unit > y->unit;
}

/* Returns how many are in it. */
static size_t fill_index(const struct inj_sig_maker *m, struct sig_entry *index, size_t *alike)
{
	size_t n = 0, same = 0;

	for (uint32_t i = 0; i < m->nunits; i++)
		index[i] = (struct sig_entry){ m->units[i].key, i };
	if (m->nunits)
		qsort(index, m->nunits, sizeof(*index), by_key);
	for (size_t i = 0; i < m->nunits; i++) {
		same = i && index[i - 1].key == index[i].key ? same + 1 : 0;
		if (same < SIG_PER_KEY)
			index[n++] = index[i];
		else
			++*alike;
	}
	return n;
}

static void fill_buckets(const struct sig_entry *index, size_t n, uint32_t *buckets)
{
	size_t at = 0;

	for (uint32_t b = 0; b <= 1u << SIG_BUCKET_BITS; b++) {
		while (at < n && index[at].key >> (32 - SIG_BUCKET_BITS) < b)
			at++;
		buckets[b] = (uint32_t)at;
	}
}

/* ---- all ---- */

static uint8_t *join(const void *const *parts, struct sig_head *h, size_t *len)
{
	uint64_t at = sizeof(*h);
	uint8_t *file;

	for (int i = 0; i < SIG_PARTS; i++) {
		h->off[i] = at;
		at = (at + h->bytes[i] + ALIGN - 1) / ALIGN * ALIGN;
	}
	h->len = at;
	file = calloc(1, at);
	if (!file)
		return NULL;
	for (int i = 0; i < SIG_PARTS; i++)
		if (h->bytes[i])
			memcpy(file + h->off[i], parts[i], h->bytes[i]);
	memcpy(file, h, sizeof(*h));
	h->sum = XXH3_64bits(file + offsetof(struct sig_head, off), at - offsetof(struct sig_head, off));
	memcpy(file, h, sizeof(*h));
	*len = at;
	return file;
}

static void count(const struct inj_sig_maker *m, struct inj_sig_made *made)
{
	made->units = m->nunits;
	made->funcs = m->nfuncs;
	made->bytes = 0;
	made->unknown = m->unknown;
	for (size_t i = 0; i < m->nfuncs; i++)
		made->bytes += m->funcs[i].len;
}

uint8_t *inj_sig_lay_out(struct inj_sig_maker *m, const char *archives, size_t *len, struct inj_sig_made *made)
{
	struct sig_head h = { .magic = SIG_MAGIC, .version = SIG_VERSION, .head_bytes = sizeof(h), .archives = inj_sig_text(m, archives) };
	struct sig_entry *index = calloc(m->nunits + 1, sizeof(*index));
	uint32_t *buckets = calloc((1u << SIG_BUCKET_BITS) + 1, sizeof(*buckets));
	uint8_t *file = NULL;
	size_t n;

	*made = (struct inj_sig_made){ 0 };
	if (index && buckets && h.archives != SIG_NONE) {
		define_all(m);
		n = fill_index(m, index, &made->alike);
		fill_buckets(index, n, buckets);
		memcpy(h.bytes, (uint64_t[SIG_PARTS]){
			m->nunits * sizeof(*m->units), m->nfuncs * sizeof(*m->funcs), m->nnames * sizeof(*m->names),
			m->nsymbols * sizeof(*m->symbols), n * sizeof(*index), ((1u << SIG_BUCKET_BITS) + 1) * sizeof(*buckets),
			m->nrefs, m->ntext }, sizeof(h.bytes));
		file = join((const void *[]){ m->units, m->funcs, m->names, m->symbols, index, buckets, m->refs, m->text }, &h, len);
		count(m, made);
	}
	free(index);
	free(buckets);
	return file;
}
