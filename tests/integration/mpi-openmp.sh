# SPDX-License-Identifier: GPL-3.0-or-later
# A program of processes that have threads, recorded by the modules mpi and openmp into one trace: reports of both, and all of it in
# each format.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/exported.sh"
need_ptrace
need_command python3
limit=(timeout --foreground -s KILL 100)
export OMP_NUM_THREADS=3

tried=0
for family in openmpi mpich; do
	launcher=mpirun.$family
	program=$programs/mpi_openmp-$family
	command -v "$launcher" >/dev/null || continue
	[ -x "$program" ] || continue
	tried=1
	rm -rf t
	"${limit[@]}" "$launcher" -np 2 "$program" 20 >plain.out 2>plain.err || { show plain.err; fail "$launcher"; }
	"${limit[@]}" "$launcher" -np 2 sonde -q -o t -m mpi,openmp -- "$program" 20 >traced.out 2>traced.err ||
		{ show traced.out traced.err; fail "$launcher with sonde"; }
	check_same plain.out traced.out "what is printed with sonde"
	[ -s plain.out ] || fail "nothing is printed"
	check_formats 80 # 20 steps, 2 processes, 2 neighbours
	check_count 44 'enter("omp parallel")'
	check_count 132 'enter("omp implicit task")'
	check_status 0 sonde report --mpi t
	check_contains out '^MPI +2 ranks, .*; 80 messages of '
	check_status 0 sonde report --omp --csv t
	check_contains out '^region,'
	check_contains out '^loop,'
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"
