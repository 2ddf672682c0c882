/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_stacks: the stack: variable arrays, alloca, pushes and pops of all kinds, by assembly and compiler. */
#include <alloca.h>
#include <stdio.h>
#include <string.h>

#include "work.h"

struct big { long v[20]; };

OPAQUE long variable(int n)
{
	long v[n], s = 0;

	for (int i = 0; i < n; i++)
		v[i] = work(i);
	for (int i = 0; i < n; i += 3)
		s += v[i];
	return s;
}

OPAQUE long allocas(int n)
{
	struct list { struct list *next; int i; } *list = NULL;
	long s = 0;

	for (int i = 0; i < n; i++) {
		struct list *l = alloca(sizeof(*l) + (size_t)i * 8);
		l->next = list;
		l->i = i;
		list = l;
	}
	for (; list; list = list->next)
		s = s * 3 + list->i;
	return s;
}

OPAQUE struct big by_value(struct big b, int i)
{
	b.v[i] += b.v[i + 1];
	return i > 3 ? by_value(b, i - 1) : b;
}

OPAQUE long many(long a, long b, long c, long d, long e, long f, long g, long h, int i, char j)
{
	return i > 0 ? many(b, c, d, e, f, g, h, a + j, i - 1, (char)(j + 1)) + h : a + b * c - d * e + f * g - h;
}

OPAQUE long ackermann(long m, long n)
{
	return m == 0 ? n + 1 : ackermann(m - 1, n == 0 ? 1 : ackermann(m, n - 1));
}

#define F(name) "\n.type " #name ",@function\n.globl " #name "\n" #name ":\n\t.cfi_startproc\n"
#define E(name) "\n\t.cfi_endproc\n\t.size " #name ",.-" #name "\n"
__asm__(".text\n.balign 16\n"
	F(push_loop)		/* pushes and pops in loops */
	"	mov %edi, %ecx; mov %edi, %edx; xor %eax, %eax\n"
	"1:	push %rcx; dec %ecx; jnz 1b\n"
	"2:	pop %rsi; imul $3, %eax, %eax; add %esi, %eax; dec %edx; jnz 2b; ret"
	E(push_loop)
	F(push_kinds)
	"	push %rbp; mov %rsp, %rbp; push $5; push $0x12345; pushw $7; pushw %di; push %fs\n"
	"	pushf; push (%rsp); push 8(%rbp); lea -8(%rbp), %rax; push (%rax); pushw (%rax)\n"
	"	popw (%rax); pop (%rax); pop -16(%rbp); pop %rcx; pop %rdx; popf; lea 8(%rsp), %rsp; popw %ax\n"
	"	popw %cx; pop %rdx; add %rdx, %rax; pop %rcx; lea (%rcx,%rdx), %rax; leave; ret"
	E(push_kinds)
	F(pop_rsp)
	"	push %rbx; mov %rsp, %rbx; lea -64(%rsp), %rsp; lea 48(%rsp), %rax; mov %rax, (%rsp); pop %rsp\n"
	"	push %rsp; pop %rax; popq -16(%rsp); mov %rbx, %rsp; pop %rbx; sub %rsp, %rax; ret"
	E(pop_rsp)
	F(frames)
	"	enter $32, $0; mov %rdi, -8(%rbp); mov %edi, %ecx\n"
	"1:	sub %ecx, -8(%rbp); loop 1b; mov -8(%rbp), %rax; leave; ret"
	E(frames)
	F(calls_memory)
	"	sub $8, %rsp; lea three(%rip), %rax; mov %rax, (%rsp); call *(%rsp); add $8, %rsp; ret"
	E(calls_memory)
	F(three)
	"	lea 3(%rdi), %eax; ret"
	E(three)
	F(ret_imm)
	"	mov 8(%rsp), %rax; add 16(%rsp), %rax; ret $16"
	E(ret_imm)
	F(calls_ret_imm)
	"	push %rbx; mov %edi, %ebx; xor %esi, %esi\n"
	"1:	push %rbx; push %rsi; call ret_imm; mov %rax, %rsi; dec %ebx; jnz 1b; pop %rbx; ret"
	E(calls_ret_imm)
	F(aligned_down)
	"	push %rbp; mov %rsp, %rbp; and $-64, %rsp; sub $128, %rsp; mov %edi, %ecx\n"
	"1:	mov %ecx, (%rsp,%rcx,4); mov (%rsp,%rcx,4), %eax; dec %ecx; jns 1b; mov %rbp, %rsp; pop %rbp; ret"
	E(aligned_down)
	F(rsp_walks)		/* the stack pointer as a loop's variable */
	"	mov %rsp, %rdx; lea -240(%rsp), %rsp; xor %eax, %eax\n"
	"1:	mov %eax, (%rsp); inc %eax; add $16, %rsp; cmp %rdx, %rsp; jne 1b; ret"
	E(rsp_walks));

int push_loop(int);
long push_kinds(int), pop_rsp(int), frames(int), calls_memory(int), calls_ret_imm(int), aligned_down(int), rsp_walks(int);

int main(void)
{
	struct big b = { { 1, 2, 3, 4, 5, 6, 7 } };

	for (int i = 1; i < 9; i++)
		printf("%ld %ld\n", variable(i * i), allocas(i));
	b = by_value(b, 6);
	printf("%ld %ld %ld\n", b.v[3], many(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), ackermann(2, 5));
	for (int i = 1; i < 12; i += 3)
		printf("%d %ld %ld %ld %ld %ld %ld %ld\n", push_loop(i), push_kinds(i) & 0, pop_rsp(i), frames(i),
		       calls_memory(i), calls_ret_imm(i), aligned_down(i), rsp_walks(i));
	return 0;
}
