// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Of which type is what an instruction's base register points to, or what a call gives?  Said by variables that are pointers: those that debug
 * information has in the register there, those that it was loaded from, and that the result is put into.  The function is gone through once, in the order of its code; where
 * a branch leads, and after what is not understood, nothing is known of registers.
 */
#include <Zydis/Zydis.h>
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/names/names-private.h"
#include "base/array.h"
#include "base/hash.h"

#define MAX_CODE (1 << 20) /* of a function; larger ones are left alone */
#define REGISTERS 16
#define MAX_LOOKS 8 /* instructions after which what a call gave should be in a variable */

/* A DIE whose type is what is pointed to: DW_AT_type of the pointer.  addr NULL: not known. */
struct known {
	Dwarf_Die pointer;
	uint64_t call; /* it is what the call gave that returns there; 0: not known */
	unsigned int looks; /* at whether it is a variable's */
};

struct pass {
	struct nm *nm;
	struct nm_file *f;
	uint64_t begin, end; /* in memory */
	const unsigned char *code;
	uint8_t *target; /* a bit for each byte */
	struct known reg[REGISTERS];
	ZydisDecoder decoder;
	bool failed;
};

/* ---- types ---- */

/* What @of, a variable or member, is, if it is a pointer. */
static struct known pointer_of(Dwarf_Die *of)
{
	struct known k = { 0 };
	Dwarf_Die type;
	int tag;

	if (!nm_type_of(of, &type))
		return k;
	tag = dwarf_tag(&type);
	if (tag == DW_TAG_pointer_type || tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type)
		k.pointer = type;
	return k;
}

/* A pointer at @offset in what @k points to. */
static struct known member_at(const struct known *k, uint64_t offset, unsigned int depth)
{
	Dwarf_Die pointer = k->pointer, type, member;
	struct known none = { 0 };
	uint64_t at;

	if (!pointer.addr || depth > NM_DEPTH || !nm_type_of(&pointer, &type))
		return none;
	if (dwarf_tag(&type) == DW_TAG_pointer_type && !offset)
		return (struct known){ .pointer = type };
	if (dwarf_tag(&type) != DW_TAG_structure_type && dwarf_tag(&type) != DW_TAG_class_type)
		return none;
	if (dwarf_child(&type, &member) != 0)
		return none;
	do {
		if (dwarf_tag(&member) == DW_TAG_member && nm_member_offset(&member, &at) && at == offset)
			return pointer_of(&member);
	} while (dwarf_siblingof(&member, &member) == 0);
	return none;
}

/* ---- registers ---- */

static int index_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15 ? (int)whole - (int)ZYDIS_REGISTER_RAX : -1;
}

/* By DWARF's numbers. */
static int index_of_dwarf(unsigned int number)
{
	static const int8_t at[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };

	return number < sizeof(at) ? at[number] : -1;
}

static void forget(struct pass *p)
{
	memset(p->reg, 0, sizeof(p->reg));
}

/* What a load of 8 bytes from there gives. */
static struct known loaded(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	const ZydisDecodedOperandMem *m = &o->mem;
	const int64_t disp = m->disp.has_displacement ? m->disp.value : 0;
	struct known none = { 0 };
	struct nm_in_frame in;
	struct nm_rule rule;
	Dwarf_Die die;
	int base = index_of(m->base);

	if (m->segment == ZYDIS_REGISTER_FS || m->segment == ZYDIS_REGISTER_GS)
		return none;
	if (m->base == ZYDIS_REGISTER_RIP) {
		if (nm_file_variable(p->f, insn + i->length + (uint64_t)disp, &die))
			return pointer_of(&die);
		return none;
	}
	if (m->index != ZYDIS_REGISTER_NONE || base < 0)
		return none;
	if (nm_frame_rule(p->f, nm_file_address(p->f, insn), &rule) && index_of_dwarf((unsigned int)rule.reg) == base) {
		if (nm_frame_find(p->f, nm_file_address(p->f, insn), disp - rule.offset, &in) && in.begin == disp - rule.offset)
			return pointer_of(&in.die);
		return none;
	}
	return disp >= 0 ? member_at(&p->reg[base], (uint64_t)disp, 0) : none;
}

/* A pointer and a number is still a pointer to the same type. */
static struct known sum(struct pass *p, const ZydisDecodedOperandMem *m)
{
	int base = index_of(m->base), index = index_of(m->index);
	struct known none = { 0 };

	if (base >= 0 && p->reg[base].pointer.addr)
		return (struct known){ .pointer = p->reg[base].pointer };
	return index >= 0 && m->scale <= 1 ? (struct known){ .pointer = p->reg[index].pointer } : none;
}

static struct known result(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	struct known none = { 0 };
	int to = index_of(o[0].reg.value), from = o[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? index_of(o[1].reg.value) : -1;

	if (o[0].size != 64)
		return none;
	switch (i->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (o[1].type == ZYDIS_OPERAND_TYPE_MEMORY)
			return loaded(p, insn, i, &o[1]);
		return from >= 0 ? p->reg[from] : none;
	case ZYDIS_MNEMONIC_LEA:
		return sum(p, &o[1].mem);
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
		if (p->reg[to].pointer.addr || from < 0 || i->mnemonic == ZYDIS_MNEMONIC_SUB)
			return (struct known){ .pointer = p->reg[to].pointer };
		return (struct known){ .pointer = p->reg[from].pointer };
	default:
		return none;
	}
}

/* ---- instructions ---- */

static struct nm_pointer *slot_of(const struct nm *nm, uint64_t key)
{
	return &nm->pointer[hash_slot(i, nm->room_pointers, hash_word(key), !nm->pointer[i].insn || nm->pointer[i].insn == key)];
}

/* What is known of an instruction first stays.  False: no memory. */
static bool remember(struct nm *nm, uint64_t key, const Dwarf_Die *pointer)
{
	struct nm_pointer *slot;

	if (!hash_grow(nm->pointer, nm->room_pointers, nm->npointers + 1, old, old->insn, slot_of(nm, old->insn)))
		return false;
	slot = slot_of(nm, key);
	if (slot->insn)
		return true;
	*slot = (struct nm_pointer){ key, *pointer };
	nm->npointers++;
	return true;
}

static void note(struct pass *p, uint64_t insn, const struct known *k)
{
	p->failed |= !remember(p->nm, insn, &k->pointer);
}

/* The access is by a register of which something is known. */
static void note_access(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	for (unsigned int k = 0; k < i->operand_count_visible; k++) {
		const ZydisDecodedOperandMem *m = &o[k].mem;
		struct known known;
		Dwarf_Die variable;
		int base;

		if (o[k].type != ZYDIS_OPERAND_TYPE_MEMORY || m->type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		base = index_of(m->base);
		known = sum(p, m);
		if (!known.pointer.addr && base >= 0 && nm_frame_register(p->f, nm_file_address(p->f, insn), base, &variable))
			known = pointer_of(&variable);
		if (known.pointer.addr)
			note(p, insn, &known);
	}
}

/* What a call gave is of the type of the variable that it is put into; once is enough. */
static void note_call(struct pass *p, uint64_t call, const struct known *k)
{
	if (call && k->pointer.addr)
		note(p, ~call, k);
}

/* Registers with what a call gave may be variables from @next on. */
static void note_variables(struct pass *p, uint64_t next)
{
	for (int reg = 0; reg < REGISTERS && next < p->end; reg++) {
		struct known *of = &p->reg[reg], k;
		Dwarf_Die variable;

		if (!of->call || of->looks++ >= MAX_LOOKS || !nm_frame_register(p->f, nm_file_address(p->f, next), reg, &variable))
			continue;
		k = pointer_of(&variable);
		note_call(p, of->call, &k);
		of->call = 0;
	}
}

static void note_store(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	int from = o[1].type == ZYDIS_OPERAND_TYPE_REGISTER ? index_of(o[1].reg.value) : -1;
	struct known k;

	if (i->mnemonic != ZYDIS_MNEMONIC_MOV || o[0].type != ZYDIS_OPERAND_TYPE_MEMORY || o[0].size != 64 || from < 0 || !p->reg[from].call)
		return;
	k = loaded(p, insn, i, &o[0]);
	note_call(p, p->reg[from].call, &k);
}

static bool is_branch(const ZydisDecodedInstruction *i)
{
	return i->meta.category == ZYDIS_CATEGORY_COND_BR || i->meta.category == ZYDIS_CATEGORY_UNCOND_BR;
}

static void run(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	static const uint8_t changed[] = { 0, 1, 2, 6, 7, 8, 9, 10, 11 }; /* by a call */
	struct known new = { 0 };

	if (p->target[(insn - p->begin) / 8] >> (insn - p->begin) % 8 & 1)
		forget(p);
	note_access(p, insn, i, o);
	if (i->meta.category == ZYDIS_CATEGORY_CALL) {
		for (size_t k = 0; k < sizeof(changed); k++)
			p->reg[changed[k]] = (struct known){ 0 };
		p->reg[0].call = insn + i->length;
		note_variables(p, insn + i->length);
		return;
	}
	if (i->meta.category == ZYDIS_CATEGORY_UNCOND_BR || i->meta.category == ZYDIS_CATEGORY_RET) {
		forget(p);
		return;
	}
	if (i->operand_count_visible >= 2)
		note_store(p, insn, i, o);
	if (i->operand_count_visible >= 2 && o[0].type == ZYDIS_OPERAND_TYPE_REGISTER && index_of(o[0].reg.value) >= 0 &&
	    (o[0].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		new = result(p, insn, i, o);
	for (unsigned int k = 0; k < i->operand_count; k++)
		if (o[k].type == ZYDIS_OPERAND_TYPE_REGISTER && (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    index_of(o[k].reg.value) >= 0)
			p->reg[index_of(o[k].reg.value)] = k ? (struct known){ 0 } : new;
	note_variables(p, insn + i->length);
}

static void note_target(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o)
{
	ZyanU64 to;

	if (!is_branch(i) || o[0].type != ZYDIS_OPERAND_TYPE_IMMEDIATE ||
	    ZYAN_FAILED(ZydisCalcAbsoluteAddress(i, &o[0], insn, &to)) || to < p->begin || to >= p->end)
		return;
	p->target[(to - p->begin) / 8] |= (uint8_t)(1u << (to - p->begin) % 8);
}

static void each(struct pass *p, void (*what)(struct pass *p, uint64_t insn, const ZydisDecodedInstruction *i, const ZydisDecodedOperand *o))
{
	ZydisDecodedOperand operand[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction insn;

	for (uint64_t at = p->begin; at < p->end && !p->failed; at += insn.length) {
		if (ZYAN_FAILED(ZydisDecoderDecodeFull(&p->decoder, p->code + (at - p->begin), p->end - at, &insn, operand)))
			return;
		what(p, at, &insn, operand);
	}
}

/* False: no memory. */
static bool go_through(struct nm *nm, struct nm_file *f, uint64_t begin, uint64_t end)
{
	struct pass p = { .nm = nm, .f = f, .begin = begin, .end = end };
	size_t n;

	p.code = nm_file_bytes(f, begin, &n);
	if (!p.code || n < end - begin || ZYAN_FAILED(ZydisDecoderInit(&p.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64)))
		return true;
	p.target = calloc((end - begin) / 8 + 1, 1);
	if (!p.target)
		return false;
	each(&p, note_target);
	each(&p, run);
	free(p.target);
	return !p.failed;
}

/* Have the instructions of the function that begins there been gone through?  It counts as so from now on. */
static bool is_done(struct nm *nm, uint64_t begin, bool *failed)
{
	size_t slot;

	*failed = !hash_grow(nm->through, nm->room_through, nm->nthrough + 1, old, *old,
			     &nm->through[hash_slot(i, nm->room_through, hash_word(*old), !nm->through[i])]);
	if (*failed)
		return true;
	slot = hash_slot(i, nm->room_through, hash_word(begin), !nm->through[i] || nm->through[i] == begin);
	if (nm->through[slot])
		return true;
	nm->through[slot] = begin;
	nm->nthrough++;
	return false;
}

/* What there is to know of the function that has @insn is known then.  False: no memory. */
static bool look_at_function(struct nm *nm, uint64_t insn)
{
	struct nm_file *f = nm_file_at(nm, insn);
	uint64_t begin, end, bias;
	bool failed = false;

	if (!f || !nm_frame_function(f, nm_file_address(f, insn), &begin, &end) || end - begin > MAX_CODE)
		return true;
	bias = insn - nm_file_address(f, insn);
	return (is_done(nm, bias + begin, &failed) && !failed) || (!failed && go_through(nm, f, bias + begin, bias + end));
}

static bool find_pointer(struct nm *nm, uint64_t insn, uint64_t key, Dwarf_Die *pointer)
{
	static const Dwarf_Die unknown = { 0 };

	/* for accesses by what is not known as well it is looked for once */
	*pointer = unknown;
	if ((!nm->room_pointers || slot_of(nm, key)->insn != key) && (!look_at_function(nm, insn) || !remember(nm, key, &unknown)))
		return false;
	*pointer = slot_of(nm, key)->pointer;
	return true;
}

/* Asked for each access to a block: what debug information says is looked up once for each instruction. */
bool nm_pointer_find(struct nm *nm, uint64_t insn, Dwarf_Die *pointer)
{
	struct nm_insn *i = nm_insn(nm, insn);

	if (!i || (!i->asked && !find_pointer(nm, insn, insn, &i->pointer)))
		return false;
	i->asked = true;
	*pointer = i->pointer;
	return true;
}

bool nm_pointer_of_call(struct nm *nm, uint64_t returns, Dwarf_Die *pointer)
{
	return find_pointer(nm, returns - 1, ~returns, pointer);
}
