// SPDX-License-Identifier: MIT
/* What compilers call by themselves. */
#include <stddef.h>
#include <stdint.h>

#include "runtime/thread.h"

RT_HIDDEN void *memcpy(void *to, const void *from, size_t n);
RT_HIDDEN void *memset(void *to, int value, size_t n);
RT_HIDDEN void *memmove(void *to, const void *from, size_t n);
RT_HIDDEN int memcmp(const void *a, const void *b, size_t n);

/* Most are of some words: those take longer to begin than to copy with a string instruction. */
#define FEW 128

struct word {
	uint64_t w;
} __attribute__((packed, may_alias));

void *memcpy(void *to, const void *from, size_t n)
{
	uint8_t *d = to;
	const uint8_t *s = from;

	if (n <= FEW) {
		for (; n >= 8; n -= 8, d += 8, s += 8)
			((volatile struct word *)d)->w = ((const struct word *)s)->w;
	}
	__asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return to;
}

void *memset(void *to, int value, size_t n)
{
	uint8_t *d = to;

	__asm__ volatile("rep stosb" : "+D"(d), "+c"(n) : "a"(value) : "memory");
	return to;
}

void *memmove(void *to, const void *from, size_t n)
{
	uint8_t *d = (uint8_t *)to + n - 1;
	const uint8_t *s = (const uint8_t *)from + n - 1;

	if ((uint64_t)to - (uint64_t)from >= n)
		return memcpy(to, from, n);
	__asm__ volatile("std; rep movsb; cld" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
	return to;
}

int memcmp(const void *a, const void *b, size_t n)
{
	const volatile uint8_t *x = a, *y = b;

	for (size_t i = 0; i < n; i++)
		if (x[i] != y[i])
			return x[i] - y[i];
	return 0;
}
