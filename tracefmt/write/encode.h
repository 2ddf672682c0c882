/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From events to the operations of a chunk.  A batch holds the events of the chunk that is
 * being filled, one code and one time difference each, and the payloads as they were in the
 * records; tf_pack() makes columns of it.
 *
 * The functions for enter, leave and point are here to be inlined into the loop over a ring: this
 * is what a thread that records in a hot loop waits for.
 */
#ifndef SONDE_TRACEFMT_WRITE_ENCODE_H
#define SONDE_TRACEFMT_WRITE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tracefmt/format.h"
#include "tracefmt/ring.h"
#include "tracefmt/write/sites.h"
#include "tracefmt/stack.h"

#define TF_BATCH_EVENTS TF_MAX_ENTRIES /* so that a dictionary always has room */
#define TF_BATCH_WORDS (128u << 10) /* 8-byte words of payload */
#define TF_RECORD_WORDS 512u	    /* largest record */

/*
 * Code of an event in a batch: an event id, or one of the small ones, and flags.
 *
 *	TF_CODE_RETURN  a leave that TF_OP_RETURN stands for
 *	TF_CODE_OTHER   of a leave: orphan; of an enter: old unwind
 *	TF_CODE_TAIL    of an enter: by the jump with which the function of the event before was left
 */
#define TF_CODE_LOST 0u
#define TF_CODE_UNWIND 1u
#define TF_CODE_WAITED 2u
#define TF_CODE_OTHER (1u << 20)
#define TF_CODE_RETURN (1u << 21)
#define TF_CODE_TAIL (1u << 22)
#define TF_CODE_ID(code) ((code) & (TF_MAX_IDS - 1))

#define TF_ENC_WRAPPER 16u /* bytes that a wrapper's frame is below the return address, at most */

#define TF_DELTA_BIG UINT32_MAX /* the difference is the next one in big[] */

struct tf_batch {
	uint32_t *code;
	uint32_t *delta;
	uint32_t n;
	uint32_t nwaits; /* of them, that are TF_CODE_WAITED: no events */
	uint32_t room; /* at most TF_BATCH_EVENTS */
	uint64_t *big;
	uint32_t nbig;
	uint32_t roombig;
	uint64_t *words; /* payloads, one after the other */
	uint32_t nwords;
	uint32_t roomwords;
	uint64_t start; /* ticks before the first difference */
	uint64_t depth; /* open frames before the first event */
};

/* Of the batches before, added by emit(); tf_enc_count() adds the current one. */
struct tf_enc_stats {
	uint64_t events;
	uint64_t enters;
	uint64_t leaves;
	uint64_t points;
	uint64_t unwound;
	uint64_t orphans;
	uint64_t backward;
};

struct tf_enc {
	const struct tf_sites *sites;
	struct tf_batch batch;
	struct tf_stack stack;
	struct tf_enc_stats stats;
	size_t floor;  /* frames below were open when the batch began */
	uint64_t last; /* ticks of the last event */
	uint64_t jumped; /* number of the event that comes after the last jump out of a function; 0: there was none */
	uint64_t jump;	 /* second word of its record */
	bool started;
	bool no_memory; /* has happened; the caller takes notice and clears it */
	/* Writes out the batch and adds to stats; called when it is full. */
	void (*emit)(void *arg, struct tf_enc *enc);
	void *arg;
};

/* False: no memory. */
__attribute__((warn_unused_result)) bool tf_enc_init(struct tf_enc *e, const struct tf_sites *sites,
						     void (*emit)(void *, struct tf_enc *),
						     void *arg);
void tf_enc_free(struct tf_enc *e);

/* Empties the batch: the next one begins here. */
void tf_enc_restart(struct tf_enc *e);

/* Room for one more event with the largest payload, by growing or emitting. */
void tf_enc_make_room(struct tf_enc *e);

void tf_enc_put_big(struct tf_enc *e, uint32_t code, uint64_t delta);

/* A leave of what is not the top frame. */
void tf_enc_leave_other(struct tf_enc *e, uint32_t id, uint64_t ticks, const uint64_t *payload,
			uint32_t words);

/* The same for a leave that tells the address of its frame. */
void tf_enc_leave_framed_other(struct tf_enc *e, uint32_t id, uint64_t addr, uint64_t ticks,
			       const uint64_t *payload, uint32_t words);

/* An enter on a stack that needs a closer look, and the growth of the stack. */
void tf_enc_settle(struct tf_enc *e, uint64_t addr, uint64_t ticks);
void tf_enc_grow_stack(struct tf_enc *e, uint64_t ticks);

/* Adds the events of the current batch to *stats. */
void tf_enc_count(const struct tf_enc *e, struct tf_enc_stats *stats);

/* See tf_thread_waited(). */
void tf_enc_waited(struct tf_enc *e, uint64_t tsc, uint64_t ticks);

void tf_enc_lost(struct tf_enc *e, uint64_t ticks, uint64_t count);

/* How many events there have been. */
static inline uint64_t tf_enc_events(const struct tf_enc *e)
{
	return e->stats.events + e->batch.n - e->batch.nwaits;
}

/* Moves a time that is behind up to the last one, and counts it. */
static inline uint64_t tf_enc_time(struct tf_enc *e, uint64_t ticks)
{
	if (__builtin_expect((int64_t)(ticks - e->last) < 0, 0)) {
		if (!e->started)
			return ticks;
		e->stats.backward++;
		return e->last;
	}
	return ticks;
}

/* Room for one more event; may emit the batch, so do it before looking at what is old. */
static inline void tf_enc_reserve(struct tf_enc *e)
{
	struct tf_batch *b = &e->batch;

	if (__builtin_expect(b->n == b->room || b->roomwords - b->nwords < TF_RECORD_WORDS, 0))
		tf_enc_make_room(e);
}

/* After tf_enc_reserve(). */
static inline void tf_enc_put(struct tf_enc *e, uint32_t code, uint64_t ticks,
			      const uint64_t *payload, uint32_t words)
{
	struct tf_batch *b = &e->batch;
	uint64_t delta;

	if (__builtin_expect(!e->started, 0)) {
		e->started = true;
		e->last = b->start = ticks;
	}
	delta = ticks - e->last;
	e->last = ticks;
	if (words) {
		memcpy(b->words + b->nwords, payload, words * 8);
		b->nwords += words;
	}
	if (__builtin_expect(delta >= TF_DELTA_BIG, 0)) {
		tf_enc_put_big(e, code, delta);
		return;
	}
	b->code[b->n] = code;
	b->delta[b->n++] = (uint32_t)delta;
}

/* What comes next is entered by this jump, if its frame and beginning are those that @word tells; see tracefmt/ring.h. */
static inline void tf_enc_jump(struct tf_enc *e, uint64_t word)
{
	e->jumped = tf_enc_events(e);
	e->jump = word;
}

/* Is this the enter that the last jump led to?  A wrapper's frame is below the address of what it returns to. */
static inline bool tf_enc_is_jump(const struct tf_enc *e, uint32_t id, uint64_t addr)
{
	uint64_t entry = e->sites->more[id].entry, below = RING_JUMP_FRAME(e->jump) - addr;

	return entry && below <= TF_ENC_WRAPPER &&
	       e->jump == (RING_JUMP_FRAME(e->jump) | RING_JUMP | RING_JUMP_TARGET(entry));
}

static inline void tf_enc_enter(struct tf_enc *e, uint32_t id, const struct tf_site *site,
				uint64_t addr, uint64_t ticks, const uint64_t *payload,
				uint32_t words)
{
	uint32_t tail = 0;

	if (__builtin_expect(!tf_stack_simple(&e->stack, addr), 0))
		tf_enc_settle(e, addr, ticks);
	if (__builtin_expect(e->stack.n == e->stack.room, 0))
		tf_enc_grow_stack(e, ticks);
	if (__builtin_expect(e->jumped == tf_enc_events(e), 0) && tf_enc_is_jump(e, id, addr))
		tail = TF_CODE_TAIL;
	tf_enc_reserve(e);
	tf_enc_put(e, id | tail, ticks, payload, words);
	e->stack.frame[e->stack.n++] = (struct tf_frame){ addr, site->function, id };
}

static inline void tf_enc_leave(struct tf_enc *e, uint32_t id, const struct tf_site *site,
				uint64_t ticks, const uint64_t *payload, uint32_t words)
{
	tf_enc_reserve(e);
	if (__builtin_expect(e->stack.n > e->floor &&
			     e->stack.frame[e->stack.n - 1].enter == site->partner, 1)) {
		tf_enc_put(e, id | TF_CODE_RETURN, ticks, payload, words);
		tf_stack_pop(&e->stack);
		return;
	}
	tf_enc_leave_other(e, id, ticks, payload, words);
}

static inline void tf_enc_leave_framed(struct tf_enc *e, uint32_t id, const struct tf_site *site,
				       uint64_t addr, uint64_t ticks, const uint64_t *payload,
				       uint32_t words)
{
	const struct tf_frame *end = e->stack.frame + e->stack.n;

	tf_enc_reserve(e);
	if (__builtin_expect(e->stack.n > e->floor && end[-1].addr == addr &&
			     end[-1].enter == site->partner, 1)) {
		tf_enc_put(e, id | TF_CODE_RETURN, ticks, payload, words);
		tf_stack_pop(&e->stack);
		return;
	}
	tf_enc_leave_framed_other(e, id, addr, ticks, payload, words);
}

static inline void tf_enc_point(struct tf_enc *e, uint32_t id, uint64_t ticks,
				const uint64_t *payload, uint32_t words)
{
	tf_enc_reserve(e);
	tf_enc_put(e, id, ticks, payload, words);
}

#endif /* SONDE_TRACEFMT_WRITE_ENCODE_H */
