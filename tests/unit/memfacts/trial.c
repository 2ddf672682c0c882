// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/memfacts/trial.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "tests/unit/memfacts/machine.h"
#include "trampolines/memory/memory.h"

enum {
	LISTED_MAX = 40, RCX_MAX = 20, ENTER_MAX = RIG_ARENA / 4 - 8,
	STATUS = 0x8c5,		/* CF, PF, ZF, SF, OF */
};

enum mode { MIDDLE, READ_ONLY, END, BEHIND_END, START, BEFORE_START, MODES };

struct trial {
	uint8_t insn[ZYDIS_MAX_INSTRUCTION_LENGTH];
	size_t len;
	uint64_t load;
	struct tramp_mem_facts facts;
	struct rig_state s;
	struct mm before;	/* the machine after the accesses, with their list */
	const struct rig_arena *arena;
	enum mode mode;
	bool nf;		/* no fault suppression */
};

static uint64_t random64(void)
{
	return (uint64_t)random() ^ (uint64_t)random() << 24 ^ (uint64_t)random() << 48;
}

static uint64_t random_value(void)
{
	static const uint64_t special[] = { 0, 1, UINT64_MAX, INT64_MIN, INT64_MAX, INT32_MAX,
					    0x80000000, UINT32_MAX, 0x80, 0x7f, 0xff, 0x8000 };

	switch (random() % 5) {
	case 0:
		return special[(size_t)random() % (sizeof(special) / sizeof(special[0]))];
	case 1:
		return (uint64_t)(random() % 256 - 128);
	case 2:
		return (uint64_t)(int64_t)(int32_t)random64();
	case 3:
		return (uint32_t)random64();
	default:
		return random64();
	}
}

/* ---- state ---- */

/*
 * Numbers near to 0, of 4 or 8 bytes: they can be indices, and have signs, so that they can be
 * masks.
 */
static void random_vector(uint8_t *v)
{
	unsigned int kind = (unsigned int)random() % 3;

	for (unsigned int i = 0; i < 64; i += 8) {
		int32_t a = (int32_t)(random() % 128 - 64), b = (int32_t)(random() % 128 - 64);
		int32_t half[2] = { a, b };
		int64_t whole = kind == 1 ? a : (int64_t)random64();

		memcpy(v + i, kind == 0 ? (const void *)half : &whole, 8);
	}
}

static void random_state(struct rig_state *s)
{
	for (int i = 0; i < 16; i++)
		s->r[i] = random_value();
	s->flags = 0x202 | (random64() & STATUS);
	for (int i = 0; i < 32; i++)
		random_vector(s->zmm[i]);
	for (int i = 0; i < 8; i++) {
		s->k[i] = random() % 8 ? random64() & random64() : 0;
		s->mm[i] = random64();
	}
}

static size_t put_extras(const struct tramp_mem_facts *f, const struct rig_state *s,
			 uint8_t *stream)
{
	size_t at = 0;

	for (int i = 0; i < f->nextras; i++) {
		const struct tramp_mem_extra *e = &f->extras[i];
		const void *from = e->what == TRAMP_STORE_MASK	    ? (const void *)&s->k[e->reg] :
				   e->what == TRAMP_STORE_MMX	    ? (const void *)&s->mm[e->reg] :
				   e->what == TRAMP_STORE_GPR_AFTER ? (const void *)&s->r[e->reg] :
								      s->zmm[e->reg];

		memcpy(stream + at, from, e->bytes);
		at += e->bytes;
	}
	return at;
}

/* The accesses, with the registers before the instruction; GPR_AFTER from @after. */
static void find_accesses(struct trials *test, struct trial *t, const struct rig_state *after)
{
	uint8_t stream[3 * 64 + 8];
	struct mm *m = &t->before;

	memset(m->r, 0, sizeof(m->r));
	memcpy(m->r, t->s.r, sizeof(t->s.r));
	m->r[MD_FS] = test->rig.fs;
	m->r[MD_OBJECT] = t->load;
	m->conds = mm_conditions_of(t->s.flags);
	m->naccesses = 0;
	m->failed = false;
	put_extras(&t->facts, after, stream);
	m->stream = stream;
	mm_run(m, t->facts.ops, t->facts.nops);
}

static bool depends_on_after(const struct trial *t)
{
	int last = t->facts.nextras - 1;

	return last >= 0 && t->facts.extras[last].what == TRAMP_STORE_GPR_AFTER;
}

/* Changes one of the registers in @regs so that access @k is at @to. */
static bool lead_access(struct trials *test, struct trial *t, size_t k, uint64_t to,
			tramp_regs *regs)
{
	uint64_t delta = to - t->before.accesses[k].addr;

	for (int r = 0; r < 16; r++) {
		if (!(*regs >> r & 1))
			continue;
		t->s.r[r] += delta;
		find_accesses(test, t, &t->s);
		if (k < t->before.naccesses && t->before.accesses[k].addr == to) {
			*regs &= ~TRAMP_REG(r);
			return true;
		}
		t->s.r[r] -= delta;
		find_accesses(test, t, &t->s);
	}
	return false;
}

static bool in_region(const struct rig_arena *a, const struct mm_access *v)
{
	return v->addr >= a->lo - RIG_GUARD && v->addr + v->size <= a->hi + RIG_GUARD &&
	       v->addr + v->size > v->addr;
}

static bool in_arena(const struct rig_arena *a, const struct mm_access *v)
{
	return v->addr >= a->lo && v->addr + v->size <= a->hi;
}

static uint64_t middle(const struct rig_arena *a)
{
	return a->lo + RIG_ARENA / 4 + ((uint64_t)random() % (RIG_ARENA / 2) & ~UINT64_C(63));
}

static uint64_t target(const struct trial *t, uint64_t size)
{
	switch (t->mode) {
	case END:
		return t->arena->hi - size;
	case BEHIND_END:
		return t->arena->hi - size + 1;
	case START:
		return t->arena->lo;
	case BEFORE_START:
		return t->arena->lo - 1;
	default:
		return middle(t->arena);
	}
}

/* Leads all accesses into the arena, one of them to its edge.  False: that cannot be done. */
static bool place(struct trials *test, struct trial *t)
{
	tramp_regs regs = t->facts.need & TRAMP_GPRS;
	size_t k;

	t->arena = t->mode == READ_ONLY ? &test->rig.ro : &test->rig.rw;
	find_accesses(test, t, &t->s);
	if (depends_on_after(t)) {	/* rsi, rdi: wherever the string ends */
		t->s.r[6] = middle(t->arena);
		t->s.r[7] = middle(t->arena);
		return t->mode == MIDDLE;
	}
	if (t->before.naccesses == 0)
		return !t->before.failed && t->mode == MIDDLE;
	k = (size_t)random() % t->before.naccesses;
	if (!lead_access(test, t, k, target(t, t->before.accesses[k].size), &regs) &&
	    !in_region(t->arena, &t->before.accesses[k]))
		return false;
	for (size_t i = 0; i < t->before.naccesses; i++) {
		if (!in_region(t->arena, &t->before.accesses[i]) &&
		    !lead_access(test, t, i, middle(t->arena), &regs))
			return false;
	}
	for (size_t i = 0; i < t->before.naccesses; i++) {
		if (!in_region(t->arena, &t->before.accesses[i]))
			return false;
	}
	return !t->before.failed;
}

/* Prefetches may go anywhere. */
static bool should_fault(const struct trial *t)
{
	for (size_t i = 0; i < t->before.naccesses; i++) {
		const struct mm_access *v = &t->before.accesses[i];
		uint8_t kind = v->kind & MD_KIND;

		if (kind == MD_PREFETCH)
			continue;
		if (!in_arena(t->arena, v) || (t->mode == READ_ONLY && kind != MD_LOAD))
			return true;
	}
	return false;
}

/*
 * Whether clflush faults, and maskmovdqu for bytes that it does not write, is up to the processor;
 * masked stores of parts of vectors (vextractf32x4; class E6NF) fault for what they do not write.
 */
static bool may_fault(const struct trial *t)
{
	const struct md_op *op = &t->facts.ops[t->facts.nops ? t->facts.nops - 1 : 0];

	if (!t->facts.nops)
		return false;
	if (t->nf && op->dst == MD_STORE)
		return true;
	return op->code == MD_ACCESS ? (op->dst & MD_KIND) == MD_PREFETCH :
	       op->code == MD_MASKED && MD_LANES_MASK(op->imm) == MD_MASK_BYTES;
}

/* ---- what is found ---- */

static void complain(struct trials *test, const struct trial *t, const char *what, uint64_t is,
		     uint64_t should)
{
	ZydisDisassembledInstruction text;

	if (test->wrong++ >= LISTED_MAX)
		return;
	ZydisDisassembleIntel(ZYDIS_MACHINE_MODE_LONG_64, 0, t->insn, t->len, &text);
	for (size_t i = 0; i < t->len; i++)
		printf("%02x", t->insn[i]);
	printf(" %s: %s, %#lx, said %#lx (mode %d)\n", text.text, what, is, should, t->mode);
}

static tramp_regs moved(const struct tramp_mem_facts *f)
{
	tramp_regs regs = 0;

	for (int i = 0; i < f->nops; i++) {
		if (f->ops[i].code == MD_STRING)
			regs |= TRAMP_REG(TRAMP_RSI) | TRAMP_REG(TRAMP_RDI) | TRAMP_REG(TRAMP_RCX);
	}
	for (int i = 0; i < f->ncomputes; i++)
		regs |= f->writes[i];
	return regs;
}

static void check_register(struct trials *test, const struct trial *t, const struct mm *said,
			   const struct rig_state *after, int r)
{
	const struct tramp_mem_facts *f = &t->facts;
	uint64_t is = after->r[r];

	if (f->kills >> r & 1) {
		if (f->narrow_u32 >> r & 1 && is != (uint32_t)is)
			complain(test, t, "not zero-extended", is, (uint64_t)r);
		if (f->narrow_s32 >> r & 1 && is != (uint64_t)(int64_t)(int32_t)is)
			complain(test, t, "not sign-extended", is, (uint64_t)r);
	} else if (is != said->r[r]) {
		complain(test, t, moved(f) >> r & 1 ? "computes" : "changes a register", is,
			 said->r[r]);
	}
}

static void check_flags(struct trials *test, const struct trial *t, const struct mm *said,
			const struct rig_state *after)
{
	const struct tramp_mem_facts *f = &t->facts;
	uint16_t is = mm_conditions_of(after->flags), should;

	if (f->flags_effect == TRAMP_FLAGS_KEPT && (t->s.flags ^ after->flags) & STATUS)
		complain(test, t, "flags not kept", after->flags, t->s.flags);
	if (f->flags_effect != TRAMP_FLAGS_KNOWN)
		return;
	should = mm_conditions(f->flags_after ? said : &t->before, &f->flags);
	if ((is ^ should) & f->flags_valid)
		complain(test, t, "conditions", is & f->flags_valid, should & f->flags_valid);
	test->flags++;
}

static void check_results(struct trials *test, struct trial *t, const struct rig_state *after)
{
	struct mm *said = &t->before;
	static struct mm behind;

	find_accesses(test, t, after);
	behind = *said;
	mm_run(&behind, t->facts.computes, t->facts.ncomputes);
	memcpy(said->r, t->s.r, sizeof(t->s.r)); /* flags are of what was in front */
	for (int r = 0; r < 16; r++)
		check_register(test, t, &behind, after, r);
	check_flags(test, t, &behind, after);
	test->computed += t->facts.ncomputes != 0;
}

static bool has_lanes(const struct trial *t)
{
	uint8_t code = t->facts.nops ? t->facts.ops[t->facts.nops - 1].code : MD_CODES;

	return code == MD_MASKED || code == MD_GATHER || code == MD_PACKED;
}

static bool uses_mmx(const struct trial *t)
{
	return t->facts.nextras && t->facts.extras[0].what == TRAMP_STORE_MMX;
}

static void run(struct trials *test, struct trial *t)
{
	struct rig_state after = t->s;
	bool should = should_fault(t);
	enum rig_outcome outcome = rig_run(&test->rig, &after, t->insn, t->len, uses_mmx(t));

	if (outcome == RIG_OTHER) {
		test->others++;
		return;
	}
	test->runs++;
	test->lanes += has_lanes(t);
	test->faults += outcome == RIG_FAULT;
	if (should != (outcome == RIG_FAULT) && !(outcome == RIG_FAULT && may_fault(t)))
		complain(test, t, "a fault", outcome == RIG_FAULT, should);
	if (outcome == RIG_OK)
		check_results(test, t, &after);
}

/* ---- instructions ---- */

/* What leaves the program, or changes what the test itself stands on. */
static bool is_fit(const ZydisDecodedInstruction *zi)
{
	switch (zi->meta.category) {
	case ZYDIS_CATEGORY_CALL:
	case ZYDIS_CATEGORY_COND_BR:
	case ZYDIS_CATEGORY_INTERRUPT:
	case ZYDIS_CATEGORY_IO:
	case ZYDIS_CATEGORY_IOSTRINGOP:
	case ZYDIS_CATEGORY_PKU:
	case ZYDIS_CATEGORY_RET:
	case ZYDIS_CATEGORY_RDWRFSGS:
	case ZYDIS_CATEGORY_SYSCALL:
	case ZYDIS_CATEGORY_SYSRET:
	case ZYDIS_CATEGORY_SYSTEM:
	case ZYDIS_CATEGORY_UNCOND_BR:
	case ZYDIS_CATEGORY_VTX:
	case ZYDIS_CATEGORY_WAITPKG:
	case ZYDIS_CATEGORY_XSAVE:
	case ZYDIS_CATEGORY_XSAVEOPT:
		return false;
	default:
		break;
	}
	switch (zi->mnemonic) {
	case ZYDIS_MNEMONIC_FLDCW:
	case ZYDIS_MNEMONIC_FLDENV:
	case ZYDIS_MNEMONIC_FRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_LDMXCSR:
	case ZYDIS_MNEMONIC_MWAIT:
	case ZYDIS_MNEMONIC_MWAITX:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_VLDMXCSR:
		return false;
	default:
		return true;
	}
}

/* RIP-relative operands lead into the arena. */
static void mend_rip(const struct trials *test, struct trial *t, const ZydisDecodedInstruction *zi)
{
	const struct rig_arena *a = t->mode == READ_ONLY ? &test->rig.ro : &test->rig.rw;
	uint32_t disp = (uint32_t)(middle(a) - test->rig.code - t->len);

	if (zi->attributes & ZYDIS_ATTRIB_HAS_MODRM && zi->raw.modrm.mod == 0 &&
	    zi->raw.modrm.rm == 5 && zi->raw.disp.size == 32)
		memcpy(t->insn + zi->raw.disp.offset, &disp, 4);
}

/* What is broadcast counts as accessed whatever the mask is; the processor looks at it. */
static void mend_masks(struct trial *t, const ZydisDecodedInstruction *zi)
{
	for (int i = 0; i < 8 && zi->avx.broadcast.mode; i++)
		t->s.k[i] = UINT64_MAX;
}

/* It looks whether the place that the stack pointer gets in the end could be written. */
static bool is_far_enter(const struct trial *t, const ZydisDecodedInstruction *zi)
{
	return zi->mnemonic == ZYDIS_MNEMONIC_ENTER &&
	       (t->mode != MIDDLE || zi->raw.imm[0].value.u > ENTER_MAX);
}

static bool is_string(const struct trial *t)
{
	return t->facts.nops && t->facts.ops[0].code == MD_STRING;
}

void try_insn(struct trials *test, const uint8_t *bytes, size_t avail)
{
	static struct trial t;
	ZydisDecodedInstruction zi;
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	if (ZYAN_FAILED(ZydisDecoderDecodeInstruction(&decoder, NULL, bytes, avail, &zi)) ||
	    !is_fit(&zi))
		return;
	t.len = zi.length;
	t.nf = zi.meta.exception_class == ZYDIS_EXCEPTION_CLASS_E6NF;
	for (t.mode = 0; t.mode < MODES; t.mode++) {
		memcpy(t.insn, bytes, t.len);
		mend_rip(test, &t, &zi);
		t.load = test->rig.code - (uint64_t)(random() % 100000);
		if (!tramp_mem_insn(t.insn, t.len, test->rig.code, t.load, &t.facts)) {
			complain(test, &t, "no instruction", 0, 0);
			return;
		}
		random_state(&t.s);
		mend_masks(&t, &zi);
		if (is_string(&t))
			t.s.r[1] = (uint64_t)random() % RCX_MAX;
		if (t.facts.unmodelled || is_far_enter(&t, &zi) || !place(test, &t))
			test->skipped++;
		else
			run(test, &t);
	}
}
