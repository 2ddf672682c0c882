/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_first: called at the entry of a function that has not been called before, with the stack pointer beyond the red
 * zone, 128 bytes below where it was.  Everything is kept, flags too.  Goes on to where rt_first() says.
 */
#include "runtime/x86-64/saved.h"

	.text
	.globl	sonde_rt_first
	.type	sonde_rt_first, @function
sonde_rt_first:
	.cfi_startproc
	begin_gate
	mov	8(%rbp), %rdi
	and	$-16, %rsp
	cld
	call	rt_first
	mov	%rax, 8(%rbp)
	end_gate
	ret	$128
	.cfi_endproc
	.size	sonde_rt_first, . - sonde_rt_first

	.section .note.GNU-stack, "", @progbits
