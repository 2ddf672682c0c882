# SPDX-License-Identifier: GPL-3.0-or-later
# BFD and libopcodes come with binutils, which has no pkg-config file.

# SONDE_BFD: BFD_LIBS. A shared libbfd brings its dependencies; a static one has to be given them.
AC_DEFUN([SONDE_BFD],
[BFD_LIBS=
sonde_save_LIBS=$LIBS
AC_CHECK_HEADER([bfd.h], [sonde_bfd=yes], [sonde_bfd=no],
	[#define PACKAGE "sonde"
#define PACKAGE_VERSION "0"])
AS_IF([test "$sonde_bfd" = yes],
	[AC_SEARCH_LIBS([bfd_openr], [bfd], [BFD_LIBS=$ac_cv_search_bfd_openr],
		[unset ac_cv_search_bfd_openr
		AC_CHECK_LIB([bfd], [bfd_openr],
			[BFD_LIBS="-lbfd -lsframe -liberty -lzstd -lz -ldl"], [sonde_bfd=no],
			[-lsframe -liberty -lzstd -lz -ldl])])])
AS_IF([test "$sonde_bfd" = no], [SONDE_NEED([libbfd], [binutils-dev])])
LIBS=$sonde_save_LIBS
AC_SUBST([BFD_LIBS])])

# SONDE_OPCODES: OPCODES_LIBS and HAVE_OPCODES; --without-opcodes leaves the second decoder out.
AC_DEFUN([SONDE_OPCODES],
[AC_ARG_WITH([opcodes],
	[AS_HELP_STRING([--without-opcodes], [build without libopcodes, the second decoder])],
	[], [with_opcodes=yes])
OPCODES_LIBS=
AS_IF([test "x$with_opcodes" != xno],
	[AC_CHECK_HEADER([dis-asm.h], [], [with_opcodes=missing],
		[#define PACKAGE "sonde"
#define PACKAGE_VERSION "0"])
	AC_CHECK_LIB([opcodes], [init_disassemble_info], [], [with_opcodes=missing], [$BFD_LIBS])
	AS_IF([test "x$with_opcodes" = xmissing],
		[SONDE_NEED([libopcodes (or give --without-opcodes)], [binutils-dev])],
		[OPCODES_LIBS="-lopcodes $BFD_LIBS"
		AC_DEFINE([HAVE_OPCODES], [1], [Define to 1 if libopcodes is the second decoder.])])])
LIBS=$sonde_save_LIBS
AC_SUBST([OPCODES_LIBS])
AM_CONDITIONAL([HAVE_OPCODES], [test "x$with_opcodes" != xno])])
