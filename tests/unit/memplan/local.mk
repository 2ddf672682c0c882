# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memplan/survey
tests_unit_memplan_survey_SOURCES = tests/unit/memplan/survey.c \
	tests/unit/memplan/check.c tests/unit/memplan/check.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_memplan_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memplan_survey_LDADD = $(INJECTOR_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/memplan/cases
tests_unit_memplan_cases_SOURCES = tests/unit/memplan/cases.c \
	tests/unit/memplan/check.c tests/unit/memplan/check.h
tests_unit_memplan_cases_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memplan_cases_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

# For developers: prints how a function's plan comes about.
check_PROGRAMS += tests/unit/memplan/passes
tests_unit_memplan_passes_SOURCES = tests/unit/memplan/passes.c
tests_unit_memplan_passes_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memplan_passes_LDADD = $(INJECTOR_LIBS) $(LIBELF_LIBS)
