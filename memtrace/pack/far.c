/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/format.h"
#include "memtrace/pack/far.h"

enum {
	DENSE = 25,		/* streams of which less than one byte in so many is written are small enough */
	VAIN = 3,
	WORSE = 16,		/* one part in so many */
	SOON = 8, GAP = 32, GAP_MAX = 512, /* chunks between looks at whether it is of use: at first; later; while it is */
	PAUSE = 512,		/* chunks, doubled each time */
	PAUSE_MAX = 1 << 20,
	LONG = 3 << 24,		/* words that are looked at in vain */
	EARLY = 1 << 20,	/* words that a stream has before it is looked at */
	WIDER = 1,		/* what has not been seen yet may come from farther */
};

static void pause_it(struct tf_far *f)
{
	f->pause = !f->pause ? PAUSE : f->pause < PAUSE_MAX ? 2 * f->pause : PAUSE_MAX;
	f->rest = f->pause;
}

static void end(struct tf_far *f, uint64_t *room)
{
	if (!tf_far_is_used(f))
		return;
	*room += UINT64_C(1) << f->match.window.log;
	tf_match_close(&f->match);
	pause_it(f);
}

void tf_far_free(struct tf_far *f, uint64_t *room)
{
	end(f, room);
	tf_recur_free(&f->recur);
}

void tf_far_work_free(struct tf_far_work *work)
{
	tf_buf_free(&work->chunk);
	tf_buf_free(&work->copies);
	tf_buf_free(&work->masks);
	tf_buf_free(&work->changes);
	tf_buf_free(&work->list);
	tf_buf_free(&work->rest);
}

static void begin(struct tf_far *f, uint64_t *room, unsigned int log, unsigned int distance)
{
	if (!tf_match_open(&f->match, log, f->position))
		return;
	f->group = f->position;
	f->warm = (UINT64_C(1) << distance) / 4;
	f->vain = 0;
	f->wait = f->gap = SOON;
	*room -= UINT64_C(1) << log;
	tf_recur_free(&f->recur);
}

/* ---- chunks ---- */

size_t tf_far_list_room(size_t bytes)
{
	size_t most = tf_match_most(bytes / 4);

	return tf_copies_room(&(struct tf_copies){ .n = most, .nmasks = most + bytes / 4 / TF_COPY_MASK });
}

/* Room for so many bytes, from the beginning on. */
static void *need(struct tf_buf *b, size_t bytes)
{
	tf_buf_clear(b);
	return tf_buf_need(b, bytes + 1);
}

/* False: no memory. */
static bool need_all(struct tf_far_work *work, size_t bytes, struct tf_copies *c)
{
	size_t most = tf_match_most(bytes / 4);

	*c = (struct tf_copies){
		.copy = need(&work->copies, most * sizeof(*c->copy)),
		.masks = need(&work->masks, 4 * (most + bytes / 4 / TF_COPY_MASK)),
		.changes = need(&work->changes, bytes),
	};
	return c->copy && c->masks && c->changes && need(&work->chunk, bytes) && need(&work->rest, bytes) &&
	       need(&work->list, tf_far_list_room(bytes));
}

/* What is behind in the stream is not looked at any more, when that has been done for long. */
static void begin_group(struct tf_far *f)
{
	struct tf_window *w = &f->match.window;

	if (f->position - f->group < tf_window_size(w) << TF_FAR_GROUP)
		return;
	f->group = f->position;
	tf_window_empty(w, f->position);
}

/* What it is for is farther back than the window has anything. */
static bool is_cold(const struct tf_far *f)
{
	return f->position - f->group < f->warm / 2;
}

bool tf_far_split(struct tf_far *f, struct tf_far_work *work, uint64_t *room, const void *chunk, size_t bytes,
		  struct tf_far_parts *parts)
{
	struct tf_copies c;

	if (!need_all(work, bytes, &c)) {
		end(f, room);
		return false;
	}
	begin_group(f);
	memcpy(work->chunk.data, chunk, bytes);
	parts->position = f->position;
	if (is_cold(f))
		tf_match_note(&f->match, work->chunk.data, bytes / 4);
	else
		tf_match_find(&f->match, work->chunk.data, bytes / 4, &c);
	f->position += bytes / 4;
	parts->copies = c.n;
	parts->list = work->list.data;
	parts->nlist = tf_copies_write(work->list.data, &c, &parts->masks);
	parts->rest = work->rest.data;
	parts->nrest = tf_copies_rest(work->rest.data, work->chunk.data, bytes, &c);
	if (parts->nrest > bytes / 2 && f->wait > GAP)
		f->wait = GAP;
	return true;
}

void tf_far_put_head(uint8_t *at, const struct tf_far *f, const struct tf_far_parts *parts, size_t packed_list,
		     unsigned int way)
{
	memset(at, 0, TF_FAR_HEAD);
	tf_put64(at, parts->position);
	tf_put32(at + 8, (uint32_t)parts->copies);
	tf_put32(at + 12, (uint32_t)parts->nlist);
	tf_put32(at + 16, (uint32_t)packed_list);
	tf_put32(at + 20, (uint32_t)parts->nrest);
	at[24] = (uint8_t)f->match.window.log;
	at[25] = (uint8_t)way;
}

/* ---- whether it is of use ---- */

bool tf_far_is_due(struct tf_far *f)
{
	if (is_cold(f))
		return false;
	if (f->wait) {
		f->wait--;
		return false;
	}
	return true;
}

void tf_far_judge(struct tf_far *f, uint64_t *room, size_t packed, size_t other)
{
	bool warm = f->position - f->group >= f->warm;

	/* in the beginning it is enough to do no harm */
	if (packed > (warm ? other - other / 3 : other + other / WORSE)) {
		f->vain++;
		f->gap = warm ? GAP : SOON;
	} else {
		f->vain = 0;
		if (warm && f->gap < GAP_MAX)
			f->gap *= 2;
	}
	f->wait = f->gap;
	if (f->vain == VAIN)
		end(f, room);
}

static void rest_if_long(struct tf_far *f)
{
	if (f->recur.words < LONG || f->recur.since)
		return;
	tf_recur_free(&f->recur);
	pause_it(f);
}

void tf_far_consider(struct tf_far *f, uint64_t *room, const void *chunk, size_t bytes, size_t packed)
{
	unsigned int log, wide;

	f->position += bytes / 4;
	if (f->rest) {
		f->rest--;
		return;
	}
	if (f->position < EARLY || packed < bytes / DENSE)
		return;
	log = tf_recur_look(&f->recur, chunk, bytes);
	if (!log) {
		rest_if_long(f);
		return;
	}
	wide = log + WIDER < TF_WINDOW_MAX ? log + WIDER : TF_WINDOW_MAX;
	while (wide > log && UINT64_C(1) << wide > *room / 2)
		wide--;
	if (UINT64_C(1) << wide <= *room)
		begin(f, room, wide, log);
}
