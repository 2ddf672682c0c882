# SPDX-License-Identifier: GPL-3.0-or-later
# --depth, --time and --threshold-calls on deep recursion: what is asked for, and what does not fit counted.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program recurse
ulimit -s 131072 2>/dev/null || ulimit -s unlimited 2>/dev/null || skip "the stack is limited"

deep=100000	# deeper than any of the tables that probes look at first
record() # OPTION [DEPTH]
{
	same_run -q -F "down,ping,pong,fib" "$1" -o t -- "$programs/recurse" "${2:-$deep}" 10
	events t
}

record --depth=3
check_calls 3 down
check_calls 2 ping
check_calls 1 pong
check_calls 7 fib
record --depth=70000
check_calls 70000 down
check_count 1 'enter("down") && num("depth") == 69999'
check_count 0 'enter() && num("depth") >= 70000'

record --threshold-calls=80000
check_calls 80000 down
check_calls $((deep / 2 + 1)) ping
record --threshold-calls=5
check_calls 5 fib

# Also those that take less than a step of the clock, which is zero.
record --time=1ns
check_calls $((deep + 1)) down
check_calls $((deep / 2 + 1)) ping
record --time=1000s
check_count 0 'enter()'
record --time=100us
[ "$(count 'enter("down")')" -gt 10 ] || fail "of calls that take milliseconds few are recorded"
[ "$(count 'enter("down")')" -eq "$(count 'returned("down")')" ] || fail "an entry without its exit"
[ "$(count 'enter("fib")')" -lt 177 ] || fail "all calls are longer than 100 us"

# Deeper than there is room for: counted, two events a call.
check_lost() # OPTION
{
	same_run -q -F down "$1" -o t -- "$programs/recurse" 600000 10
	damaged=expected events t
	check_calls 524288 down
	check_contains info.txt "^lost +$((2 * (600001 - 524288))) events"
}
if [ "$(ulimit -s)" = unlimited ] || [ "$(ulimit -s)" -ge 131072 ]; then
	check_lost --time=1ns
	check_lost --threshold-calls=10000000
fi

check_usage_error sonde -F down --depth=524289 "$programs/recurse" 1 1
check_contains err 'not from 1 to 524288'

# What leaves nothing to record is said, and once.
check_status 0 sonde -F down --min-size=1M -o t -- "$programs/recurse" 1 1
check_contains err '^sonde: warning: -F: all functions of that name are smaller than --min-size$'
check_status 0 sonde -F down --mem=down --libs=libnone -o t -- "$programs/recurse" 1 1
[ "$(grep -c 'libnone: no such library' err)" -eq 1 ] || { show err; fail "not said once"; }
