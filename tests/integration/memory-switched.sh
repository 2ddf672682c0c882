# SPDX-License-Identifier: GPL-3.0-or-later
# Memory accesses are switched off and on: a thread goes off at its next check, and nothing is missing but what was left out.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/steps.sh"
need_ptrace
need_program steps

# accesses: how many there are in the trace
accesses()
{
	sonde dump --mem t 2>/dev/null | grep -c '^'
}

check_intact()
{
	sonde info t >info.txt 2>info.err || { show info.txt info.err; fail "sonde info"; }
	check_contains info.txt '^state +intact$'
	check_contains info.txt '^lost +nothing$'
	check_contains info.txt '^switched +off '
	check_status 0 sonde memory t
	check_lacks out 'missing'
	check_lacks err 'missing'
}

for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	begin $program --mem=call_work,work
	step "main 1000"
	finish 7
	one=$(accesses)
	[ "$one" -ge 1000 ] || fail "$one accesses of 1000 calls"

	# more than a buffer holds, while it is off
	begin $program --mem=call_work,work
	step "main 1000"
	sonde ctl t off
	step "main 3000000"
	sonde ctl t on
	step "main 1000"
	finish 7
	check_intact
	both=$(accesses)
	[ "$both" -ge "$((2 * one - 20))" ] || fail "$both accesses, not twice $one: some are missing"
	[ "$both" -le "$((2 * one + 20))" ] || fail "$both accesses, not twice $one: it was not off"

	# off from the beginning, on by a trigger
	begin $program --mem=call_work,work --start-off --trigger=begin_phase=on,end_phase=off
	step "main 1000000"
	# ... from the very call on: who records does not help
	kill -STOP "$(child_of "$sonde" sonde)"
	step begin "main 1000" end
	kill -CONT "$(child_of "$sonde" sonde)"
	step "main 1000000"
	finish 7
	check_intact
	[ "$(accesses)" -ge "$((one - 20))" ] || fail "$(accesses) accesses, not $one: some are missing"
done

# in bursts: by time, number, cost
for how in --sample=burst:1ms,every:2ms --sample=burst:1M,every:2M --overhead=50%; do
	begin steps --mem=call_work,work $how
	step "main 1000"
	sonde ctl t off
	before=$(du -sb t | cut -f1)
	step "main 3000000"
	[ $(($(du -sb t | cut -f1) - before)) -lt 1000000 ] || fail "$how: it was not off"
	sonde ctl t on
	step "main 1000"
	finish 7
	check_intact
done
