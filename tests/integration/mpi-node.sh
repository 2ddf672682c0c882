# SPDX-License-Identifier: GPL-3.0-or-later
# Two and four ranks of Open MPI and of MPICH: one process records them all, and what they print is as without.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

# started N: that many ranks wait to go on.
started()
{
	[ "$(find . -name 'here.*' | wc -l)" -eq "$1" ]
}

# check_node FAMILY RANKS
check_node()
{
	local launcher=mpirun.$1 program=$programs/mpi_ring-$1 dir=$PWD/t.$1.$2 pid status=0 n
	"${limit[@]}" "$launcher" -np "$2" "$program" >plain.out 2>plain.err || fail "$1 without sonde"
	rm -f go here.*
	# shellcheck disable=SC2016
	"${limit[@]}" "$launcher" -np "$2" sonde -q -o "$dir" -m mpi -- sh -c '
		touch here.${OMPI_COMM_WORLD_RANK-$PMI_RANK}
		until [ -e go ]; do sleep 0.1; done
		exec "$0"' "$program" >traced.out 2>traced.err &
	pid=$!
	await 60 started "$2"
	n=$(pgrep -f -x "[^ ]*sonde -q -o $dir .*" | wc -l)
	touch go
	wait $pid || status=$?
	[ $status -eq 0 ] || { show traced.err; fail "$1, $2 ranks: status $status"; }
	[ "$n" -eq $(($2 + 1)) ] || fail "$1: $n processes of sonde for $2 ranks"
	sort plain.out >plain.sorted
	sort traced.out >traced.sorted
	check_same plain.sorted traced.sorted "output of $1, $2 ranks"
	[ "$(cd "$dir" && echo rank-*)" = "$(seq -s ' ' -f rank-%g 0 $(($2 - 1)))" ] || fail "$1: ranks: $(ls "$dir")"
	events "$dir"
	check_calls "$2" MPI_Init
	check_calls "$2" MPI_Finalize
}

tried=0
for family in openmpi mpich; do
	command -v "mpirun.$family" >/dev/null || continue
	[ -x "$programs/mpi_ring-$family" ] || continue
	tried=1
	check_node $family 2
	check_node $family 4
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"
