# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memplan_survey
tests_unit_memplan_survey_SOURCES = tests/unit/memplan_survey.c \
	tests/unit/memplan_check.c tests/unit/memplan_check.h \
	tests/unit/memplan_dump.c tests/unit/memplan_dump.h \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_memplan_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memplan_survey_LDADD = libinjector.la libtrampolines.la libtracefmt.la $(LIBELF_LIBS)

PURE_TESTS += tests/unit/memplan_cases
tests_unit_memplan_cases_SOURCES = tests/unit/memplan_cases.c \
	tests/unit/memplan_check.c tests/unit/memplan_check.h
tests_unit_memplan_cases_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memplan_cases_LDADD = libtrampolines.la $(CMOCKA_LIBS)
