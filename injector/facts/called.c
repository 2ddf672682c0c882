// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * A head, then for each ELF file its key, its number of functions, and a bit for each, up to a multiple of 8 bytes.  Several
 * processes may write the file at the same time: each writes one of its own, and renames it; what one of them saw is lost.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "injector/facts/called.h"
#include "injector/facts/store.h"

#define MAGIC UINT64_C(0x3164656c6c6163ff)
#define MAX_BYTES (4u << 20) /* of the file; ELF files that were not used last go first */

struct head {
	uint64_t magic, len, sum; /* of what follows */
};

struct record {
	uint64_t key, nfns;
};

struct inj_called_file {
	struct inj_called_file *next;
	struct record is;
	struct inj_called *of;
	bool used;
	uint8_t bits[];
};

struct inj_called {
	char *name;
	bool changed;
	struct inj_called_file *files;
};

static size_t bytes_of(uint64_t nfns)
{
	return (nfns / 64 + 1) * 8;
}

static struct inj_called_file *add(struct inj_called *c, const struct record *r)
{
	struct inj_called_file *f = calloc(1, sizeof(*f) + bytes_of(r->nfns));

	if (!f)
		return NULL;
	f->is = *r;
	f->of = c;
	f->next = c->files;
	c->files = f;
	return f;
}

/* ---- reading ---- */

static bool take(struct inj_called *c, const uint8_t *at, size_t len)
{
	struct inj_called_file *f;
	struct record r;

	for (size_t bytes; len >= sizeof(r); at += sizeof(r) + bytes, len -= sizeof(r) + bytes) {
		memcpy(&r, at, sizeof(r));
		if (r.nfns >= UINT32_MAX || (bytes = bytes_of(r.nfns)) > len - sizeof(r))
			return false;
		f = add(c, &r);
		if (!f)
			return false;
		memcpy(f->bits, at + sizeof(r), bytes);
	}
	return len == 0;
}

static void read_all(struct inj_called *c)
{
	int fd = open(c->name, O_RDONLY | O_CLOEXEC);
	struct head h;
	struct stat st;
	uint8_t *all;

	if (fd < 0)
		return;
	if (fstat(fd, &st) == 0 && st.st_size >= (off_t)sizeof(h) && st.st_size <= MAX_BYTES + (off_t)sizeof(h) &&
	    read(fd, &h, sizeof(h)) == sizeof(h) && h.magic == MAGIC && h.len == (uint64_t)st.st_size - sizeof(h)) {
		all = malloc(h.len + 1);
		if (all && read(fd, all, h.len) == (ssize_t)h.len && XXH3_64bits(all, h.len) == h.sum)
			(void)take(c, all, h.len);
		free(all);
	}
	close(fd);
}

struct inj_called *inj_called_open(const char *cache_dir, const char *program)
{
	struct inj_called *c = cache_dir ? calloc(1, sizeof(*c)) : NULL;
	char *real = c ? realpath(program, NULL) : NULL;

	if (!real || asprintf(&c->name, "%s/called-%016llx", cache_dir, (unsigned long long)XXH3_64bits(real, strlen(real))) < 0) {
		free(real);
		free(c);
		return NULL;
	}
	free(real);
	read_all(c);
	return c;
}

/* ---- writing ---- */

static uint8_t *put(uint8_t *at, uint8_t *end, const struct inj_called *c, bool used)
{
	for (const struct inj_called_file *f = c->files; f; f = f->next) {
		size_t bytes = bytes_of(f->is.nfns);

		if (f->used != used || (size_t)(end - at) < sizeof(f->is) + bytes)
			continue;
		memcpy(at, &f->is, sizeof(f->is));
		memcpy(at + sizeof(f->is), f->bits, bytes);
		at += sizeof(f->is) + bytes;
	}
	return at;
}

/* Where that fails it is not kept, which is nobody's concern. */
static void write_all(const struct inj_called *c)
{
	size_t room = sizeof(struct head);
	struct head h = { .magic = MAGIC };
	uint8_t *all, *end;

	for (const struct inj_called_file *f = c->files; f; f = f->next)
		room += sizeof(f->is) + bytes_of(f->is.nfns);
	room = room < sizeof(h) + MAX_BYTES ? room : sizeof(h) + MAX_BYTES;
	all = malloc(room);
	if (!all)
		return;
	end = put(all + sizeof(h), all + room, c, true);
	end = put(end, all + room, c, false);
	h.len = (uint64_t)(end - all) - sizeof(h);
	h.sum = XXH3_64bits(all + sizeof(h), h.len);
	memcpy(all, &h, sizeof(h));
	(void)!inj_store(c->name, all, sizeof(h) + h.len, NULL, 0);
	free(all);
}

void inj_called_close(struct inj_called *c)
{
	if (!c)
		return;
	if (c->changed)
		write_all(c);
	for (struct inj_called_file *f = c->files, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	free(c->name);
	free(c);
}

/* ---- one ELF file ---- */

struct inj_called_file *inj_called_of(struct inj_called *c, uint64_t key, uint32_t nfns)
{
	const struct record r = { key, nfns };
	struct inj_called_file *f = c ? c->files : NULL;

	while (f && (f->is.key != key || f->is.nfns != nfns))
		f = f->next;
	if (!f && c)
		f = add(c, &r);
	if (f)
		f->used = true;
	return f;
}

bool inj_called_before(const struct inj_called_file *f, uint32_t fn)
{
	return f->bits[fn / 8] >> fn % 8 & 1;
}

void inj_called_note(struct inj_called_file *f, uint32_t fn, bool called)
{
	if (inj_called_before(f, fn) == called)
		return;
	f->bits[fn / 8] ^= (uint8_t)(1 << fn % 8);
	f->of->changed = true;
}
