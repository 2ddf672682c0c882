# SPDX-License-Identifier: GPL-3.0-or-later
# `make bench` builds BENCH_PROGRAMS, which are programs to trace (their flags are their own, as in
# tests/programs) or help to measure, and runs the measurements: see doc/benchmarks.md.
BENCH_TRACEES = \
	tests/bench/parse \
	tests/bench/calls-dup \
	tests/bench/calls-lib \
	tests/bench/calls-own \
	tests/bench/hammer \
	tests/bench/libsubject-dup.so \
	tests/bench/libspent.so \
	tests/bench/libsubject.so \
	tests/bench/nothing \
	tests/bench/paced
BENCH_KERNELS = \
	tests/bench/mem/bt \
	tests/bench/mem/cg \
	tests/bench/mem/ep \
	tests/bench/mem/ft \
	tests/bench/mem/gs \
	tests/bench/mem/gups \
	tests/bench/mem/is \
	tests/bench/mem/join \
	tests/bench/mem/lu \
	tests/bench/mem/mg \
	tests/bench/mem/sp \
	tests/bench/mem/stream \
	tests/bench/mem/tree
if HAVE_STATIC_LIBC
BENCH_TRACEES += \
	tests/bench/calls-static \
	tests/bench/nothing-static
endif
if HAVE_OPENMPI
BENCH_TRACEES += tests/bench/nothing-openmpi
endif
if HAVE_MPICH
BENCH_TRACEES += tests/bench/nothing-mpich
endif

BENCH_HELPERS = tests/bench/analysis tests/bench/bench_encode tests/bench/bench_memexpand \
	tests/bench/cachespeed tests/bench/interleave tests/bench/memspeed tests/bench/memtraces tests/bench/sonde-rungs
EXTRA_PROGRAMS += $(BENCH_HELPERS)
tests_bench_analysis_SOURCES = tests/bench/analysis.c
tests_bench_analysis_LDADD = $(INJECTOR_LIBS)
tests_bench_bench_encode_SOURCES = tests/bench/bench_encode.c
tests_bench_bench_encode_LDADD = $(TRACEFMT_LIBS) -lm
tests_bench_bench_memexpand_SOURCES = tests/bench/bench_memexpand.c
tests_bench_bench_memexpand_LDADD = $(MEMTRACE_LIBS)
tests_bench_cachespeed_SOURCES = tests/bench/cachespeed.c tests/bench/memload.c tests/bench/memload.h
tests_bench_cachespeed_LDADD = $(ANALYSIS_LIBS) $(MEMTRACE_LIBS) $(TRACEFMT_LIBS) $(LIBELF_LIBS)
tests_bench_memspeed_SOURCES = tests/bench/memspeed.c tests/bench/memload.c tests/bench/memload.h
tests_bench_memspeed_LDADD = $(MEMTRACE_LIBS) $(TRACEFMT_LIBS) $(LIBELF_LIBS)
tests_bench_memtraces_SOURCES = tests/bench/memtraces.c
tests_bench_memtraces_LDADD = $(REPORT_LIBS) $(LIBELF_LIBS)
tests_bench_interleave_SOURCES = tests/bench/interleave.c
tests_bench_sonde_rungs_SOURCES = $(sonde_SOURCES) tests/bench/rungs.c
tests_bench_sonde_rungs_LDADD = $(sonde_LDADD)

EXTRA_DIST += \
	tests/bench/absent.c \
	tests/bench/blocks.sh \
	tests/bench/calls.c \
	tests/bench/count.c \
	tests/bench/guest.c \
	tests/bench/globals.c \
	tests/bench/hammer.c \
	tests/bench/lib.sh \
	tests/bench/libc100.c \
	tests/bench/many.sh \
	tests/bench/mem/bt.c \
	tests/bench/mem/cg.c \
	tests/bench/mem/ep.c \
	tests/bench/mem/ft.c \
	tests/bench/mem/gs.c \
	tests/bench/mem/gups.c \
	tests/bench/mem/is.c \
	tests/bench/mem/join.c \
	tests/bench/mem/lu.c \
	tests/bench/mem/mg.c \
	tests/bench/mem/sp.c \
	tests/bench/mem/stream.c \
	tests/bench/mem/tree.c \
	tests/bench/mem/kernel.h \
	tests/bench/memory.sh \
	tests/bench/nothing.c \
	tests/bench/paced.c \
	tests/bench/parse.c \
	tests/bench/record.c \
	tests/bench/run.sh \
	tests/bench/short.sh \
	tests/bench/spent.c \
	tests/bench/sqlite.c \
	tests/bench/sqlite.sql \
	tests/bench/subject.c
CLEANFILES += $(BENCH_TRACEES) $(BENCH_KERNELS) $(BENCH_HELPERS)
dist_doc_DATA += doc/benchmarks.md

BENCH_BUILD = $(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) $(PROGRAM_CFLAGS) -o $@

tests/bench/libsubject.so: tests/bench/subject.c
	$(BENCH_BUILD) -fPIC -shared $<
tests/bench/libspent.so: tests/bench/spent.c
	$(BENCH_BUILD) -fPIC -shared $<
tests/bench/libsubject-dup.so: tests/bench/subject.c
	$(BENCH_BUILD) -fPIC -shared -DWITH_DUP $<
tests/bench/calls-lib: tests/bench/calls.c tests/bench/libsubject.so
	$(BENCH_BUILD) $< $(abs_top_builddir)/tests/bench/libsubject.so
tests/bench/calls-dup: tests/bench/calls.c tests/bench/libsubject-dup.so
	$(BENCH_BUILD) -DSUBJECT=dup $< $(abs_top_builddir)/tests/bench/libsubject-dup.so
tests/bench/calls-own: tests/bench/calls.c tests/bench/subject.c
	$(BENCH_BUILD) $^
tests/bench/calls-static: tests/bench/calls.c tests/bench/subject.c
	$(BENCH_BUILD) -static $^
tests/bench/hammer: tests/bench/hammer.c tests/bench/subject.c
	$(BENCH_BUILD) -pthread $^
# uftrace finds a function of its own accord where five bytes were left for it; Sonde does not need them.
tests/bench/parse: tests/bench/parse.c
	$(BENCH_BUILD) -fpatchable-function-entry=5 $<
tests/bench/nothing: tests/bench/nothing.c
	$(BENCH_BUILD) $<
tests/bench/paced: tests/bench/paced.c tests/bench/subject.c
	$(BENCH_BUILD) -pthread $^
tests/bench/nothing-static: tests/bench/nothing.c
	$(BENCH_BUILD) -static $<
tests/bench/nothing-openmpi: tests/bench/nothing.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(MPICC_OPENMPI) $(PROGRAM_CFLAGS) -Wl,--no-as-needed -o $@ $<
tests/bench/nothing-mpich: tests/bench/nothing.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(MPICC_MPICH) $(PROGRAM_CFLAGS) -Wl,--no-as-needed -o $@ $<

# They are what their users would have: optimized, parallel.
$(BENCH_KERNELS): tests/bench/mem/kernel.h
tests/bench/mem/bt: tests/bench/mem/bt.c
tests/bench/mem/cg: tests/bench/mem/cg.c
tests/bench/mem/ep: tests/bench/mem/ep.c
tests/bench/mem/ft: tests/bench/mem/ft.c
tests/bench/mem/gs: tests/bench/mem/gs.c
tests/bench/mem/gups: tests/bench/mem/gups.c
tests/bench/mem/is: tests/bench/mem/is.c
tests/bench/mem/join: tests/bench/mem/join.c
tests/bench/mem/lu: tests/bench/mem/lu.c
tests/bench/mem/mg: tests/bench/mem/mg.c
tests/bench/mem/sp: tests/bench/mem/sp.c
tests/bench/mem/stream: tests/bench/mem/stream.c
tests/bench/mem/tree: tests/bench/mem/tree.c
$(BENCH_KERNELS):
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(CC) -O2 -g -fopenmp -std=gnu17 -o $@ $(srcdir)/$@.c -lm

bench: all $(BENCH_TRACEES) $(BENCH_KERNELS) $(BENCH_HELPERS)
	SONDE_TEST_TIMEOUT=3600 $(srcdir)/tests/run $(srcdir)/tests/bench/run.sh
.PHONY: bench
