// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Runs probes for all kinds of live registers and flags: what is live is as before, and what they
 * were to record is there.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/probe/rig.h"

static const struct tramp_probe_env *env_of(enum tramp_probe_mode mode)
{
	static struct tramp_probe_env env;

	env = rig_env;
	env.mode = mode;
	return &env;
}

static void records(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig_once(probe);
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.ptr, rig.records[2]);
	rig_check_record(0, probe->event);
	rig_check_record(1, probe->event);
	assert_true(rig.records[1][0] > rig.records[0][0]);
	assert_int_equal(rig.records[2][0], 0);
}

static void not_owned(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.owner = 0;
	rig_goes_slow(env, probe);
}

static void no_room(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.ptr = (uint64_t)rig.records[RIG_RECORDS] - 8;
	rig_goes_slow(env, probe);
	rig_reset();
	rig.pool.ptr = rig.pool.room = 0;
	rig_goes_slow(env, probe);
}

static void last_room(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.ptr = (uint64_t)rig.records[RIG_RECORDS - 1];
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	rig_check_record(RIG_RECORDS - 1, probe->event);
}

static void counts(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	for (int n = 0; n < 3; n++)
		rig_once(probe);
	assert_int_equal(rig.slow, 0);
	for (uint32_t i = 0; i < RIG_FUNCTIONS; i++)
		assert_int_equal(rig.counts[i], i == probe->function ? 3 : 0);
	assert_int_equal(rig.pool.ptr, rig.records);
}

static void no_counts(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.counts = 0;
	rig_goes_slow(env, probe);
}

/* Neither with a pool that is not the thread's own, nor without room. */
static void does_nothing(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static uint64_t word;
	struct tramp_probe_env with = *env;

	with.off = (uint64_t)&word;
	rig_reset();
	rig_place(&with, probe);
	for (word = 1; word; word <<= 21)
		rig_once(probe);
	rig.pool.owner = 0;
	rig.pool.room = 0;
	word = 2;
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.ptr, rig.records);
	assert_int_equal(rig.records[0][0] | rig.counts[probe->function], 0);
	word = 0;
	rig_goes_slow(&with, probe);
}

static void test_off(void **state)
{
	(void)state;
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_ENTRY, does_nothing);
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_EXIT, does_nothing);
	rig_each(env_of(TRAMP_PROBE_COUNT), TRAMP_PROBE_ENTRY, does_nothing);
	rig_each(env_of(TRAMP_PROBE_FILTER), TRAMP_PROBE_ENTRY, does_nothing);
	rig_each(env_of(TRAMP_PROBE_TIMED), TRAMP_PROBE_EXIT, does_nothing);
}

/* Even where recording is off. */
static void always_slow(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static const uint64_t word = 1;
	struct tramp_probe_env with = *env;

	struct tramp_probe switches = *probe;

	with.off = (uint64_t)&word;
	switches.acts = (uint8_t)(probe->event & 1 ? RT_ACT(RT_ACT_ON) : RT_ACT(RT_ACT_OFF));
	rig_reset();
	rig_place(&with, &switches);
	rig_goes_slow(&with, &switches);
}

static void test_switches(void **state)
{
	(void)state;
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_ENTRY, always_slow);
	rig_each(env_of(TRAMP_PROBE_COUNT), TRAMP_PROBE_ENTRY, always_slow);
	rig_each(env_of(TRAMP_PROBE_TIMED), TRAMP_PROBE_ENTRY, always_slow);
}

static struct tramp_probe_env confined(const struct tramp_probe_env *env)
{
	struct tramp_probe_env with = *env;

	with.under = offsetof(struct rig_pool, under);
	return with;
}

static void nothing_done(int slow)
{
	assert_int_equal(rig.slow, slow);
	assert_int_equal(rig.pool.ptr, rig.records);
	assert_int_equal(rig.records[0][0], 0);
}

/* No call is open, in a pool that need not be the thread's own; then one at this place, above it, and below it. */
static void below_only(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	struct tramp_probe_env with = confined(env);

	rig_reset();
	rig_place(&with, probe);
	rig_once(probe);
	rig.pool.owner = 0;
	rig_once(probe);
	nothing_done(0);
	rig_reset();
	rig.pool.under = (uint64_t)rig.stack;
	rig_goes_slow(&with, probe);
	rig_reset();
	rig.pool.under = (uint64_t)rig.stack - 8;
	rig_goes_slow(&with, probe);
	rig_reset();
	rig.pool.under = (uint64_t)rig.stack + 8;
	rig_once(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.ptr, rig.records[1]);
	rig_check_record(0, probe->event);
	rig.pool.owner = 0;
	rig_once(probe);
	assert_int_equal(rig.slow, 1);
}

/* What opens such a call, and what ends it, does so while recording is off, too; anything else does not record. */
static void opens_and_ends(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	static const uint64_t word = 1;
	struct tramp_probe_env with = confined(env);
	struct tramp_probe opens = *probe;

	/* as long as any probe */
	with.off = (uint64_t)&word;
	with.calls = env->mode >= TRAMP_PROBE_FILTER ? UINT64_MAX / 2 : 0;
	opens.acts = RT_ACT(RT_ACT_UNDER);
	rig_reset();
	rig_place(&with, &opens);
	rig.pool.under = probe->kind == TRAMP_PROBE_ENTRY ? 0 : (uint64_t)rig.stack;
	rig_goes_slow(&with, &opens);
	rig_reset();
	rig.pool.under = (uint64_t)rig.stack + 64;
	rig_once(&opens);
	nothing_done(0);
}

static void test_under(void **state)
{
	(void)state;
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_ENTRY, below_only);
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_EXIT, below_only);
	rig_each(env_of(TRAMP_PROBE_FILTER), TRAMP_PROBE_ENTRY, below_only);
	for (int mode = TRAMP_PROBE_RECORD; mode <= TRAMP_PROBE_TIMED; mode++) {
		rig_each(env_of((enum tramp_probe_mode)mode), TRAMP_PROBE_ENTRY, opens_and_ends);
		rig_each(env_of((enum tramp_probe_mode)mode), TRAMP_PROBE_EXIT, opens_and_ends);
	}
}

static void test_record(void **state)
{
	(void)state;
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_ENTRY, records);
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_EXIT, records);
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_EXIT, last_room);
}

static void test_record_slow(void **state)
{
	(void)state;
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_ENTRY, not_owned);
	rig_each(env_of(TRAMP_PROBE_RECORD), TRAMP_PROBE_EXIT, no_room);
}

static void test_count(void **state)
{
	(void)state;
	rig_each(env_of(TRAMP_PROBE_COUNT), TRAMP_PROBE_ENTRY, counts);
	rig_each(env_of(TRAMP_PROBE_COUNT), TRAMP_PROBE_ENTRY, not_owned);
	rig_each(env_of(TRAMP_PROBE_COUNT), TRAMP_PROBE_ENTRY, no_counts);
}

static void test_errors(void **state)
{
	struct tramp_probe probe = { .event = 1u << 20 };
	struct tramp_probe_code code;

	(void)state;
	assert_int_equal(tramp_probe_emit(&rig_env, &probe, &code), TRAMP_NO_ROOM);
	probe = (struct tramp_probe){ .event = 16, .function = UINT32_MAX / 8 };
	assert_int_equal(tramp_probe_emit(&rig_env, &probe, &code), TRAMP_NO_ROOM);
	probe = (struct tramp_probe){ .event = 16, .kind = TRAMP_PROBE_EXIT };
	assert_int_equal(tramp_probe_emit(env_of(TRAMP_PROBE_COUNT), &probe, &code), TRAMP_NO_ROOM);
	assert_int_equal(tramp_probe_emit(&rig_env, &probe, &code), TRAMP_OK);
	assert_int_equal(tramp_probe_place(&code, 0x10000, UINT64_C(0x90000000)), TRAMP_FAR);
	assert_int_equal(tramp_probe_place(&code, UINT64_C(0x90000000), 0x10000), TRAMP_FAR);
	assert_int_equal(tramp_probe_place(&code, 0x10000, 0x70000000), TRAMP_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_record),
		cmocka_unit_test(test_record_slow),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_switches),
		cmocka_unit_test(test_under),
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
