# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of analysis/.
CACHE_REFERENCE = \
	tests/unit/analysis/cachecases.c \
	tests/unit/analysis/cachereference.c \
	tests/unit/analysis/cachereference.h \
	tests/unit/analysis/crew.h

PURE_TESTS += tests/unit/analysis/cache
tests_unit_analysis_cache_SOURCES = tests/unit/analysis/cache.c $(CACHE_REFERENCE)
tests_unit_analysis_cache_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_cache_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/cacheahead
tests_unit_analysis_cacheahead_SOURCES = tests/unit/analysis/cacheahead.c $(CACHE_REFERENCE)
tests_unit_analysis_cacheahead_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_cacheahead_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/cachecores
tests_unit_analysis_cachecores_SOURCES = tests/unit/analysis/cachecores.c $(CACHE_REFERENCE)
tests_unit_analysis_cachecores_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_cachecores_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/order
tests_unit_analysis_order_SOURCES = tests/unit/analysis/order.c
tests_unit_analysis_order_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_order_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/systems
tests_unit_analysis_systems_SOURCES = tests/unit/analysis/systems.c
tests_unit_analysis_systems_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_systems_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/names
tests_unit_analysis_names_SOURCES = tests/unit/analysis/names.c tests/unit/analysis/self.h
tests_unit_analysis_names_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBDW_CFLAGS) -g
tests_unit_analysis_names_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/nameblocks
tests_unit_analysis_nameblocks_SOURCES = tests/unit/analysis/nameblocks.c
tests_unit_analysis_nameblocks_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBDW_CFLAGS)
tests_unit_analysis_nameblocks_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/fuzz/fuzz_names
tests_fuzz_fuzz_names_SOURCES = tests/fuzz/fuzz_names.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_names_CFLAGS = $(AM_CFLAGS) $(LIBDW_CFLAGS)
tests_fuzz_fuzz_names_LDADD = $(ANALYSIS_LIBS)
EXTRA_DIST += tests/fuzz/corpus/names.tar

PURE_TESTS += tests/unit/analysis/sharing
tests_unit_analysis_sharing_SOURCES = tests/unit/analysis/sharing.c
tests_unit_analysis_sharing_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_sharing_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/pages
tests_unit_analysis_pages_SOURCES = tests/unit/analysis/pages.c
tests_unit_analysis_pages_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_analysis_pages_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/analysis/layout
tests_unit_analysis_layout_SOURCES = tests/unit/analysis/layout.c tests/unit/analysis/self.h
tests_unit_analysis_layout_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBDW_CFLAGS) -g
tests_unit_analysis_layout_LDADD = $(ANALYSIS_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/fuzz/fuzz_nodes
tests_fuzz_fuzz_nodes_SOURCES = tests/fuzz/fuzz_nodes.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_nodes_LDADD = $(ANALYSIS_LIBS)
EXTRA_DIST += tests/fuzz/corpus/nodes.tar
