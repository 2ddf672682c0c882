/* SPDX-License-Identifier: GPL-3.0-or-later */
/* usage: mem_strings: string instructions, of all widths, with all prefixes, up and down, of nothing and of much. */
#include <stdio.h>
#include <string.h>

#include "work.h"

static char from[1024] __attribute__((aligned(64))), to[1024] __attribute__((aligned(64)));

#define MOVES(suffix)                                                                                       \
	OPAQUE char *movs_##suffix(char *d, const char *s, long n)                                          \
	{                                                                                                   \
		__asm__ volatile("rep movs" #suffix : "+D"(d), "+S"(s), "+c"(n) : : "memory");              \
		return d;                                                                                   \
	}                                                                                                   \
	OPAQUE char *stos_##suffix(char *d, long n)                                                         \
	{                                                                                                   \
		__asm__ volatile("rep stos" #suffix : "+D"(d), "+c"(n) : "a"(0x1122334455667788) : "memory"); \
		return d;                                                                                   \
	}                                                                                                   \
	OPAQUE const char *lods_##suffix(const char *s, long n)                                             \
	{                                                                                                   \
		__asm__ volatile("rep lods" #suffix : "+S"(s), "+c"(n) : : "rax", "memory");                \
		return s;                                                                                   \
	}                                                                                                   \
	OPAQUE long scas_##suffix(const char *d, long n, long x)                                            \
	{                                                                                                   \
		__asm__ volatile("repne scas" #suffix : "+D"(d), "+c"(n) : "a"(x) : "memory", "cc");        \
		return n + d[-1];                                                                           \
	}                                                                                                   \
	OPAQUE long scase_##suffix(const char *d, long n, long x)                                           \
	{                                                                                                   \
		__asm__ volatile("repe scas" #suffix : "+D"(d), "+c"(n) : "a"(x) : "memory", "cc");         \
		return n;                                                                                   \
	}                                                                                                   \
	OPAQUE long cmps_##suffix(const char *d, const char *s, long n)                                     \
	{                                                                                                   \
		__asm__ volatile("repe cmps" #suffix : "+D"(d), "+S"(s), "+c"(n) : : "memory", "cc");       \
		return n + s[-1];                                                                           \
	}                                                                                                   \
	OPAQUE long one_##suffix(char *d, const char *s, int n)                                             \
	{                                                                                                   \
		long x = 0;                                                                                 \
		while (n--)                                                                                 \
			__asm__ volatile("movs" #suffix "\n\tlods" #suffix "\n\tscas" #suffix "\n\tcmps" #suffix \
					 "\n\tstos" #suffix                                                 \
					 : "+D"(d), "+S"(s), "+a"(x) : : "memory", "cc");                   \
		return x & 255;                                                                             \
	}                                                                                                   \
	OPAQUE void back_##suffix(char *d, const char *s, long n)                                           \
	{                                                                                                   \
		__asm__ volatile("std\n\trep movs" #suffix "\n\tcld" : "+D"(d), "+S"(s), "+c"(n) : : "memory"); \
	}

MOVES(b)
MOVES(w)
MOVES(l)
MOVES(q)

#define RUN(suffix, bytes)                                                                       \
	do {                                                                                     \
		for (int n = 0; n < 4; n++)                                                      \
			movs_##suffix(to + n, from + 2 * n, n * n);                              \
		movs_##suffix(to, from, 1000 / bytes);                                           \
		movs_##suffix(to + 1, to, 100 / bytes);                                          \
		stos_##suffix(to + 100, 3);                                                      \
		stos_##suffix(to + 100, 0);                                                      \
		lods_##suffix(from, 5);                                                          \
		printf("%ld ", scas_##suffix(from, 1000 / bytes, 0));                            \
		printf("%ld ", scas_##suffix(from, 3, 0x7777777777777777));                      \
		printf("%ld ", scas_##suffix(from, 0, 0));                                       \
		memset(to, 9, 64);                                                               \
		printf("%ld ", scase_##suffix(to, 40, 0x0909090909090909));                      \
		memcpy(to, from, 512);                                                           \
		to[77]++;                                                                        \
		printf("%ld ", cmps_##suffix(to, from, 400 / bytes));                            \
		printf("%ld ", cmps_##suffix(to, from, 2));                                      \
		printf("%ld\n", one_##suffix(to, from, 5));                                      \
		back_##suffix(to + 500, from + 500, 10);                                         \
		back_##suffix(to + 500, from + 500, 0);                                          \
	} while (0)

/* The compiler's own. */
struct big { char b[300]; };
static struct big one, two;
OPAQUE void assign(struct big *a, const struct big *b) { *a = *b; }
OPAQUE void clear(struct big *a) { *a = (struct big){ 0 }; }
OPAQUE int by_value(struct big b, int i) { return b.b[i]; }

int main(void)
{
	for (int i = 0; i < 1024; i++)
		from[i] = (char)(i < 600 ? i % 100 + 1 : 0);
	RUN(b, 1);
	RUN(w, 2);
	RUN(l, 4);
	RUN(q, 8);
	memcpy(&one, from, sizeof(one));
	assign(&two, &one);
	printf("%d\n", by_value(two, 120));
	clear(&one);
	return one.b[3];
}
