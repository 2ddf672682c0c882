/* SPDX-License-Identifier: MIT */
/*
 * The guest (layout.h), as the runtime sees it: which TCB of it a thread of the program has, and when it is not entered.
 *
 * Who is in the guest is so in the midst of anything, holding locks perhaps.  Therefore no wrapper of it runs in a signal handler
 * that has interrupted it; if such a handler does not return, nobody enters it any more; and a child of a process
 * with several threads, which has copies of locks that nobody will give up, does not enter it either.
 */
#ifndef SONDE_RUNTIME_GUEST_GUEST_H
#define SONDE_RUNTIME_GUEST_GUEST_H

#include "runtime/thread.h"

/*
 * A thread that is in the guest calls a wrapped function from @sp, with the word @tcb at its FS base: the wrapper
 * itself does, or a handler that has interrupted it.  Not 0: the call is left alone, and has been counted.  0: it is not in
 * the guest, but has been taken out by a handler.
 */
RT_HIDDEN int rt_guest_keeps(struct rt_thread *t, uint64_t sp, uint64_t tcb, uint64_t calls);

/* The word at the FS base of the calling thread in the program; in a hook that runs before the program's own code, that of no TCB. */
static inline uint64_t rt_guest_program_tcb(void)
{
	uint64_t tcb = rt_tcb();

	return tcb == sonde_rt_config.guest_tcb && sonde_rt_config.pre_tls ? sonde_rt_config.pre_tls : tcb;
}

/* A signal has interrupted code with the registers @regs, of its frame; its handler gets the program's FS base. */
RT_HIDDEN void rt_guest_arrived(uint64_t *regs);

/* Where that handler returns to: puts the guest's FS base back, and goes on where it was to return to. */
RT_HIDDEN void sonde_rt_guest_restored(void);
RT_HIDDEN void sonde_rt_guest_restored_slow(void);

/* For the injector: entered with a struct rt_guest_desc in r11; _slow: by system calls, without the instructions for FS. */
void sonde_rt_guest_enter(void);
void sonde_rt_guest_real(void);
void sonde_rt_guest_enter_slow(void);
void sonde_rt_guest_real_slow(void);
/* Called where the process is about to end, or _thread: the thread, and with it the process if it has no other. */
void sonde_rt_guest_exit(void);
void sonde_rt_guest_exit_thread(void);

/* Words of sigcontext's reserved1[], from RT_UC_REGS; those before are origin.c's. */
#define RT_GUEST_NOTE_FS 27
#define RT_GUEST_NOTE_RESTORER 28

#endif
