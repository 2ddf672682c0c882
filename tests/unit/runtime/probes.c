// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Probes and the runtime together, in processes of their own: functions whose entry and exit are
 * recorded call each other, threads come, processes fork, calls are left by longjmp; a collector drains.
 */
#include "config.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>
#include <asm/prctl.h>

#include <cmocka.h>

#include "injector/mirror/probeenv.h"
#include "runtime/x86-64/sys.h"
#include "runtime/thread.h"

#define NSUB 4
#define SUB_BYTES 16384
#define RINGS 8
#define FUNCTIONS 4
#define COUNTS_BYTES 4096
#define RING_BYTES (RING_PAGE + NSUB * SUB_BYTES + COUNTS_BYTES)
#define POOLS 16
#define FIRST_ID 16
#define MAX_RECORDS 600000

struct rt_config sonde_rt_config = { .magic = RT_CONFIG_MAGIC };

struct record {
	uint64_t word, frame;
};

/* What the collector has drained, a list for each ring; shared with child processes. */
static struct drained {
	uint64_t n;
	uint32_t next_sub;
	struct record records[MAX_RECORDS];
} *drained;

static struct ring_control *control;
static volatile int stop_collector;

/* A recorded function: calls body(arg). */
typedef void (*body)(void *arg);
static void (*function[FUNCTIONS])(body, void *arg);

#define CHECK(condition)                                                                        \
	do {                                                                                    \
		if (!(condition)) {                                                             \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);         \
			_exit(1);                                                               \
		}                                                                               \
	} while (0)

static void *shared(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static struct ring_head *ring(uint32_t i)
{
	return (struct ring_head *)((uint8_t *)control + RING_FIRST + (size_t)i * RING_BYTES);
}

static void set_up_memory(void)
{
	size_t pools = (POOLS + 1) * (size_t)RT_POOL_BYTES;
	uint8_t *p = mmap(NULL, pools, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED && madvise(p, pools, MADV_WIPEONFORK) == 0);
	control = shared(RING_FIRST + RINGS * (size_t)RING_BYTES);
	drained = shared(RINGS * sizeof(*drained));
	control->magic = RING_MAGIC;
	control->sub_bytes = SUB_BYTES;
	control->nsub = NSUB;
	control->ring_bytes = RING_BYTES;
	control->max_rings = RINGS;
	control->counts_offset = RING_PAGE + NSUB * SUB_BYTES;
	control->max_counts = COUNTS_BYTES / 8;
	control->collector[0] = 1;
	sonde_rt_config.control = (uint64_t)control;
	sonde_rt_config.nrings = RINGS;
	sonde_rt_config.nobody = (uint64_t)p;
	sonde_rt_config.pools = (uint64_t)p + RT_POOL_BYTES;
	sonde_rt_config.npools = POOLS;
	syscall(SYS_arch_prctl, ARCH_SET_GS, p);
}

static uint8_t *put_probe(uint8_t *at, uint8_t *slow, const struct tramp_probe_env *env,
			  enum tramp_probe_kind kind, uint32_t i)
{
	struct tramp_probe probe = {
		.kind = kind,
		.event = FIRST_ID + 2 * i + (kind == TRAMP_PROBE_EXIT),
		.function = i,
		.live = TRAMP_ALL_REGS,
	};
	struct tramp_probe_code code;

	if (kind == TRAMP_PROBE_EXIT && env->mode == TRAMP_PROBE_COUNT)
		return at;
	CHECK(tramp_probe_emit(env, &probe, &code) == TRAMP_OK);
	CHECK(tramp_probe_place(&code, (uint64_t)at, (uint64_t)slow) == TRAMP_OK);
	memcpy(at, code.code, code.len);
	memcpy(slow, code.slow, code.slow_len);
	return at + code.len;
}

static void set_up_functions(void)
{
	static const uint8_t call[] = {
		0x48, 0x83, 0xec, 0x08,			/* sub $8, %rsp */
		0x48, 0x89, 0xf8, 0x48, 0x89, 0xf7,	/* mov %rdi, %rax; mov %rsi, %rdi */
		0xff, 0xd0,				/* call *%rax */
		0x48, 0x83, 0xc4, 0x08,			/* add $8, %rsp */
	};
	struct tramp_probe_env env = inj_probe_env((enum tramp_probe_mode)sonde_rt_config.probe_mode, (uint64_t)&control->off);
	uint8_t *page = mmap(NULL, 16384, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(page != MAP_FAILED);
	env.depth = sonde_rt_config.probe_depth != 0;
	env.calls = sonde_rt_config.probe_calls;
	env.gate = (uint64_t)sonde_rt_probe_gate;
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		uint8_t *at = page + 2048 * i, *slow = at + 1024;

		function[i] = (void (*)(body, void *))at;
		at = put_probe(at, slow, &env, TRAMP_PROBE_ENTRY, i);
		memcpy(at, call, sizeof(call));
		at = put_probe(at + sizeof(call), slow + 256, &env, TRAMP_PROBE_EXIT, i);
		*at = 0xc3;
	}
}

/* ---- the collector ---- */

static void drain_words(struct drained *d, const uint64_t *word, uint64_t used)
{
	for (uint64_t i = 0; i + 1 < used / 8 && word[i]; i += 2) {
		CHECK(d->n < MAX_RECORDS);
		d->records[d->n++] = (struct record){ word[i], word[i + 1] };
	}
}

static int drain_ring(uint32_t i, int last)
{
	struct drained *d = &drained[i];
	struct ring_sub *s = &ring(i)->sub[d->next_sub];
	uint32_t state = __atomic_load_n((uint32_t *)&s->state, __ATOMIC_ACQUIRE);
	uint8_t *base = (uint8_t *)ring(i) + RING_PAGE + (size_t)d->next_sub * SUB_BYTES;

	if (state != RING_SUB_FULL && !(last && state == RING_SUB_WRITING))
		return 0;
	drain_words(d, (const uint64_t *)base, state == RING_SUB_FULL ? s->used : SUB_BYTES);
	memset(base, 0, SUB_BYTES);
	d->next_sub = (d->next_sub + 1) % NSUB;
	__atomic_store_n((uint32_t *)&s->state, RING_SUB_FREE, __ATOMIC_RELEASE);
	sys_futex_wake(&s->state);
	return 1;
}

static int drain_all(int last)
{
	int n = 0;

	for (uint32_t i = 0; i < RINGS; i++)
		n += drain_ring(i, last);
	return n;
}

static void *collect(void *arg)
{
	while (!stop_collector)
		if (!drain_all(0))
			sched_yield();
	return arg;
}

static uint64_t lost(void)
{
	uint64_t n = control->lost;

	for (uint32_t i = 0; i < RINGS; i++)
		n += ring(i)->lost;
	return n;
}

/* Runs @scene with a collector; afterwards all that was recorded is in drained[]. */
static void play(void (*scene)(void))
{
	pthread_t collector;

	set_up_memory();
	set_up_functions();
	CHECK(pthread_create(&collector, NULL, collect, NULL) == 0);
	scene();
	stop_collector = 1;
	pthread_join(collector, NULL);
	while (drain_all(1))
		;
}

/* ---- what was recorded ---- */

/* Every ring's records are properly nested, in time and by frames; the number of calls. */
static uint64_t calls_recorded(void)
{
	static struct record open[1000];
	uint64_t calls = 0;

	for (uint32_t r = 0; r < RINGS; r++) {
		const struct drained *d = &drained[r];
		uint64_t depth = 0;

		for (uint64_t i = 0; i < d->n; i++) {
			const struct record *e = &d->records[i];
			uint32_t id = (e->word & RING_ID_MASK) - FIRST_ID;

			CHECK(id < 2 * FUNCTIONS && e->frame);
			CHECK(i == 0 || e->word >> 20 >= d->records[i - 1].word >> 20);
			if (id % 2 == 0) {
				CHECK(depth < 1000);
				open[depth++] = *e;
				calls++;
			} else {
				CHECK(depth > 0 && open[--depth].frame == e->frame);
				CHECK((open[depth].word & RING_ID_MASK) - FIRST_ID == id - 1);
			}
		}
		CHECK(depth == 0);
	}
	return calls;
}

/* The events of ring 0 as letters: A a B b ...: enter and leave of function 0, 1, ... */
static const char *story(void)
{
	static char text[100];
	uint64_t n = drained[0].n;

	CHECK(n < sizeof(text));
	for (uint64_t i = 0; i < n; i++) {
		uint32_t id = (drained[0].records[i].word & RING_ID_MASK) - FIRST_ID;

		text[i] = (char)((id % 2 ? 'a' : 'A') + id / 2);
	}
	text[n] = 0;
	return text;
}

/* ---- scenes ---- */

#define LOOPS 20000
#define THREADS 3

static void leaf(void *arg)
{
	++*(uint64_t *)arg;
}

static void inner(void *arg)
{
	function[1](leaf, arg);
	function[2](leaf, arg);
}

static void *many_calls(void *arg)
{
	uint64_t n = 0;

	for (int i = 0; i < LOOPS; i++)
		function[0](inner, &n);
	CHECK(n == 2 * LOOPS);
	return arg;
}

static void threads_and_fork(void)
{
	pthread_t thread[THREADS];
	int status;
	pid_t pid;

	for (int i = 0; i < THREADS; i++)
		CHECK(pthread_create(&thread[i], NULL, many_calls, NULL) == 0);
	many_calls(NULL);
	pid = fork();
	if (pid == 0) {
		many_calls(NULL);
		_exit(0);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static void check_threads(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_RECORD;
	play(threads_and_fork);
	CHECK(lost() == 0);
	CHECK(calls_recorded() == 3ull * LOOPS * (THREADS + 2));
}

static void check_counts(void)
{
	uint64_t sum[FUNCTIONS] = { 0 };

	sonde_rt_config.probe_mode = RT_PROBE_COUNT;
	play(threads_and_fork);
	for (uint32_t r = 0; r < RINGS; r++) {
		const uint64_t *counts = (void *)((uint8_t *)ring(r) + control->counts_offset);

		for (int i = 0; i < FUNCTIONS; i++)
			sum[i] += counts[i];
		CHECK(drained[r].n == 0);
	}
	CHECK(sum[0] == LOOPS * (THREADS + 2) && sum[1] == sum[0] && sum[2] == sum[0]);
	CHECK(sum[3] == 0 && lost() == 0);
}

static void without_collector(void)
{
	control->collector[0] = RING_FUTEX_OWNER_DIED;
	many_calls(NULL);
}

/* Nobody is left waiting, and nothing is written where it must not be. */
static void check_collector_gone(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_RECORD;
	play(without_collector);
	CHECK(lost() > 0);
}

static jmp_buf jump;

static void jump_out(void *arg)
{
	(void)arg;
	longjmp(jump, 1);
}

static void to_jump(void *arg)
{
	function[2](jump_out, arg);
}

static void nest(void *arg)
{
	uint64_t *left = arg;

	if ((*left)--)
		function[1](nest, left);
}

static void jumper(void *arg)
{
	uint64_t three = 3;

	if (setjmp(jump) == 0)
		function[1](to_jump, arg);
	function[3](nest, &three);
}

static void jumper_returns(void *arg)
{
	if (setjmp(jump) == 0)
		function[1](to_jump, arg);
}

/* Deep recursion; a jump out of two calls, and then as deep again; or then out of the third. */
static void depth_scene(void)
{
	uint64_t n = 5;

	function[0](nest, &n);
	function[0](jumper, NULL);
	function[0](jumper_returns, NULL);
	n = 1;
	function[0](nest, &n);
}

static void check_depth(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_FILTER;
	sonde_rt_config.probe_depth = 3;
	play(depth_scene);
	CHECK(strcmp(story(), "ABBbba" "ABC" "DBbda" "ABCa" "ABba") == 0);
	CHECK(lost() == 0);
}

/* More than what fits into the pool's page. */
static void check_deep(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_FILTER;
	sonde_rt_config.probe_depth = 1000;
	play(depth_scene);
	CHECK(strcmp(story(), "ABBBBBbbbbba" "ABC" "DBBBbbbda" "ABCa" "ABba") == 0);
}

static void very_deep_scene(void)
{
	uint64_t n = 600;

	function[0](nest, &n);
}

static void check_very_deep(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_FILTER;
	sonde_rt_config.probe_depth = 500;
	play(very_deep_scene);
	CHECK(calls_recorded() == 500 && lost() == 0);
}

/* ---- other stacks ---- */

#define STACK_BYTES 65536

static ucontext_t here, there;

static void yield(void *arg)
{
	(void)arg;
	swapcontext(&there, &here);
}

static void coroutine(void)
{
	function[1](yield, NULL);
}

static void with_coroutine(void *arg)
{
	uint64_t n = 0;

	(void)arg;
	swapcontext(&here, &there);
	function[2](leaf, &n);
}

static void *run_coroutine(void *stack)
{
	getcontext(&there);
	there.uc_stack.ss_sp = stack;
	there.uc_stack.ss_size = STACK_BYTES;
	there.uc_link = &here;
	makecontext(&there, coroutine, 0);
	function[0](with_coroutine, NULL);
	swapcontext(&here, &there);
	return NULL;
}

static void lower_stack_scene(void)
{
	static _Alignas(16) uint8_t stack[STACK_BYTES];

	run_coroutine(stack);
}

/* Another stack, above the thread's. */
static void higher_stack_scene(void)
{
	_Alignas(16) uint8_t stack[STACK_BYTES];
	pthread_t thread;

	CHECK(pthread_create(&thread, NULL, run_coroutine, stack) == 0);
	pthread_join(thread, NULL);
}

/* What cannot be paired is not recorded. */
static void check_lower_stack(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_FILTER;
	play(lower_stack_scene);
	CHECK(strcmp(story(), "ABCca") == 0);
}

static void check_higher_stack(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_FILTER;
	play(higher_stack_scene);
	CHECK(strcmp(story(), "ABCcb") == 0);
}

static void calls_scene(void)
{
	uint64_t n = 0;

	for (int i = 0; i < 5; i++)
		function[0](leaf, &n);
	function[1](inner, &n);
}

static void check_calls(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_FILTER;
	sonde_rt_config.probe_calls = 2;
	play(calls_scene);
	CHECK(strcmp(story(), "AaAa" "BBbCcb") == 0);
	CHECK(lost() == 0);
}

#define LONG_TICKS 4000000u
#define BOUND_TICKS 2000000u

static void spin(void *arg)
{
	uint64_t start = rt_tsc();

	(void)arg;
	while (rt_tsc() - start < LONG_TICKS)
		;
}

static void short_ones(void *arg)
{
	function[2](leaf, arg);
	function[3](leaf, arg);
}

static void mixed(void *arg)
{
	function[2](leaf, arg);
	function[1](spin, arg);
	function[2](short_ones, arg);
	function[3](spin, arg);
}

static void timed_scene(void)
{
	uint64_t n = 0;

	function[1](short_ones, &n);
	function[0](mixed, &n);
	if (setjmp(jump) == 0)
		function[1](to_jump, &n);
	function[3](spin, &n);
}

static void check_timed(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_TIMED;
	sonde_rt_config.probe_time = BOUND_TICKS;
	play(timed_scene);
	/* a machine that is busy may make any call long; short ones then appear in between */
	if (strcmp(story(), "ABbDda" "Dd") != 0)
		fprintf(stderr, "timed: %s\n", story());
	CHECK(strstr(story(), "Bb") && strstr(story(), "Dd") && strchr(story(), 'a'));
	CHECK(drained[0].n < 12);
	for (uint64_t i = 1; i < drained[0].n; i++)
		CHECK(drained[0].records[i].word >> 20 >= drained[0].records[i - 1].word >> 20);
	CHECK(lost() == 0);
}

/* What a module's wrapper calls is not recorded. */
static void closed_scene(void)
{
	uint64_t n = 0;
	struct rt_thread *t;

	function[0](leaf, &n);
	t = rt_current();
	t->closed_sp = (uint64_t)__builtin_frame_address(0);
	t->owner = 0;
	function[1](leaf, &n);
	CHECK(t->owner == 0);
	t->owner = t->tcb;
	function[2](leaf, &n);
	CHECK(n == 3);
}

static void check_closed(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_RECORD;
	play(closed_scene);
	CHECK(strcmp(story(), "AaCc") == 0);
	CHECK(ring(0)->nested == 1 && lost() == 0);
}

/* Wrappers' records are of any size: there may be a word left. */
static void last_word_scene(void)
{
	uint64_t n = 0;
	struct rt_thread *t;

	function[0](leaf, &n);
	t = rt_current();
	t->ptr = t->limit - 8;
	function[1](leaf, &n);
	CHECK(t->sub == 1 && t->ptr == t->base + 32);
}

static void check_last_word(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_RECORD;
	play(last_word_scene);
	CHECK(strcmp(story(), "AaBb") == 0);
}

/* A program with a GS base of its own is left alone. */
static void foreign_scene(void)
{
	static uint64_t own[512];
	uint64_t n = 0;

	syscall(SYS_arch_prctl, ARCH_SET_GS, own);
	function[0](inner, &n);
	CHECK(n == 2);
	for (int i = 0; i < 512; i++)
		CHECK(own[i] == 0);
	syscall(SYS_arch_prctl, ARCH_SET_GS, sonde_rt_config.nobody);
}

static void check_foreign(void)
{
	sonde_rt_config.probe_mode = RT_PROBE_RECORD;
	play(foreign_scene);
	CHECK(control->lost == 6 && drained[0].n == 0);
}

/* ---- */

static void in_child(void (*check)(void))
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		alarm(60);
		check();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define TEST(name)                                                                             \
	static void test_##name(void **state)                                                  \
	{                                                                                      \
		(void)state;                                                                   \
		in_child(check_##name);                                                        \
	}
TEST(threads)
TEST(counts)
TEST(collector_gone)
TEST(depth)
TEST(deep)
TEST(very_deep)
TEST(lower_stack)
TEST(higher_stack)
TEST(last_word)
TEST(calls)
TEST(timed)
TEST(closed)
TEST(foreign)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), cmocka_unit_test(test_counts),
		cmocka_unit_test(test_collector_gone), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_deep), cmocka_unit_test(test_very_deep),
		cmocka_unit_test(test_lower_stack), cmocka_unit_test(test_higher_stack),
		cmocka_unit_test(test_last_word), cmocka_unit_test(test_calls),
		cmocka_unit_test(test_timed), cmocka_unit_test(test_closed),
		cmocka_unit_test(test_foreign),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
