/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an iteration of a loop has from the one before it, in registers: induction variables, to which something that does not change is added;
 * sums, which nothing but what adds to them reads; and all else, for which iterations have to wait.  And what it ends by: a count, or something that it
 * has found.
 */
#include "launcher/advise/carried.h"

#include <string.h>

#include "trampolines/insn/x86-64/zydis.h"

#define CARRIERS (TRAMP_GPRS | TRAMP_XMMS)

struct loop {
	const struct tramp_flow *flow;
	uint32_t index;
	tramp_regs defined;	/* in the loop */
	tramp_regs steps;	/* induction variables */
};

static bool is_in(const struct loop *l, uint32_t block)
{
	uint32_t i = l->flow->blocks[block].loop;

	while (i != TRAMP_NONE && i != l->index)
		i = l->flow->loops[i].parent;
	return i == l->index;
}

static bool decode(const struct loop *l, const struct tramp_op *op, struct tramp_zydis *z)
{
	size_t left;
	const uint8_t *bytes = tramp_code_at(l->flow->code, tramp_code_base(l->flow->code) + op->off, &left);

	return bytes && tramp_zydis(bytes, left, z);
}

/* Bits of general registers that an operand reads, its address included. */
static tramp_regs reads(const ZydisDecodedOperand *o)
{
	uint8_t base, index;

	if (tramp_zydis_is_reg(o)) {
		base = tramp_zydis_gpr(o->reg.value);
		return base == TRAMP_NO_REG ? 0 : TRAMP_REG(base);
	}
	if (!tramp_zydis_is_memory(o))
		return 0;
	base = tramp_zydis_gpr(o->mem.base);
	index = tramp_zydis_gpr(o->mem.index);
	return (base == TRAMP_NO_REG ? 0 : TRAMP_REG(base)) | (index == TRAMP_NO_REG ? 0 : TRAMP_REG(index));
}

/* Does the instruction add something to @reg that stays the same in the loop? */
static bool is_step(const struct loop *l, const struct tramp_op *op, unsigned int reg)
{
	struct tramp_zydis z;

	if (!decode(l, op, &z))
		return false;
	switch (z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
		return true;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		return tramp_zydis_is_imm(&z.o[1]) || (tramp_zydis_is_reg(&z.o[1]) && !(reads(&z.o[1]) & l->defined));
	case ZYDIS_MNEMONIC_LEA:
		return reads(&z.o[1]) & TRAMP_REG(reg) && !(reads(&z.o[1]) & l->defined & ~TRAMP_REG(reg));
	default:
		return false;
	}
}

/* ... to a sum in @reg?  *floats: of floating point numbers. */
static bool is_sum(const struct loop *l, const struct tramp_op *op, unsigned int reg, bool *floats)
{
	struct tramp_zydis z;

	if (!decode(l, op, &z))
		return false;
	switch (z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_IMUL:
		return reads(&z.o[0]) == TRAMP_REG(reg);
	case ZYDIS_MNEMONIC_ADDSD:
	case ZYDIS_MNEMONIC_ADDSS:
	case ZYDIS_MNEMONIC_SUBSD:
	case ZYDIS_MNEMONIC_SUBSS:
	case ZYDIS_MNEMONIC_MULSD:
	case ZYDIS_MNEMONIC_MULSS:
	case ZYDIS_MNEMONIC_VADDSD:
	case ZYDIS_MNEMONIC_VADDSS:
	case ZYDIS_MNEMONIC_VSUBSD:
	case ZYDIS_MNEMONIC_VSUBSS:
	case ZYDIS_MNEMONIC_VMULSD:
	case ZYDIS_MNEMONIC_VMULSS:
	case ZYDIS_MNEMONIC_VFMADD231SD:
	case ZYDIS_MNEMONIC_VFMADD231SS:
		*floats = true;
		return true;
	default:
		return false;
	}
}

static void find_defined(struct loop *l)
{
	for (uint32_t i = 0; i < l->flow->nblocks; i++) {
		const struct tramp_block *b = &l->flow->blocks[i];

		for (uint32_t k = 0; is_in(l, i) && k < b->nops; k++)
			l->defined |= l->flow->ops[b->op + k].def;
	}
}

enum carried { STEP, SUM, OTHER };

static enum carried kind_of(const struct loop *l, unsigned int reg, bool *floats)
{
	const tramp_regs bit = TRAMP_REG(reg);
	uint64_t steps = 0, sums = 0, defs = 0, uses = 0;

	for (uint32_t i = 0; i < l->flow->nblocks; i++) {
		const struct tramp_block *b = &l->flow->blocks[i];

		for (uint32_t k = 0; is_in(l, i) && k < b->nops; k++) {
			const struct tramp_op *op = &l->flow->ops[b->op + k];

			uses += (op->use & bit) != 0;
			if (!(op->def & bit))
				continue;
			defs++;
			steps += reg < TRAMP_CF && is_step(l, op, reg);
			sums += is_sum(l, op, reg, floats);
		}
	}
	return defs && steps == defs ? STEP : defs && sums == defs && uses == defs ? SUM : OTHER;
}

/* Is what the block's last jump goes by a comparison of an induction variable with what stays the same? */
static bool is_counted(const struct loop *l, const struct tramp_block *b)
{
	struct tramp_zydis z;
	tramp_regs of;

	for (uint32_t k = b->nops; k-- > 0;) {
		const struct tramp_op *op = &l->flow->ops[b->op + k];

		if (!(op->def & TRAMP_STATUS))
			continue;
		if (!decode(l, op, &z))
			return false;
		of = reads(&z.o[0]) | reads(&z.o[1]);
		switch (z.insn.mnemonic) {
		case ZYDIS_MNEMONIC_CMP:
		case ZYDIS_MNEMONIC_TEST:
		case ZYDIS_MNEMONIC_SUB:
		case ZYDIS_MNEMONIC_ADD:
		case ZYDIS_MNEMONIC_DEC:
		case ZYDIS_MNEMONIC_INC:
			break;
		default:
			return false;
		}
		/* a bound may be in memory, where it was put for want of registers */
		for (unsigned int i = 0; i < 2; i++)
			if (tramp_zydis_is_memory(&z.o[i]) && z.o[i].mem.base != ZYDIS_REGISTER_RSP && z.o[i].mem.base != ZYDIS_REGISTER_RBP)
				return false;
		return of & l->steps && !(of & l->defined & ~l->steps & ~TRAMP_REG(TRAMP_RSP));
	}
	return false;
}

void advise_carried(const struct tramp_flow *flow, uint32_t loop, struct advise_carried *c)
{
	struct loop l = { .flow = flow, .index = loop };
	tramp_regs carried;

	*c = (struct advise_carried){ 0 };
	find_defined(&l);
	carried = flow->blocks[flow->loops[loop].head].live_in & CARRIERS & ~TRAMP_REG(TRAMP_RSP);
	for (unsigned int reg = 0; reg < 64; reg++) {
		bool floats = false;
		enum carried is;

		if (!(carried & l.defined & TRAMP_REG(reg)))
			continue;
		is = kind_of(&l, reg, &floats);
		if (is == STEP)
			l.steps |= TRAMP_REG(reg);
		else if (is == SUM)
			c->sums_floats |= floats;
		else
			c->waits = true;
	}
	for (uint32_t i = 0; i < flow->nblocks; i++) {
		const struct tramp_block *b = &flow->blocks[i];

		if (is_in(&l, i) && b->ends == TRAMP_END_JCC &&
		    ((b->target != TRAMP_NONE && !is_in(&l, b->target)) || (b->next != TRAMP_NONE && !is_in(&l, b->next))))
			c->counted = is_counted(&l, b);
	}
}
