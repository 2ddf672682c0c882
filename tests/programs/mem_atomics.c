/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_atomics: atomic instructions, bit strings, x87, areas of state. */
#include <math.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "work.h"

static _Atomic int counter[16];
static _Atomic uint64_t wide[4];
static _Atomic uint8_t byte[4];
static uint64_t bits[64] __attribute__((aligned(64)));
static long double real[40];
static char area[4096] __attribute__((aligned(64)));

OPAQUE int adds(int n)
{
	int s = 0;

	for (int i = 0; i < n; i++) {
		s += atomic_fetch_add(&counter[i % 16], i);
		atomic_fetch_or(&counter[i % 7], 1 << (i & 7));
		s += atomic_exchange(&counter[i % 5], i);
		atomic_fetch_xor(&byte[i % 4], (uint8_t)i);
		atomic_fetch_sub(&wide[i % 4], (uint64_t)i);
		s += (int)atomic_fetch_and(&wide[i % 3], ~(uint64_t)i);
	}
	return s;
}

OPAQUE int compares(int n)
{
	int failed = 0;

	for (int i = 0; i < n; i++) {
		int old = i & 3;
		uint64_t was = atomic_load(&wide[i % 4]);

		failed += !atomic_compare_exchange_strong(&counter[i % 4], &old, i);
		while (!atomic_compare_exchange_weak(&wide[i % 4], &was, was * 3 + 1))
			;
		atomic_store(&byte[i % 4], (uint8_t)old);
	}
	return failed;
}

OPAQUE int pairs(int n)
{
	static uint64_t pair[2] __attribute__((aligned(16)));
	uint64_t a = 0, d = 0;
	char same;
	int s = 0;

	for (int i = 0; i < n; i++) {
		__asm__ volatile("lock cmpxchg16b %1" : "=@ccz"(same), "+m"(pair), "+a"(a), "+d"(d)
				 : "b"(a + 1), "c"(d + (uint64_t)i) : "memory");
		s += same;
		__asm__ volatile("lock cmpxchg8b %1" : "=@ccz"(same), "+m"(pair[i & 1]), "+a"(a), "+d"(d)
				 : "b"(5), "c"(6) : "memory");
		s += same;
	}
	return s;
}

#define BIT(op, type, suffix)                                                                             \
	OPAQUE int op##suffix(type *at, type number)                                                      \
	{                                                                                                 \
		char was;                                                                                 \
		__asm__ volatile(#op #suffix " %2, %1" : "=@ccc"(was), "+m"(*at) : "r"(number) : "memory"); \
		return was;                                                                               \
	}
BIT(bt, uint16_t, w)
BIT(bt, uint32_t, l)
BIT(bt, uint64_t, q)
BIT(bts, uint16_t, w)
BIT(btr, uint32_t, l)
BIT(btc, uint64_t, q)

OPAQUE int bit_strings(int n)
{
	int s = 0;
	char was;

	for (int i = -n; i < n; i++) {
		uint64_t *middle = bits + 32;

		s += btw((uint16_t *)middle, (uint16_t)(i * 17)) + btl((uint32_t *)middle, (uint32_t)(i * 29));
		s += btq(middle, (uint64_t)(int64_t)(i * 31)) + btsw((uint16_t *)middle, (uint16_t)(i * 7));
		s += btrl((uint32_t *)middle, (uint32_t)(i * 3)) + btcq(middle, (uint64_t)(int64_t)i);
		__asm__ volatile("lock btsl $5, %1\n\tsetc %0" : "=q"(was), "+m"(bits[3]) : : "cc");
		s += was;
	}
	return s;
}

OPAQUE long double x87(int n)
{
	long double s = 0;
	short word;
	int half;
	int64_t whole;

	for (int i = 1; i < n; i++) {
		real[i] = sqrtl(real[i - 1] * i + 1) / 3;
		s += real[i] > 1 ? real[i] : (long double)(float)real[i] + (double)i;
		__asm__ volatile("fldl2e; fistps %0; fldpi; fistpl %1; fldpi; fistpll %2"
				 : "=m"(word), "=m"(half), "=m"(whole));
		s += word + half + whole;
		__asm__ volatile("fildll %0; fbstp %1; fildl %2; fisttpll %0" : "+m"(whole), "=m"(real[i]) : "m"(half));
	}
	return s;
}

OPAQUE void states(int n)
{
	unsigned mxcsr;
	unsigned short control;

	for (int i = 0; i < n; i++) {
		__asm__ volatile("fnstcw %0; fldcw %0" : "=m"(control));
		__asm__ volatile("stmxcsr %0; ldmxcsr %0" : "=m"(mxcsr));
		__asm__ volatile("fnstenv (%0); fldenv (%0)" : : "r"(area + 64 * i) : "memory");
		__asm__ volatile("fnsave (%0); frstor (%0)" : : "r"(area + 64 * i) : "memory");
		__asm__ volatile("fxsave (%0); fxrstor (%0)" : : "r"(area + 64 * i) : "memory");
	}
}

int main(void)
{
	printf("%d %d %d\n", adds(60), compares(40), pairs(9));
	printf("%d\n", bit_strings(30));
	real[0] = 2;
	printf("%.9Lg\n", x87(30));
	states(5);
	return 0;
}
