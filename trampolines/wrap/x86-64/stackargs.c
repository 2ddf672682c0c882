// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/wrap/stackargs.h"

#include "trampolines/insn/x86-64/zydis.h"

struct seen {
	bool jumps, calls; /* to where a register or memory says */
};

/* Control stays in the function, or returns; or it goes to what a pointer says. */
static bool stays(const uint8_t *code, size_t len, size_t off, struct seen *seen)
{
	struct tramp_decoded d;
	int64_t to;

	if (!tramp_decode(code + off, len - off, &d))
		return false;
	seen->jumps |= d.kind == TRAMP_OP_JMP_IND;
	seen->calls |= d.kind == TRAMP_OP_CALL_IND;
	to = (int64_t)off + d.length + d.rel;
	return !tramp_op_jumps(d.kind) || (to >= 0 && to < (int64_t)len);
}

/* False: what is there is not only read here. */
static bool look_at(const ZydisDecodedOperand *o, bool frame, int64_t offset, bool address, uint64_t *bytes)
{
	ZydisRegister base = frame ? ZYDIS_REGISTER_RBP : ZYDIS_REGISTER_RSP;
	int64_t end;

	if (!tramp_zydis_is_memory(o) || o->mem.base != base || o->mem.disp.value < offset)
		return true;
	end = o->mem.disp.value - offset + (o->size + 7) / 8;
	if ((uint64_t)end > *bytes)
		*bytes = (uint64_t)end;
	return !address && o->mem.index == ZYDIS_REGISTER_NONE;
}

bool tramp_stack_args(const uint8_t *code, size_t len, tramp_cfa cfa, void *arg, uint64_t *bytes)
{
	struct seen seen = { .jumps = false };
	struct tramp_zydis z;

	*bytes = 0;
	for (size_t off = 0; off < len; off += z.insn.length) {
		int64_t offset;
		bool frame;

		if (!tramp_zydis(code + off, len - off, &z) || !stays(code, len, off, &seen) || !cfa(arg, off, &frame, &offset))
			return false;
		for (int i = 0; i < z.insn.operand_count; i++)
			if (!look_at(&z.o[i], frame, offset, z.insn.mnemonic == ZYDIS_MNEMONIC_LEA, bytes))
				return false;
	}
	/* SONDE_REAL() is a call on another path, for which its arguments are read; without one they may stay where they are */
	return !seen.jumps || seen.calls;
}
