// SPDX-License-Identifier: GPL-3.0-or-later
/* analysis/names: this program's own data, whose addresses it knows, by its own debug information. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include <stdlib.h>

#include "analysis/names/names.h"
#include "tests/unit/analysis/self.h"

struct vector {
	double x, y, z;
};

union either {
	int32_t i;
	double d;
	char text[24];
};

typedef struct {
	char tag;
	struct vector pos, vel;
	union either u;
	int cell[3][5];
	unsigned int low : 4, high : 4;
	union {
		int inner;
		float outer;
	};
	void *next;
} particle;

particle particles[100];
double plain[64];
struct vector one;
static long hidden[8];
int number = 7;
const char constant[] = "constant";
__thread particle mine[3];
static __thread int count;

/* Clang 14 does not say the name of a function of which no code is left. */
static __attribute__((noinline)) long *local(void)
{
	static long calls[4];

	calls[1]++;
	return calls;
}

static void check(struct nm *nm, const void *at, uint32_t size, const char *variable, const char *path)
{
	struct nm_place place;

	assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)at, size, &place));
	assert_string_equal(place.name->variable->name, variable);
	assert_string_equal(place.name->path, path);
}

#define CHECK(nm, object, variable, path) check(nm, &(object), sizeof(object), variable, path)

static void test_fields(void **state)
{
	struct nm *nm = *state;

	CHECK(nm, particles[0].tag, "particles", "[].tag");
	CHECK(nm, particles[7].pos.x, "particles", "[].pos.x");
	CHECK(nm, particles[99].vel.z, "particles", "[].vel.z");
	CHECK(nm, particles[3].cell[2][4], "particles", "[].cell[][]");
	CHECK(nm, particles[3].next, "particles", "[].next");
	CHECK(nm, particles[50].u.i, "particles", "[].u.{i,d,text}");
	CHECK(nm, particles[50].u.text[20], "particles", "[].u.text[]");
	CHECK(nm, particles[51].inner, "particles", "[].{inner,outer}");
	CHECK(nm, plain[5], "plain", "[]");
	CHECK(nm, one.y, "one", ".y");
	CHECK(nm, hidden[2], "hidden", "[]");
	CHECK(nm, number, "number", "");
	CHECK(nm, constant[2], "constant", "[]");
	CHECK(nm, local()[1], "calls", "[]");
}

/* More than a part has: what all of it is in. */
static void test_wide(void **state)
{
	struct nm *nm = *state;

	check(nm, &particles[1].pos.y, 16, "particles", "[].pos");
	check(nm, &particles[1].pos.z, 16, "particles", "[]");
	check(nm, &plain[4], 32, "plain", "[]");
	check(nm, (char *)&particles[1].tag + 1, 1, "particles", "[]");
	check(nm, (char *)&particles[1].inner - 4, 1, "particles", "[]");
}

static void test_about(void **state)
{
	struct nm *nm = *state;
	struct nm_place place;
	const struct nm_variable *v;

	assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)&particles[9].vel.y, 8, &place));
	v = place.name->variable;
	assert_int_equal(v->kind, NM_GLOBAL);
	assert_int_equal(v->how, NM_BY_DEBUG);
	assert_string_equal(v->type, "particle[100]");
	assert_string_equal(v->element, "particle");
	assert_string_equal(v->object, "/somewhere/self");
	assert_string_equal(place.name->type, "double");
	assert_int_equal(place.name->size, sizeof(double));
	assert_int_equal(place.name->offset, offsetof(particle, vel.y));
	assert_int_equal(place.begin, (uintptr_t)particles);
	assert_int_equal(place.size, sizeof(particles));
	assert_non_null(strstr(v->file, "names.c"));
	assert_in_range(v->line, 20, 60);
	assert_ptr_equal(nm_variable(nm, v->index), v);
	assert_ptr_equal(nm_name(nm, place.name->index), place.name);

	assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)local(), 8, &place));
	assert_string_equal(place.name->variable->scope, "local");
	assert_int_equal(place.name->variable->kind, NM_STATIC);

	assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)&place, 8, &place));
	assert_int_equal(place.name->variable->kind, NM_UNKNOWN);
	assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)"a string in no variable", 1, &place));
	assert_int_equal(place.name->variable->how, NM_BY_SECTION);
	assert_string_equal(place.name->variable->name, ".rodata");
}

/* There are as many names as there are paths. */
static void test_bounded(void **state)
{
	struct nm *nm = *state;
	uint32_t n = 0;
	struct nm_place place;

	for (unsigned int round = 0; round < 2; round++) {
		for (size_t i = 0; i < sizeof(particles); i++)
			assert_true(nm_find_static(nm, (uint64_t)(uintptr_t)particles + i, 1, &place));
		if (!round)
			for (n = 0; nm_name(nm, n);)
				n++;
	}
	assert_in_range(n, 10, 64);
	assert_null(nm_name(nm, n));
}

static void find(struct nm_thread *t, const void *at, uint32_t size, uint64_t insn, const char *variable, const char *path,
		 enum nm_kind kind)
{
	const struct mt_access a = { .addr = (uint64_t)(uintptr_t)at, .size = size, .insn = insn };
	struct nm_place place;

	assert_true(nm_find(t, &a, &place));
	assert_string_equal(place.name->variable->name, variable);
	assert_string_equal(place.name->path, path);
	assert_int_equal(place.name->variable->kind, kind);
}

/* An instruction's accesses, now here, now there: what is noted of the last one must not name others. */
static void test_thread(void **state)
{
	struct nm *nm = *state;
	struct nm_thread *t = nm_begin(nm, 1, 1);
	uint64_t fs = 0;

	assert_non_null(t);
	__asm__("movq %%fs:0, %0" : "=r"(fs));
	nm_chunk(t, fs, 1, UINT64_MAX);
	for (unsigned int i = 0; i < 2000; i++) {
		particle *p = &particles[i % 100];
		uint64_t insn = 0x1000 + i % 3;

		switch (i % 11) {
		case 0:
			find(t, &p->pos.x, 8, insn, "particles", "[].pos.x", NM_GLOBAL);
			break;
		case 1:
			find(t, &p->pos.y, 8, insn, "particles", "[].pos.y", NM_GLOBAL);
			break;
		case 2:
			find(t, &p->pos.y, 16, insn, "particles", "[].pos", NM_GLOBAL);
			break;
		case 3:
			find(t, &p->cell[1][1], 4, insn, "particles", "[].cell[][]", NM_GLOBAL);
			break;
		case 4:
			find(t, &p->u.i, 4, insn, "particles", "[].u.{i,d,text}", NM_GLOBAL);
			break;
		case 5:
			find(t, &plain[i % 64], 8, insn, "plain", "[]", NM_GLOBAL);
			break;
		case 6:
			find(t, &hidden[i % 8], 8, insn, "hidden", "[]", NM_STATIC);
			break;
		case 7:
			find(t, &mine[i % 3].vel.y, 8, insn, "mine", "[].vel.y", NM_TLS);
			break;
		case 8:
			find(t, &count, 4, insn, "count", "", NM_TLS);
			break;
		case 9:
			find(t, (void *)16, 4, insn, "", "", NM_UNKNOWN);
			break;
		case 10:
			find(t, &p->u.text[8], 1, insn, "particles", "[].u.text[]", NM_GLOBAL);
			break;
		}
	}
	nm_end(t);
}

static const struct nm_name *keyed[256];

static uint32_t key_of(void *arg, uint64_t insn, const struct nm_name *name)
{
	uint32_t i = 0;

	(void)arg;
	(void)insn;
	while (keyed[i] && keyed[i] != name)
		i++;
	assert_in_range(i, 0, 254);
	keyed[i] = name;
	return i + 1;
}

/*
 * Anywhere in and around variables, sections and the thread control block, by one instruction: names are those that each access has alone.
 */
static void test_keys(void **state)
{
	static const struct nm_keys keys = { .whole = true, .key = key_of };
	struct nm *nm = *state;
	struct nm_thread *t = nm_begin(nm, 1, 1), *alone;
	uint64_t fs = 0, seed = 1;

	assert_non_null(t);
	__asm__("movq %%fs:0, %0" : "=r"(fs));
	nm_chunk(t, fs, 1, UINT64_MAX);
	for (unsigned int i = 0; i < 6000; i++) {
		const uint64_t bases[] = { (uintptr_t)&number, (uintptr_t)constant, (uintptr_t)hidden, (uintptr_t)plain, fs };
		struct mt_access a = { .size = 1, .kind = MD_LOAD, .insn = 0x1000 }, to;
		struct nm_place place;

		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
		/* mostly near to the one before */
		a.addr = bases[i / 50 % 5] + (seed >> 40) % (i % 50 ? 64 : 4096) - 32;
		assert_true(nm_find_keys(t, &a, 1, &keys, &to));
		alone = nm_begin(nm, 1, 1);
		assert_non_null(alone);
		nm_chunk(alone, fs, 1, UINT64_MAX);
		assert_true(nm_find(alone, &a, &place));
		assert_ptr_equal(keyed[to.insn - 1], nm_whole(place.name));
		nm_end(alone);
	}
	nm_end(t);
}

/* What cannot be read names nothing, and is no error. */
static void test_no_file(void **state)
{
	const struct nm_options options = { .callbacks = &callbacks };
	const struct nm_object o[] = {
		{ .path = "/gone", .load = 0x1000 }, { .path = "/nothing", .file = "/nonexistent", .load = 0x2000 },
		{ .path = "/null", .file = "/dev/null", .load = 0x3000 },
	};
	struct nm *nm = nm_new(&options);
	struct nm_place place;

	(void)state;
	for (size_t i = 0; i < sizeof(o) / sizeof(o[0]); i++)
		assert_true(nm_add_object(nm, &o[i]));
	for (uint64_t addr = 0; addr < 0x4000; addr += 0x800) {
		assert_true(nm_find_static(nm, addr, 1, &place));
		assert_int_equal(place.name->variable->kind, NM_UNKNOWN);
	}
	nm_free(nm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_fields, setup, teardown),
		cmocka_unit_test_setup_teardown(test_wide, setup, teardown),
		cmocka_unit_test_setup_teardown(test_about, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_thread, setup, teardown),
		cmocka_unit_test_setup_teardown(test_keys, setup, teardown),
		cmocka_unit_test(test_no_file),
	};

	return cmocka_run_group_tests_name("names", tests, NULL, NULL);
}
