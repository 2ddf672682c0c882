// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What is relied on of functions, from their assembly and that of their callers; and the code of
 * keepers, decoded and run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "tests/unit/flow/bytes.h"
#include "trampolines/wrap/keep.h"

enum { RAX, RCX, RDX, RSI = 6, RDI, R8, R9, R10, R11 };

#define BIT(n) (1u << (n))

/* Each case is an object of its own: functions c_NAME_f, the one in question, and callers. */
#define CASE(name, ...)								\
	extern const uint8_t c_##name##_start[], c_##name##_callers[], c_##name##_end[];	\
	asm(".pushsection .rodata\n"						\
	    ".balign 16\n"							\
	    "c_" #name "_start:\n" __VA_ARGS__					\
	    "\nc_" #name "_end:\n"						\
	    ".popsection\n")
#define CALLERS(name) "\n.balign 16, 0xcc\nc_" #name "_callers:\n"

static struct tramp_keep keep_of(const uint8_t *start, size_t len, const struct bytes_range *functions,
				 size_t n)
{
	uint64_t addr = 0x401000;
	struct bytes_code object;
	struct tramp_keep keep;

	bytes_code_open(&object, start, len, addr, functions, n);
	assert_true(tramp_keep_analyze(object.code, &addr, 1, &keep));
	bytes_code_close(&object);
	return keep;
}

static struct tramp_keep look(const uint8_t *start, const uint8_t *callers, const uint8_t *end)
{
	uint64_t addr = 0x401000, middle = addr + (uint64_t)(callers - start);
	struct bytes_range functions[] = {
		{ addr, middle - addr }, { middle, (uint64_t)(end - callers) },
	};
	return keep_of(start, (size_t)(end - start), functions, 2);
}

#define LOOK(name) look(c_##name##_start, c_##name##_callers, c_##name##_end)

static void expect(struct tramp_keep keep, uint32_t gpr, uint32_t xmm)
{
	assert_int_equal(keep.gpr, gpr);
	assert_int_equal(keep.xmm, xmm);
	assert_false(keep.incomplete);
}

/* A loop that counts in ecx and edx; rsi and r8d are written before they are read. */
CASE(loop,
     "incl 0x1000(%rip)\n ret\n" CALLERS(loop)
     "sub $8, %rsp\n xor %ecx, %ecx\n mov $9, %edx\n mov $1, %esi\n mov $2, %r8d\n"
     "1: call c_loop_start\n add $1, %ecx\n mov %ecx, %esi\n xor %r8d, %r8d\n"
     "add %r8d, %esi\n cmp %ecx, %edx\n jne 1b\n add $8, %rsp\n ret");

static void finds_loop_counter(void **state)
{
	(void)state;
	expect(LOOK(loop), BIT(RCX) | BIT(RDX), 0);
	assert_false(LOOK(loop).align);
}

CASE(touched,
     "mov $1, %ecx\n pxor %xmm3, %xmm3\n ret\n" CALLERS(touched)
     "sub $8, %rsp\n movsd 0x1000(%rip), %xmm3\n movsd 0x1000(%rip), %xmm4\n mov $9, %ecx\n"
     "call c_touched_start\n addsd %xmm3, %xmm4\n movsd %xmm4, 0x1000(%rip)\n"
     "mov %ecx, 0x1000(%rip)\n add $8, %rsp\n xor %eax, %eax\n ret");

static void leaves_out_what_is_touched(void **state)
{
	(void)state;
	expect(LOOK(touched), 0, BIT(4));
}

/* What calls the unknown can be relied on for nothing. */
CASE(indirect,
     "sub $8, %rsp\n call *%rax\n add $8, %rsp\n ret\n" CALLERS(indirect)
     "mov $9, %ecx\n call c_indirect_start\n mov %ecx, %eax\n ret");
CASE(outside,
     "jmp . + 0x100000\n" CALLERS(outside)
     "mov $9, %ecx\n call c_outside_start\n mov %ecx, %eax\n ret");
CASE(undecodable,
     ".byte 0x06\n ret\n" CALLERS(undecodable)
     "mov $9, %ecx\n call c_undecodable_start\n mov %ecx, %eax\n ret");

static void trusts_nothing_unknown(void **state)
{
	(void)state;
	assert_false(tramp_keep_needed(&(struct tramp_keep){ 0 }));
	expect(LOOK(indirect), 0, 0);
	assert_false(LOOK(indirect).align);
	expect(LOOK(outside), 0, 0);
	expect(LOOK(undecodable), 0, 0);
}

/* System calls overwrite rcx, r11 and rax. */
CASE(syscall,
     "mov $39, %eax\n syscall\n ret\n" CALLERS(syscall)
     "sub $8, %rsp\n mov $1, %ecx\n mov $1, %r11d\n mov $1, %r10d\n"
     "call c_syscall_start\n add %ecx, %r10d\n add %r11d, %r10d\n mov %r10d, %eax\n"
     "add $8, %rsp\n ret");

static void knows_syscall(void **state)
{
	(void)state;
	expect(LOOK(syscall), BIT(R10), 0);
}

/* An argument that goes on to malloc: void *f(size_t x) { count(); return malloc(x); } */
CASE(passed,
     "incl 0x1000(%rip)\n ret\n" CALLERS(passed)
     "sub $8, %rsp\n mov %rsi, %rdi\n xor %esi, %esi\n call c_passed_start\n add $8, %rsp\n"
     "jmp . + 0x100000\n");
/* int r = *p; count(); return r; */
CASE(result,
     "incl 0x1000(%rip)\n ret\n" CALLERS(result)
     "sub $8, %rsp\n mov (%rdi), %eax\n call c_result_start\n add $8, %rsp\n ret");

static void follows_arguments_and_results(void **state)
{
	(void)state;
	assert_true(LOOK(passed).gpr & BIT(RDI));
	assert_true(LOOK(passed).gpr & BIT(RSI));
	expect(LOOK(result), BIT(RAX), 0);
}

/* h calls f, and h's caller relies on both: r8 stays through h, r9 does not. */
CASE(deep,
     "incl 0x1000(%rip)\n ret\n" CALLERS(deep)
     "sub $8, %rsp\n mov $5, %r8d\n mov $6, %r9d\n call 2f\n lea (%r8,%r9), %eax\n"
     "add $8, %rsp\n ret\n"
     ".balign 16\n2: sub $8, %rsp\n call c_deep_start\n xor %r9d, %r9d\n add $8, %rsp\n ret");

static void follows_callers_callers(void **state)
{
	const uint8_t *start = c_deep_start;
	uint64_t addr = 0x401000, caller = addr + 16, inner = addr + 64;
	struct bytes_range functions[] = { { addr, 16 }, { caller, 0 }, { 0, 0 } };
	size_t len = (size_t)(c_deep_end - start);

	(void)state;
	while (memcmp(start + (inner - addr), "\x48\x83\xec\x08\xe8", 5) != 0)
		inner -= 16;
	assert_true(inner > caller);
	functions[1].size = inner - caller;
	functions[2] = (struct bytes_range){ inner, addr + len - inner };
	expect(keep_of(start, len, functions, 3), BIT(R8), 0);
}

CASE(misaligned,
     "incl 0x1000(%rip)\n ret\n" CALLERS(misaligned)
     "call c_misaligned_start\n xor %eax, %eax\n ret");

static void finds_misaligned_calls(void **state)
{
	struct tramp_keep keep = LOOK(misaligned);
	const char *reason;

	(void)state;
	expect(keep, 0, 0);
	assert_true(keep.align && tramp_keep_needed(&keep));
	assert_true(tramp_keep_possible(&keep, &reason));
}

CASE(stack,
     "mov 8(%rsp), %rax\n ret\n" CALLERS(stack)
     "mov $7, %ecx\n push %rax\n push %rax\n call c_stack_start\n add $16, %rsp\n"
     "add %ecx, %eax\n ret");
CASE(nostack,
     "sub $24, %rsp\n mov %rdi, 8(%rsp)\n mov 8(%rsp), %rax\n add $24, %rsp\n ret\n"
     CALLERS(nostack)
     "mov $7, %ecx\n push %rax\n call c_nostack_start\n pop %rsi\n add %ecx, %eax\n ret");
CASE(farstack,
     "push %rbp\n mov %rsp, %rbp\n mov 144(%rbp), %rax\n leave\n ret\n" CALLERS(farstack)
     "mov $7, %ecx\n sub $168, %rsp\n call c_farstack_start\n add $168, %rsp\n"
     "add %ecx, %eax\n ret");

static void finds_stack_arguments(void **state)
{
	struct tramp_keep keep = LOOK(farstack);
	const char *reason;

	(void)state;
	assert_true(LOOK(stack).stack_args && !LOOK(stack).far_stack_args);
	assert_false(LOOK(nostack).stack_args);
	assert_true(keep.stack_args && keep.far_stack_args);
	assert_false(tramp_keep_possible(&keep, &reason));
	assert_non_null(reason);
}

CASE(r11,
     "incl 0x1000(%rip)\n ret\n" CALLERS(r11)
     "sub $8, %rsp\n mov $7, %r11d\n call c_r11_start\n add %r11d, 0x1000(%rip)\n"
     "add $8, %rsp\n xor %eax, %eax\n ret");
CASE(wide,
     "incl 0x1000(%rip)\n ret\n" CALLERS(wide)
     "sub $8, %rsp\n vmovups 0x1000(%rip), %ymm5\n call c_wide_start\n"
     "vmovups %ymm5, 0x1000(%rip)\n vzeroupper\n add $8, %rsp\n xor %eax, %eax\n ret");

static void refuses_what_cannot_be_kept(void **state)
{
	struct tramp_keep r11 = LOOK(r11), wide = LOOK(wide);
	const char *reason;

	(void)state;
	expect(r11, BIT(R11), 0);
	assert_false(tramp_keep_possible(&r11, &reason));
	assert_true(wide.wide);
	assert_false(tramp_keep_possible(&wide, &reason));
}

/* Nobody calls it: whatever its callers elsewhere do, they know only the ABI. */
CASE(uncalled, "incl 0x1000(%rip)\n ret\n" CALLERS(uncalled) "mov %ecx, %eax\n ret");

static void needs_nothing_uncalled(void **state)
{
	struct tramp_keep keep = LOOK(uncalled);

	(void)state;
	assert_false(tramp_keep_needed(&keep));
}

/* Without functions nothing is known of who calls: all that it leaves alone is relied on. */
static void is_careful_without_functions(void **state)
{
	struct tramp_keep keep = keep_of(c_loop_start, (size_t)(c_loop_end - c_loop_start), NULL, 0);

	(void)state;
	assert_true(keep.incomplete && keep.gpr & BIT(RCX) && keep.gpr & BIT(RDX));
}

/*
 * The keeper runs: all registers it keeps survive a wrapper that writes them, the stack is aligned
 * there, and its stack arguments are in place.
 */
extern const uint8_t wrapper_start[], wrapper_end[];
asm(".pushsection .rodata\n"
    "wrapper_start:\n"
    "	sub	$8, %rsp\n"
    "	movaps	%xmm0, -32(%rsp)\n"		/* faults if it is not aligned */
    "	mov	$0x55, %ecx\n"
    "	mov	%rcx, %rdx\n"
    "	mov	%rcx, %rsi\n"
    "	mov	%rcx, %r8\n"
    "	mov	%rcx, %r9\n"
    "	mov	%rcx, %r10\n"
    "	movq	%rcx, %xmm7\n"
    "	movq	%rcx, %xmm12\n"
    "	add	16(%rsp), %rdi\n"		/* the first and the last one */
    "	add	16+15*8(%rsp), %rdi\n"
    "	mov	%rdi, %rax\n"
    "	add	$8, %rsp\n"
    "	ret\n"
    "wrapper_end:\n"
    ".popsection\n");

struct registers {
	uint64_t rax, rcx, rdx, rsi, rdi, r8, r9, r10;
	double xmm7, xmm12;
};

static void call_keeper(const void *keeper, struct registers *r)
{
	struct registers *volatile at = r;

	asm volatile("mov %%rsp, %%rbx\n"
		     "mov %[at], %%r12\n"
		     "and $-16, %%rsp\n"
		     "sub $8, %%rsp\n"			/* 17 words: misaligned */
		     "pushq $1000\n"
		     ".rept 14\n pushq $0\n .endr\n"
		     "pushq $30\n"
		     "mov 8(%%r12), %%rcx\n mov 16(%%r12), %%rdx\n mov 24(%%r12), %%rsi\n"
		     "mov 32(%%r12), %%rdi\n mov 40(%%r12), %%r8\n mov 48(%%r12), %%r9\n"
		     "mov 56(%%r12), %%r10\n"
		     "movsd 64(%%r12), %%xmm7\n movsd 72(%%r12), %%xmm12\n"
		     "call *%[keeper]\n"
		     "mov %%rax, 0(%%r12)\n mov %%rcx, 8(%%r12)\n mov %%rdx, 16(%%r12)\n"
		     "mov %%rsi, 24(%%r12)\n mov %%rdi, 32(%%r12)\n mov %%r8, 40(%%r12)\n"
		     "mov %%r9, 48(%%r12)\n mov %%r10, 56(%%r12)\n"
		     "movsd %%xmm7, 64(%%r12)\n movsd %%xmm12, 72(%%r12)\n"
		     "mov %%rbx, %%rsp\n"
		     :
		     : [at] "r"(at), [keeper] "a"(keeper)
		     : "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12",
		       "xmm0", "xmm7", "xmm12", "memory", "cc");
}

static void run_keeper(size_t distance)
{
	struct tramp_keep keep = {
		.gpr = BIT(RCX) | BIT(RDX) | BIT(RSI) | BIT(R8) | BIT(R9) | BIT(R10),
		.xmm = BIT(7) | BIT(12), .stack_args = true,
	};
	struct registers r = { 0, 1, 2, 3, 4, 5, 6, 7, 8.5, 9.5 };
	size_t size = distance + 4096, room = tramp_keeper_size(&keep), len;
	uint8_t *map = mmap(NULL, size, PROT_READ | PROT_WRITE | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	uint8_t *wrapper = map + distance;

	assert_true(map != MAP_FAILED);
	memcpy(wrapper, wrapper_start, (size_t)(wrapper_end - wrapper_start));
	assert_int_equal(tramp_emit_keeper(&keep, (uint64_t)wrapper, (uint64_t)map, map, room,
					   &len), TRAMP_OK);
	assert_true(len <= room && room <= TRAMP_KEEPER_MAX);
	call_keeper(map, &r);
	assert_int_equal(r.rax, 1034);
	assert_true(r.rcx == 1 && r.rdx == 2 && r.rsi == 3 && r.r8 == 5 && r.r9 == 6);
	assert_true(r.r10 == 7 && r.xmm7 == 8.5 && r.xmm12 == 9.5);
	munmap(map, size);
}

static void keeper_keeps(void **state)
{
	(void)state;
	run_keeper(1024);
	run_keeper(3ull << 30);		/* through the slot */
}

static void keeper_fits(void **state)
{
	struct tramp_keep keep = { .gpr = 0xfc7, .xmm = 0xffff, .stack_args = true };
	uint8_t buf[TRAMP_KEEPER_MAX];
	size_t room = tramp_keeper_size(&keep), len;

	(void)state;
	assert_true(room <= TRAMP_KEEPER_MAX);
	assert_int_equal(tramp_emit_keeper(&keep, 1ull << 50, 4096, buf, room, &len), TRAMP_OK);
	assert_int_equal(len, room);
	assert_int_equal(tramp_emit_keeper(&keep, 1ull << 50, 4096, buf, room - 1, &len),
			 TRAMP_NO_ROOM);
}

/* Whatever the bytes and functions are, every access is inside (see them sanitized). */
static void survives_random_bytes(void **state)
{
	enum { LEN = 600, FUNCTIONS = 24, ROUNDS = 3000 };
	struct bytes_range functions[FUNCTIONS];
	uint64_t targets[FUNCTIONS], addr = 0x10000;
	struct tramp_keep keeps[FUNCTIONS];
	uint8_t *code = malloc(LEN);

	(void)state;
	assert_non_null(code);
	srandom(1);
	for (int round = 0; round < ROUNDS; round++) {
		struct bytes_code object;
		uint64_t at = addr - 8;

		for (size_t i = 0; i < LEN; i++)
			code[i] = random() % 3 ? (uint8_t)random() : (uint8_t)(random() % 2);
		for (size_t i = 0; i + 5 < LEN; i += (size_t)random() % 40 + 1) {
			int32_t rel = (int32_t)(random() % LEN) - (int32_t)i - 5;

			code[i] = random() % 2 ? 0xe8 : 0xe9;
			memcpy(code + i + 1, &rel, sizeof(rel));
		}
		for (size_t i = 0; i < FUNCTIONS; i++) {
			at += (uint64_t)random() % 48;
			functions[i].addr = at;
			functions[i].size = random() % 4 ? (uint64_t)random() % 60 : UINT64_MAX >> random() % 60;
			targets[i] = random() % 3 ? at : (uint64_t)random();
		}
		bytes_code_open(&object, code, LEN, addr, functions, FUNCTIONS);
		assert_true(tramp_keep_analyze(object.code, targets, FUNCTIONS, keeps));
		bytes_code_close(&object);
		for (size_t i = 0; i < FUNCTIONS; i++)
			assert_true((keeps[i].gpr & ~0xfc7u) == 0 && keeps[i].xmm <= 0xffff);
	}
	free(code);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_loop_counter),
		cmocka_unit_test(leaves_out_what_is_touched),
		cmocka_unit_test(trusts_nothing_unknown),
		cmocka_unit_test(knows_syscall),
		cmocka_unit_test(follows_arguments_and_results),
		cmocka_unit_test(follows_callers_callers),
		cmocka_unit_test(finds_misaligned_calls),
		cmocka_unit_test(finds_stack_arguments),
		cmocka_unit_test(refuses_what_cannot_be_kept),
		cmocka_unit_test(needs_nothing_uncalled),
		cmocka_unit_test(is_careful_without_functions),
		cmocka_unit_test(keeper_keeps),
		cmocka_unit_test(keeper_fits),
		cmocka_unit_test(survives_random_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
