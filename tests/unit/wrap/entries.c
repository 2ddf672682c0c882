// SPDX-License-Identifier: GPL-3.0-or-later
/* tramp_code_entries(): branches from elsewhere in a section into functions' first bytes. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/flow/bytes.h"
#include "trampolines/trampoline.h"

#define ADDR 0x7f0000001000ull
#define NONE 0

enum { SECTION = 4096, ROOM = 8, FUNCTION = 1024, OTHER = 2048, COVERED = 68 };

/* Of its exact size on the heap, so that its ends are guarded when sanitized. */
static uint8_t *new_section(void)
{
	uint8_t *section = malloc(SECTION);

	assert_non_null(section);
	memset(section, 0x90, SECTION);	/* nop */
	return section;
}

/* Into the inside of all functions' first bytes, ascending by target. */
static size_t find(const uint8_t *section, size_t len, const struct bytes_range *functions, size_t n,
		   struct tramp_branch *branches, size_t room)
{
	struct bytes_code object;
	size_t found = 0;

	bytes_code_open(&object, section, len, ADDR, functions, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t entries[ROOM];
		size_t entered = tramp_code_entries(object.code, functions[i].addr + 1, COVERED - 1, entries,
						    room - found);

		for (size_t k = 0; k < entered; k++) {
			const struct tramp_site *sites;

			assert_true(tramp_code_sites(object.code, entries[k], &sites) > 0 || n == 1);
			branches[found++] = (struct tramp_branch){
				n == 1 ? 0 : ADDR + sites->from, entries[k]
			};
		}
	}
	bytes_code_close(&object);
	return found;
}

/* The one target found from outside, or NONE. */
static uint64_t find_from(const uint8_t *section, uint64_t *from)
{
	static const struct bytes_range functions[] = {
		{ ADDR + FUNCTION, 16 }, { ADDR + OTHER, 0 }
	};
	struct tramp_branch branches[ROOM];
	size_t found = find(section, SECTION, functions, 2, branches, ROOM);

	assert_true(found <= 1);
	if (!found)
		return NONE;
	*from = branches[0].from - ADDR;
	return branches[0].to;
}

static uint64_t find_one(const uint8_t *section)
{
	uint64_t from;

	return find_from(section, &from);
}

static void put_rel32(uint8_t *section, size_t at, const char *opcode, size_t target)
{
	size_t length = strlen(opcode);
	int32_t rel = (int32_t)target - (int32_t)(at + length + 4);

	memcpy(section + at, opcode, length);
	memcpy(section + at + length, &rel, sizeof(rel));
}

static void test_near_branches_from_everywhere(void **state)
{
	static const char *const opcodes[] = { "\xe9", "\xe8", "\x0f\x84", "\xf2\xe9" };
	uint8_t *section = new_section();
	uint64_t from = 0;

	(void)state;
	for (size_t at = 0; at + 6 <= SECTION; at++) {
		const char *opcode = opcodes[at % 4];
		bool own = at + 6 > FUNCTION && at < FUNCTION + 16;

		if (own || at + 6 + strlen(opcode) > SECTION)
			continue;
		memset(section, 0x90, SECTION);	/* nop */
		put_rel32(section, at, opcode, FUNCTION + 3);
		assert_int_equal(find_from(section, &from), ADDR + FUNCTION + 3);
		assert_in_range(from, at, at + 6);
		put_rel32(section, at, opcode, FUNCTION);	/* a plain call or tail call */
		assert_int_equal(find_one(section), NONE);
		put_rel32(section, at, opcode, FUNCTION + 67);
		assert_int_equal(find_one(section), ADDR + FUNCTION + 67);
		put_rel32(section, at, opcode, FUNCTION + 68);
		assert_int_equal(find_one(section), NONE);
	}
	free(section);
}

static void test_short_branches_from_around(void **state)
{
	uint8_t *section = new_section();
	uint64_t from = 0;

	(void)state;
	for (int at = FUNCTION - 200; at < FUNCTION + 200; at++) {
		int rel = FUNCTION + 3 - (at + 2);

		if (rel != (int8_t)rel || (at > FUNCTION - 2 && at < FUNCTION + 16))
			continue;
		memset(section, 0x90, SECTION);	/* nop */
		section[at] = at % 2 ? 0xeb : 0x74;	/* jmp, je */
		section[at + 1] = (uint8_t)rel;
		assert_int_equal(find_from(section, &from), ADDR + FUNCTION + 3);
		assert_in_range(from, at, at + 1);
	}
	free(section);
}

/* mov $imm32,%eax whose immediate reads like a branch, in every place. */
static void test_immediates_are_no_branches(void **state)
{
	uint8_t *section = new_section();

	(void)state;
	for (int at = FUNCTION - 120; at < FUNCTION + 100; at++) {
		if (at > FUNCTION - 5 && at < FUNCTION)
			continue;
		memset(section, 0x90, SECTION);	/* nop */
		section[at] = 0xb8;
		section[at + 1] = 0xeb;
		section[at + 2] = (uint8_t)(FUNCTION + 3 - (at + 3));
		assert_int_equal(find_one(section), NONE);
	}
	free(section);
}

/* shr %cl,%eax (d3 e8), then bytes that would make e8 a call into the function. */
static void test_modrm_is_no_call(void **state)
{
	uint8_t *section = new_section();

	(void)state;
	put_rel32(section, OTHER + 301, "\xe8", FUNCTION + 3);
	assert_int_equal(find_one(section), ADDR + FUNCTION + 3);
	section[OTHER + 300] = 0xd3;
	assert_int_equal(find_one(section), NONE);
	free(section);
}

/* glibc's mempcpy enters memmove after its first instruction. */
static void test_shared_body(void **state)
{
	static const char mempcpy[] = "\x48\x89\xf8"	// mov %rdi,%rax
				      "\x48\x01\xd0"	// add %rdx,%rax
				      "\xeb\x1b";	// jmp +27
	static const char memmove[] = "\x48\x89\xf8"	// mov %rdi,%rax
				      "\x48\x83\xfa\x10\xc3";	// cmp $16,%rdx; ret
	uint8_t *section = new_section();
	struct tramp_function fn = {
		.addr = ADDR + FUNCTION, .code = section + FUNCTION,
		.size = sizeof(memmove) - 1, .avail = sizeof(memmove) - 1,
	};
	struct tramp_branch branch;
	struct tramp_plan plan;

	(void)state;
	memcpy(section + FUNCTION - 32, mempcpy, sizeof(mempcpy) - 1);
	memcpy(section + FUNCTION, memmove, sizeof(memmove) - 1);
	section[FUNCTION - 32 + 7] = 27;
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	branch.to = find_from(section, &branch.from);
	branch.from += ADDR;
	assert_int_equal(branch.to, ADDR + FUNCTION + 3);
	assert_in_range(branch.from, ADDR + FUNCTION - 26, ADDR + FUNCTION - 25);
	fn.branches = &branch;
	fn.nbranches = 1;
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_BRANCH_INTO);
	free(section);
}

/* Own branches are left out; what is after the function's size is not its own. */
static void test_own_branches(void **state)
{
	static const struct bytes_range tiny = { ADDR + FUNCTION, 1 };
	uint8_t *section = new_section();
	struct tramp_branch b;

	(void)state;
	put_rel32(section, FUNCTION + 8, "\xe9", FUNCTION + 3);
	assert_int_equal(find_one(section), NONE);
	assert_int_equal(find(section, SECTION, &tiny, 1, &b, 1), 1);
	memset(section, 0x90, SECTION);		/* nop */
	memcpy(section + FUNCTION + 8, "\x75\xf9", 2);	/* jne -7 */
	assert_int_equal(find_one(section), NONE);
	assert_int_equal(find(section, SECTION, &tiny, 1, &b, 1), 1);
	free(section);
}

static void test_room(void **state)
{
	static const struct bytes_range functions[] = {
		{ ADDR + FUNCTION, 16 }, { ADDR + OTHER, 0 }
	};
	uint8_t *section = new_section();
	struct tramp_branch b[3] = { [2] = { 77, 77 } };

	(void)state;
	put_rel32(section, 100, "\xe9", OTHER + 1);
	put_rel32(section, 200, "\xe9", FUNCTION + 2);
	put_rel32(section, 300, "\xe9", FUNCTION + 1);
	assert_int_equal(find(section, SECTION, functions, 2, b, 2), 2);
	assert_int_equal(b[0].to, ADDR + FUNCTION + 1);
	assert_int_equal(b[1].to, ADDR + FUNCTION + 2);
	assert_int_equal(b[2].to, 77);
	assert_int_equal(find(section, SECTION, functions, 2, b, 3), 3);
	assert_int_equal(b[0].to, ADDR + FUNCTION + 1);
	assert_int_equal(b[2].to, ADDR + OTHER + 1);
	assert_int_equal(find(section, SECTION, functions, 0, b, 3), 0);
	free(section);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near_branches_from_everywhere),
		cmocka_unit_test(test_short_branches_from_around),
		cmocka_unit_test(test_immediates_are_no_branches),
		cmocka_unit_test(test_modrm_is_no_call),
		cmocka_unit_test(test_shared_body),
		cmocka_unit_test(test_own_branches),
		cmocka_unit_test(test_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
