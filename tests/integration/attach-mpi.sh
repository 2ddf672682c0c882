# SPDX-License-Identifier: GPL-3.0-or-later
# The processes of an MPI job are recorded while messages go round, several times: the sums are right.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_command mpirun.openmpi
need_program mpi_ring-openmpi

options=(--oversubscribe --mca mpi_yield_when_idle 1)
[ "$(id -u)" -ne 0 ] || options+=(--allow-run-as-root)
mpirun.openmpi "${options[@]}" -np 2 "$programs/mpi_ring-openmpi" 1200 >ring.out 2>ring.err &
job=$!
ranks()
{
	pgrep -P "$job" -f '^[^ ]*mpi_ring-openmpi '
}
await 60 eval '[ "$(ranks | wc -l)" -eq 2 ]'
for i in $(seq 6); do
	[ $((i % 2)) -eq 0 ] && what=(-m mpi) || what=(-F '*' --libs='libmpi*')
	mapfile -t pids < <(ranks)
	[ "${#pids[@]}" -eq 2 ] || break # it has ended on a fast machine
	rm -rf t
	status=0
	sonde attach -o t "${what[@]}" --duration=20ms "${pids[@]}" >attach.out 2>attach.err || status=$?
	[ "$status" -eq 0 ] || kill -0 "${pids[@]}" 2>/dev/null || break
	[ "$status" -eq 0 ] || { show attach.out attach.err; fail "exit status $status of sonde attach"; }
	for pid in "${pids[@]}"; do
		! grep -s memfd:sonde "/proc/$pid/maps" || fail "something of ours is mapped in rank $pid"
	done
done
status=0
wait "$job" || status=$?
[ "$status" -eq 0 ] || { show ring.out ring.err; fail "exit status $status of mpirun"; }
check_contains ring.out '^ok$'
sonde info t >info.txt 2>&1 || skip "the job was over before it could be attached to"
check_contains info.txt '^state +intact$'
