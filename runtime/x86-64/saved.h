/* SPDX-License-Identifier: MIT */
/*
 * For assembly: what a system call's registers are while C functions run in its place.  The stack is the caller's to
 * have left the red zone; rax, rcx, r11 and the flags are its own to keep.
 */
#ifndef SONDE_RUNTIME_X86_64_SAVED_H
#define SONDE_RUNTIME_X86_64_SAVED_H

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

#endif
