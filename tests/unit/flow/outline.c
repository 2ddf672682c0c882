// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * What tramp_flow_shape() says of code that is entered at one place: of functions, and of what is none.  The code is written in
 * assembly below and looked at in place.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trampolines/flow/flow.h"

extern const uint8_t outline_start[], outline_end[];

/* FN(name) starts code that is looked at, END(name) ends it. */
#define FN(name) ".balign 16\n.globl " #name "\n" #name ":\n"
#define END(name) #name "_end:\n.globl " #name "_end\n"

asm(".text\n.balign 16\noutline_start:\n.globl outline_start\n"
    FN(callee) "mov %edi, %eax\n ret\n" END(callee)
    FN(frame) "push %rbx\n mov %edi, %ebx\n call callee\n add %ebx, %eax\n pop %rbx\n ret\n" END(frame)
    FN(endbr) "endbr64\n mov %edi, %eax\n ret\n" END(endbr)
    FN(tail) "xor %esi, %esi\n jmp callee\n" END(tail)
    FN(deep_jump) "push %rbx\n test %edi, %edi\n jne callee\n pop %rbx\n ret\n" END(deep_jump)
    FN(pointer_tail) "mov (%rdi), %rax\n jmp *24(%rax)\n" END(pointer_tail)
    FN(epilogue) "pop %rbx\n ret\n" END(epilogue)
    FN(uses_kept) "add %rbx, %rax\n ret\n" END(uses_kept)
    FN(uses_flags) "jne 1f\n inc %eax\n1: ret\n" END(uses_flags)
    FN(keeps) "mov %rbx, -8(%rsp)\n mov %edi, %ebx\n mov -8(%rsp), %rbx\n ret\n" END(keeps)
    FN(argument) "mov 8(%rsp), %rax\n ret\n" END(argument)
    FN(position) "call 1f\n1: pop %rax\n ret\n" END(position)
    FN(bad) "xor %eax, %eax\n .byte 6, 6\n" END(bad)
    FN(trap) "test %edi, %edi\n je 1f\n ret\n1: ud2\n" END(trap)
    FN(jumps_anywhere) "push %rbx\n mov (%rdi), %rax\n jmp *%rax\n" END(jumps_anywhere)
    FN(never_back) "sub $8, %rsp\n call callee\n .nops 6\n" END(never_back)
    FN(more_after) "mov %edi, %eax\n ret\n .nops 3\n inc %eax\n ret\n" END(more_after)
    FN(runs_on) "mov $1, %esi\n" END(runs_on)
    FN(run_into) "ret\n" END(run_into)
    "outline_end:\n.globl outline_end\n ret\n");

#define LIST(X) X(callee) X(frame) X(endbr) X(tail) X(deep_jump) X(pointer_tail) X(epilogue) X(uses_kept) X(uses_flags) X(keeps) \
	X(argument) X(position) X(bad) X(trap) X(jumps_anywhere) X(never_back) X(more_after) X(runs_on) X(run_into)

#define DECLARE(name) extern const uint8_t name[], name##_end[];
LIST(DECLARE)

enum {
#define NUMBER(name) FN_##name,
	LIST(NUMBER)
	NFNS
};

static struct tramp_fn fns[NFNS];
static struct tramp_code *code;
static struct tramp_flow flow;
static struct tramp_shape shape; /* of the last one looked at */
static uint64_t *reached;

static uint64_t at(const uint8_t *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void look(int fn)
{
	memset(reached, 0, (size_t)(outline_end - outline_start) / 64 * 8 + 8);
	shape.reached = reached;
	assert_int_equal(tramp_flow_build(&flow, code, (uint32_t)fn), TRAMP_CODE_OK);
	assert_true(tramp_flow_shape(&flow, &shape));
}

/* What it comes to is exactly that, and it goes as far as it does. */
static void check(int fn, uint32_t flags, uint64_t end)
{
	look(fn);
	assert_int_equal(shape.flags, flags);
	assert_int_equal(shape.end - fns[fn].addr, end - fns[fn].addr);
}

static void check_leaf(uint32_t i, uint8_t ends, uint64_t to, bool flat, bool deep)
{
	assert_in_range(shape.nleaves, i + 1, TRAMP_SHAPE_LEAVES);
	assert_int_equal(shape.leaves[i].ends, ends);
	assert_int_equal(shape.leaves[i].to, to);
	assert_int_equal(shape.leaves[i].flat, flat);
	assert_int_equal(shape.leaves[i].deep, deep);
}

static bool is_reached(const uint8_t *p)
{
	uint64_t off = at(p) - tramp_code_base(code);

	return reached[off / 64] >> off % 64 & 1;
}

static void functions(void **state)
{
	(void)state;
	check(FN_callee, TRAMP_SHAPE_RETURNS, at(callee_end));
	assert_int_equal(shape.nleaves, 0);
	check(FN_frame, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_PROLOGUE, at(frame_end));
	assert_int_equal(shape.nleaves, 1);
	check_leaf(0, TRAMP_END_CALL, at(callee), false, true);
	check(FN_endbr, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_PROLOGUE, at(endbr_end));
	check(FN_keeps, TRAMP_SHAPE_RETURNS, at(keeps_end));
	check(FN_position, TRAMP_SHAPE_RETURNS, at(position_end));
	check(FN_trap, TRAMP_SHAPE_RETURNS, at(trap_end));
}

static void jumps(void **state)
{
	(void)state;
	check(FN_tail, 0, at(tail_end));
	check_leaf(0, TRAMP_END_TAIL, at(callee), true, false);
	check(FN_deep_jump, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_PROLOGUE, at(deep_jump_end));
	check_leaf(0, TRAMP_END_TAIL_JCC, at(callee), false, true);
	check(FN_pointer_tail, TRAMP_SHAPE_RETURNS, at(pointer_tail_end));
	look(FN_jumps_anywhere);
	assert_int_equal(shape.flags & (TRAMP_SHAPE_UNSURE | TRAMP_SHAPE_SWITCHES), TRAMP_SHAPE_UNSURE | TRAMP_SHAPE_SWITCHES);
	look(FN_runs_on);
	check_leaf(0, TRAMP_END_TAIL_FALL, at(run_into), true, false);
}

/* Labels and parts of functions. */
static void parts(void **state)
{
	(void)state;
	check(FN_epilogue, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_UNBALANCED, at(epilogue_end));
	check(FN_uses_kept, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_READS, at(uses_kept_end));
	check(FN_uses_flags, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_READS, at(uses_flags_end));
	check(FN_argument, TRAMP_SHAPE_RETURNS | TRAMP_SHAPE_ABOVE, at(argument_end));
	look(FN_bad);
	assert_true(shape.flags & TRAMP_SHAPE_BAD);
}

static void ends(void **state)
{
	(void)state;
	look(FN_never_back); /* padding after a call */
	assert_int_equal(shape.end, at(never_back_end) - 6);
	look(FN_more_after); /* what nothing leads to */
	assert_int_equal(shape.end - at(more_after), 3);
	assert_true(is_reached(more_after) && is_reached(more_after + 2));
	assert_false(is_reached(more_after + 3) || is_reached(more_after + 6) || is_reached(callee));
}

static int open_code(void **state)
{
	static const uint8_t *const bounds[][2] = {
#define BOUNDS(name) { name, name##_end },
		LIST(BOUNDS)
	};
	static struct tramp_bytes range;
	static struct tramp_facts facts;

	(void)state;
	for (int i = 0; i < NFNS; i++)
		fns[i] = (struct tramp_fn){ .addr = at(bounds[i][0]), .size = at(bounds[i][1]) - at(bounds[i][0]), .parent = TRAMP_NONE };
	range = (struct tramp_bytes){ .addr = at(outline_start), .bytes = outline_start,
		.len = (size_t)(outline_end - outline_start), .code = true };
	facts = (struct tramp_facts){ .bytes = &range, .nbytes = 1, .fns = fns, .nfns = NFNS };
	reached = calloc((size_t)(outline_end - outline_start) / 64 + 1, sizeof(*reached));
	return reached && tramp_code_new(&facts, &code) == TRAMP_CODE_OK ? 0 : -1;
}

static int close_code(void **state)
{
	(void)state;
	tramp_flow_free(&flow);
	tramp_code_free(code);
	free(reached);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions),
		cmocka_unit_test(jumps),
		cmocka_unit_test(parts),
		cmocka_unit_test(ends),
	};

	return cmocka_run_group_tests(tests, open_code, close_code);
}
