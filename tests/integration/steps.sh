# SPDX-License-Identifier: GPL-3.0-or-later
# Recording tests/programs/steps, step by step; sourced after lib.sh.

# begin PROGRAM OPTION...: records it into t, and leaves it waiting for steps.
begin()
{
	local program=$1
	shift
	rm -rf in t t.old steps.out steps.err
	mkfifo in
	command sonde -o t "$@" -- "$programs/$program" <in >steps.out 2>steps.err &
	sonde=$!
	exec 5>in
	await 20 [ -e steps.out ]
	done=0
}

has_lines()
{
	[ "$(wc -l <steps.out)" -ge "$1" ]
}

# step LINE...: the program does it.
step()
{
	local line
	for line; do
		echo "$line" >&5
		[ "$line" = enter ] || await 20 has_lines $((done += 1))
	done
}

# ends STATUS: it does so by itself.
ends()
{
	local status=0
	wait "$sonde" || status=$?
	[ "$status" -eq "$1" ] || { show steps.out steps.err; fail "exit status $status instead of $1"; }
}

# finish STATUS: the program comes to its end.
finish()
{
	exec 5>&-
	ends "$1"
}
