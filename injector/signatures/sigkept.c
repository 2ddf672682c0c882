// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What signatures say of a file, as it lies in a file of the cache folder: a head, entries, text.  It is of one ELF file as it is, by
 * inode, size and times, and of one set of files of signatures, by their checksums.  What is in it may be damaged, or of somebody
 * else's making.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "injector/facts/store.h"
#include "injector/signatures/sigkept.h"

#define MAGIC UINT64_C(0x316d616e676973ff)
#define MAX_BYTES (256u << 20)

struct head {
	uint64_t magic, len;	/* of all */
	uint64_t sum;		/* of what follows this word */
	uint64_t signatures, dev, ino, size, mtime, ctime;
	uint64_t n, nunsure, ntext;
};

struct entry {
	uint64_t addr, size;
	uint32_t name, source;	/* in text */
	uint32_t flags, pad;
};

static uint64_t nanoseconds(const struct timespec *t)
{
	return (uint64_t)t->tv_sec * 1000000000 + (uint64_t)t->tv_nsec;
}

/* Of the file as it is now.  False: it is not there. */
static bool describe(const char *path, uint64_t signatures, struct head *h)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	*h = (struct head){
		.magic = MAGIC, .signatures = signatures, .dev = st.st_dev, .ino = st.st_ino, .size = (uint64_t)st.st_size,
		.mtime = nanoseconds(&st.st_mtim), .ctime = nanoseconds(&st.st_ctim),
	};
	return true;
}

char *inj_sig_kept_name(const char *folder, const char *path, uint64_t signatures)
{
	char *real = realpath(path, NULL), *name = NULL;

	if (real && asprintf(&name, "%s/names-%016llx", folder, (unsigned long long)XXH3_64bits_withSeed(real, strlen(real), signatures)) < 0)
		name = NULL;
	free(real);
	return name;
}

/* ---- reading ---- */

static void *read_all(const char *name, size_t *len)
{
	int fd = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	void *all = NULL;
	struct stat st;

	if (fd < 0)
		return NULL;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(struct head) && st.st_size <= MAX_BYTES)
		all = malloc((size_t)st.st_size);
	if (all && read(fd, all, (size_t)st.st_size) != st.st_size) {
		free(all);
		all = NULL;
	}
	*len = all ? (size_t)st.st_size : 0;
	close(fd);
	return all;
}

static uint64_t sum_of(const struct head *h, size_t len)
{
	size_t from = offsetof(struct head, sum) + sizeof(h->sum);

	return XXH3_64bits((const uint8_t *)h + from, len - from);
}

static bool is_whole(const struct head *h, size_t len)
{
	uint64_t entries = (len - sizeof(*h)) / sizeof(struct entry);

	return h->len == len && h->n <= entries && h->nunsure <= entries - h->n && h->ntext &&
	       h->ntext == len - sizeof(*h) - (h->n + h->nunsure) * sizeof(struct entry) && ((const char *)h)[len - 1] == '\0';
}

static bool take(const struct head *h, const struct inj_elf *file, struct inj_sig_names *names)
{
	const struct entry *v = (const struct entry *)(const void *)(h + 1);
	size_t n = h->n + h->nunsure;
	const char *text = (const char *)(v + n);

	names->v = calloc(n + 1, sizeof(*names->v));
	for (size_t i = 0; names->v && i < n; i++) {
		const struct inj_elf_segment *code = inj_elf_code(file, v[i].addr);

		if (!code || v[i].size > code->len - (v[i].addr - code->addr) || v[i].name >= h->ntext || v[i].source >= h->ntext ||
		    (i && i != h->n && v[i].addr < v[i - 1].addr))
			return false;
		names->v[i] = (struct inj_sig_name_of){ v[i].addr, v[i].size, text + v[i].name, text + v[i].source, v[i].flags };
	}
	names->n = h->n;
	names->nunsure = h->nunsure;
	return names->v != NULL;
}

bool inj_sig_kept_from(const void *bytes, size_t len, bool sum, const struct inj_elf *file, struct inj_sig_names *names)
{
	const struct head *h = bytes;

	*names = (struct inj_sig_names){ 0 };
	if (len >= sizeof(*h) && h->magic == MAGIC && is_whole(h, len) && (!sum || sum_of(h, len) == h->sum) && take(h, file, names))
		return true;
	free(names->v);
	*names = (struct inj_sig_names){ 0 };
	return false;
}

bool inj_sig_kept_open(const char *name, const char *path, uint64_t signatures, const struct inj_elf *file, struct inj_sig_names *names)
{
	size_t len;
	struct head *h = read_all(name, &len), want;

	*names = (struct inj_sig_names){ 0 };
	if (h && describe(path, signatures, &want)) {
		want.len = h->len;
		want.sum = h->sum;
		if (memcmp(&want, h, offsetof(struct head, n)) == 0 && inj_sig_kept_from(h, len, true, file, names)) {
			names->text = h;
			return true;
		}
	}
	free(h);
	return false;
}

/* ---- writing ---- */

/* Names follow each other as they are found; that of the file of signatures is most often the one before. */
static uint32_t put_text(char *text, size_t *at, const char *s)
{
	size_t len = strlen(s) + 1;

	memcpy(text + *at, s, len);
	*at += len;
	return (uint32_t)(*at - len);
}

static size_t bytes_of_text(const struct inj_sig_names *names)
{
	size_t bytes = 1;

	for (size_t i = 0; i < names->n + names->nunsure; i++) {
		bytes += strlen(names->v[i].name) + 1;
		if (!i || names->v[i].source != names->v[i - 1].source)
			bytes += strlen(names->v[i].source) + 1;
	}
	return bytes;
}

void inj_sig_kept_store(const char *name, const char *path, uint64_t signatures, const struct inj_sig_names *names)
{
	size_t n = names->n + names->nunsure, ntext = bytes_of_text(names), at = 0, len = sizeof(struct head) + n * sizeof(struct entry) + ntext;
	struct head *h = len <= MAX_BYTES ? calloc(1, len) : NULL;
	struct entry *v = (struct entry *)(void *)(h + 1);

	if (!h || !describe(path, signatures, h)) {
		free(h);
		return;
	}
	h->n = names->n;
	h->nunsure = names->nunsure;
	h->ntext = ntext;
	h->len = len;
	for (size_t i = 0; i < n; i++) {
		const struct inj_sig_name_of *is = &names->v[i];
		bool same = i && is->source == names->v[i - 1].source;

		v[i] = (struct entry){ .addr = is->addr, .size = is->size, .flags = is->flags };
		v[i].name = put_text((char *)(v + n), &at, is->name);
		v[i].source = same ? v[i - 1].source : put_text((char *)(v + n), &at, is->source);
	}
	h->sum = sum_of(h, len);
	(void)!inj_store(name, h, len, NULL, 0);
	free(h);
}
