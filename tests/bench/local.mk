# SPDX-License-Identifier: GPL-3.0-or-later
# `make bench` builds BENCH_TRACEES (rules as for tests/programs) and runs the measurements.
BENCH_TRACEES =

bench: all $(BENCH_TRACEES)
	$(srcdir)/tests/run $(srcdir)/tests/bench/run.sh
.PHONY: bench
