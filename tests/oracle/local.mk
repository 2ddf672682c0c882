# SPDX-License-Identifier: GPL-3.0-or-later
# The oracle that tests/integration/functions-*.sh compare traces with: see stepper.c.
if !SANITIZERS
check_PROGRAMS += tests/oracle/stepper tests/oracle/blocks
endif
tests_oracle_stepper_SOURCES = \
	tests/oracle/follow.c \
	tests/oracle/follow.h \
	tests/oracle/functions.c \
	tests/oracle/insn.c \
	tests/oracle/oracle.h \
	tests/oracle/stepper.c
tests_oracle_stepper_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_oracle_stepper_LDADD = $(LIBELF_LIBS)
tests_oracle_blocks_SOURCES = tests/oracle/blocks.c
tests_oracle_blocks_LDADD = $(INJECTOR_LIBS)
EXTRA_DIST += tests/oracle/compare.awk

# Counts of blocks: see counts.c, counts.py.
if !SANITIZERS
check_PROGRAMS += tests/oracle/counts
endif
tests_oracle_counts_SOURCES = \
	tests/oracle/counts.c \
	tests/oracle/follow.c \
	tests/oracle/follow.h \
	tests/oracle/functions.c \
	tests/oracle/insn.c \
	tests/oracle/oracle.h
tests_oracle_counts_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_oracle_counts_LDADD = $(LIBELF_LIBS)
EXTRA_DIST += tests/oracle/counts.py

# Memory accesses: see memsteps.c, memcompare.c.
if !SANITIZERS
check_PROGRAMS += tests/oracle/memsteps tests/oracle/memcompare
endif
tests_oracle_memsteps_SOURCES = \
	tests/oracle/follow.c \
	tests/oracle/follow.h \
	tests/oracle/functions.c \
	tests/oracle/insn.c \
	tests/oracle/memaccess.c \
	tests/oracle/memaccess.h \
	tests/oracle/memregs.c \
	tests/oracle/memregs.h \
	tests/oracle/memsteps.c \
	tests/oracle/oracle.h
tests_oracle_memsteps_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_oracle_memsteps_LDADD = $(LIBELF_LIBS) $(ZYDIS_LIBS)
tests_oracle_memcompare_SOURCES = \
	tests/oracle/functions.c \
	tests/oracle/memcompare.c \
	tests/oracle/oracle.h
tests_oracle_memcompare_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_oracle_memcompare_LDADD = $(REPORT_LIBS) $(LIBELF_LIBS)
