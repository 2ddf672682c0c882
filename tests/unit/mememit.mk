# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/mememit_exec
tests_unit_mememit_exec_SOURCES = tests/unit/mememit_exec.c \
	tests/unit/mememit_rig.c tests/unit/mememit_rig.h \
	tests/unit/mememit_stream.c tests/unit/mememit_stream.h \
	tests/unit/mememit_mix.c tests/unit/mememit_mix.h \
	tests/unit/mememit_mixlanes.c tests/unit/mememit_mixflags.c tests/unit/mememit_mixpriv.h \
	tests/unit/mememit_lanes.c tests/unit/mememit_lanes.h \
	tests/unit/mememit_interrupt.c tests/unit/mememit_interrupt.h \
	tests/unit/mememit_expect.c tests/unit/mememit_expect.h \
	tests/unit/mirror_random.c tests/unit/mirror_random.h \
	tests/unit/trampolines_machine.c tests/unit/trampolines_machine.h
tests_unit_mememit_exec_CFLAGS = $(AM_CFLAGS) $(ZYDIS_CFLAGS)
tests_unit_mememit_exec_LDADD = libtrampolines.la $(ZYDIS_LIBS)

PURE_TESTS += tests/unit/mememit_real
tests_unit_mememit_real_SOURCES = tests/unit/mememit_real.c \
	tests/unit/mememit_bodies.c tests/unit/mememit_bodies.h \
	tests/unit/mememit_rig.c tests/unit/mememit_rig.h \
	tests/unit/mememit_stream.c tests/unit/mememit_stream.h \
	tests/unit/mememit_lanes.c tests/unit/mememit_lanes.h \
	tests/unit/mememit_interrupt.c tests/unit/mememit_interrupt.h \
	tests/unit/mememit_expect.c tests/unit/mememit_expect.h \
	tests/unit/mirror_random.c tests/unit/mirror_random.h \
	tests/unit/trampolines_machine.c tests/unit/trampolines_machine.h
tests_unit_mememit_real_CFLAGS = $(AM_CFLAGS) $(ZYDIS_CFLAGS)
tests_unit_mememit_real_LDADD = libtrampolines.la $(ZYDIS_LIBS)

PURE_TESTS += tests/unit/mememit_survey
tests_unit_mememit_survey_SOURCES = tests/unit/mememit_survey.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_mememit_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_mememit_survey_LDADD = libinjector.la libtrampolines.la libtracefmt.la $(LIBELF_LIBS)
