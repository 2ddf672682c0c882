# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/flow/survey
tests_unit_flow_survey_SOURCES = tests/unit/flow/survey.c \
	tests/unit/flow/support.c tests/unit/flow/support.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_flow_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_flow_survey_LDADD = $(TRAMPOLINES_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/flow/shapes
tests_unit_flow_shapes_SOURCES = tests/unit/flow/shapes.c
tests_unit_flow_shapes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_flow_shapes_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/flow/outline
tests_unit_flow_outline_SOURCES = tests/unit/flow/outline.c
tests_unit_flow_outline_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_flow_outline_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/flow/exec
tests_unit_flow_exec_SOURCES = tests/unit/flow/exec.c \
	tests/unit/flow/support.c tests/unit/flow/support.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_flow_exec_CPPFLAGS = $(AM_CPPFLAGS) -DSRCDIR='"$(abs_top_srcdir)"'
tests_unit_flow_exec_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_flow_exec_LDADD = $(TRAMPOLINES_LIBS) $(LIBELF_LIBS)
EXTRA_DIST += tests/unit/flow/program.c
