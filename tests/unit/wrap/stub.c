// SPDX-License-Identifier: GPL-3.0-or-later
/* Stubs, jumps and patches: bytes out, with the assembly beside them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trampolines/trampoline.h"

#define STUB 0x7f0000500000ull
#define NEAR_WRAPPER (STUB + 0x1000)
#define NEAR_GATE (STUB - 0x1000)
#define NEAR_DESC (STUB + 0x2000)
#define FAR_WRAPPER 0x0000555555554000ull
#define FAR_GATE 0x0000555566664000ull
#define FAR_DESC 0x0000555577774000ull
#define OUT(s) .code = (s), .len = sizeof(s) - 1

struct stub_case {
	const char *name;
	struct tramp_stub stub;
	const char *code;
	size_t len;
};

// clang-format off
#define HEAD "\x64\x4c\x8b\x1c\x25\x00\x00\x00\x00"	/* mov %fs:0,%r11 */	\
	     "\x65\x4c\x3b\x1c\x25\x18\x00\x00\x00"	/* cmp %gs:0x18,%r11 */

static const struct stub_case stubs[] = {
	{ "all near",
	  { NEAR_WRAPPER, NEAR_GATE, NEAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0, 0, 0 },
	  OUT(HEAD
	      "\x75\x05"				// jne 1f
	      "\xe9\xe7\x0f\x00\x00"			// jmp wrapper
	      "\x4c\x8d\x1d\xe0\x1f\x00\x00"		// 1: lea desc(%rip),%r11
	      "\xe9\xdb\xef\xff\xff") },		// jmp gate
	{ "the descriptor is a small number",
	  { NEAR_WRAPPER, NEAR_GATE, 0xfffffffe, 0x18, TRAMP_ID_FS_ZERO, 0, 0, 0 },
	  OUT(HEAD
	      "\x75\x05"				// jne 1f
	      "\xe9\xe7\x0f\x00\x00"			// jmp wrapper
	      "\x41\xbb\xfe\xff\xff\xff"		// 1: mov $0xfffffffe,%r11d
	      "\xe9\xdc\xef\xff\xff") },		// jmp gate
	{ "a far wrapper",
	  { FAR_WRAPPER, NEAR_GATE, NEAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0, 0, 0 },
	  OUT(HEAD
	      "\x75\x06"				// jne 1f
	      "\xff\x25\x0e\x00\x00\x00"		// jmp *2f(%rip)
	      "\x4c\x8d\x1d\xdf\x1f\x00\x00"		// 1: lea desc(%rip),%r11
	      "\xe9\xda\xef\xff\xff"			// jmp gate
	      "\xcc\xcc"
	      "\x00\x40\x55\x55\x55\x55\x00\x00") },	// 2: .quad wrapper
	{ "a far gate",
	  { NEAR_WRAPPER, FAR_GATE, NEAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0, 0, 0 },
	  OUT(HEAD
	      "\x75\x05"				// jne 1f
	      "\xe9\xe7\x0f\x00\x00"			// jmp wrapper
	      "\x4c\x8d\x1d\xe0\x1f\x00\x00"		// 1: lea desc(%rip),%r11
	      "\xff\x25\x02\x00\x00\x00"		// jmp *2f(%rip)
	      "\xcc\xcc"
	      "\x00\x40\x66\x66\x55\x55\x00\x00") },	// 2: .quad gate
	{ "all far",
	  { FAR_WRAPPER, FAR_GATE, FAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0, 0, 0 },
	  OUT(HEAD
	      "\x75\x06"				// jne 1f
	      "\xff\x25\x16\x00\x00\x00"		// jmp *2f(%rip)
	      "\x49\xbb\x00\x40\x77\x77\x55\x55\x00\x00" // 1: movabs $desc,%r11
	      "\xff\x25\x0e\x00\x00\x00"		// jmp *3f(%rip)
	      "\xcc\xcc\xcc\xcc\xcc\xcc"
	      "\x00\x40\x55\x55\x55\x55\x00\x00"	// 2: .quad wrapper
	      "\x00\x40\x66\x66\x55\x55\x00\x00") },	// 3: .quad gate
	{ "recording can be off",
	  { NEAR_WRAPPER, NEAR_GATE, NEAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0x123456789abcdef0, STUB + 0x3000, 0 },
	  OUT("\x49\xbb\xf0\xde\xbc\x9a\x78\x56\x34\x12"	// movabs $off,%r11
	      "\x49\x83\x3b\x00"			// cmpq $0,(%r11)
	      "\x75\x25"				// jne 2f
	      HEAD
	      "\x75\x05"				// jne 1f
	      "\xe9\xd7\x0f\x00\x00"			// jmp wrapper
	      "\x4c\x8d\x1d\xd0\x1f\x00\x00"		// 1: lea desc(%rip),%r11
	      "\xe9\xcb\xef\xff\xff"			// jmp gate
	      "\xe9\xc6\x2f\x00\x00") },		// 2: jmp replay
	{ "the same, all far",
	  { FAR_WRAPPER, FAR_GATE, FAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0x123456789abcdef0, FAR_DESC + 0x1000, 0 },
	  OUT("\x49\xbb\xf0\xde\xbc\x9a\x78\x56\x34\x12"	// movabs $off,%r11
	      "\x49\x83\x3b\x00"			// cmpq $0,(%r11)
	      "\x75\x2a"				// jne 2f
	      HEAD
	      "\x75\x06"				// jne 1f
	      "\xff\x25\x16\x00\x00\x00"		// jmp *3f(%rip)
	      "\x49\xbb\x00\x40\x77\x77\x55\x55\x00\x00" // 1: movabs $desc,%r11
	      "\xff\x25\x0e\x00\x00\x00"		// jmp *4f(%rip)
	      "\xff\x25\x10\x00\x00\x00"		// 2: jmp *5f(%rip)
	      "\x00\x40\x55\x55\x55\x55\x00\x00"	// 3: .quad wrapper
	      "\x00\x40\x66\x66\x55\x55\x00\x00"	// 4: .quad gate
	      "\x00\x50\x77\x77\x55\x55\x00\x00") },	// 5: .quad replay
	{ "recording can be confined",
	  { NEAR_WRAPPER, NEAR_GATE, NEAR_DESC, 0x18, TRAMP_ID_FS_ZERO, 0, STUB + 0x3000, 0x178 },
	  OUT("\x65\x48\x83\x3c\x25\x78\x01\x00\x00\x00"	// cmpq $0,%gs:0x178
	      "\x74\x30"				// je 2f
	      HEAD
	      "\x75\x10"				// jne 1f
	      "\x65\x48\x3b\x24\x25\x78\x01\x00\x00"	// cmp %gs:0x178,%rsp
	      "\x73\x05"				// jae 1f
	      "\xe9\xd0\x0f\x00\x00"			// jmp wrapper
	      "\x4c\x8d\x1d\xc9\x1f\x00\x00"		// 1: lea desc(%rip),%r11
	      "\xe9\xc4\xef\xff\xff"			// jmp gate
	      "\xe9\xbf\x2f\x00\x00") },		// 2: jmp replay
	{ "rdfsbase",
	  { NEAR_WRAPPER, NEAR_GATE, 7, -8, TRAMP_ID_FSBASE, 0, 0, 0 },
	  OUT("\xf3\x49\x0f\xae\xc3"			// rdfsbase %r11
	      "\x65\x4c\x3b\x1c\x25\xf8\xff\xff\xff"	// cmp %gs:-8,%r11
	      "\x75\x05"				// jne 1f
	      "\xe9\xeb\x0f\x00\x00"			// jmp wrapper
	      "\x41\xbb\x07\x00\x00\x00"		// 1: mov $7,%r11d
	      "\xe9\xe0\xef\xff\xff") },		// jmp gate
};
// clang-format on

static void test_stubs(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(stubs) / sizeof(*stubs); i++) {
		const struct stub_case *c = &stubs[i];
		uint8_t code[TRAMP_STUB_MAX];
		size_t len;

		print_message("    %s\n", c->name);
		assert_int_equal(tramp_emit_stub(&c->stub, STUB, code, sizeof(code), &len),
				 TRAMP_OK);
		assert_int_equal(len, c->len);
		assert_memory_equal(code, c->code, len);
		assert_int_equal(tramp_emit_stub(&c->stub, STUB, code, c->len - 1, &len),
				 TRAMP_NO_ROOM);
	}
}

/* Reach is counted from the end of each jump: at the very edges, and one byte beyond. */
static void test_edges_of_reach(void **state)
{
	static const struct {
		int64_t rel;	/* from the end of a jmp at STUB */
		size_t len;
	} edges[] = {
		{ INT32_MAX, 5 }, { INT32_MAX + 1ll, 16 }, { INT32_MIN, 5 }, { INT32_MIN - 1ll, 16 }
	};
	uint8_t code[TRAMP_JUMP_STUB_MAX];
	size_t len;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		uint64_t target = STUB + 5 + (uint64_t)edges[i].rel;

		assert_int_equal(tramp_emit_jump(STUB, target, code, sizeof(code), &len), TRAMP_OK);
		assert_int_equal(len, edges[i].len);
	}
}

static void test_jumps(void **state)
{
	static const char near[] = "\xe9\xfb\x0f\x00\x00";	// jmp STUB + 0x1000
	static const char far[] = "\xff\x25\x02\x00\x00\x00"	// jmp *1f(%rip)
				  "\xcc\xcc"
				  "\x00\x40\x55\x55\x55\x55\x00\x00";	// 1: .quad FAR_WRAPPER
	uint8_t code[TRAMP_JUMP_STUB_MAX];
	size_t len;

	(void)state;
	assert_int_equal(tramp_emit_jump(STUB, NEAR_WRAPPER, code, sizeof(code), &len), TRAMP_OK);
	assert_int_equal(len, sizeof(near) - 1);
	assert_memory_equal(code, near, len);
	assert_int_equal(tramp_emit_jump(STUB, FAR_WRAPPER, code, sizeof(code), &len), TRAMP_OK);
	assert_int_equal(len, sizeof(far) - 1);
	assert_memory_equal(code, far, len);
	assert_int_equal(tramp_emit_jump(STUB, FAR_WRAPPER, code, 15, &len), TRAMP_NO_ROOM);
	assert_int_equal(tramp_emit_jump(STUB, NEAR_WRAPPER, code, 4, &len), TRAMP_NO_ROOM);
}

static struct tramp_plan plan_with(uint8_t patch_len)
{
	return (struct tramp_plan){ .addr = STUB, .patch_addr = STUB + 4, .patch_len = patch_len };
}

static void test_patches(void **state)
{
	uint8_t patch[TRAMP_PATCH_MAX + 1];

	(void)state;
	for (uint8_t len = TRAMP_JUMP_SIZE; len <= TRAMP_PATCH_MAX; len++) {
		struct tramp_plan plan = plan_with(len);
		size_t at = TRAMP_JUMP_SIZE;

		memset(patch, 0x5a, sizeof(patch));
		assert_int_equal(tramp_emit_patch(&plan, STUB + 0x1009, patch), TRAMP_OK);
		assert_memory_equal(patch, "\xe9\x00\x10\x00\x00", TRAMP_JUMP_SIZE);
		assert_int_equal(patch[len], 0x5a);
		while (at < len) {	/* whole nops, up to the end */
			size_t length = tramp_insn_length(patch + at, len - at);

			assert_int_not_equal(length, 0);
			at += length;
		}
	}
}

static void test_patch_far(void **state)
{
	struct tramp_plan plan = plan_with(5);
	uint8_t patch[TRAMP_PATCH_MAX];

	(void)state;
	assert_int_equal(tramp_emit_patch(&plan, plan.patch_addr + 5 + INT32_MAX, patch), TRAMP_OK);
	assert_int_equal(tramp_emit_patch(&plan, plan.patch_addr + 6 + INT32_MAX, patch),
			 TRAMP_FAR);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stubs),
		cmocka_unit_test(test_edges_of_reach),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_patches),
		cmocka_unit_test(test_patch_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
