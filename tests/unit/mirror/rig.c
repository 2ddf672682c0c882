// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include "tests/unit/mirror/rig.h"

#include <asm/prctl.h>
#include <err.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/unit/wrap/machine.h"
#include "tracefmt/ring.h"
#include "trampolines/mirror/mirror.h"
#include "trampolines/insn/x86-64/decode.h"

enum {
	IMAGE = RANDOM_CODE + RANDOM_DATA,
	MIRRORED = 1 << 20,	/* where in the region the mirrored code is */
	ARENA = 2 << 20,
	STACK = 3 << 20,	/* its end */
	REGION = 4 << 20,
	FUEL = 60,
	RUNS = 4,
	EVENTS = 4096,
	STEPS_MAX = 1000000,
	TRAP_FLAG = 0x100,
	EVENT_MASK = 0xfffff,
	FIRST_EVENT = 2,
};

struct event {
	uint64_t id, frame; /* frame: second word of the record */
};

struct pool {
	uint64_t owner, ptr, room;
};

struct rig {
	uint8_t *region;
	struct random_code code;
	struct tramp_code *flow_code;
	struct tramp_fn fns[RANDOM_FUNCTIONS];
	unsigned int wanted[RANDOM_FUNCTIONS];	/* 0: not instrumented */
	struct event expected[EVENTS], recorded[EVENTS];
	size_t nexpected, nrecorded;
	struct pool pool;
	uint64_t records[2 * EVENTS];
	struct mirror_tally *tally;
};

static struct rig rig;

static void fail(const char *what)
{
	fprintf(stderr, "%s\n", what);
	if (getenv("MIRROR_DUMP")) {
		FILE *file = fopen(getenv("MIRROR_DUMP"), "w");

		if (file) {
			fwrite(rig.region, 1, STACK, file);
			fclose(file);
		}
	}
	abort();
}

/* ---- what happens in the original, by single steps ---- */

static struct {
	bool in_code;
	uint64_t pc, rsp;
	size_t steps;
} last;

static int function_at(uint64_t pc)
{
	uint64_t off = pc - (uint64_t)rig.region;
	int i = 0;

	if (off >= RANDOM_CODE)
		return -1;
	while (i + 1 < RANDOM_FUNCTIONS && off >= rig.code.start[i + 1])
		i++;
	return i;
}

static void expect(int fn, bool enter, uint64_t frame)
{
	if (!(rig.wanted[fn] & (enter ? TRAMP_MIRROR_ENTRY : TRAMP_MIRROR_EXIT)))
		return;
	if (rig.nexpected == EVENTS)
		fail("too many events");
	rig.expected[rig.nexpected++] = (struct event){
		.id = FIRST_EVENT + 2 * (uint64_t)fn + !enter, .frame = frame,
	};
}

static void on_step(uint64_t pc, uint64_t rsp)
{
	int fn = function_at(pc), from = last.in_code ? function_at(last.pc) : -1;
	struct tramp_decoded insn = { .kind = TRAMP_OP_CALL };
	bool start = fn >= 0 && pc == (uint64_t)rig.region + rig.code.start[fn];

	if (last.in_code && !tramp_decode((const uint8_t *)last.pc, 15, &insn))
		fail("no instruction");
	if (insn.kind == TRAMP_OP_RET || insn.kind == TRAMP_OP_STOP)
		expect(from, false, last.rsp);
	else if (from >= 0 && insn.kind != TRAMP_OP_CALL && fn != from)
		expect(from, false, rsp | RING_JUMP | RING_JUMP_TARGET(fn >= 0 ? pc + MIRRORED : pc));
	if (start && (insn.kind == TRAMP_OP_CALL || fn != from))
		expect(fn, true, rsp);
	last.in_code = fn >= 0;
	last.pc = pc;
	last.rsp = rsp;
}

static void on_trap(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t pc = (uint64_t)regs[REG_RIP];

	(void)signal;
	(void)info;
	if (pc == (uint64_t)(uintptr_t)machine_landing) {
		on_step(pc, (uint64_t)regs[REG_RSP]);
		regs[REG_EFL] &= ~TRAP_FLAG;
	} else if (function_at(pc) >= 0) {
		on_step(pc, (uint64_t)regs[REG_RSP]);
		if (++last.steps > STEPS_MAX)
			fail("it does not end");
	}
}

/* ---- the rig ---- */

static uint64_t tcb(void)
{
	uint64_t value;

	asm("mov %%fs:0, %0" : "=r"(value));
	return value;
}

static void set_up(void)
{
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	static uint8_t stack[1 << 16];
	stack_t alt = { .ss_sp = stack, .ss_size = sizeof(stack) };

	if (rig.region)
		return;
	rig.region = mmap(NULL, REGION, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (rig.region == MAP_FAILED)
		err(99, "mmap");
	if (sigaltstack(&alt, NULL) != 0 || sigaction(SIGTRAP, &action, NULL) != 0)
		err(99, "signals");
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, &rig.pool) != 0)
		err(99, "GS");
}

static void find_code(struct random_source *source)
{
	uint64_t base = (uint64_t)rig.region;
	struct tramp_bytes bytes[2] = {
		{ .addr = base, .bytes = rig.region, .len = RANDOM_CODE, .code = true },
		{ .addr = base + RANDOM_CODE, .bytes = rig.region + RANDOM_CODE, .len = RANDOM_DATA },
	};
	static struct tramp_bytes kept[2];
	static struct tramp_facts facts;
	uint32_t framed = random_below(source, 4) ? TRAMP_FN_FRAMED : 0;

	memcpy(kept, bytes, sizeof(kept));
	for (int i = 0; i < RANDOM_FUNCTIONS; i++)
		rig.fns[i] = (struct tramp_fn){
			.addr = base + rig.code.start[i], .size = rig.code.size[i], .flags = framed,
			.parent = TRAMP_NONE,
		};
	facts = (struct tramp_facts){
		.bytes = kept, .nbytes = 2, .fns = rig.fns, .nfns = RANDOM_FUNCTIONS,
	};
	if (tramp_code_new(&facts, &rig.flow_code) != TRAMP_CODE_OK)
		errx(99, "no code");
}

static void patch(const struct tramp_mirror_code *code)
{
	uint64_t base = tramp_code_base(rig.flow_code) - (uint64_t)rig.region;

	for (size_t i = 0; i < code->npatches; i++) {
		const struct tramp_patch *p = &code->patches[i];
		uint8_t *at = rig.region + MIRRORED + base + p->off;

		if (memcmp(at, p->was, p->len) != 0)
			fail("a byte is patched twice");
		memcpy(at, p->bytes, p->len);
	}
}

static void mirror_function(struct tramp_mirror *m, uint32_t fn, unsigned int want, size_t *used)
{
	struct tramp_mirror_request req = {
		.fn = fn, .want = want, .enter = FIRST_EVENT + 2 * fn, .leave = FIRST_EVENT + 2 * fn + 1,
		.index = fn,
	};
	uint64_t base = tramp_code_base(rig.flow_code) + MIRRORED;
	struct tramp_mirror_plan plan;
	struct tramp_mirror_code code;
	enum tramp_mirror_status status;

	if (tramp_code_function(rig.flow_code, rig.fns[fn].addr) != fn)
		errx(99, "a function is part of another");
	status = tramp_mirror_plan(m, &req, &plan);
	rig.tally->functions++;
	rig.wanted[fn] = 0;
	if (status != TRAMP_MIRROR_OK && status != TRAMP_MIRROR_NEVER_LEAVES) {
		rig.tally->refused++;
		return;
	}
	rig.tally->shorts += plan.nshort;
	rig.tally->retargeted += plan.nretargeted;
	rig.tally->moved += plan.nmoved_calls;
	rig.wanted[fn] = want;
	status = tramp_mirror_emit(m, base, (uint64_t)rig.region + ARENA + *used,
				   rig.region + ARENA + *used, tramp_mirror_room(m), &code);
	if (status != TRAMP_MIRROR_OK)
		fail(tramp_mirror_text(status));
	*used += (code.len + 15) & ~(size_t)15;
	patch(&code);
}

static unsigned int any_want(struct random_source *source)
{
	static const unsigned int wants[] = {
		TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT, TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT,
		TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT | TRAMP_MIRROR_WHOLE, TRAMP_MIRROR_ENTRY,
		TRAMP_MIRROR_EXIT, TRAMP_MIRROR_WHOLE,
		TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT | TRAMP_MIRROR_AHEAD,
		TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_EXIT | TRAMP_MIRROR_AHEAD, TRAMP_MIRROR_ENTRY | TRAMP_MIRROR_AHEAD,
	};

	return wants[random_below(source, sizeof(wants) / sizeof(wants[0]))];
}

static void mirror_all(struct random_source *source)
{
	static const struct tramp_probe_env env = {
		.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO,
		.owner = offsetof(struct pool, owner), .ptr = offsetof(struct pool, ptr),
		.room = offsetof(struct pool, room), .gate = 0x10,
	};
	struct tramp_mirror *m = tramp_mirror_new(rig.flow_code, &env, NULL);
	size_t used = 0;

	if (!m)
		errx(99, "no memory");
	for (uint32_t i = 0; i < RANDOM_FUNCTIONS; i++)
		mirror_function(m, i, any_want(source), &used);
	tramp_mirror_free(m);
}

/* ---- runs ---- */

static void reset_data(uint8_t *data)
{
	memcpy(data, rig.code.image + RANDOM_CODE, RANDOM_DATA);
	for (uint32_t i = 1; i < RANDOM_TABLES / 8; i++)
		data[8 * i] = (uint8_t)(37 * i);
	*(uint32_t *)data = FUEL;
}

static void run(struct machine *m, const struct machine *first, uint64_t code, uint32_t fn, uint64_t flags)
{
	uint64_t *top = (uint64_t *)(rig.region + STACK - 64);

	*m = *first;
	memset(top, 0, 64);
	*top = (uint64_t)(uintptr_t)machine_landing;
	m->registers[RSP] = (uint64_t)top;
	m->registers[R15] = code + RANDOM_CODE;
	m->flags = 0x202 | flags;
	reset_data((uint8_t *)code + RANDOM_CODE);
	machine_run(m, (const void *)(code + rig.code.start[fn]));
	m->registers[R15] = 0;
}

static void take_records(void)
{
	size_t n = (rig.pool.ptr - (uint64_t)rig.records) / 16;

	rig.nrecorded = n;
	for (size_t i = 0; i < n; i++)
		rig.recorded[i] = (struct event){ rig.records[2 * i] & EVENT_MASK, rig.records[2 * i + 1] };
}

/* Where a jump leads need not be known. */
static bool same_event(const struct event *expected, const struct event *recorded)
{
	return expected->id == recorded->id &&
	       (expected->frame == recorded->frame ||
		(!(recorded->frame & RING_JUMP) && RING_JUMP_FRAME(expected->frame) == recorded->frame));
}

static bool same_events(void)
{
	for (size_t i = 0; i < rig.nexpected && i < rig.nrecorded; i++)
		if (!same_event(&rig.expected[i], &rig.recorded[i]))
			return false;
	return rig.nexpected == rig.nrecorded;
}

static void compare(const struct machine *a, const struct machine *b)
{
	static const uint8_t kept[] = { RAX, RBX, RSP, RBP, R12, R13, R14, R15 };

	for (size_t i = 0; i < sizeof(kept); i++) {
		if (a->registers[kept[i]] != b->registers[kept[i]])
			fail("a register differs");
	}
	if (memcmp(rig.region + RANDOM_CODE, rig.region + MIRRORED + RANDOM_CODE, RANDOM_DATA) != 0)
		fail("memory differs");
	if (!same_events()) {
		for (size_t i = 0; i < rig.nexpected || i < rig.nrecorded; i++)
			fprintf(stderr, "%" PRIu64 " %#" PRIx64 "   %" PRIu64 " %#" PRIx64 "\n",
				i < rig.nexpected ? rig.expected[i].id : 0,
				i < rig.nexpected ? rig.expected[i].frame : 0,
				i < rig.nrecorded ? rig.recorded[i].id : 0,
				i < rig.nrecorded ? rig.recorded[i].frame : 0);
		fail("events differ (expected, recorded)");
	}
}

static void run_both(struct random_source *source)
{
	struct machine first = { 0 }, original, mirrored;
	uint32_t fn = random_below(source, RANDOM_FUNCTIONS);

	for (int i = 0; i < NREGISTERS; i++)
		first.registers[i] = random_below(source, 256) * 0x1234567u;
	first.registers[RAX] = random_below(source, 6);
	rig.nexpected = 0;
	last.in_code = false;
	last.steps = 0;
	run(&original, &first, (uint64_t)rig.region, fn, TRAP_FLAG);
	rig.pool = (struct pool){
		.owner = tcb(), .ptr = (uint64_t)rig.records,
		.room = (uint64_t)(rig.records + 2 * EVENTS),
	};
	run(&mirrored, &first, (uint64_t)rig.region + MIRRORED, fn, 0);
	take_records();
	compare(&original, &mirrored);
	rig.tally->events += rig.nexpected;
	rig.tally->steps += last.steps;
}

void mirror_rig_run(struct random_source *source, struct mirror_tally *tally)
{
	set_up();
	rig.tally = tally;
	random_generate(&rig.code, source);
	memcpy(rig.region, rig.code.image, IMAGE);
	memcpy(rig.region + MIRRORED, rig.code.image, IMAGE);
	find_code(source);
	mirror_all(source);
	for (int i = 0; i < RUNS; i++)
		run_both(source);
	tramp_code_free(rig.flow_code);
}
