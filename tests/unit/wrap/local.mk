# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of trampolines/.
PURE_TESTS += tests/unit/wrap/plan
tests_unit_wrap_plan_SOURCES = tests/unit/wrap/plan.c
tests_unit_wrap_plan_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_plan_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/replay
tests_unit_wrap_replay_SOURCES = tests/unit/wrap/replay.c
tests_unit_wrap_replay_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_replay_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/stub
tests_unit_wrap_stub_SOURCES = tests/unit/wrap/stub.c
tests_unit_wrap_stub_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_stub_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/stackargs
tests_unit_wrap_stackargs_SOURCES = tests/unit/wrap/stackargs.c
tests_unit_wrap_stackargs_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_stackargs_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/exec
tests_unit_wrap_exec_SOURCES = tests/unit/wrap/exec.c \
	tests/unit/wrap/machine.c tests/unit/wrap/machine.h
tests_unit_wrap_exec_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_exec_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/entries
tests_unit_wrap_entries_SOURCES = tests/unit/wrap/entries.c \
	tests/unit/flow/bytes.c tests/unit/flow/bytes.h
tests_unit_wrap_entries_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_entries_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/survey
tests_unit_wrap_survey_SOURCES = tests/unit/wrap/survey.c \
	tests/unit/flow/bytes.c tests/unit/flow/bytes.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_wrap_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_wrap_survey_LDADD = $(TRAMPOLINES_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/wrap/branches
tests_unit_wrap_branches_SOURCES = tests/unit/wrap/branches.c \
	tests/unit/flow/bytes.c tests/unit/flow/bytes.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_wrap_branches_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_wrap_branches_LDADD = $(TRAMPOLINES_LIBS) $(ZYDIS_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/wrap/decoders
tests_unit_wrap_decoders_SOURCES = tests/unit/wrap/decoders.c \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_wrap_decoders_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_wrap_decoders_LDADD = $(TRAMPOLINES_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/unit/wrap/keep
tests_unit_wrap_keep_SOURCES = tests/unit/wrap/keep.c \
	tests/unit/flow/bytes.c tests/unit/flow/bytes.h
tests_unit_wrap_keep_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_wrap_keep_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/wrap/keep_survey
tests_unit_wrap_keep_survey_SOURCES = tests/unit/wrap/keep_survey.c \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_wrap_keep_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_wrap_keep_survey_LDADD = $(INJECTOR_LIBS) $(LIBELF_LIBS)

UNIT_TESTS += tests/unit/wrap/keep_exec
tests_unit_wrap_keep_exec_SOURCES = tests/unit/wrap/keep_exec.c \
	tests/unit/flow/bytes.c tests/unit/flow/bytes.h \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_wrap_keep_exec_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_wrap_keep_exec_LDADD = $(TRAMPOLINES_LIBS) $(LIBELF_LIBS)

# The fuzzer of trampolines/: its corpus is replayed here, see tests/fuzz/fuzz_trampoline.c.
PURE_TESTS += tests/fuzz/fuzz_trampoline
tests_fuzz_fuzz_trampoline_SOURCES = tests/fuzz/fuzz_trampoline.c tests/fuzz/fuzz_main.c \
	tests/unit/flow/bytes.c tests/unit/flow/bytes.h
tests_fuzz_fuzz_trampoline_LDADD = $(TRAMPOLINES_LIBS) $(ZYDIS_LIBS)
EXTRA_DIST += tests/fuzz/corpus/trampoline.tar
