// SPDX-License-Identifier: GPL-3.0-or-later
/* Small functions, one for each way to place a jump or to move an instruction: bytes in, patches out. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/mirror_walk.h"

#define ADDRESS 0x401000ull
#define ARENA 0x500000ull
#define ENTRY TRAMP_MIRROR_ENTRY
#define EXIT TRAMP_MIRROR_EXIT

/* The function's code, and what comes behind it: another one, unless it is padding. */
struct subject {
	uint8_t bytes[256];
	size_t size, len;
	struct tramp_bytes map;
	struct tramp_fn fns[2];
	struct tramp_facts facts;
	struct tramp_code *code;
	struct tramp_mirror *mirror;
	struct tramp_mirror_plan plan;
	struct tramp_mirror_code out;
	uint8_t buf[16384];
};

static const struct tramp_probe_env env = {
	.mode = TRAMP_PROBE_RECORD, .id = TRAMP_ID_FS_ZERO, .ptr = 8, .room = 16, .gate = 0x10000,
};

static void build(struct subject *s, const void *code, size_t size, const void *behind, size_t more)
{
	size_t padding = 0;

	memset(s, 0, sizeof(*s));
	memcpy(s->bytes, code, size);
	memcpy(s->bytes + size, behind, more);
	while (padding < more && (s->bytes[size + padding] == 0x90 || s->bytes[size + padding] == 0xcc))
		padding++;
	s->size = size;
	s->len = size + more;
	s->map = (struct tramp_bytes){ .addr = ADDRESS, .bytes = s->bytes, .len = s->len, .code = true };
	s->fns[0] = (struct tramp_fn){ ADDRESS, size, TRAMP_FN_FRAMED, TRAMP_NONE };
	s->fns[1] = (struct tramp_fn){ ADDRESS + size + padding, more - padding, TRAMP_FN_FRAMED,
				       TRAMP_NONE };
	s->facts = (struct tramp_facts){ .bytes = &s->map, .nbytes = 1, .fns = s->fns, .nfns = 2 };
	assert_int_equal(tramp_code_new(&s->facts, &s->code), TRAMP_CODE_OK);
	s->mirror = tramp_mirror_new(s->code, &env, NULL);
	assert_non_null(s->mirror);
}

static void drop(struct subject *s)
{
	tramp_mirror_free(s->mirror);
	tramp_code_free(s->code);
}

static enum tramp_mirror_status plan(struct subject *s, unsigned int want)
{
	struct tramp_mirror_request req = { .fn = 0, .want = want, .enter = 2, .leave = 3 };

	return tramp_mirror_plan(s->mirror, &req, &s->plan);
}

static void mirror(struct subject *s, unsigned int want)
{
	struct tramp_mirror_request req = { .fn = 0, .want = want, .enter = 2, .leave = 3 };
	struct tramp_flow flow = { 0 };
	struct mirror_subject walk = { s->code, &flow, &req, ARENA, s->buf, &s->out, NULL };
	const char *wrong;
	uint64_t where;
	size_t n;

	assert_int_equal(plan(s, want), TRAMP_MIRROR_OK);
	assert_true(tramp_mirror_room(s->mirror) <= sizeof(s->buf));
	assert_int_equal(tramp_mirror_emit(s->mirror, ADDRESS, ARENA, s->buf, sizeof(s->buf), &s->out),
			 TRAMP_MIRROR_OK);
	assert_int_equal(tramp_flow_build(&flow, s->code, 0), TRAMP_CODE_OK);
	walk.probes = tramp_mirror_probes(s->mirror, &n);
	wrong = mirror_walk(&walk, &where);
	if (wrong)
		fail_msg("%s at %#lx", wrong, (unsigned long)where);
	tramp_flow_free(&flow);
}

static void patch_is(const struct subject *s, size_t i, uint32_t off, uint8_t len, uint8_t first)
{
	assert_true(i < s->out.npatches);
	assert_int_equal(s->out.patches[i].off, off);
	assert_int_equal(s->out.patches[i].len, len);
	assert_int_equal(s->out.patches[i].bytes[0], first);
}

#define NEXT "\x31\xc0\xc3"	/* xor %eax, %eax; ret */
#define BUILD(s, code, behind) build(s, code, sizeof(code) - 1, behind, sizeof(behind) - 1)

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
 * push %rbx; mov %rdi, %rbx; add %rbx, 8(%rdi) twice; call; pop %rbx; ret: two bytes behind the call, so
 * a short jump to a slot behind the entry's window.
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
		cmocka_unit_test(test_moved_call),	cmocka_unit_test(test_back_to_entry),
		cmocka_unit_test(test_moves),		cmocka_unit_test(test_sigreturn),
		cmocka_unit_test(test_never_leaves),	cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
