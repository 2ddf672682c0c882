# SPDX-License-Identifier: GPL-3.0-or-later
# Messages of MPI programs, from the send to the receive: who sent to whom, as `sonde report --mpi' says it and as the
# program has counted by itself; and in the formats that have messages.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/exported.sh"
need_ptrace
need_command python3
limit=(timeout --foreground -s KILL 100)

# In the interfaces of Fortran.
cat >ring.inc <<'END'
  integer :: rank, size, ierr, token, i
  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
  do i = 1, 5
    call MPI_Irecv(token, 1, MPI_INTEGER, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, requests(1), ierr)
    call MPI_Isend(rank, 1, MPI_INTEGER, mod(rank + 1, size), 1, MPI_COMM_WORLD, requests(2), ierr)
    call MPI_Waitall(2, requests, MPI_STATUSES_IGNORE, ierr)
  end do
  print '("sent ",i0," ",i0," 5 20")', rank, mod(rank + 1, size)
  call MPI_Finalize(ierr)
end program
END
{ printf 'program ring\n  implicit none\n  include "mpif.h"\n  integer :: requests(2)\n'; cat ring.inc; } >mpif.f90
{ printf 'program ring\n  use mpi\n  implicit none\n  integer :: requests(2)\n'; cat ring.inc; } >mpi.f90
{ printf 'program ring\n  use mpi_f08\n  implicit none\n  type(MPI_Request) :: requests(2)\n'; cat ring.inc; } >f08.f90

# check_messages LAUNCHER RANKS PROGRAM [ARGUMENT...]: into the trace t, and how many there are into $messages.
check_messages()
{
	rm -rf t
	"${limit[@]}" "$1" -np "$2" sonde -q -o t -m mpi -- "${@:3}" >printed 2>err || { show printed err; fail "$*"; }
	sort printed >sent
	[ -s sent ] || fail "$3 has not counted"
	messages=$(awk '{ n += $4 } END { print n }' sent)
	check_status 0 sonde report --mpi --json t
	python3 -c 'import json, sys
for p in json.load(sys.stdin)["matrix"]:
    print("sent", p["from"], p["to"], p["messages"], p["bytes"])' <out | sort >reported
	check_same sent reported "messages of $3"
	check_contains out '"messages": '"$messages"', "bytes": [0-9]+, "unmatched": 0, "unknown": 0, "lost": 0'
}

tried=0
for family in openmpi mpich; do
	launcher=mpirun.$family
	command -v "$launcher" >/dev/null || continue
	[ -x "$programs/mpi_messages-$family" ] || continue
	tried=1
	check_messages "$launcher" 4 "$programs/mpi_messages-$family" 2
	check_formats "$messages"
	check_status 0 sonde report --mpi t
	check_contains out "^MPI +4 ranks, [0-9]+ communicators; $messages messages of "
	check_contains out '  MPI_Sendrecv$'
	# one rank of them; what it has sent
	check_status 0 sonde report --mpi --rank 1 --csv t
	[ "$(grep -c '^messages,1,' out)" -eq "$(grep -c '^sent 1 ' sent)" ] || { show out; fail "messages of rank 1"; }
	check_lacks out '^(messages|call),[023],'
	# from the middle on: nothing that begins before it
	check_status 0 sonde export -f chrome --from 1s -o late t
	python3 "$top_srcdir/tests/integration/exported.py" chrome late >exported.sum || fail "from the middle on"
	command -v "mpif90.$family" >/dev/null || continue
	for interface in $([ $family = openmpi ] && echo mpif || echo mpi) f08; do
		"mpif90.$family" -w -o "$interface-$family" $interface.f90 2>fortran.err || { show fortran.err; continue; }
		check_messages "$launcher" 3 "./$interface-$family"
	done
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"
check_usage_error sonde report --mpi --by rank t
check_usage_error sonde report --mpi --omp t
sonde -q -F '*' -o none -- true || fail "true"
check_usage_error sonde report --mpi none
check_contains err 'nothing of MPI'
