// SPDX-License-Identifier: GPL-3.0-or-later
/* What is appended to a struct tramp_mem_facts: operations, addresses, accesses. */
#include "trampolines/memory/x86-64/facts.h"

enum { TEMP_ADDR = MD_TEMP, SIB_NO_BASE = 5 };

tramp_regs mem_string_reads(const struct md_op *op)
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
	tramp_regs regs = mem_bit(op->base) | mem_bit(op->index);

	if (op->code == MD_SIZE)
		return 0;
	if (op->code == MD_STRING)
		regs |= mem_string_reads(op);
	if (merges(op))
		regs |= mem_bit(op->dst);
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

/* ---- addresses, accesses ---- */

static uint8_t log2_scale(uint8_t scale)
{
	return scale >= 8 ? 3 : scale >= 4 ? 2 : scale >= 2 ? 1 : 0;
}

static void compute_place(struct mem_insn *in, struct mem_place *p, uint8_t width)
{
	mem_add_op(in, (struct md_op){
		.code = MD_LEA, .dst = TEMP_ADDR, .base = p->base, .index = p->index,
		.scale = p->scale, .width = width, .imm = p->disp,
	});
	*p = (struct mem_place){ .base = TEMP_ADDR, .index = MD_NONE };
}

static bool is_rip(ZydisRegister reg)
{
	return reg == ZYDIS_REGISTER_RIP || reg == ZYDIS_REGISTER_EIP;
}

static bool has_no_base(const ZydisDecodedInstruction *zi)
{
	return zi->attributes & ZYDIS_ATTRIB_HAS_SIB && zi->raw.modrm.mod == 0 &&
	       zi->raw.sib.base == SIB_NO_BASE;
}

struct mem_place mem_operand(const struct mem_insn *in, const ZydisDecodedOperand *o)
{
	struct mem_place p = {
		.base = tramp_zydis_gpr(o->mem.base), .index = tramp_zydis_gpr(o->mem.index),
		.scale = log2_scale(o->mem.scale), .disp = o->mem.disp.value,
	};

	if (is_rip(o->mem.base)) {
		p.base = MD_OBJECT;
		p.disp += (int64_t)(in->addr + in->z.insn.length - in->load);
	} else if (o->visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && has_no_base(&in->z.insn)) {
		p.base = MD_NONE;
		p.disp = in->z.insn.raw.disp.value;
	}
	if (p.index == MD_NONE)
		p.scale = 0;
	return p;
}

bool mem_operand_place(struct mem_insn *in, const ZydisDecodedOperand *o, struct mem_place *p)
{
	*p = mem_operand(in, o);
	if (in->z.insn.address_width != 64)
		compute_place(in, p, 4);
	if (o->mem.segment == ZYDIS_REGISTER_GS) {
		in->facts->unmodelled = true;
		return false;
	}
	if (o->mem.segment != ZYDIS_REGISTER_FS)
		return true;
	if (p->base != MD_NONE && p->index != MD_NONE)
		compute_place(in, p, 8);
	if (p->base == MD_NONE)
		p->base = MD_FS;
	else
		p->index = MD_FS;
	return true;
}

void mem_add_access(struct mem_insn *in, const struct mem_place *p, unsigned int bytes,
		    uint8_t kind)
{
	bool wide = bytes > UINT8_MAX;

	if (wide)
		mem_add_op(in, (struct md_op){
			.code = MD_SIZE, .base = MD_NONE, .index = MD_NONE, .imm = bytes,
		});
	mem_add_op(in, (struct md_op){
		.code = MD_ACCESS, .dst = kind, .base = p->base, .index = p->index,
		.scale = p->scale, .width = wide ? 0 : (uint8_t)bytes, .imm = p->disp,
	});
}
