# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memcompile
tests_unit_memcompile_SOURCES = tests/unit/memcompile.c \
	tests/unit/memexpand_dice.c tests/unit/memexpand_dice.h \
	tests/unit/memexpand_support.c tests/unit/memexpand_support.h
tests_unit_memcompile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memcompile_LDADD = libtrampolines.la $(CMOCKA_LIBS)
