/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tracefmt/buffer.h"

#include <stdlib.h>

void tf_buf_free(struct tf_buf *b)
{
	free(b->data);
	*b = (struct tf_buf){ 0 };
}

void tf_buf_clear(struct tf_buf *b)
{
	b->size = 0;
	b->failed = false;
}

uint8_t *tf_buf_grow(struct tf_buf *b, size_t n)
{
	size_t room = b->room ? b->room : 4096;
	uint8_t *data;

	if (b->failed)
		return NULL;
	while (room - b->size < n && room <= SIZE_MAX / 4)
		room *= 2;
	data = room - b->size < n ? NULL : realloc(b->data, room);
	if (!data) {
		b->failed = true;
		return NULL;
	}
	b->data = data;
	b->room = room;
	return data + b->size;
}

uint8_t tf_cursor_byte(struct tf_cursor *c)
{
	const uint8_t *at = tf_cursor_take(c, 1);

	return at ? *at : 0;
}

uint64_t tf_cursor_varint(struct tf_cursor *c)
{
	uint64_t v = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte = tf_cursor_byte(c);

		if (shift == 63 && byte > 1)
			break;
		v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return v;
	}
	c->failed = true;
	return 0;
}

const uint8_t *tf_cursor_take(struct tf_cursor *c, uint64_t n)
{
	const uint8_t *at = c->at;

	if (c->failed || n > c->left) {
		c->failed = true;
		return NULL;
	}
	c->at += n;
	c->left -= n;
	return at;
}
