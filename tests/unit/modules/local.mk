# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of modules/. The harness calls a module's wrappers without an injector.
MODULES_HARNESS = tests/unit/modules/harness.c tests/unit/modules/harness.h
EXTRA_DIST += tests/unit/modules/sample.c

UNIT_TESTS += tests/unit/modules/header
tests_unit_modules_header_SOURCES = tests/unit/modules/header.c $(MODULES_HARNESS)
tests_unit_modules_header_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_header_LDADD = $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/modules/memory
tests_unit_modules_memory_SOURCES = tests/unit/modules/memory.c $(MODULES_HARNESS)
tests_unit_modules_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_memory_LDADD = $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/modules/posixio
tests_unit_modules_posixio_SOURCES = tests/unit/modules/posixio.c $(MODULES_HARNESS)
tests_unit_modules_posixio_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_posixio_LDADD = $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/modules/pthread
tests_unit_modules_pthread_SOURCES = tests/unit/modules/pthread.c $(MODULES_HARNESS)
tests_unit_modules_pthread_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_pthread_LDADD = $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/modules/selfcontained
tests_unit_modules_selfcontained_SOURCES = tests/unit/modules/selfcontained.c $(MODULES_HARNESS)
tests_unit_modules_selfcontained_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_selfcontained_LDADD = $(CMOCKA_LIBS)

# Compiled and linked by the MPI's own compiler driver, started by its own launcher.
MODULES_MPI = tests/unit/modules/mpi.c $(MODULES_HARNESS)
if HAVE_OPENMPI
UNIT_TESTS += tests/unit/modules/mpi-openmpi
tests_unit_modules_mpi_openmpi_SOURCES = $(MODULES_MPI)
tests_unit_modules_mpi_openmpi_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPI_MODULE='"mpi-openmpi"' -DMPI_LAUNCHER='"mpirun.openmpi"'
tests_unit_modules_mpi_openmpi_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_mpi_openmpi_LDADD = $(CMOCKA_LIBS)
$(tests_unit_modules_mpi_openmpi_OBJECTS): override CC = $(MPICC_OPENMPI)
tests_unit_modules_mpi_openmpi_LINK = $(MPICC_OPENMPI) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
endif
if HAVE_MPICH
UNIT_TESTS += tests/unit/modules/mpi-mpich
tests_unit_modules_mpi_mpich_SOURCES = $(MODULES_MPI)
tests_unit_modules_mpi_mpich_CPPFLAGS = $(AM_CPPFLAGS) \
	-DMPI_MODULE='"mpi-mpich"' -DMPI_LAUNCHER='"mpirun.mpich"'
tests_unit_modules_mpi_mpich_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_modules_mpi_mpich_LDADD = $(CMOCKA_LIBS)
$(tests_unit_modules_mpi_mpich_OBJECTS): override CC = $(MPICC_MPICH)
tests_unit_modules_mpi_mpich_LINK = $(MPICC_MPICH) $(CFLAGS) $(AM_LDFLAGS) $(LDFLAGS) -o $@
endif

# Programs for the modules; each checks itself.
TRACEE_FILES += \
	tests/programs/io_mix.c \
	tests/programs/malloc_mix.c \
	tests/programs/mpi_alltoall.c \
	tests/programs/mpi_ring.c \
	tests/programs/mpi_messages.c \
	tests/programs/mpi_openmp.c \
	tests/programs/mpi_start.h \
	tests/programs/mpi_waits.c \
	tests/programs/threads_locks.c
TRACEES += \
	tests/programs/io_mix \
	tests/programs/malloc_mix \
	tests/programs/threads_locks
tests/programs/threads_locks: PROGRAM_LIBS = -pthread
if HAVE_STATIC_LIBC
tests/programs/threads_locks-static: PROGRAM_LIBS = -pthread
TRACEES += \
	tests/programs/io_mix-static \
	tests/programs/malloc_mix-static \
	tests/programs/threads_locks-static
endif
if HAVE_MUSL
TRACEES += \
	tests/programs/io_mix-musl \
	tests/programs/malloc_mix-musl \
	tests/programs/threads_locks-musl
endif
tests/programs/mpi_openmp-openmpi tests/programs/mpi_openmp-mpich: PROGRAM_LIBS = -fopenmp
if HAVE_OPENMPI
TRACEES += \
	tests/programs/mpi_alltoall-openmpi \
	tests/programs/mpi_openmp-openmpi \
	tests/programs/mpi_ring-openmpi \
	tests/programs/mpi_waits-openmpi \
	tests/programs/mpi_messages-openmpi
endif
if HAVE_MPICH
TRACEES += \
	tests/programs/mpi_alltoall-mpich \
	tests/programs/mpi_openmp-mpich \
	tests/programs/mpi_ring-mpich \
	tests/programs/mpi_waits-mpich \
	tests/programs/mpi_messages-mpich
endif
