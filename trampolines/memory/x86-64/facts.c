// SPDX-License-Identifier: GPL-3.0-or-later
/* All facts of one instruction. */
#include "trampolines/memory/x86-64/facts.h"

#include <string.h>

/* Registers that an MD_STRING has moved on: the machine knows them. */
static tramp_regs moved_by_strings(const struct tramp_mem_facts *f)
{
	tramp_regs regs = 0;

	for (int i = 0; i < f->nops; i++) {
		if (f->ops[i].code != MD_STRING)
			continue;
		regs |= mem_string_reads(&f->ops[i]);
		if (f->ops[i].index != MD_NONE)
			regs |= TRAMP_REG(TRAMP_RCX);
	}
	return regs;
}

static bool is_cmov(const struct mem_insn *in)
{
	return in->z.insn.meta.category == ZYDIS_CATEGORY_CMOV;
}

/* The register may stay as it was, with its upper half. */
static bool may_keep(const struct mem_insn *in, const ZydisDecodedOperand *o)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_BSF:
	case ZYDIS_MNEMONIC_BSR:
	case ZYDIS_MNEMONIC_CMPXCHG:
	case ZYDIS_MNEMONIC_LAR:
	case ZYDIS_MNEMONIC_LSL:
	case ZYDIS_MNEMONIC_RDSSPD:
	case ZYDIS_MNEMONIC_RDSSPQ:
	case ZYDIS_MNEMONIC_XBEGIN:
		return true;
	default:
		return !is_cmov(in) && !(o->actions & ZYDIS_OPERAND_ACTION_WRITE);
	}
}

/* The result in 64 bits that is short all the same: extensions, counts of bits. */
static void note_short_result(const struct mem_insn *in, uint16_t reg)
{
	struct tramp_mem_facts *f = in->facts;

	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_POPCNT:
	case ZYDIS_MNEMONIC_LZCNT:
	case ZYDIS_MNEMONIC_TZCNT:
	case ZYDIS_MNEMONIC_CRC32:
		f->narrow_u32 |= reg;
		break;
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVSXD:
		f->narrow_s32 |= reg;
		break;
	default:
		break;
	}
}

static void note_narrow(const struct mem_insn *in, const ZydisDecodedOperand *o)
{
	uint16_t reg = (uint16_t)mem_bit(tramp_zydis_gpr(o->reg.value)) & (uint16_t)in->facts->kills;

	if (!reg || may_keep(in, o))
		return;
	if (o->size == 32)
		in->facts->narrow_u32 |= reg;
	if (o->size == 64)
		note_short_result(in, reg);
}

static bool writes_reg(const ZydisDecodedOperand *o)
{
	return tramp_zydis_is_reg(o) && o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
}

/* What the instruction's description does not say: the kernel's part in it. */
static tramp_regs other_writes(const struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_SYSCALL:
		return TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RCX) | TRAMP_REG(TRAMP_R11);
	case ZYDIS_MNEMONIC_INT:
		return TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP);
	default:
		return in->facts->unmodelled ? TRAMP_GPRS : 0;
	}
}

/* Whatever it writes and does not compute is lost. */
static void note_kills(struct mem_insn *in)
{
	struct tramp_mem_facts *f = in->facts;
	tramp_regs written = other_writes(in), computed = moved_by_strings(f);

	if (in->z.insn.mnemonic == ZYDIS_MNEMONIC_NOP)
		return;
	for (int i = 0; i < in->z.insn.operand_count; i++) {
		if (writes_reg(&in->z.o[i]))
			written |= mem_bit(tramp_zydis_gpr(in->z.o[i].reg.value));
	}
	for (int i = 0; i < f->ncomputes; i++)
		computed |= f->writes[i];
	f->kills = written & ~computed;
	for (int i = 0; i < in->z.insn.operand_count; i++) {
		if (writes_reg(&in->z.o[i]))
			note_narrow(in, &in->z.o[i]);
	}
}

static bool is_atomic(const struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_MFENCE:
	case ZYDIS_MNEMONIC_SYSCALL:
		return true;
	case ZYDIS_MNEMONIC_XCHG:
		return in->facts->nops != 0;
	default:
		return in->z.insn.attributes & ZYDIS_ATTRIB_HAS_LOCK;
	}
}

bool tramp_mem_insn(const uint8_t *bytes, size_t avail, uint64_t addr, uint64_t load_addr,
		    struct tramp_mem_facts *facts)
{
	struct mem_insn in;	/* large: not cleared */

	in.addr = addr;
	in.load = load_addr;
	in.facts = facts;
	memset(facts, 0, sizeof(*facts));
	if (!tramp_zydis(bytes, avail, &in.z))
		return false;
	mem_note_accesses(&in);
	if (!facts->unmodelled) {
		mem_note_computes(&in);
		mem_note_flags(&in);
	} else {
		facts->flags_effect = TRAMP_FLAGS_UNKNOWN;
	}
	note_kills(&in);
	facts->atomic = is_atomic(&in);
	return true;
}
