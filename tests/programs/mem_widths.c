/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_widths: loops whose variables are of all widths, and wrap around in them. */
#include <stdint.h>
#include <stdio.h>

#include "work.h"

static uint8_t bytes[70000];

#define LOOPS(name, type)                                                                    \
	OPAQUE long name##_up(type from, type to, type step)                                 \
	{                                                                                    \
		long s = 0;                                                                  \
		for (type i = from; i < to; i += step)                                       \
			s += bytes[(uint16_t)i];                                             \
		return s;                                                                    \
	}                                                                                    \
	OPAQUE long name##_down(type from, type to)                                          \
	{                                                                                    \
		long s = 0;                                                                  \
		for (type i = from; i > to; i--)                                             \
			s += bytes[(uint16_t)(i + 3)]++;                                     \
		return s;                                                                    \
	}                                                                                    \
	OPAQUE long name##_around(type i, int n)                                             \
	{                                                                                    \
		long s = 0;                                                                  \
		for (; n > 0; n--, i = (type)(i + 1))                                        \
			s += bytes[(uint16_t)((type)(i * 5) >> 1)];                          \
		return s;                                                                    \
	}                                                                                    \
	OPAQUE long name##_array(const type *v, int n)                                       \
	{                                                                                    \
		long s = 0;                                                                  \
		for (int i = 0; i < n; i++)                                                  \
			s += bytes[(uint8_t)v[i]] + (v[i] > 3);                              \
		return s;                                                                    \
	}

LOOPS(u8, uint8_t)
LOOPS(s8, int8_t)
LOOPS(u16, uint16_t)
LOOPS(s16, int16_t)
LOOPS(u32, uint32_t)
LOOPS(s32, int32_t)
LOOPS(u64, uint64_t)
LOOPS(s64, int64_t)

#define RUN(name, type, high)                                                                        \
	do {                                                                                         \
		type v[] = { 1, 2, (type)-1, 77, 3, (type)-100 };                                    \
		total += name##_up(0, 100, 1) + name##_up(5, 6, 9) + name##_up(100, 120, 7);         \
		total += name##_up(7, 7, 1) + name##_down(100, 3) + name##_down(1, 0);               \
		total += name##_around((type)(high), 60) + name##_around(0, 10);                     \
		total += name##_array(v, 6);                                                         \
		printf(#name " %ld\n", total);                                                       \
	} while (0)

int main(void)
{
	long total = 0;

	for (int i = 0; i < (int)sizeof(bytes); i += 11)
		bytes[i] = (uint8_t)(i * 7);
	RUN(u8, uint8_t, UINT8_MAX - 20);
	RUN(s8, int8_t, INT8_MAX - 20);
	RUN(u16, uint16_t, UINT16_MAX - 20);
	RUN(s16, int16_t, INT16_MAX - 20);
	RUN(u32, uint32_t, UINT32_MAX - 20);
	RUN(s32, int32_t, INT16_MAX);
	RUN(u64, uint64_t, UINT64_MAX - 20);
	RUN(s64, int64_t, -20);
	return 0;
}
