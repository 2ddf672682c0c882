# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of runtime/.
PURE_TESTS += tests/unit/runtime/signals
tests_unit_runtime_signals_SOURCES = tests/unit/runtime/signals.c $(PROBE_RIG) \
	runtime/signals/origin.c runtime/signals/putback.c runtime/signals/signals.c runtime/signals/stepping.c runtime/windows.c runtime/x86-64/sigthunks.S
tests_unit_runtime_signals_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_signals_CCASFLAGS = $(AM_CCASFLAGS) -I$(top_srcdir)
tests_unit_runtime_signals_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_signals_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/runtime/probes
tests_unit_runtime_probes_SOURCES = tests/unit/runtime/probes.c \
	runtime/memory/analysis-code.c runtime/memory/analysis-compiled.c runtime/memory/analysis-module.c runtime/memory/analysis.c runtime/memory/batches.c \
	runtime/x86-64/onstack.S runtime/memory/work.c runtime/clock.c runtime/mapped.c \
	runtime/gate.c runtime/memory/memory.c runtime/memory/mempace.c \
	runtime/memory/memsample.c runtime/probe.c runtime/x86-64/probegate.S runtime/registry.c runtime/under.c runtime/values.c runtime/windows.c \
	runtime/writer.c runtime/guest/guest.c runtime/x86-64/guestgate.S
tests_unit_runtime_probes_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_probes_CCASFLAGS = $(AM_CCASFLAGS) -I$(top_srcdir)
tests_unit_runtime_probes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_probes_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS) -lpthread

PURE_TESTS += tests/unit/runtime/pace
tests_unit_runtime_pace_SOURCES = tests/unit/runtime/pace.c runtime/memory/mempace.c
tests_unit_runtime_pace_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_pace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_pace_LDADD = $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/runtime/sample
tests_unit_runtime_sample_SOURCES = tests/unit/runtime/sample.c \
	runtime/memory/analysis-code.c runtime/memory/analysis-compiled.c runtime/memory/analysis-module.c runtime/memory/analysis.c runtime/memory/batches.c \
	runtime/x86-64/onstack.S runtime/memory/work.c runtime/clock.c runtime/mapped.c \
	runtime/gate.c runtime/memory/memory.c runtime/memory/mempace.c \
	runtime/memory/memsample.c runtime/probe.c runtime/x86-64/probegate.S runtime/registry.c runtime/under.c runtime/values.c runtime/windows.c \
	runtime/writer.c runtime/guest/guest.c runtime/x86-64/guestgate.S
tests_unit_runtime_sample_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_sample_CCASFLAGS = $(AM_CCASFLAGS) -I$(top_srcdir)
tests_unit_runtime_sample_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_sample_LDADD = $(MEMTRACE_LIBS) $(CMOCKA_LIBS) -lpthread

PURE_TESTS += tests/unit/runtime/registry
tests_unit_runtime_registry_SOURCES = tests/unit/runtime/registry.c runtime/mapped.c runtime/registry.c runtime/windows.c
tests_unit_runtime_registry_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_registry_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_registry_LDADD = $(CMOCKA_LIBS) -lpthread

PURE_TESTS += tests/unit/runtime/cfi
tests_unit_runtime_cfi_SOURCES = tests/unit/runtime/cfi.c runtime/x86-64/cfi.c
tests_unit_runtime_cfi_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_cfi_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS) $(LIBDW_CFLAGS)
tests_unit_runtime_cfi_LDADD = $(CMOCKA_LIBS) $(LIBDW_LIBS) $(LIBELF_LIBS)

PURE_TESTS += tests/fuzz/fuzz_cfi
tests_fuzz_fuzz_cfi_SOURCES = tests/fuzz/fuzz_cfi.c tests/fuzz/fuzz_main.c runtime/x86-64/cfi.c
tests_fuzz_fuzz_cfi_CPPFLAGS = $(AM_CPPFLAGS)
tests_fuzz_fuzz_cfi_CFLAGS = $(AM_CFLAGS)
EXTRA_DIST += tests/fuzz/corpus/cfi.tar
