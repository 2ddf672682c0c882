# SPDX-License-Identifier: GPL-3.0-or-later
# One C file is one module: list it in MODULE_FILES, sorted. It is built as sonde itself would
# build a user's file, and installed where `-m NAME` looks. No C library is linked
# in and nothing may be left undefined, so that a module works in static programs too.
MODULE_FILES = \
	modules/cachesim.c \
	modules/mark.c \
	modules/memcount.c \
	modules/memory.c \
	modules/memprofile.c \
	modules/memtrace.c \
	modules/openmp.c \
	modules/posixio.c \
	modules/pthread.c \
	modules/sharing.c
MODULE_PARTS = \
	modules/openmp-llvm-tasks.h \
	modules/openmp-llvm.h \
	modules/openmp-loops.h \
	modules/openmp-sync.h \
	modules/openmp-tasks.h
MPI_PARTS = \
	modules/mpi-clocks.h \
	modules/mpi-collectives.h \
	modules/mpi-communicators.h \
	modules/mpi-files.h \
	modules/mpi-messages.h \
	modules/mpi-onesided.h \
	modules/mpi-requests.h
MODULE_API = \
	modules/include/sonde/abi.h \
	modules/include/sonde/mark.f90 \
	modules/include/sonde/mark.h \
	modules/include/sonde/module.h

sondeinclude_HEADERS += $(MODULE_API)
EXTRA_DIST += $(MODULE_FILES) $(MODULE_PARTS)
MODULE_OBJECTS = $(MODULE_FILES:.c=.so)

# One source, one module for each MPI: the handles differ. Compiled with the MPI's headers, linked
# without its library. The source is installed too: sonde compiles it where the program's MPI is none
# of those.
MPI_MODULES =
if HAVE_OPENMPI
MPI_MODULES += modules/mpi-openmpi.so
endif
if HAVE_MPICH
MPI_MODULES += modules/mpi-mpich.so
endif
MPI_MODULE_OBJECTS = modules/mpi-openmpi.o modules/mpi-mpich.o

CLEANFILES += $(MODULE_OBJECTS) $(MPI_MODULES) $(MPI_MODULE_OBJECTS)
modulesdir = $(pkglibdir)/modules
dist_modules_DATA = modules/mpi.c $(MPI_PARTS)
modules_DATA = $(MODULE_OBJECTS) $(MPI_MODULES)

MODULE_CFLAGS = $(SONDE_WARN_CFLAGS) -O2 -g
MODULE_COMPILE = -I$(top_srcdir)/modules/include $(CPPFLAGS) $(MODULE_CFLAGS) $(CFLAGS) \
	-fPIC -fvisibility=hidden -fno-stack-protector
MODULE_LINK = -shared -nostdlib -Wl,-z,defs,-z,now $(LDFLAGS)
modules/openmp.so: $(MODULE_PARTS)
modules/%.so: modules/%.c $(MODULE_API)
	@$(MKDIR_P) $(@D)
	$(AM_V_CCLD)$(CC) $(MODULE_COMPILE) $(MODULE_LINK) -o $@ $<

modules/mpi-openmpi.o: modules/mpi.c $(MPI_PARTS) $(MODULE_API)
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)OMPI_CC="$(CC)" $(MPICC_OPENMPI) $(MODULE_COMPILE) -c -o $@ $<
modules/mpi-mpich.o: modules/mpi.c $(MPI_PARTS) $(MODULE_API)
	@$(MKDIR_P) $(@D)
	$(AM_V_CC)MPICH_CC="$(CC)" $(MPICC_MPICH) $(MODULE_COMPILE) -c -o $@ $<
$(MPI_MODULES): %.so: %.o
	$(AM_V_CCLD)$(CC) $(MODULE_LINK) -o $@ $<

dist_doc_DATA += doc/modules.md
