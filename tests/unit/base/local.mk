# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of base/.
PURE_TESTS += tests/unit/base/tables
tests_unit_base_tables_SOURCES = tests/unit/base/tables.c
tests_unit_base_tables_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_base_tables_LDADD = $(CMOCKA_LIBS)
