# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memcompile
tests_unit_memcompile_SOURCES = tests/unit/memcompile.c \
	tests/unit/memcompile_served.c tests/unit/memcompile_served.h \
	tests/unit/memexpand_dice.c tests/unit/memexpand_dice.h \
	tests/unit/memexpand_support.c tests/unit/memexpand_support.h
tests_unit_memcompile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memcompile_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/memcompile_full
tests_unit_memcompile_full_SOURCES = tests/unit/memcompile_full.c \
	tests/unit/memexpand_dice.c tests/unit/memexpand_dice.h \
	tests/unit/memexpand_support.c tests/unit/memexpand_support.h
tests_unit_memcompile_full_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memcompile_full_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/memshared
tests_unit_memshared_SOURCES = tests/unit/memshared.c
tests_unit_memshared_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memshared_LDADD = libtrampolines.la $(CMOCKA_LIBS) -lpthread
