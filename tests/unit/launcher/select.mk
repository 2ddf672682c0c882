# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of how functions are chosen.
PURE_TESTS += tests/unit/launcher/select_lines
tests_unit_launcher_select_lines_SOURCES = tests/unit/launcher/select_lines.c $(LAUNCHER_TEST_SUPPORT)
# its own line numbers are what it looks for
tests_unit_launcher_select_lines_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) -g
tests_unit_launcher_select_lines_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/select_options
tests_unit_launcher_select_options_SOURCES = tests/unit/launcher/select_options.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_select_options_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_select_options_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/select_patterns
tests_unit_launcher_select_patterns_SOURCES = tests/unit/launcher/select_patterns.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_select_patterns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_select_patterns_LDADD = $(LAUNCHER_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/select_perfmap
tests_unit_launcher_select_perfmap_SOURCES = tests/unit/launcher/select_perfmap.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_launcher_select_perfmap_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_select_perfmap_LDADD = $(LAUNCHER_TEST_LIBS)
