// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * Not a test by itself: flow_exec compiles it in many ways, and changes registers that are said to be dead
 * while it runs.  It prints what it calculates.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

static uint64_t seed = 88172645463325252u;

static APART uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* A dense switch in a loop, with cases that fall through. */
static APART long run_switch(const uint8_t *ops, size_t n)
{
	long a = 1, b = 2, c = 3;

	for (size_t i = 0; i < n; i++) {
		switch (ops[i] % 12) {
		case 0: a += b; break;
		case 1: b ^= c; break;
		case 2: c = c * 3 + a; break;
		case 3: a -= c; /* fall through */
		case 4: b += 5; break;
		case 5: c >>= 1; break;
		case 6: a = a << (c & 7); break;
		case 7: b = -b; break;
		case 8: if (a > b) c++; break;
		case 9: a ^= (long)((unsigned long)b >> 3); break;
		case 10: return a ^ b ^ c;
		default: c -= (long)i;
		}
	}
	return a + b + c;
}

/* Threaded code. */
static APART long run_goto(const uint8_t *ops, size_t n)
{
	static const void *const labels[] = { &&add, &&sub, &&mul, &&rot, &&neg };
	unsigned long acc = 7;
	size_t i = 0;

#define NEXT do { if (i == n) return (long)acc; goto *labels[ops[i++] % 5]; } while (0)
	NEXT;
add:	acc += i; NEXT;
sub:	acc -= 3 * i; NEXT;
mul:	acc *= 5; NEXT;
rot:	acc = acc << 7 | acc >> 57; NEXT;
neg:	acc = ~acc; NEXT;
}

/* Callers may rely on registers that these do not touch. */
static APART int tiny(int x) { return x * 2 + 1; }
static APART int tiny2(int x) { return x ? tiny(x - 1) : 9; }
static APART long uses_tiny(long a, long b, long c, long d, long e, long f)
{
	long x = a * b;
	int y = tiny((int)c);

	x += d;
	y += tiny2((int)e & 15);
	return x + y * f + d - e;
}

static APART long tail(long (*f)(long, long), long a, long b) { return f(a + 1, b - 1); }
static APART long plus(long a, long b) { return a + b; }
static APART long times(long a, long b) { return a * b; }
static APART long pick(int i, long a, long b)
{
	static long (*const table[])(long, long) = { plus, times, plus, times };

	return table[i & 3](a, b);
}

struct pair { long a, b; };
static APART struct pair divide(long a, long b) { return (struct pair){ a / b, a % b }; }

static APART int sum(int n, ...)
{
	va_list ap;
	int s = 0;

	va_start(ap, n);
	while (n--)
		s += va_arg(ap, int);
	va_end(ap);
	return s;
}

static APART double mix(double x, int n) { return n ? mix(x * 1.25 - n, n - 1) : x; }

static int compare(const void *l, const void *r)
{
	uint32_t a = *(const uint32_t *)l, b = *(const uint32_t *)r;

	return (a > b) - (a < b);
}

static jmp_buf back;
static APART void leap(int n) { if (n == 0) longjmp(back, 5); leap(n - 1); }

static APART unsigned int fib(unsigned int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

static APART const char *name(unsigned int n)
{
	switch (n) {
	case 100: return "hundred";
	case 101: return "one";
	case 102: return "two";
	case 103: return "three";
	case 105: return "five";
	case 106: return "six";
	default: return n > 1000 ? "many" : "some";
	}
}

static APART uint64_t bits(uint64_t x)
{
	uint64_t n = (uint64_t)__builtin_popcountll(x) + (uint64_t)__builtin_ctzll(x | 1 << 20);

	return ((unsigned __int128)x * n >> 61) + (x >> (n & 31)) + (x < n) + (x << n % 7 | x >> 60);
}

int main(void)
{
	static uint8_t ops[200];
	static uint32_t words[30];
	char text[80];
	int leapt;

	for (size_t i = 0; i < sizeof(ops); i++)
		ops[i] = (uint8_t)(next_random() >> 20);
	printf("%ld %ld\n", run_switch(ops, 100), run_switch(ops + 75, 125));
	printf("%ld\n", run_goto(ops, sizeof(ops)));
	printf("%ld\n", uses_tiny(3, 4, 5, 6, 7, 8));
	for (int i = 0; i < 4; i++)
		printf("%ld %ld\n", tail(i & 1 ? plus : times, i, 9), pick(i, 6, 7));
	printf("%ld %ld %d %f\n", divide(1000, 7).a, divide(1000, 7).b, sum(9, 1, 2, 3, 4, 5, 6, 7, 8, 9),
	       mix(3.5, 6));
	for (size_t i = 0; i < 30; i++)
		words[i] = (uint32_t)next_random();
	qsort(words, 30, sizeof(words[0]), compare);
	leapt = setjmp(back);
	if (!leapt)
		leap(3);
	snprintf(text, sizeof(text), "%d %x %x %u", leapt, words[0], words[29], fib(7));
	puts(text);
	for (unsigned int i = 99; i < 109; i++)
		fputs(name(i), stdout);
	printf("\n%zu %lu\n", strlen(text), bits(next_random()) ^ bits(77));
	return (int)(next_random() % 100);
}
