# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memfacts/cases
tests_unit_memfacts_cases_SOURCES = tests/unit/memfacts/cases.c \
	tests/unit/memfacts/render.c tests/unit/memfacts/render.h
tests_unit_memfacts_cases_LDADD = $(TRAMPOLINES_LIBS)

PURE_TESTS += tests/unit/memfacts/survey
tests_unit_memfacts_survey_SOURCES = tests/unit/memfacts/survey.c \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_memfacts_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memfacts_survey_LDADD = $(TRAMPOLINES_LIBS) $(ZYDIS_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/unit/memfacts/exec
tests_unit_memfacts_exec_SOURCES = tests/unit/memfacts/exec.c \
	tests/unit/memfacts/machine.c tests/unit/memfacts/machine.h \
	tests/unit/memfacts/rig.c tests/unit/memfacts/rig.h \
	tests/unit/memfacts/trial.c tests/unit/memfacts/trial.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h \
	tests/unit/wrap/machine.c tests/unit/wrap/machine.h
tests_unit_memfacts_exec_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memfacts_exec_LDADD = $(TRAMPOLINES_LIBS) $(ZYDIS_LIBS) $(LIBELF_LIBS)
