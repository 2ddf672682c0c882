# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_OTF2: HAVE_OTF2; optional. Only its headers are needed: the library is loaded when it is used.
AC_DEFUN([SONDE_OTF2],
[sonde_otf2=yes
AC_CHECK_HEADER([otf2/otf2.h],
	[AC_DEFINE([HAVE_OTF2], [1], [otf2/otf2.h is there])],
	[sonde_otf2=no
	SONDE_WANT([OTF2], [libopen-trace-format2-dev], ['sonde export -f otf2' is not there])])])
