// SPDX-License-Identifier: GPL-3.0-or-later
/* Where bytes of units are: at starts of functions, and in code that belongs to no known function. */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "injector/signatures/sigmask.h"
#include "injector/signatures/sigmatch-int.h"

#define SURE_SIZE 64		/* fixed bytes of a unit that may be longer or shorter than the function that is known to be there */
#define SCAN_PREFIX 16		/* of units that are searched for where no function is known to start */
#define SCAN_FIXED 32
#define FILTER_BITS 18

/* ---- code ---- */

static size_t piece_at(const struct match *m, uint64_t addr)
{
	const struct inj_sig_piece *v = m->code->pieces;
	size_t i = search_first(k, m->code->npieces, v[k].addr + (v[k].len - 1) >= addr);

	return i < m->code->npieces && v[i].addr <= addr ? i : m->code->npieces;
}

const uint8_t *sig_code_at(const struct match *m, uint64_t addr, uint64_t *left)
{
	size_t i = piece_at(m, addr);
	const struct inj_sig_piece *p = &m->code->pieces[i];

	if (i == m->code->npieces)
		return NULL;
	*left = p->len - (addr - p->addr);
	return p->bytes + (addr - p->addr);
}

void sig_cover(struct match *m, uint64_t addr, uint64_t len)
{
	size_t i = piece_at(m, addr);
	const struct inj_sig_piece *p = &m->code->pieces[i];
	uint64_t bit;

	if (i == m->code->npieces)
		return;
	bit = m->before[i] + (addr - p->addr);
	if (len > p->len - (addr - p->addr))
		len = p->len - (addr - p->addr);
	for (uint64_t end = bit + len; bit < end; bit++) {
		if (bit % 8 == 0 && end - bit >= 8) {
			m->covered[bit / 8] = 0xff;
			bit += 7;
		} else {
			m->covered[bit / 8] |= (uint8_t)(1 << bit % 8);
		}
	}
}

bool sig_is_covered(const struct match *m, uint64_t addr)
{
	size_t i = piece_at(m, addr);
	uint64_t bit;

	if (i == m->code->npieces)
		return false;
	bit = m->before[i] + (addr - m->code->pieces[i].addr);
	return m->covered[bit / 8] >> bit % 8 & 1;
}

const struct inj_sig_start *sig_start(const struct match *m, uint64_t addr)
{
	const struct inj_sig_start *v = m->code->starts;
	size_t i = search_first(k, m->code->nstarts, v[k].addr >= addr);

	return i < m->code->nstarts && v[i].addr == addr ? &v[i] : NULL;
}

/* ---- instances ---- */

struct place *sig_place(const struct match *m, uint64_t addr)
{
	size_t at;

	if (!m->places_room)
		return NULL;
	at = hash_slot(i, m->places_room, hash_word(addr), !m->places[i].used || m->places[i].addr == addr);
	return m->places[at].used ? &m->places[at] : NULL;
}

struct place *sig_new_place(struct match *m, uint64_t addr)
{
	struct place *p;

	if (!hash_grow(m->places, m->places_room, m->nplaces + 1, old, old->used,
		       &m->places[hash_slot(i, m->places_room, hash_word(old->addr), !m->places[i].used)])) {
		m->failed = true;
		return NULL;
	}
	p = &m->places[hash_slot(i, m->places_room, hash_word(addr), !m->places[i].used || m->places[i].addr == addr)];
	if (!p->used) {
		*p = (struct place){ .addr = addr, .used = true };
		m->nplaces++;
	}
	return p;
}

bool sig_is_there(struct match *m, uint32_t file, uint32_t unit, uint64_t base)
{
	const struct inj_sig_file *f = &m->files[file];
	const struct sig_unit *u = &f->units[unit];
	uint64_t left;
	const uint8_t *code = sig_code_at(m, base, &left);

	if (!code || left < u->len || (u->prefix >= 4 && memcmp(code, &u->lead, sizeof(u->lead)) != 0))
		return false;
	return inj_sig_hash(code, u->len, inj_sig_refs(f, u), u->nrefs, m->room) == u->hash;
}

uint32_t sig_instance(const struct match *m, uint32_t file, uint32_t unit, uint64_t base)
{
	const struct place *p = sig_place(m, base);

	for (uint32_t i = p ? p->claims : 0; i; i = m->claims[i - 1].next) {
		const struct instance *in = &m->instances[m->claims[i - 1].instance];

		if (in->base == base && in->file == file && in->unit == unit)
			return m->claims[i - 1].instance;
	}
	return SIG_NONE;
}

uint32_t sig_note(struct match *m, uint32_t file, uint32_t unit, uint64_t base)
{
	const struct sig_unit *u = &m->files[file].units[unit];

	if (!array_room(m->instances, m->instances_room, m->ninstances + 1) || m->ninstances + 1 >= SIG_NONE ||
	    !array_room(m->claims, m->claims_room, m->nclaims + u->nfuncs) || m->nclaims + u->nfuncs >= SIG_NONE) {
		m->failed = true;
		return SIG_NONE;
	}
	for (uint32_t i = u->funcs; i < u->funcs + u->nfuncs; i++) {
		struct place *p = sig_new_place(m, base + m->files[file].funcs[i].at);

		if (!p)
			return SIG_NONE;
		m->claims[m->nclaims++] = (struct claim){ (uint32_t)m->ninstances, i, p->claims };
		p->claims = (uint32_t)m->nclaims;
	}
	m->copies[file][unit]++;
	m->instances[m->ninstances++] = (struct instance){ .base = base, .file = file, .unit = unit };
	return (uint32_t)m->ninstances - 1;
}

/* ---- candidates ---- */

/* Small ones have to be as long as the function is known to be. */
static bool size_fits(const struct sig_unit *u, uint64_t size)
{
	return !size || u->fixed >= SURE_SIZE || u->first_len == size;
}

static void try_key(struct match *m, uint32_t file, uint32_t key, uint8_t prefix, uint64_t addr, uint64_t size, uint32_t fixed)
{
	const struct inj_sig_file *f = &m->files[file];
	size_t n;
	const struct sig_entry *v = inj_sig_find(f, key, &n);

	for (size_t i = 0; i < n && !m->failed; i++) {
		const struct sig_unit *u = &f->units[v[i].unit];

		if (u->prefix == prefix && u->fixed >= fixed && size_fits(u, size) && sig_is_there(m, file, v[i].unit, addr) &&
		    sig_instance(m, file, v[i].unit, addr) == SIG_NONE)
			(void)sig_note(m, file, v[i].unit, addr);
	}
}

static void try_start(struct match *m, const struct inj_sig_start *s)
{
	static const uint8_t prefixes[] = { 32, 16, 8, 4 };
	uint64_t left;
	const uint8_t *code = sig_code_at(m, s->addr, &left);
	uint32_t key;

	if (!code)
		return;
	for (size_t i = 0; i < sizeof(prefixes); i++) {
		if (left < prefixes[i])
			continue;
		key = inj_sig_key(code, prefixes[i], 0);
		for (uint32_t file = 0; file < m->nfiles; file++)
			try_key(m, file, key, prefixes[i], s->addr, s->size, 0);
	}
	if (!s->size || s->size > SIG_MAX_LEN)
		return;
	key = inj_sig_key(code, 0, (uint32_t)s->size);
	for (uint32_t file = 0; file < m->nfiles; file++)
		try_key(m, file, key, 0, s->addr, s->size, 0);
}

/* ---- between the functions ---- */

static size_t filter_bit(uint32_t lead)
{
	return (size_t)(hash_word(lead) >> (64 - FILTER_BITS));
}

static uint8_t *make_filter(const struct match *m)
{
	uint8_t *filter = calloc(1, (1u << FILTER_BITS) / 8);

	for (size_t f = 0; filter && f < m->nfiles; f++) {
		for (size_t i = 0; i < m->files[f].nunits; i++) {
			const struct sig_unit *u = &m->files[f].units[i];
			size_t bit = filter_bit(u->lead);

			if (u->prefix >= SCAN_PREFIX && u->fixed >= SCAN_FIXED)
				filter[bit / 8] |= (uint8_t)(1 << bit % 8);
		}
	}
	return filter;
}

static void scan_at(struct match *m, const uint8_t *code, uint64_t addr, uint64_t left)
{
	for (uint8_t prefix = 32; prefix >= SCAN_PREFIX; prefix /= 2) {
		uint32_t key;

		if (left < prefix)
			continue;
		key = inj_sig_key(code, prefix, 0);
		for (uint32_t file = 0; file < m->nfiles; file++)
			try_key(m, file, key, prefix, addr, 0, SCAN_FIXED);
	}
}

static void scan_piece(struct match *m, size_t piece, const uint8_t *filter)
{
	const struct inj_sig_piece *p = &m->code->pieces[piece];

	for (uint64_t i = 0; i + SCAN_PREFIX <= p->len && !m->failed; i++) {
		uint64_t at = m->before[piece] + i;
		uint32_t lead;
		size_t bit;

		if (m->covered[at / 8] == 0xff) {
			i += 7 - at % 8;
			continue;
		}
		memcpy(&lead, p->bytes + i, sizeof(lead));
		bit = filter_bit(lead);
		if ((filter[bit / 8] >> bit % 8 & 1) && !(m->covered[at / 8] >> at % 8 & 1))
			scan_at(m, p->bytes + i, p->addr + i, p->len - i);
	}
}

static void scan(struct match *m)
{
	uint8_t *filter = make_filter(m);

	m->failed |= !filter;
	for (size_t i = 0; i < m->code->nstarts; i++)
		sig_cover(m, m->code->starts[i].addr, m->code->starts[i].size ? m->code->starts[i].size : 1);
	for (size_t i = 0; i < m->code->npieces && !m->failed; i++)
		scan_piece(m, i, filter);
	memset(m->covered, 0, m->total / 8 + 1);
	free(filter);
}

/* ---- all ---- */

static bool begin(struct match *m)
{
	uint32_t len = 0;
	bool good = true;

	m->before = calloc(m->code->npieces + 1, sizeof(*m->before));
	m->copies = calloc(m->nfiles + 1, sizeof(*m->copies));
	for (size_t i = 0; m->copies && i < m->nfiles; i++) {
		len = m->files[i].max_len > len ? m->files[i].max_len : len;
		m->copies[i] = calloc(m->files[i].nunits + 1, sizeof(**m->copies));
		good = good && m->copies[i];
	}
	for (size_t i = 0; m->before && i < m->code->npieces; i++) {
		m->before[i] = m->total;
		m->total += m->code->pieces[i].len;
	}
	m->covered = calloc(1, m->total / 8 + 1);
	m->room = malloc(len + (size_t)1);
	return good && m->before && m->copies && m->covered && m->room;
}

static void end(struct match *m)
{
	for (size_t i = 0; m->copies && i < m->nfiles; i++)
		free(m->copies[i]);
	free(m->copies);
	free(m->before);
	free(m->covered);
	free(m->room);
	free(m->instances);
	free(m->claims);
	free(m->said);
	free(m->places);
	free(m->named);
	free(m->queue);
}

bool inj_sig_match(const struct inj_sig_file *files, size_t nfiles, const struct inj_sig_code *code, struct inj_sig_result *r)
{
	struct match m = { .files = files, .nfiles = nfiles, .code = code };
	bool good = begin(&m);

	*r = (struct inj_sig_result){ 0 };
	if (good) {
		for (size_t i = 0; i < code->nstarts && !m.failed; i++)
			try_start(&m, &code->starts[i]);
		if (!m.failed)
			scan(&m);
		if (!m.failed)
			sig_decide(&m);
		good = !m.failed && sig_results(&m, r);
	}
	end(&m);
	if (!good)
		inj_sig_result_free(r);
	return good;
}

void inj_sig_result_free(struct inj_sig_result *r)
{
	free(r->found);
	free(r->unsure);
	*r = (struct inj_sig_result){ 0 };
}
