/* SPDX-License-Identifier: MIT */
/*
 * void rt_on_stack(void (*what)(void *), void *arg, uint64_t top, void *vectors, int xsave)
 *
 * Calls what(arg) on another stack.  Vector and x87 registers are what they are at a program's start meanwhile, and
 * afterwards as before: in `vectors`, of 64-byte alignment, and zero from byte 512 on when first used.
 */
	.section .rodata
	.balign	4
mxcsr:
	.long	0x1f80

	.text
	.globl	rt_on_stack
	.hidden	rt_on_stack
	.type	rt_on_stack, @function
rt_on_stack:
	push	%rbp
	mov	%rsp, %rbp
	push	%rbx
	push	%r12
	mov	%rcx, %rbx
	mov	%r8d, %r12d
	mov	%rdi, %r9
	mov	%rsi, %rdi
	mov	%rdx, %r10
	test	%r12d, %r12d
	jz	1f
	mov	$-1, %eax
	mov	%eax, %edx
	xsave64	(%rbx)
	jmp	2f
1:	fxsave64 (%rbx)
2:	fninit
	ldmxcsr	mxcsr(%rip)
	mov	%r10, %rsp
	call	*%r9
	test	%r12d, %r12d
	jz	3f
	mov	$-1, %eax
	mov	%eax, %edx
	xrstor64 (%rbx)
	jmp	4f
3:	fxrstor64 (%rbx)
4:	lea	-16(%rbp), %rsp
	pop	%r12
	pop	%rbx
	pop	%rbp
	ret
	.size	rt_on_stack, . - rt_on_stack

	.section .note.GNU-stack, "", @progbits
