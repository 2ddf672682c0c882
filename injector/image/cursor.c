// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <string.h>

#include "injector/image/cursor.h"

#define PE_FORM 0x0f
#define PE_APPLICATION 0x70
#define PE_PCREL 0x10
#define PE_INDIRECT 0x80

enum { PE_ABSPTR, PE_ULEB, PE_UDATA2, PE_UDATA4, PE_UDATA8, PE_SLEB = 9, PE_SDATA2, PE_SDATA4,
       PE_SDATA8 };

uint64_t inj_cursor_uint(struct inj_cursor *c, size_t bytes)
{
	uint64_t value = 0;

	if (c->bad || (size_t)(c->end - c->at) < bytes) {
		c->bad = true;
		return 0;
	}
	memcpy(&value, c->at, bytes); /* little-endian, as the machine */
	c->at += bytes;
	c->addr += bytes;
	return value;
}

void inj_cursor_skip(struct inj_cursor *c, uint64_t bytes)
{
	if (c->bad || (uint64_t)(c->end - c->at) < bytes) {
		c->bad = true;
		return;
	}
	c->at += bytes;
	c->addr += bytes;
}

/* *shift: after the last bit that was read. */
static uint64_t leb(struct inj_cursor *c, unsigned int *shift)
{
	uint64_t value = 0, byte = 0x80;

	for (*shift = 0; byte & 0x80; *shift += 7) {
		byte = inj_cursor_uint(c, 1);
		if (*shift < 64)
			value |= (byte & 0x7f) << *shift;
		else
			c->bad = true;
		if (c->bad)
			return 0;
	}
	return value;
}

uint64_t inj_cursor_uleb(struct inj_cursor *c)
{
	unsigned int shift;

	return leb(c, &shift);
}

int64_t inj_cursor_sleb(struct inj_cursor *c)
{
	unsigned int shift;
	uint64_t value = leb(c, &shift);

	if (shift && shift < 64 && (value >> (shift - 1) & 1))
		value |= UINT64_MAX << shift;
	return (int64_t)value;
}

static uint64_t signed_value(uint64_t value, unsigned int bits)
{
	return (uint64_t)((int64_t)(value << (64 - bits)) >> (64 - bits));
}

static uint64_t encoded_form(struct inj_cursor *c, uint8_t form)
{
	switch (form) {
	case PE_ULEB:
		return inj_cursor_uleb(c);
	case PE_SLEB:
		return (uint64_t)inj_cursor_sleb(c);
	case PE_UDATA2:
		return inj_cursor_uint(c, 2);
	case PE_SDATA2:
		return signed_value(inj_cursor_uint(c, 2), 16);
	case PE_UDATA4:
		return inj_cursor_uint(c, 4);
	case PE_SDATA4:
		return signed_value(inj_cursor_uint(c, 4), 32);
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return inj_cursor_uint(c, 8);
	default:
		c->bad = true;
		return 0;
	}
}

uint64_t inj_cursor_encoded(struct inj_cursor *c, uint8_t encoding)
{
	uint64_t at = c->addr, value;
	uint8_t application = encoding & PE_APPLICATION;

	if (encoding == INJ_PE_OMIT || (encoding & PE_INDIRECT) ||
	    (application && application != PE_PCREL)) {
		c->bad = true;
		return 0;
	}
	value = encoded_form(c, encoding & PE_FORM);
	return application && value ? value + at : value;
}
