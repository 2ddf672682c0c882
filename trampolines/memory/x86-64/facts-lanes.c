// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Accesses to some lanes of a vector: gathers, scatters, masked loads and stores.
 *
 * A lane whose mask bit is 0 is not accessed.  For loads that is so where the manual says that
 * faults are suppressed; the exception classes that end in NF do not, and load all.  An element
 * that is broadcast counts as accessed whatever the mask says.
 */
#include "trampolines/memory/x86-64/facts.h"

enum {
	TEMP_ADDR = MD_TEMP,
	MASKMOVDQU_LANES = 16,
	MASKMOVQ_LANES = 8,
};

struct lanes {
	uint8_t code, kind;
	uint8_t count, width;	/* bytes of a lane */
	uint8_t index, scale;	/* GATHER: bytes of an index */
	uint8_t mask;		/* enum md_mask */
};

static void compute_base(struct mem_insn *in, struct mem_place *p)
{
	mem_add_op(in, (struct md_op){
		.code = MD_LEA, .dst = TEMP_ADDR, .base = p->base, .index = p->index,
		.scale = p->scale, .width = 8, .imm = p->disp,
	});
	*p = (struct mem_place){ .base = TEMP_ADDR, .index = MD_NONE };
}

static void add_lanes(struct mem_insn *in, struct mem_place p, const struct lanes *l)
{
	bool gather = l->code == MD_GATHER;

	if (p.disp != (int32_t)p.disp || (gather && p.index != MD_NONE))
		compute_base(in, &p);
	mem_add_op(in, (struct md_op){
		.code = l->code, .dst = l->kind, .base = p.base, .index = p.index,
		.scale = gather ? l->scale : p.scale, .width = l->width,
		.imm = (int64_t)((uint32_t)p.disp | (uint64_t)l->count << 32 |
				 (uint64_t)l->index << 40 | (uint64_t)l->mask << 44),
	});
}

static void add_operand(struct mem_insn *in, const ZydisDecodedOperand *o, const struct lanes *l)
{
	struct mem_place place;

	if (mem_operand_place(in, o, &place))
		add_lanes(in, place, l);
}

/* ---- what goes into the stream ---- */

static uint8_t vector_number(ZydisRegister reg)
{
	if (reg >= ZYDIS_REGISTER_ZMM0)
		return (uint8_t)(reg - ZYDIS_REGISTER_ZMM0);
	if (reg >= ZYDIS_REGISTER_YMM0)
		return (uint8_t)(reg - ZYDIS_REGISTER_YMM0);
	return (uint8_t)(reg - ZYDIS_REGISTER_XMM0);
}

static unsigned int vector_bytes(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_ZMM0 ? 64 : reg >= ZYDIS_REGISTER_YMM0 ? 32 : 16;
}

/* The lowest @bytes of a vector register: 8, 16, 32 or 64. */
static void add_vector(struct mem_insn *in, ZydisRegister reg, unsigned int bytes)
{
	enum tramp_mem_store what = bytes == 64 ? TRAMP_STORE_ZMM :
				    bytes == 32 ? TRAMP_STORE_YMM :
				    bytes == 16 ? TRAMP_STORE_XMM : TRAMP_STORE_XMM_LOW;

	mem_add_extra(in, what, vector_number(reg), bytes);
}

static void add_mask(struct mem_insn *in)
{
	mem_add_extra(in, TRAMP_STORE_MASK, (uint8_t)(in->z.insn.avx.mask.reg - ZYDIS_REGISTER_K0), 8);
}

/* ---- gathers and scatters ---- */

static unsigned int index_bytes(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VGATHERDPS:
	case ZYDIS_MNEMONIC_VGATHERDPD:
	case ZYDIS_MNEMONIC_VPGATHERDD:
	case ZYDIS_MNEMONIC_VPGATHERDQ:
	case ZYDIS_MNEMONIC_VSCATTERDPS:
	case ZYDIS_MNEMONIC_VSCATTERDPD:
	case ZYDIS_MNEMONIC_VPSCATTERDD:
	case ZYDIS_MNEMONIC_VPSCATTERDQ:
		return 4;
	case ZYDIS_MNEMONIC_VGATHERQPS:
	case ZYDIS_MNEMONIC_VGATHERQPD:
	case ZYDIS_MNEMONIC_VPGATHERQD:
	case ZYDIS_MNEMONIC_VPGATHERQQ:
	case ZYDIS_MNEMONIC_VSCATTERQPS:
	case ZYDIS_MNEMONIC_VSCATTERQPD:
	case ZYDIS_MNEMONIC_VPSCATTERQD:
	case ZYDIS_MNEMONIC_VPSCATTERQQ:
		return 8;
	default:		/* prefetches of many lanes: Knights Landing's alone */
		return 0;
	}
}

static const ZydisDecodedOperand *memory_operand(const struct mem_insn *in)
{
	for (int i = 0; i < in->z.insn.operand_count; i++) {
		if (tramp_zydis_is_memory(&in->z.o[i]))
			return &in->z.o[i];
	}
	return NULL;
}

static unsigned int least(unsigned int a, unsigned int b)
{
	return a < b ? a : b;
}

static void note_gather(struct mem_insn *in, const ZydisDecodedOperand *m)
{
	bool scatter = m == &in->z.o[0], evex = in->z.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
	ZydisRegister data = in->z.o[scatter ? 2 : 0].reg.value;
	struct lanes l = {
		.code = MD_GATHER, .kind = scatter ? MD_STORE : MD_LOAD,
		.width = (uint8_t)(m->element_size / 8),
		.index = (uint8_t)index_bytes(in->z.insn.mnemonic),
		.scale = (uint8_t)__builtin_ctz(m->mem.scale | 8),
		.mask = evex ? MD_MASK_BITS : MD_MASK_VECTOR,
	};

	if (!l.index || in->z.insn.address_width != 64) {
		in->facts->unmodelled = true;
		return;
	}
	l.count = (uint8_t)least(vector_bytes(m->mem.index) / l.index,
				 vector_bytes(data) / l.width);
	add_operand(in, m, &l);
	add_vector(in, m->mem.index, (unsigned int)l.count * l.index);
	if (evex)
		add_mask(in);
	else
		add_vector(in, in->z.o[2].reg.value, (unsigned int)l.count * l.width);
}

/* ---- masks in vector registers ---- */

/* vmaskmovps and the like: the mask is the second operand, for loads and stores. */
static void note_vmaskmov(struct mem_insn *in, const ZydisDecodedOperand *m)
{
	struct lanes l = {
		.code = MD_MASKED, .kind = m == &in->z.o[0] ? MD_STORE : MD_LOAD,
		.count = (uint8_t)m->element_count, .width = (uint8_t)(m->element_size / 8),
		.mask = MD_MASK_VECTOR,
	};

	add_operand(in, m, &l);
	add_vector(in, in->z.o[1].reg.value, m->size / 8);
}

static void note_maskmov(struct mem_insn *in, const ZydisDecodedOperand *m)
{
	bool mmx = in->z.insn.mnemonic == ZYDIS_MNEMONIC_MASKMOVQ;
	struct lanes l = {
		.code = MD_MASKED, .kind = MD_STORE, .width = 1, .mask = MD_MASK_BYTES,
		.count = mmx ? MASKMOVQ_LANES : MASKMOVDQU_LANES,
	};

	add_operand(in, m, &l);
	if (mmx)
		mem_add_extra(in, TRAMP_STORE_MMX,
			      (uint8_t)(in->z.o[1].reg.value - ZYDIS_REGISTER_MM0), 8);
	else
		add_vector(in, in->z.o[1].reg.value, 16);
}

/* ---- masks in mask registers ---- */

static bool is_masked(const struct mem_insn *in)
{
	return in->z.insn.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX &&
	       in->z.insn.avx.mask.mode > ZYDIS_MASK_MODE_DISABLED &&
	       in->z.insn.avx.mask.reg != ZYDIS_REGISTER_K0;
}

/* Class E4NF in the manual; the decoder does not know. */
static bool is_nf(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VCVTNE2PS2BF16:
	case ZYDIS_MNEMONIC_VDBPSADBW:
	case ZYDIS_MNEMONIC_VGF2P8AFFINEINVQB:
	case ZYDIS_MNEMONIC_VGF2P8AFFINEQB:
		return true;
	default:
		return false;
	}
}

static bool loads_all(const struct mem_insn *in)
{
	if (is_nf(in->z.insn.mnemonic))
		return true;
	switch (in->z.insn.meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1:
	case ZYDIS_EXCEPTION_CLASS_E2:
	case ZYDIS_EXCEPTION_CLASS_E3:
	case ZYDIS_EXCEPTION_CLASS_E4:
	case ZYDIS_EXCEPTION_CLASS_E5:
	case ZYDIS_EXCEPTION_CLASS_E6:
	case ZYDIS_EXCEPTION_CLASS_E10:
	case ZYDIS_EXCEPTION_CLASS_E11:
		return in->z.insn.avx.broadcast.mode != ZYDIS_BROADCAST_MODE_INVALID;
	default:
		return true;
	}
}

/* Complex numbers of two halves have one mask bit. */
static bool is_complex(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_VFCMADDCPH:
	case ZYDIS_MNEMONIC_VFCMADDCSH:
	case ZYDIS_MNEMONIC_VFCMULCPH:
	case ZYDIS_MNEMONIC_VFCMULCSH:
	case ZYDIS_MNEMONIC_VFMADDCPH:
	case ZYDIS_MNEMONIC_VFMADDCSH:
	case ZYDIS_MNEMONIC_VFMULCPH:
	case ZYDIS_MNEMONIC_VFMULCSH:
		return true;
	default:
		return false;
	}
}

static bool is_vector(const ZydisDecodedOperand *o)
{
	return tramp_zydis_is_reg(o) && o->reg.value >= ZYDIS_REGISTER_XMM0 &&
	       o->reg.value <= ZYDIS_REGISTER_ZMM31;
}

/*
 * A mask bit is for an element of the destination.  Where the memory has fewer, as in conversions
 * to something smaller, the rest of the bits does nothing.
 */
static unsigned int count_lanes(const struct mem_insn *in, const ZydisDecodedOperand *m)
{
	if (is_complex(in->z.insn.mnemonic))
		return m->size / 32;
	if (!is_vector(&in->z.o[0]))
		return m->element_count;
	return least(in->z.o[0].element_count, m->element_count);
}

static bool is_packed(const struct mem_insn *in)
{
	return in->z.insn.meta.category == ZYDIS_CATEGORY_EXPAND ||
	       in->z.insn.meta.category == ZYDIS_CATEGORY_COMPRESS;
}

/* False: the mask makes no difference to what is accessed. */
static bool note_masked(struct mem_insn *in, const ZydisDecodedOperand *m)
{
	bool store = m == &in->z.o[0];
	unsigned int count = count_lanes(in, m);
	struct lanes l = {
		.code = is_packed(in) ? MD_PACKED : MD_MASKED,
		.kind = store ? MD_STORE : MD_LOAD, .mask = MD_MASK_BITS,
	};

	if (!store && loads_all(in))
		return false;
	if (!count || m->size % (8 * count)) {
		in->facts->unmodelled = true;
		return true;
	}
	l.count = (uint8_t)count;
	l.width = (uint8_t)(m->size / 8 / count);
	add_operand(in, m, &l);
	add_mask(in);
	return true;
}

bool mem_note_lanes(struct mem_insn *in)
{
	const ZydisDecodedOperand *m = memory_operand(in);

	if (!m)
		return false;
	if (m->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		note_gather(in, m);
		return true;
	}
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		note_vmaskmov(in, m);
		return true;
	case ZYDIS_MNEMONIC_MASKMOVQ:
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
		note_maskmov(in, m);
		return true;
	default:
		return is_masked(in) && note_masked(in, m);
	}
}
