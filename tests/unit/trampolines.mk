# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of trampolines/.
PURE_TESTS += tests/unit/trampolines_plan
tests_unit_trampolines_plan_SOURCES = tests/unit/trampolines_plan.c
tests_unit_trampolines_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trampolines_plan_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/trampolines_replay
tests_unit_trampolines_replay_SOURCES = tests/unit/trampolines_replay.c
tests_unit_trampolines_replay_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trampolines_replay_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/trampolines_stub
tests_unit_trampolines_stub_SOURCES = tests/unit/trampolines_stub.c
tests_unit_trampolines_stub_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trampolines_stub_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/trampolines_exec
tests_unit_trampolines_exec_SOURCES = tests/unit/trampolines_exec.c \
	tests/unit/trampolines_machine.c tests/unit/trampolines_machine.h
tests_unit_trampolines_exec_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trampolines_exec_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/trampolines_section
tests_unit_trampolines_section_SOURCES = tests/unit/trampolines_section.c
tests_unit_trampolines_section_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trampolines_section_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/trampolines_survey
tests_unit_trampolines_survey_SOURCES = tests/unit/trampolines_survey.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_trampolines_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_trampolines_survey_LDADD = libtrampolines.la $(LIBELF_LIBS)

PURE_TESTS += tests/unit/trampolines_branches
tests_unit_trampolines_branches_SOURCES = tests/unit/trampolines_branches.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_trampolines_branches_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_trampolines_branches_LDADD = libtrampolines.la $(ZYDIS_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/trampolines_decoders
tests_unit_trampolines_decoders_SOURCES = tests/unit/trampolines_decoders.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_trampolines_decoders_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_trampolines_decoders_LDADD = libtrampolines.la $(LIBELF_LIBS)

PURE_TESTS += tests/unit/trampolines_keep
tests_unit_trampolines_keep_SOURCES = tests/unit/trampolines_keep.c
tests_unit_trampolines_keep_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_trampolines_keep_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/trampolines_keep_survey
tests_unit_trampolines_keep_survey_SOURCES = tests/unit/trampolines_keep_survey.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_trampolines_keep_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_trampolines_keep_survey_LDADD = libtrampolines.la $(LIBELF_LIBS)

UNIT_TESTS += tests/unit/trampolines_keep_exec
tests_unit_trampolines_keep_exec_SOURCES = tests/unit/trampolines_keep_exec.c \
	tests/unit/trampolines_elf.c tests/unit/trampolines_elf.h
tests_unit_trampolines_keep_exec_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_trampolines_keep_exec_LDADD = libtrampolines.la $(LIBELF_LIBS)

# The fuzzer of trampolines/: its corpus is replayed here, see tests/fuzz/fuzz_trampoline.c.
PURE_TESTS += tests/fuzz/fuzz_trampoline
tests_fuzz_fuzz_trampoline_SOURCES = tests/fuzz/fuzz_trampoline.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trampoline_LDADD = libtrampolines.la $(ZYDIS_LIBS)
EXTRA_DIST += tests/fuzz/corpus/trampoline
