/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_gate: jumped to by a stub, at the entry of a wrapped function, with the function's
 * arguments in place and r11 = the stub's descriptor.  Every register that may carry an argument
 * is kept (al counts vector registers for variadic functions, r10 is the static chain); the
 * runtime uses no vector registers.  Goes on to where rt_gate_decide() says.
 */
	.text
	.globl	sonde_rt_gate
	.type	sonde_rt_gate, @function
sonde_rt_gate:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rax
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	push	%r10
	mov	%r11, %rdi
	lea	8(%rbp), %rsi
	and	$-16, %rsp
	cld
	call	rt_gate_decide
	mov	%rax, %r11
	lea	-64(%rbp), %rsp
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%rax
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	sonde_rt_gate, . - sonde_rt_gate

	.section .note.GNU-stack, "", @progbits
