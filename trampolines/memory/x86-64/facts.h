/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One decoded instruction and the struct tramp_mem_facts that is made of it: what the memory/x86-64/facts*.c share.
 *
 * Sources: Intel's manual, volume 2 (what each instruction reads, writes and in which order) and
 * volume 1, chapters 13 (XSAVE) and 15 (AVX-512: fault suppression).
 */
#ifndef SONDE_TRAMPOLINES_MEMORY_X86_64_FACTS_H
#define SONDE_TRAMPOLINES_MEMORY_X86_64_FACTS_H

#include "trampolines/insn/x86-64/zydis.h"
#include "trampolines/memory/memory.h"

struct mem_insn {
	struct tramp_zydis z;
	uint64_t addr, load;
	struct tramp_mem_facts *facts;
};

/* An address as the machine takes it: base + (index << scale) + disp. */
struct mem_place {
	uint8_t base, index, scale;
	int64_t disp;
};

enum { MEM_LINE = 64 };		/* what CLFLUSH and the prefetches work on */

/* ---- memory/x86-64/facts-add.c: what the others append ---- */

_Static_assert(MD_NONE == TRAMP_NO_REG, "the machine numbers registers as the decoder does");

/*
 * The memory operand's address, without its segment.  Not the decoder's in one case: without a
 * base but with REX.B and short addresses, the decoder reports r13.
 */
struct mem_place mem_operand(const struct mem_insn *in, const ZydisDecodedOperand *o);

/* A register of the machine, if it is one of the program's general registers. */
static inline tramp_regs mem_bit(uint8_t reg)
{
	return reg < MD_TEMP ? TRAMP_REG(reg) : 0;
}

/* General registers that an operation of the machine reads; an MD_STRING, to move them on. */
tramp_regs mem_string_reads(const struct md_op *op);
tramp_regs mem_op_reads(const struct md_op *op);

/* A general register that the machine can name, of any width. */
static inline bool mem_is_usable(const ZydisDecodedOperand *o)
{
	return tramp_zydis_is_reg(o) && tramp_zydis_gpr(o->reg.value) != MD_NONE && !tramp_zydis_is_high(o->reg.value);
}

static inline uint8_t mem_reg_of(const ZydisDecodedOperand *o)
{
	return tramp_zydis_gpr(o->reg.value);
}

static inline uint8_t mem_bytes_of(const ZydisDecodedOperand *o)
{
	return (uint8_t)(o->size / 8);
}

/* Both operands are the same register: their difference is zero, whatever it holds. */
static inline bool mem_is_same(const struct mem_insn *in)
{
	return tramp_zydis_is_reg(&in->z.o[0]) && tramp_zydis_is_reg(&in->z.o[1]) && in->z.o[0].reg.value == in->z.o[1].reg.value;
}

/* Appends to facts->computes, with what it needs. */
void mem_add_compute(struct mem_insn *in, struct md_op op);
/* dst = base + imm */
void mem_add_lea(struct mem_insn *in, uint8_t dst, uint8_t base, int64_t imm, uint8_t width);

/* Appends to facts->ops and facts->need. */
void mem_add_op(struct mem_insn *in, struct md_op op);
void mem_add_extra(struct mem_insn *in, enum tramp_mem_store what, uint8_t reg, unsigned int bytes);

/*
 * Where the memory operand is.  Appends what computes temporaries 16 and 17 for it.  False: that is
 * not known (GS); the instruction is unmodelled then.
 */
bool mem_operand_place(struct mem_insn *in, const ZydisDecodedOperand *o, struct mem_place *place);
void mem_add_access(struct mem_insn *in, const struct mem_place *place, unsigned int bytes,
		    uint8_t kind);

/* ---- memory/x86-64/facts-access.c: the accesses ---- */

void mem_note_accesses(struct mem_insn *in);

/* ---- memory/x86-64/facts-special.c: string instructions, bit strings, areas, lines ---- */

/* True: its accesses are noted, or it is unmodelled; false: it is an ordinary one. */
bool mem_note_special(struct mem_insn *in);

/* ---- memory/x86-64/facts-lanes.c: accesses to some lanes of a vector ---- */

/* As above. */
bool mem_note_lanes(struct mem_insn *in);

/* ---- memory/x86-64/facts-bits.c: single bits, rotations, what reads flags ---- */

/* False: the instruction is none of these. */
bool mem_note_bits(struct mem_insn *in);

/* ---- memory/x86-64/facts-compute.c, memory/x86-64/facts-flags.c ---- */

void mem_note_computes(struct mem_insn *in);
void mem_note_flags(struct mem_insn *in);

#endif
