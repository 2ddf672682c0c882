# SPDX-License-Identifier: GPL-3.0-or-later
# What is done to sonde while the program runs: its death leaves the program alone, signals reach
# the program.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program waits threads

# begin PROGRAM [ARGUMENT...]: in the background; sets $sonde and $program, when the program is ready
begin()
{
	command sonde -o t -m "$modules/work.c" -- "$programs/$@" </dev/null >out 2>err &
	sonde=$!
	program=$(child_of "$sonde" "$1") || exit 1
	await 10 grep -q ready out
}

# finish STATUS: sonde ends with it
finish()
{
	local status=0
	wait "$sonde" || status=$?
	[ "$status" -eq "$1" ] || { show out err; fail "exit status $status instead of $1"; }
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

# SIGKILL of both: the program goes on, unrecorded, through forks and threads, to its normal end.
for name in waits waits-static; do
	[ -x "$programs/$name" ] || continue
	begin "$name" file
	recorder=$(child_of "$sonde" sonde) || exit
	kill -KILL "$sonde" "$recorder"
	finish 137
	gone "$program" && fail "the program died with its sonde"
	>go
	await 10 gone "$program"
	check_contains out '^status 0, 42000 calls$'
	rm go
	# what was collected until then can be read, and says that it is not all
	sonde info t >info.txt 2>&1 || { show info.txt; fail "sonde info"; }
	check_lacks info.txt '^ended +exit status'
	check_lacks info.txt '^lost +nothing$'
	check_contains info.txt '^lost +not known: recording was not finished$'
	check_contains info.txt '^state +unfinished$'
	sonde dump --json t >events.json || fail "sonde dump"
done

# Signals sent to sonde reach the program, once; its handler decides what becomes of them.
begin waits signals
for sig in TERM INT HUP USR1 USR2 QUIT WINCH; do
	kill -s "$sig" "$sonde"
	await 10 grep -q "^got $(kill -l "$sig")\$" out
done
kill -s TERM "$sonde"
await 10 eval '[ "$(grep -c "^got 15\$" out)" -eq 2 ]'
>go
finish 0
rm go

# Without a handler they end it, and sonde with the same status; nothing is lost.
for sig in TERM HUP USR1; do
	begin waits file
	kill -s "$sig" "$sonde"
	finish $((128 + $(kill -l "$sig")))
	await 20 gone "$program"
	events t
	check_calls 1000 work
done

# SIGSTOP and SIGCONT to the program alone: it stops and goes on, and sonde waits.
begin waits file
kill -STOP "$program"
await 20 grep -q '^State:[[:space:]]T' "/proc/$program/status"
kill -CONT "$program"
>go
finish 0
rm go
events t
check_calls 42000 work
check_contains info.txt '^ended +exit status 0$'
