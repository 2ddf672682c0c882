# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memexpand
tests_unit_memexpand_SOURCES = tests/unit/memexpand.c \
	tests/unit/memexpand_support.c tests/unit/memexpand_support.h
tests_unit_memexpand_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memexpand_LDADD = libtrampolines.la $(CMOCKA_LIBS)
