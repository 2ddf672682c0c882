// SPDX-License-Identifier: GPL-3.0-or-later
/* tramp_emit_replay(): bytes in, bytes out, with the assembly beside them. */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "trampolines/trampoline.h"

#define BYTES(s) .code = (s), .avail = sizeof(s) - 1
#define REPLAY(s) .replay = (s), .len = sizeof(s) - 1

/*
 * The function is at 0x401000, its replay code at 0x501000. A displacement to a target is thus
 * 0x100000 smaller there, before the difference in place and length of the instruction.
 */
#define LOW_ADDR 0x401000ull
#define HIGH_ADDR 0x7f0000401000ull
#define DISTANCE 0x100000

struct relocated {
	const char *name;
	uint64_t addr;		/* 0 = LOW_ADDR */
	const char *code;
	size_t avail;
	size_t size;		/* 0 = all of it */
	const char *replay;
	size_t len;
};

// clang-format off
static const struct relocated cases[] = {
	{ "copied as they are",
	  BYTES("\x55\x48\x89\xe5\x53\xc3"),	// push %rbp; mov %rsp,%rbp; push %rbx; ret
	  REPLAY("\x55\x48\x89\xe5\x53"
		 "\xe9\xfb\xff\xef\xff") },	// jmp 0x401005
	{ "behind endbr64",
	  BYTES("\xf3\x0f\x1e\xfa"		// endbr64
		"\x48\x83\xec\x18\x31\xc0\xc3"),	// sub $0x18,%rsp; xor %eax,%eax; ret
	  REPLAY("\x48\x83\xec\x18\x31\xc0"
		 "\xe9\xff\xff\xef\xff") },	// jmp 0x40100a
	{ "push %rsp",
	  BYTES("\x54\xff\x34\x24\x90\xc3"),	// push %rsp; push (%rsp); nop; ret
	  REPLAY("\x54\xff\x34\x24\x90"
		 "\xe9\xfb\xff\xef\xff") },	// jmp 0x401005
	{ "RIP-relative load",
	  BYTES("\x48\x8b\x05\x10\x20\x00\x00\xc3"),	// mov 0x2010(%rip),%rax: 0x403017
	  REPLAY("\x48\x8b\x05\x10\x20\xf0\xff"
		 "\xe9\xfb\xff\xef\xff") },	// jmp 0x401007
	{ "RIP-relative lea, not the first",
	  BYTES("\x31\xc0"			// xor %eax,%eax
		"\x48\x8d\x3d\x10\x20\x00\x00\xc3"),	// lea 0x2010(%rip),%rdi
	  REPLAY("\x31\xc0\x48\x8d\x3d\x10\x20\xf0\xff"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative store, as destination",
	  BYTES("\x89\x3d\xf0\xff\xff\xff\xc3"),	// mov %edi,-0x10(%rip)
	  REPLAY("\x89\x3d\xf0\xff\xef\xff"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative with 8 bits of immediate",
	  BYTES("\x80\x3d\x10\x20\x00\x00\x07\xc3"),	// cmpb $7,0x2010(%rip)
	  REPLAY("\x80\x3d\x10\x20\xf0\xff\x07"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative with 16 bits of immediate",
	  BYTES("\x66\xc7\x05\x10\x20\x00\x00\x34\x12\xc3"),	// movw $0x1234,0x2010(%rip)
	  REPLAY("\x66\xc7\x05\x10\x20\xf0\xff\x34\x12"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative with 32 bits of immediate",
	  BYTES("\x48\xc7\x05\x10\x20\x00\x00\x78\x56\x34\x12\xc3"),	// movq $..,0x2010(%rip)
	  REPLAY("\x48\xc7\x05\x10\x20\xf0\xff\x78\x56\x34\x12"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative, VEX with immediate",
	  BYTES("\xc5\xf9\x70\x05\x10\x20\x00\x00\x1b\xc3"),	// vpshufd $27,0x2010(%rip),%xmm0
	  REPLAY("\xc5\xf9\x70\x05\x10\x20\xf0\xff\x1b"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative, VEX of 3 bytes",
	  BYTES("\xc4\xe2\x7d\x18\x05\x10\x20\x00\x00\xc3"),	// vbroadcastss 0x2010(%rip),%ymm0
	  REPLAY("\xc4\xe2\x7d\x18\x05\x10\x20\xf0\xff"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative, EVEX",
	  BYTES("\x62\xf1\x7c\x48\x28\x05\x10\x20\x00\x00\xc3"),	// vmovaps 0x2010(%rip),%zmm0
	  REPLAY("\x62\xf1\x7c\x48\x28\x05\x10\x20\xf0\xff"
		 "\xe9\xfb\xff\xef\xff") },
	{ "RIP-relative, of FS",
	  BYTES("\x64\x8b\x05\x10\x20\x00\x00\xc3"),	// mov %fs:0x2010(%rip),%eax
	  REPLAY("\x64\x8b\x05\x10\x20\xf0\xff"
		 "\xe9\xfb\xff\xef\xff") },
	{ "r13 is no RIP",
	  BYTES("\x49\x8b\x85\x10\x20\x00\x00\xc3"),	// mov 0x2010(%r13),%rax
	  REPLAY("\x49\x8b\x85\x10\x20\x00\x00"
		 "\xe9\xfb\xff\xef\xff") },
	{ "an absolute address is no RIP",
	  BYTES("\x8b\x04\x25\x10\x20\x00\x00\xc3"),	// mov 0x2010,%eax
	  REPLAY("\x8b\x04\x25\x10\x20\x00\x00"
		 "\xe9\xfb\xff\xef\xff") },
	{ "thunk",
	  BYTES("\xe9\xfb\x0f\x00\x00"),		// jmp 0x402000
	  REPLAY("\xe9\xfb\x0f\xf0\xff") },
	{ "thunk, short",
	  BYTES("\xeb\x20\xcc\xcc\xcc"), .size = 2,	// jmp 0x401022
	  REPLAY("\xe9\x1d\x00\xf0\xff") },
	{ "thunk, bnd",
	  BYTES("\xf2\xe9\xfa\x0f\x00\x00"),		// bnd jmp 0x402000
	  REPLAY("\xe9\xfb\x0f\xf0\xff") },
	{ "thunk through a pointer",
	  BYTES("\xff\x25\x10\x20\x00\x00"),		// jmp *0x2010(%rip)
	  REPLAY("\xff\x25\x10\x20\xf0\xff") },
	{ "thunk through a pointer, bnd",
	  BYTES("\xf2\xff\x25\x10\x20\x00\x00"),	// bnd jmp *0x2010(%rip)
	  REPLAY("\xf2\xff\x25\x10\x20\xf0\xff") },
	{ "je short",
	  BYTES("\x85\xff\x74\x20\x53\xc3"),	// test %edi,%edi; je 0x401024; push %rbx; ret
	  REPLAY("\x85\xff"
		 "\x0f\x84\x1c\x00\xf0\xff"	// je 0x401024
		 "\x53"
		 "\xe9\xf7\xff\xef\xff") },	// jmp 0x401005
	{ "jg near",
	  BYTES("\x0f\x8f\x10\x20\x00\x00\xc3"),	// jg 0x403016
	  REPLAY("\x0f\x8f\x10\x20\xf0\xff"
		 "\xe9\xfb\xff\xef\xff") },
	{ "jne short with a hint",
	  BYTES("\x3e\x75\x20\x90\x90\xc3"),	// jne,pt 0x401023
	  REPLAY("\x0f\x85\x1d\x00\xf0\xff\x90\x90"
		 "\xe9\xf8\xff\xef\xff") },
	{ "jrcxz",
	  BYTES("\xe3\x20\x90\x90\x90\xc3"),	// jrcxz 0x401022
	  REPLAY("\xe3\x02"			// jrcxz 1f
		 "\xeb\x05"			// jmp 2f
		 "\xe9\x19\x00\xf0\xff"		// 1: jmp 0x401022
		 "\x90\x90\x90"			// 2:
		 "\xe9\xf4\xff\xef\xff") },	// jmp 0x401005
	{ "jecxz",
	  BYTES("\x67\xe3\x20\x90\x90\xc3"),	// jecxz 0x401023
	  REPLAY("\x67\xe3\x02\xeb\x05\xe9\x19\x00\xf0\xff\x90\x90"
		 "\xe9\xf4\xff\xef\xff") },
	{ "loop, loope, loopne",
	  BYTES("\xe2\x20\xe1\x20\xe0\x20\xc3"),	// to 0x401022, 24, 26
	  REPLAY("\xe2\x02\xeb\x05\xe9\x19\x00\xf0\xff"
		 "\xe1\x02\xeb\x05\xe9\x12\x00\xf0\xff"
		 "\xe0\x02\xeb\x05\xe9\x0b\x00\xf0\xff"
		 "\xe9\xe6\xff\xef\xff") },	// jmp 0x401006
	{ "call, the return address fits an immediate",
	  BYTES("\xe8\xfb\x0f\x00\x00\xc3"),	// call 0x402000
	  REPLAY("\x68\x05\x10\x40\x00"		// push $0x401005
		 "\xe9\xf6\x0f\xf0\xff") },	// jmp 0x402000
	{ "call, the return address needs a slot", .addr = HIGH_ADDR,
	  BYTES("\xe8\xfb\x0f\x00\x00\xc3"),	// call 0x7f0000402000
	  REPLAY("\xff\x35\x0a\x00\x00\x00"	// push 1f(%rip)
		 "\xe9\xf5\x0f\xf0\xff"		// jmp 0x7f0000402000
		 "\xcc\xcc\xcc\xcc\xcc"
		 "\x05\x10\x40\x00\x00\x7f\x00\x00") },	// 1: .quad 0x7f0000401005
	{ "call behind a push",
	  BYTES("\x50\xe8\xfa\x0f\x00\x00\xc3"),	// push %rax; call 0x402000
	  REPLAY("\x50\x68\x06\x10\x40\x00"	// push $0x401006
		 "\xe9\xf5\x0f\xf0\xff") },
	{ "call with REX.W over the prefix 66",
	  BYTES("\x66\x66\x48\xe8\xf8\x0f\x00\x00\xc3"),	// call 0x402000
	  REPLAY("\x68\x08\x10\x40\x00"
		 "\xe9\xf6\x0f\xf0\xff") },
	{ "call *pointer(%rip)",
	  BYTES("\xff\x15\x10\x20\x00\x00\xc3"),	// call *0x2010(%rip): 0x403016
	  REPLAY("\x68\x06\x10\x40\x00"
		 "\xff\x25\x0b\x20\xf0\xff") },		// jmp *0x403016
	{ "call *%r11",
	  BYTES("\x50\x50\x41\xff\xd3\xc3"),	// push %rax, %rax; call *%r11
	  REPLAY("\x50\x50\x68\x05\x10\x40\x00"
		 "\x41\xff\xe3") },		// jmp *%r11
	{ "call *%r12, whose low bits are those of RSP",
	  BYTES("\x50\x50\x41\xff\xd4\xc3"),	// call *%r12
	  REPLAY("\x50\x50\x68\x05\x10\x40\x00"
		 "\x41\xff\xe4") },		// jmp *%r12
	{ "call *8(%rax,%rbx,2), notrack",
	  BYTES("\x3e\xff\x54\x58\x08\xc3"),	// notrack call *8(%rax,%rbx,2)
	  REPLAY("\x68\x05\x10\x40\x00"
		 "\x3e\xff\x64\x58\x08") },
	{ "call *(%rsp)",
	  BYTES("\x50\x50\xff\x14\x24\xc3"),	// call *(%rsp)
	  REPLAY("\x50\x50\x68\x05\x10\x40\x00"
		 "\xff\x64\x24\x08") },		// jmp *8(%rsp)
	{ "call *0x10(%rsp,%rax,8)",
	  BYTES("\x90\xff\x54\xc4\x10\xc3"),	// call *0x10(%rsp,%rax,8)
	  REPLAY("\x90\x68\x05\x10\x40\x00"
		 "\xff\x64\xc4\x18") },		// jmp *0x18(%rsp,%rax,8)
	{ "call *0x77(%rsp), the last that stays short",
	  BYTES("\x90\xff\x54\x24\x77\xc3"),
	  REPLAY("\x90\x68\x05\x10\x40\x00"
		 "\xff\x64\x24\x7f") },		// jmp *0x7f(%rsp)
	{ "call *0x78(%rsp) grows",
	  BYTES("\x90\xff\x54\x24\x78\xc3"),
	  REPLAY("\x90\x68\x05\x10\x40\x00"
		 "\xff\xa4\x24\x80\x00\x00\x00") },	// jmp *0x80(%rsp)
	{ "call *0x1000(%rsp)",
	  BYTES("\xff\x94\x24\x00\x10\x00\x00\xc3"),
	  REPLAY("\x68\x07\x10\x40\x00"
		 "\xff\xa4\x24\x08\x10\x00\x00") },	// jmp *0x1008(%rsp)
	{ "call *8(%r12), whose low bits are those of RSP",
	  BYTES("\x41\xff\x54\x24\x08\xc3"),
	  REPLAY("\x68\x05\x10\x40\x00"
		 "\x41\xff\x64\x24\x08") },		// jmp *8(%r12)
	{ "ret and padding",
	  BYTES("\x31\xc0\xc3\x66\x90"), .size = 3,	// xor %eax,%eax; ret
	  REPLAY("\x31\xc0\xc3") },
	{ "falls into the next function",
	  BYTES("\x31\xc0\x0f\x1f\x00\xc3"), .size = 2,	// xor %eax,%eax; nopl (%rax) | ret
	  REPLAY("\x31\xc0\x0f\x1f\x00"
		 "\xe9\xfb\xff\xef\xff") },
};
// clang-format on

static struct tramp_plan plan_of(const struct relocated *c)
{
	struct tramp_function fn = {
		.addr = c->addr ? c->addr : LOW_ADDR,
		.code = (const uint8_t *)c->code,
		.avail = c->avail,
		.size = c->size ? c->size : c->avail,
	};
	struct tramp_plan plan;

	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	return plan;
}

static uint64_t replay_addr_of(const struct tramp_plan *plan)
{
	return plan->addr + DISTANCE;
}

static void test_bytes(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tramp_plan plan = plan_of(&cases[i]);
		uint8_t replay[TRAMP_REPLAY_MAX];
		size_t len;

		print_message("    %s\n", cases[i].name);
		assert_int_equal(tramp_emit_replay(&plan, replay_addr_of(&plan), replay,
						   sizeof(replay), &len), TRAMP_OK);
		assert_int_equal(len, cases[i].len);
		assert_memory_equal(replay, cases[i].replay, len);
		assert_int_equal(tramp_replay_size(&plan), len);
	}
}

/* With one byte less than needed nothing is written after the room, and it is said. */
static void test_no_room(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tramp_plan plan = plan_of(&cases[i]);
		uint8_t replay[TRAMP_REPLAY_MAX];
		size_t len;

		for (size_t room = 0; room < cases[i].len; room++) {
			memset(replay, 0x5a, sizeof(replay));
			assert_int_equal(tramp_emit_replay(&plan, replay_addr_of(&plan), replay,
							   room, &len), TRAMP_NO_ROOM);
			for (size_t at = room; at < sizeof(replay); at++)
				assert_int_equal(replay[at], 0x5a);
		}
	}
}

/* Whatever is relative is out of reach 2 GiB away, and only that. */
static void test_far(void **state)
{
	static const uint64_t reach = 0x7fff0000, beyond = 0x80010000;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tramp_plan plan = plan_of(&cases[i]);
		uint8_t replay[TRAMP_REPLAY_MAX];
		bool absolute = strcmp(cases[i].name, "ret and padding") == 0 ||
				strncmp(cases[i].name, "call *", 6) == 0;
		size_t len;

		if (strstr(cases[i].name, "(%rip)"))
			absolute = false;
		assert_int_equal(tramp_emit_replay(&plan, plan.addr + reach, replay,
						   sizeof(replay), &len), TRAMP_OK);
		assert_int_equal(tramp_emit_replay(&plan, plan.addr + beyond, replay,
						   sizeof(replay), &len),
				 absolute ? TRAMP_OK : TRAMP_FAR);
	}
}

static void test_program_counters(void **state)
{
	static const struct relocated jumpy = {
		BYTES("\x85\xff\x74\x20\x53\xc3")	// as "je short": at 0, 2, 4; in replay 0, 2, 8
	};
	struct tramp_plan plan = plan_of(&jumpy);
	uint64_t to = replay_addr_of(&plan), from = plan.patch_addr;
	static const int forward[] = { 0, -1, 2, -1, 8, -1 };

	(void)state;
	for (size_t i = 0; i < sizeof(forward) / sizeof(*forward); i++)
		assert_int_equal(tramp_pc_to_replay(&plan, to, from + i),
				 forward[i] < 0 ? 0 : to + (uint64_t)forward[i]);
	assert_int_equal(tramp_pc_to_replay(&plan, to, from - 1), 0);
}

static void test_second_decoder(void **state)
{
	struct tramp_checker *checker = tramp_checker_new();
	size_t offset = 99;

	(void)state;
	assert_non_null(checker);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct tramp_plan plan = plan_of(&cases[i]);
		enum tramp_agreement said = tramp_check_boundaries(checker, &plan, &offset);

#ifdef HAVE_OPCODES
		assert_int_equal(said, TRAMP_AGREE);
		assert_int_equal(offset, 99);
		said = tramp_check_boundaries(checker, &plan, &offset);	/* from memory */
		assert_int_equal(said, TRAMP_AGREE);
#else
		assert_int_equal(said, TRAMP_NO_SECOND);
#endif
	}
	tramp_checker_free(checker);
}

#ifdef HAVE_OPCODES
static void test_disagreement(void **state)
{
	struct tramp_checker *checker = tramp_checker_new();
	struct tramp_plan plan = plan_of(&cases[0]);
	size_t offset = 99;

	(void)state;
	plan.insns[1].length = 2;	/* mov %rsp,%rbp has 3 */
	assert_int_equal(tramp_check_boundaries(checker, &plan, &offset), TRAMP_DISAGREE);
	assert_int_equal(offset, 1);
	plan = plan_of(&cases[0]);
	plan.original[4] = 0x06;	/* push %es, not in 64 bits; also 1 byte */
	assert_int_equal(tramp_check_boundaries(checker, &plan, &offset), TRAMP_DISAGREE);
	assert_int_equal(offset, 4);
	tramp_checker_free(checker);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_program_counters),
		cmocka_unit_test(test_second_decoder),
#ifdef HAVE_OPCODES
		cmocka_unit_test(test_disagreement),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
