# SPDX-License-Identifier: GPL-3.0-or-later
# Two ranks of Open MPI and of MPICH, recorded by the mpi module into one trace.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/exported.sh"
need_ptrace

# check_mpi LAUNCHER PROGRAM
check_mpi()
{
	local program=$programs/$2 status=0
	"${limit[@]}" "$1" -np 2 "$program" >plain.out 2>plain.err || status=$?
	"${limit[@]}" "$1" -np 2 sonde -o t -m mpi -- "$program" >traced.out 2>traced.err || fail "$1 $2"
	[ "$status" -eq 0 ] || fail "without sonde: $status"
	sort plain.out >plain.sorted
	sort traced.out >traced.sorted
	check_same plain.sorted traced.sorted "output of $1 $2"
	! grep -q '^sonde:' traced.err || { show traced.err; fail "sonde has something to say"; }
	[ "$(cd t && echo rank-*)" = 'rank-0 rank-1' ] || fail "ranks: $(ls t)"
	events t
	check_calls 2 MPI_Init
	check_calls 2 MPI_Finalize
	check_count 1 'returned("MPI_Init") && num("rank") == 0 && num("size") == 2'
	check_count 1 'returned("MPI_Init") && num("rank") == 1 && num("size") == 2'
}

tried=0
for family in openmpi mpich; do
	command -v "mpirun.$family" >/dev/null || continue
	[ -x "$programs/mpi_ring-$family" ] || continue
	tried=1
	check_mpi "mpirun.$family" "mpi_ring-$family"
	sends=$(count 'enter("MPI_Send") || enter("MPI_Isend") || enter("MPI_Sendrecv")')
	[ "$sends" -gt 0 ] || fail "no message was sent"
	! command -v python3 >/dev/null || check_formats
	check_mpi "mpirun.$family" "mpi_alltoall-$family"
	[ "$(count 'enter("MPI_Alltoall")')" -gt 0 ] || fail "no MPI_Alltoall"
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"
