# SPDX-License-Identifier: GPL-3.0-or-later
# A trace that is being written can be read; and what is counted of it is the same for all verbs.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/steps.sh"
need_ptrace
need_program steps

# check_events N: info and report say so, and so many are dumped.
check_events()
{
	check_status 0 sonde info t
	check_contains out "^events +$1\$"
	check_status 0 sonde report t
	check_contains out "[ ,]$1 events\$"
	[ "$(sonde dump --json t 2>/dev/null | grep -c '^{"type":"\(enter\|leave\|return\|unw\)')" -eq "$1" ] || fail "dump has other than $1 events"
}

for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	begin $program -F work
	for n in 1 2 3; do
		step 1000
		sonde ctl t flush || fail "no flush"
		check_events $((6000 * n))
		for verb in graph replay "report --by=thread"; do
			check_status 0 sonde $verb t
			check_contains out 'work'
		done
	done
	finish 7
	check_events 18000
done

# a thread that waits for the recorder has notes of that, which are no events
begin steps -F work --buffer=64K
step "main 300000"
step "main 300000"
finish 7
check_events 1200000
