# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_LIBCLANG: LIBCLANG_CFLAGS, HAVE_LIBCLANG; optional. Only its header is needed: the library is loaded
# when it is used. Debian has one folder for each version.
AC_DEFUN([SONDE_LIBCLANG],
[LIBCLANG_CFLAGS=
sonde_libclang=no
AC_CACHE_CHECK([for the folder of clang-c/Index.h], [sonde_cv_libclang],
	[sonde_cv_libclang=no
	for sonde_folder in /usr/include /usr/local/include /usr/lib/llvm-*/include; do
		AS_IF([test -r "$sonde_folder/clang-c/Index.h"], [sonde_cv_libclang=$sonde_folder])
	done])
AS_IF([test "$sonde_cv_libclang" = no],
	[SONDE_WANT([libclang], [libclang-14-dev], ['sonde module new' reads debug information only])],
	[sonde_libclang=yes
	AS_CASE([$sonde_cv_libclang], [/usr/include], [],
		[LIBCLANG_CFLAGS="-isystem $sonde_cv_libclang"])
	AC_DEFINE([HAVE_LIBCLANG], [1], [clang-c/Index.h is there])])
AC_SUBST([LIBCLANG_CFLAGS])])
