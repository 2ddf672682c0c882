// SPDX-License-Identifier: GPL-3.0-or-later
#include "trampolines/memory/x86-64/facts.h"

static uint8_t kind_of(const struct mem_insn *in, const ZydisDecodedOperand *o)
{
	bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	/* Merging is by lanes that are not written, never by reading. */
	if (in->z.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX && writes)
		return MD_STORE;
	return reads && writes ? MD_MODIFY : writes ? MD_STORE : MD_LOAD;
}

static void note_operand(struct mem_insn *in, const ZydisDecodedOperand *o)
{
	struct mem_place place;

	if (mem_operand_place(in, o, &place))
		mem_add_access(in, &place, o->size / 8, kind_of(in, o));
}

/* ---- by the stack pointer ---- */

static unsigned int word(const struct mem_insn *in)
{
	return in->z.insn.operand_width == 16 ? 2 : 8;
}

static void note_stack(struct mem_insn *in, int64_t disp, unsigned int bytes, enum md_kind kind)
{
	mem_add_access(in, &(struct mem_place){ .base = MD_RSP, .index = MD_NONE, .disp = disp },
		       bytes, (uint8_t)kind | MD_STACK);
}

/* Pushes what is in memory: `push (%rax)`, `call *(%rax)`. */
static void note_push(struct mem_insn *in, unsigned int bytes)
{
	if (tramp_zydis_is_memory(&in->z.o[0]) && in->z.o[0].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		note_operand(in, &in->z.o[0]);
	note_stack(in, -(int64_t)bytes, bytes, MD_STORE);
}

/* The address of the operand is computed with the stack pointer that has moved. */
static void note_pop(struct mem_insn *in, unsigned int bytes)
{
	struct mem_place place;

	note_stack(in, 0, bytes, MD_LOAD);
	if (!tramp_zydis_is_memory(&in->z.o[0]) || in->z.o[0].visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT)
		return;
	if (in->z.o[0].mem.base == ZYDIS_REGISTER_RSP || in->z.o[0].mem.base == ZYDIS_REGISTER_ESP)
		in->z.o[0].mem.disp.value += bytes;
	if (mem_operand_place(in, &in->z.o[0], &place))
		mem_add_access(in, &place, bytes, MD_STORE);
}

static bool is_segment(const ZydisDecodedOperand *o)
{
	return tramp_zydis_is_reg(o) && o->reg.value >= ZYDIS_REGISTER_ES &&
	       o->reg.value <= ZYDIS_REGISTER_GS;
}

static void note_leave(struct mem_insn *in)
{
	if (in->z.insn.operand_width == 16) {
		in->facts->unmodelled = true;
		return;
	}
	mem_add_access(in, &(struct mem_place){ .base = TRAMP_RBP, .index = MD_NONE }, 8,
		       MD_LOAD | MD_STACK);
}

/* With a nesting level it copies frame pointers; nobody does that. */
static void note_enter(struct mem_insn *in)
{
	if (in->z.insn.operand_width == 16 || in->z.o[1].imm.value.u & 31)
		in->facts->unmodelled = true;
	else
		note_stack(in, -8, 8, MD_STORE);
}

static bool note_stack_insn(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		note_push(in, word(in));
		return true;
	case ZYDIS_MNEMONIC_POP:
		in->facts->unmodelled = is_segment(&in->z.o[0]);
		note_pop(in, word(in));
		return true;
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		note_pop(in, word(in));
		return true;
	case ZYDIS_MNEMONIC_CALL:
		note_push(in, 8);
		return true;
	case ZYDIS_MNEMONIC_RET:
		note_stack(in, 0, 8, MD_LOAD);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		note_leave(in);
		return true;
	case ZYDIS_MNEMONIC_ENTER:
		note_enter(in);
		return true;
	default:
		return false;
	}
}

/* ---- all ---- */

/* Privileged, of processors that no one has, or changing state that the machine relies on. */
static bool is_strange(const struct mem_insn *in)
{
	switch (in->z.insn.meta.category) {
	case ZYDIS_CATEGORY_AMX_TILE:
	case ZYDIS_CATEGORY_AVX512_4FMAPS:
	case ZYDIS_CATEGORY_AVX512_4VNNIW:
	case ZYDIS_CATEGORY_ENQCMD:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_KNC:
	case ZYDIS_CATEGORY_KNCMASK:
	case ZYDIS_CATEGORY_KNCSCALAR:
	case ZYDIS_CATEGORY_PADLOCK:
	case ZYDIS_CATEGORY_PCONFIG:
	case ZYDIS_CATEGORY_SGX:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_UINTR:
	case ZYDIS_CATEGORY_VTX:
		return true;
	default:
		return in->z.insn.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR;
	}
}

static bool is_strange_insn(const struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_CLRSSBSY:
	case ZYDIS_MNEMONIC_RSTORSSP:
	case ZYDIS_MNEMONIC_SAVEPREVSSP:
	case ZYDIS_MNEMONIC_WRSSD:
	case ZYDIS_MNEMONIC_WRSSQ:
	case ZYDIS_MNEMONIC_WRUSSD:
	case ZYDIS_MNEMONIC_WRUSSQ:
	case ZYDIS_MNEMONIC_IRET:
	case ZYDIS_MNEMONIC_IRETD:
	case ZYDIS_MNEMONIC_IRETQ:
	case ZYDIS_MNEMONIC_SYSENTER:
	case ZYDIS_MNEMONIC_LLWPCB:
	case ZYDIS_MNEMONIC_SLWPCB:
	case ZYDIS_MNEMONIC_LWPINS:
	case ZYDIS_MNEMONIC_LWPVAL:
	case ZYDIS_MNEMONIC_MONITOR:
	case ZYDIS_MNEMONIC_MONITORX:
	case ZYDIS_MNEMONIC_UMONITOR:
	case ZYDIS_MNEMONIC_WRFSBASE:	/* MD_FS is known for a chunk */
	case ZYDIS_MNEMONIC_WRGSBASE:	/* the pool is there */
	case ZYDIS_MNEMONIC_LFS:
	case ZYDIS_MNEMONIC_LGS:
	case ZYDIS_MNEMONIC_LSS:
	case ZYDIS_MNEMONIC_STD:	/* string instructions are taken to go up */
	case ZYDIS_MNEMONIC_XBEGIN:	/* an abort takes back what was accessed */
		return true;
	case ZYDIS_MNEMONIC_MOV:
		return is_segment(&in->z.o[0]);
	case ZYDIS_MNEMONIC_PAUSE:	/* with REX.B it is an xchg; the decoder errs */
		return in->z.insn.raw.rex.B;
	default:
		return false;
	}
}

/* They name memory and do not touch it.  Bounds are off: Linux has no MPX any more. */
static bool touches_nothing(const struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_ENDBR32:
	case ZYDIS_MNEMONIC_ENDBR64:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
		return true;
	default:
		return in->z.insn.meta.category == ZYDIS_CATEGORY_MPX;
	}
}

static void note_ordinary(struct mem_insn *in)
{
	for (int i = 0; i < in->z.insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &in->z.o[i];

		if (!tramp_zydis_is_memory(o) || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		if (o->mem.type != ZYDIS_MEMOP_TYPE_MEM || o->size < 8 ||
		    o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN)
			in->facts->unmodelled = true;
		else
			note_operand(in, o);
	}
}

void mem_note_accesses(struct mem_insn *in)
{
	if (touches_nothing(in))
		return;
	if (is_strange(in) || is_strange_insn(in))
		in->facts->unmodelled = true;
	else if (!note_stack_insn(in) && !mem_note_special(in) && !mem_note_lanes(in))
		note_ordinary(in);
}
