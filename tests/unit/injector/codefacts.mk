# SPDX-License-Identifier: GPL-3.0-or-later
CODEFACTS_TEST_SUPPORT = tests/unit/injector/codefacts_support.c tests/unit/injector/codefacts_support.h
CODEFACTS_TEST_LIBS = $(INJECTOR_LIBS)

PURE_TESTS += tests/unit/injector/codefacts
tests_unit_injector_codefacts_SOURCES = tests/unit/injector/codefacts.c $(CODEFACTS_TEST_SUPPORT)
tests_unit_injector_codefacts_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_codefacts_LDADD = $(CODEFACTS_TEST_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/codefacts_survey
tests_unit_injector_codefacts_survey_SOURCES = tests/unit/injector/codefacts_survey.c $(CODEFACTS_TEST_SUPPORT) \
	tests/unit/wrap/elf.c tests/unit/wrap/elf.h
tests_unit_injector_codefacts_survey_CFLAGS = $(AM_CFLAGS) $(LIBELF_CFLAGS)
tests_unit_injector_codefacts_survey_LDADD = $(CODEFACTS_TEST_LIBS) $(LIBELF_LIBS)

# The fuzzer: its corpus is replayed here, see tests/fuzz/fuzz_codefacts.c.
PURE_TESTS += tests/fuzz/fuzz_codefacts
tests_fuzz_fuzz_codefacts_SOURCES = tests/fuzz/fuzz_codefacts.c tests/fuzz/fuzz_main.c \
	$(CODEFACTS_TEST_SUPPORT)
tests_fuzz_fuzz_codefacts_LDADD = $(CODEFACTS_TEST_LIBS)
EXTRA_DIST += tests/fuzz/corpus/codefacts.tar
