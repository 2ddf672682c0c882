/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: fn_odd: functions in assembly of shapes that compilers do not make.  All are called with one number
 * and return one.
 */
#include <stdio.h>

#define F(name) "\n.type " #name ",@function\n.globl " #name "\n" #name ":\n\t.cfi_startproc\n"
#define E(name) "\n\t.cfi_endproc\n\t.size " #name ",.-" #name "\n"

__asm__(".text\n.balign 16\n"
	/* a return in the middle, and code after it that is jumped to */
	F(ret_middle)
	"	test $1, %edi; jz 2f; lea 1(%rdi), %eax; ret\n"
	"2:	lea 2(%rdi), %eax; cmp $6, %edi; ja 3f; ret\n"
	"3:	neg %eax; ret"
	E(ret_middle)
	/* jumps to its own start */
	F(own_start)
	"	sub $3, %edi; jg own_start; mov %edi, %eax; ret"
	E(own_start)
	/* the same with endbr64, to its start and after endbr64 */
	F(own_start_endbr)
	"	endbr64\n9:	sub $3, %edi; jg 9b; cmp $-1, %edi; jne 1f; mov $-8, %edi; jmp own_start_endbr\n"
	"1:	mov %edi, %eax; ret"
	E(own_start_endbr)
	/* conditional tail calls, taken and not */
	F(jcc_tail)
	"	cmp $5, %edi; jl ret_middle; je plus_one; sub $1, %edi; cmp $9, %edi; jge own_start\n"
	"	lea (%rdi,%rdi), %eax; ret"
	E(jcc_tail)
	/* falls into the next function */
	F(falls)
	"	add $10, %edi; lea (%rdi,%rdi,2), %edi"
	E(falls)
	F(plus_one)
	"	lea 1(%rdi), %eax; ret"
	E(plus_one)
	/* one byte; padding after */
	".balign 16\n"
	F(one_byte)
	"	ret"
	E(one_byte)
	/* one byte, directly before the next */
	".balign 16\n"
	F(one_byte_tight)
	"	ret"
	E(one_byte_tight)
	F(two_bytes)
	"	xchg %eax, %edi; ret"
	E(two_bytes)
	F(three_bytes)
	"	mov %edi, %eax; ret"
	E(three_bytes)
	F(short_jump)
	"	jmp three_bytes"
	E(short_jump)
	/* takes what was pushed from the stack */
	F(ret_imm)
	"	.cfi_adjust_cfa_offset 0\n	mov 8(%rsp), %rax; add %edi, %eax; ret $8"
	E(ret_imm)
	F(pushes)
	"	push %rdi\n	.cfi_adjust_cfa_offset 8\n	push $40\n	.cfi_adjust_cfa_offset 8\n"
	"	call ret_imm\n	.cfi_adjust_cfa_offset -8\n	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	add %edi, %eax; ret"
	E(pushes)
	/* loop and jrcxz, to the start too */
	F(loops)
	"	mov %edi, %ecx; xor %eax, %eax; jrcxz 2f\n1:	add $3, %eax; loop 1b\n2:	ret"
	E(loops)
	F(loop_first)
	"	jrcxz 1f; sub $1, %ecx; add $2, %edi; jmp loop_first\n1:	mov %edi, %eax; ret"
	E(loop_first)
	F(sets_count)
	"	mov $4, %ecx; jmp loop_first"
	E(sets_count)
	/* enters another function in its middle */
	F(into_middle)
	"	lea 100(%rdi), %edi; jmp into_here"
	E(into_middle)
	F(has_middle)
	"	add $1000, %edi; add $1, %edi\ninto_here:	lea 5(%rdi), %eax; ret"
	E(has_middle)
	/* an indirect tail call, through a register and through memory */
	F(by_register)
	"	lea three_bytes(%rip), %rax; jmp *%rax"
	E(by_register)
	F(by_memory)
	"	jmp *odd_pointer(%rip)"
	E(by_memory)
	F(by_stack)
	"	lea plus_one(%rip), %rax; push %rax\n	.cfi_adjust_cfa_offset 8\n	ret\n	.cfi_adjust_cfa_offset -8"
	E(by_stack)
	/* the address of the next instruction by call, and a call whose return address goes away */
	F(get_pc)
	"	call 1f\n	.cfi_adjust_cfa_offset 8\n1:	pop %rax\n	.cfi_adjust_cfa_offset -8\n"
	"	lea 1b(%rip), %rdx; sub %rdx, %rax; add %edi, %eax; ret"
	E(get_pc)
	/* close calls, no byte between */
	F(close_calls)
	"	push %rbx\n	.cfi_adjust_cfa_offset 8\n	mov %edi, %ebx; call plus_one; mov %eax, %edi; call plus_one\n"
	"	xchg %eax, %edi; call plus_one; call one_byte; add %ebx, %eax; pop %rbx\n	.cfi_adjust_cfa_offset -8\n	ret"
	E(close_calls)
	/* a call is its first and its last instruction but one */
	F(call_first)
	"	call plus_one; ret"
	E(call_first)
	F(call_first_aligned)
	"	call plus_one; call one_byte; call one_byte; ret"
	E(call_first_aligned)
	/* flags as arguments and results */
	F(flags_out)
	"	cmp $7, %edi; ret"
	E(flags_out)
	F(flags_in)
	"	setl %al; movzbl %al, %eax; ret"
	E(flags_in)
	F(flags)
	"	call flags_out; call flags_in; lea (%rax,%rdi,4), %eax; ret"
	E(flags)
	F(carry_out)
	"	add $-8, %edi; ret"
	E(carry_out)
	F(carry)
	"	call carry_out; adc $100, %edi; mov %edi, %eax; ret"
	E(carry)
	/* arguments and results where no convention has them; nothing is free */
	F(all_registers)
	"	add %rax, %rdi; add %rcx, %rdi; add %rdx, %rdi; add %rsi, %rdi; add %r8, %rdi; add %r9, %rdi\n"
	"	add %r10, %rdi; add %r11, %rdi; ret"
	E(all_registers)
	F(uses_all)
	"	mov $1, %eax; mov $2, %ecx; mov $3, %edx; mov $4, %esi; mov $5, %r8d; mov $6, %r9d; mov $7, %r10d\n"
	"	mov $8, %r11d; call all_registers; add %rax, %rdi; add %rcx, %rdi; add %rdx, %rdi; add %rsi, %rdi\n"
	"	add %r8, %rdi; add %r9, %rdi; add %r10, %rdi; lea (%rdi,%r11), %rax; ret"
	E(uses_all)
	/* a red zone that stays in use over a jump */
	F(red_zone)
	"	mov %edi, -8(%rsp); movl $9, -128(%rsp); mov %edi, -16(%rsp); jmp red_end"
	E(red_zone)
	F(red_end)
	"	mov -8(%rsp), %eax; add -128(%rsp), %eax; add -16(%rsp), %eax; ret"
	E(red_end)
	/* prefixes: rep ret, bnd jmp, notrack jmp, and data in the code */
	F(rep_ret)
	"	lea 3(%rdi), %eax; rep ret"
	E(rep_ret)
	F(bnd_jump)
	"	.byte 0xf2, 0xe9; .long plus_one - . - 4"
	E(bnd_jump)
	F(notrack)
	"	lea 1f(%rip), %rdx; notrack jmp *%rdx; .byte 6, 6, 0x0f, 0xff\n1:	mov %edi, %eax; ret"
	E(notrack)
	F(data_within)
	"	lea 1f(%rip), %rdx; and $3, %edi; movslq (%rdx,%rdi,4), %rax; ret; .balign 4\n1:	.long 7, 70, 700, 7000"
	E(data_within)
	/* a table of its own in the code, and jumps by it */
	F(table_within)
	"	lea 9f(%rip), %rdx; mov %edi, %eax; and $3, %eax; movslq (%rdx,%rax,4), %rax; add %rdx, %rax; jmp *%rax\n"
	"1:	lea 1(%rdi), %eax; ret\n2:	jmp plus_one\n3:	add $3, %edi\n4:	mov %edi, %eax; ret\n.balign 4\n"
	"9:	.long 1b-9b, 2b-9b, 3b-9b, 4b-9b"
	E(table_within)
	/* two entries of one body, both called */
	F(first_entry)
	"	mov $50, %eax; jmp 1f"
	E(first_entry)
	F(second_entry)
	"	mov $60, %eax\n1:	add %edi, %eax; ret"
	E(second_entry)
	/* after a return the next begins at once, and is reached by no jump */
	F(enter_leave)
	"	enter $32, $0\n	.cfi_def_cfa_offset 16\n	mov %edi, -4(%rbp); incl -4(%rbp); mov -4(%rbp), %eax; leave\n"
	"	.cfi_def_cfa_offset 8\n	ret"
	E(enter_leave)
	/* its stack is elsewhere while it calls */
	F(other_stack)
	"	mov %rsp, %rax; lea odd_stack+4096(%rip), %rsp; push %rax; call plus_one; pop %rsp; ret"
	E(other_stack)
	".data\n.balign 8\nodd_pointer: .quad plus_one\n.local odd_stack\n.comm odd_stack,8192,16\n.text\n");

#define ALL(X)                                                                                        \
	X(ret_middle) X(own_start) X(own_start_endbr) X(jcc_tail) X(falls) X(plus_one) X(one_byte)    \
	X(one_byte_tight) X(two_bytes) X(three_bytes) X(short_jump) X(pushes) X(loops) X(sets_count)  \
	X(into_middle) X(has_middle) X(by_register) X(by_memory) X(by_stack) X(get_pc)                \
	X(close_calls) X(call_first) X(call_first_aligned) X(flags) X(carry) X(uses_all) X(red_zone)  \
	X(rep_ret) X(bnd_jump) X(notrack) X(data_within) X(table_within) X(first_entry)               \
	X(second_entry) X(enter_leave) X(other_stack)

#define DECLARE(name) long name(long);
ALL(DECLARE)

/* What a function leaves in rax but does not set is not looked at. */
static long sets_nothing(long (*f)(long))
{
	return f == one_byte || f == one_byte_tight;
}

#define ROW(name) { #name, name },
static const struct {
	const char *name;
	long (*f)(long);
} all[] = { ALL(ROW) };

int main(void)
{
	for (unsigned int k = 0; k < sizeof(all) / sizeof(*all); k++) {
		int sum = 0;

		for (int i = 1; i < 14; i++) {
			int r = (int)all[k].f(i);

			sum = sum * 31 + (sets_nothing(all[k].f) ? 0 : r);
		}
		printf("%s %x\n", all[k].name, (unsigned int)sum);
	}
	return 0;
}
