/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_mem_gate: called by a check of a mirror that records memory, between any two instructions of
 * the program, with the stack pointer beyond the red zone.  Everything is kept, but for the register that the
 * runtime gives a new value.
 *
 * The registers are saved in the order of their numbers: regs[0..15], then the flags.
 */
	.text
	.globl	sonde_rt_mem_gate
	.type	sonde_rt_mem_gate, @function
sonde_rt_mem_gate:
	.cfi_startproc
	pushf
	.cfi_adjust_cfa_offset 8
	push	%r15
	.cfi_adjust_cfa_offset 8
	push	%r14
	.cfi_adjust_cfa_offset 8
	push	%r13
	.cfi_adjust_cfa_offset 8
	push	%r12
	.cfi_adjust_cfa_offset 8
	push	%r11
	.cfi_adjust_cfa_offset 8
	push	%r10
	.cfi_adjust_cfa_offset 8
	push	%r9
	.cfi_adjust_cfa_offset 8
	push	%r8
	.cfi_adjust_cfa_offset 8
	push	%rdi
	.cfi_adjust_cfa_offset 8
	push	%rsi
	.cfi_adjust_cfa_offset 8
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	push	%rsp
	.cfi_adjust_cfa_offset 8
	push	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	push	%rdx
	.cfi_adjust_cfa_offset 8
	push	%rcx
	.cfi_adjust_cfa_offset 8
	push	%rax
	.cfi_adjust_cfa_offset 8
	mov	%rsp, %rbx
	.cfi_def_cfa_register %rbx
	mov	136(%rbx), %rdi
	mov	%rbx, %rsi
	lea	144(%rbx), %rdx
	and	$-16, %rsp
	cld
	call	rt_mem_slow
	mov	%rbx, %rsp
	.cfi_def_cfa_register %rsp
	pop	%rax
	.cfi_adjust_cfa_offset -8
	pop	%rcx
	.cfi_adjust_cfa_offset -8
	pop	%rdx
	.cfi_adjust_cfa_offset -8
	pop	%rbx
	.cfi_adjust_cfa_offset -8
	lea	8(%rsp), %rsp
	.cfi_adjust_cfa_offset -8
	pop	%rbp
	.cfi_adjust_cfa_offset -8
	pop	%rsi
	.cfi_adjust_cfa_offset -8
	pop	%rdi
	.cfi_adjust_cfa_offset -8
	pop	%r8
	.cfi_adjust_cfa_offset -8
	pop	%r9
	.cfi_adjust_cfa_offset -8
	pop	%r10
	.cfi_adjust_cfa_offset -8
	pop	%r11
	.cfi_adjust_cfa_offset -8
	pop	%r12
	.cfi_adjust_cfa_offset -8
	pop	%r13
	.cfi_adjust_cfa_offset -8
	pop	%r14
	.cfi_adjust_cfa_offset -8
	pop	%r15
	.cfi_adjust_cfa_offset -8
	popf
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	sonde_rt_mem_gate, . - sonde_rt_mem_gate

	.section .note.GNU-stack, "", @progbits
