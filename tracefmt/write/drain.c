/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The traced program can write to this memory while it is read here, by accident or on purpose.
 * So every word is loaded once, into a variable that the compiler may not load again, and what
 * is computed from it is checked before it is used.
 *
 * A sub-buffer is a row of stretches: up to the next gap, the gap with at most one record at
 * its start, and so on. Gaps can appear while the sub-buffer is drained. That needs no care: the
 * record before a new gap is followed by zeros, where draining stops, and the next call
 * knows of the gap.
 */
#include "tracefmt/write/codes.h"
#include "tracefmt/write/drain.h"

/* A record may be this much later than the clock of the collector: it is written while we read. */
#define AHEAD (UINT64_C(1) << 32)

/* What is searched for among damage is no older than this (a minute or two). */
#define RECENT (UINT64_C(1) << 38)

struct drain {
	struct tf_enc *enc;
	const struct tf_site *site;
	uint32_t room; /* of site[] */
	const uint8_t *base;
	uint32_t end;
	bool final;
	bool exact; /* the program has said where the records end */
	uint64_t now;
	uint32_t ngaps; /* read once */
	const struct ring_sub *sub;
	uint64_t *damaged;
};

/* Why a stretch was not drained further. */
enum stop {
	STOP_END,  /* nothing left of it */
	STOP_ZERO, /* a zero word where a record should begin */
	STOP_BAD,  /* no record at this place */
};

static inline uint64_t load(const struct drain *d, uint32_t at)
{
	return __atomic_load_n((const uint64_t *)(const void *)(d->base + at), __ATOMIC_ACQUIRE);
}

static inline uint32_t gaps_now(const struct drain *d)
{
	uint32_t n = d->sub ? __atomic_load_n(&d->sub->ngaps, __ATOMIC_RELAXED) : 0;

	return n < RING_MAX_GAPS ? n : RING_MAX_GAPS;
}

/* Of the 44 bits in a record, the full time that is nearest to now. */
static inline uint64_t full_time(const struct drain *d, uint64_t word)
{
	return d->now + (uint64_t)((int64_t)(word - (d->now << RING_ID_BITS)) >> RING_ID_BITS);
}

static inline bool possible(const struct drain *d, uint64_t ticks)
{
	return (int64_t)ticks >= 0 && (int64_t)(ticks - d->now) <= (int64_t)AHEAD;
}

/*
 * Copies the payload of an event with strings.  Returns the number of words; UINT32_MAX if it
 * does not fit into @left bytes.
 */
static uint32_t copy_strings(const struct drain *d, uint32_t id, uint32_t at, uint32_t left,
			     uint64_t *to)
{
	const struct tf_site_more *more = &d->enc->sites->more[id];
	uint32_t n = 0, words, room = left / 8;

	if (room > TF_RECORD_WORDS)
		room = TF_RECORD_WORDS;
	for (unsigned i = 0; i < d->site[id].nfields; i++) {
		if (n == room)
			return UINT32_MAX;
		to[n] = load(d, at + 8 * n);
		n++;
		if (more->types[i] != SONDE_TRACE_STR)
			continue;
		if (to[n - 1] > 8 * (room - n))
			return UINT32_MAX;
		words = (uint32_t)(to[n - 1] + 7) / 8;
		memcpy(to + n, d->base + at + 8 * n, 8 * words);
		n += words;
	}
	return n;
}

static inline uint32_t copy_words(const struct drain *d, const struct tf_site *site, uint32_t at,
				  uint32_t left, uint64_t *to)
{
	if (8u * site->words > left)
		return UINT32_MAX;
	for (uint32_t i = 0; i < site->words; i++)
		to[i] = load(d, at + 8 * i);
	return site->words;
}

static uint64_t widen(uint64_t word, uint8_t type, uint8_t width)
{
	unsigned unused = 64 - 8u * width;
	uint32_t bits = (uint32_t)word;
	double number;
	float narrow;

	switch (type) {
	case SONDE_TRACE_F64:
		memcpy(&narrow, &bits, sizeof narrow);
		number = (double)narrow;
		memcpy(&word, &number, sizeof word);
		return word;
	case SONDE_TRACE_I32:
	case SONDE_TRACE_I64:
		return (uint64_t)((int64_t)(word << unused) >> unused);
	default:
		return word << unused >> unused;
	}
}

/* Values that are a part of their words; strings are stepped over. */
static void widen_all(const struct drain *d, uint32_t id, uint64_t *payload)
{
	const struct tf_site_more *more = &d->enc->sites->more[id];
	uint32_t n = 0;

	for (unsigned i = 0; i < d->site[id].nfields; i++, n++) {
		if (more->widths[i])
			payload[n] = widen(payload[n], more->types[i], more->widths[i]);
		if (more->types[i] == SONDE_TRACE_STR)
			n += (uint32_t)(payload[n] + 7) / 8;
	}
}

static inline void leave(struct tf_enc *e, uint32_t id, const struct tf_site *site, uint64_t addr,
			 uint64_t ticks, const uint64_t *payload, uint32_t words)
{
	if (__builtin_expect(!(addr & RING_JUMP), 1)) {
		tf_enc_leave_framed(e, id, site, addr, ticks, payload, words);
		return;
	}
	tf_enc_leave_framed(e, id, site, RING_JUMP_FRAME(addr), ticks, payload, words);
	tf_enc_jump(e, addr);
}

/*
 * Encodes the record at @at, whose first word is @word, if it makes sense and ends before @end.
 * Returns its size in bytes, 0 if not.
 */
static uint32_t record(struct drain *d, uint64_t word, uint32_t at, uint32_t end)
{
	uint64_t payload[TF_RECORD_WORDS];
	uint32_t id = (uint32_t)(word & RING_ID_MASK), head = 8, words;
	uint64_t ticks = full_time(d, word), addr = 0;
	const struct tf_site *site;

	if (id >= d->room || !d->site[id].kind || !possible(d, ticks))
		return 0;
	site = &d->site[id];
	if (site->framed) {
		head = 16;
		if (end - at < head)
			return 0;
		addr = load(d, at + 8) + site->depth;
	}
	words = site->strings ? copy_strings(d, id, at + head, end - at - head, payload) :
				copy_words(d, site, at + head, end - at - head, payload);
	if (words == UINT32_MAX)
		return 0;
	if (site->narrow)
		widen_all(d, id, payload);
	ticks = tf_enc_time(d->enc, ticks);
	for (unsigned int i = 0; i < site->codes; i++)
		tf_codes_note(d->enc->sites->codes, payload[site->code - 1 + i]);
	if (site->exchange)
		tf_exchanges_note(d->enc->sites->exchanges, payload);
	if (site->kind == SONDE_TRACE_ENTER)
		tf_enc_enter(d->enc, id, site, addr, ticks, payload, words);
	else if (site->framed)
		leave(d->enc, id, site, addr, ticks, payload, words);
	else if (site->kind == SONDE_TRACE_LEAVE)
		tf_enc_leave(d->enc, id, site, ticks, payload, words);
	else
		tf_enc_point(d->enc, id, ticks, payload, words);
	return head + 8 * words;
}

/*
 * The same for what most records are, inlined: an enter or a leave without payload; 0: ask
 * record().
 */
static inline uint32_t bare_record(struct drain *d, uint64_t word, uint32_t at, uint32_t end)
{
	uint32_t id = (uint32_t)(word & RING_ID_MASK);
	uint64_t ticks = full_time(d, word), addr;
	const struct tf_site *site = &d->site[id];

	if (id >= d->room || site->words || !possible(d, ticks))
		return 0;
	if (site->kind == SONDE_TRACE_LEAVE && !site->framed) {
		tf_enc_leave(d->enc, id, site, tf_enc_time(d->enc, ticks), NULL, 0);
		return 8;
	}
	if (!site->framed || end - at < 16)
		return 0;
	addr = load(d, at + 8) + site->depth;
	ticks = tf_enc_time(d->enc, ticks);
	if (site->kind == SONDE_TRACE_ENTER)
		tf_enc_enter(d->enc, id, site, addr, ticks, NULL, 0);
	else
		leave(d->enc, id, site, addr, ticks, NULL, 0);
	return 16;
}

/* Encodes records from *@at on, before @end; only one if @single. */
static enum stop stretch(struct drain *d, uint32_t *at, uint32_t end, bool single)
{
	while (end - *at >= 8) {
		uint64_t word = load(d, *at);
		uint32_t size;

		if (!word)
			return STOP_ZERO;
		size = bare_record(d, word, *at, end);
		if (__builtin_expect(!size, 0))
			size = record(d, word, *at, end);
		if (!size)
			return STOP_BAD;
		*at += size;
		if (single)
			return STOP_END;
	}
	return STOP_END;
}

/*
 * Could a record begin with this word?  Stricter than record(): what it is asked about may be
 * anything.
 */
static bool plausible(const struct drain *d, uint64_t word)
{
	uint32_t id = (uint32_t)(word & RING_ID_MASK);
	uint64_t ticks = full_time(d, word);

	return id < d->room && d->site[id].kind && possible(d, ticks) && ticks >= d->enc->last &&
	       (int64_t)(d->now - ticks) < (int64_t)RECENT;
}

/* The next place from @at on where a record could begin; unless final, or the next zero word. */
static uint32_t search(const struct drain *d, uint32_t at, uint32_t end)
{
	for (; end - at >= 8; at += 8) {
		uint64_t word = load(d, at);

		if (word ? plausible(d, word) : !d->final)
			return at;
	}
	return end;
}

/* The first gap that ends after @at: its offset, or UINT32_MAX when there is none. */
static uint32_t next_gap(const struct drain *d, uint32_t at)
{
	for (uint32_t i = 0; i < d->ngaps; i++) {
		uint32_t gap = __atomic_load_n(&d->sub->gap[i], __ATOMIC_RELAXED);

		if (gap % 8 == 0 && gap < d->end && (uint64_t)gap + RING_GAP > at)
			return gap;
	}
	return UINT32_MAX;
}

/* A zero word at @at in a final sub-buffer: where to go on. */
static uint32_t after_zero(struct drain *d, uint32_t at, uint32_t end)
{
	/*
	 * Without gaps this is where a killed thread stopped; what follows is an unfinished
	 * record.
	 */
	if (!d->ngaps && !d->exact)
		return end;
	*d->damaged += !d->ngaps;
	return search(d, at, end);
}

/*
 * The record-by-record part, from @at up to @end, which is the end of the sub-buffer or the
 * start of a gap.
 * Returns where it stopped; *@wait when that is at a word that may still be filled in.
 */
static uint32_t plain(struct drain *d, uint32_t at, uint32_t end, bool *wait)
{
	while (end - at >= 8) {
		switch (stretch(d, &at, end, false)) {
		case STOP_END:
			break;
		case STOP_ZERO:
			if (!d->final) {
				*wait = true;
				return at;
			}
			at = after_zero(d, at, end);
			break;
		case STOP_BAD:
			++*d->damaged;
			at = search(d, at + 8, end);
			break;
		}
	}
	return end;
}

/* The record at the start of a gap, when @at is there.  Returns where to go on. */
static uint32_t in_gap(struct drain *d, uint32_t at, uint32_t gap, bool *wait)
{
	uint32_t end = d->end - gap > RING_GAP ? gap + RING_GAP : d->end;

	if (at != gap)
		return end;
	switch (stretch(d, &at, end, true)) {
	case STOP_END:
		return end;
	case STOP_ZERO:
		*wait = !d->final;
		return *wait ? at : end;
	case STOP_BAD:
		break;
	}
	++*d->damaged;
	return end;
}

uint32_t tf_drain(struct tf_enc *e, const struct tf_sub *sub, uint32_t pos, uint64_t *damaged)
{
	struct drain d = { .enc = e, .site = e->sites->site, .room = e->sites->room,
			   .base = sub->base, .end = sub->bytes & ~7u, .final = sub->final,
			   .now = sub->now_tsc, .sub = sub->sub, .damaged = damaged };
	bool wait = false;

	if (sub->final && sub->used < sub->bytes) {
		d.end = sub->used & ~7u;
		d.exact = true;
	} else if (sub->final && sub->used > sub->bytes) {
		++*damaged;
	}
	d.ngaps = gaps_now(&d);
	pos &= ~7u;
	while (pos < d.end && !wait) {
		uint32_t gap = next_gap(&d, pos);

		if (gap <= pos)
			pos = in_gap(&d, pos, gap, &wait);
		else
			pos = plain(&d, pos, gap < d.end ? gap : d.end, &wait);
	}
	return sub->final ? sub->bytes : pos;
}
