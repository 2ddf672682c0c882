// SPDX-License-Identifier: GPL-3.0-or-later
/* Everything is looked at once, when the file is opened, so that nobody has to do so later. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>

#include "base/path.h"
#include "base/search.h"
#include "injector/signatures/sigread.h"

#define HEAD_MIN 12 /* bytes up to the version */
#define REF_BYTES 5 /* of a reference, at least */

static const char damaged[] = "is damaged; make it again with `sonde signature make'";
static const char no_signatures[] = "is no file of signatures";
static const char no_memory[] = "needs more memory than there is";

/* ---- numbers of the references ---- */

struct cursor {
	const uint8_t *at, *end;
	bool failed;
};

static uint8_t get_byte(struct cursor *c)
{
	if (c->at == c->end) {
		c->failed = true;
		return 0;
	}
	return *c->at++;
}

static uint64_t get_bits(struct cursor *c, unsigned int *bits, uint8_t *last)
{
	uint64_t v = 0;

	*bits = 0;
	do {
		*last = get_byte(c);
		v |= (uint64_t)(*last & 0x7f) << *bits;
		*bits += 7;
	} while ((*last & 0x80) && *bits < 63);
	c->failed |= (*last & 0x80) != 0;
	return v;
}

static uint64_t get_unsigned(struct cursor *c)
{
	unsigned int bits;
	uint8_t last;

	return get_bits(c, &bits, &last);
}

static int64_t get_signed(struct cursor *c)
{
	unsigned int bits;
	uint8_t last;
	uint64_t v = get_bits(c, &bits, &last);

	if (last & 0x40)
		v |= ~UINT64_C(0) << bits;
	return (int64_t)v;
}

/* False: damaged.  *end is that of the reference before, and then of this one. */
static bool get_ref(struct cursor *c, uint32_t *end, struct sig_ref *r)
{
	uint64_t gap = get_unsigned(c), symbol;
	uint32_t in;

	if (c->failed || gap > SIG_MAX_LEN)
		return false;
	r->start = *end + (uint32_t)gap;
	r->len = get_byte(c);
	in = get_byte(c);
	r->at = r->start + in;
	r->kind = get_byte(c);
	symbol = get_unsigned(c);
	r->symbol = symbol && symbol <= SIG_NONE ? (uint32_t)(symbol - 1) : SIG_NONE;
	r->addend = symbol ? get_signed(c) : 0;
	*end = r->start + r->len;
	if (c->failed || r->start > SIG_MAX_LEN || symbol > SIG_NONE || !r->len || r->kind >= SIG_REF_KINDS)
		return false;
	if (r->kind == SIG_REF_GOT) /* its instruction's op and modrm are before the value */
		return in >= 2 && in + 4 <= r->len;
	return r->kind == SIG_REF_OPAQUE || in + 4 <= r->len;
}

const struct sig_ref *inj_sig_refs(const struct inj_sig_file *f, const struct sig_unit *u)
{
	return f->decoded + f->first_ref[u - f->units];
}

/* ---- is all as it should be? ---- */

static bool refs_good(const struct inj_sig_file *f, const struct sig_unit *u, struct sig_ref *r)
{
	struct cursor c = { f->refs, f->refs + f->nrefs, false };
	uint32_t end = 0, fixed = u->len;

	c.at += u->refs;
	for (uint32_t i = 0; i < u->nrefs; i++) {
		if (!get_ref(&c, &end, &r[i]) || end > u->len || (r[i].symbol != SIG_NONE && r[i].symbol >= f->nsymbols))
			return false;
		fixed -= r[i].len;
	}
	return fixed == u->fixed && u->prefix <= (u->nrefs ? r[0].start : u->len) && u->prefix <= 32;
}

/* Units do not share bytes of references, so there are no more than bytes. */
static bool decode_refs(struct inj_sig_file *f)
{
	size_t n = 0;

	f->decoded = calloc(f->nrefs / REF_BYTES + 1, sizeof(*f->decoded));
	f->first_ref = calloc(f->nunits + 1, sizeof(*f->first_ref));
	for (size_t i = 0; f->decoded && f->first_ref && i < f->nunits; i++) {
		const struct sig_unit *u = &f->units[i];

		if (u->refs > f->nrefs || u->nrefs > f->nrefs / REF_BYTES - n || !refs_good(f, u, f->decoded + n))
			return false;
		f->first_ref[i] = (uint32_t)n;
		n += u->nrefs;
	}
	return f->decoded && f->first_ref;
}

static bool unit_good(const struct inj_sig_file *f, const struct sig_unit *u)
{
	uint64_t before = 0;

	if (!u->len || u->len > SIG_MAX_LEN || !u->nfuncs || u->funcs > f->nfuncs || u->nfuncs > f->nfuncs - u->funcs)
		return false;
	for (uint32_t i = 0; i < u->nfuncs; i++) {
		const struct sig_func *fn = &f->funcs[u->funcs + i];

		if (!fn->len || fn->at >= u->len || fn->len > u->len - fn->at || (i ? fn->at <= before : fn->at != 0) ||
		    !fn->nnames || fn->names > f->nnames || fn->nnames > f->nnames - fn->names)
			return false;
		before = fn->at;
	}
	return u->first_len == f->funcs[u->funcs].len;
}

static bool text_good(const struct inj_sig_file *f, uint32_t at)
{
	return at < f->ntext;
}

static bool symbol_good(const struct inj_sig_file *f, const struct sig_symbol *s)
{
	if (s->text != SIG_NONE && !text_good(f, s->text))
		return false;
	if (s->unit == SIG_NONE)
		return s->text != SIG_NONE && s->func == SIG_NONE;
	return s->unit < f->nunits && s->func >= f->units[s->unit].funcs && s->func - f->units[s->unit].funcs < f->units[s->unit].nfuncs;
}

static bool index_good(const struct inj_sig_file *f)
{
	uint32_t same = 0;

	for (size_t i = 0; i < f->nindex; i++) {
		if (f->index[i].unit >= f->nunits || f->units[f->index[i].unit].key != f->index[i].key ||
		    (i && f->index[i].key < f->index[i - 1].key))
			return false;
		same = i && f->index[i].key == f->index[i - 1].key ? same + 1 : 0;
		if (same >= SIG_PER_KEY)
			return false;
	}
	for (size_t b = 0; b < 1u << SIG_BUCKET_BITS; b++)
		if (f->buckets[b] > f->buckets[b + 1] || f->buckets[b + 1] > f->nindex)
			return false;
	return true;
}

static bool parts_good(struct inj_sig_file *f)
{
	if (f->ntext && f->text[f->ntext - 1] != '\0')
		return false;
	for (size_t i = 0; i < f->nnames; i++)
		if (!text_good(f, f->names[i].text))
			return false;
	for (size_t i = 0; i < f->nunits; i++) {
		if (!unit_good(f, &f->units[i]))
			return false;
		f->max_len = f->units[i].len > f->max_len ? f->units[i].len : f->max_len;
	}
	for (size_t i = 0; i < f->nsymbols; i++)
		if (!symbol_good(f, &f->symbols[i]))
			return false;
	return text_good(f, f->head->archives) && index_good(f) && decode_refs(f);
}

/* ---- the file ---- */

static const void *part(const struct inj_sig_file *f, const uint8_t *bytes, enum sig_part i, size_t item, size_t *n)
{
	*n = f->head->bytes[i] / item;
	return bytes + f->head->off[i];
}

static bool take(struct inj_sig_file *f, const uint8_t *bytes)
{
	size_t nbuckets;

	for (int i = 0; i < SIG_PARTS; i++)
		if (f->head->off[i] % 8 || f->head->off[i] < sizeof(*f->head) || f->head->off[i] > f->head->len ||
		    f->head->bytes[i] > f->head->len - f->head->off[i] || f->head->bytes[i] >= SIG_NONE)
			return false;
	f->units = part(f, bytes, SIG_UNITS, sizeof(*f->units), &f->nunits);
	f->funcs = part(f, bytes, SIG_FUNCS, sizeof(*f->funcs), &f->nfuncs);
	f->names = part(f, bytes, SIG_NAMES, sizeof(*f->names), &f->nnames);
	f->symbols = part(f, bytes, SIG_SYMBOLS, sizeof(*f->symbols), &f->nsymbols);
	f->index = part(f, bytes, SIG_INDEX, sizeof(*f->index), &f->nindex);
	f->buckets = part(f, bytes, SIG_BUCKETS, sizeof(*f->buckets), &nbuckets);
	f->refs = part(f, bytes, SIG_REFS, 1, &f->nrefs);
	f->text = part(f, bytes, SIG_TEXT, 1, &f->ntext);
	return nbuckets == (1u << SIG_BUCKET_BITS) + 1 && parts_good(f);
}

static const char *head_problem(const struct sig_head *head, size_t len)
{
	if (len < HEAD_MIN || memcmp(head->magic, SIG_MAGIC, sizeof(head->magic)) != 0)
		return no_signatures;
	if (head->version != SIG_VERSION)
		return "has another version of the format; make it again with `sonde signature make'";
	return NULL;
}

bool inj_sig_from(struct inj_sig_file *f, const void *bytes, size_t len, bool sum, const char **problem)
{
	const size_t from = offsetof(struct sig_head, off);

	memset(f, 0, sizeof(*f));
	f->head = bytes;
	*problem = head_problem(bytes, len);
	if (*problem)
		return false;
	if (len < sizeof(*f->head) || f->head->head_bytes != sizeof(*f->head) || f->head->len != len ||
	    (sum && XXH3_64bits((const uint8_t *)bytes + from, len - from) != f->head->sum) || !take(f, bytes))
		*problem = damaged;
	return !*problem;
}

static int open_file(const char *path, size_t *size, const char **problem)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	*problem = fd < 0 ? strerror(errno) : NULL;
	if (fd < 0 || (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size >= HEAD_MIN && (uint64_t)st.st_size <= SIG_NONE)) {
		*size = fd < 0 ? 0 : (size_t)st.st_size;
		return fd;
	}
	*problem = no_signatures;
	close(fd);
	return -1;
}

/* A copy, since who may write the file may do so at any time. */
static const char *read_file(const char *path, void **bytes, size_t *len)
{
	const char *problem;
	int fd = open_file(path, len, &problem);

	if (fd < 0)
		return problem;
	*bytes = malloc(*len);
	if (!*bytes)
		problem = no_memory;
	else if (read(fd, *bytes, *len) != (ssize_t)*len)
		problem = "cannot be read";
	close(fd);
	return problem;
}

bool inj_sig_sum(const char *path, uint64_t *sum, const char **problem)
{
	struct sig_head head = { 0 };
	size_t len;
	int fd = open_file(path, &len, problem);

	if (fd < 0)
		return false;
	len = len < sizeof(head) ? len : sizeof(head);
	if (read(fd, &head, len) != (ssize_t)len)
		*problem = "cannot be read";
	else
		*problem = head_problem(&head, len);
	close(fd);
	*sum = head.sum;
	return !*problem;
}

bool inj_sig_open(struct inj_sig_file *f, const char *path, const char **problem)
{
	void *bytes = NULL;
	size_t len = 0;
	bool good = false;

	memset(f, 0, sizeof(*f));
	*problem = read_file(path, &bytes, &len);
	if (!*problem)
		good = inj_sig_from(f, bytes, len, true, problem);
	f->bytes = bytes;
	f->path = strdup(path);
	if (!f->path) {
		*problem = no_memory;
		return false;
	}
	f->name = path_basename(f->path);
	return good;
}

void inj_sig_close(struct inj_sig_file *f)
{
	free(f->bytes);
	free(f->decoded);
	free(f->first_ref);
	free(f->path);
	memset(f, 0, sizeof(*f));
}

const struct sig_entry *inj_sig_find(const struct inj_sig_file *f, uint32_t key, size_t *n)
{
	uint32_t bucket = key >> (32 - SIG_BUCKET_BITS);
	const struct sig_entry *v = f->index + f->buckets[bucket];
	size_t left = f->buckets[bucket + 1] - f->buckets[bucket], first = search_first(i, left, v[i].key >= key);

	for (*n = 0; first + *n < left && v[first + *n].key == key;)
		++*n;
	return *n ? v + first : NULL;
}
