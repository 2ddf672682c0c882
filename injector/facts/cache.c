// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A cache file: a head that says of which code and which version of the analysis it is, a checksum, then struct
 * inj_facts, ascending by address.  Several processes may write one at the same time: each writes
 * a new file and renames it.  Its name comes from the ELF file's path, so that a program that is built anew replaces
 * what was known of the old one.
 */
#include "config.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <xxhash.h>

#include "injector/facts/analysis.h"
#include "injector/facts/store.h"

#define MAGIC UINT64_C(0x31736374636146ff)
#define MAX_FACTS 200000

struct head {
	uint64_t magic;
	char version[24]; /* of Sonde */
	uint32_t analysis;
	uint32_t record_bytes;
	struct inj_code_key key;
	uint64_t n;
	uint64_t checksum; /* of the records */
};

/* ---- which code it is ---- */

static void hash_symbols(XXH3_state_t *hash, const struct inj_symtab *tab)
{
	size_t n;
	const struct inj_symbol *v = inj_symtab_all(tab, &n);

	for (size_t i = 0; i < n; i++) {
		uint64_t words[3] = { v[i].addr, v[i].size, v[i].flags };

		XXH3_64bits_update(hash, words, sizeof(words));
	}
}

/* No memory: no two keys are the same then. */
struct inj_code_key inj_code_key(const struct inj_code_source *source)
{
	struct inj_code_key key;
	const struct inj_elf *file = source->file;
	const uint8_t *frames = inj_elf_get(file, file->eh_frame_hdr, file->eh_frame_hdr_size);
	XXH3_state_t *hash = XXH3_createState();

	memset(&key, 0, sizeof(key));	/* all of it is compared */
	key.identity = *source->identity;
	key.symbols = (uint64_t)getpid();
	if (!hash)
		return key;
	XXH3_64bits_reset(hash);
	hash_symbols(hash, source->symbols);
	if (frames)
		XXH3_64bits_update(hash, frames, file->eh_frame_hdr_size);
	key.symbols = XXH3_64bits_digest(hash);
	XXH3_freeState(hash);
	return key;
}

/* ---- the file ---- */

static struct head describe(const struct inj_code_key *key)
{
	struct head h;

	memset(&h, 0, sizeof(h));
	h.magic = MAGIC;
	snprintf(h.version, sizeof(h.version), "%s", PACKAGE_VERSION);
	h.analysis = INJ_ANALYSIS;
	h.record_bytes = sizeof(struct inj_facts);
	h.key = *key;
	return h;
}

static bool file_name(const char *folder, const char *path, char *name, size_t size)
{
	char *real = folder ? realpath(path, NULL) : NULL;
	uint64_t key;

	if (!real)
		return false;
	key = XXH3_64bits(real, strlen(real));
	free(real);
	return (size_t)snprintf(name, size, "%s/code-%016llx", folder,
				(unsigned long long)key) < size;
}

/* Everything of a file that is for @want, malloc'ed; NULL: nothing usable. */
static struct inj_facts *read_all(const char *name, const struct head *want, size_t *n)
{
	struct inj_facts *v = NULL;
	struct head have;
	int fd = open(name, O_RDONLY | O_CLOEXEC);

	*n = 0;
	if (fd < 0)
		return NULL;
	if (read(fd, &have, sizeof(have)) == sizeof(have) && have.n <= MAX_FACTS &&
	    memcmp(&have, want, offsetof(struct head, n)) == 0) {
		size_t bytes = have.n * sizeof(*v);

		v = malloc(bytes + 1);
		if (v && (read(fd, v, bytes) != (ssize_t)bytes ||
			  XXH3_64bits(v, bytes) != have.checksum)) {
			free(v);
			v = NULL;
		}
		*n = v ? have.n : 0;
	}
	close(fd);
	return v;
}

static int by_addr(const void *a, const void *b)
{
	const struct inj_facts *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

bool inj_cache_load(const char *folder, const char *path, const struct inj_code_key *key,
		    struct inj_facts *facts, size_t n)
{
	char name[4096];
	struct inj_facts *all;
	struct head want = describe(key);
	size_t nall, found = 0;

	if (!file_name(folder, path, name, sizeof(name)))
		return false;
	all = read_all(name, &want, &nall);
	for (size_t i = 0; all && i < n; i++) {
		const struct inj_facts *f = bsearch(&facts[i], all, nall, sizeof(*all), by_addr);

		if (!f || f->nentries > INJ_MAX_ENTRIES)
			break;
		found++;
	}
	for (size_t i = 0; found == n && i < n; i++)
		facts[i] = *(struct inj_facts *)bsearch(&facts[i], all, nall, sizeof(*all),
							by_addr);
	free(all);
	return found == n;
}

void inj_cache_store(const char *folder, const char *path, const struct inj_code_key *key,
		     const struct inj_facts *facts, size_t n)
{
	struct inj_facts *old, *v;
	char name[4096];
	struct head h = describe(key);
	size_t nold, kept = 0;

	if (!file_name(folder, path, name, sizeof(name)))
		return;
	old = read_all(name, &h, &nold);
	v = calloc(nold + n + 1, sizeof(*v));
	if (!v || nold + n > MAX_FACTS)
		goto out;
	memcpy(v, facts, n * sizeof(*v));
	for (size_t i = 0; i < nold; i++)
		if (!bsearch(&old[i], facts, n, sizeof(*facts), by_addr))
			v[n + kept++] = old[i];
	h.n = n + kept;
	qsort(v, h.n, sizeof(*v), by_addr);
	h.checksum = XXH3_64bits(v, h.n * sizeof(*v));
	(void)!inj_store(name, &h, sizeof(h), v, h.n * sizeof(*v));
out:
	free(old);
	free(v);
}
