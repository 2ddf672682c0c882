# SPDX-License-Identifier: GPL-3.0-or-later
# Programs to trace. tests/programs/NAME.c can be built in several ways; what follows the name says
# how. List every wanted one in TRACEES, and the source once in TRACEE_FILES:
#
#	NAME              as a user would: -O2 -g, position-independent
#	NAME-O0           not optimized
#	NAME-stripped     without symbols
#	NAME-nopie        at a fixed address
#	NAME-static       fully static
#	NAME-static-pie   fully static, position-independent
#	NAME-musl         musl, fully static
#	NAME-openmpi      Open MPI
#	NAME-mpich        MPICH
#	libNAME.so        a library, from libNAME.c
#
# NAME.cc is C++. Flags for one program: `tests/programs/NAME: PROGRAM_LIBS = -lm -pthread`.
# They are the program's, not ours: no warnings, no CFLAGS.
TRACEE_FILES += \
	tests/programs/demo.c

TRACEES += \
	tests/programs/demo
if HAVE_STATIC_LIBC
TRACEES += \
	tests/programs/demo-static
endif

PROGRAM_CFLAGS = -O2 -g
PROGRAM_LIBS =
PROGRAM_BUILD = $(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) $(PROGRAM_CFLAGS)
PROGRAM_ARGS = -I$(top_srcdir)/tests/programs -o $@ $< $(PROGRAM_LIBS)

tests/programs/%: tests/programs/%.c
	$(PROGRAM_BUILD) $(PROGRAM_ARGS)
tests/programs/%-O0: tests/programs/%.c
	$(PROGRAM_BUILD) -O0 $(PROGRAM_ARGS)
tests/programs/%-stripped: tests/programs/%.c
	$(PROGRAM_BUILD) -s $(PROGRAM_ARGS)
tests/programs/%-nopie: tests/programs/%.c
	$(PROGRAM_BUILD) -fno-pie -no-pie $(PROGRAM_ARGS)
tests/programs/%-static: tests/programs/%.c
	$(PROGRAM_BUILD) -static $(PROGRAM_ARGS)
tests/programs/%-static-pie: tests/programs/%.c
	$(PROGRAM_BUILD) -fPIE -static-pie $(PROGRAM_ARGS)
tests/programs/%-musl: tests/programs/%.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(MUSL_CC) $(PROGRAM_CFLAGS) -static $(PROGRAM_ARGS)
tests/programs/%-openmpi: tests/programs/%.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(MPICC_OPENMPI) $(PROGRAM_CFLAGS) $(PROGRAM_ARGS)
tests/programs/%-mpich: tests/programs/%.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(MPICC_MPICH) $(PROGRAM_CFLAGS) $(PROGRAM_ARGS)
tests/programs/lib%.so: tests/programs/lib%.c
	$(PROGRAM_BUILD) -fPIC -shared $(PROGRAM_ARGS)
tests/programs/%: tests/programs/%.cc
	$(AM_V_CXXLD)$(MKDIR_P) $(@D) && $(CXX) $(PROGRAM_CFLAGS) $(PROGRAM_ARGS)
