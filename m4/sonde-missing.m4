# SPDX-License-Identifier: GPL-3.0-or-later
# What is missing is collected, so that one run of configure names all of it.

# SONDE_NEED(what, debian-package): note a missing requirement.
AC_DEFUN([SONDE_NEED],
[sonde_missing="$sonde_missing $1"
sonde_packages="$sonde_packages $2"])

# SONDE_WANT(what, debian-package, consequence): note a missing option.
AC_DEFUN([SONDE_WANT],
[AC_MSG_NOTICE([no $1: $3 (Debian: apt-get install $2)])])

# SONDE_MISSING: stop when anything required was not found.
AC_DEFUN([SONDE_MISSING],
[AS_IF([test -n "$sonde_missing"],
	[AC_MSG_ERROR([missing:$sonde_missing. On Debian: apt-get install$sonde_packages])])])

# SONDE_SUMMARY: what was decided, in a few lines.
AC_DEFUN([SONDE_SUMMARY],
[AC_MSG_NOTICE([$PACKAGE_NAME $PACKAGE_VERSION: compiler $CC, second decoder $with_opcodes, libclang $sonde_libclang, OTF2 $sonde_otf2,]
	[unit tests $sonde_cmocka, sanitizers $enable_sanitizers])
AC_MSG_NOTICE([for tests: musl-gcc ${MUSL_CC:-no}, static libc $sonde_static_libc,]
	[Open MPI ${MPICC_OPENMPI:-no}, MPICH ${MPICC_MPICH:-no}])])
