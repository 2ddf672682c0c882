# SPDX-License-Identifier: GPL-3.0-or-later
# What each rank of an MPI program has waited for, and how long, as `sonde report' says it and as the program has
# measured it by itself around each call.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
limit=(timeout --foreground -s KILL 100)

# Fortran: each entry point calls the C function, which counts; both together must not.
cat >fortran.f90 <<'END'
program waits
  implicit none
  include 'mpif.h'
  integer :: rank, ierr, one, two, status(MPI_STATUS_SIZE), request
  double precision :: began, recv, reduce, done

  call MPI_Init(ierr)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
  one = rank
  if (rank == 1) call sleep(1)
  began = MPI_Wtime()
  if (rank == 0) call MPI_Recv(two, 1, MPI_INTEGER, 1, 1, MPI_COMM_WORLD, status, ierr)
  recv = MPI_Wtime() - began
  if (rank == 1) call MPI_Send(one, 1, MPI_INTEGER, 0, 1, MPI_COMM_WORLD, ierr)
  if (rank == 0) call sleep(1)
  began = MPI_Wtime()
  call MPI_Allreduce(one, two, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, ierr)
  reduce = MPI_Wtime() - began
  call MPI_Irecv(two, 1, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, request, ierr)
  if (rank == 1) call sleep(1)
  call MPI_Send(one, 1, MPI_INTEGER, 1 - rank, 2, MPI_COMM_WORLD, ierr)
  began = MPI_Wtime()
  call MPI_Wait(request, status, ierr)
  done = MPI_Wtime() - began
  if (rank == 0) print '(i0," point to point MPI_Recv ",f12.9)', rank, recv
  print '(i0," collectives MPI_Allreduce ",f12.9)', rank, reduce
  print '(i0," completion MPI_Wait ",f12.9)', rank, done
  call MPI_Finalize(ierr)
end program
END

# Standard input: what the program printed; the argument: the report. Figures of a rank, a function, a class, and all
# that is waiting: within 5 %, or 20 ms where there is little of it.
cat >compare.py <<'END'
import collections, json, sys

report = json.load(open(sys.argv[1]))
tables = {t["rank"]: t for t in report["tables"]}
wanted = collections.defaultdict(float)
for line in sys.stdin:
    rank, *words, function, seconds = line.split()
    rank, what, seconds = int(rank), " ".join(words), float(seconds)
    wanted[rank, "class", what] += seconds
    if not what.startswith("apart:"):
        wanted[rank, "function", function] += seconds
        wanted[rank, "all", ""] += seconds

def reported(rank, kind, name):
    t = tables[rank]
    if kind == "all":
        return t["wait_ns"]
    if kind == "function":
        return sum(f["wait_ns"] for f in t["functions"] if f["function"] == name)
    if name.startswith("apart:"):
        return t["apart_ns"].get(name[6:], 0)
    return t["waiting_ns"].get(name, 0)

bad = 0
for (rank, kind, name), seconds in sorted(wanted.items()):
    got = reported(rank, kind, name) / 1e9
    off = abs(got - seconds) > max(0.05 * seconds, 0.02)
    bad += off
    print(f"rank {rank} {kind} {name}: {seconds:.6f} s, reported {got:.6f} s{'   WRONG' if off else ''}")
for rank, t in tables.items():
    for name in [*t["waiting_ns"], *("apart:" + n for n in t["apart_ns"])]:
        if (rank, "class", name) not in wanted and reported(rank, "class", name) > 2e7:
            print(f"rank {rank}: {name} is reported, and was not measured")
            bad += name != "apart:Init and Finalize"
    if sum(t["waiting_ns"].values()) != t["wait_ns"]:
        print(f"rank {rank}: classes are not all of the waiting")
        bad += 1
    if sum(f.get("wait_ns", 0) for f in t["functions"]) != t["wait_ns"]:
        print(f"rank {rank}: functions are not all of the waiting")
        bad += 1
sys.exit(bad > 0)
END

# Standard input: report --mpi. Who is late in which call of mpi_waits.c, and so what most of the other's time there is; no
# call waits for longer than it takes.
cat >late.py <<'END'
import json, sys

rows = {(c["rank"], c["function"]): c for c in json.load(sys.stdin)["calls"]}
kinds = ("late_sender_ns", "late_receiver_ns", "barriers_ns", "collectives_ns")
for key, row in rows.items():
    assert sum(row[k] for k in kinds) <= row["time_ns"], (key, row)
for rank, function, kind in (
    (0, "MPI_Send", "late_receiver_ns"),
    (1, "MPI_Ssend", "late_receiver_ns"),
    (0, "MPI_Recv", "late_sender_ns"),
    (1, "MPI_Barrier", "barriers_ns"),
    (0, "MPI_Bcast", "collectives_ns"),
    (0, "MPI_Reduce", "collectives_ns"),
    (1, "MPI_Comm_dup", "collectives_ns"),
    (1, "MPI_Scan", "collectives_ns"),
    (0, "MPI_Allgather", "collectives_ns"), # of two groups
):
    row = rows[rank, function]
    assert row[kind] > row["time_ns"] / 2, (kind, row)
assert rows[0, "MPI_Exscan"]["collectives_ns"] == 0, "the first one needs nobody"
row = rows[1, "MPI_Sendrecv"]  # the other one is late as sender and as receiver: one of these
assert sum(row[k] for k in kinds) > row["time_ns"] / 2, row
END

# check_waits LAUNCHER PROGRAM [ARGUMENT...]: two ranks of it.
check_waits()
{
	local program=$2
	"${limit[@]}" "$1" -np 2 sonde -q -o t -m mpi -- "${@:2}" >measured 2>err || { show measured err; fail "$*"; }
	check_status 0 sonde report -b rank --json t
	mv out report.json
	python3 compare.py report.json <measured >compared || { cat compared; fail "$1 ${program##*/}"; }
	check_status 0 sonde report -b rank t
}

tried=0
for family in openmpi mpich; do
	command -v "mpirun.$family" >/dev/null || continue
	[ -x "$programs/mpi_waits-$family" ] || continue
	tried=1
	check_waits "mpirun.$family" "$programs/mpi_waits-$family" 200 "$PWD/shared.tmp"
	for rank in 0 1; do
		check_contains out "^rank $rank: .*, waiting [0-9.]+ m?s \([0-9.]+%\): .*one-sided [0-9]"
		check_contains out "^rank $rank: .*; apart: .*Init and Finalize [0-9.]+ m?s"
	done
	check_status 0 sonde report --mpi --json t
	python3 late.py <out || { show out; fail "report --mpi, $family"; }
	check_status 0 sonde report t
	check_contains out '^waiting +in all: average of a rank .* least .* \(rank [01]\), most'
	check_contains out '^waiting +collectives: average of a rank'
	check_contains out '^apart +Init and Finalize: average of a rank'
	check_lacks out '^waiting +(Init and Finalize|polling)'
	command -v "mpif90.$family" >/dev/null &&
		"mpif90.$family" -w -o fortran fortran.f90 2>fortran.err &&
		check_waits "mpirun.$family" ./fortran
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"
