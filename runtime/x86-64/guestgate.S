/* SPDX-License-Identifier: MIT */
/*
 * Where a thread goes into the guest and comes out of it, see runtime/guest/layout.h.  The wrapper gets the registers and the
 * stack arguments of the call, and what it calls gets the wrapper's.  r11 and the flags are free at a function's entry.
 *
 * The pool says that the thread is in the guest from before its FS base is the guest's until after it is the program's again; the
 * pool is closed as long.  So handlers of signals find one or the other, never a guest that they take for the program.
 */
#include <asm/unistd.h>
#include "runtime/guest/layout.h"
#include "runtime/signals/signals.h"
#include "runtime/x86-64/saved.h"
#include "sonde/abi.h"

#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define NOTE_FS (8 * (RT_UC_REGS + 27))
#define NOTE_RESTORER (8 * (RT_UC_REGS + 28))

/* r11 is lost without the instruction; on a stack that is ours. */
	.macro	set_fs	base, slow
	.if	\slow
	push	%rax
	push	%rdi
	push	%rsi
	push	%rcx
	mov	\base, %rsi
	mov	$ARCH_SET_FS, %edi
	mov	$__NR_arch_prctl, %eax
	syscall
	pop	%rcx
	pop	%rsi
	pop	%rdi
	pop	%rax
	.else
	wrfsbase \base
	.endif
	.endm

	.macro	get_fs	base, slow
	.if	\slow
	push	%rax
	push	%rdi
	push	%rsi
	push	%rcx
	push	$0
	mov	%rsp, %rsi
	mov	$ARCH_GET_FS, %edi
	mov	$__NR_arch_prctl, %eax
	syscall
	pop	\base
	pop	%rcx
	pop	%rsi
	pop	%rdi
	pop	%rax
	.else
	rdfsbase \base
	.endif
	.endm

/* What the caller has on the stack above its return address, which is above rbp's: a copy below rsp. */
	.macro	hand_on
	mov	RT_GUEST_WORDS(%rbx), %r11
	test	%r11, %r11
	jz	82f
81:	pushq	8(%rbp,%r11,8)
	dec	%r11
	jnz	81b
82:
	.endm

	.macro	close_pool
	mov	%rsp, %gs:SONDE_POOL_CLOSED_SP
	movq	$0, %gs:SONDE_POOL_OWNER
	movq	$1, %gs:RT_POOL_GUEST_INSIDE
	.endm

	.macro	open_pool
	movq	$0, %gs:RT_POOL_GUEST_INSIDE
	mov	%fs:0, %r11
	mov	%r11, %gs:SONDE_POOL_OWNER
	.endm

	.macro	leave_enter
	lea	-40(%rbp), %rsp
	pop	%r15
	pop	%r14
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	.endm

/* All registers that a callee keeps are in its frame, so that a wrapper that is not to go on can be left. */
	.macro	enter	name, slow
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rbx
	push	%r12
	push	%r13
	push	%r14
	push	%r15
	.cfi_offset %rbx, -24
	.cfi_offset %r12, -32
	.cfi_offset %r13, -40
	.cfi_offset %r14, -48
	.cfi_offset %r15, -56
	mov	%r11, %rbx
	mov	%gs:RT_POOL_GUEST, %r13
	cmpq	$0, rt_guest_shut(%rip)
	jne	2f
	/* where the word at the FS base is 0 the stub takes a closed pool for an open one */
	cmpq	$0, %gs:RT_POOL_GUEST_INSIDE
	jne	2f
	test	%r13, %r13
	jz	2f
1:	get_fs	%r11, \slow
	mov	%r11, %gs:RT_POOL_GUEST_PROGRAM
	push	%gs:RT_POOL_GUEST_FRAME
	mov	%rbp, %gs:RT_POOL_GUEST_FRAME
	hand_on
	close_pool
	set_fs	%r13, \slow
	call	*RT_GUEST_TARGET(%rbx)
	/* what was called may have set another one */
	mov	%gs:RT_POOL_GUEST_PROGRAM, %r11
	set_fs	%r11, \slow
	mov	-48(%rbp), %r11
	mov	%r11, %gs:RT_POOL_GUEST_FRAME
	open_pool
	.cfi_remember_state
	leave_enter
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
	/* its first call, or nobody is to go there any more */
2:	push	%rax
	push	%rdi
	push	%rsi
	push	%rdx
	push	%rcx
	push	%r8
	push	%r9
	push	%r10
	sub	$8, %rsp
	cld
	call	rt_guest_thread
	add	$8, %rsp
	mov	%rax, %r13
	pop	%r10
	pop	%r9
	pop	%r8
	pop	%rcx
	pop	%rdx
	pop	%rsi
	pop	%rdi
	pop	%rax
	test	%r13, %r13
	jnz	1b
	mov	RT_GUEST_NEXT(%rbx), %r11
	leave_enter
	.cfi_def_cfa %rsp, 8
	jmp	*%r11
	.cfi_endproc
	.size	\name, . - \name
	.endm

/* r12: the guest's FS base; r13: the frame of the wrapper's sonde_rt_guest_enter. */
	.macro	real	name, slow
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	push	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	mov	%rsp, %rbp
	.cfi_def_cfa_register %rbp
	push	%rbx
	push	%r12
	push	%r13
	sub	$8, %rsp
	.cfi_offset %rbx, -24
	.cfi_offset %r12, -32
	.cfi_offset %r13, -40
	mov	%r11, %rbx
	get_fs	%r12, \slow
	mov	%gs:RT_POOL_GUEST_FRAME, %r13
	hand_on
	mov	%gs:RT_POOL_GUEST_PROGRAM, %r11
	set_fs	%r11, \slow
	movq	$0, %gs:RT_POOL_GUEST_INSIDE
	/* it stays closed where the original is called by its pointer */
	cmpq	$0, %gs:SONDE_POOL_OWNER
	je	3f
	mov	%fs:0, %r11
	mov	%r11, %gs:SONDE_POOL_OWNER
3:	call	*RT_GUEST_TARGET(%rbx)
	get_fs	%r11, \slow
	mov	%r11, %gs:RT_POOL_GUEST_PROGRAM
	cmp	%r12, %gs:RT_POOL_GUEST
	jne	2f
	cmpq	$0, rt_guest_shut(%rip)
	jne	2f
1:	mov	%r13, %gs:RT_POOL_GUEST_FRAME
	close_pool
	set_fs	%r12, \slow
	.cfi_remember_state
	lea	-24(%rbp), %rsp
	pop	%r13
	pop	%r12
	pop	%rbx
	pop	%rbp
	.cfi_def_cfa %rsp, 8
	ret
	.cfi_restore_state
2:	push	%rax
	push	%rdx
	mov	%r12, %rdi
	mov	%r13, %rsi
	cld
	call	rt_guest_returned
	test	%eax, %eax
	pop	%rdx
	pop	%rax
	jnz	1b
	/* the wrapper's result is what it has called, and its caller goes on */
	mov	%r13, %rbp
	mov	-48(%rbp), %r11
	mov	%r11, %gs:RT_POOL_GUEST_FRAME
	leave_enter
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.text
	enter	sonde_rt_guest_enter, 0
	enter	sonde_rt_guest_enter_slow, 1
	real	sonde_rt_guest_real, 0
	real	sonde_rt_guest_real_slow, 1

/* A handler returns, the stack pointer is at its ucontext; all registers come from there. */
	.macro	restored name, slow
	.globl	\name
	.hidden	\name
	.type	\name, @function
\name:
	mov	NOTE_FS(%rsp), %rbx
	mov	NOTE_RESTORER(%rsp), %rbp
	set_fs	%rbx, \slow
	jmp	*%rbp
	.size	\name, . - \name
	.endm
	restored sonde_rt_guest_restored, 0
	restored sonde_rt_guest_restored_slow, 1

/* Called between any two instructions, below the red zone. */
	.macro	exit	name, thread
	.globl	\name
	.type	\name, @function
\name:
	.cfi_startproc
	begin_gate
	and	$-16, %rsp
	mov	$\thread, %edi
	cld
	call	rt_guest_finish
	end_gate
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm
	exit	sonde_rt_guest_exit, 0
	exit	sonde_rt_guest_exit_thread, 1

	.section .note.GNU-stack, "", @progbits
