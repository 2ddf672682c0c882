# SPDX-License-Identifier: GPL-3.0-or-later
# What records is stopped for a while: the program waits for it, or goes on and what it does is counted as lost.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program tally brief

mkfifo line

# stop COMMAND...: starts it, recorded into t, in the background, and stops what records it as soon as that has seen a thread.
# The program's standard input ends then.
stop()
{
	rm -rf t
	"$@" <line >out 2>err &
	exec 5>line
	sonde=$!
	program=$(child_of "$sonde" "$(basename "$name")") && recorder=$(child_of "$sonde" sonde) || exit
	await 20 has_thread
	kill -STOP "$recorder"
	exec 5>&-
}

has_thread()
{
	sonde info t 2>/dev/null | grep -q '^threads *[1-9]'
}

# go_on STATUS: the recorder; then all ends.
go_on()
{
	local status=0
	kill -CONT "$recorder"
	wait "$sonde" || status=$?
	[ "$status" -eq "$1" ] || { show out err; fail "exit status $status instead of $1"; }
}

gone()
{
	! kill -0 "$1" 2>/dev/null
}

ended()
{
	grep -q '^State:.*zombie' "/proc/$1/status" 2>/dev/null || gone "$1"
}

calls=400000
for name in tally tally-static; do
	[ -x "$programs/$name" ] || continue
	stop command sonde -o t -F work --buffer=64K -- "$programs/$name" counts 1 $calls wait
	sleep 1
	! ended "$program" || fail "the program has not waited"
	go_on 3
	check_contains out "^$calls calls$"
	events t
	check_calls $calls work

	stop command sonde -o t -F work --buffer=64K --overflow=drop -- "$programs/$name" counts 1 $calls wait
	await 50 ended "$program"
	go_on 3
	check_contains out "^$calls calls$"
	damaged=expected events t
	lost=$(sed -n 's/^lost *\([0-9]*\) events.*/\1/p' info.txt)
	have=$(count 'enter("work") || returned("work")')
	[ $((have + lost)) -eq $((2 * calls)) ] || fail "$have events, $lost lost ones"
done

# A limit leaves few buffers: threads wait until those of others that have ended are free.
few()
{
	ulimit -v 3000000
	exec sonde "$@"
}
name=brief
stop few -o t -F work -- "$programs/brief" 200 100 5
sleep 1.5
go_on 4
events t
check_contains info.txt '^threads +200$'
check_calls 1000 work
