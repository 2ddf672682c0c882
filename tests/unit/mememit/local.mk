# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/mememit/exec
tests_unit_mememit_exec_SOURCES = tests/unit/mememit/exec.c \
	tests/unit/mememit/rig.c tests/unit/mememit/rig.h \
	tests/unit/mememit/stream.c tests/unit/mememit/stream.h \
	tests/unit/mememit/mix.c tests/unit/mememit/mix.h \
	tests/unit/mememit/mixlanes.c tests/unit/mememit/mixflags.c tests/unit/mememit/mixpriv.h \
	tests/unit/mememit/lanes.c tests/unit/mememit/lanes.h \
	tests/unit/mememit/interrupt.c tests/unit/mememit/interrupt.h \
	tests/unit/mememit/expect.c tests/unit/mememit/expect.h \
	tests/unit/mirror/random.c tests/unit/mirror/random.h \
	tests/unit/wrap/machine.c tests/unit/wrap/machine.h
tests_unit_mememit_exec_CFLAGS = $(AM_CFLAGS) $(ZYDIS_CFLAGS)
tests_unit_mememit_exec_LDADD = $(MEMTRACE_LIBS) $(ZYDIS_LIBS)

PURE_TESTS += tests/unit/mememit/real
tests_unit_mememit_real_SOURCES = tests/unit/mememit/real.c \
	tests/unit/mememit/bodies.c tests/unit/mememit/bodies.h \
	tests/unit/mememit/rig.c tests/unit/mememit/rig.h \
	tests/unit/mememit/stream.c tests/unit/mememit/stream.h \
	tests/unit/mememit/lanes.c tests/unit/mememit/lanes.h \
	tests/unit/mememit/interrupt.c tests/unit/mememit/interrupt.h \
	tests/unit/mememit/expect.c tests/unit/mememit/expect.h \
	tests/unit/mirror/random.c tests/unit/mirror/random.h \
	tests/unit/wrap/machine.c tests/unit/wrap/machine.h
tests_unit_mememit_real_CFLAGS = $(AM_CFLAGS) $(ZYDIS_CFLAGS)
tests_unit_mememit_real_LDADD = $(MEMTRACE_LIBS) $(ZYDIS_LIBS)

PURE_TESTS += tests/unit/mememit/survey
tests_unit_mememit_survey_SOURCES = tests/unit/mememit/survey.c \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_mememit_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_mememit_survey_LDADD = $(INJECTOR_LIBS) $(LIBELF_LIBS)
