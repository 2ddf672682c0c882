/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_probe_gate: called by a probe's slow path, between any two instructions of the
 * program, with the stack pointer beyond the red zone.  Everything is kept, the direction flag too.
 */
	.text
	.globl	sonde_rt_probe_gate
	.type	sonde_rt_probe_gate, @function
sonde_rt_probe_gate:
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
	lea	16(%rbp), %rsi
	and	$-16, %rsp
	cld
	call	rt_probe_slow
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
	ret
	.cfi_endproc
	.size	sonde_rt_probe_gate, . - sonde_rt_probe_gate

	.section .note.GNU-stack, "", @progbits
