# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_SANITIZERS: --enable-sanitizers builds with ASan and UBSan, and `make check` then runs
# the unit tests of the code that touches no other process (PURE_TESTS).
AC_DEFUN([SONDE_SANITIZERS],
[AC_ARG_ENABLE([sanitizers],
	[AS_HELP_STRING([--enable-sanitizers],
		[build and run only the unit tests of the pure parts, with ASan and UBSan])],
	[], [enable_sanitizers=no])
SONDE_SAN_CFLAGS=
AS_IF([test "x$enable_sanitizers" = xyes],
	[SONDE_SAN_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=all"
	SONDE_SAN_CFLAGS="$SONDE_SAN_CFLAGS -fno-omit-frame-pointer"
	sonde_save_CFLAGS=$CFLAGS
	CFLAGS="$CFLAGS $SONDE_SAN_CFLAGS"
	AC_MSG_CHECKING([whether $CC links with ASan and UBSan])
	AC_LINK_IFELSE([AC_LANG_PROGRAM([], [])],
		[AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])
		SONDE_NEED([the sanitizers of $CC], [libgcc-12-dev libclang-rt-14-dev])])
	CFLAGS=$sonde_save_CFLAGS])
AC_SUBST([SONDE_SAN_CFLAGS])
AM_CONDITIONAL([SANITIZERS], [test "x$enable_sanitizers" = xyes])])
