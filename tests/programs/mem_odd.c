/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * usage: mem_odd: loops and addresses in assembly as compilers do not make them.  All take an
 * address, with much around it that they may use, and a small number.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define F(name) "\n.balign 16\n.type " #name ",@function\n.globl " #name "\n" #name ":\n\t.cfi_startproc\n"
#define E(name) "\n\t.cfi_endproc\n\t.size " #name ",.-" #name "\n"

#define ALL(x)                                                                                                  \
	x(loops) x(loopnes) x(jrcxzs) x(addr32) x(fs_based) x(xlats) x(bits_of) x(highs) x(narrow) x(carry)       \
	x(parity) x(signs) x(overflow) x(divides) x(rotates) x(cmovs) x(setccs) x(lahfs) x(mulx) x(xadds)         \
	x(negs) x(no_base) x(three) x(two_latches) x(irreducible) x(inner_call) x(exchanged) x(shifts) x(crcs)    \
	x(swaps) x(partial) x(lea32) x(flags_over) x(self_store) x(test_mem) x(moffs) x(sbbs) x(flag_in) x(into)  \
	x(countdown16) x(equal_ptr) x(double_step) x(movbe_crc) x(cdqs) x(imuls) x(bts_reg) x(bsfs) x(rip_walk)

__asm__(".text\n.balign 16\n"
	F(loops) "mov %esi, %ecx\n1: movb $1, (%rdi,%rcx); loop 1b; mov %ecx, %eax; ret" E(loops)
	F(loopnes) "mov $40, %ecx\n1: cmp %sil, (%rdi,%rcx); loopne 1b; mov %ecx, %eax; ret" E(loopnes)
	F(jrcxzs) "mov %rsi, %rcx\n1: jrcxz 2f; dec %rcx; incl (%rdi,%rcx,4); jmp 1b\n2: mov %ecx, %eax; ret" E(jrcxzs)
	F(addr32) "mov %esi, %ecx\n1: mov (%edi,%ecx,2), %eax; addl $1, 8(%edi); dec %ecx; jns 1b; lea -4(%edi), %edx;"
	"	mov 4(%edx), %al; ret" E(addr32)
	F(fs_based) "mov %fs:0, %rax; mov %fs:(%rsi), %rcx; lea 16(%rsi), %edx\n1: mov %fs:-16(%rdx), %r8d; dec %edx;"
	"	mov %fs:(%rsi), %cl; cmp $14, %edx; ja 1b; xor %eax, %eax; ret" E(fs_based)
	F(xlats) "push %rbx; mov %rdi, %rbx; mov $9, %ecx; mov %esi, %eax\n1: xlat; add %cl, %al; loop 1b; pop %rbx;"
	"	movzbl %al, %eax; ret" E(xlats)
	F(bits_of) "xor %eax, %eax; mov $0x5a5a1234, %ecx\n1: bsf %rcx, %rdx; jz 2f; add (%rdi,%rdx,4), %eax;"
	"	lea -1(%rcx), %rdx; and %rdx, %rcx; jmp 1b\n2: ret" E(bits_of)
	F(highs) "push %rbx; mov %esi, %ebx; mov $5, %bh; xor %eax, %eax\n1: movzbl %bh, %edx; add (%rdi,%rdx), %al;"
	"	movb %bh, (%rdi,%rbx); dec %bh; jnz 1b; pop %rbx; ret" E(highs)
	F(narrow) "mov $250, %ecx; xor %eax, %eax\n1: movzbl %cl, %edx; add (%rdi,%rdx), %al; inc %cl; jnz 1b\n"
	"2: movzwl %cx, %edx; add (%rdi,%rdx), %al; sub $1, %cx; cmp $-5, %cx; jne 2b; ret" E(narrow)
	F(carry) "mov %esi, %ecx; clc; mov $0, %eax\n1: mov (%rdi,%rax,8), %rdx; adc %rdx, 1024(%rdi,%rax,8);"
	"	lea 1(%rax), %rax; dec %ecx; jnz 1b; setc %al; movzbl %al, %eax; ret" E(carry)
	F(parity) "mov %esi, %ecx; mov $60, %edx\n1: dec %edx; js 2f; add $5, %ecx; movb $3, (%rdi,%rdx); test %cl, %cl; jp 1b\n"
	"	xor (%rdi,%rcx), %eax; jmp 1b\n2: xor %eax, %eax; ret" E(parity)
	F(signs) "mov %rsi, %rcx; neg %rcx\n1: movb %cl, 100(%rdi,%rcx); add $1, %rcx; js 1b\n2: mov 100(%rdi,%rcx), %al;"
	"	sub $1, %ecx; cmp $-9, %ecx; movslq %ecx, %rcx; jge 2b; xor %eax, %eax; ret" E(signs)
	F(overflow) "mov $0x7ffffff0, %ecx\n1: lea -0x7ffffff0(%rcx), %edx; movb $1, (%rdi,%rdx); add $1, %ecx; jno 1b;"
	"	xor %eax, %eax\n2: lea 1(%rax), %eax; sub $0x30000000, %ecx; mov %al, (%rdi,%rax); jno 2b; ret" E(overflow)
	F(divides) "mov $3000, %eax; mov $7, %ecx\n1: xor %edx, %edx; div %ecx; incb (%rdi,%rdx); addb $2, (%rdi,%rax);"
	"	test %eax, %eax; jnz 1b; ret" E(divides)
	F(rotates) "mov %esi, %ecx; mov $0x12345678, %eax\n1: rol $7, %eax; movzbl %al, %edx; incb (%rdi,%rdx); ror %cl, %eax;"
	"	mov %eax, %edx; and $1023, %edx; incw (%rdi,%rdx); dec %ecx; jnz 1b; ret" E(rotates)
	F(cmovs) "mov %esi, %ecx; mov %rdi, %rdx; lea 512(%rdi), %r8\n1: test $1, %cl; cmovz %r8, %rdx; cmovnz %rdi, %rdx;"
	"	incl (%rdx,%rcx,4); dec %ecx; jns 1b; xor %eax, %eax; ret" E(cmovs)
	F(setccs) "mov %esi, %ecx; xor %eax, %eax\n1: cmp $3, %ecx; seta %al; setb 64(%rdi,%rax); setne (%rdi,%rcx); dec %ecx;"
	"	jnz 1b; ret" E(setccs)
	F(lahfs) "mov %esi, %ecx; xor %eax, %eax\n1: dec %ecx; lahf; incb (%rdi,%rcx); sahf; jnz 1b; ret" E(lahfs)
	F(mulx) "mov %esi, %ecx; mov $9, %edx; mov $1, %eax\n1: mul %edx; and $1023, %eax; incb (%rdi,%rax); mov $9, %edx; dec %ecx;"
	"	jnz 1b; ret" E(mulx)
	F(xadds) "mov %esi, %ecx; mov $3, %eax\n1: lock xadd %eax, (%rdi,%rcx,4); and $255, %eax; incb (%rdi,%rax);"
	"	xadd %rax, %rcx; sub %rax, %rcx; add %rax, %rcx; mov %rax, %rcx; dec %ecx; jg 1b; xor %eax, %eax; ret" E(xadds)
	F(negs) "mov %rsi, %rcx; lea 2048(%rdi), %rdx\n1: mov %rcx, %rax; neg %rax; not %rax; incb (%rdx,%rax); dec %rcx; jnz 1b;"
	"	xor %eax, %eax; ret" E(negs)
	F(no_base) "mov %esi, %ecx; xor %eax, %eax; shr $2, %rdi\n1: add (,%rdi,4), %eax; lea (,%rcx,8), %edx; dec %ecx; jnz 1b; ret" E(no_base)
	F(three) "push %rbx; xor %eax, %eax; xor %edx, %edx\n1: xor %ecx, %ecx\n2: xor %ebx, %ebx\n3: lea (%rcx,%rbx,4), %r8d;"
	"	add (%rdi,%r8), %al; inc %ebx; cmp %ecx, %ebx; jb 3b; inc %ecx; cmp $5, %ecx; jne 2b; inc %edx; cmp %esi, %edx;"
	"	jbe 1b; pop %rbx; ret" E(three)
	F(two_latches) "mov %esi, %ecx; xor %eax, %eax\n1: sub $1, %ecx; js 3f; incb (%rdi,%rcx); test $3, %cl; jz 1b;"
	"	addb $2, 64(%rdi,%rcx); cmpb $7, 64(%rdi,%rcx); je 1b; inc %eax; jmp 1b\n3: ret" E(two_latches)
	F(irreducible) "mov %esi, %ecx; test $1, %cl; jz 2f\n1: incb (%rdi,%rcx); dec %ecx; js 3f\n2: incb 64(%rdi,%rcx); sub $1, %ecx;"
	"	jns 1b\n3: xor %eax, %eax; ret" E(irreducible)
	F(inner_call) "push %rbx; push %rbp; mov %esi, %ebx; mov %rdi, %rbp\n1: mov %rbp, %rdi; mov %ebx, %esi; call signs; incb (%rbp,%rbx);"
	"	dec %ebx; jnz 1b; pop %rbp; pop %rbx; xor %eax, %eax; ret" E(inner_call)
	F(exchanged) "mov %rsi, %rcx; lea 1024(%rdi), %rdx\n1: xchg %rdi, %rdx; xchg %al, (%rdi,%rcx); xchg %cl, %ch; xchg %ch, %cl;"
	"	dec %rcx; jnz 1b; xor %eax, %eax; ret" E(exchanged)
	F(shifts) "mov %esi, %ecx; mov $1, %edx\n1: mov %edx, %eax; shl %cl, %eax; and $511, %eax; incb (%rdi,%rax); mov $-400, %rax;"
	"	sar $3, %rax; incb 100(%rdi,%rax); mov $0xfff0, %eax; shr $7, %ax; incb (%rdi,%rax); shld $3, %rdx, %rax; shrd $3, %rdx, %rax;"
	"	movzbl %al, %eax; incb (%rdi,%rax); dec %ecx; jnz 1b; ret" E(shifts)
	F(crcs) "mov %esi, %ecx; xor %eax, %eax\n1: crc32l %ecx, %eax; movzbl %al, %edx; incb (%rdi,%rdx); popcnt %eax, %edx; incb (%rdi,%rdx);"
	"	dec %ecx; jnz 1b; ret" E(crcs)
	F(swaps) "mov %esi, %ecx\n1: mov %ecx, %eax; bswap %eax; shr $20, %eax; incb (%rdi,%rax); dec %ecx; jnz 1b; ret" E(swaps)
	F(partial) "mov $-1, %rcx; mov %sil, %cl; xor %edx, %edx\n1: mov %cx, %dx; and $255, %edx; incb (%rdi,%rdx); mov $3, %ah; mov %ah, %dl;"
	"	movsbl %dl, %edx; incb (%rdi,%rdx); dec %cl; jnz 1b; movzwl %cx, %eax; ret" E(partial)
	F(lea32) "mov $0xfffffff8, %ecx\n1: lea 16(%rcx,%rcx), %edx; incb (%rdi,%rdx); lea 8(%ecx), %rdx; incb (%rdi,%rdx); inc %ecx; jnz 1b;"
	"	xor %eax, %eax; ret" E(lea32)
	F(flags_over) "mov %esi, %ecx\n1: cmp $5, %ecx; mov (%rdi,%rcx), %al; lea -1(%rcx), %ecx; jg 1b; jl 2f; incb 9(%rdi)\n2: xor %eax, %eax; ret" E(flags_over)
	F(self_store) "mov %rdi, 128(%rdi); mov %esi, %ecx\n1: mov 128(%rdi), %rdx; incl (%rdx,%rcx,4); mov 128(%rdx), %rdi; dec %ecx; jnz 1b;"
	"	xor %eax, %eax; ret" E(self_store)
	F(test_mem) "mov %esi, %ecx; mov %esi, (%rdi)\n1: testb $1, (%rdi); jz 2f; incb 64(%rdi,%rcx)\n2: decl (%rdi); cmpl $0, (%rdi); mov (%rdi), %ecx;"
	"	jg 1b; xor %eax, %eax; ret" E(test_mem)
	F(moffs) "movabs 0x10000010, %al; movabs %eax, 0x10000020; movabs 0x10000020, %rax; mov 0x10000008, %ecx; add %ecx, 0x10000030;"
	"	movzbl %al, %eax; ret" E(moffs)
	F(sbbs) "mov %esi, %ecx; xor %edx, %edx\n1: cmp $4, %ecx; sbb %rax, %rax; incb 64(%rdi,%rax); and $7, %eax; incb (%rdi,%rax); sbb $0, %edx; dec %ecx;"
	"	jnz 1b; xor %eax, %eax; ret" E(sbbs)
	F(flag_in) "cmp $20, %esi; mov $0, %eax\n1: jg 2f; incb (%rdi,%rax); inc %eax; cmp %esi, %eax; jmp 1b\n2: ret" E(flag_in)
	F(into) "mov %esi, %ecx; test %ecx, %ecx; jmp 2f\n1: incb (%rdi,%rcx)\n2: dec %ecx; jns 1b; xor %eax, %eax; ret" E(into)
	F(countdown16) "mov %esi, %ecx; or $0x70000, %ecx\n1: movzwl %cx, %edx; incb (%rdi,%rdx); dec %cx; jnz 1b; mov %ecx, %eax; ret" E(countdown16)
	F(equal_ptr) "mov %rdi, %rdx; lea (%rdi,%rsi,4), %rcx\n1: cmp %rcx, %rdx; je 2f; incl (%rdx); add $4, %rdx; jmp 1b\n2: xor %eax, %eax; ret" E(equal_ptr)
	F(double_step) "mov %esi, %ecx; xor %edx, %edx\n1: incb (%rdi,%rdx); inc %edx; incb (%rdi,%rdx); add $2, %edx; dec %ecx; incb (%rdi,%rcx); dec %ecx; jg 1b;"
	"	xor %eax, %eax; ret" E(double_step)
	F(movbe_crc) "mov %esi, %ecx\n1: movbe (%rdi,%rcx), %eax; movbe %ax, 64(%rdi,%rcx); dec %ecx; jnz 1b; xor %eax, %eax; ret" E(movbe_crc)
	F(cdqs) "mov %esi, %eax; mov $12, %ecx\n1: cltq; cqto; incb (%rdi,%rdx); cwtl; cltd; incb 8(%rdi,%rax); sub $1, %eax; jns 2f; neg %eax\n2: dec %ecx; jnz 1b; ret" E(cdqs)
	F(imuls) "mov %esi, %ecx\n1: imul $13, %ecx, %eax; incb (%rdi,%rax); imul %rcx, %rax; and $2047, %eax; incb (%rdi,%rax); imul %ecx; and $255, %eax; incb (%rdi,%rax);"
	"	dec %ecx; jnz 1b; ret" E(imuls)
	F(bts_reg) "mov %esi, %ecx; xor %eax, %eax\n1: bts %ecx, %eax; and $1023, %eax; incb (%rdi,%rax); btr $3, %eax; btc %rcx, %rax; and $1023, %eax; incb (%rdi,%rax);"
	"	bt %ecx, %eax; jc 2f; incb (%rdi)\n2: dec %ecx; jnz 1b; ret" E(bts_reg)
	F(bsfs) "mov %esi, %ecx\n1: bsr %ecx, %eax; incb (%rdi,%rax); tzcnt %ecx, %eax; incb (%rdi,%rax); lzcnt %rcx, %rax; incb (%rdi,%rax); dec %ecx; jnz 1b; ret" E(bsfs)
	F(rip_walk) "lea 9f(%rip), %rdx; xor %ecx, %ecx; xor %eax, %eax\n1: add (%rdx,%rcx), %al; inc %ecx; cmp %esi, %ecx; jb 1b; add 9f(%rip), %al; movzbl %al, %eax; ret\n"
	"	.pushsection .rodata; 9: .ascii \"0123456789abcdefghijklmnopqrstuvwxyz\"; .popsection" E(rip_walk));

#define DECLARE(name) int name(char *, long);
ALL(DECLARE)

int main(void)
{
	static const struct { const char *name; int (*f)(char *, long); } v[] = {
#define ENTRY(name) { #name, name },
		ALL(ENTRY)
	};
	char *low = mmap((void *)0x0ff00000, 4 << 20, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

	if (low != (char *)0x0ff00000)
		return 77;
	low += 1 << 20;
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		unsigned sum = 0;

		memset(low, (int)i, 512);
		for (long n = 1; n < 33; n = n * 2 + 1)
			printf("%s(%ld) = %d\n", v[i].name, n, strcmp(v[i].name, "fs_based") ? v[i].f(low, n) : 0);
		if (strcmp(v[i].name, "fs_based") == 0)
			v[i].f(low, 0);
		for (int k = 0; k < 300; k += 4)
			sum = sum * 31 + *(unsigned *)(low + k);
		printf("%u\n", sum);
	}
	return 0;
}
