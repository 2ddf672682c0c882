/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What threads.c and threadrun.c share. */
#ifndef SONDE_INJECTOR_PROCESS_THREADS_PRIVATE_H
#define SONDE_INJECTOR_PROCESS_THREADS_PRIVATE_H

#include "injector/process/threads.h"

#define INJ_SYSCALL_LEN 2
extern const uint8_t inj_syscall_insn[INJ_SYSCALL_LEN];

/*
 * Until the thread's next stop; one that could run, but gets no processor, is given more time, and with @patient any.  That the first
 * thread of a process has ended is not reported before all others have.
 * Errors: GONE, SYSTEM with ETIMEDOUT.
 */
enum inj_status inj_thread_await_stop(const struct inj_threads *t, pid_t tid, bool patient, int *status) INJ_CHECK;

/* Errors: GONE, SYSTEM. */
enum inj_status inj_thread_set_regs(struct inj_thread *th, const struct user_regs_struct *regs) INJ_CHECK;

/* Chooses t->caller anew.  False: all are gone. */
bool inj_threads_choose_caller(struct inj_threads *t);

/* For t->target.syscall. */
enum inj_status inj_threads_call(struct inj_target *target, long nr, const uint64_t args[6], int64_t *result);

#endif
