/* SPDX-License-Identifier: MIT */
/*
 * System calls, made directly: the runtime calls nothing in the program.  Results are the
 * kernel's: a negative errno on failure; the program's errno is never touched.
 */
#ifndef SONDE_RUNTIME_X86_64_SYS_H
#define SONDE_RUNTIME_X86_64_SYS_H

#include <stdint.h>
#include <asm/unistd.h>

static inline int64_t sys6(uint64_t nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
			   uint64_t f)
{
	int64_t ret;
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}

#define sys0(nr) sys6(nr, 0, 0, 0, 0, 0, 0)
#define sys2(nr, a, b) sys6(nr, (uint64_t)(a), (uint64_t)(b), 0, 0, 0, 0)
#define sys3(nr, a, b, c) sys6(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), 0, 0, 0)
#define sys4(nr, a, b, c, d)                                                                   \
	sys6(nr, (uint64_t)(a), (uint64_t)(b), (uint64_t)(c), (uint64_t)(d), 0, 0)

#define SYS_ESRCH 3
#define SYS_IS_ERROR(r) ((uint64_t)(r) >= (uint64_t)-4095)

/* The kernel's signal set: 64 bits. */
static inline uint64_t sys_block_signals(void)
{
	uint64_t all = ~UINT64_C(0), old = 0;

	sys4(__NR_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &old, 8);
	return old;
}

static inline void sys_restore_signals(uint64_t old)
{
	sys4(__NR_rt_sigprocmask, 2, &old, 0, 8);
}

#define SYS_FUTEX_WAIT 0
#define SYS_FUTEX_WAKE 1

/* Sleeps while *word == value, at most @ms milliseconds. */
static inline void sys_futex_wait(_Atomic uint32_t *word, uint32_t value, unsigned int ms)
{
	int64_t timeout[2] = { ms / 1000, (int64_t)(ms % 1000) * 1000000 };

	sys4(__NR_futex, word, SYS_FUTEX_WAIT, value, timeout);
}

static inline void sys_futex_wake(_Atomic uint32_t *word)
{
	sys3(__NR_futex, word, SYS_FUTEX_WAKE, 0x7fffffff);
}

#define SYS_EFAULT 14

/* Is there a word at @addr?  The kernel copies the set before it sees that there is no such operation: EFAULT or EINVAL. */
static inline int sys_is_readable(uint64_t addr)
{
	return sys4(__NR_rt_sigprocmask, -1, addr, 0, sizeof(uint64_t)) != -SYS_EFAULT;
}

#endif /* SONDE_RUNTIME_X86_64_SYS_H */
