# SPDX-License-Identifier: GPL-3.0-or-later
# Threads: many one after the other, many at once, more than there are processors; exact counts.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program threads

# thread k makes CALLS + k calls
check_threads()
{
	local program=$1 short=$2 many=$3 calls=$4
	same_run -o t -m "$modules/work.c" -- "$programs/$program" "$short" "$many" "$calls"
	events t
	check_calls $((short * calls + short * (short - 1) / 2 + many * calls + many * (many - 1) / 2)) work
	check_contains info.txt "^threads +$((short + many))\$"
	check_count 0 'num("depth") != 0'
}

for program in threads threads-static threads-musl threads-musl-dynamic; do
	[ -x "$programs/$program" ] || continue
	check_threads "$program" 200 200 10
done
[ -s events.json ] || fail "no program was there"

check_threads threads 0 8 20000

# Every thread's events are in its own order, and thread k's are those of thread k.
same_run -o t -m "$modules/work.c" -- "$programs/threads" 0 50 100
events t
check_count 100 'enter("work") && num("i") >= 0 && num("i") < 1000'
check_count 149 'enter("work") && num("i") >= 49000'
awk '/"type":"enter"/ {
	match($0, /"tid":[0-9]+/); tid = substr($0, RSTART + 6, RLENGTH - 6)
	match($0, /"i":[0-9]+/); i = substr($0, RSTART + 4, RLENGTH - 4) + 0
	if (tid in last && i != last[tid] + 1)
		exit(1)
	last[tid] = i
}' events.json || fail "a thread's events are not in order"

# Small buffers lose nothing either.
check_status 0 sonde --buffer=64K -o t -m "$modules/work.c" -- "$programs/threads" 0 8 20000
events t
check_calls 160028 work

# Asked to drop rather than to wait, it says how many.
check_status 0 sonde --buffer=64K --overflow=drop -o t -m "$modules/work.c" -- "$programs/threads" 0 8 20000
damaged=expected events t
lost=$(awk '$1 == "lost" { print $2 == "nothing" ? 0 : $2 }' info.txt)
recorded=$(count 'enter("work") || returned("work")')
[ "$((recorded + lost))" -ge 320056 ] || fail "recorded $recorded, lost $lost, of 320056"
[ "$lost" -eq 0 ] || check_contains err '^sonde: .* events were lost$'
