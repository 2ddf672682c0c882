# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of `sonde report`: traces written for them, and what is to be reported of those.
REPORT_TEST_SUPPORT = tests/unit/report/support.c tests/unit/report/support.h
REPORT_TEST_LIBS = $(REPORT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/report/units
tests_unit_report_units_SOURCES = tests/unit/report/units.c
tests_unit_report_units_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_units_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/unit/report/figures
tests_unit_report_figures_SOURCES = tests/unit/report/figures.c $(REPORT_TEST_SUPPORT)
tests_unit_report_figures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_figures_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/unit/report/slices
tests_unit_report_slices_SOURCES = tests/unit/report/slices.c
tests_unit_report_slices_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_slices_LDADD = $(REPORT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/report/groups
tests_unit_report_groups_SOURCES = tests/unit/report/groups.c $(REPORT_TEST_SUPPORT)
tests_unit_report_groups_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_groups_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/unit/report/output
tests_unit_report_output_SOURCES = tests/unit/report/output.c $(REPORT_TEST_SUPPORT)
tests_unit_report_output_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_report_output_LDADD = $(REPORT_TEST_LIBS) $(JANSSON_LIBS)

PURE_TESTS += tests/unit/report/graph
tests_unit_report_graph_SOURCES = tests/unit/report/graph.c $(REPORT_TEST_SUPPORT)
tests_unit_report_graph_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_graph_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/unit/report/processes
tests_unit_report_processes_SOURCES = tests/unit/report/processes.c $(REPORT_TEST_SUPPORT)
tests_unit_report_processes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_processes_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/unit/report/replay
tests_unit_report_replay_SOURCES = tests/unit/report/replay.c $(REPORT_TEST_SUPPORT)
tests_unit_report_replay_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_replay_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/unit/launcher/memkept
tests_unit_launcher_memkept_SOURCES = tests/unit/launcher/memkept.c
tests_unit_launcher_memkept_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(XXHASH_CFLAGS)
tests_unit_launcher_memkept_LDADD = $(REPORT_LIBS) $(XXHASH_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/walk
tests_unit_launcher_walk_SOURCES = tests/unit/launcher/walk.c launcher/advise/walk.c
tests_unit_launcher_walk_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_launcher_walk_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_walk_LDADD = $(REPORT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/memprofile
tests_unit_launcher_memprofile_SOURCES = tests/unit/launcher/memprofile.c
tests_unit_launcher_memprofile_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_memprofile_LDADD = $(REPORT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/launcher/progress
tests_unit_launcher_progress_SOURCES = tests/unit/launcher/progress.c
tests_unit_launcher_progress_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_launcher_progress_LDADD = $(REPORT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/report/spent
tests_unit_report_spent_SOURCES = tests/unit/report/spent.c $(REPORT_TEST_SUPPORT)
tests_unit_report_spent_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_report_spent_LDADD = $(REPORT_TEST_LIBS)

PURE_TESTS += tests/fuzz/fuzz_processes
tests_fuzz_fuzz_processes_SOURCES = tests/fuzz/fuzz_processes.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_processes_LDADD = $(REPORT_LIBS)
EXTRA_DIST += tests/fuzz/corpus/processes.tar
