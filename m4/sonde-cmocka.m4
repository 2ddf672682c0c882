# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_CMOCKA: CMOCKA_LIBS; without cmocka `make check` runs no unit tests.
AC_DEFUN([SONDE_CMOCKA],
[PKG_CHECK_MODULES([CMOCKA], [cmocka], [sonde_cmocka=yes],
	[sonde_cmocka=no
	SONDE_WANT([cmocka], [libcmocka-dev], [no unit tests])])
AM_CONDITIONAL([HAVE_CMOCKA], [test "$sonde_cmocka" = yes])])
