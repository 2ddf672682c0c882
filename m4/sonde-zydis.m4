# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_ZYDIS: ZYDIS_LIBS. Zydis 4.0.0 installs no pkg-config file, so look for header and library.
AC_DEFUN([SONDE_ZYDIS],
[ZYDIS_LIBS=
sonde_save_LIBS=$LIBS
AC_CHECK_HEADER([Zydis/Zydis.h],
	[AC_CHECK_LIB([Zydis], [ZydisDecoderDecodeFull], [ZYDIS_LIBS=-lZydis])])
AS_IF([test -z "$ZYDIS_LIBS"], [SONDE_NEED([Zydis 4], [libzydis-dev])])
LIBS=$sonde_save_LIBS
AC_SUBST([ZYDIS_LIBS])])
