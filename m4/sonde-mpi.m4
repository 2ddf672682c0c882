# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_MPI: MPICC_OPENMPI and MPICC_MPICH, full paths; each optional, both may be there.
AC_DEFUN([SONDE_MPI],
[SONDE_MPICC([MPICC_OPENMPI], [mpicc.openmpi], [Open MPI], [libopenmpi-dev])
SONDE_MPICC([MPICC_MPICH], [mpicc.mpich], [MPICH], [libmpich-dev])
AM_CONDITIONAL([HAVE_OPENMPI], [test -n "$MPICC_OPENMPI"])
AM_CONDITIONAL([HAVE_MPICH], [test -n "$MPICC_MPICH"])])

# SONDE_MPICC(variable, command, name, debian-package): empty where there is none, and where it comes
# without headers, as in what only runs MPI programs.
AC_DEFUN([SONDE_MPICC],
[AC_PATH_PROG([$1], [$2])
AS_IF([test -n "$$1"],
	[AC_MSG_CHECKING([whether $2 has mpi.h])
	AS_IF(["$$1" -E -x c -include mpi.h /dev/null >/dev/null 2>&AS_MESSAGE_LOG_FD],
		[AC_MSG_RESULT([yes])],
		[AC_MSG_RESULT([no])
		$1=])])
AS_IF([test -z "$$1"],
	[SONDE_WANT([$3], [$4], [its module is compiled when it is first used])])])
