// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/mememit/expect.h"

#include <Zydis/Zydis.h>
#include <asm/prctl.h>
#include <err.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "tests/unit/mememit/lanes.h"
#include "tests/unit/wrap/machine.h"

static uint64_t reg(const ucontext_t *context, enum machine_register number)
{
	static const uint8_t places[NREGISTERS] = {
		[RAX] = REG_RAX, [RCX] = REG_RCX, [RDX] = REG_RDX, [RBX] = REG_RBX, [RSP] = REG_RSP,
		[RBP] = REG_RBP, [RSI] = REG_RSI, [RDI] = REG_RDI, [R8] = REG_R8, [R9] = REG_R9,
		[R10] = REG_R10, [R11] = REG_R11, [R12] = REG_R12, [R13] = REG_R13, [R14] = REG_R14,
		[R15] = REG_R15,
	};

	return (uint64_t)context->uc_mcontext.gregs[places[number]];
}

static void fill(const ucontext_t *context, ZydisRegisterContext *values)
{
	memset(values, 0, sizeof(*values));
	for (int i = 0; i < NREGISTERS; i++) {
		values->values[ZYDIS_REGISTER_RAX + i] = reg(context, (enum machine_register)i);
		values->values[ZYDIS_REGISTER_EAX + i] = (uint32_t)reg(context, (enum machine_register)i);
	}
}

static const ZydisDecoder *decoder(void)
{
	static ZydisDecoder zydis;
	static bool ready;

	if (!ready && ZYAN_FAILED(ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64,
						   ZYDIS_STACK_WIDTH_64)))
		errx(99, "no decoder");
	ready = true;
	return &zydis;
}

static uint64_t fs_base(void)
{
	uint64_t base = 0;

	syscall(SYS_arch_prctl, ARCH_GET_FS, &base);
	return base;
}

struct instruction {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisRegisterContext values;
	uint64_t pc;
	const ucontext_t *context;
};

static bool is_prefetch(ZydisMnemonic mnemonic)
{
	switch (mnemonic) {
	case ZYDIS_MNEMONIC_PREFETCHT0:
	case ZYDIS_MNEMONIC_PREFETCHT1:
	case ZYDIS_MNEMONIC_PREFETCHT2:
	case ZYDIS_MNEMONIC_PREFETCHNTA:
	case ZYDIS_MNEMONIC_PREFETCHW:
		return true;
	default:
		return false;
	}
}

static bool is_string(const ZydisDecodedInstruction *insn)
{
	return insn->meta.category == ZYDIS_CATEGORY_STRINGOP;
}

static uint8_t kind_of(const struct instruction *i, const ZydisDecodedOperand *op)
{
	bool reads = op->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = op->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	if (is_prefetch(i->insn.mnemonic))
		return MD_PREFETCH;
	return reads && writes ? MD_MODIFY : writes ? MD_STORE : MD_LOAD;
}

static void add_operand(const struct instruction *i, const ZydisDecodedOperand *op, bool stack,
			struct mt_access *v, size_t *n)
{
	bool implicit = op->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && !is_string(&i->insn);
	struct mt_access *a = &v[*n], like;
	ZyanU64 addr;

	if (op->type != ZYDIS_OPERAND_TYPE_MEMORY || op->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
	    i->insn.mnemonic == ZYDIS_MNEMONIC_NOP || i->insn.mnemonic == ZYDIS_MNEMONIC_ENDBR64)
		return;
	if (implicit && !stack)
		return;
	if (op->mem.type == ZYDIS_MEMOP_TYPE_VSIB)	/* its base is r15 */
		addr = reg(i->context, R15) + (uint64_t)op->mem.disp.value;
	else if (ZYAN_FAILED(ZydisCalcAbsoluteAddressEx(&i->insn, op, i->pc, &i->values, &addr)))
		errx(99, "%#lx: no address", (unsigned long)i->pc);
	if (op->mem.segment == ZYDIS_REGISTER_FS)
		addr += fs_base();
	like = (struct mt_access){ .addr = addr, .size = op->size / 8, .kind = kind_of(i, op), .insn = i->pc };
	if (lanes_expect(i->context, &i->insn, i->operands, op, addr, &like, v, n))
		return;
	*a = like;
	if (implicit) {
		if (op->mem.base == ZYDIS_REGISTER_RSP && a->kind == MD_STORE)
			a->addr = reg(i->context, RSP) - a->size;
		a->kind |= MD_STACK;
	}
	(*n)++;
}

/* Loads come before stores; of cmps, (%rsi) comes first. */
static void order(struct mt_access *v, size_t n)
{
	if (n == 2 && (v[0].kind & MD_KIND) == MD_STORE && (v[1].kind & MD_KIND) == MD_LOAD) {
		struct mt_access first = v[0];

		v[0] = v[1];
		v[1] = first;
	}
}

static bool is_repeated(const ZydisDecodedInstruction *insn)
{
	return is_string(insn) && insn->attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						      ZYDIS_ATTRIB_HAS_REPNE);
}

size_t expect_accesses(const ucontext_t *context, bool stack, struct mt_access *v)
{
	struct instruction i = { .pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP], .context = context };
	size_t n = 0;

	if (ZYAN_FAILED(ZydisDecoderDecodeFull(decoder(), (const void *)i.pc, ZYDIS_MAX_INSTRUCTION_LENGTH,
					       &i.insn, i.operands)))
		errx(99, "%#lx: no instruction", (unsigned long)i.pc);
	fill(context, &i.values);
	if (is_repeated(&i.insn) && reg(context, RCX) == 0)
		return 0;
	for (int k = 0; k < i.insn.operand_count; k++)
		add_operand(&i, &i.operands[k], stack, v, &n);
	order(v, n);
	return n;
}

void expect_text(uint64_t pc, char *text, size_t size)
{
	struct instruction i = { .pc = pc };
	ZydisFormatter formatter;

	if (ZYAN_FAILED(ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT)) ||
	    ZYAN_FAILED(ZydisDecoderDecodeFull(decoder(), (const void *)pc, ZYDIS_MAX_INSTRUCTION_LENGTH,
					       &i.insn, i.operands)) ||
	    ZYAN_FAILED(ZydisFormatterFormatInstruction(&formatter, &i.insn, i.operands,
							i.insn.operand_count_visible, text, size, pc,
							NULL)))
		*text = '\0';
}
