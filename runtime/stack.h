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

#endif
#endif /* SONDE_RUNTIME_STACK_H */
