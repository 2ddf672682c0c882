# SPDX-License-Identifier: GPL-3.0-or-later
# SONDE_MPI: MPICC_OPENMPI and MPICC_MPICH, full paths; each optional, both may be there.
AC_DEFUN([SONDE_MPI],
[AC_PATH_PROG([MPICC_OPENMPI], [mpicc.openmpi])
AC_PATH_PROG([MPICC_MPICH], [mpicc.mpich])
AS_IF([test -z "$MPICC_OPENMPI"],
	[SONDE_WANT([Open MPI], [libopenmpi-dev], [built without what needs its headers])])
AS_IF([test -z "$MPICC_MPICH"],
	[SONDE_WANT([MPICH], [libmpich-dev], [built without what needs its headers])])
AM_CONDITIONAL([HAVE_OPENMPI], [test -n "$MPICC_OPENMPI"])
AM_CONDITIONAL([HAVE_MPICH], [test -n "$MPICC_MPICH"])])
