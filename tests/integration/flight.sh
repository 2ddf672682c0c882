# SPDX-License-Identifier: GPL-3.0-or-later
# A flight recorder keeps the newest calls of each thread, and writes them when it is asked and when the program ends, however
# it does.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/steps.sh"
need_ptrace
need_program steps

# thread_events: for each thread, how many events there are of it in events.json
thread_events()
{
	awk 'match($0, /"tid":[0-9]+/) { n[substr($0, RSTART + 6, RLENGTH - 6)]++ } END { for (t in n) print n[t] }' events.json |
		sort -n
}

older()
{
	sed -n 's/^flight .*; \([0-9]*\) older ones were not kept$/\1/p' info.txt
}

# check_flight CALLS: so many calls of work(), and two more, were made since the last time; the newest are there.
check_flight()
{
	local all=$((2 * $1 + 4)) kept
	kept=$(count 'enter("work") || returned("work") || enter("begin_phase") || returned("begin_phase")')
	[ "$kept" -lt "$all" ] || fail "all was kept: $kept of $all"
	[ $((kept + $(older))) -eq "$all" ] || fail "$kept events, $(older) older ones, but $all were made"
	check_calls 2 begin_phase
}

main=1500000
for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	for end in "" exit abort segv kill; do
		case $program/$end in steps-static/exit | steps-static/abort) continue ;; esac
		begin $program -F 'work,begin_phase' --flight=64K
		step 100 "main $main" begin 10 begin
		[ "$(du -sk t | cut -f1)" -lt 200 ] || fail "it writes what it is to keep"
		case $end in
		"") status=7 ;;
		exit) status=5 ;;
		abort) status=134 ;;
		segv) status=139 ;;
		kill) status=137 ;;
		esac
		case $end in
		"") ;;
		kill) kill -KILL "$(child_of "$sonde" $program)" ;;
		*) echo $end >&5 ;;
		esac
		finish $status
		events t
		check_flight $((main + 330))
		[ "$(thread_events | head -n 2 | tr '\n' ' ')" = "220 220 " ] || fail "not all of threads that did little"
		printf '100\nmain %d\nbegin\n10\nbegin\n' $main | cmp -s - steps.out || { show steps.out; fail "output"; }
		check_status 0 sonde report t
		check_contains out '^flight +the newest events of each thread; [1-9]'
	done
done

# on request, and again; what is between the two is not there, and nobody takes what is around for neighbours
begin steps -F 'work,begin_phase,enclose' --flight=64K
step 100 begin
sonde ctl t snapshot || fail "no snapshot"
sonde dump --json t 2>/dev/null >events.json
check_calls 300 work
check_calls 1 begin_phase
step enter "main $main" leave begin
sonde ctl t snapshot
sonde dump --json t 2>/dev/null >events.json
check_calls 2 begin_phase
check_count 1 'lost()'
[ "$(count 'enter("work")')" -gt 300 ] || fail "the second snapshot has nothing"
step 5 begin
finish 7
damaged=expected
events t
check_contains info.txt '^state +intact$'
check_calls 3 begin_phase
check_status 0 sonde report t

# at a trigger, and a signal
has_work()
{
	sonde dump --json t >events.json 2>/dev/null && [ "$(count 'enter("work")')" -eq "$1" ]
}
begin steps -F 'work,begin_phase' --flight=64K --trigger=end_phase=snapshot --signal=USR2=snapshot
step 100 begin
has_work 300 && fail "written before it was asked for"
step end
await 20 has_work 300
step 10
kill -USR2 "$sonde"
await 20 has_work 330
step 10
finish 7
events t
check_calls 360 work
check_calls 1 end_phase
for verb in graph replay; do
	check_status 0 sonde $verb t
done

# threads that end are kept as well
begin steps -F 'work' --flight=64K
step 100
finish 7
events t
check_calls 300 work
[ "$(older)" -eq 0 ] || fail "something was left out"

begin steps -F work
check_usage_error sonde ctl t snapshot
finish 7
for bad in --flight=1 --flight=1T --flight=x --trigger=work=snapshot --signal=USR2=snapshot '--flight=1M --signal=USR2=nonsense' \
	'--flight=1M --trigger=work=snap'; do
	check_usage_error sonde -o bad -F work $bad -- true
done
check_usage_error sonde -o bad --mem --flight=16M -- true
