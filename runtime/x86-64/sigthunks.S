/* SPDX-License-Identifier: MIT */
/*
 * sonde_rt_sigaction: in place of a `syscall` instruction of the program that calls rt_sigaction.  Registers
 * as for the kernel, but for r11: where to go on.  As with `syscall` rcx and r11 are lost, and all else
 * but rax is kept; the red zone is left alone.  Other system calls than rt_sigaction are made as they are
 * (those that return on another stack, or not at all, cannot come this way).
 *
 * rt_thunks: what the kernel calls in place of the program's handlers, one thunk for each.  It leaves to the
 * handler the stack and the registers as the kernel made them.
 *
 * sonde_rt_restored: in place of __restore_rt.  The stack pointer is at the ucontext; all registers come from there.
 */
#include <asm/unistd.h>
#include "runtime/config.h"
#include "runtime/stack.h"
#include "runtime/x86-64/saved.h"

#define SIG_SETMASK 2

	.text
	.globl	sonde_rt_sigaction
	.type	sonde_rt_sigaction, @function
sonde_rt_sigaction:
	lea	-128(%rsp), %rsp
	push	%r11
	pushf
	cmp	$__NR_rt_sigaction, %eax
	jne	2f
	save_for_c
	mov	%r10, %rcx
	call	rt_sigaction
	restore_after_c
1:	popf
	pop	%r11
	lea	128(%rsp), %rsp
	jmp	*%r11
2:	syscall
	jmp	1b
	.size	sonde_rt_sigaction, . - sonde_rt_sigaction

/*
 * Up to rt_arrive_blocked a further signal may come; its thunk then does this one's work, too (undone() in signals.c): before
 * rt_arrive_saved the registers are as the kernel made them, after it they are below rbp.
 */
	.globl	rt_arrive, rt_arrive_saved, rt_arrive_blocked
	.hidden	rt_arrive, rt_arrive_saved, rt_arrive_blocked
	.type	rt_arrive, @function
rt_arrive:
	push	%rbp
	mov	%rsp, %rbp
	push_all
rt_arrive_saved:
	and	$-16, %rsp
	sub	$16, %rsp
	cmpq	$0, sonde_rt_config + RT_CONFIG_PARKED(%rip)
	je	rt_arrive_blocked
	testb	$0, -RT_STACK(%rsp)
	mov	$SIG_SETMASK, %edi
	lea	every_signal(%rip), %rsi
	mov	%rsp, %rdx
	mov	$8, %r10d
	mov	$__NR_rt_sigprocmask, %eax
	syscall
rt_arrive_blocked:
	mov	-24(%rbp), %rdi
	mov	-40(%rbp), %rsi
	cld
	call	rt_signal_arrived
	test	%eax, %eax
	jnz	2f
	cmpq	$0, sonde_rt_config + RT_CONFIG_PARKED(%rip)
	je	1f
	mov	$SIG_SETMASK, %edi
	mov	%rsp, %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$__NR_rt_sigprocmask, %eax
	syscall
1:	lea	-72(%rbp), %rsp
	pop_all
	ret
	/* as if the handler had returned */
2:	lea	16(%rbp), %rsp
	ret
	.size	rt_arrive, . - rt_arrive

	.section .rodata
	.balign	8
every_signal:
	.quad	-1
	.text

	.globl	sonde_rt_thunks
	.type	sonde_rt_thunks, @function
	.globl	rt_thunks
	.hidden	rt_thunks
	.type	rt_thunks, @function
	.balign	RT_THUNK_BYTES
sonde_rt_thunks:
rt_thunks:
	.set	i, 0
	.rept	RT_THUNKS
	call	rt_arrive
	jmp	*(rt_handlers + 8 * i)(%rip)
	.balign	RT_THUNK_BYTES
	.set	i, i + 1
	.endr
	.size	rt_thunks, . - rt_thunks

	.globl	sonde_rt_restored
	.type	sonde_rt_restored, @function
sonde_rt_restored:
	mov	%rsp, %rbx
	mov	%rsp, %rdi
	and	$-16, %rsp
	cld
	call	rt_restored
	mov	%rbx, %rsp
	mov	$__NR_rt_sigreturn, %eax
	syscall
	.size	sonde_rt_restored, . - sonde_rt_restored

/*
 * sonde_rt_enter and others: run by a stopped thread for whoever stopped it, on the thread's stack.  They end with a system call
 * that does not exist, which is waited for.  If nobody does, who stopped it has been killed: the thread goes on by itself.
 */
#define UC_REG(n) (8 * (5 + (n)))
#define UC_MASK 296

	.macro	stopped name, function
	.globl	\name
	.type	\name, @function
\name:
	mov	%rdi, %rbx
	and	$-16, %rsp
	cld
	call	\function
	mov	$-1, %eax
	jmp	sonde_rt_departed
	.size	\name, . - \name
	.endm

	stopped	sonde_rt_enter, rt_enter
	stopped	sonde_rt_come, rt_come
	stopped	sonde_rt_rest, rt_rest
	stopped	sonde_rt_depart, rt_depart

	.globl	sonde_rt_departed
	.type	sonde_rt_departed, @function
sonde_rt_departed:
	syscall
	mov	$SIG_SETMASK, %edi
	lea	UC_MASK(%rbx), %rsi
	xor	%edx, %edx
	mov	$8, %r10d
	mov	$__NR_rt_sigprocmask, %eax
	syscall
	mov	UC_REG(15)(%rbx), %rcx
	lea	-(128 + 16)(%rcx), %rcx	/* below the red zone: flags, and where to go on */
	mov	UC_REG(17)(%rbx), %rax
	mov	%rax, (%rcx)
	mov	UC_REG(16)(%rbx), %rax
	mov	%rax, 8(%rcx)
	mov	UC_REG(0)(%rbx), %r8
	mov	UC_REG(1)(%rbx), %r9
	mov	UC_REG(2)(%rbx), %r10
	mov	UC_REG(3)(%rbx), %r11
	mov	UC_REG(4)(%rbx), %r12
	mov	UC_REG(5)(%rbx), %r13
	mov	UC_REG(6)(%rbx), %r14
	mov	UC_REG(7)(%rbx), %r15
	mov	UC_REG(8)(%rbx), %rdi
	mov	UC_REG(9)(%rbx), %rsi
	mov	UC_REG(10)(%rbx), %rbp
	mov	UC_REG(12)(%rbx), %rdx
	mov	UC_REG(13)(%rbx), %rax
	mov	%rcx, %rsp
	mov	UC_REG(14)(%rbx), %rcx
	mov	UC_REG(11)(%rbx), %rbx
	popf
	ret	$128
	.size	sonde_rt_departed, . - sonde_rt_departed

	.section .note.GNU-stack, "", @progbits
