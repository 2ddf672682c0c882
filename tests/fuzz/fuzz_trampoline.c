// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Plans arbitrary bytes and emits all code for them. What comes out is decoded again, with all
 * operands, by nothing of trampolines/: the replay code has to do what the displaced instructions
 * did, and no branch that a linear sweep finds may go into an accepted patch.
 *
 * Input: choices (1 byte), size (1 byte), an address that code elsewhere jumps to (1 byte), code.
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <Zydis/Zydis.h>

#include "tests/fuzz/require.h"
#include "tests/unit/flow/bytes.h"
#include "trampolines/trampoline.h"

enum {
	CHOICE_NO_SIZE = 1,
	CHOICE_LOW = 2,
	CHOICE_BELOW = 4,
	CHOICE_LENGTHS = 8,
	HEADER = 3,
	INPUT_MAX = 4096,
};

#define LOW_ADDR 0x401000ull
#define HIGH_ADDR 0x7f1234501000ull
#define DISTANCE 0x12345670

struct decoded {
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool decode(const uint8_t *code, size_t avail, struct decoded *d)
{
	ZydisDecoder decoder;

	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, avail, &d->insn, d->operands));
}

static bool is_branch(const struct decoded *d)
{
	return d->insn.raw.imm[0].is_relative;
}

static bool is_call(const struct decoded *d)
{
	return d->insn.mnemonic == ZYDIS_MNEMONIC_CALL;
}

/* The address that the instruction at `addr` refers to by RIP, as branch or as operand. */
static bool reference(const struct decoded *d, uint64_t addr, uint64_t *target)
{
	if (!(d->insn.attributes & ZYDIS_ATTRIB_IS_RELATIVE))
		return false;
	for (int i = 0; i < d->insn.operand_count; i++) {
		const ZydisDecodedOperand *o = &d->operands[i];
		bool relative = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative;

		if (o->type == ZYDIS_OPERAND_TYPE_MEMORY)
			relative = o->mem.base == ZYDIS_REGISTER_RIP;
		if (relative && ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&d->insn, o, addr, target)))
			return true;
	}
	return false;
}

static bool is_displaced(const struct tramp_plan *plan, uint64_t addr)
{
	return addr >= plan->patch_addr && addr < plan->resume;
}

/* The address that a branch to the first byte means, too. */
static uint64_t behind_endbr(const struct tramp_plan *plan, uint64_t addr)
{
	return addr == plan->addr ? plan->patch_addr : addr;
}

/*
 * No branch or pointer of a linear sweep goes into the patch or the displaced instructions, other
 * than displaced branches to displaced instructions.
 */
static void check_sweep(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	size_t size = fn->size ? fn->size : fn->avail;
	uint64_t patch_end = plan->patch_addr + plan->patch_len;
	uint64_t end = plan->displaced_len > TRAMP_PATCH_MAX ? plan->resume : patch_end;
	struct decoded d;

	for (size_t at = 0; at < size; at += d.insn.length) {
		uint64_t target;

		/* After what is no code, a sweep knows nothing for sure. */
		if (!decode(fn->code + at, size - at, &d))
			return;
		if (!reference(&d, fn->addr + at, &target) || target < fn->addr || target >= end)
			continue;
		target = behind_endbr(plan, target);
		if (is_branch(&d) && !is_call(&d)) {
			REQUIRE(is_displaced(plan, fn->addr + at));
			REQUIRE(tramp_pc_to_replay(plan, fn->addr, target) != 0);
		} else {
			REQUIRE(target == plan->patch_addr);
		}
	}
}

static void check_plan(const struct tramp_function *fn, const struct tramp_plan *plan)
{
	size_t patch = plan->patch_addr - plan->addr;
	size_t at = 0;

	REQUIRE(plan->addr == fn->addr && (patch == 0 || patch == 4));
	REQUIRE(plan->patch_len >= TRAMP_JUMP_SIZE && plan->patch_len <= TRAMP_PATCH_MAX);
	REQUIRE(plan->displaced_len <= TRAMP_DISPLACED_MAX);
	REQUIRE(patch + plan->displaced_len <= fn->avail);
	REQUIRE(patch + plan->patch_len <= fn->avail);
	REQUIRE(memcmp(plan->original, fn->code + patch, plan->patch_len) == 0);
	REQUIRE(memcmp(plan->original, fn->code + patch, plan->displaced_len) == 0);
	REQUIRE(plan->ninsns >= 1 && plan->ninsns <= TRAMP_INSNS_MAX);
	REQUIRE(plan->resume == plan->patch_addr + plan->displaced_len);
	for (size_t i = 0; i < plan->ninsns; i++) {
		REQUIRE(plan->insns[i].offset == at);
		at += plan->insns[i].length;
	}
	REQUIRE(at == plan->displaced_len);
}

/* The jump, then nops that a disassembler can follow to the patch's end. */
static void check_patch(const struct tramp_plan *plan, uint64_t to)
{
	uint8_t patch[TRAMP_PATCH_MAX];
	struct decoded d;
	uint64_t target;

	if (tramp_emit_patch(plan, to, patch) != TRAMP_OK)
		return;
	REQUIRE(decode(patch, plan->patch_len, &d) && d.insn.mnemonic == ZYDIS_MNEMONIC_JMP);
	REQUIRE(reference(&d, plan->patch_addr, &target) && target == to);
	for (size_t at = d.insn.length; at < plan->patch_len; at += d.insn.length)
		REQUIRE(decode(patch + at, plan->patch_len - at, &d) &&
			d.insn.mnemonic == ZYDIS_MNEMONIC_NOP);
}

/* Decodes the next instruction of the replay code, which has to refer to `target`, if not 0. */
struct reader {
	const uint8_t *code;
	size_t len, at;
	uint64_t addr;
	struct decoded d;
};

static void read_insn(struct reader *r, uint64_t target)
{
	uint64_t found;

	REQUIRE(decode(r->code + r->at, r->len - r->at, &r->d));
	if (target)
		REQUIRE(reference(&r->d, r->addr + r->at, &found) && found == target);
	r->at += r->d.insn.length;
}

static void check_push(struct reader *r, const struct tramp_plan *plan)
{
	uint64_t slot, pushed;

	read_insn(r, 0);
	REQUIRE(r->d.insn.mnemonic == ZYDIS_MNEMONIC_PUSH);
	if (!reference(&r->d, r->addr + r->at - r->d.insn.length, &slot)) {
		REQUIRE(r->d.operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE);
		REQUIRE(r->d.operands[0].imm.value.u == plan->resume);
		return;
	}
	REQUIRE(slot % 8 == 0 && slot - r->addr + 8 <= r->len);
	memcpy(&pushed, r->code + (slot - r->addr), sizeof(pushed));
	REQUIRE(pushed == plan->resume);
}

/* The operand of a call, and that of the jump which stands for it. */
static void check_indirect(const struct decoded *call, const struct decoded *jmp)
{
	const ZydisDecodedOperand *a = &call->operands[0], *b = &jmp->operands[0];
	int64_t moved;

	REQUIRE(jmp->insn.mnemonic == ZYDIS_MNEMONIC_JMP && a->type == b->type);
	if (a->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		REQUIRE(a->reg.value == b->reg.value && a->reg.value != ZYDIS_REGISTER_RSP);
		return;
	}
	REQUIRE(a->mem.base == b->mem.base && a->mem.index == b->mem.index);
	REQUIRE(a->mem.scale == b->mem.scale && a->mem.segment == b->mem.segment);
	moved = b->mem.disp.value - a->mem.disp.value;
	if (a->mem.base != ZYDIS_REGISTER_RIP)
		REQUIRE(moved == (a->mem.base == ZYDIS_REGISTER_RSP ? 8 : 0));
}

static bool is_loop(ZydisMnemonic m)
{
	return m == ZYDIS_MNEMONIC_LOOP || m == ZYDIS_MNEMONIC_LOOPE ||
	       m == ZYDIS_MNEMONIC_LOOPNE || m == ZYDIS_MNEMONIC_JRCXZ ||
	       m == ZYDIS_MNEMONIC_JECXZ;
}

static void check_loop(struct reader *r, ZydisMnemonic mnemonic, uint64_t target)
{
	uint64_t start = r->addr + r->at, over, out;
	size_t jump;

	read_insn(r, 0);
	REQUIRE(r->d.insn.mnemonic == mnemonic);
	REQUIRE(reference(&r->d, start, &out));
	jump = r->at;
	read_insn(r, 0);
	REQUIRE(r->d.insn.mnemonic == ZYDIS_MNEMONIC_JMP);
	REQUIRE(reference(&r->d, r->addr + jump, &over));
	REQUIRE(out == r->addr + r->at);
	read_insn(r, target);
	REQUIRE(r->d.insn.mnemonic == ZYDIS_MNEMONIC_JMP && over == r->addr + r->at);
}

/* One displaced instruction and what became of it. */
static void check_insn(struct reader *r, const struct tramp_plan *plan, const struct tramp_insn *ti)
{
	const uint8_t *code = plan->original + ti->offset;
	uint64_t target = 0;
	struct decoded d;
	bool relative;

	REQUIRE(decode(code, ti->length, &d) && d.insn.length == ti->length);
	relative = reference(&d, plan->patch_addr + ti->offset, &target);
	if (is_branch(&d) && !is_call(&d)) {
		uint64_t copy = tramp_pc_to_replay(plan, r->addr, behind_endbr(plan, target));

		target = copy ? copy : target;
	}
	if (is_call(&d)) {
		check_push(r, plan);
		read_insn(r, target);
		REQUIRE(r->d.insn.mnemonic == ZYDIS_MNEMONIC_JMP);
		if (!is_branch(&d))
			check_indirect(&d, &r->d);
	} else if (is_loop(d.insn.mnemonic)) {
		check_loop(r, d.insn.mnemonic, target);
	} else if (relative) {
		read_insn(r, target);
		REQUIRE(r->d.insn.mnemonic == d.insn.mnemonic);
		REQUIRE(is_branch(&d) || r->d.insn.length == ti->length);
	} else {
		REQUIRE(memcmp(r->code + r->at, code, ti->length) == 0);
		r->at += ti->length;
	}
}

static void check_replay(const struct tramp_plan *plan, uint64_t at)
{
	uint8_t replay[TRAMP_REPLAY_MAX];
	struct reader r = { .code = replay, .addr = at };
	size_t size = tramp_replay_size(plan);

	REQUIRE(size <= TRAMP_REPLAY_MAX);
	memset(replay, 0, sizeof(replay));
	if (tramp_emit_replay(plan, at, replay, size, &r.len) != TRAMP_OK)
		return;
	REQUIRE(r.len == size);
	for (size_t i = 0; i < plan->ninsns; i++) {
		uint64_t pc = plan->patch_addr + plan->insns[i].offset;

		REQUIRE(tramp_pc_to_replay(plan, at, pc) == at + r.at);
		check_insn(&r, plan, &plan->insns[i]);
	}
	if (plan->falls_through) {
		read_insn(&r, plan->resume);
		REQUIRE(r.d.insn.mnemonic == ZYDIS_MNEMONIC_JMP && r.at == r.len);
	}
}

/* Whatever enters the function is inside, and in order. */
static void check_search(const struct tramp_function *fn)
{
	struct bytes_range functions[] = {
		{ fn->addr, fn->size / 4 }, { fn->addr + fn->avail / 2, 0 }
	};
	struct bytes_code object;
	uint64_t entries[16];
	size_t found;

	if (fn->avail == 0)
		return;
	bytes_code_open(&object, fn->code, fn->avail, fn->addr, functions, fn->avail < 2 ? 1 : 2);
	found = tramp_code_entries(object.code, fn->addr + 1, TRAMP_DISPLACED_MAX, entries, 16);
	REQUIRE(found <= 16);
	for (size_t i = 0; i < found; i++) {
		const struct tramp_site *sites;
		size_t n = tramp_code_sites(object.code, entries[i], &sites);

		REQUIRE(entries[i] - fn->addr - 1 < TRAMP_DISPLACED_MAX);
		REQUIRE(i == 0 || entries[i - 1] < entries[i]);
		for (size_t k = 0; k < n; k++)
			REQUIRE(sites[k].from < fn->avail);
	}
	bytes_code_close(&object);
}

static void plan_and_check(struct tramp_function *fn, unsigned int choices)
{
	uint64_t to = fn->addr + (choices & CHOICE_BELOW ? -(uint64_t)DISTANCE : DISTANCE);
	struct tramp_plan plan;
	enum tramp_status status = tramp_plan_entry(fn, &plan);

	REQUIRE(status < TRAMP_STATUS_COUNT && status != TRAMP_FAR && status != TRAMP_NO_ROOM);
	if (status != TRAMP_OK)
		return;
	check_plan(fn, &plan);
	check_sweep(fn, &plan);
	check_patch(&plan, to);
	check_replay(&plan, to & ~15ull);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tramp_function fn = { .addr = HIGH_ADDR };
	struct tramp_branch branch = { 0, 0 };
	uint8_t *code;

	if (size < HEADER || size > INPUT_MAX)
		return 0;
	if (data[0] & CHOICE_LOW)
		fn.addr = LOW_ADDR;
	fn.avail = size - HEADER;
	if (!(data[0] & CHOICE_NO_SIZE))
		fn.size = data[1] && data[1] < fn.avail ? data[1] : fn.avail;
	branch.to = fn.addr + data[2];
	fn.branches = &branch;
	fn.nbranches = data[2] != 0;
	code = malloc(fn.avail ? fn.avail : 1);	/* its end is guarded when sanitized */
	if (!code)
		return 0;
	memcpy(code, data + HEADER, fn.avail);
	fn.code = code;
	if (data[0] & CHOICE_LENGTHS) {
		fn.lengths = data;
		fn.nlengths = HEADER;
	}
	plan_and_check(&fn, data[0]);
	check_search(&fn);
	free(code);
	return 0;
}
