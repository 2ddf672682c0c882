// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The facts of all instructions of the C library, or of the files named.  Nearly every instruction
 * is known; what the decoder says of operands and flags agrees with the facts.  With -t, the time
 * it takes; with -v, the functions that hold instructions that are not known.
 */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <Zydis/Zydis.h>

#include "tests/unit/wrap/elf.h"
#include "trampolines/memory/memory.h"

enum { LISTED_MAX = 30, INSNS_MIN = 200000, UNKNOWN_PER_MILLION_MAX = 200 };

struct tally {
	size_t insns, accesses, computing, flags, wrong, fns, unknown_fns;
	size_t unknown[ZYDIS_MNEMONIC_MAX_VALUE + 1], nunknown;
	bool verbose;
};

struct insn {
	ZydisDecodedInstruction zi;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	struct tramp_mem_facts facts;
	uint64_t addr;
};

static void complain(struct tally *t, const struct insn *in, const char *what)
{
	if (t->wrong++ < LISTED_MAX)
		printf("%#lx %s: %s\n", in->addr, ZydisMnemonicGetString(in->zi.mnemonic), what);
}

static int gpr(ZydisRegister reg)
{
	ZydisRegister wide = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return wide >= ZYDIS_REGISTER_RAX && wide <= ZYDIS_REGISTER_R15 ?
		       (int)(wide - ZYDIS_REGISTER_RAX) : -1;
}

static bool is_nop(const struct insn *in)
{
	return in->zi.mnemonic == ZYDIS_MNEMONIC_NOP;
}

static bool has_string(const struct tramp_mem_facts *f)
{
	return f->nops && f->ops[0].code == MD_STRING;
}

/* Every register that is written is computed, lost, or moved on by a string instruction. */
static void check_written(struct tally *t, const struct insn *in)
{
	const struct tramp_mem_facts *f = &in->facts;
	tramp_regs known = f->kills;

	for (int i = 0; i < f->ncomputes; i++)
		known |= f->writes[i];
	if (has_string(f))
		known |= TRAMP_REG(TRAMP_RSI) | TRAMP_REG(TRAMP_RDI) | TRAMP_REG(TRAMP_RCX);
	for (int i = 0; i < in->zi.operand_count && !is_nop(in); i++) {
		const ZydisDecodedOperand *o = &in->o[i];

		if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && gpr(o->reg.value) >= 0 &&
		    o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    !(known >> gpr(o->reg.value) & 1))
			complain(t, in, "writes a register that the facts do not have");
	}
	if (f->narrow_u32 & ~f->kills || f->narrow_s32 & ~f->kills)
		complain(t, in, "narrow, but not lost");
}

static void check_flags(struct tally *t, const struct insn *in)
{
	const ZydisAccessedFlags *a = in->zi.cpu_flags;
	bool shift = in->facts.ncomputes && in->zi.raw.imm[0].size;
	uint32_t changed = a ? a->modified | a->set_0 | a->set_1 | a->undefined : 0;

	changed &= ZYDIS_CPUFLAG_CF | ZYDIS_CPUFLAG_PF | ZYDIS_CPUFLAG_ZF | ZYDIS_CPUFLAG_SF |
		   ZYDIS_CPUFLAG_OF;
	if (in->facts.flags_effect == TRAMP_FLAGS_KEPT && changed && !shift)
		complain(t, in, "changes flags");
	if (in->facts.flags_effect == TRAMP_FLAGS_KNOWN &&
	    (!in->facts.flags_valid || in->facts.flags.code != MD_FLAGS))
		complain(t, in, "known flags without conditions");
	t->flags += in->facts.flags_effect == TRAMP_FLAGS_KNOWN;
}

/* Bytes that an operation accesses if all of its lanes are. */
static uint64_t bytes_of(const struct tramp_mem_facts *f, int i)
{
	const struct md_op *op = &f->ops[i];

	switch (op->code) {
	case MD_ACCESS:
		return op->width ? op->width : (uint64_t)f->ops[i - 1].imm;
	case MD_MASKED:
	case MD_PACKED:
		return (uint64_t)op->width * MD_LANES_COUNT(op->imm);
	case MD_GATHER:
	case MD_STRING:
		return op->width;
	default:
		return 0;
	}
}

static bool kind_fits(const struct md_op *op, const ZydisDecodedOperand *o)
{
	bool reads = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;
	bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;

	switch (op->code == MD_STRING ? MD_KIND : op->dst & MD_KIND) {
	case MD_LOAD:
		return reads && !writes;
	case MD_STORE:
		return writes;
	case MD_MODIFY:
		return reads && writes;
	default:
		return true;
	}
}

/* Sizes that the decoder does not have, or counts otherwise. */
static bool has_own_size(const struct insn *in)
{
	switch (in->zi.meta.category) {
	case ZYDIS_CATEGORY_PREFETCH:
	case ZYDIS_CATEGORY_PREFETCHWT1:
	case ZYDIS_CATEGORY_CLFLUSHOPT:
	case ZYDIS_CATEGORY_CLWB:
	case ZYDIS_CATEGORY_CLDEMOTE:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return true;
	default:
		return in->zi.mnemonic == ZYDIS_MNEMONIC_CLFLUSH;
	}
}

static bool has_access(const struct insn *in, const ZydisDecodedOperand *o)
{
	const struct tramp_mem_facts *f = &in->facts;

	for (int i = 0; i < f->nops; i++) {
		uint64_t bytes = bytes_of(f, i);

		if (bytes && (has_own_size(in) || bytes == o->size / 8u) &&
		    kind_fits(&f->ops[i], o))
			return true;
	}
	return false;
}

static bool is_access(const struct md_op *op)
{
	return op->code == MD_ACCESS || op->code == MD_STRING || op->code == MD_MASKED ||
	       op->code == MD_GATHER || op->code == MD_PACKED;
}

/* One access for each operand in memory; strings have one operation for two operands. */
static void check_accesses(struct tally *t, const struct insn *in)
{
	int accesses = 0, operands = 0;

	for (int i = 0; i < in->facts.nops; i++)
		accesses += is_access(&in->facts.ops[i]);
	for (int i = 0; i < in->zi.operand_count && !is_nop(in); i++) {
		const ZydisDecodedOperand *o = &in->o[i];

		if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type == ZYDIS_MEMOP_TYPE_AGEN ||
		    !o->actions)
			continue;
		operands++;
		if (!has_access(in, o))
			complain(t, in, "no access for an operand");
	}
	if (operands != accesses && !has_string(&in->facts))
		complain(t, in, "other accesses than operands");
	t->accesses += (size_t)accesses;
}

/* Operands of the machine that exist; needs that are reported. */
static void check_ops(struct tally *t, const struct insn *in)
{
	const struct tramp_mem_facts *f = &in->facts;

	for (int i = 0; i < f->nops; i++) {
		const struct md_op *op = &f->ops[i];

		if ((op->base < MD_TEMP && op->code != MD_SIZE && !(f->need >> op->base & 1)) ||
		    (op->index < MD_TEMP && op->code != MD_SIZE && !(f->need >> op->index & 1)))
			complain(t, in, "needs a register and does not say so");
	}
	for (int i = 0; i < f->nextras; i++) {
		if (f->extras[i].bytes % 4 || !f->extras[i].bytes)
			complain(t, in, "odd words for the stream");
	}
}

static bool check_insn(struct tally *t, struct insn *in, const uint8_t *code, size_t avail)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	in->zi.length = 0;
	if (ZYAN_FAILED(ZydisDecoderDecodeFull(&decoder, code, avail, &in->zi, in->o)))
		return false;
	t->insns++;
	if (!tramp_mem_insn(code, avail, in->addr, 0, &in->facts)) {
		complain(t, in, "not an instruction");
		return true;
	}
	if (in->facts.unmodelled) {
		t->unknown[in->zi.mnemonic]++;
		t->nunknown++;
		return true;
	}
	check_written(t, in);
	check_flags(t, in);
	check_accesses(t, in);
	check_ops(t, in);
	t->computing += in->facts.ncomputes != 0;
	return true;
}

static void check_function(struct tally *t, const struct elf_function *fn)
{
	size_t before = t->nunknown;
	static struct insn in;

	for (size_t at = 0; at < fn->size; at += in.zi.length) {
		in.addr = fn->addr + at;
		if (!check_insn(t, &in, fn->code + at, fn->avail - at))
			break;
	}
	t->fns++;
	t->unknown_fns += t->nunknown != before;
	if (t->nunknown != before && t->verbose)
		printf("\t%#lx %s\n", fn->addr, fn->name);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void measure(const struct elf_code *code, size_t insns)
{
	double start = now();
	struct tramp_mem_facts facts;
	size_t n = 0, len;

	for (size_t i = 0; i < code->nfunctions; i++) {
		const struct elf_function *fn = &code->functions[i];

		for (size_t at = 0; at < fn->size; at += len) {
			len = tramp_insn_length(fn->code + at, fn->avail - at);
			if (!len)
				break;
		}
	}
	start = now() + now() - start;	/* without the time that finding the lengths takes */
	for (size_t i = 0; i < code->nfunctions; i++) {
		const struct elf_function *fn = &code->functions[i];

		for (size_t at = 0; at < fn->size; at += len, n++) {
			len = tramp_insn_length(fn->code + at, fn->avail - at);
			if (!len || !tramp_mem_insn(fn->code + at, len, 0, 0, &facts))
				break;
		}
	}
	printf("%.0f ns each (%zu of %zu)\n", (now() - start) / (double)n * 1e9, n, insns);
}

static void survey(struct tally *t, const char *path, bool timed)
{
	struct elf_code code;
	size_t before = t->insns;

	elf_code_open(&code, path, true);
	for (size_t i = 0; i < code.nfunctions; i++)
		check_function(t, &code.functions[i]);
	if (timed)
		measure(&code, t->insns - before);
	elf_code_close(&code);
}

static void report(const struct tally *t)
{
	printf("%zu instructions: %zu accesses, %zu compute, %zu with known flags; unknown %zu, "
	       "in %zu of %zu functions; wrong %zu\n",
	       t->insns, t->accesses, t->computing, t->flags, t->nunknown, t->unknown_fns, t->fns,
	       t->wrong);
	for (int i = 0; i <= ZYDIS_MNEMONIC_MAX_VALUE; i++) {
		if (t->unknown[i])
			printf("\t%6zu %s\n", t->unknown[i], ZydisMnemonicGetString(i));
	}
}

int main(int argc, char **argv)
{
	static struct tally t;
	bool timed = false;
	int c;

	while ((c = getopt(argc, argv, "tv")) != -1) {
		timed |= c == 't';
		t.verbose |= c == 'v';
	}
	for (int i = optind; i < argc; i++)
		survey(&t, argv[i], timed);
	if (optind == argc)
		survey(&t, elf_libc_path(), timed);
	report(&t);
	if (optind == argc && t.insns < INSNS_MIN)
		return 1;
	return t.wrong || t.nunknown * 1000000 > t.insns * UNKNOWN_PER_MILLION_MAX;
}
