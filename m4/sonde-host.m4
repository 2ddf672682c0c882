# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_HOST: the one architecture supported so far; its name picks the architecture folders.
AC_DEFUN([SONDE_HOST],
[AS_CASE([$host],
	[x86_64-*-linux*], [SONDE_ARCH=x86_64],
	[AC_MSG_ERROR([Sonde runs on x86-64 Linux; this host is $host])])
AC_SUBST([SONDE_ARCH])])
