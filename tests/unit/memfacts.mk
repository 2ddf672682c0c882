# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memfacts_cases
tests_unit_memfacts_cases_SOURCES = tests/unit/memfacts_cases.c \
	tests/unit/memfacts_render.c tests/unit/memfacts_render.h
tests_unit_memfacts_cases_LDADD = libtrampolines.la

PURE_TESTS += tests/unit/memfacts_survey
tests_unit_memfacts_survey_SOURCES = tests/unit/memfacts_survey.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_memfacts_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memfacts_survey_LDADD = libtrampolines.la $(ZYDIS_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/unit/memfacts_exec
tests_unit_memfacts_exec_SOURCES = tests/unit/memfacts_exec.c \
	tests/unit/memfacts_machine.c tests/unit/memfacts_machine.h \
	tests/unit/memfacts_rig.c tests/unit/memfacts_rig.h \
	tests/unit/memfacts_trial.c tests/unit/memfacts_trial.h \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h \
	tests/unit/trampolines_machine.c tests/unit/trampolines_machine.h
tests_unit_memfacts_exec_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_memfacts_exec_LDADD = libtrampolines.la $(ZYDIS_LIBS) $(LIBELF_LIBS)
