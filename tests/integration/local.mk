# SPDX-License-Identifier: GPL-3.0-or-later
# Sorted, one a line. A script sources tests/integration/lib.sh and needs nothing else.
EXTRA_DIST += \
	tests/integration/attach-lib.sh \
	tests/integration/exported.py \
	tests/integration/lackey.awk \
	tests/integration/lib.sh \
	tests/integration/matrix.sh \
	tests/integration/openmp.py \
	tests/integration/perfetto.proto \
	tests/integration/start-killed.py \
	tests/integration/steps.sh \
	tests/integration/stress.sh
INTEGRATION_TESTS += \
	tests/integration/attach-follow.sh \
	tests/integration/attach-forks.sh \
	tests/integration/attach-many.sh \
	tests/integration/attach-modules.sh \
	tests/integration/attach-mpi.sh \
	tests/integration/attach-refused.sh \
	tests/integration/attach-server.sh \
	tests/integration/attach-unwind.sh \
	tests/integration/attach-within.sh \
	tests/integration/attach.sh \
	tests/integration/binary.sh \
	tests/integration/blocks-counts.sh \
	tests/integration/blocks-oracle.sh \
	tests/integration/blocks-trace.sh \
	tests/integration/blocks.sh \
	tests/integration/cache.sh \
	tests/integration/budget.sh \
	tests/integration/build-tree.sh \
	tests/integration/cannot-run.sh \
	tests/integration/commandline.sh \
	tests/integration/control.sh \
	tests/integration/dead-ends.sh \
	tests/integration/disasm.sh \
	tests/integration/dlopen.sh \
	tests/integration/dump-info.sh \
	tests/integration/ends.sh \
	tests/integration/environment.sh \
	tests/integration/exceptions.sh \
	tests/integration/export.sh \
	tests/integration/first-calls.sh \
	tests/integration/flight.sh \
	tests/integration/follow.sh \
	tests/integration/forks.sh \
	tests/integration/full-disk.sh \
	tests/integration/functions-blocks.sh \
	tests/integration/functions-calls.sh \
	tests/integration/functions-counts.sh \
	tests/integration/functions-filters.sh \
	tests/integration/functions-oracle-eager.sh \
	tests/integration/functions-oracle.sh \
	tests/integration/functions-stress.sh \
	tests/integration/harness.sh \
	tests/integration/hostile.sh \
	tests/integration/ifunc.sh \
	tests/integration/installed.sh \
	tests/integration/ipara.sh \
	tests/integration/launcher.sh \
	tests/integration/limits.sh \
	tests/integration/live.sh \
	tests/integration/list-functions.sh \
	tests/integration/longjmp.sh \
	tests/integration/manual.sh \
	tests/integration/max-size.sh \
	tests/integration/memory-cachegrind.sh \
	tests/integration/memory-caches.sh \
	tests/integration/memory-compiled.sh \
	tests/integration/memory-dump.sh \
	tests/integration/memory-estimates.sh \
	tests/integration/memory-inproc-compiled.sh \
	tests/integration/memory-inproc.sh \
	tests/integration/memory-lackey.sh \
	tests/integration/memory-library.sh \
	tests/integration/memory-modules.sh \
	tests/integration/memory-oracle-eager.sh \
	tests/integration/memory-oracle.sh \
	tests/integration/memory-sample.sh \
	tests/integration/memory-stress.sh \
	tests/integration/memory-switched.sh \
	tests/integration/memory-timers.sh \
	tests/integration/memory-visits.sh \
	tests/integration/modules-used.sh \
	tests/integration/mpi-compiled.sh \
	tests/integration/mpi-node.sh \
	tests/integration/mpi-waits.sh \
	tests/integration/mpi.sh \
	tests/integration/names.sh \
	tests/integration/node.sh \
	tests/integration/openmp.sh \
	tests/integration/outlives.sh \
	tests/integration/output.sh \
	tests/integration/overflows.sh \
	tests/integration/perf-map.sh \
	tests/integration/perf-report.sh \
	tests/integration/perturbation.sh \
	tests/integration/processes.sh \
	tests/integration/progress.sh \
	tests/integration/ranks.sh \
	tests/integration/recursion.sh \
	tests/integration/redis.sh \
	tests/integration/report-kept.sh \
	tests/integration/scripts.sh \
	tests/integration/signals.sh \
	tests/integration/start-killed.sh \
	tests/integration/static.sh \
	tests/integration/stopped.sh \
	tests/integration/tail-calls.sh \
	tests/integration/terminal.sh \
	tests/integration/threads.sh \
	tests/integration/tools.sh \
	tests/integration/trace-readers.sh \
	tests/integration/under.sh \
	tests/integration/unusual.sh \
	tests/integration/workers.sh

# Modules that the scripts use, by -m "$modules/NAME.c".
EXTRA_DIST += \
	tests/integration/modules/broken.c \
	tests/integration/modules/coroutines.c \
	tests/integration/modules/dlopen.c \
	tests/integration/modules/first.c \
	tests/integration/modules/hooks.c \
	tests/integration/modules/ipara.c \
	tests/integration/modules/jumps.c \
	tests/integration/modules/large.c \
	tests/integration/modules/libc.c \
	tests/integration/modules/noise.c \
	tests/integration/modules/order.c \
	tests/integration/modules/parts.c \
	tests/integration/modules/picks.c \
	tests/integration/modules/plug.c \
	tests/integration/modules/recurse.c \
	tests/integration/modules/second.c \
	tests/integration/modules/shared.c \
	tests/integration/modules/sigs.c \
	tests/integration/modules/sizes.c \
	tests/integration/modules/typo.c \
	tests/integration/modules/unlinked.c \
	tests/integration/modules/work.c \
	tests/integration/modules/wrapload.c

# Programs that the scripts trace.
EXTRA_DIST += \
	tests/programs/fn_calls.c \
	tests/programs/fn_forks.c \
	tests/programs/fn_handlers.c \
	tests/programs/fn_interp.c \
	tests/programs/fn_longjmps.c \
	tests/programs/fn_loops.c \
	tests/programs/fn_odd.c \
	tests/programs/fn_plugs.c \
	tests/programs/fn_recursion.c \
	tests/programs/fn_signals.c \
	tests/programs/fn_small.c \
	tests/programs/fn_stacks.c \
	tests/programs/fn_starts.c \
	tests/programs/fn_switches.c \
	tests/programs/fn_tails.c \
	tests/programs/fn_team.c \
	tests/programs/fn_threads.c \
	tests/programs/fn_throws.cc \
	tests/programs/fn_virtual.cc \
	tests/programs/libfn_plug.c \
	tests/programs/mem_atomics.c \
	tests/programs/mem_avx512.c \
	tests/programs/mem_caches.c \
	tests/programs/mem_forks.c \
	tests/programs/mem_jumps.c \
	tests/programs/mem_lists.c \
	tests/programs/mem_loops.c \
	tests/programs/mem_matrix.c \
	tests/programs/mem_odd.c \
	tests/programs/mem_signals.c \
	tests/programs/mem_skips.c \
	tests/programs/mem_sorts.c \
	tests/programs/mem_stacks.c \
	tests/programs/mem_strings.c \
	tests/programs/mem_switches.c \
	tests/programs/mem_team.c \
	tests/programs/mem_threads.c \
	tests/programs/mem_timers.c \
	tests/programs/mem_throws.cc \
	tests/programs/mem_vectors.c \
	tests/programs/mem_widths.c \
	tests/programs/omp_constructs.c \
	tests/programs/opaque.h \
	tests/programs/work.h
TRACEE_FILES += \
	tests/programs/accesses.c \
	tests/programs/balance.c \
	tests/programs/blocked.c \
	tests/programs/brief.c \
	tests/programs/bursts.c \
	tests/programs/busy.c \
	tests/programs/cancels.c \
	tests/programs/closes.c \
	tests/programs/confined.c \
	tests/programs/confined_throws.cc \
	tests/programs/ends.c \
	tests/programs/env.c \
	tests/programs/executes.c \
	tests/programs/family.c \
	tests/programs/firsts.c \
	tests/programs/forks.c \
	tests/programs/gsbase.c \
	tests/programs/hostile.c \
	tests/programs/hot.c \
	tests/programs/ipara.c \
	tests/programs/jumps.c \
	tests/programs/libouter.c \
	tests/programs/libplug.c \
	tests/programs/lingers.c \
	tests/programs/loads.c \
	tests/programs/outlives.c \
	tests/programs/overflows.c \
	tests/programs/picks.c \
	tests/programs/random.c \
	tests/programs/recurse.c \
	tests/programs/sigs.c \
	tests/programs/spawns.c \
	tests/programs/steps.c \
	tests/programs/switches.c \
	tests/programs/tails.c \
	tests/programs/tally.c \
	tests/programs/team.c \
	tests/programs/threads.c \
	tests/programs/throws.cc \
	tests/programs/unwound.cc \
	tests/programs/waits.c
TRACEES += \
	tests/programs/accesses \
	tests/programs/balance \
	tests/programs/blocked \
	tests/programs/brief \
	tests/programs/bursts \
	tests/programs/busy \
	tests/programs/cancels \
	tests/programs/closes \
	tests/programs/confined \
	tests/programs/confined_throws \
	tests/programs/ends \
	tests/programs/ends-O0 \
	tests/programs/ends-nopie \
	tests/programs/env \
	tests/programs/executes \
	tests/programs/family \
	tests/programs/fn_signals \
	tests/programs/firsts \
	tests/programs/forks \
	tests/programs/gsbase \
	tests/programs/hostile \
	tests/programs/hot \
	tests/programs/ipara \
	tests/programs/jumps \
	tests/programs/libouter.so \
	tests/programs/libplug.so \
	tests/programs/lingers \
	tests/programs/loads \
	tests/programs/outlives \
	tests/programs/overflows \
	tests/programs/picks \
	tests/programs/random \
	tests/programs/recurse \
	tests/programs/sigs \
	tests/programs/spawns \
	tests/programs/steps \
	tests/programs/switches \
	tests/programs/tails \
	tests/programs/tally \
	tests/programs/threads \
	tests/programs/throws \
	tests/programs/unwound \
	tests/programs/waits
if HAVE_STATIC_LIBC
TRACEES += \
	tests/programs/blocked-static \
	tests/programs/busy-static \
	tests/programs/cancels-static \
	tests/programs/closes-static \
	tests/programs/confined-static \
	tests/programs/ends-static \
	tests/programs/ends-static-pie \
	tests/programs/env-static \
	tests/programs/executes-static \
	tests/programs/family-static \
	tests/programs/firsts-static \
	tests/programs/forks-static \
	tests/programs/gsbase-static \
	tests/programs/ipara-static \
	tests/programs/jumps-static \
	tests/programs/lingers-static \
	tests/programs/outlives-static \
	tests/programs/overflows-static \
	tests/programs/picks-static \
	tests/programs/random-static \
	tests/programs/recurse-static \
	tests/programs/sigs-static \
	tests/programs/spawns-static \
	tests/programs/steps-static \
	tests/programs/switches-static \
	tests/programs/tally-static \
	tests/programs/threads-static \
	tests/programs/throws-static \
	tests/programs/unwound-static \
	tests/programs/waits-static
endif
if HAVE_MUSL
TRACEES += \
	tests/programs/ends-musl \
	tests/programs/ends-musl-dynamic \
	tests/programs/forks-musl \
	tests/programs/forks-musl-dynamic \
	tests/programs/jumps-musl \
	tests/programs/jumps-musl-dynamic \
	tests/programs/sigs-musl \
	tests/programs/sigs-musl-dynamic \
	tests/programs/threads-musl \
	tests/programs/threads-musl-dynamic
endif

# musl, linked dynamically
tests/programs/%-musl-dynamic: tests/programs/%.c
	$(AM_V_CCLD)$(MKDIR_P) $(@D) && $(MUSL_CC) $(PROGRAM_CFLAGS) $(PROGRAM_ARGS)
tests/programs/%-static: tests/programs/%.cc
	$(AM_V_CXXLD)$(MKDIR_P) $(@D) && $(CXX) $(PROGRAM_CFLAGS) -static $(PROGRAM_ARGS)
tests/programs/libouter.so tests/programs/loads: PROGRAM_LIBS = -ldl -pthread -Wl,-rpath,'$$ORIGIN'
tests/programs/accesses tests/programs/brief tests/programs/bursts tests/programs/confined tests/programs/confined-static \
	tests/programs/firsts tests/programs/firsts-static \
	tests/programs/steps tests/programs/steps-static tests/programs/tally tests/programs/tally-static: PROGRAM_LIBS = -pthread
tests/programs/hot: PROGRAM_LIBS = -pthread
tests/programs/hostile: PROGRAM_LIBS = -pthread -I$(top_srcdir)
