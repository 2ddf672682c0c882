/* SPDX-License-Identifier: MIT */
/*
 * Signals that arrive in arenas.  The program's handlers are entered through thunks of ours, which take
 * the interrupted thread out of a probe before the handler runs.
 */
#ifndef SONDE_RUNTIME_SIGNALS_H
#define SONDE_RUNTIME_SIGNALS_H

/* A ucontext as the kernel makes it (asm/ucontext.h, asm/sigcontext.h), in words. */
#define RT_UC_REGS 5 /* registers begin here; the following count from here */
#define RT_UC_R10 2
#define RT_UC_RDI 8
#define RT_UC_RSI 9
#define RT_UC_RBP 10
#define RT_UC_RDX 12
#define RT_UC_RAX 13
#define RT_UC_RSP 15
#define RT_UC_RIP 16
#define RT_UC_FLAGS 17
#define RT_UC_TRAP 20 /* the number of the exception */

#ifndef __ASSEMBLER__

#include <stdint.h>

#include "runtime/config.h"
#include "trampolines/mirror/codemap.h"

struct rt_thread;

#define RT_LAHF_FLAGS 0xd5u /* of the low byte: SF ZF AF PF CF */
#define RT_OVERFLOW_FLAG 0x800u

/* @ax: the flags as lahf and seto %al leave them. */
static inline void rt_put_back_flags(uint64_t *regs, uint64_t ax)
{
	uint64_t flags = regs[RT_UC_FLAGS] & ~(uint64_t)(RT_LAHF_FLAGS | RT_OVERFLOW_FLAG);

	flags |= ax >> 8 & RT_LAHF_FLAGS;
	flags |= ax & 1 ? RT_OVERFLOW_FLAG : 0;
	regs[RT_UC_FLAGS] = flags;
}

/* The kernel's order of registers (asm/sigcontext.h), by the processor's numbers. */
static inline uint64_t *rt_reg(uint64_t *regs, unsigned int number)
{
	static const uint8_t place_of[16] = { 13, 14, 12, 11, 15, 10, 9, 8, 0, 1, 2, 3, 4, 5, 6, 7 };

	return &regs[place_of[number & 15]];
}

/*
 * The probe of shape @map at @start was interrupted, with the registers @regs (the kernel's order), by a
 * thread whose pool is @t: changes them (and rsp, flags, rip) to those before or after the
 * probe, and does what the probe had only half done.
 */
__attribute__((visibility("hidden"))) void rt_put_back(const struct rt_probe_map *map, uint64_t start,
						       uint64_t *regs, struct rt_thread *t);

#endif
#endif
