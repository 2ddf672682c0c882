# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of tracefmt/.
TRACEFMT_SUPPORT = tests/unit/tracefmt/support.c tests/unit/tracefmt/support.h

PURE_TESTS += tests/unit/tracefmt/clocks
tests_unit_tracefmt_clocks_SOURCES = tests/unit/tracefmt/clocks.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_clocks_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_clocks_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS) -lm

PURE_TESTS += tests/unit/tracefmt/damage
tests_unit_tracefmt_damage_SOURCES = tests/unit/tracefmt/damage.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_damage_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_damage_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/drain
tests_unit_tracefmt_drain_SOURCES = tests/unit/tracefmt/drain.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_drain_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_drain_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/group
tests_unit_tracefmt_group_SOURCES = tests/unit/tracefmt/group.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_group_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_group_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/memory
tests_unit_tracefmt_memory_SOURCES = tests/unit/tracefmt/memory.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_memory_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_memory_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/metadata
tests_unit_tracefmt_metadata_SOURCES = tests/unit/tracefmt/metadata.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_metadata_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(JANSSON_CFLAGS)
tests_unit_tracefmt_metadata_LDADD = $(TRACEFMT_LIBS) $(JANSSON_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/places
tests_unit_tracefmt_places_SOURCES = tests/unit/tracefmt/places.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_places_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_places_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/probes
tests_unit_tracefmt_probes_SOURCES = tests/unit/tracefmt/probes.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_probes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_probes_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/roundtrip
tests_unit_tracefmt_roundtrip_SOURCES = tests/unit/tracefmt/roundtrip.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_roundtrip_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_roundtrip_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/stack
tests_unit_tracefmt_stack_SOURCES = tests/unit/tracefmt/stack.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_stack_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_stack_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/tails
tests_unit_tracefmt_tails_SOURCES = tests/unit/tracefmt/tails.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_tails_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_tails_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/tracefmt/words
tests_unit_tracefmt_words_SOURCES = tests/unit/tracefmt/words.c
tests_unit_tracefmt_words_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_words_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)

# The golden traces, and the second reader.
if HAVE_CMOCKA
check_PROGRAMS += tests/unit/tracefmt/generate tests/unit/tracefmt/lines
INTEGRATION_TESTS += tests/integration/dump-info.sh tests/integration/trace-readers.sh
endif
tests_unit_tracefmt_generate_SOURCES = tests/unit/tracefmt/generate.c $(TRACEFMT_SUPPORT)
tests_unit_tracefmt_generate_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_tracefmt_generate_LDADD = $(TRACEFMT_LIBS) $(CMOCKA_LIBS)
tests_unit_tracefmt_lines_SOURCES = tests/unit/tracefmt/lines.c
tests_unit_tracefmt_lines_LDADD = $(TRACEFMT_LIBS)
EXTRA_DIST += tests/unit/tracefmt/reader.py tests/golden/trace

# The fuzzers; their corpora are replayed.
PURE_TESTS += tests/fuzz/fuzz_trace_blocks tests/fuzz/fuzz_trace_memory tests/fuzz/fuzz_trace_metadata \
	tests/fuzz/fuzz_trace_places tests/fuzz/fuzz_trace_ring tests/fuzz/fuzz_trace_thread
tests_fuzz_fuzz_trace_blocks_SOURCES = tests/fuzz/fuzz_trace_blocks.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trace_blocks_LDADD = $(TRACEFMT_LIBS)
tests_fuzz_fuzz_trace_memory_SOURCES = tests/fuzz/fuzz_trace_memory.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trace_memory_LDADD = $(MEMTRACE_LIBS) $(TRACEFMT_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS)
tests_fuzz_fuzz_trace_metadata_SOURCES = tests/fuzz/fuzz_trace_metadata.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trace_metadata_LDADD = $(TRACEFMT_LIBS)
tests_fuzz_fuzz_trace_places_SOURCES = tests/fuzz/fuzz_trace_places.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trace_places_LDADD = $(TRACEFMT_LIBS)
tests_fuzz_fuzz_trace_ring_SOURCES = tests/fuzz/fuzz_trace_ring.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trace_ring_LDADD = $(TRACEFMT_LIBS) $(ZSTD_LIBS)
tests_fuzz_fuzz_trace_thread_SOURCES = tests/fuzz/fuzz_trace_thread.c tests/fuzz/fuzz_main.c
tests_fuzz_fuzz_trace_thread_LDADD = $(TRACEFMT_LIBS) $(ZSTD_LIBS) $(XXHASH_LIBS)
EXTRA_DIST += tests/fuzz/corpus/trace_blocks.tar tests/fuzz/corpus/trace_memory.tar tests/fuzz/corpus/trace_metadata.tar \
	tests/fuzz/corpus/trace_places.tar tests/fuzz/corpus/trace_ring.tar tests/fuzz/corpus/trace_thread.tar
