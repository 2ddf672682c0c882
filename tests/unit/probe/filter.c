// SPDX-License-Identifier: GPL-3.0-or-later
/* Probes that filter: what they decide in line, and what they leave to the runtime. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/probe/rig.h"

#define CALLS 3

static struct tramp_probe_env env_of(enum tramp_probe_mode mode, bool depth, uint64_t calls)
{
	struct tramp_probe_env env = rig_env;

	env.mode = mode;
	env.depth = depth;
	env.calls = calls;
	return env;
}

/* An open call at the frame address plus @above. */
static void push(int64_t above, uint64_t word)
{
	uint64_t *entry = (uint64_t *)rig.pool.shadow;

	entry[0] = word;
	entry[1] = (uint64_t)rig.stack + (uint64_t)above;
	rig.pool.shadow += 16;
}

static void set_up(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	push(64, 0);
}

/* Nothing is done, and nobody is asked. */
static void skips(const struct tramp_probe *probe)
{
	struct rig_pool pool = rig.pool;
	uint64_t count = rig.counts[probe->function];

	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_memory_equal(&rig.pool, &pool, sizeof(pool));
	assert_int_equal(rig.counts[probe->function], count);
	assert_int_equal(rig.records[0][0], 0);
}

static void enters(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.shadow, rig.shadow[3]);
	assert_int_equal(rig.shadow[2][1], rig.stack);
	assert_int_equal(rig.counts[probe->function], env->calls ? 1 : 0);
	if (env->mode == TRAMP_PROBE_TIMED) {
		assert_int_equal(rig.shadow[2][0] & 0xfffff, probe->event);
		assert_int_equal(rig.pool.ptr, rig.records);
		assert_int_equal(rig.records[0][0], 0);
	} else {
		assert_int_equal(rig.shadow[2][0], 0);
		assert_int_equal(rig.pool.ptr, rig.records[1]);
		rig_check_record(0, probe->event);
	}
}

static void too_deep(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	while (rig.pool.shadow < rig.pool.shadow_end)
		push(64, 0);
	if (env->depth)
		skips(probe);
	else
		rig_goes_slow(env, probe);
}

static void stale_at_entry(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	push(0, 0);
	rig_goes_slow(env, probe);
	set_up(env, probe);
	push(-8, 0);
	rig_goes_slow(env, probe);
}

static void too_often(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	rig.counts[probe->function] = env->calls;
	skips(probe);
	rig.counts[probe->function] = env->calls + 1;
	skips(probe);
	rig.counts[probe->function] = env->calls - 1;
	rig_once(probe);
	assert_int_equal(rig.counts[probe->function], env->calls);
	assert_int_equal(rig.pool.shadow, rig.shadow[3]);
}

static void no_counts(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	rig.pool.counts = 0;
	rig_goes_slow(env, probe);
}

static void no_room(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	if (probe->kind == TRAMP_PROBE_EXIT)
		push(0, 0);
	rig.pool.room = 0;
	rig_goes_slow(env, probe);
}

static void leaves(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	push(0, 0);
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.shadow, rig.shadow[2]);
	assert_int_equal(rig.pool.ptr, rig.records[1]);
	rig_check_record(0, probe->event);
}

static void not_ours_to_leave(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	skips(probe);
	push(-16, 0);
	rig_goes_slow(env, probe);
}

static uint64_t ticks_ago(uint64_t ticks)
{
	return (__builtin_ia32_rdtsc() - ticks) << 20 | 16;
}

static void leaves_soon(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	rig.pool.time = UINT64_C(1) << 60;
	push(0, ticks_ago(0));
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.shadow, rig.shadow[2]);
	assert_int_equal(rig.pool.ptr, rig.records);
}

static void leaves_late(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	set_up(env, probe);
	rig.pool.time = UINT64_C(100) << 20;
	push(0, ticks_ago(101));
	rig_goes_slow(env, probe);
}

static void leaves_what_is_written(const struct tramp_probe_env *env,
				   const struct tramp_probe *probe)
{
	set_up(env, probe);
	rig.pool.time = UINT64_MAX;
	push(0, 0);
	rig_goes_slow(env, probe);
}

static void test_entries(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		struct tramp_probe_env env =
			env_of(i & 1 ? TRAMP_PROBE_TIMED : TRAMP_PROBE_FILTER, i & 2,
			       i & 4 ? CALLS : 0);

		rig_each(&env, TRAMP_PROBE_ENTRY, enters);
		rig_each(&env, TRAMP_PROBE_ENTRY, too_deep);
		rig_each(&env, TRAMP_PROBE_ENTRY, stale_at_entry);
		if (env.calls)
			rig_each(&env, TRAMP_PROBE_ENTRY, no_counts);
		if (env.mode == TRAMP_PROBE_FILTER)
			rig_each(&env, TRAMP_PROBE_ENTRY, no_room);
	}
}

static void test_calls(void **state)
{
	static const uint64_t bounds[] = { 1, CALLS, 127, 128, INT32_MAX, (uint64_t)INT32_MAX + 1,
					   UINT64_C(1) << 40 };

	(void)state;
	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++) {
		struct tramp_probe_env env = env_of(TRAMP_PROBE_FILTER, i & 1, bounds[i]);

		rig_each(&env, TRAMP_PROBE_ENTRY, too_often);
	}
}

static void test_exits(void **state)
{
	struct tramp_probe_env env = env_of(TRAMP_PROBE_FILTER, true, CALLS);

	(void)state;
	rig_each(&env, TRAMP_PROBE_EXIT, leaves);
	rig_each(&env, TRAMP_PROBE_EXIT, not_ours_to_leave);
	rig_each(&env, TRAMP_PROBE_EXIT, no_room);
}

static void test_timed_exits(void **state)
{
	struct tramp_probe_env env = env_of(TRAMP_PROBE_TIMED, false, 0);

	(void)state;
	rig_each(&env, TRAMP_PROBE_EXIT, leaves_soon);
	rig_each(&env, TRAMP_PROBE_EXIT, leaves_late);
	rig_each(&env, TRAMP_PROBE_EXIT, leaves_what_is_written);
	rig_each(&env, TRAMP_PROBE_EXIT, not_ours_to_leave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_calls),
		cmocka_unit_test(test_exits),
		cmocka_unit_test(test_timed_exits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
