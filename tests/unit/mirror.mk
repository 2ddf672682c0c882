# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/mirror_survey
tests_unit_mirror_survey_SOURCES = tests/unit/mirror_survey.c \
	tests/unit/mirror_walk.c tests/unit/mirror_walk.h \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_mirror_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_mirror_survey_LDADD = libinjector.la libtrampolines.la libtracefmt.la $(LIBELF_LIBS)

PURE_TESTS += tests/unit/mirror_exec
tests_unit_mirror_exec_SOURCES = tests/unit/mirror_exec.c \
	tests/unit/mirror_rig.c tests/unit/mirror_rig.h \
	tests/unit/mirror_random.c tests/unit/mirror_random.h \
	tests/unit/trampolines_machine.c tests/unit/trampolines_machine.h
tests_unit_mirror_exec_LDADD = libtrampolines.la

# Its corpus is replayed here, see tests/fuzz/fuzz_mirror.c.
PURE_TESTS += tests/fuzz/fuzz_mirror
tests_fuzz_fuzz_mirror_SOURCES = tests/fuzz/fuzz_mirror.c tests/fuzz/fuzz_main.c \
	tests/unit/mirror_walk.c tests/unit/mirror_walk.h
tests_fuzz_fuzz_mirror_LDADD = libtrampolines.la
EXTRA_DIST += tests/fuzz/corpus/mirror

PURE_TESTS += tests/unit/mirror_cases
tests_unit_mirror_cases_SOURCES = tests/unit/mirror_cases.c \
	tests/unit/mirror_subject.c tests/unit/mirror_subject.h \
	tests/unit/mirror_walk.c tests/unit/mirror_walk.h
tests_unit_mirror_cases_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mirror_cases_LDADD = libtrampolines.la $(CMOCKA_LIBS)
PURE_TESTS += tests/unit/mirror_insns
tests_unit_mirror_insns_SOURCES = tests/unit/mirror_insns.c \
	tests/unit/mirror_subject.c tests/unit/mirror_subject.h \
	tests/unit/mirror_walk.c tests/unit/mirror_walk.h
tests_unit_mirror_insns_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_mirror_insns_LDADD = libtrampolines.la $(CMOCKA_LIBS)
