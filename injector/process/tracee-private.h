/* SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef SONDE_INJECTOR_PROCESS_TRACEE_PRIVATE_H
#define SONDE_INJECTOR_PROCESS_TRACEE_PRIVATE_H

#include "injector/process/tracee.h"

#define SYSCALL_STOP (SIGTRAP | 0x80) /* of PTRACE_O_TRACESYSGOOD */

/* t->pid stands at its first instruction: its memory, and how it executes system calls. */
enum inj_status inj_tracee_set_up(struct inj_tracee *t) INJ_CHECK;

/* The registers for system call @nr by the syscall instruction at @insn; those that it keeps are as they were. */
void inj_regs_syscall(struct user_regs_struct *regs, uint64_t insn, long nr, const uint64_t args[6]);

/* Lets it run to a breakpoint instruction.  INJ_REMOTE: it crashed. */
enum inj_status inj_tracee_to_trap(struct inj_tracee *t) INJ_CHECK;

/*
 * Lets it run to where a system call begins, or ends: alternately.  INJ_REMOTE: it crashed, or came to a breakpoint instruction.
 */
enum inj_status inj_tracee_to_syscall(struct inj_tracee *t) INJ_CHECK;

/* Its vector and x87 registers, as the kernel hands them out. */
struct inj_vectors {
	size_t n;
	_Alignas(64) uint8_t bytes[16384];
};
enum inj_status inj_tracee_vectors(struct inj_tracee *t, struct inj_vectors *v) INJ_CHECK;
enum inj_status inj_tracee_set_vectors(struct inj_tracee *t, const struct inj_vectors *v) INJ_CHECK;

#endif
