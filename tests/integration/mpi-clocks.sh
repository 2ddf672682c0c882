# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks on two nodes: the nodes are name spaces with a host name and a boot id each, which mpirun reaches as it reaches others by
# ssh. Then their clocks are made to differ, in what the trace says of them: times stay as they were.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
need_command mpirun.openmpi
program=$programs/mpi_ring-openmpi
[ -x "$program" ] || skip "no Open MPI"

cat >agent <<'END_AGENT'
#!/bin/sh
# agent HOST COMMAND...
host=$1
shift
exec unshare --uts --mount sh -c 'hostname "$0" && mount --bind "boot.$0" /proc/sys/kernel/random/boot_id && exec sh -c "$*"' "$host" "$@"
END_AGENT
chmod +x agent
echo 11111111-1111-1111-1111-111111111111 >boot.nodea
echo 22222222-2222-2222-2222-222222222222 >boot.nodeb
[ "$(./agent nodea hostname 2>err)" = nodea ] || skip "no name spaces: $(cat err)"

# on_nodes RANKS PROGRAM...: half of the ranks on either node.
on_nodes()
{
	local n=$1
	shift
	timeout --foreground -s KILL 100 mpirun.openmpi --mca mpi_yield_when_idle 1 --mca plm_rsh_agent "$PWD/agent" --host "nodea:$((n / 2)),nodeb:$((n / 2))" -np "$n" "$@"
}

on_nodes 4 "$program" >plain.out 2>plain.err || { show plain.err; skip "mpirun cannot start ranks in name spaces"; }
on_nodes 4 sonde -q -o t -m mpi -- "$program" >traced.out 2>traced.err || { show traced.err; fail "status $?"; }
sort plain.out >plain.sorted
sort traced.out >traced.sorted
check_same plain.sorted traced.sorted "output"

# The first rank of the second node has asked that of the first one, 20 times at either end; nobody else has.
count_exchanges()
{
	cat t/rank-*/metadata | grep -c '"type":"exchange",'"$1"
}
[ "$(count_exchanges '"round":0,"rank":0,')" -eq 20 ] || fail "at MPI_Init"
[ "$(count_exchanges '"round":1,"rank":0,')" -eq 20 ] || fail "at MPI_Finalize"
[ "$(count_exchanges '')" -eq 40 ] || fail "who else?"
check_status 0 sonde report t
check_contains out '^clocks +of 2 nodes, compared by messages: times are wrong by at most [0-9.]+ [num]?s$'
check_status 0 sonde info t
check_contains out '^clocks +of 2 nodes'
check_status 0 sonde report --json t
python3 -c 'import json, sys
ranks = json.load(sys.stdin)["runs"]
nodes = [r["node"] for r in ranks]
assert sorted(nodes) == [0, 0, 1, 1], nodes
for r in ranks:
    assert r["clock"] == ("compared" if r["node"] else "first"), r
    assert (r["clock_error_ns"] > 0) == (r["node"] > 0), r' <out || { show out; fail "json"; }

# Events and their times, of all ranks.
times()
{
	sonde dump --json "$1" | python3 -c 'import json, sys
for line in sys.stdin:
    e = json.loads(line)
    print(e["rank"], e["tid"], e["time"], e["type"], e.get("function"), e.get("name"))'
}

times t >before || fail "dump"
[ "$(wc -l <before)" -gt 100 ] || fail "events"

# skewed FROM TO: the clocks of the second node are 7 s and 50 ppm off, its REALTIME 3 s.
skewed()
{
	rm -rf "$2"
	cp -r "$1" "$2"
	python3 - "$2" <<'END_SKEW'
import glob, json, sys
for path in glob.glob(sys.argv[1] + "/rank-*/metadata"):
    lines = [json.loads(line) for line in open(path)]
    if lines[0]["host"] != "nodeb":
        continue
    for line in lines:
        if "mono" in line:
            line["mono"] += 7000000000 + int((line["mono"] - lines[0]["mono"]) * 50e-6)
            line["real"] += 3000000000
    with open(path, "w") as file:
        for line in lines:
            file.write(json.dumps(line, separators=(",", ":")) + "\n")
END_SKEW
}

# compare_times FILE: how far the times in it are off those before, at most, in ns.
compare_times()
{
	python3 - "$1" <<'END_COMPARE'
import sys
read = lambda path: sorted((f[0], f[1], n, int(f[2]), f[3:]) for n, f in enumerate(sorted((l.split() for l in open(path)), key=lambda f: (f[0], f[1], int(f[2])))))
a, b = read("before"), read(sys.argv[1])
assert [(x[0], x[1], x[4]) for x in a] == [(x[0], x[1], x[4]) for x in b]
print(max(abs(x[3] - y[3]) for x, y in zip(a, b)))
END_COMPARE
}

skewed t skew
times skew >after || fail "dump"
off=$(compare_times after) || fail "other events"
check_status 0 sonde report --json skew
error=$(python3 -c 'import json, sys; print(max(r["clock_error_ns"] for r in json.load(sys.stdin)["runs"]))' <out)
[ "$off" -le "$error" ] || fail "times differ by $off ns, said $error"
[ "$error" -lt 1000000000 ] || fail "an error of $error ns"
check_status 0 sonde report skew
check_contains out '^clocks +of 2 nodes, compared by messages: times'
# One process of it: its times are the same.
check_status 0 sonde dump --rank 3 t
mv out rank3.before
check_status 0 sonde dump --rank 3 skew
[ "$(wc -l <out)" -eq "$(wc -l <rank3.before)" ] || fail "rank 3"

# Without a comparison at the end, and without any, that is said.
sed -i '/"type":"exchange","round":1/d' skew/rank-*/metadata
check_status 0 sonde report skew
check_contains out '^clocks +of 2 nodes, compared by messages, that of nodeb at one time only: times are wrong by at most'
sed -i '/"type":"exchange"/d' skew/rank-*/metadata
check_status 0 sonde report skew
check_contains out '^clocks +of 2 nodes; that of nodeb is taken as it was set, and how wrong it is is not known'
times skew >after || fail "dump"
off=$(compare_times after) || fail "other events"
[ "$off" -ge 2000000000 ] || fail "what was not compared is off by $off ns only"
check_status 0 sonde report --mpi skew
check_contains out '^backward +[0-9]+ messages that arrive before they were sent: clocks of nodes differ by [23][.0-9]* s at least'
check_status 0 sonde report --mpi --json skew
check_contains out '"backward": [1-9][0-9]*, "backward_ns": [23][0-9]{9},'

# A program that calls MPI_Abort ends without a second comparison.
cat >ends.c <<'END_C'
#include <mpi.h>
int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Barrier(MPI_COMM_WORLD);
	if (!rank)
		MPI_Abort(MPI_COMM_WORLD, 3);
	MPI_Barrier(MPI_COMM_WORLD);
	return 0;
}
END_C
if command -v mpicc.openmpi >/dev/null && mpicc.openmpi -o ends ends.c 2>err; then
	status=0
	on_nodes 2 sonde -q -o aborted -m mpi -- ./ends >out 2>err || status=$?
	[ $status -eq 3 ] || { show err; fail "MPI_Abort: status $status"; }
	check_status 0 sonde report aborted
	check_contains out '^clocks +of 2 nodes, compared by messages, that of nodeb at one time only'
fi

# On one node nothing is compared.
timeout --foreground -s KILL 100 mpirun.openmpi -np 2 sonde -q -o one -m mpi -- "$program" >out 2>err || { show err; fail "one node"; }
! grep -h '"type":"exchange"' one/rank-*/metadata || fail "one node: compared"
check_status 0 sonde report one
check_lacks out '^clocks'

# MPICH, whose ranks take each other for those of other nodes: the exchanges are there, and mean nothing on one machine.
if command -v mpirun.mpich >/dev/null && [ -x "$programs/mpi_ring-mpich" ]; then
	rm -rf t
	MPIR_CVAR_NOLOCAL=1 timeout --foreground -s KILL 100 mpirun.mpich -np 2 sonde -q -o t -m mpi -- "$programs/mpi_ring-mpich" >out 2>err ||
		{ show err; fail "MPICH"; }
	[ "$(count_exchanges '"round":[01],"rank":0,')" -eq 40 ] || fail "MPICH: exchanges"
	check_status 0 sonde report t
	check_lacks out '^clocks'
	sed -i '1s/"boot":"[^"]*"/"boot":"another"/' t/rank-1/metadata
	check_status 0 sonde report t
	check_contains out '^clocks +of 2 nodes, compared by messages: times are wrong by at most'
fi
