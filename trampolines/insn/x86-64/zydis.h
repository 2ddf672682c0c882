/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What Zydis says of an instruction, for those who look at its operands. */
#ifndef SONDE_TRAMPOLINES_INSN_X86_64_ZYDIS_H
#define SONDE_TRAMPOLINES_INSN_X86_64_ZYDIS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <Zydis/Zydis.h>

#include "trampolines/insn/x86-64/decode.h"

struct tramp_zydis {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT]; /* at least the first three may be looked at, whatever their number */
};

/* False: no instruction, or cut off by `avail`. */
bool tramp_zydis(const uint8_t *code, size_t avail, struct tramp_zydis *z);

/* enum tramp_op_kind; RIP is PLAIN here. */
uint8_t tramp_zydis_kind(const ZydisDecodedInstruction *insn);

/* A general register of any width: 0..15, rax first; TRAMP_NO_REG: it is none. */
uint8_t tramp_zydis_gpr(ZydisRegister reg);

/* ah, ch, dh, bh: numbered as the registers that they are parts of. */
static inline bool tramp_zydis_is_high(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_AH && reg <= ZYDIS_REGISTER_BH;
}

static inline bool tramp_zydis_is_reg(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static inline bool tramp_zydis_is_memory(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

static inline bool tramp_zydis_is_imm(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

#endif
