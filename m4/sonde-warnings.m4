# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_WARNINGS: SONDE_WARN_CFLAGS, the language and warning flags of all C code here.
AC_DEFUN([SONDE_WARNINGS],
[AC_ARG_ENABLE([werror],
	[AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
	[], [enable_werror=no])
SONDE_WARN_CFLAGS="-std=gnu17 -Wall -Wextra -Wstrict-prototypes -Wmissing-prototypes"
SONDE_WARN_CFLAGS="$SONDE_WARN_CFLAGS -Wwrite-strings -Wundef -Wvla"
AS_IF([test "x$enable_werror" = xyes],
	[SONDE_WARN_CFLAGS="$SONDE_WARN_CFLAGS -Werror"])
AC_SUBST([SONDE_WARN_CFLAGS])])
