/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two bounded views of bytes: a buffer that grows while it is written, and a cursor that never
 * leaves what it reads.  Both remember a failure, so that a row of calls is checked once, at
 * its end.
 */
#ifndef TRACEFMT_BUFFER_H
#define TRACEFMT_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define TF_MAX_VARINT 10

struct tf_buf {
	uint8_t *data;
	size_t size;
	size_t room;
	bool failed; /* no memory: nothing is appended any more until tf_buf_clear() */
};

void tf_buf_free(struct tf_buf *b);
void tf_buf_clear(struct tf_buf *b);

/* Makes room for @n more bytes; returns as tf_buf_need() does. */
uint8_t *tf_buf_grow(struct tf_buf *b, size_t n);

/* Room for @n more bytes, at the returned address; NULL (and failed) when there is no memory. */
static inline uint8_t *tf_buf_need(struct tf_buf *b, size_t n)
{
	return !b->failed && b->data && n <= b->room - b->size ? b->data + b->size : tf_buf_grow(b, n);
}

/* Appends @n bytes of undefined content and returns their address, or NULL. */
static inline uint8_t *tf_buf_extend(struct tf_buf *b, size_t n)
{
	uint8_t *at = tf_buf_need(b, n);

	if (at)
		b->size += n;
	return at;
}

static inline void tf_buf_put(struct tf_buf *b, const void *data, size_t n)
{
	uint8_t *at = tf_buf_extend(b, n);

	if (at && n)
		memcpy(at, data, n);
}

static inline void tf_buf_byte(struct tf_buf *b, uint8_t v)
{
	uint8_t *at = tf_buf_extend(b, 1);

	if (at)
		*at = v;
}

static inline void tf_buf_varint(struct tf_buf *b, uint64_t v)
{
	uint8_t *at = tf_buf_need(b, TF_MAX_VARINT);

	if (!at)
		return;
	for (; v >= 0x80; v >>= 7, b->size++)
		*at++ = (uint8_t)v | 0x80;
	*at = (uint8_t)v;
	b->size++;
}

static inline void tf_buf_str(struct tf_buf *b, const char *s)
{
	tf_buf_put(b, s, strlen(s));
}

struct tf_cursor {
	const uint8_t *at;
	size_t left;
	bool failed; /* something did not fit: everything reads as 0 from then on */
};

uint8_t tf_cursor_byte(struct tf_cursor *c);
uint64_t tf_cursor_varint(struct tf_cursor *c);

/* Steps over @n bytes and returns their address; NULL (and failed) when there are fewer. */
const uint8_t *tf_cursor_take(struct tf_cursor *c, uint64_t n);

#endif /* TRACEFMT_BUFFER_H */
