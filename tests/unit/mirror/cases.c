// SPDX-License-Identifier: GPL-3.0-or-later
/* Small functions, one for each way to place a jump: bytes in, patches out. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror/subject.h"

/* push %rbp; mov %rsp, %rbp; mov %rdi, %rax; pop %rbp; ret: copied as a whole */
static void test_one_block(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x55\x48\x89\xe5\x48\x89\xf8\x5d\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.out.npatches, 1);
	patch_is(&s, 0, 0, 5, 0xe9);
	drop(&s);
}

/* xor %eax, %eax; ret, and padding */
static void test_padding(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x31\xc0\xc3", "\x90\x90" NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.out.npatches, 1);
	patch_is(&s, 0, 0, 5, 0xe9);
	drop(&s);
}

/* The same without: one byte of padding is too little, and the next function is not ours. */
static void test_no_room(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x31\xc0\xc3", "\x90" NEXT);
	assert_int_equal(plan(&s, EXIT), TRAMP_MIRROR_EXIT_SHORT);
	assert_int_equal(plan(&s, ENTRY), TRAMP_MIRROR_ENTRY_SHORT);
	drop(&s);
}

/* endbr64 stays: endbr64; lea 1(%rdi), %eax; add %esi, %eax; ret */
static void test_endbr(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xf3\x0f\x1e\xfa\x8d\x47\x01\x01\xf0\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.out.npatches, 1);
	patch_is(&s, 0, 4, 5, 0xe9);
	drop(&s);
}

/* mov (%rdi), %rax; test %rax, %rax; je far: its displacement is changed; jmp out */
static void test_tail_jcc(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x8b\x07\x48\x85\xc0\x0f\x84\x00\x10\x00\x00"
		  "\x48\x01\x07\x48\x01\x07\x48\x01\x07\x48\x01\x07\xe9\x00\x20\x00\x00", NEXT);
	mirror(&s, EXIT);
	assert_int_equal(s.plan.nretargeted, 1);
	assert_int_equal(s.out.npatches, 2);
	assert_int_equal(s.out.patches[0].off, 8);
	assert_int_equal(s.out.patches[0].len, 4);
	patch_is(&s, 1, 24, 5, 0xe9);
	drop(&s);
}

/*
 * push %rbx; mov %rdi, %rbx; add %rbx, 8(%rdi) twice; call; pop %rbx; ret: two bytes after the call, so
 * a short jump to a slot after the entry's window.
 */
static void test_slot(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x53\x48\x89\xfb\x48\x01\x5f\x08\x48\x01\x5f\x08\xe8\x00\x10\x00\x00\x5b\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nshort, 1);
	assert_int_equal(s.plan.nmoved_calls, 0);
	assert_int_equal(s.out.npatches, 3);
	patch_is(&s, 0, 0, 5, 0xe9);
	patch_is(&s, 1, 5, 5, 0xe9);
	patch_is(&s, 2, 17, 2, 0xeb);
	assert_int_equal((int8_t)s.out.patches[2].bytes[1], 5 - 19);
	drop(&s);
}

/*
 * cmp $130, %edi; jle 1f; mov (%rsi), %eax; ret; 1: mov %edi, (%rsi); inc %edi; call; inc %eax; ret: no block has
 * room for a slot, but two that nobody comes to any more have, together.
 */
static void test_slot_across(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x81\xff\x82\x00\x00\x00\x7e\x03\x8b\x06\xc3\x89\x3e\xff\xc7\xe8\x00\x10\x00\x00"
		  "\xff\xc0\xc3", NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_int_equal(s.plan.nshort, 1);
	assert_int_equal(s.plan.nmoved_calls, 0);
	assert_int_equal(s.out.npatches, 3);
	patch_is(&s, 0, 0, 5, 0xe9);
	patch_is(&s, 1, 8, 5, 0xe9);
	patch_is(&s, 2, 20, 2, 0xeb);
	assert_int_equal((int8_t)s.out.patches[2].bytes[1], 8 - 22);
	drop(&s);
}

/* push %rbx; mov %rdi, %rbx; call; pop %rbx; ret: no room but in the call, which is made by the copy */
static void test_moved_call(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x53\x48\x89\xfb\xe8\x00\x10\x00\x00\x48\x89\xc3\x48\x89\xc3\xe8\x00\x10\x00\x00\x5b\xc3",
	      NEXT);
	mirror(&s, ENTRY | EXIT);
	assert_true(s.plan.nmoved_calls > 0);
	drop(&s);
}

/* A loop back to the entry, by a short jump: 1: add %rax, (%rdi); inc %eax; dec %esi; jne 1b; ret */
static void test_back_to_entry(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x01\x07\xff\xc0\xff\xce\x75\xf7\xc3", "\x90\x90\x90\x90" NEXT);
	mirror(&s, ENTRY | EXIT);
	drop(&s);
}

/* mov $1, %ecx; 1: loop 1b; mov 16(%rip), %rax; ret: expanded and relocated */
static void test_moves(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\xb9\x01\x00\x00\x00\x48\x89\xc8\xe2\xfb\x48\x8b\x05\x10\x00\x00\x00\xc3", NEXT);
	mirror(&s, ENTRY | EXIT | TRAMP_MIRROR_WHOLE);
	assert_true(s.plan.whole);
	drop(&s);
}

static void test_sigreturn(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05", NEXT);
	assert_int_equal(plan(&s, ENTRY | EXIT), TRAMP_MIRROR_SIGRETURN);
	drop(&s);
}

/* mov %rdi, %rax; 1: jmp 1b */
static void test_never_leaves(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x48\x89\xf8\x48\x89\xf8\xeb\xfe", NEXT);
	assert_int_equal(plan(&s, ENTRY | EXIT), TRAMP_MIRROR_NEVER_LEAVES);
	drop(&s);
}

static void test_far(void **state)
{
	struct subject s;

	(void)state;
	BUILD(&s, "\x55\x48\x89\xe5\x48\x89\xf8\x5d\xc3", NEXT);
	assert_int_equal(plan(&s, ENTRY | EXIT), TRAMP_MIRROR_OK);
	assert_int_equal(tramp_mirror_emit(s.mirror, ADDRESS, ADDRESS + 0x100000000, s.buf, sizeof(s.buf),
					   &s.out), TRAMP_MIRROR_FAR);
	drop(&s);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_block),	cmocka_unit_test(test_padding),
		cmocka_unit_test(test_no_room),		cmocka_unit_test(test_endbr),
		cmocka_unit_test(test_tail_jcc),	cmocka_unit_test(test_slot),
		cmocka_unit_test(test_slot_across),
		cmocka_unit_test(test_moved_call),	cmocka_unit_test(test_back_to_entry),
		cmocka_unit_test(test_moves),		cmocka_unit_test(test_sigreturn),
		cmocka_unit_test(test_never_leaves),	cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
