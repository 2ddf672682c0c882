# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks of a node share one process that records, whoever is killed; ranks are made by what MPI's launchers put into the
# environment, so that none is needed.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program steps

ranks=4
pids=()

# rank N OPTION...: starts it, waiting for steps on its descriptor fd[N].
rank()
{
	local n=$1
	shift
	mkfifo in.$n
	: >out.$n
	OMPI_COMM_WORLD_RANK=$n OMPI_COMM_WORLD_SIZE=$ranks PMIX_NAMESPACE=$job \
		command sonde -o t "$@" -- "$programs/steps" <in.$n >out.$n 2>err.$n &
	pids[n]=$!
	exec {fd[n]}>in.$n
}

# begin_ranks JOB OPTION...: all of them, at once.
begin_ranks()
{
	local n
	job=$1
	shift
	rm -rf in.* t
	for n in $(seq 0 $((ranks - 1))); do
		rank $n "$@"
	done
}

# step N LINE
step()
{
	local had
	had=$(wc -l <out.$1)
	echo "$2" >&${fd[$1]}
	await 60 has_more out.$1 "$had"
}

has_more()
{
	[ "$(wc -l <"$1")" -gt "$2" ]
}

# end_rank N STATUS: ranks that were started later hold its input open, so it is told to end.
end_rank()
{
	local status=0
	[ "$2" -ne 5 ] || echo exit >&${fd[$1]}
	exec {fd[$1]}>&-
	wait ${pids[$1]} || status=$?
	[ $status -eq "$2" ] || { show out.$1 err.$1; fail "rank $1: exit status $status instead of $2"; }
}

recorders()
{
	local pid
	for pid in "${pids[@]}"; do
		pgrep -P "$pid" -x sonde
	done
}

one_recorder()
{
	[ "$(recorders | wc -w)" -eq 1 ]
}

# Whose child it is.
first_rank()
{
	local n
	for n in "${!pids[@]}"; do
		pgrep -P ${pids[n]} -x sonde >/dev/null && echo $n
	done
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

is_intact()
{
	sonde info t/rank-$1 2>/dev/null | grep -Eq '^lost +nothing$'
}

# calls_of N: of work(), in that rank.
calls_of()
{
	sonde dump t/rank-$1 2>/dev/null | grep -c 'enter  *work$'
}

# ---- one for all ----
begin_ranks one -F work
for n in 0 1 2 3; do
	step $n "main $((10 * n + 10))"
done
one_recorder || fail "recorders: $(recorders)"
recorder=$(recorders)
dirty=$(awk '/^Private_Dirty/ { print $2 }' /proc/${pids[1]}/smaps_rollup)
[ "$dirty" -le 2048 ] || fail "a rank that waits: $dirty KiB of its own"
for n in 0 1 2 3; do
	end_rank $n 5
	[ ! -s err.$n ] || { show err.$n; fail "rank $n has something to say"; }
	[ "$(calls_of $n)" -eq $((10 * n + 10)) ] || fail "calls of rank $n: $(calls_of $n)"
done
await 20 gone "$recorder"
[ "$(ls -A t)" = "$(printf '.sonde\nrank-0\nrank-1\nrank-2\nrank-3')" ] || fail "left behind: $(ls -A t)"
check_status 0 sonde report --csv t
check_contains out '^"work","",function,100,'

# ---- each has options of its own, and hears what concerns it ----
job=options
rm -rf in.*
rank 0 -F work
step 0 'main 3'
rank 1 -F main -v
step 1 'main 3'
rank 2 -F work --buffer=64K -q
step 2 'main 4'
one_recorder || fail "other options: recorders: $(recorders)"
OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=$job check_status 2 sonde -o t -m ./none.c "$programs/steps"
check_contains err 'none.c'
OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 PMIX_NAMESPACE=$job check_status 127 sonde -o t -F work ./none
kill -TERM ${pids[2]}
status=0
wait ${pids[2]} || status=$?
[ $status -eq 143 ] || fail "SIGTERM: exit status $status"
exec {fd[2]}>&-
end_rank 1 5
end_rank 0 5
check_contains err.1 'sonde: 2 events of 1 threads in t/rank-1|sonde: [0-9]+ events'
[ ! -s err.0 ] || { show err.0; fail "rank 0 has something to say"; }
[ "$(calls_of 0)" -eq 3 ] && [ "$(calls_of 1)" -eq 0 ] && [ "$(calls_of 2)" -eq 4 ] || fail "options: calls"

# ---- what cannot be shared is not ----
job=alone
rm -rf in.*
rank 0 -F work
step 0 'main 1'
rank 1 -m memcount -v
step 1 'main 1'
[ "$(recorders | wc -w)" -eq 2 ] || fail "a module's variables are one rank's: $(recorders)"
check_contains err.1 'is recorded by a process of its own'
end_rank 0 5
end_rank 1 5

# ---- a sonde that is killed costs nothing ----
begin_ranks killed -F work
for n in 0 1 2 3; do
	step $n 'main 5'
done
n=$(first_rank)
recorder=$(recorders)
kill -KILL ${pids[n]}
wait ${pids[n]} 2>/dev/null
for k in 0 1 2 3; do
	step $k 'main 6'
done
echo exit >&${fd[n]}
for k in 0 1 2 3; do
	[ $k = "$n" ] || end_rank $k 5
done
await 20 gone "$recorder"
for k in 0 1 2 3; do
	[ "$(calls_of $k)" -eq 11 ] || fail "rank $k after SIGKILL of rank $n's sonde: $(calls_of $k) calls"
done

# ---- nor do the programs need the one that records; who comes later has one of its own ----
begin_ranks recorder -F work
for n in 0 1 2 3; do
	step $n 'main 5'
done
recorder=$(recorders)
kill -KILL "$recorder"
for k in 0 1 2 3; do
	step $k 'main 6'
	end_rank $k 5
	check_contains err.$k 'the process that records was ended'
	[ "$(cat out.$k)" = "$(printf 'main 5\nmain 6')" ] || { show out.$k; fail "output of rank $k"; }
done
rm in.0
rank 0 -F work
step 0 'main 2'
end_rank 0 5
[ ! -s err.0 ] || { show err.0; fail "after the recorder was killed"; }
