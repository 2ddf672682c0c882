// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What probes cost: nanoseconds of thread CPU time for a call of an empty function with an entry and an
 * exit probe (COUNT: an entry probe), the empty call included, medians of many rounds in turn.  The floor
 * is two rdtsc with a store of 16 bytes each.
 */
#include "config.h"

#include <err.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include <asm/prctl.h>

#include "injector/mirror/probeenv.h"

#define CALLS 200000
#define ROUNDS 31
#define CODE_BYTES 65536
#define RING_WORDS (1u << 17)
#define ALL_BUT_FLAGS (TRAMP_ALL_REGS & ~TRAMP_STATUS)

/* Live at a usual function's entry, at its exit, and at the exit of a function that uses nothing. */
#define LIVE_ENTRY (ALL_BUT_FLAGS & ~(TRAMP_REG(TRAMP_RAX) | TRAMP_REG(TRAMP_R11) | TRAMP_REG(TRAMP_R10)))
#define LIVE_EXIT (ALL_BUT_FLAGS & ~(TRAMP_REG(TRAMP_RCX) | TRAMP_REG(TRAMP_RSI) | TRAMP_REG(TRAMP_RDI)))

struct subject {
	const char *name;
	enum tramp_probe_mode mode;
	tramp_regs entry, exit;
	int full;	/* the shadow stack is */
	uint64_t calls; /* the bound, which is reached */
	int off;	/* recording is */
	void (*code)(void);
	double ns[ROUNDS];
};

static struct subject subjects[] = {
	{ .name = "record, usual function", .entry = LIVE_ENTRY, .exit = LIVE_EXIT },
	{ .name = "record, nothing dead", .entry = ALL_BUT_FLAGS, .exit = ALL_BUT_FLAGS },
	{ .name = "record, flags live too", .entry = TRAMP_ALL_REGS, .exit = TRAMP_ALL_REGS },
	{ .name = "count, usual function", .mode = TRAMP_PROBE_COUNT, .entry = LIVE_ENTRY },
	{ .name = "count, flags live too", .mode = TRAMP_PROBE_COUNT, .entry = TRAMP_ALL_REGS },
	{ .name = "depth: recorded", .mode = TRAMP_PROBE_FILTER, .entry = LIVE_ENTRY, .exit = LIVE_EXIT },
	{ .name = "depth: skipped", .mode = TRAMP_PROBE_FILTER, .entry = LIVE_ENTRY, .exit = LIVE_EXIT,
	  .full = 1 },
	{ .name = "calls: skipped", .mode = TRAMP_PROBE_FILTER, .entry = LIVE_ENTRY, .exit = LIVE_EXIT,
	  .calls = 5 },
	{ .name = "calls: skipped, nothing dead", .mode = TRAMP_PROBE_FILTER, .entry = ALL_BUT_FLAGS,
	  .exit = ALL_BUT_FLAGS, .calls = 5 },
	{ .name = "off, usual function", .entry = LIVE_ENTRY, .exit = LIVE_EXIT, .off = 1 },
	{ .name = "off, nothing dead", .entry = ALL_BUT_FLAGS, .exit = ALL_BUT_FLAGS, .off = 1 },
	{ .name = "off, flags live too", .entry = TRAMP_ALL_REGS, .exit = TRAMP_ALL_REGS, .off = 1 },
	{ .name = "off, count", .mode = TRAMP_PROBE_COUNT, .entry = LIVE_ENTRY, .off = 1 },
	{ .name = "time: short", .mode = TRAMP_PROBE_TIMED, .entry = LIVE_ENTRY, .exit = LIVE_EXIT },
};
#define NSUBJECTS (sizeof(subjects) / sizeof(subjects[0]))

static uint64_t pool[512] __attribute__((aligned(4096)));
static uint64_t ring[RING_WORDS], counts[1] = { 1000 }, shadow[64][2];
static uint64_t off __attribute__((aligned(64)));
static uint8_t *code, *at;

void bench_gate(void);

/* Back to the ring's start: all that the runtime would have to do here, but for the collector. */
asm(".pushsection .text\n"
    "bench_gate:\n"
    "	push	%rax\n"
    "	mov	%gs:0x800, %rax\n"
    "	mov	%rax, %gs:0x8\n"
    "	pop	%rax\n"
    "	ret\n"
    ".popsection\n");
#define RING_START (0x800 / 8)

static uint64_t tcb(void)
{
	uint64_t value;

	asm("mov %%fs:0, %0" : "=r"(value));
	return value;
}

static void reset(const struct subject *s)
{
	pool[SONDE_POOL_OWNER / 8] = tcb();
	pool[SONDE_POOL_PTR / 8] = (uint64_t)ring;
	pool[RING_START] = (uint64_t)ring;
	pool[RT_POOL_ROOM / 8] = (uint64_t)&ring[RING_WORDS] - 15;
	pool[RT_POOL_COUNTS / 8] = (uint64_t)counts;
	shadow[0][1] = UINT64_MAX;
	pool[RT_POOL_SHADOW / 8] = (uint64_t)shadow[1];
	pool[RT_POOL_SHADOW_END / 8] = (uint64_t)(s->full ? shadow[1] : shadow[63]);
	off = (uint64_t)s->off;
	pool[RT_POOL_TIME / 8] = UINT64_C(1) << 60;
}

static void put(const void *bytes, size_t n)
{
	memcpy(at, bytes, n);
	at += n;
}

static void put_probe(const struct subject *s, enum tramp_probe_kind kind, tramp_regs live)
{
	static uint32_t slow = CODE_BYTES / 2;
	struct tramp_probe_env env = inj_probe_env(s->mode, (uint64_t)&off);
	const struct tramp_probe probe = { .kind = kind, .event = 16 + kind, .live = live };
	struct tramp_probe_code c;

	env.depth = true;
	env.calls = s->calls;
	env.gate = (uint64_t)bench_gate;
	if (tramp_probe_emit(&env, &probe, &c) != TRAMP_OK ||
	    tramp_probe_place(&c, (uint64_t)at, (uint64_t)code + slow) != TRAMP_OK)
		errx(1, "no probe for: %s", s->name);
	put(c.code, c.len);
	memcpy(code + slow, c.slow, c.slow_len);
	slow += TRAMP_PROBE_SLOW_MAX;
}

static void align(void)
{
	at = (uint8_t *)(((uintptr_t)at + 63) & ~(uintptr_t)63);
}

static void place(struct subject *s)
{
	align();
	s->code = (void (*)(void))at;
	put_probe(s, TRAMP_PROBE_ENTRY, s->entry);
	if (s->mode != TRAMP_PROBE_COUNT)
		put_probe(s, TRAMP_PROBE_EXIT, s->exit);
	put("\xc3", 1);
}

/* rdtsc; mov %rax, (%rdi); mov %rdx, 8(%rdi), twice */
static void place_floor(struct subject *s)
{
	static const uint8_t bytes[] = { 0x0f, 0x31, 0x48, 0x89, 0x07, 0x48, 0x89, 0x57, 0x08 };

	align();
	s->code = (void (*)(void))at;
	put("\x48\xbf", 2); /* movabs $ring, %rdi */
	put(&(uint64_t){ (uint64_t)ring }, 8);
	put(bytes, sizeof(bytes));
	put(bytes, sizeof(bytes));
	put("\xc3", 1);
}

static double cpu_time(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void measure(struct subject *s, int round)
{
	double start;

	reset(s);
	start = cpu_time();
	for (int i = 0; i < CALLS; i++)
		s->code();
	s->ns[round] = (cpu_time() - start) / CALLS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void report(struct subject *s)
{
	qsort(s->ns, ROUNDS, sizeof(s->ns[0]), by_value);
	printf("%-30s %6.2f ns  (%.2f to %.2f)\n", s->name, s->ns[ROUNDS / 2], s->ns[ROUNDS / 4],
	       s->ns[ROUNDS * 3 / 4]);
}

int main(void)
{
	struct subject empty = { .name = "empty call" }, floor = { .name = "floor" };

	code = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (code == MAP_FAILED)
		err(1, "mmap");
	at = code;
	empty.code = (void (*)(void))at;
	put("\xc3", 1);
	place_floor(&floor);
	for (size_t i = 0; i < NSUBJECTS; i++)
		place(&subjects[i]);
	syscall(SYS_arch_prctl, ARCH_SET_GS, pool);
	for (int round = 0; round < ROUNDS; round++) {
		measure(&empty, round);
		measure(&floor, round);
		for (size_t i = 0; i < NSUBJECTS; i++)
			measure(&subjects[i], round);
	}
	report(&empty);
	report(&floor);
	for (size_t i = 0; i < NSUBJECTS; i++)
		report(&subjects[i]);
	return 0;
}
