/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "tracefmt/buffer.h"
#include "tracefmt/format.h"
#include "memtrace/pack/copies.h"

size_t tf_copies_room(const struct tf_copies *c)
{
	return TF_COPY_MOST * c->n + 4 * c->nmasks;
}

static uint8_t *put(uint8_t *to, uint32_t v)
{
	for (; v >= 128; v >>= 7)
		*to++ = (uint8_t)(v | 128);
	*to++ = (uint8_t)v;
	return to;
}

/* How far back they are from. */
static uint8_t *put_backs(uint8_t *at, const struct tf_copies *c)
{
	struct tf_recent recent = { 0 };
	uint8_t *fresh = at + c->n;

	for (size_t i = 0; i < c->n; i++) {
		uint32_t back = c->copy[i].back;
		unsigned int k = tf_recent_find(&recent, back);

		*at++ = (uint8_t)k;
		if (k == TF_RECENT)
			fresh = put(fresh, back);
		tf_recent_use(&recent, k, back);
	}
	return fresh;
}

size_t tf_copies_write(uint8_t *to, const struct tf_copies *c, size_t *masks)
{
	uint8_t *at = to;

	for (size_t i = 0; i < c->n; i++)
		at = put(at, c->copy[i].between);
	for (size_t i = 0; i < c->n; i++)
		at = put(at, c->copy[i].words);
	at = put_backs(at, c);
	*masks = (size_t)(at - to);
	memcpy(at, c->masks, 4 * c->nmasks);
	return *masks + 4 * c->nmasks;
}

static uint8_t *move(uint8_t *to, const uint8_t *from, size_t bytes)
{
	memcpy(to, from, bytes);
	return to + bytes;
}

size_t tf_copies_rest(uint8_t *to, const uint8_t *chunk, size_t bytes, const struct tf_copies *c)
{
	const uint8_t *from = chunk, *end = chunk + bytes / 4 * 4;
	uint8_t *at = to;

	for (size_t i = 0; i < c->n; i++) {
		at = move(at, from, 4 * (size_t)c->copy[i].between);
		from += 4 * ((size_t)c->copy[i].between + c->copy[i].words);
	}
	at = move(at, from, (size_t)(end - from));
	at = move(at, (const uint8_t *)c->changes, 4 * c->nchanges);
	at = move(at, end, bytes % 4);
	return (size_t)(at - to);
}

/* ---- the way back ---- */

/* Steps over @n numbers; says where the first is. */
static struct tf_cursor column(struct tf_cursor *c, size_t n)
{
	struct tf_cursor begin = *c;

	while (n && c->left) {
		n -= *c->at < 128;
		c->at++;
		c->left--;
	}
	c->failed |= n != 0;
	return begin;
}

/* A list while it is read. */
struct reader {
	struct tf_cursor between, words, index, fresh, masks;
	struct tf_recent recent;
};

/* False: it is not one of @n copies. */
static bool read_list(struct reader *r, const uint8_t *list, size_t size, size_t n)
{
	struct tf_cursor all = { .at = list, .left = size };
	size_t nfresh = 0;

	*r = (struct reader){ .between = column(&all, n) };
	r->words = column(&all, n);
	r->index = all;
	if (!tf_cursor_take(&all, n) || all.failed)
		return false;
	for (size_t i = 0; i < n; i++)
		nfresh += r->index.at[i] == TF_RECENT;
	r->fresh = column(&all, nfresh);
	r->masks = all;
	return !all.failed;
}

/* How far back the next one is from; 0: that is wrong. */
static uint32_t next_back(struct reader *r)
{
	unsigned int k = tf_cursor_byte(&r->index);
	uint64_t back = k < TF_RECENT ? r->recent.back[k] : k == TF_RECENT ? tf_cursor_varint(&r->fresh) : 0;

	if (back > UINT32_MAX)
		return 0;
	if (k <= TF_RECENT)
		tf_recent_use(&r->recent, k, (uint32_t)back);
	return (uint32_t)back;
}

static const uint8_t *take(struct tf_cursor *c, uint64_t words)
{
	return tf_cursor_take(c, 4 * words);
}

/* The bits of @changed are of the words at @to. */
static bool change(uint8_t *to, uint32_t changed, struct tf_cursor *changes)
{
	for (; changed && changes->left >= 4; changed &= changed - 1) {
		uint8_t *at = to + 4 * __builtin_ctz(changed);

		tf_put32(at, tf_get32(at) + tf_unzigzag32(tf_get32(changes->at)));
		changes->at += 4;
		changes->left -= 4;
	}
	return !changed;
}

/* Changes @words at @to. */
static bool change_all(uint8_t *to, size_t words, struct tf_cursor *masks, struct tf_cursor *changes)
{
	for (size_t at = 0; at < words; at += TF_COPY_MASK) {
		const uint8_t *mask = take(masks, 1);
		uint32_t changed = mask ? tf_get32(mask) : 0;

		if (!mask || (words - at < TF_COPY_MASK && changed >> (words - at)))
			return false;
		if (changed && !change(to + 4 * at, changed, changes))
			return false;
	}
	return true;
}

/* Words between copies, and behind them, of all @words.  False: copies are more. */
static bool sum_between(const struct reader *r, size_t words, size_t n, uint64_t *sum)
{
	struct tf_cursor between = r->between, copied = r->words;
	uint64_t left = words;

	for (size_t i = 0; i < n; i++) {
		uint64_t b = tf_cursor_varint(&between), c = tf_cursor_varint(&copied);

		if (b > left || c > left - b)
			return false;
		left -= b + c;
		*sum += b;
	}
	*sum += left;
	return !between.failed && !copied.failed;
}

/* The next copy, and what is in front of it. */
static bool undo(struct reader *r, uint8_t **to, const struct tf_window *window, uint64_t at, uint64_t between,
		 uint64_t words, struct tf_cursor *rest, struct tf_cursor *changes)
{
	uint32_t back = next_back(r);

	*to = move(*to, take(rest, between), 4 * between);
	if (!back || !tf_window_read(window, *to, window->end + at + between - back, words) ||
	    !change_all(*to, words, &r->masks, changes))
		return false;
	*to += 4 * words;
	return true;
}

bool tf_copies_undo(uint8_t *to, size_t bytes, const struct tf_window *window, const uint8_t *list, size_t size,
		    size_t n, const uint8_t *rest, size_t nrest)
{
	struct tf_cursor between = { .at = rest }, changes = { .at = rest, .left = nrest };
	uint64_t sum = 0, at = 0;
	struct reader r;

	if (!read_list(&r, list, size, n) || !sum_between(&r, bytes / 4, n, &sum) || !take(&changes, sum))
		return false;
	between.left = 4 * sum;
	for (size_t i = 0; i < n; i++) {
		uint64_t b = tf_cursor_varint(&r.between), c = tf_cursor_varint(&r.words);

		if (!undo(&r, &to, window, at, b, c, &between, &changes))
			return false;
		at += b + c;
	}
	to = move(to, between.at, between.left);
	if (changes.left != bytes % 4 || r.masks.left)
		return false;
	memcpy(to, changes.at, changes.left);
	return true;
}
