# SPDX-License-Identifier: GPL-3.0-or-later
# What records lives as long as what it records, and no longer: daemons are recorded to their end while the prompt
# is back; a sonde that is killed costs no event; a recorder that is killed costs the program nothing.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program outlives random

# The recorder of the sonde with a PID.
recorder_of()
{
	child_of "$1" sonde
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

is_finished()
{
	sonde info "$1" | grep -q '^state *intact$'
}

for program in outlives outlives-static; do
	[ -x "$programs/$program" ] || continue
	rm -rf t wait wait-done
	touch wait
	# a pipe's reader sees the end when the prompt is back
	{ sonde -o t -m "$modules/work.c" -- "$programs/$program" 5000 "$PWD/wait" 2>err; echo "status $?"; } | cat >out
	check_contains out '^status 3$'
	check_contains err "^sonde: the program's children are recorded until they end, into t$"
	sonde info t >info.txt
	check_contains info.txt '^state +being recorded$'
	check_contains info.txt '^lost +nothing so far$'
	check_status 2 sonde -o t -- true
	check_contains err 'another sonde is recording there'
	rm wait
	await 20 [ -e wait-done ]
	await 20 is_finished t
	events t
	check_calls 5001 work
	check_contains info.txt '^ended +exit status 3$'
	check_contains info.txt '^lost +nothing$'
done

# Killed while the program runs, the one that waits is not missed.
start_random()
{
	command sonde -o t -m "$modules/noise.c" -- "$programs/random" 0 >out 2>err &
	sonde=$!
	program=$(child_of "$sonde" random) && recorder=$(recorder_of "$sonde") || exit
	await 20 has_threads t
}

has_threads()
{
	sonde info t 2>/dev/null | grep -q '^threads *1$'
}

start_random
private=$(awk '/^Private_Dirty/ { print $2 }' "/proc/$sonde/smaps_rollup")
[ "$private" -le 2048 ] || fail "sonde keeps $private KiB while it waits"
[ "$(ps -o sid= -p "$recorder")" -eq "$recorder" ] || fail "the recorder is in another's session"
kill -KILL "$sonde"
sleep 0.2
kill -TERM "$program"
await 60 gone "$recorder"
events t
calls=$(count 'enter("noise")')
[ "$calls" -gt 1000 ] || fail "only $calls calls"
[ $((calls - $(count 'returned("noise")'))) -le 1 ] || fail "$calls calls, fewer returns"
check_contains info.txt '^lost +nothing$'

# The recorder is killed: the program goes on, and ends as it would.
start_random
kill -KILL "$recorder"
sleep 0.2
kill -TERM "$program"
status=0
wait "$sonde" || status=$?
[ "$status" -eq $((128 + 15)) ] || fail "exit status $status"
check_contains err '^sonde: warning: the process that records was ended before the program'
sonde info t >info.txt
check_contains info.txt '^state +unfinished$'
