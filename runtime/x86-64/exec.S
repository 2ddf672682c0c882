/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_exec: before a `syscall` instruction of the program that executes another one.  Registers as for the kernel, but
 * for r11: where that instruction is.  rcx and r11 are lost, as they are in any system call; all else is kept, and the red
 * zone is left alone.
 */
#include "runtime/x86-64/saved.h"

	.text
	.globl	sonde_rt_exec
	.type	sonde_rt_exec, @function
sonde_rt_exec:
	lea	-128(%rsp), %rsp
	push	%r11
	pushf
	push	%rax
	save_for_c
	mov	%rax, %rsi
	call	rt_before_exec
	restore_after_c
	pop	%rax
	popf
	pop	%r11
	lea	128(%rsp), %rsp
	jmp	*%r11
	.size	sonde_rt_exec, . - sonde_rt_exec

	.section .note.GNU-stack, "", @progbits
