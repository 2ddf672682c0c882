/* SPDX-License-Identifier: MIT */
/*
 * For assembly: what is kept of a program's registers while C functions run.  The stack is the caller's to have left the red
 * zone.
 */
#ifndef SONDE_RUNTIME_X86_64_SAVED_H
#define SONDE_RUNTIME_X86_64_SAVED_H

/* In place of a system call; rax, rcx, r11 and the flags are the caller's own to keep. */
	.macro	save_for_c
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
	.endm

	.macro	restore_after_c
	mov	%rbp, %rsp
	pop	%rbp
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rdx
	pop	%rsi
	pop	%rdi
	.endm

/* Between any two instructions, after `push %rbp; mov %rsp, %rbp`: every general register that C may change. */
	.macro	push_all
	push	%rax
	push	%rcx
	push	%rdx
	push	%rsi
	push	%rdi
	push	%r8
	push	%r9
	push	%r10
	push	%r11
	.endm

	.macro	pop_all
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
	.endm

/* The beginning and the end of a gate, which is called: all that push_all pushes, flags too.  The stack is aligned meanwhile. */
	.macro	begin_gate
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push_all
	pushf
	.endm

	.macro	end_gate
	lea	-80(%rbp), %rsp
	popf
	pop_all
	.cfi_def_cfa %rsp, 8
	.endm

#endif
