/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <sonde/module.h>
SONDE_MODULE("jumps", "functions that are left by longjmp or by exceptions");

#define BODY(f)                                                                                \
	{                                                                                      \
		sonde_enter(SONDE_I32("i", i));                                                \
		int result = SONDE_REAL(f)(i);                                                 \
		sonde_leave(SONDE_I32("result", result));                                      \
		return result;                                                                 \
	}

SONDE_WRAP(int, work, (int i)) BODY(work)
SONDE_WRAP(int, inner, (int i)) BODY(inner)
SONDE_WRAP(int, middle, (int i)) BODY(middle)
SONDE_WRAP(int, outer, (int i)) BODY(outer)
SONDE_WRAP_IF_PRESENT(int, catches, (int i)) BODY(catches)

/* shapes::box<long>::add(long, std::string const &) */
SONDE_WRAP_SYMBOL_IF_PRESENT(long, add,
			     "_ZN6shapes3boxIlE3addElRKNSt7__cxx1112basic_stringIcSt11char_traitsI"
			     "cESaIcEEE",
			     (void *box, long a, const void *s))
{
	sonde_enter(SONDE_I64("a", a));
	long result = SONDE_REAL(add)(box, a, s);
	sonde_leave(SONDE_I64("result", result));
	return result;
}
