# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/mirror/survey
tests_unit_mirror_survey_SOURCES = tests/unit/mirror/survey.c \
	tests/unit/mirror/walk.c tests/unit/mirror/walk.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_mirror_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_mirror_survey_LDADD = $(INJECTOR_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/mirror/exec
tests_unit_mirror_exec_SOURCES = tests/unit/mirror/exec.c \
	tests/unit/mirror/rig.c tests/unit/mirror/rig.h \
	tests/unit/mirror/random.c tests/unit/mirror/random.h \
	tests/unit/wrap/machine.c tests/unit/wrap/machine.h
tests_unit_mirror_exec_LDADD = $(TRAMPOLINES_LIBS)

# Its corpus is replayed here, see tests/fuzz/fuzz_mirror.c.
PURE_TESTS += tests/fuzz/fuzz_mirror
tests_fuzz_fuzz_mirror_SOURCES = tests/fuzz/fuzz_mirror.c tests/fuzz/fuzz_main.c \
	tests/unit/mirror/walk.c tests/unit/mirror/walk.h
tests_fuzz_fuzz_mirror_LDADD = $(TRAMPOLINES_LIBS)
EXTRA_DIST += tests/fuzz/corpus/mirror.tar

PURE_TESTS += tests/unit/mirror/cases
tests_unit_mirror_cases_SOURCES = tests/unit/mirror/cases.c \
	tests/unit/mirror/subject.c tests/unit/mirror/subject.h \
	tests/unit/mirror/walk.c tests/unit/mirror/walk.h
tests_unit_mirror_cases_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mirror_cases_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)
PURE_TESTS += tests/unit/mirror/insns
tests_unit_mirror_insns_SOURCES = tests/unit/mirror/insns.c \
	tests/unit/mirror/subject.c tests/unit/mirror/subject.h \
	tests/unit/mirror/walk.c tests/unit/mirror/walk.h
tests_unit_mirror_insns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mirror_insns_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)
