# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memtrace/memcompile
tests_unit_memtrace_memcompile_SOURCES = tests/unit/memtrace/memcompile.c \
	tests/unit/memtrace/memcompile_pair.c tests/unit/memtrace/memcompile_pair.h \
	tests/unit/memtrace/memcompile_served.c tests/unit/memtrace/memcompile_served.h \
	tests/unit/memtrace/memexpand_dice.c tests/unit/memtrace/memexpand_dice.h \
	tests/unit/memtrace/memexpand_support.c tests/unit/memtrace/memexpand_support.h
tests_unit_memtrace_memcompile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_memcompile_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS) -lpthread

PURE_TESTS += tests/unit/memtrace/memcompile_edges
tests_unit_memtrace_memcompile_edges_SOURCES = tests/unit/memtrace/memcompile_edges.c \
	tests/unit/memtrace/memcompile_pair.c tests/unit/memtrace/memcompile_pair.h \
	tests/unit/memtrace/memcompile_served.c tests/unit/memtrace/memcompile_served.h \
	tests/unit/memtrace/memexpand_dice.c tests/unit/memtrace/memexpand_dice.h \
	tests/unit/memtrace/memexpand_support.c tests/unit/memtrace/memexpand_support.h
tests_unit_memtrace_memcompile_edges_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_memcompile_edges_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/memtrace/memcompile_full
tests_unit_memtrace_memcompile_full_SOURCES = tests/unit/memtrace/memcompile_full.c \
	tests/unit/memtrace/memexpand_dice.c tests/unit/memtrace/memexpand_dice.h \
	tests/unit/memtrace/memexpand_support.c tests/unit/memtrace/memexpand_support.h
tests_unit_memtrace_memcompile_full_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_memcompile_full_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/memtrace/memshared
tests_unit_memtrace_memshared_SOURCES = tests/unit/memtrace/memshared.c
tests_unit_memtrace_memshared_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_memshared_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS) -lpthread
