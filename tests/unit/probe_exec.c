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

#include "tests/unit/probe_rig.h"

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

typedef void (*body)(const struct tramp_probe_env *env, const struct tramp_probe *probe);

static void for_each(enum tramp_probe_mode mode, enum tramp_probe_kind kind, body run)
{
	struct tramp_probe_env env = rig_env;

	env.mode = mode;
	for (unsigned int i = 0; i < NDEAD * 16; i++) {
		struct tramp_probe probe = {
			.kind = kind,
			.event = 16 + (uint32_t)(rig_rand() % 0xffff0),
			.function = (uint32_t)(rig_rand() % RIG_FUNCTIONS),
			.live = TRAMP_ALL_REGS & ~dead_sets[i / 16] & ~often[i & 3],
			.red_zone_dead = i & 4,
		};

		if (i & 8)
			probe.live &= ~TRAMP_STATUS;
		run(&env, &probe);
	}
	for (int i = 0; i < 2000; i++) {
		struct tramp_probe probe = {
			.kind = kind,
			.event = 16 + (uint32_t)(rig_rand() % 0xffff0),
			.function = (uint32_t)(rig_rand() % RIG_FUNCTIONS),
			.live = (tramp_regs)rig_rand() & TRAMP_ALL_REGS,
			.red_zone_dead = rig_rand() & 1,
		};

		run(&env, &probe);
	}
}

static void run_and_check(const struct tramp_probe *probe)
{
	struct machine was, is;

	rig_random(&was);
	is = was;
	rig_run(&is);
	rig_check(probe, &was, &is);
}

static void records(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	run_and_check(probe);
	run_and_check(probe);
	assert_int_equal(rig.slow, 0);
	assert_int_equal(rig.pool.ptr, rig.records[2]);
	rig_check_record(0, probe->event);
	rig_check_record(1, probe->event);
	assert_true(rig.records[1][0] > rig.records[0][0]);
	assert_int_equal(rig.records[2][0], 0);
}

/* The descriptor is right, all is intact, nothing is recorded. */
static void goes_slow(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	uint64_t ptr = rig.pool.ptr;

	run_and_check(probe);
	assert_int_equal(rig.slow, 1);
	assert_int_equal(rig.desc.event, probe->event);
	assert_int_equal(rig.desc.function, probe->function);
	assert_int_equal(rig.desc.kind, probe->kind);
	assert_int_equal(rig.desc.mode, env->mode);
	assert_int_equal(rig.slow_frame, rig.stack);
	assert_int_equal(rig.pool.ptr, ptr);
	for (int i = 0; i < RIG_RECORDS; i++)
		assert_int_equal(rig.records[i][0], 0);
	for (int i = 0; i < RIG_FUNCTIONS; i++)
		assert_int_equal(rig.counts[i], 0);
}

static void not_owned(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.owner = 0;
	goes_slow(env, probe);
}

static void no_room(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.ptr = (uint64_t)rig.records[RIG_RECORDS] - 8;
	goes_slow(env, probe);
	rig_reset();
	rig.pool.ptr = rig.pool.room = 0;
	goes_slow(env, probe);
}

static void last_room(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	rig.pool.ptr = (uint64_t)rig.records[RIG_RECORDS - 1];
	run_and_check(probe);
	assert_int_equal(rig.slow, 0);
	rig_check_record(RIG_RECORDS - 1, probe->event);
}

static void counts(const struct tramp_probe_env *env, const struct tramp_probe *probe)
{
	rig_reset();
	rig_place(env, probe);
	for (int n = 0; n < 3; n++)
		run_and_check(probe);
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
	goes_slow(env, probe);
}

static void test_record(void **state)
{
	(void)state;
	for_each(TRAMP_PROBE_RECORD, TRAMP_PROBE_ENTRY, records);
	for_each(TRAMP_PROBE_RECORD, TRAMP_PROBE_EXIT, records);
	for_each(TRAMP_PROBE_RECORD, TRAMP_PROBE_EXIT, last_room);
}

static void test_record_slow(void **state)
{
	(void)state;
	for_each(TRAMP_PROBE_RECORD, TRAMP_PROBE_ENTRY, not_owned);
	for_each(TRAMP_PROBE_RECORD, TRAMP_PROBE_EXIT, no_room);
}

static void test_count(void **state)
{
	(void)state;
	for_each(TRAMP_PROBE_COUNT, TRAMP_PROBE_ENTRY, counts);
	for_each(TRAMP_PROBE_COUNT, TRAMP_PROBE_ENTRY, not_owned);
	for_each(TRAMP_PROBE_COUNT, TRAMP_PROBE_ENTRY, no_counts);
}

static void test_errors(void **state)
{
	struct tramp_probe probe = { .event = 1u << 20 };
	struct tramp_probe_code code;

	(void)state;
	assert_int_equal(tramp_probe_emit(&rig_env, &probe, &code), TRAMP_NO_ROOM);
	probe = (struct tramp_probe){ .event = 16, .function = UINT32_MAX / 8 };
	assert_int_equal(tramp_probe_emit(&rig_env, &probe, &code), TRAMP_NO_ROOM);
	probe.function = 1;
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
		cmocka_unit_test(test_errors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
