/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_first: called at the entry of a function that has not been called before, with the stack pointer beyond the red
 * zone, 128 bytes below where it was.  Everything is kept, flags too.  Goes on to where rt_first() says.
 */
	.text
	.globl	sonde_rt_first
	.type	sonde_rt_first, @function
sonde_rt_first:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	pushf
	mov	8(%rbp), %rdi
	and	$-16, %rsp
	cld
	call	rt_first
	mov	%rax, 8(%rbp)
	lea	-80(%rbp), %rsp
	popf
	pop	%r11
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdi
	pop	%rsi
	pop	%rdx
	pop	%rcx
	pop	%rax
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret	$128
	.cfi_endproc
	.size	sonde_rt_first, . - sonde_rt_first

	.section .note.GNU-stack, "", @progbits
