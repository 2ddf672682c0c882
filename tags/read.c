/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tags/read.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/search.h"

_Static_assert(sizeof(struct tags_chunk) == 40 && sizeof(struct tags_entry) == 12 && sizeof(struct tags_fact) == 44,
	       "they are as in the file");

struct chunk {
	struct tags_chunk head;
	const uint8_t *entries, *facts;
	const char *strings;
};

/* Are its parts all there, and nothing else? */
static bool chunk_parts(const uint8_t *at, size_t left, struct chunk *c)
{
	const struct tags_chunk *h = &c->head;
	uint64_t entries, facts;

	if (left < sizeof(*h))
		return false;
	memcpy(&c->head, at, sizeof(*h));
	entries = (uint64_t)h->ntags * sizeof(struct tags_entry);
	facts = (uint64_t)h->nfacts * sizeof(struct tags_fact);
	if (h->size > left || sizeof(*h) + entries + facts + h->nstrings != h->size || !h->nstrings || h->function >= h->nstrings)
		return false;
	c->entries = at + sizeof(*h);
	c->facts = c->entries + entries;
	c->strings = (const char *)c->facts + facts;
	return c->strings[0] == '\0' && c->strings[h->nstrings - 1] == '\0';
}

static bool fact_at(const struct chunk *c, uint32_t i, struct tag *tag)
{
	struct tags_fact *f = &tag->fact;
	uint32_t n = c->head.nstrings;

	if (i >= c->head.nfacts)
		return false;
	memcpy(f, c->facts + (size_t)i * sizeof(*f), sizeof(*f));
	if (f->flags & ~(uint32_t)TAGS_FLAGS || !(f->flags & (TAGS_READ | TAGS_WRITE)) || f->kind >= TAGS_KINDS || f->expr >= n ||
	    f->variable >= n || f->type >= n || f->file >= n)
		return false;
	tag->function = c->strings + c->head.function;
	tag->expr = c->strings + f->expr;
	tag->variable = c->strings + f->variable;
	tag->type = c->strings + f->type;
	tag->file = c->strings + f->file;
	return true;
}

static enum tags_status read_chunk(const struct chunk *c, struct tags *tags, size_t *room)
{
	const struct tags_chunk *h = &c->head;

	if (!h->base) /* the code was dropped */
		return TAGS_OK;
	if (!array_room(tags->v, *room, tags->n + h->ntags))
		return TAGS_MEMORY;
	for (uint32_t i = 0; i < h->ntags; i++) {
		struct tag *tag = &tags->v[tags->n];
		struct tags_entry e;

		memcpy(&e, c->entries + (size_t)i * sizeof(e), sizeof(e));
		tag->begin = h->base + e.begin;
		tag->end = tag->begin + e.length;
		if (tag->begin < h->base || tag->end < tag->begin || !fact_at(c, e.fact, tag))
			return TAGS_DAMAGED;
		tags->n++;
	}
	return TAGS_OK;
}

static int by_begin(const void *a, const void *b)
{
	const struct tag *x = a, *y = b;

	return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : x->end != y->end ? (x->end < y->end ? -1 : 1) :
											   (x > y) - (x < y);
}

static enum tags_status read_chunks(const uint8_t *at, size_t left, struct tags *tags)
{
	size_t room = 0;

	while (left) {
		enum tags_status status;
		uint32_t first[2];
		struct chunk c;

		if (left < sizeof(first))
			return TAGS_DAMAGED;
		memcpy(first, at, sizeof(first));
		if (first[0] != TAGS_MAGIC)
			return TAGS_DAMAGED;
		if (first[1] != TAGS_VERSION) {
			tags->version = first[1];
			return TAGS_OTHER_VERSION;
		}
		if (!chunk_parts(at, left, &c))
			return TAGS_DAMAGED;
		status = read_chunk(&c, tags, &room);
		if (status != TAGS_OK)
			return status;
		at += c.head.size;
		left -= c.head.size;
	}
	return TAGS_OK;
}

enum tags_status tags_read(const uint8_t *section, size_t size, struct tags *tags)
{
	*tags = (struct tags){ .version = TAGS_VERSION };
	enum tags_status status = read_chunks(section, size, tags);

	if (tags->n)
		qsort(tags->v, tags->n, sizeof(*tags->v), by_begin);
	return status;
}

void tags_free(struct tags *tags)
{
	free(tags->v);
	*tags = (struct tags){ 0 };
}

/* What is read of a damaged or contrived file may overlap; then something of it is found, or nothing. */
const struct tag *tags_find(const struct tags *tags, uint64_t addr, uint64_t len, size_t *n)
{
	size_t after = search_first(i, tags->n, tags->v[i].begin > addr), first = after;

	*n = 0;
	if (!after || tags->v[after - 1].end - addr < len || tags->v[after - 1].end < addr)
		return NULL;
	while (first && tags->v[first - 1].begin == tags->v[after - 1].begin && tags->v[first - 1].end == tags->v[after - 1].end)
		first--;
	*n = after - first;
	return &tags->v[first];
}

const char *tags_kind_text(uint32_t kind)
{
	static const char *const text[TAGS_KINDS] = {
		[TAGS_VARIABLE] = "",	       [TAGS_SPILL] = "spilled register", [TAGS_SAVED] = "saved register",
		[TAGS_CONSTANT] = "constant",  [TAGS_ADDRESS] = "address",	  [TAGS_TABLE] = "jump table",
		[TAGS_ARGUMENT] = "argument",  [TAGS_CANARY] = "stack canary",
	};

	return kind < TAGS_KINDS ? text[kind] : "";
}
