// SPDX-License-Identifier: GPL-3.0-or-later
/* Profiles that are kept: what is read is what was written, and whatever is read does no harm. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <setjmp.h>
#include <cmocka.h>
#include <xxhash.h>

#include "launcher/memory/memkept.h"
#include "tests/unit/part.h"

#define INSNS 40
#define ACCESSES 20000

static uint64_t seed = 1;

static uint64_t random_below(uint64_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (seed >> 33) % n;
}

static const struct kept_key key = { { 12, 34 } };

static struct memprofile_options options(bool sampled)
{
	return (struct memprofile_options){ .sampled = sampled, .caches = { 8, 512 } };
}

static struct memprofile *make(bool sampled)
{
	const struct memprofile_options o = options(sampled);
	struct memprofile *p = memprofile_new(&o);
	struct memprofile_thread *t = p ? memprofile_begin(p) : NULL;

	assert_non_null(t);
	for (size_t i = 0; i < ACCESSES; i++) {
		struct mt_access a = {
			.addr = random_below(100000), .size = 8, .kind = i % 3 ? MD_LOAD : MD_STORE,
			.insn = 0x1000 + random_below(INSNS),
		};

		if (i % 100 == 99)
			memprofile_off(t);
		assert_true(memprofile_take(t, &a, 1));
	}
	memprofile_scale(t, 3);
	assert_true(memprofile_end(t));
	return p;
}

static void footprints(struct memprofile *p, uint64_t *lines, uint32_t n)
{
	uint32_t group[INSNS + 300];

	for (uint32_t i = 0; i < INSNS + 300; i++)
		group[i] = i;
	assert_true(memprofile_footprint(p, group, lines, n));
}

static void test_same(void **state)
{
	(void)state;
	for (int sampled = 0; sampled < 2; sampled++) {
		const struct memprofile_options o = options(sampled);
		struct memprofile *p = make(sampled), *q;
		uint64_t a[INSNS], b[INSNS];
		size_t bytes;
		void *data = memkept_pack(&key, p, &bytes);

		assert_non_null(data);
		q = memkept_unpack(data, bytes, &key, &o);
		assert_non_null(q);
		for (size_t i = 0; i < INSNS; i++) {
			assert_memory_equal(memprofile_insn(p, i), memprofile_insn(q, i), sizeof(struct memprofile_insn));
			assert_true(!memprofile_groups(p, i) == !sampled && !memprofile_groups(q, i) == !sampled);
			if (sampled)
				assert_memory_equal(memprofile_groups(p, i), memprofile_groups(q, i),
						    MEMPROFILE_GROUPS * sizeof(struct memprofile_group));
		}
		assert_null(memprofile_insn(q, INSNS));
		if (sampled)
			assert_memory_equal(memprofile_curves(p), memprofile_curves(q),
					    MEMPROFILE_GROUPS * sizeof(struct memprofile_curve));
		footprints(p, a, INSNS);
		footprints(q, b, INSNS);
		assert_memory_equal(a, b, sizeof(a));
		memprofile_free(p);
		memprofile_free(q);
		free(data);
	}
}

/* Of another trace, or with other options; cut off; damaged. */
static void test_others(void **state)
{
	const struct kept_key other = { { 12, 35 } };
	const struct memprofile_options o = options(false), p = options(true);
	struct memprofile *profile = make(false);
	size_t bytes;
	char *data = memkept_pack(&key, profile, &bytes);

	(void)state;
	assert_non_null(data);
	assert_null(memkept_unpack(data, bytes, &other, &o));
	assert_null(memkept_unpack(data, bytes, &key, &p));
	for (size_t n = 0; n < bytes; n += 1 + n / 50)
		assert_null(memkept_unpack(data, n, &key, &o));
	for (size_t at = 0; at < bytes; at += 1 + at / 50) {
		data[at] ^= 4;
		assert_null(memkept_unpack(data, bytes, &key, &o));
		data[at] ^= 4;
	}
	memprofile_free(profile);
	free(data);
}

/* What was made to be read: its hash is right. */
static void test_hostile(void **state)
{
	(void)state;
	for (int round = 0; round < PART_OF(4000); round++) {
		static char *made[2], *data;
		static size_t bytes[2];
		const int sampled = round & 1;
		const struct memprofile_options o = options(sampled);
		static uint64_t lines[INSNS + 300];
		struct memprofile *p;
		uint64_t hash;

		if (!made[sampled]) {
			p = make(sampled);
			made[sampled] = memkept_pack(&key, p, &bytes[sampled]);
			memprofile_free(p);
		}
		data = malloc(bytes[sampled]);
		assert_true(data && made[sampled]);
		memcpy(data, made[sampled], bytes[sampled]);
		for (uint64_t n = 1 + random_below(3); n; n--) {
			uint64_t at = random_below(round % 4 < 2 ? 64 : bytes[sampled]);

			data[at] = (char)random_below(256);
		}
		hash = XXH3_64bits(data, bytes[sampled] - sizeof(hash));
		memcpy(data + bytes[sampled] - sizeof(hash), &hash, sizeof(hash));
		p = memkept_unpack(data, bytes[sampled], &key, &o);
		if (p)
			footprints(p, lines, INSNS + 300);
		memprofile_free(p);
		free(data);
		if (round >= 3998) {
			free(made[sampled]);
			made[sampled] = NULL;
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
