// SPDX-License-Identifier: GPL-3.0-or-later
#include <cpuid.h>

#include "trampolines/memory/x86-64/facts.h"

enum {
	TEMP_ADDR = MD_TEMP, TEMP_BIT = MD_TEMP + 2,
	FXSAVE_BYTES = 512,
	XSAVE_HEADER = 64,
	XSAVE_LEAF = 0xd,
	MOVDIR_BYTES = 64,
};

/* ---- string instructions ---- */

struct string_shape {
	uint16_t mnemonic;
	uint8_t string;		/* enum md_string */
	uint8_t width;
};

static const struct string_shape string_shapes[] = {
	{ ZYDIS_MNEMONIC_MOVSB, MD_MOVS, 1 }, { ZYDIS_MNEMONIC_MOVSW, MD_MOVS, 2 },
	{ ZYDIS_MNEMONIC_MOVSD, MD_MOVS, 4 }, { ZYDIS_MNEMONIC_MOVSQ, MD_MOVS, 8 },
	{ ZYDIS_MNEMONIC_STOSB, MD_STOS, 1 }, { ZYDIS_MNEMONIC_STOSW, MD_STOS, 2 },
	{ ZYDIS_MNEMONIC_STOSD, MD_STOS, 4 }, { ZYDIS_MNEMONIC_STOSQ, MD_STOS, 8 },
	{ ZYDIS_MNEMONIC_LODSB, MD_LODS, 1 }, { ZYDIS_MNEMONIC_LODSW, MD_LODS, 2 },
	{ ZYDIS_MNEMONIC_LODSD, MD_LODS, 4 }, { ZYDIS_MNEMONIC_LODSQ, MD_LODS, 8 },
	{ ZYDIS_MNEMONIC_CMPSB, MD_CMPS, 1 }, { ZYDIS_MNEMONIC_CMPSW, MD_CMPS, 2 },
	{ ZYDIS_MNEMONIC_CMPSD, MD_CMPS, 4 }, { ZYDIS_MNEMONIC_CMPSQ, MD_CMPS, 8 },
	{ ZYDIS_MNEMONIC_SCASB, MD_SCAS, 1 }, { ZYDIS_MNEMONIC_SCASW, MD_SCAS, 2 },
	{ ZYDIS_MNEMONIC_SCASD, MD_SCAS, 4 }, { ZYDIS_MNEMONIC_SCASQ, MD_SCAS, 8 },
};

static bool has_segment(const struct mem_insn *in)
{
	return in->z.insn.attributes & (ZYDIS_ATTRIB_HAS_SEGMENT_FS | ZYDIS_ATTRIB_HAS_SEGMENT_GS);
}

static void note_string(struct mem_insn *in, const struct string_shape *shape)
{
	bool until = in->z.insn.attributes & (ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE);
	bool rep = in->z.insn.attributes & ZYDIS_ATTRIB_HAS_REP;

	if (in->z.insn.address_width != 64 || has_segment(in)) {
		in->facts->unmodelled = true;
		return;
	}
	mem_add_op(in, (struct md_op){
		.code = MD_STRING, .dst = shape->string, .base = MD_NONE,
		.index = rep || until ? TRAMP_RCX : MD_NONE, .scale = until, .width = shape->width,
	});
	if (until)
		mem_add_extra(in, TRAMP_STORE_GPR_AFTER, TRAMP_RCX, 8);
}

/* movsd and cmpsd are names of vector instructions, too. */
static bool note_if_string(struct mem_insn *in)
{
	if (in->z.insn.meta.category != ZYDIS_CATEGORY_STRINGOP)
		return false;
	for (size_t i = 0; i < sizeof(string_shapes) / sizeof(string_shapes[0]); i++) {
		if (string_shapes[i].mnemonic != in->z.insn.mnemonic)
			continue;
		note_string(in, &string_shapes[i]);
		return true;
	}
	in->facts->unmodelled = true;
	return true;
}

/* ---- bit strings ---- */

/*
 * With the bit's number in a register, it may be far from the operand's address: the processor
 * accesses the word that holds it, at operand + (number >> log2(bits)) * bytes; the number is
 * signed.
 */
static void note_bit_string(struct mem_insn *in, uint8_t kind)
{
	uint8_t bytes = (uint8_t)(in->z.o[0].size / 8), log2 = bytes == 8 ? 3 : bytes == 4 ? 2 : 1;
	struct mem_place place;

	if (!mem_operand_place(in, &in->z.o[0], &place))
		return;
	mem_add_op(in, (struct md_op){
		.code = MD_SEXT, .dst = TEMP_BIT, .base = tramp_zydis_gpr(in->z.o[1].reg.value),
		.index = MD_NONE, .width = bytes,
	});
	mem_add_op(in, (struct md_op){
		.code = MD_SAR, .dst = TEMP_BIT, .base = TEMP_BIT, .index = MD_NONE, .width = 8,
		.imm = log2 + 3,
	});
	mem_add_op(in, (struct md_op){
		.code = MD_LEA, .dst = TEMP_ADDR, .base = place.base, .index = place.index,
		.scale = place.scale, .width = 8, .imm = place.disp,
	});
	mem_add_access(in, &(struct mem_place){
		.base = TEMP_ADDR, .index = TEMP_BIT, .scale = log2 }, bytes, kind);
}

static bool note_if_bit_string(struct mem_insn *in)
{
	if (!tramp_zydis_is_memory(&in->z.o[0]) || !tramp_zydis_is_reg(&in->z.o[1]))
		return false;
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
		note_bit_string(in, MD_LOAD);
		return true;
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		note_bit_string(in, MD_MODIFY);
		return true;
	default:
		return false;
	}
}

/* ---- areas ---- */

/* The end of the last component that XCR0 enables, in the standard format. */
static unsigned int xsave_bytes(void)
{
	unsigned int a, b, c, d;

	if (!__get_cpuid_count(XSAVE_LEAF, 0, &a, &b, &c, &d) || b < FXSAVE_BYTES + XSAVE_HEADER)
		return FXSAVE_BYTES + XSAVE_HEADER;
	return b;
}

/* In the compacted format, where each component follows the one before. */
static unsigned int xsavec_bytes(void)
{
	unsigned int a, b, c, d, low, high, bytes = FXSAVE_BYTES + XSAVE_HEADER;
	uint64_t enabled;

	if (!__get_cpuid_count(XSAVE_LEAF, 0, &low, &b, &c, &high))
		return bytes;
	enabled = (uint64_t)high << 32 | low;
	for (unsigned int i = 2; i < 63; i++) {
		if (!(enabled >> i & 1) || !__get_cpuid_count(XSAVE_LEAF, i, &a, &b, &c, &d))
			continue;
		if (c & 2)
			bytes = (bytes + 63) & ~63u;
		bytes += a;
	}
	return bytes;
}

/* cpuid leads to the hypervisor in virtual machines, and takes its time there. */
static unsigned int area_bytes(bool compacted)
{
	static unsigned int sizes[2];
	unsigned int bytes = __atomic_load_n(&sizes[compacted], __ATOMIC_RELAXED);

	if (!bytes) {
		bytes = compacted ? xsavec_bytes() : xsave_bytes();
		__atomic_store_n(&sizes[compacted], bytes, __ATOMIC_RELAXED);
	}
	return bytes;
}

static void note_area(struct mem_insn *in, unsigned int bytes, uint8_t kind)
{
	struct mem_place place;

	if (mem_operand_place(in, &in->z.o[0], &place))
		mem_add_access(in, &place, bytes, kind);
}

/* ---- lines ---- */

/* The line of the cache that holds the address. */
static void note_line(struct mem_insn *in, uint8_t kind)
{
	struct mem_place place;

	if (in->z.insn.mnemonic == ZYDIS_MNEMONIC_CLZERO)
		place = (struct mem_place){ .base = TRAMP_RAX, .index = MD_NONE };
	else if (!mem_operand_place(in, &in->z.o[0], &place))
		return;
	if (place.index != MD_NONE || place.disp || place.base == MD_NONE) {
		mem_add_op(in, (struct md_op){
			.code = MD_LEA, .dst = TEMP_ADDR, .base = place.base,
			.index = place.index, .scale = place.scale, .width = 8, .imm = place.disp,
		});
		place.base = TEMP_ADDR;
	}
	mem_add_op(in, (struct md_op){
		.code = MD_AND, .dst = TEMP_ADDR, .base = place.base, .index = MD_NONE, .width = 8,
		.imm = -MEM_LINE,
	});
	mem_add_access(in, &(struct mem_place){ .base = TEMP_ADDR, .index = MD_NONE }, MEM_LINE,
		       kind);
}

/* ---- others ---- */

/* 64 bytes from the memory operand to where the register points. */
static void note_movdir64b(struct mem_insn *in)
{
	struct mem_place place;

	if (in->z.insn.address_width != 64 || !tramp_zydis_is_memory(&in->z.o[1])) {
		in->facts->unmodelled = true;
		return;
	}
	if (!mem_operand_place(in, &in->z.o[1], &place))
		return;
	mem_add_access(in, &place, MOVDIR_BYTES, MD_LOAD);
	place = (struct mem_place){ .index = MD_NONE, .base = tramp_zydis_gpr(
		tramp_zydis_is_reg(&in->z.o[0]) ? in->z.o[0].reg.value : in->z.o[0].mem.base) };
	mem_add_access(in, &place, MOVDIR_BYTES, MD_STORE);
}

static void note_xlat(struct mem_insn *in)
{
	if (in->z.insn.address_width != 64 || has_segment(in)) {
		in->facts->unmodelled = true;
		return;
	}
	mem_add_op(in, (struct md_op){
		.code = MD_ZEXT, .dst = TEMP_ADDR, .base = TRAMP_RAX, .index = MD_NONE, .width = 1,
	});
	mem_add_access(in, &(struct mem_place){ .base = TRAMP_RBX, .index = TEMP_ADDR }, 1,
		       MD_LOAD);
}

bool mem_note_special(struct mem_insn *in)
{
	switch (in->z.insn.mnemonic) {
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		note_area(in, area_bytes(false), MD_STORE);
		return true;
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
		note_area(in, area_bytes(true), MD_STORE);
		return true;
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
		note_area(in, area_bytes(false), MD_LOAD);
		return true;
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
		note_line(in, MD_PREFETCH);
		return true;
	case ZYDIS_MNEMONIC_CLZERO:
		note_line(in, MD_STORE);
		return true;
	case ZYDIS_MNEMONIC_MOVDIR64B:
		note_movdir64b(in);
		return true;
	case ZYDIS_MNEMONIC_XLAT:
		note_xlat(in);
		return true;
	default:
		break;
	}
	if (in->z.insn.meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    in->z.insn.meta.category == ZYDIS_CATEGORY_PREFETCHWT1) {
		note_line(in, MD_PREFETCH);
		return true;
	}
	return note_if_string(in) || note_if_bit_string(in);
}
