// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Shapes of control flow, one function each, written in assembly below and looked at in place: the facts are
 * addresses in this very program.
 */
#include "config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "trampolines/count/private.h"
#include "trampolines/flow/flow.h"

extern const uint8_t shapes_start[], shapes_end[], shapes_data[], shapes_data_end[];

/* FN(name) starts a function, END(name) ends it; PLACE(name) is a place that a test looks for. */
#define FN(name) ".balign 16\n.globl " #name "\n" #name ":\n"
#define END(name) #name "_end:\n.globl " #name "_end\n"
#define PLACE(name) ".globl " #name "\n" #name ":\n"

asm(".text\n.balign 16\nshapes_start:\n.globl shapes_start\n"
    FN(straight) "mov %edi, %eax\n add %esi, %eax\n ret\n" END(straight)
    FN(diamond) "test %edi, %edi\n je 1f\n mov $1, %eax\n jmp 2f\n 1: mov $2, %eax\n 2: ret\n"
    END(diamond)
    FN(self_loop) "dec %edi\n jne self_loop\n ret\n" END(self_loop)
    FN(two_loops) "1: mov %esi, %ecx\n 2: dec %ecx\n jne 2b\n dec %edi\n jne 1b\n ret\n" END(two_loops)
    FN(irreducible) "test %edi, %edi\n je 2f\n 1: dec %esi\n 2: dec %edi\n jne 1b\n ret\n"
    END(irreducible)
    FN(pic_switch) "cmp $3, %edi\n ja 9f\n lea pic_table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n"
    " add %rdx, %rax\n notrack jmp *%rax\n"
    PLACE(pic_case0) " mov $10, %eax\n ret\n" PLACE(pic_case1) " mov $11, %eax\n ret\n"
    PLACE(pic_case2) " mov $12, %eax\n 9: ret\n" END(pic_switch)
    FN(hoisted_switch) "push %rbx\n lea hoisted_table(%rip), %rbx\n"
    "1: call straight\n cmp $2, %eax\n ja 9f\n movslq (%rbx,%rax,4), %rax\n add %rbx, %rax\n jmp *%rax\n"
    PLACE(hoisted_case0) " nop\n jmp 1b\n" PLACE(hoisted_case1) " nop\n jmp 1b\n"
    " 9: pop %rbx\n ret\n" END(hoisted_switch)
    FN(label_switch) "lea label_table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n"
    " lea label_case0(%rip), %rdx\n add %rdx, %rax\n jmp *%rax\n"
    PLACE(label_case0) " mov $10, %eax\n ret\n" PLACE(label_case1) " mov $11, %eax\n ret\n"
    PLACE(label_case2) " mov $12, %eax\n ret\n" END(label_switch)
    FN(cold_switch) "cmp $1, %edi\n ja 9f\n lea cold_table(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n"
    " add %rdx, %rax\n jmp *%rax\n" PLACE(cold_case0) " xor %eax, %eax\n 9: ret\n" END(cold_switch)
    FN(cold_switch_cold) " sub $8, %rsp\n call straight\n add $8, %rsp\n ret\n" END(cold_switch_cold)
    FN(text_table) "lea 1f(%rip), %rdx\n movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n"
    " .balign 4\n 1: .long text_case0 - 1b, text_case1 - 1b\n"
    PLACE(text_case0) " ret\n" PLACE(text_case1) " xor %eax, %eax\n ret\n" END(text_table)
    FN(switch_and_tail) "cmp $1, %edi\n ja 9f\n lea both_table(%rip), %rdx\n"
    " movslq (%rdx,%rdi,4), %rax\n add %rdx, %rax\n jmp *%rax\n"
    PLACE(both_case0) " mov %rsi, %rdi\n" PLACE(both_tail) " jmp *%rsi\n"
    PLACE(both_case1) " xor %eax, %eax\n 9: ret\n" END(switch_and_tail)
    FN(virtual_tail) "mov (%rdi), %rax\n jmp *24(%rax)\n" END(virtual_tail)
    FN(frame_tail) "push %rbp\n mov %rsp, %rbp\n sub $32, %rsp\n mov (%rdi), %rax\n leave\n jmp *%rax\n"
    END(frame_tail)
    FN(got_tail) "jmp *shapes_slot(%rip)\n" END(got_tail)
    FN(computed_goto) "push %rbx\n mov %rdi, %rbx\n jmp *(%rbx)\n"
    PLACE(label0) " add $8, %rbx\n jmp *(%rbx)\n" PLACE(label1) " pop %rbx\n ret\n" END(computed_goto)
    FN(framed_goto) "push %rbp\n mov %rsp, %rbp\n push %rbx\n mov %rdi, %rbx\n sub %rsi, %rsp\n jmp *(%rbx)\n"
    PLACE(label2) " add $8, %rbx\n jmp *(%rbx)\n" PLACE(label3) " mov -8(%rbp), %rbx\n leave\n ret\n"
    END(framed_goto)
    FN(strange_jump) "mov 8(%rdi), %rsp\n jmp *16(%rdi)\n" END(strange_jump)
    FN(tail_call) "xor %esi, %esi\n jmp straight\n" END(tail_call)
    FN(tail_jcc) "test %edi, %edi\n je straight\n ret\n" END(tail_jcc)
    FN(into_another) "jmp entered_inside_2\n" END(into_another)
    FN(entered_inside) "push %rbx\n" PLACE(entered_inside_2) " xor %eax, %eax\n pop %rbx\n ret\n"
    END(entered_inside)
    FN(dies) "sub $8, %rsp\n call never_returns\n" END(dies)
    FN(calls_dies) "push %rbx\n test %edi, %edi\n jne 1f\n call dies\n" PLACE(behind_dies) " ud2\n"
    " 1: pop %rbx\n ret\n" END(calls_dies)
    FN(never_returns) "1: pause\n jmp 1b\n" END(never_returns)
    FN(falls) "mov $1, %esi\n" END(falls) " .balign 16\n"
    FN(fallen_into) "ret\n" END(fallen_into)
    FN(checks) "cmp %esi, %edi\n jb straight\n" END(checks) " .balign 16\n"
    FN(checked) "ret\n" END(checked)
    FN(lock_skip) "cmpl $0, %fs:24\n je 1f\n lock\n 1: cmpxchg %edx, (%rdi)\n ret\n" END(lock_skip)
    FN(runs_into_data) "xor %eax, %eax\n .byte 6, 6\n" END(runs_into_data)
    FN(dead_regs) "mov $1, %ecx\n mov $2, %r8d\n lea (%rcx,%r8), %eax\n ret\n" END(dead_regs)
    FN(partial) "mov $7, %cl\n mov %ecx, %eax\n ret\n" END(partial)
    FN(zeroing) "xor %ecx, %ecx\n sub %r9d, %r9d\n mov %ecx, %eax\n add %r9d, %eax\n ret\n"
    END(zeroing)
    FN(vectors) "movaps %xmm1, %xmm2\n cvtsi2sd %edi, %xmm3\n pxor %xmm4, %xmm4\n"
    " vmovaps %xmm1, %xmm5\n addps %xmm6, %xmm2\n vaddps %ymm7, %ymm5, %ymm5\n"
    " movaps %xmm2, (%rdi)\n vmovaps %ymm5, (%rdi)\n movaps %xmm3, (%rdi)\n movaps %xmm4, (%rdi)\n"
    " ret\n" END(vectors)
    FN(masks) "kmovw %edi, %k1\n vmovaps (%rsi), %zmm8{%k1}\n vmovaps (%rsi), %zmm9{%k2}{z}\n"
    " vmovaps (%rsi), %zmm10\n vmovaps %zmm17, %zmm18\n vzeroupper\n ret\n" END(masks)
    FN(constants) "or $-1, %ecx\n and $0, %r8d\n and $1, %r9d\n lea (%rcx,%r8), %eax\n add %r9d, %eax\n"
    " ret\n" END(constants)
    FN(flag_caller) "sub $8, %rsp\n call flag_callee\n lea 8(%rsp), %rsp\n je 1f\n inc %eax\n 1: ret\n"
    END(flag_caller)
    FN(flag_callee) "cmp %esi, %edi\n ret\n" END(flag_callee)
    /* after a jump a call comes next: of what reads them, of what overwrites them, of another object */
    FN(flags_read_later) "call flags_for_reader\n jmp 1f\n ud2\n 1: call flags_reader\n ret\n" END(flags_read_later)
    FN(flags_for_reader) "cmp %esi, %edi\n ret\n" END(flags_for_reader)
    FN(flags_reader) "mov %edi, %ecx\n setl %al\n ret\n" END(flags_reader)
    FN(flags_lost_later) "call flags_for_nobody\n jmp 1f\n ud2\n 1: call flags_writer\n ret\n" END(flags_lost_later)
    FN(flags_for_nobody) "cmp %esi, %edi\n ret\n" END(flags_for_nobody)
    FN(flags_writer) "mov %edi, %ecx\n xor %eax, %eax\n ret\n" END(flags_writer)
    FN(flags_kept_later) "call flags_for_later\n jmp 1f\n ud2\n 1: call checked\n je 2f\n 2: ret\n" END(flags_kept_later)
    FN(flags_for_later) "cmp %esi, %edi\n ret\n" END(flags_for_later)
    FN(flags_elsewhere) "call flags_for_others\n call shapes_slot\n je 1f\n 1: ret\n" END(flags_elsewhere)
    FN(flags_for_others) "cmp %esi, %edi\n ret\n" END(flags_for_others)
    FN(flags_of_many) ".rept 9\n call flags_writes\n .endr\n xor %eax, %eax\n ret\n" END(flags_of_many)
    FN(flags_writes) "cmp %esi, %edi\n ret\n" END(flags_writes)
    FN(shifts) "cmp %edi, %esi\n shl %cl, %eax\n setb %al\n ret\n" END(shifts)
    FN(preserves) "push %r8\n mov $1, %r8d\n mov %r8d, %eax\n pop %r8\n ret\n" END(preserves)
    FN(thunk) "mov %r11, (%rsp)\n ret\n" END(thunk)
    FN(thunk_user) "mov $1, %edi\n mov (%rdi), %r11\n jmp thunk\n" END(thunk_user)
    FN(local_caller) "call local_callee\n ret\n" END(local_caller)
    FN(local_callee) "mov $1, %ecx\n mov %ecx, %eax\n ret\n" END(local_callee)
    FN(joiner) "jmp joined\n" END(joiner)
    FN(joined) "mov $1, %ecx\n mov %ecx, %eax\n ret\n" END(joined)
    "shapes_end:\n.globl shapes_end\n ret\n"
    ".section .data.rel.ro,\"aw\"\n.balign 8\nshapes_data:\n.globl shapes_data\n"
    "pic_table: .long pic_case0 - pic_table, pic_case1 - pic_table, pic_case2 - pic_table,"
    " pic_case0 - pic_table\n"
    "hoisted_table: .long hoisted_case0 - hoisted_table, hoisted_case1 - hoisted_table,"
    " hoisted_case0 - hoisted_table\n"
    "label_table: .long 0, label_case1 - label_case0, label_case2 - label_case0, 1\n"
    "cold_table: .long cold_case0 - cold_table, cold_switch_cold - cold_table\n"
    "both_table: .long both_case0 - both_table, both_case1 - both_table\n"
    ".long 0\n.balign 8\nshapes_slot: .quad 0\n"
    "shapes_data_end:\n.globl shapes_data_end\n.text\n");

#define LIST(X) X(straight) X(diamond) X(self_loop) X(two_loops) X(irreducible) X(pic_switch) \
	X(hoisted_switch) X(label_switch) X(cold_switch) X(cold_switch_cold) X(text_table) X(switch_and_tail) \
	X(virtual_tail) X(frame_tail) X(got_tail) X(computed_goto) X(framed_goto) X(strange_jump) \
	X(tail_call) \
	X(tail_jcc) X(into_another) X(entered_inside) X(dies) X(calls_dies) X(never_returns) X(falls) \
	X(fallen_into) X(checks) X(checked) X(lock_skip) X(runs_into_data) X(dead_regs) X(partial) X(zeroing) X(vectors) X(masks) X(constants) \
	X(flag_caller) X(flag_callee) \
	X(flags_read_later) X(flags_for_reader) X(flags_reader) X(flags_lost_later) X(flags_for_nobody) X(flags_writer) \
	X(flags_kept_later) X(flags_for_later) X(flags_elsewhere) X(flags_for_others) X(flags_of_many) X(flags_writes) X(shifts) X(preserves) X(thunk) X(thunk_user) \
	X(local_caller) X(local_callee) X(joiner) X(joined)

#define DECLARE(name) extern const uint8_t name[], name##_end[];
LIST(DECLARE)
extern const uint8_t pic_case0[], pic_case1[], pic_case2[], hoisted_case0[], hoisted_case1[], cold_case0[], label_case0[],
	label_case1[], label_case2[],
	text_case0[], text_case1[], both_case0[], both_tail[], both_case1[], label0[], label1[], label2[],
	label3[],	entered_inside_2[], behind_dies[];

enum {
#define NUMBER(name) FN_##name,
	LIST(NUMBER)
	NFNS
};

static struct tramp_fn fns[NFNS] = {
#define ENTRY(name) { .addr = 0, .flags = TRAMP_FN_FRAMED, .parent = TRAMP_NONE },
	LIST(ENTRY)
};

static struct tramp_code *code;
static struct tramp_flow flow;

static uint64_t at(const uint8_t *place)
{
	return (uint64_t)(uintptr_t)place;
}

static void build(uint32_t fn)
{
	assert_int_equal(tramp_flow_build(&flow, code, fn), TRAMP_CODE_OK);
	tramp_flow_live(&flow);
	assert_int_equal(tramp_flow_loops(&flow), TRAMP_CODE_OK);
}

static uint32_t block_at(const uint8_t *place)
{
	for (uint32_t i = 0; i < flow.nblocks; i++) {
		if (tramp_code_base(code) + flow.blocks[i].start == at(place))
			return i;
	}
	return TRAMP_NONE;
}

static const struct tramp_block *last_block(void)
{
	return &flow.blocks[flow.nblocks - 1];
}

static size_t count_ends(enum tramp_end ends)
{
	size_t n = 0;

	for (uint32_t i = 0; i < flow.nblocks; i++)
		n += flow.blocks[i].ends == ends;
	return n;
}

static void straight_line(void **state)
{
	(void)state;
	build(FN_straight);
	assert_int_equal(flow.nblocks, 1);
	assert_int_equal(flow.nops, 3);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_RET);
	assert_int_equal(flow.blocks[0].flags, TRAMP_BLOCK_ENTRY);
	assert_int_equal(flow.flags, 0);
}

static void branches(void **state)
{
	(void)state;
	build(FN_diamond);
	assert_int_equal(flow.nblocks, 4);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_JCC);
	assert_int_equal(flow.blocks[0].target, 2);
	assert_int_equal(flow.blocks[0].next, 1);
	assert_int_equal(flow.blocks[1].target, 3);
	assert_int_equal(flow.blocks[2].ends, TRAMP_END_FALL);
	assert_int_equal(flow.blocks[3].idom, 0);
	assert_int_equal(flow.nloops, 0);
}

static void loops(void **state)
{
	(void)state;
	build(FN_self_loop);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_JCC);
	assert_int_equal(flow.blocks[0].target, 0);
	assert_int_equal(flow.nloops, 1);
	build(FN_two_loops);
	assert_int_equal(flow.nloops, 2);
	assert_int_equal(flow.blocks[0].loop_depth, 1);
	assert_int_equal(flow.blocks[1].loop_depth, 2);
	assert_int_equal(flow.blocks[2].loop_depth, 1);
	assert_int_equal(flow.blocks[3].loop_depth, 0);
	assert_int_equal(flow.loops[flow.blocks[0].loop].nblocks, 3);
	assert_int_equal(flow.loops[flow.blocks[1].loop].parent, flow.blocks[0].loop);
	assert_int_equal(flow.flags, 0);
	build(FN_irreducible);
	assert_int_equal(flow.flags, TRAMP_FLOW_IRREDUCIBLE);
}

static void is_target(const uint8_t *place)
{
	uint32_t i = block_at(place);

	assert_true(i != TRAMP_NONE);
	assert_true(flow.blocks[i].flags & TRAMP_BLOCK_TABLE);
	assert_true(flow.blocks[i].flags & TRAMP_BLOCK_EXTERNAL);
	assert_true(tramp_code_external(code, at(place)));
}

static void switches(void **state)
{
	(void)state;
	build(FN_pic_switch);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 1);
	is_target(pic_case0);
	is_target(pic_case1);
	is_target(pic_case2);
	assert_int_equal(flow.flags, 0);
	build(FN_hoisted_switch);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 1);
	is_target(hoisted_case0);
	is_target(hoisted_case1);
	assert_int_equal(flow.nloops, 1);
	assert_int_equal(flow.flags, 0);
	build(FN_label_switch);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 1);
	is_target(label_case0);
	is_target(label_case1);
	is_target(label_case2);
	assert_int_equal(flow.flags, 0);
	build(FN_text_table);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 1);
	is_target(text_case0);
	is_target(text_case1);
	assert_int_equal(flow.flags, 0);
}

static struct tramp_counts counts;

/* Executions of the block for each time that control comes into the function, in @of parts. */
static int times(uint32_t block, int of)
{
	return (int)(counts.likely[block].times * of + 0.5);
}

static void guess(uint32_t fn)
{
	build(fn);
	assert_true(tramp_count_guess(&counts, &flow));
}

static void likely_times(void **state)
{
	(void)state;
	guess(FN_diamond);
	assert_int_equal(times(0, 1), 1);
	assert_int_equal(times(1, 10), 5);
	assert_int_equal(times(2, 10), 5);
	assert_int_equal(times(3, 1), 1);
	guess(FN_two_loops);
	assert_int_equal(times(0, 1), 8);
	assert_int_equal(times(1, 1), 64);
	assert_int_equal(times(3, 10), 10);
	guess(FN_pic_switch);
	assert_int_equal(times(block_at(pic_case0), 12), 2);
	assert_int_equal(times(block_at(pic_case2), 12), 2);
	assert_int_equal(times(flow.nblocks - 1, 12), 8);
	/* what calls an endless function is apart, and what leads there alone */
	guess(FN_calls_dies);
	assert_true(counts.likely[1].seldom);
	assert_false(counts.likely[0].seldom);
	assert_int_equal(times(1, 51), 1);
	assert_int_equal(times(block_at(behind_dies) == TRAMP_NONE ? 2 : 3, 51), 50);
	tramp_counts_free(&counts);
}

/* The cold part has no name and is reached through the table alone. */
static void cold_part(void **state)
{
	(void)state;
	assert_int_equal(tramp_code_function(code, at(cold_switch_cold)), FN_cold_switch);
	build(FN_cold_switch);
	is_target(cold_case0);
	is_target(cold_switch_cold);
	assert_int_equal(count_ends(TRAMP_END_RET), 2);
	build(FN_cold_switch_cold);
	assert_int_equal(flow.fn, FN_cold_switch);
}

static void indirect_tails(void **state)
{
	static const uint32_t tails[] = { FN_virtual_tail, FN_frame_tail, FN_got_tail };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		build(tails[i]);
		assert_int_equal(last_block()->ends, TRAMP_END_TAIL_IND);
		assert_int_equal(flow.flags, 0);
	}
	build(FN_switch_and_tail);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 1);
	assert_int_equal(count_ends(TRAMP_END_TAIL_IND), 1);
	is_target(both_case1);
	build(FN_strange_jump);
	assert_int_equal(last_block()->ends, TRAMP_END_UNSURE);
	assert_int_equal(flow.flags, TRAMP_FLOW_UNSURE);
}

static void computed_gotos(void **state)
{
	(void)state;
	build(FN_computed_goto);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 2);
	assert_true(flow.blocks[block_at(label0)].flags & TRAMP_BLOCK_EXTERNAL);
	assert_true(flow.blocks[block_at(label1)].flags & TRAMP_BLOCK_EXTERNAL);
	assert_int_equal(flow.flags, 0);
}

/* After alloca() the frame says that control does not leave. */
static void framed_gotos(void **state)
{
	(void)state;
	build(FN_framed_goto);
	assert_int_equal(count_ends(TRAMP_END_SWITCH), 2);
	assert_int_equal(flow.flags, 0);
}

static void direct_tails(void **state)
{
	(void)state;
	build(FN_tail_call);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_TAIL);
	assert_true(flow.blocks[0].target_addr == at(straight));
	build(FN_tail_jcc);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_TAIL_JCC);
	assert_true(flow.blocks[0].target_addr == at(straight));
	assert_int_equal(flow.blocks[0].next, 1);
	build(FN_into_another);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_TAIL);
	build(FN_entered_inside);
	assert_int_equal(flow.nblocks, 2);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_FALL);
	assert_int_equal(flow.blocks[1].flags, TRAMP_BLOCK_EXTERNAL);
	build(FN_falls);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_TAIL_FALL);
	assert_true(flow.blocks[0].target_addr == at(fallen_into));
	assert_int_equal(flow.flags, 0);
	build(FN_checks);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_TAIL_JCC);
	assert_int_equal(flow.blocks[0].next, 1);
	assert_int_equal(flow.blocks[1].ends, TRAMP_END_TAIL_FALL);
	assert_true(flow.blocks[1].target_addr == at(checked));
	assert_int_equal(flow.flags, 0);
}

static void no_return(void **state)
{
	(void)state;
	build(FN_dies);
	assert_int_equal(flow.blocks[0].ends, TRAMP_END_NORETURN);
	build(FN_calls_dies);
	assert_int_equal(count_ends(TRAMP_END_NORETURN), 1);
	assert_int_equal(block_at(behind_dies), TRAMP_NONE);
}

static void odd_code(void **state)
{
	(void)state;
	build(FN_lock_skip);
	assert_int_equal(flow.flags, TRAMP_FLOW_OVERLAP);
	assert_int_equal(flow.nops, 5);
	assert_int_equal(last_block()->ends, TRAMP_END_RET);
	assert_int_equal(flow.blocks[1].next, 3);
	assert_int_equal(flow.blocks[2].next, 3);
	build(FN_runs_into_data);
	assert_int_equal(flow.flags, TRAMP_FLOW_BAD_CODE);
}

static void is_live(tramp_regs live, int reg)
{
	assert_true(live & TRAMP_REG(reg));
}

static void is_dead(tramp_regs live, int reg)
{
	assert_false(live & TRAMP_REG(reg));
}

static void live_registers(void **state)
{
	tramp_regs live;

	(void)state;
	build(FN_dead_regs);
	live = flow.blocks[0].live_in;
	is_dead(live, TRAMP_RCX);
	is_dead(live, TRAMP_R8);
	is_dead(live, TRAMP_RAX);
	is_live(live, TRAMP_R9);	/* not touched, so callers may rely on it */
	is_live(live, TRAMP_RBX);
	is_dead(live, TRAMP_ZF);
	live = tramp_flow_live_at(&flow, 0, 2);
	is_live(live, TRAMP_RCX);
	is_live(live, TRAMP_R8);
	is_dead(tramp_flow_live_at(&flow, 0, 3), TRAMP_RCX);
	is_dead(last_block()->live_out, TRAMP_R11);	/* nobody can rely on it */
	is_live(last_block()->live_out, TRAMP_R9);
	build(FN_local_callee);
	is_live(last_block()->live_out, TRAMP_R11);
	build(FN_joined);
	is_live(last_block()->live_out, TRAMP_R11);
	build(FN_partial);
	is_live(flow.blocks[0].live_in, TRAMP_RCX);
	build(FN_zeroing);
	is_dead(flow.blocks[0].live_in, TRAMP_RCX);
	is_dead(flow.blocks[0].live_in, TRAMP_R9);
	build(FN_preserves);
	is_live(last_block()->live_out, TRAMP_R8);
	is_live(last_block()->live_out, TRAMP_R11);	/* it destroys nothing: not by the ABI, maybe */
	build(FN_thunk_user);
	is_live(flow.blocks[0].live_out, TRAMP_R11);
	is_dead(flow.blocks[0].live_in, TRAMP_RDI);
}

static tramp_regs left_with(uint32_t fn)
{
	build(fn);
	return last_block()->live_out;
}

static void flags_after_calls(void **state)
{
	(void)state;
	is_live(left_with(FN_flags_for_reader), TRAMP_ZF);
	is_dead(left_with(FN_flags_for_nobody), TRAMP_ZF);
	is_live(left_with(FN_flags_for_later), TRAMP_ZF);	/* through a call that leaves them */
	is_dead(left_with(FN_flags_for_others), TRAMP_ZF);
	is_dead(left_with(FN_flags_writes), TRAMP_ZF);
}

static void live_vectors(void **state)
{
	tramp_regs live;

	(void)state;
	build(FN_vectors);
	live = flow.blocks[0].live_in;
	is_live(live, TRAMP_XMM + 1);
	is_dead(live, TRAMP_XMM + 2);
	is_live(live, TRAMP_XMM + 3);	/* its other half stays */
	is_dead(live, TRAMP_XMM + 4);
	is_dead(live, TRAMP_XMM + 5);
	is_dead(live, TRAMP_UPPER + 5);	/* zeroed */
	is_live(live, TRAMP_UPPER + 2);	/* legacy instructions leave it, and callers may rely on that */
	is_live(live, TRAMP_XMM + 6);
	is_live(live, TRAMP_UPPER + 7);
	live = last_block()->live_out;
	is_live(live, TRAMP_XMM);	/* may be the result */
	is_live(live, TRAMP_XMM + 15);	/* not touched */
	is_dead(live, TRAMP_XMM + 2);
	is_live(tramp_flow_live_at(&flow, 0, 7), TRAMP_XMM + 5);
	is_dead(tramp_flow_live_at(&flow, 0, 8), TRAMP_XMM + 5);
	build(FN_masks);
	live = flow.blocks[0].live_in;
	is_dead(live, TRAMP_K + 1);
	is_live(live, TRAMP_K + 2);
	is_live(live, TRAMP_K);		/* without a mask, no register is read, nor written */
	is_live(live, TRAMP_XMM + 8);	/* merged into */
	is_dead(live, TRAMP_XMM + 9);
	is_dead(live, TRAMP_XMM + 10);
	is_live(live, TRAMP_HIGH_VECTORS);
	is_dead(tramp_flow_live_at(&flow, 0, 5), TRAMP_UPPER + 8);
	assert_int_equal(flow.ops[3].use & TRAMP_MASKS, 0);
	build(FN_constants);
	live = flow.blocks[0].live_in;
	is_dead(live, TRAMP_RCX);
	is_dead(live, TRAMP_R8);
	is_live(live, TRAMP_R9);
}

static void live_flags(void **state)
{
	(void)state;
	build(FN_flag_callee);
	is_live(flow.blocks[0].live_out, TRAMP_ZF);
	is_dead(flow.blocks[0].live_in, TRAMP_ZF);
	build(FN_straight);
	is_dead(flow.blocks[0].live_out, TRAMP_ZF);
	build(FN_shifts);
	is_live(tramp_flow_live_at(&flow, 0, 1), TRAMP_CF);	/* cl may be 0 */
	is_dead(flow.blocks[0].live_in, TRAMP_CF);
	is_live(flow.blocks[0].live_in, TRAMP_DF);
}

/* Whatever the bytes are, no facts make it read beyond them, run for ever, or leave its arrays. */
static void random_bytes(void **state)
{
	static uint8_t bytes[4096];
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 300; round++) {
		struct tramp_bytes range = { .addr = 0x401000, .bytes = bytes, .code = true };
		struct tramp_fn parts[3] = {
			{ .addr = 0x401000, .size = 1000, .flags = TRAMP_FN_FRAMED },
			{ .addr = 0x401400, .size = 500, .flags = TRAMP_FN_MAYBE_PART },
			{ .addr = 0x401600, .size = 5000, .flags = TRAMP_FN_PART, .parent = 0 },
		};
		uint64_t taken[] = { 0x401010, 0x401011, 0x4017ff, 0x409999 };
		struct tramp_facts facts = { .bytes = &range, .nbytes = 1, .fns = parts, .nfns = 3,
					     .taken = taken, .ntaken = 4, .pads = taken, .npads = 2 };
		struct tramp_flow f = { 0 };
		struct tramp_code *c;

		for (size_t i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1664525 + 1013904223;
			bytes[i] = (uint8_t)(seed >> 24);
			if (seed % 7 == 0)	/* short jumps, so that there are many edges */
				bytes[i] = 0x70 + (seed >> 16) % 16;
		}
		range.len = 2048 + seed % 2048;
		assert_int_equal(tramp_code_new(&facts, &c), TRAMP_CODE_OK);
		for (uint32_t fn = 0; fn < 3; fn++) {
			assert_int_equal(tramp_flow_build(&f, c, fn), TRAMP_CODE_OK);
			tramp_flow_live(&f);
			assert_int_equal(tramp_flow_loops(&f), TRAMP_CODE_OK);
		}
		tramp_flow_free(&f);
		tramp_code_free(c);
	}
}

static int open_code(void **state)
{
	static const uint8_t *const starts[] = {
#define START(name) name,
		LIST(START)
	};
	static const uint8_t *const ends[] = {
#define STOP(name) name##_end,
		LIST(STOP)
	};
	static struct tramp_bytes ranges[2];
	static uint64_t taken[5];
	static struct tramp_facts facts;

	(void)state;
	for (int i = 0; i < NFNS; i++) {
		fns[i].addr = at(starts[i]);
		fns[i].size = at(ends[i]) - at(starts[i]);
	}
	fns[FN_cold_switch_cold].flags |= TRAMP_FN_MAYBE_PART;
	ranges[0] = (struct tramp_bytes){ .addr = at(shapes_start), .bytes = shapes_start,
		.len = (size_t)(at(shapes_end) - at(shapes_start)), .code = true };
	ranges[1] = (struct tramp_bytes){ .addr = at(shapes_data), .bytes = shapes_data,
		.len = (size_t)(at(shapes_data_end) - at(shapes_data)) };
	taken[0] = at(computed_goto);
	taken[1] = at(label0);
	taken[2] = at(label1);
	taken[3] = at(label2);
	taken[4] = at(label3);
	facts = (struct tramp_facts){ .bytes = ranges, .nbytes = 2, .fns = fns, .nfns = NFNS,
		.taken = taken, .ntaken = 5 };
	return tramp_code_new(&facts, &code) == TRAMP_CODE_OK ? 0 : -1;
}

static int close_code(void **state)
{
	(void)state;
	tramp_flow_free(&flow);
	tramp_code_free(code);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(straight_line), cmocka_unit_test(branches), cmocka_unit_test(loops),
		cmocka_unit_test(switches), cmocka_unit_test(likely_times), cmocka_unit_test(cold_part), cmocka_unit_test(indirect_tails),
		cmocka_unit_test(computed_gotos), cmocka_unit_test(framed_gotos), cmocka_unit_test(direct_tails),
		cmocka_unit_test(no_return), cmocka_unit_test(odd_code), cmocka_unit_test(live_registers),
		cmocka_unit_test(flags_after_calls), cmocka_unit_test(live_vectors),
		cmocka_unit_test(live_flags), cmocka_unit_test(random_bytes),
	};

	return cmocka_run_group_tests(tests, open_code, close_code);
}
