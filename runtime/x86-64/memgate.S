/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_mem_gate: called by a check of a mirror that records memory, between any two instructions of
 * the program, with the stack pointer beyond the red zone.  Everything is kept, but for the register that the
 * runtime gives a new value.
 *
 * What it saves is at fixed places from rsp: regs[0..15] by their numbers, flags, signal mask.  So when a signal
 * arrives before all are blocked, or after they are not any more, leave_gate() in memsignal.c can tell from the PC
 * where the program's registers are.
 */
#include <asm/unistd.h>
#include "runtime/memory/memory.h"
#include "runtime/stack.h"

#define SIG_SETMASK 2
#define SIGSET_BYTES 8
#define FLAGS 128
#define MASK 136

	.section .rodata
	.balign	8
all_signals:
	.quad	-1

	.text
	.globl	sonde_rt_mem_gate
	.type	sonde_rt_mem_gate, @function
sonde_rt_mem_gate:
	lea	-RT_MEM_FRAME(%rsp), %rsp
	.globl	rt_mem_gate_saves
	.hidden	rt_mem_gate_saves
rt_mem_gate_saves:
	mov	%rax, 0(%rsp)
	mov	%rcx, 8(%rsp)
	mov	%rdx, 16(%rsp)
	mov	%rbx, 24(%rsp)
	mov	%rbp, 40(%rsp)
	mov	%rsi, 48(%rsp)
	mov	%rdi, 56(%rsp)
	mov	%r8, 64(%rsp)
	mov	%r9, 72(%rsp)
	mov	%r10, 80(%rsp)
	mov	%r11, 88(%rsp)
	mov	%r12, 96(%rsp)
	mov	%r13, 104(%rsp)
	mov	%r14, 112(%rsp)
	mov	%r15, 120(%rsp)
	pushf
	.globl	rt_mem_gate_lower1
	.hidden	rt_mem_gate_lower1
rt_mem_gate_lower1:
	pop	FLAGS(%rsp)
	.globl	rt_mem_gate_saved
	.hidden	rt_mem_gate_saved
rt_mem_gate_saved:
	testb	$0, -RT_STACK(%rsp)
	mov	$__NR_rt_sigprocmask, %eax
	mov	$SIG_SETMASK, %edi
	lea	all_signals(%rip), %rsi
	lea	MASK(%rsp), %rdx
	mov	$SIGSET_BYTES, %r10d
	syscall
	.globl	rt_mem_gate_blocked
	.hidden	rt_mem_gate_blocked
rt_mem_gate_blocked:
	mov	%rsp, %rbx
	mov	RT_MEM_FRAME(%rbx), %rdi
	mov	%rbx, %rsi
	lea	(RT_MEM_FRAME + 8)(%rbx), %rdx
	and	$-16, %rsp
	cld
	call	rt_mem_slow
	mov	%rbx, %rsp
	mov	$__NR_rt_sigprocmask, %eax
	mov	$SIG_SETMASK, %edi
	lea	MASK(%rsp), %rsi
	xor	%edx, %edx
	mov	$SIGSET_BYTES, %r10d
	syscall
	.globl	rt_mem_gate_restores
	.hidden	rt_mem_gate_restores
rt_mem_gate_restores:
	mov	0(%rsp), %rax
	mov	8(%rsp), %rcx
	mov	16(%rsp), %rdx
	mov	24(%rsp), %rbx
	mov	40(%rsp), %rbp
	mov	48(%rsp), %rsi
	mov	56(%rsp), %rdi
	mov	64(%rsp), %r8
	mov	72(%rsp), %r9
	mov	80(%rsp), %r10
	mov	88(%rsp), %r11
	mov	96(%rsp), %r12
	mov	104(%rsp), %r13
	mov	112(%rsp), %r14
	mov	120(%rsp), %r15
	push	FLAGS(%rsp)
	.globl	rt_mem_gate_lower2
	.hidden	rt_mem_gate_lower2
rt_mem_gate_lower2:
	popf
	lea	RT_MEM_FRAME(%rsp), %rsp
	.globl	rt_mem_gate_restored
	.hidden	rt_mem_gate_restored
rt_mem_gate_restored:
	ret
	.globl	rt_mem_gate_end
	.hidden	rt_mem_gate_end
rt_mem_gate_end:
	.size	sonde_rt_mem_gate, . - sonde_rt_mem_gate

/*
 * In place of a restorer that is not led to us; see runtime/signals/origin.c.
 */
	.globl	sonde_rt_mem_restorer
	.globl	rt_mem_restorer
	.hidden	rt_mem_restorer
	.type	rt_mem_restorer, @function
sonde_rt_mem_restorer:
rt_mem_restorer:
	jmp	sonde_rt_restored
	.size	rt_mem_restorer, . - rt_mem_restorer

	.section .note.GNU-stack, "", @progbits
