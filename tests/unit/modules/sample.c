// SPDX-License-Identifier: MIT
/*
 * A module that uses every macro of <sonde/module.h>, for modules_header.c, which builds it with
 * several compilers and options and calls its wrappers.
 */
#include <sonde/module.h>

SONDE_MODULE("sample", "one of everything");

struct triple {
	long a, b, c;
};

static int sum(int a, int b)
{
	return a + b;
}

/* A macro of the name of a wrapped function must not get in the way. */
#define sample_masked sample_masked_by_macro

SONDE_WRAP(int, sample_int, (int a, const char *s))
{
	sonde_enter(SONDE_I32("a", a), SONDE_STR("s", s));
	int result = SONDE_REAL(sample_int)(a, s);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP(void, sample_void, (int *p))
{
	sonde_enter(SONDE_PTR("p", p), SONDE_WAIT);
	SONDE_REAL(sample_void)(p);
	sonde_leave();
}

SONDE_WRAP(double, sample_double, (double x, float y))
{
	sonde_enter(SONDE_F64("x", x), SONDE_F64("y", y));
	double result = SONDE_REAL(sample_double)(x, y);
	sonde_leave(SONDE_F64("result", result));
	return result;
}

SONDE_WRAP(struct triple, sample_struct, (struct triple t, long d))
{
	sonde_enter(SONDE_I64("b", t.b));
	struct triple result = SONDE_REAL(sample_struct)(t, d);
	sonde_leave(SONDE_I64("a", result.a), SONDE_I64("b", result.b), SONDE_I64("c", result.c));
	return result;
}

SONDE_WRAP(long, sample_many, (long a, long b, long c, long d, long e, long f, long g, long h))
{
	sonde_enter(SONDE_I32("a", a), SONDE_I64("b", b), SONDE_U32("c", c), SONDE_U64("d", d),
		    SONDE_PTR("e", e), SONDE_BYTES("f", f), SONDE_I32("g", g), SONDE_I32("h", h),
		    SONDE_I32("i", a < b ? a : b), SONDE_WAIT, SONDE_I32("j", sum(a, b)),
		    SONDE_STRN("k", "12345678901", 9));
	long result = SONDE_REAL(sample_many)(a, b, c, d, e, f, g, h);
	sonde_leave(SONDE_I64("result", result));
	return result;
}

/* Strings that together are longer than a record. */
SONDE_WRAP(int, sample_strings, (const char *s))
{
	sonde_enter(SONDE_STR("0", s), SONDE_STR("1", s), SONDE_STR("2", s), SONDE_STR("3", s),
		    SONDE_STR("4", s), SONDE_STR("5", s), SONDE_STR("6", s), SONDE_STR("7", s),
		    SONDE_STR("8", s), SONDE_STR("9", s), SONDE_STR("10", s), SONDE_STR("11", s));
	int result = SONDE_REAL(sample_strings)(s);
	sonde_leave(SONDE_STR("s", s), SONDE_I32("result", result));
	return result;
}

/* Calls another wrapped function itself, which must not be recorded. */
SONDE_WRAP(int, sample_helper, (int n))
{
	sonde_enter(SONDE_I32("n", SONDE_REAL_POINTER(sample_int)(n, NULL)));
	int result = SONDE_REAL(sample_helper)(n);
	sonde_point("half way", SONDE_I32("n", n));
	if (n)
		result += SONDE_REAL(sample_helper)(n + 1);
	sonde_leave(SONDE_I32("result", result));
	return result;
}

SONDE_WRAP_IF_PRESENT(int, sample_counted, (void))
{
	sonde_count("calls");
	sonde_point("outside");
	return SONDE_REAL_POINTER(sample_counted)();
}

SONDE_WRAP_SYMBOL(int, operator_new, "ns::thing::make(int)", (int n))
{
	sonde_begin("a phase", SONDE_I32("n", n), SONDE_WAIT);
	int result = SONDE_REAL_POINTER(operator_new)(n);
	sonde_end("a phase", SONDE_I32("result", result));
	return result;
}

SONDE_WRAP_SYMBOL_IF_PRESENT(int, operator_old, "ns::thing::unmake(int)", (int n))
{
	return sonde_callback() ? SONDE_REAL(operator_old)(n) : 0;
}

SONDE_WRAP(int, sample_masked, (int n))
{
	sonde_enter(SONDE_I32("n", n));
	int result = SONDE_REAL(sample_masked)(n);
	sonde_leave();
	return result;
}

SONDE_WRAP(int, sample_nothing, (void))
{
	sonde_enter();
	int result = SONDE_REAL(sample_nothing)();
	sonde_leave();
	return result;
}

SONDE_ON_START
{
	sonde_count("starts");
}

SONDE_ON_EXIT
{
	sonde_count("exits");
}
