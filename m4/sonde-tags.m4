# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_TAGS: the compiler plugin sonde-tags.so, for the GCC 12 that is found; optional.  TAGS_GCC, the compiler; TAGS_CXX, which
# builds the plugin; TAGS_GCC_HEADERS, its headers; HAVE_GCC_PLUGIN.
AC_DEFUN([SONDE_TAGS],
[AC_PATH_PROGS([TAGS_GCC], [gcc-12 gcc])
AC_PATH_PROGS([TAGS_CXX], [g++-12 g++])
sonde_tags=no
AS_IF([test -n "$TAGS_GCC" && test -n "$TAGS_CXX"],
	[TAGS_GCC_HEADERS=`"$TAGS_GCC" -print-file-name=plugin`/include
	AC_MSG_CHECKING([for the plugin headers of GCC 12])
	cat >conftest.cc <<'EOF'
#include "gcc-plugin.h"
#include "plugin-version.h"
#include "tree.h"
#if GCCPLUGIN_VERSION_MAJOR != 12
#error another version
#endif
EOF
	AS_IF(["$TAGS_CXX" -fno-rtti -fsyntax-only -isystem "$TAGS_GCC_HEADERS" conftest.cc >&AS_MESSAGE_LOG_FD 2>&1],
		[sonde_tags=yes])
	rm -f conftest.cc
	AC_MSG_RESULT([$sonde_tags])])
AS_IF([test "$sonde_tags" = no],
	[SONDE_WANT([plugin headers of GCC 12], [g++-12 gcc-12-plugin-dev], [sonde-tags.so is not built])])
AS_IF([test "x$enable_werror" = xyes], [TAGS_WERROR=-Werror])
AC_SUBST([TAGS_GCC])
AC_SUBST([TAGS_GCC_HEADERS])
AC_SUBST([TAGS_WERROR])
AM_CONDITIONAL([HAVE_GCC_PLUGIN], [test "$sonde_tags" = yes])])
