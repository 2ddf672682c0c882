/* SPDX-License-Identifier: MIT */
/*
 * The program's stack may end where the runtime is called.  A program that handles overflows on another stack is to get
 * its signal while signals are not blocked: a fault afterwards kills it.
 */
#ifndef SONDE_RUNTIME_STACK_H
#define SONDE_RUNTIME_STACK_H

#define RT_STACK 1024 /* more bytes than the runtime takes: 632 as GCC's -fstack-usage tells */

#ifndef __ASSEMBLER__

#include "runtime/x86-64/sys.h"

/* For what is called at any place in the program. */
static inline uint64_t rt_block_signals(void)
{
	__asm__ volatile("testb $0, %c0(%%rsp)" : : "i"(-RT_STACK) : "cc", "memory");
	return sys_block_signals();
}

#define RT_ANOTHER_STACK (UINT64_C(1) << 23) /* what is so far above a frame is on another stack */
#define RT_WRAPPER_FRAME 1024 /* a wrapper's own, above or below where it closed the pool */
#define RT_SS_ONSTACK 1

/* Is it the alternate signal stack that we are on? */
static inline int rt_on_signal_stack(void)
{
	struct {
		uint64_t sp;
		uint32_t flags;
		uint32_t pad;
		uint64_t size;
	} now = { 0 };

	return sys2(__NR_sigaltstack, 0, &now) == 0 && (now.flags & RT_SS_ONSTACK);
}

#endif
#endif /* SONDE_RUNTIME_STACK_H */
