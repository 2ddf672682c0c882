# SPDX-License-Identifier: GPL-3.0-or-later
# OpenMP kernels of several kinds, by GCC and by Clang: same output, nothing lost, and in each region, loop and task work, waiting and idleness
# are all of its team's time.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/exported.sh"
need_ptrace
need_command gcc

program=$top_srcdir/tests/programs/omp_kernels.c
gcc -O2 -g -fopenmp -o kernels-gcc "$program" -lm 2>gcc.err || skip "gcc has no OpenMP here"
compilers=gcc
if command -v clang >/dev/null && clang -O2 -g -fopenmp -o kernels-clang "$program" -lm 2>clang.err; then
	compilers="gcc clang"
fi
for compiler in $compilers; do
	for threads in 1 3; do
		export OMP_NUM_THREADS=$threads
		export OMP_SCHEDULE=dynamic,256
		same_run -o t -m openmp -- ./kernels-$compiler
		events t
		check_count 0 'has("orphan\":true") || has("unwound\":true")'
		check_calls 320 "omp task create"
		check_calls 320 "omp task"
		sonde report --omp --csv t >omp.csv || fail "report --omp"
		python3 - $threads $compiler <<'END' || fail "$compiler, $threads threads: the report"
import csv, sys
rows = [{k: float(v) if k.endswith("_ns") or k in ("count", "threads", "chunks") else v for k, v in r.items()}
        for r in csv.DictReader(open("omp.csv"))]
for r in rows:
    parts = sum(r[k] for k in ("work_ns", "barriers_ns", "locks_ns", "tasks_ns", "idle_ns"))
    assert abs(parts - r["team_ns"]) <= 0.01 * r["team_ns"] + 5 * r["count"], (parts, r)
regions = [r for r in rows if r["kind"] == "region"]
# EP, IS in 10 rounds, CG, MG in 5 cycles on 11 grids, and once more, LU
assert sum(r["count"] for r in regions) == 1 + 10 + 1 + 5 * (11 * 4 + 10 * 2) + 1 + 5, [(r["count"], r["line"]) for r in regions]
assert all(r["threads"] == int(sys.argv[1]) for r in regions), regions
loops = [r for r in rows if r["kind"] == "loop"]
assert sum(r["count"] for r in loops if r["name"].startswith("omp for dynamic,512")) == 20, loops
chunks = sum(r["chunks"] for r in loops if r["name"].startswith("omp for dynamic,4 "))
assert chunks == 100 or sys.argv[1:] == ["1", "clang"] and chunks == 1, loops # libomp gives one thread all
assert sum(r["count"] for r in rows if r["kind"] == "task") == 320
END
		[ $threads -eq 1 ] || check_formats
	done
done
