// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/memory/x86-64/facts.h"

#include <string.h>

static tramp_regs bit(uint8_t reg)
{
	return reg < MD_TEMP ? TRAMP_REG(reg) : 0;
}

static tramp_regs string_reads(const struct md_op *op)
{
	tramp_regs source = TRAMP_REG(TRAMP_RSI), target = TRAMP_REG(TRAMP_RDI);

	switch (op->dst) {
	case MD_LODS:
		return source;
	case MD_STOS:
	case MD_SCAS:
		return target;
	default:
		return source | target;
	}
}

/* Results of one or two bytes leave the rest of the register as it was. */
static bool merges(const struct md_op *op)
{
	switch (op->code) {
	case MD_LEA:
	case MD_SUB:
	case MD_AND:
	case MD_OR:
	case MD_XOR:
	case MD_MUL:
	case MD_SHL:
	case MD_SHR:
	case MD_SAR:
	case MD_ROL:
	case MD_MULHU:
	case MD_MULHS:
	case MD_BSWAP:
	case MD_SELECT:
		return op->width < 4;
	default:
		return false;
	}
}

tramp_regs mem_op_reads(const struct md_op *op)
{
	tramp_regs regs = bit(op->base) | bit(op->index);

	if (op->code == MD_SIZE)
		return 0;
	if (op->code == MD_STRING)
		regs |= string_reads(op);
	if (merges(op))
		regs |= bit(op->dst);
	return regs;
}

void mem_add_op(struct mem_insn *in, struct md_op op)
{
	struct tramp_mem_facts *f = in->facts;

	if (f->nops == TRAMP_MEM_OPS) {
		f->unmodelled = true;
		return;
	}
	f->ops[f->nops++] = op;
	f->need |= mem_op_reads(&op);
}

/* ---- computing ---- */

static bool is_temp(uint8_t reg)
{
	return reg >= MD_TEMP && reg < MD_FS;
}

/* computes[] reads a temporary: what its last computation needs, this one does, too. */
static void add_temp_needs(struct tramp_mem_facts *f, uint8_t reg)
{
	int next = f->ncomputes;

	for (int i = next; is_temp(reg) && i-- > 0;) {
		if (f->computes[i].dst != reg)
			continue;
		f->reads[next] |= f->reads[i];
		f->conds[next] |= f->conds[i];
		return;
	}
}

void mem_add_compute(struct mem_insn *in, struct md_op op)
{
	struct tramp_mem_facts *f = in->facts;

	f->reads[f->ncomputes] = mem_op_reads(&op);
	f->conds[f->ncomputes] = op.code == MD_SELECT ? (uint16_t)(1u << op.scale) : 0;
	add_temp_needs(f, op.base);
	add_temp_needs(f, op.index);
	f->writes[f->ncomputes] = is_temp(op.dst) ? 0 : TRAMP_REG(op.dst);
	f->computes[f->ncomputes++] = op;
}

void mem_add_lea(struct mem_insn *in, uint8_t dst, uint8_t base, int64_t imm, uint8_t width)
{
	mem_add_compute(in, (struct md_op){
		.code = MD_LEA, .dst = dst, .base = base, .index = MD_NONE, .width = width,
		.imm = imm,
	});
}

/* ---- all ---- */

void mem_add_extra(struct mem_insn *in, enum tramp_mem_store what, uint8_t reg, unsigned int bytes)
{
	struct tramp_mem_facts *f = in->facts;

	if (f->nextras == TRAMP_MEM_EXTRAS) {
		f->unmodelled = true;
		return;
	}
	f->extras[f->nextras++] = (struct tramp_mem_extra){
		.what = (uint8_t)what, .reg = reg, .bytes = (uint8_t)bytes,
	};
}

/* Registers that an MD_STRING has moved on: the machine knows them. */
static tramp_regs moved_by_strings(const struct tramp_mem_facts *f)
{
	tramp_regs regs = 0;

	for (int i = 0; i < f->nops; i++) {
		if (f->ops[i].code != MD_STRING)
			continue;
		regs |= string_reads(&f->ops[i]);
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
	uint16_t reg = (uint16_t)bit(tramp_zydis_gpr(o->reg.value)) & (uint16_t)in->facts->kills;

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
			written |= bit(tramp_zydis_gpr(in->z.o[i].reg.value));
	}
	for (int i = 0; i < f->ncomputes; i++)
		computed |= f->writes[i];
	f->kills = written & ~computed;
	for (int i = 0; i < in->z.insn.operand_count; i++) {
		if (writes_reg(&in->z.o[i]))
			note_narrow(in, &in->z.o[i]);
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
	return true;
}
