# SPDX-License-Identifier: GPL-3.0-or-later
# However a program ends, its exit status is kept and every event up to the last one is there.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ends ends-O0 ends-nopie

# ends_as PROGRAM HOW: 1,000 calls; which of them returned, the program's state decides
ends_as()
{
	same_run -o t -m "$modules/work.c" -- "$programs/$1" 1000 "$2"
	events t
	check_calls 1000 work
	check_count 1 'enter("work") && num("i") == 999'
	check_count 1 'returned("work") && num("result") == 2998'
}

for how in return exit _exit quick thread leader exec; do
	ends_as ends "$how"
done
for how in abort segv tkill 1 2 3 9 10 11 13 15 24 31; do
	ends_as ends "$how"
	sonde info t >info.txt
	check_contains info.txt '^ended +.*killed|^ended +.*signal'
done
for program in ends-O0 ends-nopie; do
	ends_as "$program" exit
	ends_as "$program" 9
done

# Said once more, since same_run would believe a program that ended otherwise.
check_status 3 sonde -o t -m "$modules/work.c" -- "$programs/ends" 10 exit
check_status 5 sonde -o t -m "$modules/work.c" -- "$programs/ends" 10 exec
check_status 137 sonde -o t -m "$modules/work.c" -- "$programs/ends" 10 9
check_status 139 sonde -o t -m "$modules/work.c" -- "$programs/ends" 10 segv

# Killed by somebody else in the middle of it, with megabytes on their way.
need_program random
for sig in KILL TERM; do
	command sonde -o t -m "$modules/noise.c" -- "$programs/random" 0 &
	sonde=$!
	program=$(child_of "$sonde" random) || exit
	await 20 grep -q 'TracerPid:.0$' "/proc/$program/status"
	sleep 0.2
	kill -s "$sig" "$program"
	status=0
	wait "$sonde" || status=$?
	[ "$status" -eq $((128 + $(kill -l "$sig"))) ] || fail "exit status $status after SIG$sig"
	events t
	calls=$(count 'enter("noise")')
	returns=$(count 'returned("noise")')
	[ "$calls" -gt 10000 ] || fail "only $calls calls"
	[ $((calls - returns)) -le 1 ] || fail "$calls calls, $returns returns"
done

# Nobody waits for it, or its parent does before the recorder has looked: that it was recorded to its end is known all the same.
need_command python3
check_status 0 sonde -q -o t -F work -- python3 -c '
import os, signal, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
os.spawnv(os.P_NOWAIT, sys.argv[1], sys.argv[1:])
try:
    os.wait()
except ChildProcessError:
    pass
' "$programs/ends" 1000 exit
sonde info t >info.txt || fail "sonde info"
check_contains info.txt '^state +intact$'
check_contains info.txt '^lost +nothing$'
check_contains info.txt '(status not known|exit status 3) +ends 1000 exit$'
sonde report t >report.txt || fail "sonde report"
check_lacks report.txt 'no end|not finished'
