// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Reading.  What start-up needs of each function is checked when the file is opened: a checksum, and each number before it is
 * used.  What the flow of single functions needs is several times as much, and of most files nothing is called; that is checked
 * when the first function is.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "injector/facts/analysis.h"
#include "injector/facts/kept.h"
#include "injector/signatures/signatures.h"

#define MAGIC UINT64_C(0x3165646f636e6fff)

/* ---- which file it is of ---- */

static struct inj_kept_stamp stamp_of(const struct stat *st)
{
	return (struct inj_kept_stamp){
		.dev = st->st_dev, .ino = st->st_ino, .size = (uint64_t)st->st_size,
		.mtime = (uint64_t)st->st_mtim.tv_sec * 1000000000 + (uint64_t)st->st_mtim.tv_nsec,
		.ctime = (uint64_t)st->st_ctim.tv_sec * 1000000000 + (uint64_t)st->st_ctim.tv_nsec,
	};
}

static void stamp(const char *path, struct inj_kept_stamp *to)
{
	struct stat st;

	*to = stat(path, &st) == 0 ? stamp_of(&st) : (struct inj_kept_stamp){ 0 };
}

/* The places where BFD looks. */
void inj_kept_debug(const char *path, struct inj_kept_head *h)
{
	const char *id = h->identity.build_id, *slash = strrchr(path, '/');
	int folder = slash ? (int)(slash - path) : 0;
	char at[4096 + sizeof(h->link)];

	memset(h->debug, 0, sizeof(h->debug));
	if (!h->debug_file)
		return;
	if (strlen(id) > 2) {
		snprintf(at, sizeof(at), "%s/.build-id/%.2s/%s.debug", INJ_DEBUG_FOLDER, id, id + 2);
		stamp(at, &h->debug[0]);
	}
	if (!h->link[0])
		return;
	snprintf(at, sizeof(at), "%.*s/%s", folder, path, h->link);
	stamp(at, &h->debug[1]);
	snprintf(at, sizeof(at), "%.*s/.debug/%s", folder, path, h->link);
	stamp(at, &h->debug[2]);
	snprintf(at, sizeof(at), "%s%.*s/%s", INJ_DEBUG_FOLDER, folder, path, h->link);
	stamp(at, &h->debug[3]);
}

bool inj_kept_describe(const struct inj_kept_source *source, int fd, struct inj_kept_head *h)
{
	struct stat st;

	memset(h, 0, sizeof(*h));
	if (fstat(fd, &st) < 0)
		return false;
	h->magic = MAGIC;
	snprintf(h->version, sizeof(h->version), "%s", PACKAGE_VERSION);
	h->analysis = INJ_ANALYSIS;
	h->head_bytes = sizeof(*h);
	h->signatures = inj_signatures_key();
	stamp("/proc/self/exe", &h->maker);
	h->file = stamp_of(&st);
	h->debug_file = source->debug_file;
	return true;
}

bool inj_kept_name(const struct inj_kept_source *source, char *name, size_t size)
{
	char *real = source->cache_dir ? realpath(source->path, NULL) : NULL;
	uint64_t key;

	if (!real)
		return false;
	key = XXH3_64bits_withSeed(real, strlen(real), inj_signatures_key() ^ source->debug_file);
	free(real);
	return (size_t)snprintf(name, size, "%s/flow-%016llx", source->cache_dir, (unsigned long long)key) < size;
}

/* ---- is it whole? ---- */

uint64_t inj_kept_sum_first(const struct inj_kept_head *h, const uint8_t *map)
{
	uint64_t head = XXH3_64bits(h, offsetof(struct inj_kept_head, first));

	return XXH3_64bits_withSeed(map + sizeof(*h), h->off[INJ_KEPT_FIRST] - sizeof(*h), head);
}

uint64_t inj_kept_sum_rest(const struct inj_kept_head *h, const uint8_t *map)
{
	return XXH3_64bits(map + h->off[INJ_KEPT_FIRST], h->len - h->off[INJ_KEPT_FIRST]);
}

static bool lies_within(const struct inj_kept_head *h, size_t len)
{
	for (int i = 0; i < INJ_KEPT_PARTS; i++)
		if (h->off[i] > len || h->bytes[i] > len - h->off[i] || h->off[i] % 8)
			return false;
	return h->len == len && h->off[INJ_KEPT_FIRST] >= sizeof(*h);
}

static bool is_of(const struct inj_kept_source *source, int fd, const struct inj_kept_head *h)
{
	struct inj_kept_head want;

	if (!inj_kept_describe(source, fd, &want) || memcmp(h, &want, offsetof(struct inj_kept_head, debug)) != 0 ||
	    h->debug_file != want.debug_file || memchr(h->link, '\0', sizeof(h->link)) == NULL ||
	    memchr(h->identity.build_id, '\0', sizeof(h->identity.build_id)) == NULL)
		return false;
	memcpy(want.link, h->link, sizeof(want.link));
	want.identity = h->identity;
	inj_kept_debug(source->path, &want);
	return memcmp(h->debug, want.debug, sizeof(want.debug)) == 0;
}

/* ---- its arrays ---- */

static const struct inj_kept_head *head_of(const struct inj_kept *k)
{
	return (const struct inj_kept_head *)(const void *)k->map;
}

bool inj_kept_is_of(const struct inj_kept *k, int fd)
{
	struct inj_kept_stamp is;
	struct stat st;

	if (fstat(fd, &st) < 0)
		return false;
	is = stamp_of(&st);
	return memcmp(&is, &head_of(k)->file, sizeof(is)) == 0;
}

static const void *part(const struct inj_kept *k, enum inj_kept_part i, size_t item, size_t *n)
{
	const struct inj_kept_head *h = head_of(k);

	*n = h->bytes[i] / item;
	return k->map + h->off[i];
}

static bool take_pieces(struct inj_kept *k)
{
	struct tramp_facts *f = &k->facts.facts;
	const struct inj_kept_piece *v = part(k, INJ_KEPT_PIECES, sizeof(*v), &f->nbytes);
	struct tramp_bytes *bytes = calloc(f->nbytes + 1, sizeof(*bytes));
	uint64_t end = 0;
	bool good = bytes != NULL;

	f->bytes = bytes;
	for (size_t i = 0; i < f->nbytes && good; i++) {
		good = v[i].off <= k->elf_len && v[i].len <= k->elf_len - v[i].off && v[i].addr >= end &&
		       v[i].addr + v[i].len >= v[i].addr;
		end = v[i].addr + v[i].len;
		if (good)
			bytes[i] = (struct tramp_bytes){ v[i].addr, k->elf + v[i].off, v[i].len, v[i].code != 0 };
	}
	return good;
}

static bool take_functions(struct inj_kept *k)
{
	struct tramp_facts *f = &k->facts.facts;
	size_t names, text, waits;
	const struct inj_kept_name *name = part(k, INJ_KEPT_NAMES, sizeof(*name), &names);
	const char *at = part(k, INJ_KEPT_TEXT, 1, &text);
	uint64_t end = 0;

	f->fns = part(k, INJ_KEPT_FNS, sizeof(*f->fns), &f->nfns);
	k->waits = part(k, INJ_KEPT_WAITS, 1, &waits);
	if (names != f->nfns || waits != f->nfns || f->nfns >= TRAMP_NONE || (text ? at[text - 1] != '\0' : names != 0))
		return false;
	k->facts.fn = calloc(f->nfns + 1, sizeof(*k->facts.fn));
	if (!k->facts.fn)
		return false;
	for (size_t i = 0; i < f->nfns; i++) {
		const struct tramp_fn *fn = &f->fns[i];

		if (fn->addr < end || !fn->size || fn->addr + fn->size < fn->addr || name[i].at >= text ||
		    (fn->parent != TRAMP_NONE && fn->parent >= f->nfns))
			return false;
		end = fn->addr + fn->size;
		k->facts.fn[i] = (struct inj_fn){ at + name[i].at, name[i].flags };
	}
	return true;
}

static bool take_lists(struct inj_kept *k)
{
	const struct inj_kept_head *h = head_of(k);
	struct inj_codefacts *f = &k->facts;

	f->facts.noreturn = part(k, INJ_KEPT_NORETURN, sizeof(uint64_t), &f->facts.nnoreturn);
	f->facts.own = part(k, INJ_KEPT_OWN, sizeof(uint64_t), &f->facts.nown);
	f->facts.sync = part(k, INJ_KEPT_SYNC, sizeof(uint64_t), &f->facts.nsync);
	f->facts.taken = part(k, INJ_KEPT_TAKEN, sizeof(uint64_t), &f->facts.ntaken);
	f->sigaction = part(k, INJ_KEPT_SIGACTION, sizeof(uint64_t), &f->nsigaction);
	f->text_lo = h->text_lo;
	f->text_hi = h->text_hi;
	f->code = h->code;
	f->uncovered = h->uncovered;
	f->guessed = h->guessed;
	f->go = h->go;
	f->no_relocations = h->no_relocations;
	for (size_t i = 0; i < f->nsigaction; i++)
		if (f->sigaction[i] < f->text_lo || f->sigaction[i] >= f->text_hi)
			return false;
	return f->text_lo < f->text_hi && f->text_hi - f->text_lo < UINT32_MAX;
}

static bool take_code(struct inj_kept *k)
{
	const struct inj_kept_head *h = head_of(k);
	struct tramp_code_arrays a = { .large_model = h->large_model };
	size_t bytes;

	a.at[TRAMP_CODE_OWNER] = part(k, INJ_KEPT_OWNER, 1, &a.bytes[TRAMP_CODE_OWNER]);
	for (int i = TRAMP_CODE_OWNER + 1; i < TRAMP_CODE_PARTS; i++) {
		a.at[i] = part(k, INJ_KEPT_FLOW + i - TRAMP_CODE_OWNER - 1, 1, &bytes);
		a.bytes[i] = bytes;
	}
	return tramp_code_from(&k->facts.facts, &a, &k->code) == TRAMP_CODE_OK && tramp_code_base(k->code) == k->facts.text_lo;
}

static bool map_elf(struct inj_kept *k, const struct inj_kept_source *source)
{
	int fd = open(source->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool good = fd >= 0 && is_of(source, fd, head_of(k));

	if (good) {
		k->elf_len = head_of(k)->file.size;
		k->elf = mmap(NULL, k->elf_len, PROT_READ, MAP_PRIVATE, fd, 0);
		good = k->elf != MAP_FAILED;
		k->elf = good ? k->elf : NULL;
	}
	if (fd >= 0)
		close(fd);
	return good;
}

static bool take_all(struct inj_kept *k, const struct inj_kept_source *source)
{
	const struct inj_kept_head *h = head_of(k);

	if (k->len < sizeof(*h) || !lies_within(h, k->len) || !map_elf(k, source) || inj_kept_sum_first(h, k->map) != h->first)
		return false;
	k->identity = h->identity;
	return take_pieces(k) && take_functions(k) && take_lists(k) && take_code(k);
}

struct inj_kept *inj_kept_adopt(const struct inj_kept_source *source, uint8_t *map, size_t len)
{
	struct inj_kept *k = calloc(1, sizeof(*k));

	if (!k) {
		munmap(map, len);
		return NULL;
	}
	k->map = map;
	k->len = len;
	if (take_all(k, source))
		return k;
	inj_kept_free(k);
	return NULL;
}

struct inj_kept *inj_kept_open(const struct inj_kept_source *source)
{
	struct inj_kept *k = NULL;
	char name[4096];
	struct stat st;
	int fd = inj_kept_name(source, name, sizeof(name)) ? open(name, O_RDONLY | O_CLOEXEC) : -1;
	uint8_t *map;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(struct inj_kept_head)) {
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		k = map == MAP_FAILED ? NULL : inj_kept_adopt(source, map, (size_t)st.st_size);
	}
	close(fd);
	if (k)
		k->name = strdup(name);
	return k;
}

bool inj_kept_check(struct inj_kept *k)
{
	enum { UNKNOWN, GOOD, BAD };
	int known = __atomic_load_n(&k->checked, __ATOMIC_RELAXED);

	if (known == UNKNOWN) {
		known = inj_kept_sum_rest(head_of(k), k->map) == head_of(k)->rest && tramp_code_sound(k->code) ? GOOD : BAD;
		__atomic_store_n(&k->checked, known, __ATOMIC_RELAXED);
		if (known == BAD && k->name)
			unlink(k->name);
	}
	return known == GOOD;
}

uint64_t inj_kept_key(const struct inj_kept *k)
{
	return head_of(k)->first;
}

void inj_kept_rest(const struct inj_kept *k)
{
	(void)!madvise(k->elf, k->elf_len, MADV_DONTNEED);
	if (k->name) /* else it is nowhere else */
		(void)!madvise(k->map, k->len, MADV_DONTNEED);
}

void inj_kept_free(struct inj_kept *k)
{
	if (!k)
		return;
	tramp_code_free(k->code);
	free((void *)(uintptr_t)k->facts.facts.bytes);
	free(k->facts.fn);
	if (k->elf)
		munmap(k->elf, k->elf_len);
	munmap(k->map, k->len);
	free(k->name);
	free(k);
}
