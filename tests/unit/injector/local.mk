# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of injector/.
PURE_TESTS += tests/unit/injector/cache
tests_unit_injector_cache_SOURCES = tests/unit/injector/cache.c
tests_unit_injector_cache_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_cache_LDADD = $(INJECTOR_LIBS) libruntime-image.a $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/called
tests_unit_injector_called_SOURCES = tests/unit/injector/called.c
tests_unit_injector_called_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_called_LDADD = $(INJECTOR_LIBS) libruntime-image.a $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/kept
tests_unit_injector_kept_SOURCES = tests/unit/injector/kept.c
tests_unit_injector_kept_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_kept_LDADD = $(INJECTOR_LIBS) libruntime-image.a $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/known
tests_unit_injector_known_SOURCES = tests/unit/injector/known.c
tests_unit_injector_known_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_known_LDADD = $(INJECTOR_LIBS) libruntime-image.a $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/elfnames
tests_unit_injector_elfnames_SOURCES = tests/unit/injector/elfnames.c
tests_unit_injector_elfnames_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_elfnames_LDADD = $(INJECTOR_LIBS) $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/injector/batch
tests_unit_injector_batch_SOURCES = tests/unit/injector/batch.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_injector_batch_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_batch_LDADD = $(COMMAND_LIBS) libruntime-image.a $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/injector/edits
tests_unit_injector_edits_SOURCES = tests/unit/injector/edits.c
tests_unit_injector_edits_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_edits_LDADD = $(INJECTOR_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/ehframe
tests_unit_injector_ehframe_SOURCES = tests/unit/injector/ehframe.c
tests_unit_injector_ehframe_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_ehframe_LDADD = $(INJECTOR_LIBS) libruntime-image.a $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/injector/undo
tests_unit_injector_undo_SOURCES = tests/unit/injector/undo.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_injector_undo_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_undo_LDADD = $(COMMAND_LIBS) libruntime-image.a $(CMOCKA_LIBS)

UNIT_TESTS += tests/unit/injector/threads
tests_unit_injector_threads_SOURCES = tests/unit/injector/threads.c $(LAUNCHER_TEST_SUPPORT)
tests_unit_injector_threads_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_threads_LDADD = $(COMMAND_LIBS) libruntime-image.a $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/injector/signatures
tests_unit_injector_signatures_SOURCES = tests/unit/injector/signatures.c
tests_unit_injector_signatures_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_injector_signatures_LDADD = $(INJECTOR_LIBS) libruntime-image.a $(CMOCKA_LIBS)

# Its corpus is replayed here, see tests/fuzz/fuzz_elf.c.
PURE_TESTS += tests/fuzz/fuzz_elf
tests_fuzz_fuzz_elf_SOURCES = tests/fuzz/fuzz_elf.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_elf_LDADD = $(INJECTOR_LIBS)
EXTRA_DIST += tests/fuzz/corpus/elf.tar

# Its corpus is replayed here, see tests/fuzz/fuzz_signatures.c.
PURE_TESTS += tests/fuzz/fuzz_signatures
tests_fuzz_fuzz_signatures_SOURCES = tests/fuzz/fuzz_signatures.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_signatures_LDADD = $(INJECTOR_LIBS) libruntime-image.a
EXTRA_DIST += tests/fuzz/corpus/signatures.tar
