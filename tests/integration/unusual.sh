# SPDX-License-Identifier: GPL-3.0-or-later
# What few programs do: vfork, cancelled threads, coroutines, a GS base of their own.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program spawns cancels switches gsbase

# for_each NAME FUNCTION: of the kinds that were built
for_each()
{
	local program
	for program in "$1" "$1-static"; do
		[ ! -x "$programs/$program" ] || "$2" "$programs/$program"
	done
}

# A child of vfork() calls in its parent's place and memory.
check_spawns()
{
	same_run --no-follow -o t -m "$modules/work.c" -- "$1" 20
	check_contains traced.out '^sum 360$'
	events t
	check_calls 121 work
	check_contains info.txt '^processes +1$'
	check_count 0 'num("depth") != 0'
}
for_each spawns check_spawns

# pthread_cancel() and pthread_exit() unwind wrappers as they do any other function.
check_cancels()
{
	same_run -o t -m "$modules/jumps.c" -- "$1" 50
	check_contains traced.out '^25 cancelled, sum 625, cleaned 50050, backtraces$'
	events t
	for function in outer middle inner; do
		check_count 50 "enter(\"$function\")"
		check_count 0 "returned(\"$function\")"
	done
	check_calls 1 work
	check_contains info.txt '^threads +51$'
}
for_each cancels check_cancels

# Stacks that take turns.
check_switches()
{
	same_run -o t -m "$modules/coroutines.c" -- "$1" 1000
	events t
	check_count 4000 'enter("work")'
	check_count 4000 'returned("work")'
	check_count 4 'enter("outer")'
	check_count 4 'returned("outer")'
}
for_each switches check_switches

# Who uses the GS base keeps it; what cannot be recorded then is counted.
check_gsbase()
{
	"$1" 100 >plain.out
	check_status 0 sonde -o t -m "$modules/work.c" -- "$1" 100
	check_same plain.out out "stdout"
	damaged=expected events t
	check_calls 1 work
	check_contains err '^sonde: warning: 200 events were lost'
}
for_each gsbase check_gsbase
