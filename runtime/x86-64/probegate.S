/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_probe_gate: called by a probe's slow path, between any two instructions of the
 * program, with the stack pointer beyond the red zone.  Everything is kept, the direction flag too.
 */
#include "runtime/x86-64/saved.h"

	.text
	.globl	sonde_rt_probe_gate
	.type	sonde_rt_probe_gate, @function
sonde_rt_probe_gate:
	.cfi_startproc
	begin_gate
	mov	8(%rbp), %rdi
	lea	16(%rbp), %rsi
	mov	%rbp, %rdx
	and	$-16, %rsp
	cld
	call	rt_probe_slow
	end_gate
	ret
	.cfi_endproc
	.size	sonde_rt_probe_gate, . - sonde_rt_probe_gate

	.section .note.GNU-stack, "", @progbits
