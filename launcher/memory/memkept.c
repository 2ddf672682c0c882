/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 *	struct header
 *	struct memprofile_insn[insns], uint8_t shift[insns]
 *	struct memprofile_group[insns][MEMPROFILE_GROUPS], struct memprofile_curve[MEMPROFILE_GROUPS]	if sampled
 *	struct pair[pairs]
 *	uint64_t: XXH3 of all before it
 *
 * as they are in memory: it is for this machine, and only there made and read.
 */
#include "launcher/memory/memkept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "launcher/memory/profile/memprofile-private.h"

#define VERSION 1 /* of the format, and of what the figures mean */
#define FILE_NAME "memory-profile"

static const char magic[8] = "SondeMpr";

struct header {
	char magic[8];
	uint32_t version, insn_bytes, group_bytes, curve_bytes;
	struct kept_key key;
	uint64_t insns, pairs;
	uint32_t shift, sampled;
};

struct pair {
	uint64_t line;
	uint64_t insn; /* index */
};

/* ---- what it follows from ---- */

static bool hash_threads(XXH3_state_t *state, const struct memtrace *t, const struct sonde_trace_rank *rank,
			 const struct mt_read *read)
{
	struct mt_files_thread about;
	bool good = true;

	for (size_t i = 0; good && mt_read_thread(read, i, &about); i++) {
		if (!memtrace_wanted(t, rank, &about))
			continue;
		XXH3_128bits_update(state, path_basename(about.path), strlen(path_basename(about.path)) + 1);
		good = kept_hash_file(state, about.path);
	}
	return good;
}

void memkept_key(const struct memtrace *t, const struct sonde_trace_rank *rank, const struct mt_read *read,
		 const struct memprofile_options *o, struct kept_key *key)
{
	const uint64_t options[] = { VERSION, o->no_stack, o->sampled, o->lines, sizeof(struct memprofile_insn) };
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash;

	*key = (struct kept_key){ 0 };
	if (!state || XXH3_128bits_reset(state) != XXH_OK) {
		XXH3_freeState(state);
		return;
	}
	XXH3_128bits_update(state, options, sizeof(options));
	XXH3_128bits_update(state, o->caches, sizeof(o->caches));
	if (kept_hash_in(state, rank->dir, "metadata") && kept_hash_in(state, rank->dir, "code.memory") &&
	    hash_threads(state, t, rank, read)) {
		hash = XXH3_128bits_digest(state);
		*key = (struct kept_key){ { hash.low64, hash.high64 } };
	}
	XXH3_freeState(state);
}

/* ---- writing ---- */

static void *put(void *at, const void *from, size_t bytes)
{
	if (bytes)
		memcpy(at, from, bytes);
	return (char *)at + bytes;
}

static size_t room_for(const struct header *h)
{
	size_t insn = h->insn_bytes + 1, all = sizeof(*h) + sizeof(uint64_t);

	if (h->sampled) {
		insn += MEMPROFILE_GROUPS * h->group_bytes;
		all += MEMPROFILE_GROUPS * h->curve_bytes;
	}
	return all + h->insns * insn + h->pairs * sizeof(struct pair);
}

static void *put_pairs(void *at, const struct mempairs *pairs)
{
	for (size_t i = 0; i < pairs->room; i++) {
		struct pair pair = { pairs->table[i].line, pairs->table[i].id - UINT64_C(1) };

		if (pairs->table[i].id)
			at = put(at, &pair, sizeof(pair));
	}
	return at;
}

void *memkept_pack(const struct kept_key *key, struct memprofile *p, size_t *bytes)
{
	struct header h = {
		.version = VERSION, .insn_bytes = sizeof(struct memprofile_insn),
		.group_bytes = sizeof(struct memprofile_group), .curve_bytes = sizeof(struct memprofile_curve),
		.key = *key, .insns = p->insns.n, .pairs = p->pairs.n, .shift = p->shift, .sampled = p->o.sampled,
	};
	char *data, *at;
	uint64_t hash;

	memcpy(h.magic, magic, sizeof(magic));
	*bytes = room_for(&h);
	data = at = malloc(*bytes);
	if (!data)
		return NULL;
	at = put(at, &h, sizeof(h));
	for (uint32_t i = 0; i < p->insns.n; i++)
		at = put(at, &p->insns.v[i].sum, h.insn_bytes);
	for (uint32_t i = 0; i < p->insns.n; i++)
		at = put(at, &p->insns.v[i].shift, 1);
	for (uint32_t i = 0; h.sampled && i < p->insns.n; i++)
		at = put(at, p->insns.v[i].groups, MEMPROFILE_GROUPS * h.group_bytes);
	if (h.sampled)
		at = put(at, p->curves, MEMPROFILE_GROUPS * h.curve_bytes);
	at = put_pairs(at, &p->pairs);
	hash = XXH3_64bits(data, *bytes - sizeof(hash));
	put(at, &hash, sizeof(hash));
	return data;
}

void memkept_save(const char *dir, const struct kept_key *key, struct memprofile *p)
{
	size_t bytes;
	void *data = memkept_pack(key, p, &bytes);

	if (data)
		kept_write(dir, FILE_NAME, key, data, bytes);
	free(data);
}

/* ---- reading ---- */

struct input {
	const char *at;
	size_t left;
};

static bool take(struct input *in, void *to, size_t bytes)
{
	if (bytes > in->left)
		return false;
	memcpy(to, in->at, bytes);
	in->at += bytes;
	in->left -= bytes;
	return true;
}

static bool is_header(const struct header *h, size_t bytes, const struct kept_key *key,
		      const struct memprofile_options *o)
{
	return memcmp(h->magic, magic, sizeof(magic)) == 0 && h->version == VERSION &&
	       h->insn_bytes == sizeof(struct memprofile_insn) && h->group_bytes == sizeof(struct memprofile_group) &&
	       h->curve_bytes == sizeof(struct memprofile_curve) && memcmp(&h->key, key, sizeof(*key)) == 0 &&
	       h->sampled == o->sampled && h->shift <= MEMPROFILE_MAX_SHIFT && h->insns < MEMPROFILE_NONE &&
	       h->insns <= bytes / h->insn_bytes && h->pairs <= bytes / sizeof(struct pair) && room_for(h) == bytes;
}

static bool is_finite(const void *data, size_t bytes)
{
	double v;

	for (size_t at = 0; at + sizeof(v) <= bytes; at += sizeof(v)) {
		memcpy(&v, (const char *)data + at, sizeof(v));
		if (!(v >= 0 && isfinite(v)))
			return false;
	}
	return true;
}

static bool take_insns(struct input *in, struct memprofile *p, uint64_t n)
{
	struct memprofile_insn sum;

	for (uint64_t i = 0; i < n; i++) {
		uint32_t id;

		if (!take(in, &sum, sizeof(sum)))
			return false;
		id = memprofile_find(&p->insns, sum.insn);
		if (id != i) /* twice, or no memory */
			return false;
		p->insns.v[id].sum = sum;
	}
	for (uint64_t i = 0; i < n; i++)
		if (!take(in, &p->insns.v[i].shift, 1) || p->insns.v[i].shift > MEMPROFILE_MAX_SHIFT)
			return false;
	return true;
}

static bool take_groups(struct input *in, struct memprofile *p, uint64_t n)
{
	size_t bytes = MEMPROFILE_GROUPS * sizeof(struct memprofile_group);

	if (!p->o.sampled)
		return true;
	for (uint64_t i = 0; i < n; i++)
		if (!take(in, p->insns.v[i].groups, bytes) || !is_finite(p->insns.v[i].groups, bytes))
			return false;
	bytes = MEMPROFILE_GROUPS * sizeof(struct memprofile_curve);
	return take(in, p->curves, bytes) && is_finite(p->curves, bytes);
}

static bool take_pairs(struct input *in, struct memprofile *p, uint64_t n)
{
	struct pair pair;

	for (uint64_t i = 0; i < n; i++)
		if (!take(in, &pair, sizeof(pair)) || pair.insn >= p->insns.n ||
		    mempairs_add(&p->pairs, (uint32_t)pair.insn, pair.line) < 0)
			return false;
	return true;
}

struct memprofile *memkept_unpack(const void *data, size_t bytes, const struct kept_key *key,
				  const struct memprofile_options *o)
{
	struct input in = { data, bytes };
	struct memprofile *p;
	struct header h;
	uint64_t hash;

	if (bytes < sizeof(h) + sizeof(hash) || !take(&in, &h, sizeof(h)) || !is_header(&h, bytes, key, o))
		return NULL;
	memcpy(&hash, (const char *)data + bytes - sizeof(hash), sizeof(hash));
	if (hash != XXH3_64bits(data, bytes - sizeof(hash)))
		return NULL;
	p = memprofile_new(o);
	if (p && take_insns(&in, p, h.insns) && take_groups(&in, p, h.insns) && take_pairs(&in, p, h.pairs)) {
		p->shift = h.shift;
		return p;
	}
	memprofile_free(p);
	return NULL;
}

struct memprofile *memkept_load(const char *dir, const struct kept_key *key, const struct memprofile_options *o)
{
	size_t bytes = 0;
	void *data = kept_read(dir, FILE_NAME, key, &bytes);
	struct memprofile *p = data ? memkept_unpack(data, bytes, key, o) : NULL;

	free(data);
	return p;
}
