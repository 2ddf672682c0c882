# SPDX-License-Identifier: GPL-3.0-or-later
# Unit tests of trampolines/probe/probe.h.
PROBE_RIG = tests/unit/probe/rig.c tests/unit/probe/rig.h \
	tests/unit/wrap/machine.c tests/unit/wrap/machine.h

PURE_TESTS += tests/unit/probe/exec
tests_unit_probe_exec_SOURCES = tests/unit/probe/exec.c $(PROBE_RIG)
tests_unit_probe_exec_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probe_exec_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/probe/filter
tests_unit_probe_filter_SOURCES = tests/unit/probe/filter.c $(PROBE_RIG)
tests_unit_probe_filter_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probe_filter_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

PURE_TESTS += tests/unit/probe/restart
tests_unit_probe_restart_SOURCES = tests/unit/probe/restart.c runtime/signals/putback.c $(PROBE_RIG)
tests_unit_probe_restart_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/modules/include
tests_unit_probe_restart_CFLAGS = $(AM_CFLAGS) $(CMOCKA_CFLAGS)
tests_unit_probe_restart_LDADD = $(TRAMPOLINES_LIBS) $(CMOCKA_LIBS)

# make tests/bench/probes: what probes cost
EXTRA_PROGRAMS += tests/bench/probes
tests_bench_probes_SOURCES = tests/bench/probes.c
tests_bench_probes_LDADD = $(TRAMPOLINES_LIBS)
CLEANFILES += tests/bench/probes
