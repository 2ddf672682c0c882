// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Interrupts probes at each of their instructions, by single-stepping, as a signal would: what the
 * runtime does then has to leave all registers as they are without the probe, and exactly one record,
 * although the handler records as well, before or after.
 */
#include "config.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <cmocka.h>

#include "runtime/probe.h"
#include "runtime/signals/signals.h"
#include "runtime/thread.h"
#include "tests/unit/probe/rig.h"
#include "tracefmt/ring.h"

#define TRAP_FLAG 0x100
#define HANDLER_EVENT 0x77777
#define MAX_STEPS 80

enum { NOTHING_RECORDED, RECORDS_AFTER, RECORDS_BEFORE, HANDLER_KINDS };

/* Of one run. */
static int stop_at;	/* interrupt at this instruction of the probe */
static int handler_kind;
static int steps;	/* instructions of the probe that were met */
static int interrupted;

_Static_assert(offsetof(struct rig_pool, room) == RT_POOL_ROOM, "pools are the same");
_Static_assert(offsetof(struct rig_pool, counts) == RT_POOL_COUNTS, "pools are the same");
_Static_assert(offsetof(struct rig_pool, shadow) == RT_POOL_SHADOW, "pools are the same");
_Static_assert(offsetof(struct rig_pool, shadow_end) == RT_POOL_SHADOW_END, "pools are the same");
_Static_assert(offsetof(struct rig_pool, time) == RT_POOL_TIME, "pools are the same");

static void handler_records(void)
{
	uint64_t *p = (uint64_t *)rig.pool.ptr;

	/* an entry and an exit: the place on the shadow stack is used and free again */
	memset((void *)rig.pool.shadow, 0x55, 16);
	for (int i = 0; i < 2; i++, p += 2) {
		p[1] = (uint64_t)rig.stack - 4096;
		p[0] = __builtin_ia32_rdtsc() << 20 | HANDLER_EVENT;
	}
	rig.pool.ptr = (uint64_t)p;
}

/* As in the runtime's thunk. */
static void arrive(uint64_t *regs, const struct rt_probe_map *map, const uint8_t *start)
{
	interrupted = 1;
	if (handler_kind == RECORDS_BEFORE)
		handler_records();
	rt_put_back(map, (uint64_t)start, regs, (struct rt_thread *)&rig.pool);
	if (handler_kind == RECORDS_AFTER)
		handler_records();
}

static void on_trap(int sig, siginfo_t *info, void *context)
{
	uint64_t *regs = (uint64_t *)((ucontext_t *)context)->uc_mcontext.gregs;
	uint64_t x = regs[RT_UC_RIP] - (uint64_t)rig.at, y = regs[RT_UC_RIP] - (uint64_t)rig.slow_at;

	(void)sig;
	(void)info;
	if (x == rig.code.len) {
		regs[RT_UC_FLAGS] &= ~(uint64_t)TRAP_FLAG;
	} else if ((x < rig.code.len || y < rig.code.apart.length) && steps++ == stop_at) {
		if (x < rig.code.len)
			arrive(regs, &rig.code.map, rig.at);
		else
			arrive(regs, &rig.code.apart, rig.slow_at);
		regs[RT_UC_FLAGS] &= ~(uint64_t)TRAP_FLAG;
	}
}

static void run_stepped(const struct tramp_probe *probe, int at)
{
	struct machine was, is;

	stop_at = at;
	steps = interrupted = 0;
	rig_random(&was);
	is = was;
	is.flags |= TRAP_FLAG;
	rig_run(&is);
	rig_check(probe, &was, &is);
}

static int own_records(const struct tramp_probe *probe)
{
	uint64_t n = (rig.pool.ptr - (uint64_t)rig.records) / 16;
	int own = 0, handlers = 0;

	for (uint64_t i = 0; i < n; i++) {
		own += (rig.records[i][0] & 0xfffff) == probe->event;
		handlers += (rig.records[i][0] & 0xfffff) == HANDLER_EVENT;
		assert_true(i == 0 || rig.records[i][0] > rig.records[i - 1][0]);
	}
	assert_int_equal(handlers, interrupted && handler_kind != NOTHING_RECORDED ? 2 : 0);
	assert_int_equal(own + handlers, n);
	return own;
}

/* Sets up; then what is to be there afterwards. */
typedef void (*expect)(const struct tramp_probe_env *env, const struct tramp_probe *probe);

static void each_instruction(const struct tramp_probe_env *env, const struct tramp_probe *probe,
			     expect before, expect after)
{
	for (handler_kind = 0; handler_kind < HANDLER_KINDS; handler_kind++) {
		int at = 0;

		do {
			rig_reset();
			rig_place(env, probe);
			before(env, probe);
			run_stepped(probe, at);
			after(env, probe);
			assert_true(++at < MAX_STEPS);
		} while (interrupted);
		assert_true(at > 3);
	}
}

static void nothing(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	(void)probe;
}

static void one_record(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	assert_int_equal(own_records(probe), 1);
	assert_int_equal(rig.slow, 0);
}

static void one_count(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	assert_int_equal(own_records(probe), 0);
	assert_int_equal(rig.counts[probe->function], 1);
}

static void closed(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	(void)probe;
	rig.pool.owner = 0;
}

/* Interrupted before the slow path, it may be taken again. */
static void was_slow(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	assert_int_equal(own_records(probe), 0);
	assert_int_equal(rig.slow, 1);
}

static void entered(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	int timed = env->mode == TRAMP_PROBE_TIMED;

	assert_int_equal(own_records(probe), timed ? 0 : 1);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.shadow, rig.shadow[2]);
	assert_int_equal(rig.shadow[1][1], rig.stack);
	if (timed)
		assert_int_equal(rig.shadow[1][0] & 0xfffff, probe->event);
	assert_int_equal(rig.counts[probe->function], env->calls ? 1 : 0);
}

static void open_call(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	int timed = env->mode == TRAMP_PROBE_TIMED;

	rig.shadow[1][0] = timed ? __builtin_ia32_rdtsc() << 20 | probe->event : 0;
	rig.shadow[1][1] = (uint64_t)rig.stack;
	rig.pool.shadow += 16;
	rig.pool.time = UINT64_C(1) << 62;
}

static void left(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	assert_int_equal(own_records(probe), env->mode == TRAMP_PROBE_TIMED ? 0 : 1);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.shadow, rig.shadow[1]);
}

static void is_counted(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	rig.choices[probe->function] = RING_CHOICE_COUNT;
}

static void watches(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	uint64_t watch = (uint64_t)rig.stack - (probe->kind == TRAMP_PROBE_ENTRY);

	one_record(env, probe);
	/* interrupted after the commit, an exit may leave them as they were, and more is recorded than has to be */
	if (interrupted && probe->kind == TRAMP_PROBE_EXIT)
		return;
	assert_int_equal(rig.pool.watch, watch);
	assert_int_equal(rig.pool.watch_far, watch - RING_WATCH);
	assert_int_equal(rig.counts[probe->function], 0);
}

static void watch_at(uint64_t watch)
{
	rig.pool.watch = watch;
	rig.pool.watch_far = watch - RING_WATCH;
}

/* Its entry was recorded; or it is on another stack. */
static void above(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	(void)probe;
	watch_at((uint64_t)rig.stack - 1);
}

static void far_below(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	(void)probe;
	watch_at((uint64_t)rig.stack + RING_WATCH);
}

static void at_the_place(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	(void)probe;
	watch_at((uint64_t)rig.stack);
}

static void no_record(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	(void)env;
	assert_int_equal(own_records(probe), 0);
	assert_int_equal(rig.slow, 0);
}

static void choose_enter(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, is_counted, one_count);
	each_instruction(env, probe, nothing, watches);
	each_instruction(env, probe, closed, was_slow);
}

static void choose_leave(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, at_the_place, no_record);
	each_instruction(env, probe, above, watches);
	each_instruction(env, probe, far_below, watches);
}

static void record(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, nothing, one_record);
}

static void record_slow(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, closed, was_slow);
}

static void count(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, nothing, one_count);
}

static void enter(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, nothing, entered);
}

static void leave(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	each_instruction(env, probe, open_call, left);
}

/* Some of the kinds of live registers will do: each is many runs with many traps. */
static rig_body chosen;

static void now_and_then(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static unsigned int n;

	if (n++ % 199 == 0)
		chosen(env, probe);
}

static void every(enum tramp_probe_mode mode, enum tramp_probe_kind kind, rig_body run)
{
	for (int i = 0; i < 2; i++) {
		struct tramp_probe_env env = rig_env;

		env.mode = mode;
		env.calls = i ? 5 : 0;
		chosen = run;
		rig_each(&env, kind, now_and_then);
	}
}

static void test_record(void **state)
{
	(void)state;
	every(TRAMP_PROBE_RECORD, TRAMP_PROBE_ENTRY, record);
	every(TRAMP_PROBE_RECORD, TRAMP_PROBE_EXIT, record_slow);
}

static void test_count(void **state)
{
	(void)state;
	every(TRAMP_PROBE_COUNT, TRAMP_PROBE_ENTRY, count);
}

static void test_filter(void **state)
{
	(void)state;
	every(TRAMP_PROBE_FILTER, TRAMP_PROBE_ENTRY, enter);
	every(TRAMP_PROBE_FILTER, TRAMP_PROBE_EXIT, leave);
}

static void test_timed(void **state)
{
	(void)state;
	every(TRAMP_PROBE_TIMED, TRAMP_PROBE_ENTRY, enter);
	every(TRAMP_PROBE_TIMED, TRAMP_PROBE_EXIT, leave);
}

static void test_chosen(void **state)
{
	(void)state;
	every(TRAMP_PROBE_CHOSEN, TRAMP_PROBE_ENTRY, choose_enter);
	every(TRAMP_PROBE_CHOSEN, TRAMP_PROBE_EXIT, choose_leave);
}

/* With a dead register, and dead flags, what counts is on its own: nothing of what records is in between. */
static void test_apart(void **state)
{
	struct tramp_probe probe = { .kind = TRAMP_PROBE_ENTRY, .live = TRAMP_ALL_REGS };
	struct tramp_probe_env env = rig_env;

	(void)state;
	env.mode = TRAMP_PROBE_CHOSEN;
	rig_reset();
	rig_place(&env, &probe);
	assert_int_equal(rig.code.apart.length, 0);
	probe.live &= ~(TRAMP_STATUS | TRAMP_REG(TRAMP_R11));
	rig_place(&env, &probe);
	assert_in_range(rig.code.apart.length, 1, rig.code.slow_len);
	assert_in_range(rig.code.len, 1, 100);
	probe.kind = TRAMP_PROBE_EXIT;
	rig_place(&env, &probe);
	assert_in_range(rig.code.len, 1, 32);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_filter),
		cmocka_unit_test(test_timed),
		cmocka_unit_test(test_chosen),
		cmocka_unit_test(test_apart),
	};
	struct sigaction action = { .sa_sigaction = on_trap, .sa_flags = SA_SIGINFO };

	sigaction(SIGTRAP, &action, NULL);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
