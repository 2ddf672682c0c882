# SPDX-License-Identifier: GPL-3.0-or-later
# Other C libraries that programs to trace are built with.

# SONDE_MUSL: MUSL_CC, the full path of musl-gcc.
AC_DEFUN([SONDE_MUSL],
[AC_PATH_PROG([MUSL_CC], [musl-gcc])
AS_IF([test -z "$MUSL_CC"], [SONDE_WANT([musl-gcc], [musl-tools], [its tests are skipped])])
AM_CONDITIONAL([HAVE_MUSL], [test -n "$MUSL_CC"])])

# SONDE_STATIC_LIBC: whether a fully static program can be linked.
AC_DEFUN([SONDE_STATIC_LIBC],
[sonde_save_LDFLAGS=$LDFLAGS
LDFLAGS="$LDFLAGS -static"
AC_MSG_CHECKING([for a static C library])
AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdio.h>]], [[puts("")]])],
	[sonde_static_libc=yes], [sonde_static_libc=no])
AC_MSG_RESULT([$sonde_static_libc])
LDFLAGS=$sonde_save_LDFLAGS
AS_IF([test "$sonde_static_libc" = no],
	[SONDE_WANT([static libc], [libc6-dev], [its tests are skipped])])
AM_CONDITIONAL([HAVE_STATIC_LIBC], [test "$sonde_static_libc" = yes])])
