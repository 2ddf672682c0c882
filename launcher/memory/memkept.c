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

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "launcher/common/message.h"
#include "launcher/memory/memprofile-private.h"

#define VERSION 1 /* of the format, and of what the figures mean */
#define SLOTS 8
#define MAX_BYTES ((off_t)1 << 32)

static const char magic[8] = "SondeMpr";

struct header {
	char magic[8];
	uint32_t version, insn_bytes, group_bytes, curve_bytes;
	struct memkept_key key;
	uint64_t insns, pairs;
	uint32_t shift, sampled;
};

struct pair {
	uint64_t line;
	uint64_t insn; /* index */
};

/* ---- what it follows from ---- */

static bool hash_file(XXH3_state_t *state, const char *path)
{
	static char buf[1 << 16];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	uint64_t all = 0;
	ssize_t n = -1;

	while (fd >= 0 && (n = read(fd, buf, sizeof(buf))) > 0) {
		XXH3_128bits_update(state, buf, (size_t)n);
		all += (uint64_t)n;
	}
	XXH3_128bits_update(state, &all, sizeof(all));
	if (fd >= 0)
		close(fd);
	return n == 0;
}

static bool hash_in(XXH3_state_t *state, const char *dir, const char *name)
{
	char *path;
	bool good;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		return false;
	good = hash_file(state, path);
	free(path);
	return good;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool hash_threads(XXH3_state_t *state, const struct memtrace *t, const struct sonde_trace_rank *rank,
			 const struct mt_read *read)
{
	struct mt_files_thread about;
	bool good = true;

	for (size_t i = 0; good && mt_read_thread(read, i, &about); i++) {
		if (!memtrace_wanted(t, rank, &about))
			continue;
		XXH3_128bits_update(state, base_name(about.path), strlen(base_name(about.path)) + 1);
		good = hash_file(state, about.path);
	}
	return good;
}

void memkept_key(const struct memtrace *t, const struct sonde_trace_rank *rank, const struct mt_read *read,
		 const struct memprofile_options *o, struct memkept_key *key)
{
	const uint64_t options[] = { VERSION, o->no_stack, o->sampled, o->lines, sizeof(struct memprofile_insn) };
	XXH3_state_t *state = XXH3_createState();
	XXH128_hash_t hash;

	*key = (struct memkept_key){ 0 };
	if (!state || XXH3_128bits_reset(state) != XXH_OK) {
		XXH3_freeState(state);
		return;
	}
	XXH3_128bits_update(state, options, sizeof(options));
	XXH3_128bits_update(state, o->caches, sizeof(o->caches));
	if (hash_in(state, rank->dir, "metadata") && hash_in(state, rank->dir, "code.memory") &&
	    hash_threads(state, t, rank, read)) {
		hash = XXH3_128bits_digest(state);
		*key = (struct memkept_key){ { hash.low64, hash.high64 } };
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

void *memkept_pack(const struct memkept_key *key, struct memprofile *p, size_t *bytes)
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

static bool write_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = write(fd, data, bytes);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* A folder that cannot be written to, or is full, is no reason to complain. */
static bool replace(const char *dir, const char *path, const void *data, size_t bytes)
{
	char *temporary;
	bool good = false;
	int fd;

	if (asprintf(&temporary, "%s/.memory-profile-XXXXXX", dir) < 0)
		return false;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd >= 0) {
		good = write_all(fd, data, bytes);
		good = close(fd) == 0 && good;
		good = good && rename(temporary, path) == 0;
		if (!good)
			unlink(temporary);
	}
	free(temporary);
	return good;
}

static char *path_of(const char *dir, const struct memkept_key *key)
{
	char *path;

	return asprintf(&path, "%s/memory-profile.%u", dir, (unsigned int)(key->word[0] % SLOTS)) < 0 ? NULL : path;
}

void memkept_save(const char *dir, const struct memkept_key *key, struct memprofile *p)
{
	char *path = key->word[0] | key->word[1] ? path_of(dir, key) : NULL;
	size_t bytes;
	void *data = path ? memkept_pack(key, p, &bytes) : NULL;

	if (data && !replace(dir, path, data, bytes))
		msg_debug("%s: the profile is not kept: %m", path);
	free(data);
	free(path);
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

static bool is_header(const struct header *h, size_t bytes, const struct memkept_key *key,
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

struct memprofile *memkept_unpack(const void *data, size_t bytes, const struct memkept_key *key,
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

/* A plain file, or nothing. */
static void *read_file(const char *path, size_t *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;
	char *data = NULL;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && st.st_size < MAX_BYTES)
		data = malloc((size_t)st.st_size);
	*bytes = 0;
	while (data && *bytes < (size_t)st.st_size) {
		ssize_t n = read(fd, data + *bytes, (size_t)st.st_size - *bytes);

		if (n <= 0)
			break;
		*bytes += (size_t)n;
	}
	if (fd >= 0)
		close(fd);
	return data;
}

struct memprofile *memkept_load(const char *dir, const struct memkept_key *key, const struct memprofile_options *o)
{
	char *path = key->word[0] | key->word[1] ? path_of(dir, key) : NULL;
	size_t bytes = 0;
	void *data = path ? read_file(path, &bytes) : NULL;
	struct memprofile *p = data ? memkept_unpack(data, bytes, key, o) : NULL;

	free(data);
	free(path);
	return p;
}
