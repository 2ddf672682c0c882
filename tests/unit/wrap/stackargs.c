// SPDX-License-Identifier: GPL-3.0-or-later
/* Stack arguments that a function reads: bytes in, with the assembly beside them, and a number out. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trampolines/wrap/stackargs.h"

#define CODE(s) .code = (s), .len = sizeof(s) - 1
#define UNKNOWN UINT64_MAX

struct args_case {
	const char *name;
	const char *code;
	size_t len;
	size_t pushed;	/* offset from which on rbp has been pushed, and is the frame pointer */
	uint64_t bytes; /* UNKNOWN: it cannot be seen */
};

#define NEVER SIZE_MAX

// clang-format off
static const struct args_case cases[] = {
	{ "none", CODE("\x48\x8d\x47\x01"		// lea 1(%rdi),%rax
		       "\xc3"), NEVER, 0 },		// ret
	{ "the first", CODE("\x48\x8b\x44\x24\x08"	// mov 8(%rsp),%rax
			    "\xc3"), NEVER, 8 },
	{ "the third", CODE("\x48\x8b\x44\x24\x18\xc3"), NEVER, 24 },
	{ "a part of one", CODE("\x8b\x44\x24\x0c\xc3"), NEVER, 8 },	// mov 12(%rsp),%eax
	{ "a long double", CODE("\xdb\x6c\x24\x08\xc3"), NEVER, 10 },	// fldt 8(%rsp)
	{ "pushed", CODE("\xff\x74\x24\x10\x58\xc3"), NEVER, 16 },	// push 16(%rsp); pop %rax
	{ "by the frame pointer", CODE("\x55"			// push %rbp
				       "\x48\x8b\x45\x10"	// mov 16(%rbp),%rax
				       "\x48\x8b\x4d\xf8"	// mov -8(%rbp),%rcx
				       "\xc9\xc3"), 1, 8 },
	{ "the address of one", CODE("\x4c\x8d\x54\x24\x08\xc3"), NEVER, UNKNOWN },	// lea 8(%rsp),%r10
	{ "an array of them", CODE("\x48\x8b\x44\xc4\x08\xc3"), NEVER, UNKNOWN },	// mov 8(%rsp,%rax,8),%rax
	{ "a tail call", CODE("\xff\x25\x00\x00\x00\x00"), NEVER, UNKNOWN },		// jmp *(%rip)
	{ "a tail call and another", CODE("\xff\x15\x00\x00\x00\x00"			// call *(%rip)
					  "\xff\x25\x00\x00\x00\x00"), NEVER, 0 },
	{ "a branch within", CODE("\x75\x01\xc3\xc3"), NEVER, 0 },			// jne 1f; ret; 1: ret
	{ "a branch elsewhere", CODE("\x75\x7f\xc3"), NEVER, UNKNOWN },
	{ "no instruction", CODE("\x06\xc3"), NEVER, UNKNOWN },
	{ "one that is cut off", CODE("\x48\x8b"), NEVER, UNKNOWN },
};
// clang-format on

static bool cfa(void *arg, size_t off, bool *frame, int64_t *offset)
{
	const struct args_case *c = arg;

	*frame = off >= c->pushed;
	*offset = *frame ? 16 : 8;
	return true;
}

static bool no_cfa(void *arg, size_t off, bool *frame, int64_t *offset)
{
	(void)arg;
	(void)frame;
	(void)offset;
	(void)off;
	return false;
}

static void test_cases(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint64_t bytes = 0;
		bool known = tramp_stack_args((const uint8_t *)cases[i].code, cases[i].len, cfa, (void *)(uintptr_t)&cases[i], &bytes);

		if ((known ? bytes : UNKNOWN) != cases[i].bytes)
			fail_msg("%s: %d, %llu bytes", cases[i].name, known, (unsigned long long)bytes);
	}
}

static void test_no_table(void **state)
{
	uint64_t bytes;

	(void)state;
	assert_false(tramp_stack_args((const uint8_t *)"\xc3", 1, no_cfa, NULL, &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
