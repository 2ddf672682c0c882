// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/x86-64/memfacts.h"

static bool is_masked(const struct mem_insn *in)
{
	return in->zi.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED &&
	       in->zi.avx.mask.reg != ZYDIS_REGISTER_K0;
}

bool mem_note_lanes(struct mem_insn *in)
{
	if (is_masked(in))
		in->facts->unmodelled = true;
	return in->facts->unmodelled;
}
