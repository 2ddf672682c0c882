# SPDX-License-Identifier: GPL-3.0-or-later
PURE_TESTS += tests/unit/memtrace/memexpand
tests_unit_memtrace_memexpand_SOURCES = tests/unit/memtrace/memexpand.c \
	tests/unit/memtrace/memexpand_support.c tests/unit/memtrace/memexpand_support.h
tests_unit_memtrace_memexpand_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_memexpand_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/memtrace/memexpand_random
tests_unit_memtrace_memexpand_random_SOURCES = tests/unit/memtrace/memexpand_random.c \
	tests/unit/memtrace/memexpand_dice.c tests/unit/memtrace/memexpand_dice.h \
	tests/unit/memtrace/memexpand_support.c tests/unit/memtrace/memexpand_support.h
tests_unit_memtrace_memexpand_random_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_memexpand_random_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS)

# Its corpus is replayed here, see tests/fuzz/fuzz_memexpand.c.
PURE_TESTS += tests/fuzz/fuzz_memexpand
tests_fuzz_fuzz_memexpand_SOURCES = tests/fuzz/fuzz_memexpand.c tests/fuzz/fuzz_main.c \
	tests/fuzz/memexpand_input.c tests/fuzz/memexpand_input.h
tests_fuzz_fuzz_memexpand_LDADD = $(MEMTRACE_LIBS)
EXTRA_DIST += tests/fuzz/corpus/memexpand.tar

PURE_TESTS += tests/unit/memtrace/verify
tests_unit_memtrace_verify_SOURCES = tests/unit/memtrace/verify.c \
	tests/unit/memtrace/memexpand_support.c tests/unit/memtrace/memexpand_support.h
tests_unit_memtrace_verify_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_memtrace_verify_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS)
