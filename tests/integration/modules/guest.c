/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls much of a C library in its wrapper, and looks whether that works: memory, text, locale, errno, variables of the thread, libraries
 * that are loaded when they are needed.  What is wrong, and how many calls there were, is said at the end, into the file that GUEST_LOG names.
 */
#include <dlfcn.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sonde/module.h>
SONDE_MODULE("guest", "calls the C library");

static __thread long own = 5;
static long calls, wrong, begun, started;
static FILE *out;
static unsigned long (*crc)(unsigned long, const unsigned char *, unsigned int);
static double (*cosine)(double);

__attribute__((constructor)) static void begin(void)
{
	begun = 1;
	setlocale(LC_ALL, "C");
	out = fopen(getenv("GUEST_LOG"), "a");
}

SONDE_ON_START
{
	started = begun;
}

SONDE_ON_EXIT
{
	fprintf(out, "exit: started %ld\n", started);
}

__attribute__((destructor)) static void end(void)
{
	fprintf(out, "calls %ld wrong %ld\n", calls, wrong);
}

static void check(int right)
{
	if (!right)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

static void load(void)
{
	void *z = dlopen("libz.so.1", RTLD_NOW), *m = dlopen("libm.so.6", RTLD_NOW);

	crc = z ? (unsigned long (*)(unsigned long, const unsigned char *, unsigned int))dlsym(z, "crc32") : NULL;
	cosine = m ? (double (*)(double))dlsym(m, "cos") : NULL;
	check(cosine != NULL);
}

static void use_library(long n)
{
	char *text = malloc(64 + (size_t)(n & 1023)), *more = NULL;

	if (__atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) == 1)
		load();
	snprintf(text, 64, "%ld %.3f", n, (double)n / 8);
	check(strtol(text, &more, 10) == n && strtod(more, NULL) - (double)n / 8 < 0.001);
	check(!crc || crc(0, (const unsigned char *)"hello", 5) == 0x3610a686);
	check(!cosine || cosine(0) == 1);
	free(text);
}

SONDE_WRAP(long, work, (long n, long a, long b, long c, long d, long e, long f, long g, double x))
{
	long was = own;

	sonde_enter(SONDE_I64("n", n));
	use_library(n);
	own = n;
	long result = SONDE_REAL(work)(n, a, b, c, d, e, f, g, x);
	check(own == n);
	own = was;
	sonde_leave(SONDE_I64("result", result));
	return result;
}
