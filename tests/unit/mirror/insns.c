// SPDX-License-Identifier: GPL-3.0-or-later
/* Small functions, one for each kind of instruction that a mirror has to move or to stay away from. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/subject.h"

/* ---- instructions that branch ---- */

/* 1: add %rax, (%rdi); dec %rdi; jrcxz 2f; loop 1b; 2: ret */
static void test_counted(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x01\x07\x48\xff\xcf\xe3\x02\xe2\xf6\xc3", "\x90\x90\x90\x90" NEXT);
	mirror(&s, ENTRY | EXIT | TRAMP_MIRROR_WHOLE);
	assert_true(s.plan.whole);
	drop(&s);
}

/* mov %rdi, %rax; loop into the next function: no 4 bytes of displacement, but room for a jump */
static void test_loop_out(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x89\xf8\xe2\x04\x48\x89\xf0\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nretargeted, 0);
	assert_int_equal(s.plan.nexits, 2);
	drop(&s);
}

/* test %edi, %edi; je 1f; mov (%rdi), %rax; ret; 1: jmp out */
static void test_short_branches(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x85\xff\x74\x04\x48\x8b\x07\xc3\xe9\x00\x10\x00\x00", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nexits, 2);
	drop(&s);
}

/* xbegin 1f; xend; 1: ret: not where it could be interrupted by a probe */
static void test_transaction(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xc7\xf8\x03\x00\x00\x00\x0f\x01\xd5\xc3", "\x90\x90\x90\x90" NEXT);
	assert_int_equal(plan(&s, ENTRY | EXIT | TRAMP_MIRROR_WHOLE), TRAMP_MIRROR_UNMOVABLE);
	drop(&s);
}

/* jmp *16(%rip); ljmp *(%rdi) */
static void test_jumps_through_memory(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xff\x25\x10\x00\x00\x00", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nexits, 1);
	drop(&s);
	BUILD(&s, "\x48\x89\xf8\x48\x89\xf8\xff\x2f", NEXT);
	mirror(&s, ENTRY);
	drop(&s);
}

/* Into itself: jmp .-1, whose last byte begins inc %eax; ret */
static void test_overlap(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xeb\xff\xc0\xc3", NEXT);
	assert_int_not_equal(plan(&s, ENTRY | EXIT), TRAMP_MIRROR_OK);
	drop(&s);
}

/* ---- ways out ---- */

/* rep ret; ret $8 */
static void test_other_returns(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x89\xf8\xf3\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nexits, 1);
	drop(&s);
	BUILD(&s, "\x48\x89\xf8\xc2\x08\x00", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nexits, 1);
	drop(&s);
}

/* mov %rdi, %rax; mov %rsi, %rax; on into the next function */
static void test_falls(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x89\xf8\x48\x89\xf0", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nexits, 1);
	drop(&s);
}

/* int3; mov %rdi, %rax; ret: a handler returns after it; at the very end nothing follows */
static void test_breakpoint(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xcc\x48\x89\xf8\x48\x89\xf8\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nexits, 1);
	drop(&s);
	BUILD(&s, "\x48\x89\xf8\x48\x89\xf8\xcc", NEXT);
	assert_int_equal(plan(&s, ENTRY | EXIT), TRAMP_MIRROR_NEVER_LEAVES);
	drop(&s);
}

static bool spares_red_zone(const struct subject *s)
{
	/* lea -0x90(%rsp), %rsp */
	static const uint8_t shift[] = { 0x48, 0x8d, 0xa4, 0x24, 0x70, 0xff, 0xff, 0xff };

	return memmem(s->buf, s->out.len, shift, sizeof(shift)) != NULL;
}

/* mov %edi, -8(%rsp); jmp out: what is below the stack may be wanted there; after ret it is not */
static void test_red_zone(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x89\x7c\x24\xf8\xe9\x00\x10\x00\x00", NEXT);
	mirror(&s, EXIT);
	assert_true(spares_red_zone(&s));
	drop(&s);
	BUILD(&s, "\x89\x7c\x24\xf8\x90\x90\x90\x90\xc3", NEXT);
	mirror(&s, EXIT);
	assert_false(spares_red_zone(&s));
	drop(&s);
}

/* ---- calls ---- */

/* call 1f; 1: pop %rax; ret: the return address is used, so it has to be the original one */
static void test_get_pc(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xe8\x00\x00\x00\x00\x58\xc3", "\x90\x90\x90\x90" NEXT);
	mirror(&s, ENTRY | EXIT);
	drop(&s);
}

/* push %rbx; call twice; mov %rbx, %rax; pop %rbx; ret: the first has to make room for the entry */
static void test_adjacent_calls(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x53\xe8\x00\x10\x00\x00\xe8\x00\x10\x00\x00\x48\x89\xd8\x5b\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_true(s.plan.nmoved_calls > 0);
	drop(&s);
	/* call twice; ret: one byte, and nowhere to lead it from */
	BUILD(&s, "\xe8\x00\x10\x00\x00\xe8\x00\x10\x00\x00\xc3", NEXT);
	assert_int_equal(plan(&s, ENTRY | EXIT), TRAMP_MIRROR_EXIT_SHORT);
	drop(&s);
}

/* sub $8, %rsp; call *16(%rip); call *%rax; add $8, %rsp; ret */
static void test_indirect_calls(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x83\xec\x08\xff\x15\x10\x00\x00\x00\xff\xd0\x48\x83\xc4\x08\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	drop(&s);
}

/* ---- entries ---- */

/* endbr64; 1: dec %edi; jne 1b; ret: back after the marker is no entry, and no window may cover it */
static void test_back_behind_endbr(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xf3\x0f\x1e\xfa\xff\xcf\x75\xfc\xc3", "\x90\x90\x90\x90" NEXT);
	mirror(&s, ENTRY | EXIT);
	patch_is(&s, 0, 4, 5, 0xe9);
	drop(&s);
}

/* 1: dec %edi; jne 1b by 4 bytes; ret: the branch is led past the probe */
static void test_far_back_to_entry(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x01\x07\x48\x01\x07\xff\xcf\x0f\x85\xf2\xff\xff\xff\xc3", "\x90\x90\x90\x90" NEXT);
	mirror(&s, ENTRY);
	drop(&s);
}

/* mov %rdx, %rcx; rep movsb; ret */
static void test_string(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x89\xd1\xf3\xa4\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	drop(&s);
}

/* mov $39, %eax; syscall; ret */
static void test_system_call(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xb8\x27\x00\x00\x00\x0f\x05\xc3", "\x90\x90\x90\x90" NEXT);
	mirror(&s, ENTRY | EXIT);
	drop(&s);
}

/* mov 2 GiB ahead of the code: from an arena below it is out of reach, from one above it is not */
static void test_far_operand(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x8b\x05\xf0\xff\xff\x7f\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(tramp_mirror_emit(s.mirror, ADDRESS, 0x100000, s.buf, sizeof(s.buf), &s.out),
			 TRAMP_MIRROR_FAR);
	drop(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_counted),
		cmocka_unit_test(test_loop_out),
		cmocka_unit_test(test_short_branches),
		cmocka_unit_test(test_transaction),
		cmocka_unit_test(test_jumps_through_memory),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_other_returns),
		cmocka_unit_test(test_falls),
		cmocka_unit_test(test_breakpoint),
		cmocka_unit_test(test_red_zone),
		cmocka_unit_test(test_get_pc),
		cmocka_unit_test(test_adjacent_calls),
		cmocka_unit_test(test_indirect_calls),
		cmocka_unit_test(test_back_behind_endbr),
		cmocka_unit_test(test_far_back_to_entry),
		cmocka_unit_test(test_string),
		cmocka_unit_test(test_system_call),
		cmocka_unit_test(test_far_operand),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
