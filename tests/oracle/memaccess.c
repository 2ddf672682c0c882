// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * After the Intel manual, volumes 1 (chapter 13: XSAVE) and 2.  A lane whose mask bit is 0 is not accessed where faults
 * are suppressed for it: in stores, and in loads of the exception classes that do not end in NF.
 */
#include "tests/oracle/memaccess.h"

#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <string.h>

#include "tests/oracle/memregs.h"
#include "tests/oracle/oracle.h"

struct decoded {
	ZydisDecodedInstruction i;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	const ZydisDecodedOperand *m; /* the explicit memory operand that is accessed; NULL: none */
	bool nothing;		      /* surely */
};

struct list {
	const struct decoded *d;
	const struct user_regs_struct *r;
	pid_t tid;
	struct access *v;
	size_t n;
};

static const char *const load = "load", *const store = "store", *const modify = "modify", *const prefetch = "prefetch";

/* ---- decoding ---- */

static bool names_only(const ZydisDecodedInstruction *i)
{
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_NOP:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ENDBR32:
	case ZYDIS_MNEMONIC_ENDBR64:
		return true;
	default:
		return i->meta.category == ZYDIS_CATEGORY_MPX;
	}
}

struct decoded *access_decode(const uint8_t *bytes, size_t left)
{
	struct decoded *d = calloc(1, sizeof(*d));
	ZydisDecoder decoder;
	bool memory = false;

	if (!d)
		die("no memory");
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes, left < 15 ? left : 15, &d->i, d->o))) {
		free(d);
		return NULL;
	}
	for (int k = 0; k < d->i.operand_count; k++) {
		if (d->o[k].type != ZYDIS_OPERAND_TYPE_MEMORY || d->o[k].mem.type == ZYDIS_MEMOP_TYPE_AGEN)
			continue;
		memory = true;
		if (d->o[k].visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT && !d->m)
			d->m = &d->o[k];
	}
	d->nothing = !memory || names_only(&d->i);
	return d;
}

/* ---- addresses ---- */

static uint64_t gpr(const struct list *l, ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return reg == ZYDIS_REGISTER_NONE ? 0 : reg_gpr(l->r, (unsigned int)(whole - ZYDIS_REGISTER_RAX));
}

static uint64_t segment_base(const struct list *l, ZydisRegister segment)
{
	return segment == ZYDIS_REGISTER_FS ? l->r->fs_base : segment == ZYDIS_REGISTER_GS ? l->r->gs_base : 0;
}

/* mod 0, base 5: a displacement alone. */
static bool no_base(const struct decoded *d)
{
	return d->i.attributes & ZYDIS_ATTRIB_HAS_SIB && d->i.raw.modrm.mod == 0 && d->i.raw.sib.base == 5;
}

/* Of the explicit operand; without a vector index. */
static uint64_t address(const struct list *l, uint64_t more)
{
	const ZydisDecodedOperand *m = l->d->m;
	uint64_t at = more + (no_base(l->d) ? (uint64_t)l->d->i.raw.disp.value : (uint64_t)m->mem.disp.value);

	if (m->mem.base == ZYDIS_REGISTER_RIP || m->mem.base == ZYDIS_REGISTER_EIP)
		at += l->r->rip + l->d->i.length;
	else if (!no_base(l->d))
		at += gpr(l, m->mem.base);
	if (m->mem.type != ZYDIS_MEMOP_TYPE_VSIB)
		at += gpr(l, m->mem.index) * m->mem.scale;
	if (l->d->i.address_width == 32)
		at = (uint32_t)at;
	return at + segment_base(l, m->mem.segment);
}

/* ---- accesses ---- */

static void add(struct list *l, const char *kind, uint64_t addr, size_t size, bool stack)
{
	if (l->n == MAX_ACCESSES)
		die("an instruction with too many accesses");
	l->v[l->n++] = (struct access){ .addr = addr, .size = (uint32_t)size, .kind = kind, .stack = stack };
}

static bool is_evex(const struct decoded *d)
{
	return d->i.encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
}

static const char *kind_of(const struct decoded *d)
{
	bool reads = d->m->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = d->m->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	/* that the decoder says it reads is about lanes that stay */
	return writes && reads && !is_evex(d) ? modify : writes ? store : load;
}

static void whole_operand(struct list *l)
{
	add(l, kind_of(l->d), address(l, 0), l->d->m->size / 8, false);
}

/* ---- the stack ---- */

static size_t word_bytes(const struct decoded *d)
{
	return d->i.operand_width == 16 ? 2 : 8;
}

static void push(struct list *l, size_t bytes)
{
	if (l->d->m)
		add(l, load, address(l, 0), bytes, false);
	add(l, store, l->r->rsp - bytes, bytes, true);
}

/* The stack pointer in the operand's address is the new one. */
static void pop(struct list *l, size_t bytes)
{
	ZydisRegister base = l->d->m ? l->d->m->mem.base : ZYDIS_REGISTER_NONE;

	add(l, load, l->r->rsp, bytes, true);
	if (l->d->m)
		add(l, store, address(l, base == ZYDIS_REGISTER_RSP ? bytes : 0), bytes, false);
}

static bool by_stack(struct list *l)
{
	switch (l->d->i.mnemonic) {
	case ZYDIS_MNEMONIC_CALL:
		push(l, 8);
		return true;
	case ZYDIS_MNEMONIC_PUSH:
	case ZYDIS_MNEMONIC_PUSHF:
	case ZYDIS_MNEMONIC_PUSHFQ:
		push(l, word_bytes(l->d));
		return true;
	case ZYDIS_MNEMONIC_POP:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
		pop(l, word_bytes(l->d));
		return true;
	case ZYDIS_MNEMONIC_RET:
		add(l, load, l->r->rsp, 8, true);
		return true;
	case ZYDIS_MNEMONIC_LEAVE:
		add(l, load, l->r->rbp, 8, true);
		return true;
	case ZYDIS_MNEMONIC_ENTER:
		add(l, store, l->r->rsp - 8, 8, true);
		return true;
	default:
		return false;
	}
}

/* ---- strings ---- */

static bool by_string(struct list *l)
{
	const ZydisInstructionAttributes rep = ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE;
	uint64_t from = l->r->rsi + segment_base(l, l->d->o[0].mem.segment), to = l->r->rdi;
	size_t bytes = l->d->i.operand_width / 8;

	if (l->d->i.meta.category != ZYDIS_CATEGORY_STRINGOP)
		return false;
	if (l->d->i.attributes & rep && l->r->rcx == 0)
		return true;
	switch (l->d->i.mnemonic) {
	case ZYDIS_MNEMONIC_MOVSB: case ZYDIS_MNEMONIC_MOVSW: case ZYDIS_MNEMONIC_MOVSD: case ZYDIS_MNEMONIC_MOVSQ:
		add(l, load, from, bytes, false);
		add(l, store, to, bytes, false);
		return true;
	case ZYDIS_MNEMONIC_CMPSB: case ZYDIS_MNEMONIC_CMPSW: case ZYDIS_MNEMONIC_CMPSD: case ZYDIS_MNEMONIC_CMPSQ:
		add(l, load, from, bytes, false);
		add(l, load, to, bytes, false);
		return true;
	case ZYDIS_MNEMONIC_STOSB: case ZYDIS_MNEMONIC_STOSW: case ZYDIS_MNEMONIC_STOSD: case ZYDIS_MNEMONIC_STOSQ:
		add(l, store, to, bytes, false);
		return true;
	case ZYDIS_MNEMONIC_LODSB: case ZYDIS_MNEMONIC_LODSW: case ZYDIS_MNEMONIC_LODSD: case ZYDIS_MNEMONIC_LODSQ:
		add(l, load, from, bytes, false);
		return true;
	case ZYDIS_MNEMONIC_SCASB: case ZYDIS_MNEMONIC_SCASW: case ZYDIS_MNEMONIC_SCASD: case ZYDIS_MNEMONIC_SCASQ:
		add(l, load, to, bytes, false);
		return true;
	default:
		die("an unknown string instruction");
	}
}

/* ---- odd ones ---- */

/* With the number of the bit in a register: it counts from the operand on, in both directions. */
static bool by_bit(struct list *l)
{
	const ZydisDecodedOperand *bit = &l->d->o[1];
	int64_t number;

	switch (l->d->i.mnemonic) {
	case ZYDIS_MNEMONIC_BT:
	case ZYDIS_MNEMONIC_BTS:
	case ZYDIS_MNEMONIC_BTR:
	case ZYDIS_MNEMONIC_BTC:
		break;
	default:
		return false;
	}
	if (bit->type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	number = (int64_t)gpr(l, bit->reg.value);
	if (bit->size == 32)
		number = (int32_t)number;
	if (bit->size == 16)
		number = (int16_t)number;
	number = (number - (number & (bit->size - 1))) / 8; /* rounded down */
	add(l, kind_of(l->d), address(l, (uint64_t)number), bit->size / 8, false);
	return true;
}

static bool by_line(struct list *l)
{
	switch (l->d->i.mnemonic) {
	case ZYDIS_MNEMONIC_CLFLUSH:
	case ZYDIS_MNEMONIC_CLFLUSHOPT:
	case ZYDIS_MNEMONIC_CLWB:
	case ZYDIS_MNEMONIC_CLDEMOTE:
		break;
	case ZYDIS_MNEMONIC_CLZERO:
		add(l, store, l->r->rax & ~63ul, 64, false);
		return true;
	default:
		if (l->d->i.meta.category != ZYDIS_CATEGORY_PREFETCH)
			return false;
	}
	add(l, prefetch, address(l, 0) & ~63ul, 64, false);
	return true;
}

static bool by_area(struct list *l)
{
	switch (l->d->i.mnemonic) {
	case ZYDIS_MNEMONIC_XSAVE:
	case ZYDIS_MNEMONIC_XSAVEOPT:
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEOPT64:
		add(l, store, address(l, 0), reg_area(false), false);
		return true;
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
		add(l, store, address(l, 0), reg_area(true), false);
		return true;
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
		add(l, load, address(l, 0), reg_area(false), false);
		return true;
	case ZYDIS_MNEMONIC_XLAT:
		add(l, load, l->r->rbx + (l->r->rax & 255), 1, false);
		return true;
	case ZYDIS_MNEMONIC_MOVDIR64B:
		add(l, load, address(l, 0), 64, false);
		add(l, store, gpr(l, l->d->o[0].mem.base), 64, false);
		return true;
	default:
		return false;
	}
}

/* ---- lanes ---- */

static unsigned int vector_number(ZydisRegister reg)
{
	return (unsigned int)ZydisRegisterGetId(reg);
}

/* Bit i: lane i of @bytes bytes has its highest bit set. */
static uint64_t high_bits(const uint8_t *v, size_t lanes, size_t bytes)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < lanes; i++)
		mask |= (uint64_t)(v[i * bytes + bytes - 1] >> 7) << i;
	return mask;
}

static uint64_t mask_register(const struct list *l, const struct vectors *x)
{
	ZydisRegister k = l->d->i.avx.mask.reg;

	return k <= ZYDIS_REGISTER_K0 ? ~UINT64_C(0) : x->k[k - ZYDIS_REGISTER_K0];
}

/* Of vgatherdps a 4-byte index, of vgatherqps one of 8. */
static size_t index_bytes(const struct decoded *d)
{
	const char *name = strstr(ZydisMnemonicGetString(d->i.mnemonic), "gather");

	if (!name)
		name = strstr(ZydisMnemonicGetString(d->i.mnemonic), "scatter");
	if (!name)
		die("a vector index of an unknown instruction");
	name += name[0] == 'g' ? strlen("gather") : strlen("scatter");
	return name[0] == 'd' ? 4 : 8;
}

static void by_index(struct list *l, const struct vectors *x)
{
	const ZydisDecodedOperand *m = l->d->m;
	bool writes = m == &l->d->o[0];
	size_t each = m->element_size / 8, index = index_bytes(l->d);
	const ZydisDecodedOperand *data = &l->d->o[writes ? 2 : 0];
	size_t lanes = data->size / 8 / each;
	const uint8_t *v = x->v[vector_number(m->mem.index)];
	size_t indices = ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, m->mem.index) / 8 / index;
	uint64_t mask;

	if (!is_evex(l->d) && !writes)
		data = &l->d->o[2];
	lanes = indices < lanes ? indices : lanes;
	mask = is_evex(l->d) ? mask_register(l, x) : high_bits(x->v[vector_number(data->reg.value)], lanes, each);
	for (size_t i = 0; i < lanes; i++) {
		int64_t at = 0;
		int32_t half;

		memcpy(&half, v + i * index, sizeof(half));
		memcpy(&at, v + i * index, index);
		if (mask >> i & 1)
			add(l, writes ? store : load,
			    address(l, (uint64_t)(index == 4 ? half : at) * (m->mem.scale ? m->mem.scale : 1)), each, false);
	}
}

static void some_lanes(struct list *l, uint64_t mask, size_t lanes, size_t each, const char *kind)
{
	for (size_t i = 0; i < lanes; i++)
		if (mask >> i & 1)
			add(l, kind, address(l, i * each), each, false);
}

/* Masks in vector registers. */
static bool by_vector(struct list *l, const struct vectors *x)
{
	const struct decoded *d = l->d;
	size_t each = d->m ? d->m->element_size / 8 : 0;
	uint64_t mask;

	switch (d->i.mnemonic) {
	case ZYDIS_MNEMONIC_VMASKMOVPS:
	case ZYDIS_MNEMONIC_VMASKMOVPD:
	case ZYDIS_MNEMONIC_VPMASKMOVD:
	case ZYDIS_MNEMONIC_VPMASKMOVQ:
		mask = high_bits(x->v[vector_number(d->o[1].reg.value)], d->m->size / 8 / each, each);
		some_lanes(l, mask, d->m->size / 8 / each, each, d->m == &d->o[0] ? store : load);
		return true;
	case ZYDIS_MNEMONIC_MASKMOVQ:
		mask = high_bits(x->mmx[d->o[1].reg.value - ZYDIS_REGISTER_MM0], 8, 1);
		break;
	case ZYDIS_MNEMONIC_MASKMOVDQU:
	case ZYDIS_MNEMONIC_VMASKMOVDQU:
		mask = high_bits(x->v[vector_number(d->o[1].reg.value)], 16, 1);
		break;
	default:
		return false;
	}
	for (unsigned int i = 0; i < 16; i++)
		if (mask >> i & 1)
			add(l, store, l->r->rdi + i, 1, false);
	return true;
}

static bool suppresses(const struct decoded *d)
{
	switch (d->i.meta.exception_class) {
	case ZYDIS_EXCEPTION_CLASS_E1:
	case ZYDIS_EXCEPTION_CLASS_E2:
	case ZYDIS_EXCEPTION_CLASS_E3:
	case ZYDIS_EXCEPTION_CLASS_E4:
	case ZYDIS_EXCEPTION_CLASS_E5:
	case ZYDIS_EXCEPTION_CLASS_E6:
	case ZYDIS_EXCEPTION_CLASS_E10:
	case ZYDIS_EXCEPTION_CLASS_E11:
		return d->i.avx.broadcast.mode == ZYDIS_BROADCAST_MODE_INVALID;
	default:
		return false;
	}
}

/* Masks in mask registers: a bit for each element of the destination, as far as the memory goes. */
static void by_mask(struct list *l, const struct vectors *x)
{
	const struct decoded *d = l->d;
	bool writes = d->m == &d->o[0];
	bool packed = d->i.meta.category == ZYDIS_CATEGORY_EXPAND || d->i.meta.category == ZYDIS_CATEGORY_COMPRESS;
	size_t lanes = d->m->element_count, each;
	uint64_t mask = mask_register(l, x);

	if (d->o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && d->o[0].element_count < lanes &&
	    d->o[0].reg.value >= ZYDIS_REGISTER_XMM0 && d->o[0].reg.value <= ZYDIS_REGISTER_ZMM31)
		lanes = d->o[0].element_count;
	each = d->m->size / 8 / lanes;
	if (lanes < 64)
		mask &= (UINT64_C(1) << lanes) - 1;
	if (packed) {
		lanes = (size_t)__builtin_popcountll(mask);
		mask = ~UINT64_C(0);
	}
	some_lanes(l, mask, lanes, each, writes ? store : load);
}

static bool is_masked(const struct decoded *d)
{
	return d->m && is_evex(d) && d->i.avx.mask.reg > ZYDIS_REGISTER_K0 && (d->m == &d->o[0] || suppresses(d));
}

static bool by_lanes(struct list *l)
{
	struct vectors x;

	if (l->d->m && l->d->m->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
		reg_vectors(l->tid, &x);
		by_index(l, &x);
		return true;
	}
	if (is_masked(l->d)) {
		reg_vectors(l->tid, &x);
		by_mask(l, &x);
		return true;
	}
	if (!strstr(ZydisMnemonicGetString(l->d->i.mnemonic), "maskmov"))
		return false;
	reg_vectors(l->tid, &x);
	return by_vector(l, &x);
}

/* ---- all ---- */

size_t access_list(const struct decoded *d, pid_t tid, const struct user_regs_struct *r,
		   struct access v[MAX_ACCESSES])
{
	struct list l = { .d = d, .r = r, .tid = tid, .v = v };

	if (d->nothing)
		return 0;
	if (by_stack(&l) || by_string(&l) || by_bit(&l) || by_line(&l) || by_area(&l) || by_lanes(&l))
		return l.n;
	if (!d->m)
		die("%s accesses memory, nobody knows where", ZydisMnemonicGetString(d->i.mnemonic));
	whole_operand(&l);
	return l.n;
}

bool access_is_by_element(const struct decoded *d)
{
	return d->m && d->m->mem.type == ZYDIS_MEMOP_TYPE_VSIB;
}
