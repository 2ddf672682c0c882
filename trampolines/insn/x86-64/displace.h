/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Displaced instructions: what a plan notes of each. */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_DISPLACE_H
#define SONDE_TRAMPOLINES_INSN_X86_64_DISPLACE_H

#include "trampolines/trampoline.h"
#include "trampolines/insn/x86-64/decode.h"

/*
 * Append the instruction at code[offset], `code` being the function's first byte. There has to be
 * room for it; the first one is at the patch address, the others follow without a gap.
 */
void tramp_displace(struct tramp_plan *plan, const struct tramp_decoded *insn, const uint8_t *code,
		    size_t offset);

/* What the instruction refers to: the target of a branch or call, or a RIP-relative operand. */
uint64_t tramp_target(const struct tramp_plan *plan, const struct tramp_insn *ti);

/*
 * The index of the displaced instruction at `addr`, where a copied branch to it goes; -1 for none.
 * The function's first byte stands for the window's, if that is after an endbr64.
 */
int tramp_find_displaced(const struct tramp_plan *plan, uint64_t addr);

#endif
