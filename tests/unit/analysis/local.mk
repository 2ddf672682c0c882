# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of analysis/.
PURE_TESTS += tests/unit/analysis/cache
tests_unit_analysis_cache_SOURCES = tests/unit/analysis/cache.c
tests_unit_analysis_cache_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_cache_LDADD = libanalysis.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/order
tests_unit_analysis_order_SOURCES = tests/unit/analysis/order.c
tests_unit_analysis_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_order_LDADD = libanalysis.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/systems
tests_unit_analysis_systems_SOURCES = tests/unit/analysis/systems.c
tests_unit_analysis_systems_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_systems_LDADD = libanalysis.la $(CMOCKA_LIBS)
