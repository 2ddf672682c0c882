/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_exec: before a `syscall` instruction of the program that executes another one.  Registers as for the kernel, but
 * for r11: where that instruction is.  rcx and r11 are lost, as they are in any system call; all else is kept, and the red
 * zone is left alone.
 */
	.text
	.globl	sonde_rt_exec
	.type	sonde_rt_exec, @function
sonde_rt_exec:
	lea	-128(%rsp), %rsp
	push	%r11
	pushf
	push	%rax
	push	%rdi
	push	%rsi
	push	%rdx
	push	%r8
	push	%r9
	push	%r10
	push	%rbp
	mov	%rsp, %rbp
	and	$-16, %rsp
	cld
	mov	%rax, %rsi
	call	rt_before_exec
	mov	%rbp, %rsp
	pop	%rbp
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%rax
	popf
	pop	%r11
	lea	128(%rsp), %rsp
	jmp	*%r11
	.size	sonde_rt_exec, . - sonde_rt_exec

	.section .note.GNU-stack, "", @progbits
