// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/x86-64/emit.h"

#include <string.h>

void out_bytes(struct out *out, const void *bytes, size_t n)
{
	if (n > out->room - out->len) {
		out->status = TRAMP_NO_ROOM;
		return;
	}
	if (out->buf)
		memcpy(out->buf + out->len, bytes, n);
	out->len += n;
}

void out_u8(struct out *out, uint8_t value)
{
	out_bytes(out, &value, sizeof(value));
}

void out_u32(struct out *out, uint32_t value)
{
	out_bytes(out, &value, sizeof(value));
}

void out_u64(struct out *out, uint64_t value)
{
	out_bytes(out, &value, sizeof(value));
}

void out_rel32(struct out *out, uint64_t target, size_t rest)
{
	uint64_t end = out->addr + out->len + sizeof(uint32_t) + rest;

	if (!reaches(end, target))
		out->status = TRAMP_FAR;
	out_u32(out, (uint32_t)(target - end));
}

void out_jmp(struct out *out, uint64_t target)
{
	out_u8(out, 0xe9);
	out_rel32(out, target, 0);
}

void out_jmp_slot(struct out *out, size_t slot)
{
	out_u8(out, 0xff);
	out_u8(out, 0x25);
	out_rel32(out, out->addr + slot, 0);
}

void out_pad(struct out *out, size_t to)
{
	while (out->len < to && out->status != TRAMP_NO_ROOM)
		out_u8(out, 0xcc);
}
