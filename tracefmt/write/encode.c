/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/write/encode.h"

#include <stdlib.h>

#define FIRST_EVENTS 1024u
#define FIRST_WORDS (4 * TF_RECORD_WORDS)

/* The three arrays grow on their own; each is whole at any time. */
static bool grow_events(struct tf_batch *b, uint32_t room)
{
	uint32_t *p;

	if (room > TF_BATCH_EVENTS)
		room = TF_BATCH_EVENTS;
	p = realloc(b->code, room * sizeof *p);
	if (!p)
		return false;
	b->code = p;
	p = realloc(b->delta, room * sizeof *p);
	if (!p)
		return false;
	b->delta = p;
	b->room = room;
	return true;
}

static bool grow_words(struct tf_batch *b, uint32_t room)
{
	uint64_t *p = realloc(b->words, room * sizeof *p);

	if (!p)
		return false;
	b->words = p;
	b->roomwords = room;
	return true;
}

bool tf_enc_init(struct tf_enc *e, const struct tf_sites *sites,
		 void (*emit)(void *, struct tf_enc *), void *arg)
{
	*e = (struct tf_enc){ .sites = sites, .emit = emit, .arg = arg };
	e->batch.big = malloc(64 * sizeof *e->batch.big);
	e->batch.roombig = 64;
	if (e->batch.big && grow_events(&e->batch, FIRST_EVENTS) &&
	    grow_words(&e->batch, FIRST_WORDS) && tf_stack_grow(&e->stack))
		return true;
	tf_enc_free(e);
	return false;
}

void tf_enc_free(struct tf_enc *e)
{
	free(e->batch.code);
	free(e->batch.delta);
	free(e->batch.words);
	free(e->batch.big);
	tf_stack_free(&e->stack);
	e->batch = (struct tf_batch){ 0 };
}

void tf_enc_count(const struct tf_enc *e, struct tf_enc_stats *stats)
{
	for (uint32_t i = 0; i < e->batch.n; i++) {
		uint32_t code = e->batch.code[i];
		unsigned kind = code == TF_CODE_UNWIND ? 0 : e->sites->site[TF_CODE_ID(code)].kind;
		bool other = code & TF_CODE_OTHER;

		stats->unwound += code == TF_CODE_UNWIND || (other && kind == SONDE_TRACE_ENTER);
		stats->orphans += other && kind == SONDE_TRACE_LEAVE;
		stats->enters += !other && kind == SONDE_TRACE_ENTER;
		stats->leaves += !other && kind == SONDE_TRACE_LEAVE;
		stats->points += kind == SONDE_TRACE_POINT;
	}
	stats->events += e->batch.n - e->batch.nwaits;
}

void tf_enc_restart(struct tf_enc *e)
{
	struct tf_batch *b = &e->batch;

	b->n = b->nwaits = b->nbig = b->nwords = 0;
	b->start = e->last;
	b->depth = e->stack.n;
	e->floor = e->stack.n;
}

static void emit(struct tf_enc *e)
{
	e->emit(e->arg, e);
	tf_enc_restart(e);
}

/* No memory for a larger batch is no failure: the smaller one is written. */
void tf_enc_make_room(struct tf_enc *e)
{
	struct tf_batch *b = &e->batch;

	if (b->n == b->room && (b->room == TF_BATCH_EVENTS || !grow_events(b, b->room * 2)))
		emit(e);
	else if (b->roomwords - b->nwords < TF_RECORD_WORDS &&
		 (b->roomwords == TF_BATCH_WORDS || !grow_words(b, b->roomwords * 2)))
		emit(e);
}

/* Has been reserved as an event, but the list of large differences may be full. */
void tf_enc_put_big(struct tf_enc *e, uint32_t code, uint64_t delta)
{
	struct tf_batch *b = &e->batch;

	if (b->nbig == b->roombig) {
		uint64_t *big = realloc(b->big, b->roombig * 2 * sizeof *big);

		if (!big) { /* a wrong time is better than none */
			e->no_memory = true;
			delta = TF_DELTA_BIG - 1;
		} else {
			b->big = big;
			b->roombig *= 2;
		}
	}
	b->code[b->n] = code;
	if (delta < TF_DELTA_BIG) {
		b->delta[b->n++] = (uint32_t)delta;
		return;
	}
	b->big[b->nbig++] = delta;
	b->delta[b->n++] = TF_DELTA_BIG;
}

static void unwind_one(struct tf_enc *e, uint64_t ticks)
{
	bool old;
	struct tf_frame frame;

	tf_enc_reserve(e);
	old = e->stack.n <= e->floor;
	frame = tf_stack_pop(&e->stack);
	tf_enc_put(e, old ? frame.enter | TF_CODE_OTHER : TF_CODE_UNWIND, ticks, NULL, 0);
	if (old)
		e->floor = e->stack.n;
}

/* Closes frames until @keep are left. */
static void unwind(struct tf_enc *e, size_t keep, uint64_t ticks)
{
	while (e->stack.n > keep)
		unwind_one(e, ticks);
}

void tf_enc_settle(struct tf_enc *e, uint64_t addr, uint64_t ticks)
{
	/* What goes on in its caller leaves what else its caller is in: the lowest bit is set in the addresses of both. */
	unwind(e, tf_stack_keep(&e->stack, addr - (addr & 1)), ticks);
}

void tf_enc_grow_stack(struct tf_enc *e, uint64_t ticks)
{
	if (tf_stack_grow(&e->stack))
		return;
	e->no_memory |= e->stack.n < TF_STACK_MAX;
	unwind(e, 0, ticks);
}

/* After unwind() has brought the frame to the top. */
static void leave_top(struct tf_enc *e, uint32_t id, const struct tf_site *site, uint64_t ticks,
		      const uint64_t *payload, uint32_t words)
{
	bool old;

	tf_enc_reserve(e);
	old = e->stack.n <= e->floor;
	if (!old && e->stack.frame[e->stack.n - 1].enter == site->partner)
		id |= TF_CODE_RETURN;
	tf_enc_put(e, id, ticks, payload, words);
	tf_stack_pop(&e->stack);
	if (old)
		e->floor = e->stack.n;
}

void tf_enc_leave_other(struct tf_enc *e, uint32_t id, uint64_t ticks, const uint64_t *payload,
			uint32_t words)
{
	const struct tf_site *site = &e->sites->site[id];
	size_t i = tf_stack_find(&e->stack, site->function,
				 e->stats.events + e->batch.n);

	if (i != SIZE_MAX) {
		unwind(e, i + 1, ticks);
		leave_top(e, id, site, ticks, payload, words);
		return;
	}
	tf_enc_reserve(e);
	tf_enc_put(e, id | TF_CODE_OTHER, ticks, payload, words);
}

void tf_enc_leave_framed_other(struct tf_enc *e, uint32_t id, uint64_t addr, uint64_t ticks,
			       const uint64_t *payload, uint32_t words)
{
	const struct tf_site *site = &e->sites->site[id];
	size_t i = tf_stack_at(&e->stack, addr, site->function);

	if (i != SIZE_MAX) {
		unwind(e, i + 1, ticks);
		leave_top(e, id, site, ticks, payload, words);
		return;
	}
	unwind(e, tf_stack_above(&e->stack, addr), ticks);
	tf_enc_reserve(e);
	tf_enc_put(e, id | TF_CODE_OTHER, ticks, payload, words);
}

/* At the time of the last event, since what comes next may have begun before the wait. */
void tf_enc_waited(struct tf_enc *e, uint64_t tsc, uint64_t ticks)
{
	uint64_t passed = tsc - e->last;

	if (!e->started || (int64_t)passed <= 0 || !ticks)
		return;
	if (ticks > passed)
		ticks = passed;
	tf_enc_reserve(e);
	tf_enc_put(e, TF_CODE_WAITED, e->last, &ticks, 1);
	e->batch.nwaits++;
}

void tf_enc_lost(struct tf_enc *e, uint64_t ticks, uint64_t count)
{
	tf_enc_reserve(e);
	tf_enc_put(e, TF_CODE_LOST, ticks, &count, 1);
}
