// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Says of each call, as `sonde dump' does, what arguments it has and what it returns.  With a number: threads that make as many calls
 * each, of a function that says nothing.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define APART __attribute__((noinline, noclone))
#ifdef __clang__
#undef APART
#define APART __attribute__((noinline))
#endif

enum color { RED, GREEN = 5, BLUE = -7 };
struct pair { int a, b; };
struct mixed { double x; long n; };
struct large { long v[5]; };

static const char *name_of(enum color c)
{
	return c == RED ? "RED" : c == GREEN ? "GREEN" : "BLUE";
}

APART int integers(int a, unsigned short b, signed char c, long d, uint64_t e, int16_t f, int g, unsigned char h, long i)
{
	printf("enter integers a=%d b=%u c=%d d=%ld e=%" PRIu64 " f=%d g=%d h=%u i=%ld\n", a, b, c, d, e, f, g, h, i);
	printf("leave integers return=%d\n", a - g);
	return a - g;
}

APART float floats(float a, double b, int n, double c, float d, double e, double f, double g, double h, double i, float j)
{
	printf("enter floats a=%.17g b=%.17g n=%d c=%.17g d=%.17g e=%.17g f=%.17g g=%.17g h=%.17g i=%.17g j=%.17g\n", (double)a, b, n,
	       c, (double)d, e, f, g, h, i, (double)j);
	printf("leave floats return=%.17g\n", (double)(a + j));
	return a + j;
}

APART enum color named(enum color c, bool yes, void *p, bool no)
{
	printf("enter named c=\"%s\" yes=\"%s\" p=0x%" PRIxPTR " no=\"%s\"\n", name_of(c), yes ? "true" : "false", (uintptr_t)p,
	       no ? "true" : "false");
	printf("leave named return=\"%s\"\n", c == RED ? "BLUE" : "RED");
	return c == RED ? BLUE : RED;
}

APART double structures(struct pair p, int n, struct mixed m, struct large l, double x, struct mixed more, long last)
{
	printf("enter structures p=\"{...}\" n=%d m=\"{...}\" l=\"{...}\" x=%.17g more=\"{...}\" last=%ld\n", n, x, last);
	printf("leave structures return=%.17g\n", x + p.a + m.x + (double)l.v[4] + more.x);
	return x + p.a + m.x + (double)l.v[4] + more.x;
}

APART struct large returns_large(int n, const char *s)
{
	struct large l = { { n } };

	printf("enter returns_large n=%d s=\"%s\"\nleave returns_large\n", n, s);
	return l;
}

APART const char *strings(const char *s, char *t, const char *shown)
{
	printf("enter strings s=\"%s\" t=\"%s\" shown=\"%s\"\n", shown, t ? t : "(null)", shown);
	__asm__ volatile("" : : "r"(s) : "memory");
	printf("leave strings return=\"%s\"\n", t ? t : "(null)");
	return t;
}

APART long silent(long a, long b, long c)
{
	__asm__ volatile("" : : : "memory");
	return a + b * c;
}

static void *calls(void *arg)
{
	long n = *(long *)arg;

	for (long i = 0; i < n; i++)
		if (silent(i, 3, i + 1) != i + 3 * (i + 1))
			abort();
	return NULL;
}

static void make_threads(long n)
{
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		if (pthread_create(&t[i], NULL, calls, &n))
			abort();
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

int main(int argc, char **argv)
{
	char *page = mmap((void *)0x200000000000, 2 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[400], *end = page + 4096 - 5;

	if (argc > 1) {
		make_threads(atol(argv[1]));
		return 0;
	}
	integers(-1, 65535, -128, -5000000000, UINT64_MAX, -32768, 7, 255, INT64_MIN);
	integers(2147483647, 0, 127, 1, 2, 3, 4, 5, 6);
	floats(1.5f, -0.1, 3, 1e300, -2.25f, 3, 4, 5, 6, 7.125, 8.5f);
	named(RED, true, page, false);
	named(BLUE, false, NULL, true);
	structures((struct pair){ 1, 2 }, -3, (struct mixed){ 4, 5 }, (struct large){ { 6, 7, 8, 9, 10 } }, 0.5,
		   (struct mixed){ 1, 2 }, 99);
	returns_large(12, "back");
	memset(text, 'x', sizeof(text));
	text[256] = 0;
	strings("hello", "a text", "hello");
	strings("", NULL, "");
	strings(text, "", text);
	strings((const char *)16, "t", "(bad pointer)");
	strings((const char *)(uintptr_t)0x8000000000000000, "t", "(bad pointer)");
	/* a string that goes on where nothing can be read */
	munmap(page + 4096, 4096);
	memcpy(end, "abcde", 5);
	strings(end, "t", "abcde");
	return 0;
}
