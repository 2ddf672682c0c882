// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/unit/wrap/machine.h"

/*
 * RIP-relative moves need no base register and change no flag, so that all sixteen registers and
 * the flags can be loaded and stored.
 */
struct machine machine_state __attribute__((visibility("hidden")));
uint64_t machine_host_rsp __attribute__((visibility("hidden")));
const void *machine_entry __attribute__((visibility("hidden")));

void machine_switch(void) __attribute__((visibility("hidden")));

#define LOAD(reg, n) "	mov	machine_state+8*" #n "(%rip), %" #reg "\n"
#define STORE(reg, n) "	mov	%" #reg ", machine_state+8*" #n "(%rip)\n"
#define ALL(op)									\
	op(rax, 0) op(rcx, 1) op(rdx, 2) op(rbx, 3) op(rbp, 5) op(rsi, 6) op(rdi, 7)	\
	op(r8, 8) op(r9, 9) op(r10, 10) op(r11, 11) op(r12, 12) op(r13, 13) op(r14, 14)	\
	op(r15, 15)

asm(".pushsection .text\n"
    "	.globl	machine_switch, machine_landing\n"
    "	.hidden	machine_switch\n"
    "	.type	machine_switch, @function\n"
    "	.type	machine_landing, @function\n"
    "machine_switch:\n"
    "	push	%rbx\n	push	%rbp\n"
    "	push	%r12\n	push	%r13\n	push	%r14\n	push	%r15\n"
    "	push	machine_state+128(%rip)\n"
    "	popf\n"
    "	movups	machine_state+136(%rip), %xmm0\n"
    "	mov	%rsp, machine_host_rsp(%rip)\n"
    ALL(LOAD) LOAD(rsp, 4)
    "	jmp	*machine_entry(%rip)\n"
    "machine_landing:\n"
    ALL(STORE) STORE(rsp, 4)
    "	mov	machine_host_rsp(%rip), %rsp\n"
    "	pushf\n"
    "	pop	machine_state+128(%rip)\n"
    "	cld\n"
    "	movups	%xmm0, machine_state+136(%rip)\n"
    "	pop	%r15\n	pop	%r14\n	pop	%r13\n	pop	%r12\n"
    "	pop	%rbp\n	pop	%rbx\n"
    "	ret\n"
    ".popsection\n");

void machine_run(struct machine *m, const void *entry)
{
	machine_state = *m;
	machine_entry = entry;
	machine_switch();
	*m = machine_state;
}
