// SPDX-License-Identifier: GPL-3.0-or-later
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <asm/prctl.h>

#include <cmocka.h>

#include "tests/unit/probe/rig.h"
#include "tracefmt/ring.h"

#define STACK_WORDS 8192
#define RED_WORDS 16

struct rig rig;

void rig_gate(void);
void rig_gate_called(const struct rt_probe_desc *desc, uint64_t rsp);

/* Keeps everything. */
asm(".pushsection .text\n"
    "	.globl	rig_gate\n"
    "rig_gate:\n"
    "	push	%rbp\n	mov	%rsp, %rbp\n"
    "	push	%rax\n	push	%rcx\n	push	%rdx\n	push	%rsi\n	push	%rdi\n"
    "	push	%r8\n	push	%r9\n	push	%r10\n	push	%r11\n	pushf\n"
    "	mov	8(%rbp), %rdi\n	lea	16(%rbp), %rsi\n"
    "	and	$-16, %rsp\n	cld\n"
    "	call	rig_gate_called\n"
    "	lea	-80(%rbp), %rsp\n	popf\n"
    "	pop	%r11\n	pop	%r10\n	pop	%r9\n	pop	%r8\n"
    "	pop	%rdi\n	pop	%rsi\n	pop	%rdx\n	pop	%rcx\n	pop	%rax\n"
    "	pop	%rbp\n	ret\n"
    ".popsection\n");

void rig_gate_called(const struct rt_probe_desc *ret, uint64_t rsp)
{
	memcpy(&rig.desc, (const uint8_t *)ret + RT_PROBE_DESC, sizeof(rig.desc));
	rig.slow_frame = rsp + rig.desc.above;
	rig.slow++;
}

const struct tramp_probe_env rig_env = {
	.mode = TRAMP_PROBE_RECORD,
	.id = TRAMP_ID_FS_ZERO,
	.owner = offsetof(struct rig_pool, owner),
	.ptr = offsetof(struct rig_pool, ptr),
	.room = offsetof(struct rig_pool, room),
	.counts = offsetof(struct rig_pool, counts),
	.shadow = offsetof(struct rig_pool, shadow),
	.shadow_end = offsetof(struct rig_pool, shadow_end),
	.time = offsetof(struct rig_pool, time),
	.watch = offsetof(struct rig_pool, watch),
	.watch_far = offsetof(struct rig_pool, watch_far),
};

/* xorshift64* (Vigna 2016): the same in every run. */
uint64_t rig_rand(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	return x * UINT64_C(2685821657736338717);
}

static uint64_t tcb(void)
{
	uint64_t value;

	asm("mov %%fs:0, %0" : "=r"(value));
	return value;
}

void rig_reset(void)
{
	static uint64_t stack[STACK_WORDS];

	memset(rig.records, 0, sizeof(rig.records));
	memset(rig.counts, 0, sizeof(rig.counts));
	memset(rig.shadow, 0, sizeof(rig.shadow));
	memset(rig.choices, RING_CHOICE_RECORD, sizeof(rig.choices));
	rig.shadow[0][1] = UINT64_MAX;
	rig.pool = (struct rig_pool){
		.owner = tcb(),
		.ptr = (uint64_t)rig.records,
		.self = (uint64_t)&rig.pool,
		.room = (uint64_t)rig.records + sizeof(rig.records) - 15,
		.counts = (uint64_t)rig.counts,
		.shadow = (uint64_t)rig.shadow[1],
		.shadow_end = (uint64_t)rig.shadow[RIG_SHADOW],
	};
	if (!rig.page)
		rig.page = mmap(NULL, RIG_CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(rig.page, MAP_FAILED);
	rig.stack = &stack[STACK_WORDS - 64];
	rig.slow = 0;
}

void rig_place(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static size_t next;
	struct tramp_probe_env e = *env;
	uint8_t *slow;

	if (next + 1024 > RIG_CODE_BYTES)
		next = 0;
	e.gate = (uint64_t)rig_gate;
	e.choices = (uint64_t)rig.choices;
	assert_int_equal(tramp_probe_emit(&e, probe, &rig.code), TRAMP_OK);
	assert_int_equal(rig.code.map.length, rig.code.len);
	rig.at = rig.page + next;
	slow = rig.at + rig.code.len + 1;
	assert_int_equal(tramp_probe_place(&rig.code, (uint64_t)rig.at, (uint64_t)slow), TRAMP_OK);
	memcpy(rig.at, rig.code.code, rig.code.len);
	rig.at[rig.code.len] = 0xc3;
	memcpy(slow, rig.code.slow, rig.code.slow_len);
	rig.slow_at = slow;
	next += rig.code.len + 1 + rig.code.slow_len;
}

void rig_random(struct machine *m)
{
	for (int i = 0; i < NREGISTERS; i++)
		m->registers[i] = rig_rand();
	m->registers[RSP] = (uint64_t)rig.stack;
	m->flags = (rig_rand() & MACHINE_FLAGS) | 0x202 | (rig_rand() & 0x400);
	rig.stack[0] = (uint64_t)machine_landing;
	for (int i = 1; i <= RED_WORDS; i++)
		rig.stack[-i] = rig_rand();
}

void rig_enter_gs(void)
{
	syscall(SYS_arch_prctl, ARCH_SET_GS, &rig.pool);
}

void rig_leave_gs(void)
{
	syscall(SYS_arch_prctl, ARCH_SET_GS, 0);
}

static uint64_t red_before[RED_WORDS];

void rig_run(struct machine *m)
{
	memcpy(red_before, rig.stack - RED_WORDS, sizeof(red_before));
	rig_enter_gs();
	machine_run(m, rig.at);
	rig_leave_gs();
}

void rig_check(const struct tramp_probe *probe, const struct machine *was, const struct machine *is)
{
	for (int i = 0; i < NREGISTERS; i++) {
		if (i == RSP)
			assert_int_equal(is->registers[i], was->registers[i] + 8);
		else if (probe->live & TRAMP_REG(i))
			assert_int_equal(is->registers[i], was->registers[i]);
	}
	if (probe->live & TRAMP_STATUS)
		assert_int_equal(is->flags & MACHINE_FLAGS, was->flags & MACHINE_FLAGS);
	assert_int_equal(is->flags & 0x400, was->flags & 0x400);
	if (!probe->red_zone_dead)
		assert_memory_equal(red_before, rig.stack - RED_WORDS, sizeof(red_before));
}

void rig_check_record(int i, uint32_t event)
{
	uint64_t now = __builtin_ia32_rdtsc();

	assert_int_equal(rig.records[i][0] & 0xfffff, event);
	assert_true(now - (rig.records[i][0] >> 20 | (now & ~(UINT64_MAX >> 20))) < 1u << 30);
	assert_int_equal(rig.records[i][1], rig.stack);
}

static const tramp_regs dead_sets[] = {
	0,
	TRAMP_REG(TRAMP_R11),
	TRAMP_REG(TRAMP_R13),
	TRAMP_REG(TRAMP_RBP),
	TRAMP_REG(TRAMP_RCX) | TRAMP_REG(TRAMP_R12),
	TRAMP_REG(TRAMP_R11) | TRAMP_REG(TRAMP_R10),
	TRAMP_REG(TRAMP_R11) | TRAMP_REG(TRAMP_R10) | TRAMP_REG(TRAMP_RSI),
	TRAMP_REG(TRAMP_R11) | TRAMP_REG(TRAMP_R10) | TRAMP_REG(TRAMP_RSI) | TRAMP_REG(TRAMP_RDI),
	TRAMP_GPRS & ~TRAMP_REG(TRAMP_RSP) & ~TRAMP_REG(TRAMP_RAX) & ~TRAMP_REG(TRAMP_RDX),
};
#define NDEAD (sizeof(dead_sets) / sizeof(dead_sets[0]))

static const tramp_regs often[] = {
	0, TRAMP_REG(TRAMP_RAX), TRAMP_REG(TRAMP_RDX), TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_RDX),
};

static struct tramp_probe random_probe(enum tramp_probe_kind kind)
{
	return (struct tramp_probe){
		.kind = kind,
		.event = 16 + (uint32_t)(rig_rand() % 0xffff0),
		.function = (uint32_t)(rig_rand() % RIG_FUNCTIONS),
		.live = (tramp_regs)rig_rand() & TRAMP_ALL_REGS,
		.red_zone_dead = rig_rand() & 1,
	};
}

void rig_each(const struct tramp_probe_env *env, enum tramp_probe_kind kind, rig_body run)
{
	for (unsigned int i = 0; i < NDEAD * 16; i++) {
		struct tramp_probe probe = random_probe(kind);

		probe.live = TRAMP_ALL_REGS & ~dead_sets[i / 16] & ~often[i & 3];
		probe.red_zone_dead = i & 4;
		if (i & 8)
			probe.live &= ~TRAMP_STATUS;
		run(env, &probe);
	}
	for (int i = 0; i < 1000; i++) {
		struct tramp_probe probe = random_probe(kind);

		run(env, &probe);
	}
}

void rig_once(const struct tramp_probe *probe)
{
	struct machine was, is;

	rig_random(&was);
	is = was;
	rig_run(&is);
	rig_check(probe, &was, &is);
}

/* The descriptor is right, all is intact, nothing is recorded. */
void rig_goes_slow(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static const uint8_t kinds[] = {
		[TRAMP_PROBE_ENTRY] = RT_PROBE_ENTRY,
		[TRAMP_PROBE_EXIT] = RT_PROBE_EXIT,
	};
	struct rig_pool pool = rig.pool;

	rig_once(probe);
	assert_int_equal(rig.slow, 1);
	assert_int_equal(rig.desc.event, probe->event);
	assert_int_equal(rig.desc.function, probe->function);
	assert_int_equal(rig.desc.kind, kinds[probe->kind]);
	assert_int_equal(rig.desc.mode, env->mode);
	assert_int_equal(rig.desc.acts, probe->acts);
	assert_int_equal(rig.slow_frame, rig.stack);
	assert_memory_equal(&rig.pool, &pool, sizeof(pool));
	for (int i = 0; i < RIG_RECORDS; i++)
		assert_int_equal(rig.records[i][0], 0);
	for (int i = 0; i < RIG_FUNCTIONS; i++)
		assert_int_equal(rig.counts[i], 0);
}
