/* SPDX-License-Identifier: MIT */
/*
 * A C library beside the program's own, or beside none: the guest.  Modules that need one, in programs that offer no such
 * thing, are loaded by a dynamic linker of their own, which the injector has mapped (injector/guest/guest.h).
 *
 *	thread of the program        FS base: the program's TCB          │ the guest's, one for each thread
 *	 function ──▶ stub ──▶ sonde_rt_guest_enter  ─────────────────────────▶ wrapper ──▶ printf(), malloc(), ...
 *	              original ◀────────────────────  sonde_rt_guest_real ◀──── SONDE_REAL()
 *
 * What is the guest's own is done by the agent (agent.c), a small program that its dynamic linker has loaded, with the
 * guest's FS base.
 */
#ifndef SONDE_RUNTIME_GUEST_LAYOUT_H
#define SONDE_RUNTIME_GUEST_LAYOUT_H

/* In the pool: see struct rt_thread. */
#define RT_POOL_GUEST 0x1b0
#define RT_POOL_GUEST_PROGRAM 0x1b8
#define RT_POOL_GUEST_FRAME 0x1c0
#define RT_POOL_GUEST_INSIDE 0x1c8

/* struct rt_guest_desc, in r11 at sonde_rt_guest_enter and sonde_rt_guest_real. */
#define RT_GUEST_TARGET 0
#define RT_GUEST_NEXT 8
#define RT_GUEST_WORDS 16

#define RT_GUEST_WORDS_UNKNOWN 32 /* stack arguments that are handed on where it is not known how many there are */

#define RT_GUEST_READY 0x736f6e6465 /* number of the system call by which the agent says that it is ready */

#ifndef __ASSEMBLER__

#include <stdint.h>

struct rt_guest_desc {
	uint64_t target; /* enter: the wrapper; real: what SONDE_REAL() is to call */
	uint64_t next;	 /* enter: where the call goes if the guest is not to be entered */
	uint64_t words;	 /* of stack arguments, an even number */
};

#define RT_GUEST_MAGIC UINT64_C(0x3174736575476453)
#define RT_GUEST_MODULES 64

/*
 * What the agent tells in rdi when it is ready.  Functions are called with the FS base of a thread of the guest's.
 *
 * create  makes a TLS block, and what belongs to it; the TCB, or 0: there is no memory
 * begin   on that TCB: the thread @tid has it from now on; @again: another one had it before.  0: it is of no use any more
 * finish  on the TCB of a thread that does nothing else: what exit() does, but for the end
 */
struct rt_guest_agent {
	uint64_t magic;
	uint64_t tcb, spare;		 /* of the thread that runs now; of one that is to come */
	uint64_t create, begin, finish;	 /* uint64_t (*)(void); uint64_t (*)(uint64_t tid, uint64_t again); void (*)(void) */
	uint64_t sbrk, brk, thread;	 /* functions that must not be called any more; 0: there is none */
	uint64_t nmodules;		 /* that are loaded */
	uint64_t bases[RT_GUEST_MODULES];
	char problem[512];		 /* why the next one is not; "": all are */
};

#endif
#endif
