// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <stdlib.h>

#include "base/array.h"
#include "base/pages.h"
#include "injector/mirror/chunk.h"
#include "injector/patch/session.h"

#define MIN_CHUNK (UINT64_C(64) << 10) /* code memory that is taken at once */
#define MAX_CHUNK (UINT64_C(4) << 20)
#define MADE (UINT64_C(128) << 10) /* has pages made at once */
#define TABLE 4	 /* lengths of code that a table has room for */
#define TABLES 7  /* what its two tables take, in lengths of the chunk: up to 3.3 each were seen */
/* What cannot be left out, as stubs, has that part of all, and a little that small parts leave unused. */
#define LEFT 64
#define LEFT_TOO (UINT64_C(256) << 10)
#define MANY_PROBES 256 /* that one function may be the first to have */

static enum inj_status put_table(struct inj_session *s, const void *table, size_t bytes,
				 uint64_t *addr)
{
	return inj_code_put(&s->code, s->target, table, bytes, addr);
}

static void note_origins(const struct inj_chunk *c, struct rt_codemap *m)
{
	m->orig_lo = UINT32_MAX;
	for (size_t i = 0; i < c->npieces; i++) {
		uint32_t orig = c->pieces[i].orig;

		m->orig_lo = orig < m->orig_lo ? orig : m->orig_lo;
		m->orig_hi = orig > m->orig_hi ? orig : m->orig_hi;
	}
}

void inj_chunk_free(struct inj_chunk *c)
{
	if (!c->map) {
		free(c->pieces);
		free(c->mems);
	}
	*c = (struct inj_chunk){
		.lo = c->lo, .hi = c->hi, .object = c->object, .mirror = c->mirror, .shown = c->shown,
	};
}

static void add_map(struct inj_session *s, const struct rt_codemap *m)
{
	struct rt_codemaps *maps = s->mirrors.maps;

	maps->v[s->mirrors.nmaps++] = *m;
	__atomic_store_n(&maps->count, s->mirrors.nmaps, __ATOMIC_RELEASE);
}

static enum inj_status publish(struct inj_session *s, const struct inj_chunk *c)
{
	struct rt_codemap m = { .arena = c->addr, .arena_end = c->addr + c->used, .object = c->object };
	const struct rt_probe_map *probes;
	enum inj_status status;
	size_t nprobes;

	probes = tramp_mirror_probes(c->mirror, &nprobes);
	m.npieces = (uint32_t)c->npieces;
	m.nprobes = (uint32_t)nprobes;
	note_origins(c, &m);
	m.nmems = (uint32_t)c->nmems;
	status = put_table(s, c->pieces, c->npieces * sizeof(*c->pieces), &m.pieces);
	if (status == INJ_OK)
		status = put_table(s, c->mems, c->nmems * sizeof(*c->mems), &m.mems);
	if (status == INJ_OK)
		status = put_table(s, probes, nprobes * sizeof(*probes), &m.probes);
	if (status == INJ_OK)
		add_map(s, &m);
	return status;
}

/* ---- shown ---- */

static enum inj_status alloc_table(struct inj_session *s, uint64_t bytes, uint64_t *addr, void *table)
{
	uint8_t *mem = NULL;
	enum inj_status status = inj_code_alloc(&s->code, s->target, 0, 0, bytes, addr, &mem);

	*(void **)table = mem;
	return status;
}

static enum inj_status begin_to_show(struct inj_session *s, struct inj_chunk *c)
{
	struct rt_codemap m = { .arena = c->addr, .arena_end = c->addr, .object = c->object, .orig_lo = UINT32_MAX };
	enum inj_status status;
	size_t known;

	(void)tramp_mirror_probes(c->mirror, &known);
	c->room = TABLE * c->len / sizeof(*c->pieces);
	c->room_mems = s->opt.mirror.memory.enabled ? TABLE * c->len / sizeof(*c->mems) : 0;
	c->room_probes = known + 4 * MANY_PROBES;
	status = alloc_table(s, c->room * sizeof(*c->pieces), &m.pieces, &c->pieces);
	if (status == INJ_OK)
		status = alloc_table(s, c->room_mems * sizeof(*c->mems) + 1, &m.mems, &c->mems);
	if (status == INJ_OK)
		status = alloc_table(s, c->room_probes * sizeof(*c->probes), &m.probes, &c->probes);
	if (status != INJ_OK) {
		c->pieces = NULL;
		c->mems = NULL;
		return status;
	}
	c->map = &s->mirrors.maps->v[s->mirrors.nmaps];
	add_map(s, &m);
	return INJ_OK;
}

/*
 * Threads may be looking for other places in the map meanwhile: what they find stays right, as tables only grow at their ends.
 * Nobody is in what is new yet.
 */
static void show(struct inj_chunk *c, size_t first)
{
	struct rt_codemap *m = c->map;
	const struct rt_probe_map *probes;
	size_t known;

	probes = tramp_mirror_probes(c->mirror, &known);
	for (; c->nprobes < known; c->nprobes++)
		c->probes[c->nprobes] = probes[c->nprobes];
	for (size_t i = first; i < c->npieces; i++) {
		uint32_t orig = c->pieces[i].orig;

		m->orig_lo = orig < m->orig_lo ? orig : m->orig_lo;
		m->orig_hi = orig > m->orig_hi ? orig : m->orig_hi;
	}
	__atomic_store_n(&m->nprobes, (uint32_t)known, __ATOMIC_RELEASE);
	__atomic_store_n(&m->nmems, (uint32_t)c->nmems, __ATOMIC_RELEASE);
	__atomic_store_n(&m->npieces, (uint32_t)c->npieces, __ATOMIC_RELEASE);
	__atomic_store_n(&m->arena_end, c->addr + c->used, __ATOMIC_RELEASE);
}

static bool is_full(const struct inj_chunk *c, size_t want)
{
	size_t known;

	if (c->used + want > c->len)
		return true;
	if (!c->map)
		return false;
	(void)tramp_mirror_probes(c->mirror, &known);
	return (c->room - c->npieces) * sizeof(*c->pieces) < TABLE * want ||
	       (c->room_mems && (c->room_mems - c->nmems) * sizeof(*c->mems) < TABLE * want) ||
	       c->room_probes - known < MANY_PROBES;
}

/* ---- all ---- */

enum inj_status inj_chunk_close(struct inj_session *s, struct inj_chunk *c)
{
	enum inj_status status = c->used && !c->map ? publish(s, c) : INJ_OK;

	inj_chunk_free(c);
	return status;
}

/* A chunk is of no use without its tables.  @len or less, 0: there is no room for @want. */
static uint64_t fitting(const struct inj_code *code, uint64_t len, size_t want)
{
	uint64_t room = code->size - code->used, left = code->size / LEFT + LEFT_TOO;
	uint64_t most = room > left ? (room - left) / (1 + TABLES) : 0;

	if (len <= most)
		return len;
	return want <= most ? most : 0;
}

/* Code memory in doubling steps: small programs stay small, large ones do not need many tables. */
static enum inj_status open_chunk(struct inj_session *s, struct inj_chunk *c, size_t want)
{
	uint64_t len = c->len ? 2 * c->len : MIN_CHUNK;
	enum inj_status status = inj_chunk_close(s, c);

	if (status != INJ_OK)
		return status;
	if (s->mirrors.nmaps == RT_MAX_CODEMAPS)
		return INJ_NO_ROOM;
	len = len > MAX_CHUNK ? MAX_CHUNK : len;
	len = len < want ? want : len;
	len = fitting(&s->code, len, want);
	if (!len)
		return INJ_NO_ROOM;
	status = inj_code_alloc(&s->code, s->target, c->lo, c->hi, len, &c->addr, &c->mem);
	c->len = status == INJ_OK ? len : 0;
	c->made = 0;
	if (status == INJ_OK && c->shown)
		status = begin_to_show(s, c);
	if (status != INJ_OK)
		c->len = 0;
	return status;
}

static void make_pages(struct inj_chunk *c, size_t want)
{
	uint64_t end = c->used + want + MADE;

	end = end < c->len ? end : c->len;
	pages_make(c->mem + c->made, end - c->made);
	c->made = end;
}

enum inj_status inj_chunk_room(struct inj_session *s, struct inj_chunk *c, size_t want)
{
	enum inj_status status = INJ_OK;

	c->used = (c->used + 15) & ~UINT64_C(15);
	if (is_full(c, want))
		status = open_chunk(s, c, want);
	if (status == INJ_OK && c->used + want > c->made)
		make_pages(c, want);
	return status;
}

static enum inj_status make_room(struct inj_chunk *c, const struct tramp_mirror_code *out)
{
	size_t known, nmems = c->nmems + (out->nmems ? out->nmems : 1);

	if (!c->map)
		return array_room(c->pieces, c->room, c->npieces + out->npieces) &&
				       array_room(c->mems, c->room_mems, nmems) ?
			       INJ_OK :
			       INJ_MEMORY;
	(void)tramp_mirror_probes(c->mirror, &known);
	return c->npieces + out->npieces <= c->room && (!c->room_mems || nmems <= c->room_mems) && known <= c->room_probes ?
		       INJ_OK :
		       INJ_NO_ROOM;
}

enum inj_status inj_chunk_add(struct inj_chunk *c, const struct tramp_mirror_code *out)
{
	enum inj_status status = make_room(c, out);
	size_t first = c->npieces;

	if (status != INJ_OK)
		return status;
	for (size_t i = 0; i < out->npieces; i++) {
		c->pieces[c->npieces] = out->pieces[i];
		c->pieces[c->npieces++].start += (uint32_t)c->used;
	}
	for (size_t i = 0; i < out->nmems; i++) {
		c->mems[c->nmems] = out->mems[i];
		c->mems[c->nmems++].start += (uint32_t)c->used;
	}
	/* what is before it may record accesses */
	if (!out->nmems && c->nmems && c->mems[c->nmems - 1].node != RT_MEM_NO_NODE)
		c->mems[c->nmems++] = (struct rt_mem_piece){ .start = (uint32_t)c->used, .node = RT_MEM_NO_NODE };
	c->used += out->len;
	if (c->map)
		show(c, first);
	return INJ_OK;
}
