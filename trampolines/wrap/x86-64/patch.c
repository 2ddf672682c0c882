// SPDX-License-Identifier: GPL-3.0-or-later
/* The bytes that go over a function's entry. */
#include "trampolines/trampoline.h"
#include "trampolines/insn/x86-64/emit.h"

enum { NOP_MAX = 9 };

/* The nops that Intel's manual recommends (volume 2B, NOP), by length. */
static const uint8_t nops[NOP_MAX][NOP_MAX] = {
	{ 0x90 },
	{ 0x66, 0x90 },
	{ 0x0f, 0x1f, 0x00 },
	{ 0x0f, 0x1f, 0x40, 0x00 },
	{ 0x0f, 0x1f, 0x44, 0x00, 0x00 },
	{ 0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00 },
	{ 0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00 },
	{ 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
	{ 0x66, 0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00 },
};

static void out_nops(struct tramp_out *out, size_t n)
{
	while (n > 0) {
		size_t length = n < NOP_MAX ? n : NOP_MAX;

		tramp_put_bytes(out, nops[length - 1], length);
		n -= length;
	}
}

enum tramp_status tramp_emit_patch(const struct tramp_plan *plan, uint64_t target, uint8_t *buf)
{
	struct tramp_out out = { .buf = buf, .room = plan->patch_len, .addr = plan->patch_addr };

	tramp_put_jmp(&out, target);
	out_nops(&out, plan->patch_len - out.len);
	return out.status;
}
