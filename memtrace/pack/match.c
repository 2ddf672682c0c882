/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <emmintrin.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "tracefmt/format.h"
#include "memtrace/pack/match.h"
#include "memtrace/pack/places.h"

enum {
	RATE = 5,		/* one of 2^RATE words is a place */
	VAIN_RATE = 8,		/* ... while hardly any is found again: the table is larger than caches */
	FOUND = 16,		/* one part in so many of a chunk is copied: places are found again */
	FOUND_CHUNKS = 15,	/* behind one that they are expected in, too */
	SPARE = 4,		/* the window has so many times as many bytes, as a power of two, as the table */
	LEAST = 16,		/* words in a row that are the same where a copy begins that is found by its place */
	BLOCK = TF_COPY_MASK,	/* words that are compared at a time */
	LIKE = 20,		/* of a block, that are the same where a copy begins from as far back as lately */
	KEEP = 16,		/* so many let it go on */
	POOR = 20,		/* with less there may be something better */
	BETTER = 8,		/* this is, by so many */
	NEAR = 24,		/* words behind a copy that another one from as far back is looked for in */
	FRESH = 1 << 10, LOOK = 1 << 6, /* words: of so many that are copied, so many are looked at for places */
};

struct tf_match_place {
	uint32_t hash;
	uint32_t at;		/* position modulo 2^32 */
};

/* A chunk that is looked at. */
struct finder {
	struct tf_match *m;
	const uint8_t *chunk;
	size_t words;
	unsigned int rate;
	uint64_t start;		/* its position */
	size_t done;		/* what is in front of it is said by copies, or between them */
	struct tf_copies *c;
};

static size_t table_bytes(unsigned int log)
{
	return (size_t)1 << (log - SPARE);
}

bool tf_match_open(struct tf_match *m, unsigned int log, uint64_t position)
{
	void *table;

	*m = (struct tf_match){ 0 };
	if (!tf_window_open(&m->window, log, position))
		return false;
	table = mmap(NULL, table_bytes(log), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (table == MAP_FAILED) {
		tf_match_close(m);
		return false;
	}
	madvise(table, table_bytes(log), MADV_HUGEPAGE);
	m->places = table;
	return true;
}

void tf_match_close(struct tf_match *m)
{
	if (m->places)
		munmap(m->places, table_bytes(m->window.log));
	tf_window_close(&m->window);
	*m = (struct tf_match){ 0 };
}

size_t tf_match_most(size_t words)
{
	return words / (LEAST / 2) + 1;
}

/* ---- comparing ---- */

static __m128i load(const void *from)
{
	return _mm_loadu_si128((const __m128i *)from);
}

/* A bit for each of four words. */
static unsigned int equal4(const uint8_t *a, const uint8_t *b)
{
	return (unsigned int)_mm_movemask_ps(_mm_castsi128_ps(_mm_cmpeq_epi32(load(a), load(b))));
}

static inline uint32_t equal_block(const uint8_t *a, const uint8_t *b)
{
	uint32_t equal = 0;

	for (int i = 0; i < BLOCK; i += 16) {
		__m128i w = _mm_cmpeq_epi32(load(a + 4 * i), load(b + 4 * i));
		__m128i x = _mm_cmpeq_epi32(load(a + 4 * i + 16), load(b + 4 * i + 16));
		__m128i y = _mm_cmpeq_epi32(load(a + 4 * i + 32), load(b + 4 * i + 32));
		__m128i z = _mm_cmpeq_epi32(load(a + 4 * i + 48), load(b + 4 * i + 48));

		w = _mm_packs_epi16(_mm_packs_epi32(w, x), _mm_packs_epi32(y, z));
		equal |= (uint32_t)_mm_movemask_epi8(w) << i;
	}
	return equal;
}

/* Not every processor that this runs on has an instruction for it. */
static unsigned int bits(uint32_t v)
{
	v -= v >> 1 & 0x55555555;
	v = (v & 0x33333333) + (v >> 2 & 0x33333333);
	return ((v + (v >> 4)) & 0x0f0f0f0f) * 0x01010101 >> 24;
}

/* The same of fewer words. */
static uint32_t equal_some(const uint8_t *a, const uint8_t *b, size_t n)
{
	uint32_t equal = 0;

	for (size_t i = 0; i < n; i++)
		equal |= (uint32_t)(memcmp(a + 4 * i, b + 4 * i, 4) == 0) << i;
	return equal;
}

/* The same from the end on, of those in front of @a and @b. */
static size_t same_before(const uint8_t *a, const uint8_t *b, size_t n)
{
	size_t i = 0;

	while (i + 4 <= n && equal4(a - 4 * i - 16, b - 4 * i - 16) == 0xf)
		i += 4;
	while (i < n && memcmp(a - 4 * i - 4, b - 4 * i - 4, 4) == 0)
		i++;
	return i;
}

/* A block, or what is left of one, and where it may be from. */
struct pair {
	const uint8_t *now, *then;
	size_t n;		/* words; 0: there are none */
	uint8_t room[4 * BLOCK];
};

static inline void pair(const struct finder *f, size_t at, uint32_t back, struct pair *p)
{
	const struct tf_window *w = &f->m->window;
	uint64_t from = f->start + at - back;
	size_t n = f->words - at < BLOCK ? f->words - at : BLOCK, run;

	p->n = 0;
	if (at < back ? back - at > f->start - w->begin : true)
		return;
	n = w->end - from < n ? w->end - from : n;
	p->n = n;
	p->now = f->chunk + 4 * at;
	p->then = (const uint8_t *)tf_window_at(w, from, &run);
	if (run >= n)
		return;
	p->then = p->room;
	if (!tf_window_read(w, p->room, from, n))
		p->n = 0;
}

/* A bit for each word of a pair. */
static inline uint32_t equal(const struct pair *p)
{
	return p->n == BLOCK ? equal_block(p->now, p->then) : equal_some(p->now, p->then, p->n);
}

/* How many words are the same. */
static unsigned int likeness(const struct finder *f, size_t at, uint32_t back)
{
	struct pair p;

	pair(f, at, back, &p);
	return p.n ? bits(equal(&p)) : 0;
}

/* Words from @at on that are the same, up to BLOCK. */
static size_t length(const struct finder *f, size_t at, uint32_t back)
{
	struct pair p;
	uint32_t e;

	pair(f, at, back, &p);
	e = p.n ? equal(&p) : 0;
	return e == UINT32_MAX ? BLOCK : (size_t)__builtin_ctz(~e);
}

/* Words in front of @at; none of those that are done. */
static size_t length_before(const struct finder *f, size_t at, uint32_t back)
{
	const struct tf_window *w = &f->m->window;
	uint64_t from = f->start + at - back;
	size_t max = at - f->done, there = from & (tf_window_size(w) - 1);

	max = there < max ? there : max;
	max = from - w->begin < max ? from - w->begin : max;
	return same_before(f->chunk + 4 * at, (const uint8_t *)(w->words + there), max);
}

/* ---- places ---- */

static struct tf_match_place *place_of(const struct finder *f, uint64_t hash)
{
	size_t n = table_bytes(f->m->window.log) / sizeof(struct tf_match_place);

	return &f->m->places[hash >> 32 & (n - 1)];
}

/* Those of this chunk are of no use for it: what was there before it stays until it comes again. */
static void note(struct finder *f, size_t at, uint64_t hash, struct tf_match_place *p)
{
	uint32_t position = (uint32_t)(f->start + at);

	if (p->hash != (uint32_t)hash || (uint32_t)(position - p->at) > at)
		*p = (struct tf_match_place){ .hash = (uint32_t)hash, .at = position };
}

/* Places from @at to @end go into the table. */
static void note_all(struct finder *f, size_t at, size_t end)
{
	for (; at < end && at + TF_PLACES_AHEAD <= f->words; at += TF_PLACES_LANES) {
		unsigned int are = tf_places(f->chunk + 4 * at, f->rate);

		for (; are; are &= are - 1) {
			size_t i = at + (size_t)__builtin_ctz(are);
			uint64_t hash = tf_place_hash(f->chunk + 4 * i);

			note(f, i, hash, place_of(f, hash));
		}
	}
}

/* A few of what has been copied, so that they are found when those that it was copied from are gone. */
static void note_some(struct finder *f, size_t at, size_t end)
{
	size_t next = at + (FRESH - 1 - (f->start + at + FRESH - 1) % FRESH);

	for (; next < end; next += FRESH)
		note_all(f, next, next + LOOK < end ? next + LOOK : end);
}

/* ---- copies ---- */

/* Puts what changed words of a pair are more than those they come from; the bits of @changed are theirs. */
static void put_changes(struct tf_copies *c, const struct pair *p, uint32_t changed)
{
	uint32_t *to = c->changes + c->nchanges;

	c->masks[c->nmasks++] = changed;
	for (; changed; changed &= changed - 1) {
		size_t i = (size_t)__builtin_ctz(changed);

		*to++ = tf_zigzag32(tf_get32(p->now + 4 * i) - tf_get32(p->then + 4 * i));
	}
	c->nchanges = (size_t)(to - c->changes);
}

/* A place, and how far back what stands there was. */
struct other {
	size_t at;
	uint32_t back;	/* 0: none */
};

/* By a place. */
static bool try_place(struct finder *f, size_t at, struct other *o)
{
	uint64_t hash = tf_place_hash(f->chunk + 4 * at);
	struct tf_match_place *p = place_of(f, hash), was = *p;
	uint32_t back = (uint32_t)(f->start + at) - was.at;
	size_t n;

	note(f, at, hash, p);
	if (was.hash != (uint32_t)hash)
		return false;
	n = length(f, at, back);
	if (n < TF_PLACES_WORDS || (n < LEAST && n + length_before(f, at, back) < LEAST))
		return false;
	*o = (struct other){ .at = at, .back = back };
	return true;
}

/* By all from @at to @end. */
static bool try_places(struct finder *f, size_t at, size_t end, struct other *o)
{
	for (; at < end && at + TF_PLACES_AHEAD <= f->words; at += TF_PLACES_LANES) {
		unsigned int are = tf_places(f->chunk + 4 * at, f->rate);

		for (; are; are &= are - 1) {
			if (try_place(f, at + (size_t)__builtin_ctz(are), o))
				return true;
		}
	}
	return false;
}

/* A block that is @like the one @back: is there another one that is better? */
static bool try_better(struct finder *f, size_t at, uint32_t back, unsigned int like, struct other *o)
{
	const struct tf_recent *r = &f->m->recent;

	for (unsigned int i = 0; i < TF_RECENT && r->back[i]; i++) {
		unsigned int other = r->back[i] == back ? 0 : likeness(f, at, r->back[i]);

		if (other < LIKE || other < like + BETTER)
			continue;
		*o = (struct other){ .at = at, .back = r->back[i] };
		return true;
	}
	return try_places(f, at, at + BLOCK, o) && o->back != back;
}

static bool same_block(const uint8_t *a, const uint8_t *b)
{
	__m128i same = _mm_cmpeq_epi32(load(a), load(b));

	for (int i = 4; i < BLOCK; i += 4)
		same = _mm_and_si128(same, _mm_cmpeq_epi32(load(a + 4 * i), load(b + 4 * i)));
	return _mm_movemask_epi8(same) == 0xffff;
}

/* Steps over blocks that are all the same, as fast as may be. */
static size_t step_over(struct finder *f, size_t at, uint32_t back)
{
	const struct tf_window *w = &f->m->window;
	uint64_t from = f->start + at - back;
	size_t max = f->words - at, run;
	const uint8_t *then = (const uint8_t *)tf_window_at(w, from, &run);

	max = run < max ? run : max;
	max = w->end - from < max ? w->end - from : max;
	for (; max >= BLOCK && same_block(f->chunk + 4 * at, then); max -= BLOCK) {
		f->c->masks[f->c->nmasks++] = 0;
		at += BLOCK;
		then += 4 * BLOCK;
	}
	return at;
}

/* Goes on from @at as long as most is the same; says up to where.  @o: this was better from there on. */
static size_t go_on(struct finder *f, size_t at, uint32_t back, struct other *o)
{
	struct pair p;

	o->back = 0;
	for (;;) {
		uint32_t e;
		unsigned int like;

		pair(f, at, back, &p);
		if (!p.n)
			return at;
		e = equal(&p);
		like = bits(e);
		if (like * BLOCK < KEEP * p.n)
			break;
		if (like * BLOCK < POOR * p.n && try_better(f, at, back, like, o))
			return at;
		o->back = 0;
		put_changes(f->c, &p, (p.n == BLOCK ? UINT32_MAX : (UINT32_C(1) << p.n) - 1) & ~e);
		at += p.n;
		if (p.n < BLOCK)
			return at;
		if (e == UINT32_MAX)
			at = step_over(f, at, back);
	}
	/* the beginning of the block */
	p.n = (size_t)__builtin_ctz(~equal(&p));
	if (p.n)
		put_changes(f->c, &p, 0);
	return at + p.n;
}

/* Adds a copy that begins at @at. */
static void add(struct finder *f, size_t at, uint32_t back, struct other *o)
{
	size_t end = go_on(f, at, back, o);

	if (end == at)
		return;
	f->c->copy[f->c->n++] = (struct tf_copy){
		.between = (uint32_t)(at - f->done), .words = (uint32_t)(end - at), .back = back,
	};
	f->done = end;
	tf_recent_use(&f->m->recent, tf_recent_find(&f->m->recent, back), back);
	note_some(f, at, end);
}

/* As far back as lately, a little behind what is done. */
static bool try_recent(struct finder *f, struct other *o)
{
	const struct tf_recent *r = &f->m->recent;
	size_t end = f->done + NEAR < f->words ? f->done + NEAR : f->words;

	for (size_t at = f->done; at < end; at++) {
		for (unsigned int i = 0; i < TF_RECENT && r->back[i]; i++) {
			if (length(f, at, r->back[i]) < 2 || likeness(f, at, r->back[i]) < LIKE)
				continue;
			*o = (struct other){ .at = at, .back = r->back[i] };
			return true;
		}
	}
	return false;
}

void tf_match_note(struct tf_match *m, const void *words, size_t n)
{
	struct finder f = { .m = m, .chunk = words, .words = n, .rate = VAIN_RATE, .start = m->window.end };

	note_all(&f, 0, n);
	tf_window_add(&m->window, words, n);
}

/* How much of the chunk is copied? */
static void look_back(struct finder *f)
{
	size_t copied = 0;

	for (size_t i = 0; i < f->c->n; i++)
		copied += f->c->copy[i].words;
	if (copied >= f->words / FOUND)
		f->m->found = FOUND_CHUNKS;
	else if (f->m->found)
		f->m->found--;
}

void tf_match_find(struct tf_match *m, const void *words, size_t n, struct tf_copies *c)
{
	struct finder f = {
		.m = m, .chunk = words, .words = n, .rate = m->found ? RATE : VAIN_RATE, .start = m->window.end, .c = c,
	};
	struct other o = { 0 };

	c->n = c->nmasks = c->nchanges = 0;
	while (f.done < n && c->n < tf_match_most(n) && (o.back || try_recent(&f, &o) || try_places(&f, f.done, n, &o)))
		add(&f, o.at - length_before(&f, o.at, o.back), o.back, &o);
	look_back(&f);
	tf_window_add(&m->window, words, n);
}
