# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of runtime/.
PURE_TESTS += tests/unit/runtime_signals
tests_unit_runtime_signals_SOURCES = tests/unit/runtime_signals.c $(PROBE_RIG) \
	runtime/origin.c runtime/putback.c runtime/signals.c runtime/sigthunks-x86-64.S
tests_unit_runtime_signals_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_signals_CCASFLAGS = $(AM_CCASFLAGS) -I$(top_srcdir)
tests_unit_runtime_signals_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_signals_LDADD = libtrampolines.la $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/runtime_probes
tests_unit_runtime_probes_SOURCES = tests/unit/runtime_probes.c \
	runtime/analysis-code.c runtime/analysis-compiled.c runtime/analysis-module.c runtime/analysis.c \
	runtime/onstack-x86-64.S runtime/work.c runtime/clock.c \
	runtime/gate.c runtime/memory.c runtime/mempace.c \
	runtime/memsample.c runtime/probe.c runtime/probegate-x86-64.S runtime/registry.c runtime/writer.c
tests_unit_runtime_probes_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_probes_CCASFLAGS = $(AM_CCASFLAGS) -I$(top_srcdir)
tests_unit_runtime_probes_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_probes_LDADD = libtrampolines.la $(CMOCKA_LIBS) -lpthread

PURE_TESTS += tests/unit/runtime_pace
tests_unit_runtime_pace_SOURCES = tests/unit/runtime_pace.c runtime/mempace.c
tests_unit_runtime_pace_CPPFLAGS = $(AM_CPPFLAGS)
tests_unit_runtime_pace_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_runtime_pace_LDADD = $(CMOCKA_LIBS) -lm
