# SPDX-License-Identifier: GPL-3.0-or-later
# Every function of programs that count their calls: signals of 10 kHz in the middle of probes, hundreds of
# threads, children, deep recursion, exceptions, coroutines; exact counts of what was recorded.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program sigs threads forks throws jumps cancels spawns switches recurse

# for_each NAME COMMAND...: of the kinds that were built
for_each()
{
	local name=$1 kind
	shift
	for kind in "" -static -musl -musl-dynamic; do
		[ ! -x "$programs/$name$kind" ] || "$@" "$programs/$name$kind"
	done
}

# Calls that a signal handler makes, and those that it interrupts anywhere in a probe.
check_signals() # STACK WAY PROGRAM
{
	local notes steps jumps recorded
	same_run -q -F '*' -o t -- "$3" "$1" "$2" 400 counts
	check_contains traced.out '^enough$'
	read -r notes steps jumps <counts
	events t
	check_calls "$notes" note
	recorded=$(count 'enter("step")')
	if [ "$2" = return ]; then
		check_calls "$steps" step
	else
		# a call can be left after it was recorded and before it began
		[ "$recorded" -ge "$steps" ] && [ "$recorded" -le $((steps + jumps)) ] ||
			fail "$recorded calls of step() recorded, $steps made, $jumps jumps"
		[ "$(count 'unwound("step")')" -le "$jumps" ] || fail "more unwound than jumps"
	fi
}
for_each sigs check_signals normal return
for_each sigs check_signals normal jump
for_each sigs check_signals alt return
for_each sigs check_signals alt jump

check_threads() # SHORT MANY CALLS PROGRAM
{
	same_run -q -F '*' -o t -- "$4" "$1" "$2" "$3"
	events t
	check_calls $(($1 * $3 + $1 * ($1 - 1) / 2 + $2 * $3 + $2 * ($2 - 1) / 2)) work
}
for_each threads check_threads 100 100 10
for_each threads check_threads 0 8 2000

# 50,000 frames deep.
check_recursion()
{
	local depth
	same_run -q -F '*' -o t -- "$1" 50000 15
	events t
	check_calls 50001 down
	check_calls 25001 ping
	check_calls 25000 pong
	check_calls 1973 fib
	# static programs record what has called main, too
	depth=$(sed -n '/"type":"enter".*"function":"main"/s/.*"depth":\([0-9]*\).*/\1/p' events.json)
	check_count 1 "enter(\"fib\") && num(\"depth\") == ${depth:-0} + 1" \
		2 "enter(\"fib\") && num(\"depth\") == ${depth:-0} + 2"
}
(ulimit -s 65536 2>/dev/null && for_each recurse check_recursion) || exit 1

check_exceptions()
{
	same_run -q -F '*' -o t -- "$1" 60
	events t
	for function in outer middle inner; do
		check_count 60 "enter(\"$function\")" 20 "returned(\"$function\")" 40 "unwound(\"$function\")"
	done
	check_count 30 'unwound("catches")'
	check_calls 20 work
}
for_each throws check_exceptions

check_jumps()
{
	same_run -q -F '*' -o t -- "$1" 180
	events t
	for function in outer middle inner; do
		check_count 180 "enter(\"$function\")" 90 "returned(\"$function\")" 90 "unwound(\"$function\")"
	done
	check_calls 360 work
}
for_each jumps check_jumps

check_cancels()
{
	same_run -q -F '*' -o t -- "$1" 20
	events t
	for function in outer middle inner; do
		check_count 20 "enter(\"$function\")" 0 "returned(\"$function\")"
	done
	check_calls 1 work
}
for_each cancels check_cancels

check_spawns()
{
	same_run -q -F '*' -o t -- "$1" 20
	events t
	check_calls 121 work
}
for_each spawns check_spawns

check_switches()
{
	same_run -q -F '*' -o t -- "$1" 1000
	events t
	check_count 4000 'enter("work")' 4000 'returned("work")' 4 'enter("outer")'
}
for_each switches check_switches
