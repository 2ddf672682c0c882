// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Runs functions as they are, then patched and through their replay code, and compares everything
 * they leave behind: registers, flags, the stack with all that is above and below its pointer, and
 * the memory around them. Then the whole chain: patch, stub, wrapper, replay code.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <asm/hwcap2.h>
#include <asm/prctl.h>

#include <cmocka.h>

#include "tests/unit/wrap/machine.h"
#include "trampolines/trampoline.h"

/*
 * A case is a function and what it needs beside it: `rest`, which begins with a function to be
 * called. It finds the address of that in r14, in memory at r13 and in every stack slot above RSP.
 */
#define CASE(name, body, rest)							\
	extern const uint8_t case_##name[], case_##name##_rest[], case_##name##_end[];	\
	asm(".pushsection .text\n"						\
	    "	.balign	16\n"							\
	    "case_" #name ":\n" body						\
	    "case_" #name "_rest:\n" rest					\
	    "	.balign	8\n"							\
	    "case_" #name "_end:\n"						\
	    ".popsection\n")

/* Notes its return address, a register and a flag, so that calls are seen to happen and where. */
#define CALLEE									\
	"	mov	(%rsp), %r12\n"						\
	"	lea	7(%rbx,%rcx), %rbx\n"					\
	"	ret\n"

CASE(plain, "push %rbp; mov %rsp, %rbp; push %rbx; sub %rdi, %rax; leave; ret\n", "");
CASE(endbr, "endbr64; sub $24, %rsp; adc %rdi, %rax; lea 24(%rsp), %rsp; ret\n", "");
CASE(push_rsp, "push %rsp; push (%rsp); pop %rdx; pop %rax; cmp %rax, %rdx; ret\n", "");
CASE(flags, "pushf; pop %rax; cmc; setc %dl; sahf; ret\n", "");
CASE(movabs, "movabs $0x123456789abcdef0, %rax; add %rdi, %rax; ret\n", "");
CASE(xchg, "lock; xadd %rcx, (%r13); xchg %rdx, 8(%r13); ret\n", "");
CASE(rip_load, "mov 1f(%rip), %rax; add %rdi, %rax; ret\n", "ret; 1: .quad 0x5566778811223344\n");
CASE(rip_cmp8, "cmpb $7, 1f(%rip); setg %al; ret\n", "ret; 1: .byte 9\n");
CASE(rip_cmp32, "xor %ecx, %ecx; cmpl $0x12345678, 1f(%rip); seta %al; ret\n",
     "ret; 1: .long 0x12345678\n");
CASE(rip_store, "mov %rdi, 1f(%rip); ret\n", "ret; 1: .quad 0\n");
CASE(rip_store_imm, "movq $-5, 1f(%rip); ret\n", "ret; 1: .quad 0\n");
CASE(rip_inc, "incl 1f(%rip); ret\n", "ret; 1: .long -1\n");
CASE(rip_lea, "nop; lea 1f(%rip), %rax; mov (%rax), %rdx; ret\n", "ret; 1: .quad 77\n");
CASE(rip_sse, "movdqu 1f(%rip), %xmm0; ret\n", "ret; 1: .quad 1, 2\n");
CASE(rip_push, "push 1f(%rip); pop %rax; ret\n", "ret; 1: .quad 42\n");
CASE(self_lea, "lea case_self_lea(%rip), %rax; ret\n", "");
CASE(je, "test $1, %dil; je 1f; mov $5, %eax; ret; 1: mov $6, %eax; ret\n", "");
CASE(jcc_first, "jc 1f; nop; nop; nop; inc %rax; ret; 1: dec %rax; ret\n", "");
CASE(jo_near, "{disp32} jo 1f; inc %rax; ret; 1: dec %rax; ret\n", "");
CASE(jp_js, "jp 1f; js 2f; nop; inc %rax; ret; 1: dec %rax; ret; 2: neg %rax; ret\n", "");
CASE(jg_jbe, "jg 1f; jbe 2f; nop; inc %rax; ret; 1: dec %rax; ret; 2: neg %rax; ret\n", "");
CASE(jrcxz, "jrcxz 1f; nop; nop; nop; inc %rax; ret; 1: dec %rax; ret\n", "");
CASE(jecxz, "jecxz 1f; nop; nop; inc %rax; ret; 1: dec %rax; ret\n", "");
CASE(loop, "loop 1f; nop; nop; nop; inc %rax; ret; 1: dec %rax; ret\n", "");
CASE(loope, "loope 1f; loop 2f; nop; inc %rax; ret; 1: dec %rax; ret; 2: neg %rax; ret\n", "");
CASE(loopne, "loopne 1f; jrcxz 2f; nop; inc %rax; ret; 1: dec %rax; ret; 2: neg %rax; ret\n", "");
CASE(thunk, "{disp32} jmp 1f\n", "ret; 1: lea 1(%rdi), %rax; ret\n");
CASE(thunk_short, "jmp 1f; int3; int3; int3\n", "ret; 1: lea 1(%rdi), %rax; ret\n");
CASE(thunk_mem, "jmp *(%r13); int3\n", "lea 1(%rdi), %rax; ret\n");
CASE(thunk_reg, "jmp *%r14; int3; int3\n", "lea 1(%rdi), %rax; ret\n");
CASE(jmp_out, "xor %eax, %eax; jmp 1f; nopl (%rax,%rax); 1: inc %eax; ret\n", "");
CASE(call, "call case_call_rest; lea 1(%rbx), %rax; ret\n", CALLEE);
CASE(call_pushed, "push %rdx; call case_call_pushed_rest; pop %rax; ret\n", CALLEE);
CASE(call_next, "call 1f; 1: pop %rax; ret\n", CALLEE);
CASE(call_reg, "push %rdx; push %rdx; call *%r14; pop %rax; pop %rax; ret\n", CALLEE);
CASE(call_mem, "push %rdx; call *(%r13); pop %rax; ret\n", CALLEE);
CASE(call_index, "xor %eax, %eax; call *(%r13,%rax,8); mov %rbx, %rax; ret\n", CALLEE);
CASE(call_rsp, "push %rdx; push %rdx; call *24(%rsp); pop %rax; pop %rax; ret\n", CALLEE);
CASE(call_rsp_top, "push %r14; nop; call *(%rsp); pop %rax; ret\n", CALLEE);
CASE(call_rsp_grows, "push %rdx; call *0x78(%rsp); pop %rax; ret\n", CALLEE);
CASE(call_rsp_wide, "call *0x100(%rsp); mov %rbx, %rax; ret\n", CALLEE);
CASE(call_r12, "mov %r13, %r12; call *(%r12); mov %rbx, %rax; ret\n", CALLEE);
CASE(call_rip, "mov %r14, %rdx; mov %rdx, 1f(%rip); call *1f(%rip); ret\n", CALLEE "1: .quad 0\n");
CASE(call_rip_first, "call *1f(%rip); mov %rbx, %rax; ret\n",
     CALLEE ".balign 8; 1: .quad 0x5f5f5f5f5f5f5f5f\n");
CASE(ret, "ret; nopl 0(%rax,%rax)\n", "");
CASE(ret_pop, "ret $8; int3; int3\n", "");
CASE(spin, "1: lock; decl 8(%r13); jne 2f; mov $1, %eax; ret; .balign 16\n"
	   "2: pause; movl $1, 8(%r13); cmpl $0, 8(%r13); jg 1b; jmp 2b\n", "");
CASE(try_loop, "mov 8(%r13), %rax; 1: test $3, %al; je 2f; lea -1(%rax), %rdx\n"
	       "lock; cmpxchg %rdx, 8(%r13); stc; mov %rdx, %rax; jmp 1b; 2: ret\n", "");
CASE(endbr_loop, "endbr64; add %rcx, %rax; inc %rcx; 1: test $7, %cl; jne case_endbr_loop;\n"
		 "adc $5, %rdx; ret\n", "");
CASE(count, "and $15, %edi; 1: add %rdi, %rax; dec %edi; jns 1b; mov 1f(%rip), %rdx; ret\n",
     "1: .quad 9\n");
CASE(loop_back, "shr %rcx; inc %rcx; inc %rax; loop case_loop_back; ret\n", "");
CASE(jrcxz_back, "1: sub %rcx, %rax; dec %rcx; jrcxz 1b; inc %rax; ret\n", "");
CASE(leaf, "mov %rdi, -8(%rsp); mov %rsi, -16(%rsp); mov -8(%rsp), %rax; ret\n", "");

struct exec_case {
	const char *name;
	const uint8_t *code, *rest, *end;
};

#define ENTRY(name) { #name, case_##name, case_##name##_rest, case_##name##_end }

static const struct exec_case cases[] = {
	ENTRY(plain), ENTRY(endbr), ENTRY(push_rsp), ENTRY(flags), ENTRY(movabs), ENTRY(xchg),
	ENTRY(rip_load), ENTRY(rip_cmp8), ENTRY(rip_cmp32), ENTRY(rip_store), ENTRY(rip_store_imm),
	ENTRY(rip_inc), ENTRY(rip_lea), ENTRY(rip_sse), ENTRY(rip_push), ENTRY(self_lea),
	ENTRY(je), ENTRY(jcc_first), ENTRY(jo_near), ENTRY(jp_js), ENTRY(jg_jbe),
	ENTRY(jrcxz), ENTRY(jecxz), ENTRY(loop), ENTRY(loope), ENTRY(loopne),
	ENTRY(thunk), ENTRY(thunk_short), ENTRY(thunk_mem), ENTRY(thunk_reg), ENTRY(jmp_out),
	ENTRY(call), ENTRY(call_pushed), ENTRY(call_next), ENTRY(call_reg), ENTRY(call_mem),
	ENTRY(call_index), ENTRY(call_rsp), ENTRY(call_rsp_top), ENTRY(call_rsp_grows),
	ENTRY(call_rsp_wide), ENTRY(call_r12), ENTRY(call_rip), ENTRY(call_rip_first),
	ENTRY(ret), ENTRY(ret_pop), ENTRY(leaf),
	ENTRY(spin), ENTRY(try_loop), ENTRY(endbr_loop), ENTRY(count), ENTRY(loop_back),
	ENTRY(jrcxz_back),
};

enum { STACK_WORDS = 256, STACK_TOP = 128, DATA_WORDS = 16, BLOCK_SIZE = 4096, ROUNDS = 64 };

/* All that a function can change. At fixed addresses, as these end up in registers. */
struct world {
	struct machine machine;
	uint64_t stack[STACK_WORDS];
	uint64_t data[DATA_WORDS];
	uint8_t block[BLOCK_SIZE];
};

static uint64_t live_stack[STACK_WORDS];
static uint64_t live_data[DATA_WORDS];
static uint8_t *live_block;
static uint8_t *arena;

static uint8_t *map_code(uint8_t *hint)
{
	void *p = mmap(hint, BLOCK_SIZE, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | (hint ? MAP_FIXED_NOREPLACE : 0), -1, 0);

	assert_ptr_not_equal(p, MAP_FAILED);
	return p;
}

static uint64_t next_random(uint64_t *state)	/* xorshift64 */
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A random but sound start: pointers where cases use them, small counts in rcx. */
static void invent(struct world *w, const struct exec_case *c, uint64_t *seed)
{
	uint64_t callee = (uint64_t)(uintptr_t)live_block + (size_t)(c->rest - c->code);

	memset(w, 0, sizeof(*w));
	for (int i = 0; i < NREGISTERS; i++)
		w->machine.registers[i] = next_random(seed);
	w->machine.registers[RCX] = next_random(seed) % 3;
	w->machine.registers[RBP] = (uintptr_t)&live_stack[STACK_TOP + 64];
	w->machine.registers[RSP] = (uintptr_t)&live_stack[STACK_TOP];
	w->machine.registers[R13] = (uintptr_t)live_data;
	w->machine.registers[R14] = callee;
	w->machine.flags = 0x202 | (next_random(seed) & MACHINE_FLAGS);
	for (int i = 0; i < STACK_WORDS; i++)
		w->stack[i] = i < STACK_TOP ? next_random(seed) : callee;
	w->stack[STACK_TOP] = (uintptr_t)machine_landing;
	for (int i = 0; i < DATA_WORDS; i++)
		w->data[i] = i ? next_random(seed) : callee;
	memcpy(w->block, c->code, (size_t)(c->end - c->code));
	for (size_t i = 0; i + 8 <= BLOCK_SIZE; i += 8) {	/* pointers wanted in the code */
		if (memcmp(w->block + i, "________", 8) == 0)
			memcpy(w->block + i, &callee, 8);
	}
}

static void run(struct world *w, const uint8_t *entry)
{
	memcpy(live_stack, w->stack, sizeof(live_stack));
	memcpy(live_data, w->data, sizeof(live_data));
	memcpy(live_block, w->block, BLOCK_SIZE);
	machine_run(&w->machine, entry);
	w->machine.flags &= MACHINE_FLAGS;
	memcpy(w->stack, live_stack, sizeof(live_stack));
	memcpy(w->data, live_data, sizeof(live_data));
	memcpy(w->block, live_block, BLOCK_SIZE);
}

static struct tramp_plan plan_of(const struct exec_case *c, const uint8_t *code)
{
	struct tramp_function fn = {
		.addr = (uintptr_t)live_block,
		.code = code,
		.size = (size_t)(c->rest - c->code),
		.avail = (size_t)(c->end - c->code),
	};
	struct tramp_plan plan;

	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	return plan;
}

/* With the window gone (its jump leads to an ud2), the replay code has to do the same. */
static void compare(const struct exec_case *c, uint64_t *seed)
{
	struct world plain, patched;
	struct tramp_plan plan;
	size_t len;

	invent(&plain, c, seed);
	patched = plain;
	plan = plan_of(c, plain.block);
	assert_int_equal(tramp_emit_replay(&plan, (uintptr_t)arena, arena, BLOCK_SIZE - 16, &len),
			 TRAMP_OK);
	memcpy(arena + BLOCK_SIZE - 2, "\x0f\x0b", 2);
	assert_int_equal(tramp_emit_patch(&plan, (uintptr_t)arena + BLOCK_SIZE - 2,
					  patched.block + (plan.patch_addr - plan.addr)), TRAMP_OK);

	run(&plain, live_block);
	run(&patched, arena);

	memcpy(patched.block + (plan.patch_addr - plan.addr), plan.original, plan.patch_len);
	assert_memory_equal(&patched.machine, &plain.machine, sizeof(plain.machine));
	assert_memory_equal(patched.stack, plain.stack, sizeof(plain.stack));
	assert_memory_equal(patched.data, plain.data, sizeof(plain.data));
	assert_memory_equal(patched.block, plain.block, sizeof(plain.block));
}

static void compare_all(size_t distance)
{
	uint64_t seed = 0x9e3779b97f4a7c15;

	live_block = map_code(NULL);
	arena = map_code((uint8_t *)((uintptr_t)live_block + distance));
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		print_message("    %s\n", cases[i].name);
		for (int round = 0; round < ROUNDS; round++)
			compare(&cases[i], &seed);
	}
	munmap(arena, BLOCK_SIZE);
	munmap(live_block, BLOCK_SIZE);
}

static void test_replay_does_the_same(void **state)
{
	(void)state;
	compare_all(0x10000000);
}

static void test_replay_far_below(void **state)
{
	(void)state;
	compare_all(-(size_t)0x70000000);
}

/* A low address: return addresses are pushed as immediates. */
static void test_replay_low(void **state)
{
	uint64_t seed = 0x2545f4914f6cdd1d;

	(void)state;
	live_block = map_code((uint8_t *)0x20000000);
	arena = map_code((uint8_t *)0x30000000);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		for (int round = 0; round < ROUNDS; round++)
			compare(&cases[i], &seed);
	}
	munmap(arena, BLOCK_SIZE);
	munmap(live_block, BLOCK_SIZE);
}

/* The whole chain. */

static const char adder[] = "\xf3\x0f\x1e\xfa"		// endbr64
			    "\x48\x8d\x04\x37"		// lea (%rdi,%rsi),%rax
			    "\x48\x01\xd0"		// add %rdx,%rax
			    "\xc3";			// ret

typedef long adder_fn(long a, long b, long c);

static adder_fn *real_adder;

static long wrapper(long a, long b, long c)
{
	return real_adder(a, b, c) * 1000 + a;
}

uint64_t seen_desc __attribute__((visibility("hidden")));
adder_fn *gate_goes_to __attribute__((visibility("hidden"))) = wrapper;
void gate(void);

asm(".pushsection .text\n"
    "	.globl	gate\n"
    "	.type	gate, @function\n"
    "gate:\n"
    "	mov	%r11, seen_desc(%rip)\n"
    "	jmp	*gate_goes_to(%rip)\n"
    ".popsection\n");

struct pool {
	uint64_t other;
	uint64_t owner;
};

static void set_gs(const struct pool *pool)
{
	assert_int_equal(syscall(SYS_arch_prctl, ARCH_SET_GS, pool), 0);
}

/* near_code: addresses within reach of the arena, through jump stubs there. */
static void install(bool near_code, enum tramp_thread_id id)
{
	struct tramp_function fn = {
		.addr = (uintptr_t)live_block, .code = live_block,
		.size = sizeof(adder) - 1, .avail = sizeof(adder) - 1,
	};
	uint64_t at = (uintptr_t)arena;
	struct tramp_stub stub = {
		.wrapper = near_code ? at + 256 : (uintptr_t)wrapper,
		.gate = near_code ? at + 272 : (uintptr_t)gate,
		.desc = near_code ? at + 512 : 0x123456789abcdef0,
		.owner_offset = offsetof(struct pool, owner), .id = id,
	};
	struct tramp_plan plan;
	size_t len;

	memcpy(live_block, adder, sizeof(adder));
	assert_int_equal(tramp_plan_entry(&fn, &plan), TRAMP_OK);
	assert_int_equal(tramp_emit_replay(&plan, at, arena, 128, &len), TRAMP_OK);
	assert_int_equal(tramp_emit_stub(&stub, at + 128, arena + 128, 128, &len), TRAMP_OK);
	assert_int_equal(tramp_emit_jump(at + 256, (uintptr_t)wrapper, arena + 256, 16, &len),
			 TRAMP_OK);
	assert_int_equal(tramp_emit_jump(at + 272, (uintptr_t)gate, arena + 272, 16, &len),
			 TRAMP_OK);
	assert_int_equal(tramp_emit_patch(&plan, at + 128, live_block + 4), TRAMP_OK);
	real_adder = (adder_fn *)(void *)arena;
	seen_desc = 0;
}

static void run_chain(bool near_code, enum tramp_thread_id id)
{
	adder_fn *patched = (adder_fn *)(void *)live_block;
	struct pool pool = { 0, 0 };
	uint64_t desc = near_code ? (uintptr_t)arena + 512 : 0x123456789abcdef0;

	install(near_code, id);
	asm("mov %%fs:0, %0" : "=r"(pool.owner));
	set_gs(&pool);
	assert_int_equal(patched(1, 2, 3), 6001);
	assert_int_equal(seen_desc, 0);		/* straight to the wrapper */
	pool.owner++;
	assert_int_equal(patched(2, 3, 4), 9002);
	assert_int_equal(seen_desc, desc);	/* by the gate */
	set_gs(NULL);
}

static void run_chains(enum tramp_thread_id id)
{
	live_block = map_code((uint8_t *)0x200000000000);	/* far from the program */
	arena = map_code(live_block + 0x1000000);
	run_chain(true, id);
	run_chain(false, id);
	munmap(arena, BLOCK_SIZE);
	munmap(live_block, BLOCK_SIZE);
}

static void test_chain(void **state)
{
	(void)state;
	run_chains(TRAMP_ID_FS_ZERO);
}

static void test_chain_rdfsbase(void **state)
{
	unsigned long hwcap2 = getauxval(AT_HWCAP2);

	(void)state;
	if (!(hwcap2 & HWCAP2_FSGSBASE))
		skip();
	run_chains(TRAMP_ID_FSBASE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_replay_does_the_same),
		cmocka_unit_test(test_replay_far_below),
		cmocka_unit_test(test_replay_low),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_chain_rdfsbase),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
