// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/insn/x86-64/emit.h"

void tramp_put_rel32(struct tramp_out *out, uint64_t target, size_t rest)
{
	uint64_t end = out->addr + out->len + sizeof(uint32_t) + rest;

	if (!tramp_reaches(end, target))
		out->status = TRAMP_FAR;
	tramp_put_u32(out, (uint32_t)(target - end));
}

void tramp_put_jmp(struct tramp_out *out, uint64_t target)
{
	tramp_put_u8(out, 0xe9);
	tramp_put_rel32(out, target, 0);
}

void tramp_put_jmp_slot(struct tramp_out *out, size_t slot)
{
	tramp_put_u8(out, 0xff);
	tramp_put_u8(out, 0x25);
	tramp_put_rel32(out, out->addr + slot, 0);
}

void tramp_put_pad(struct tramp_out *out, size_t to)
{
	while (out->len < to && out->status != TRAMP_NO_ROOM)
		tramp_put_u8(out, 0xcc);
}
