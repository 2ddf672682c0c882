# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/flow_survey
tests_unit_flow_survey_SOURCES = tests/unit/flow_survey.c \
	tests/unit/flow_support.c tests/unit/flow_support.h \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_flow_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_flow_survey_LDADD = libtrampolines.la $(LIBELF_LIBS)
