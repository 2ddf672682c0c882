# SPDX-License-Identifier: GPL-3.0-or-later
# A timer of 10 kHz: calls made in signal handlers are recorded, and those that they interrupt.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program sigs

check_signals()
{
	local program=$1 stack=$2 way=$3 notes steps jumps recorded
	same_run -o t -m "$modules/sigs.c" -- "$programs/$program" "$stack" "$way" 1500 counts
	check_contains traced.out '^enough$'
	read -r notes steps jumps <counts
	events t
	check_calls "$notes" note
	check_count "$notes" 'enter("note") && num("i") < '"$notes"
	recorded=$(count 'enter("step")')
	if [ "$way" = return ]; then
		check_calls "$steps" step
		check_count 0 'enter("step") && !has("\"text\":\"some text to write\"")'
		# most handlers interrupt the loop somewhere outside of step(), some inside
		check_count "$notes" 'enter("note") && num("depth") <= 1'
	else
		# a call can be left after it was recorded and before it began
		[ "$recorded" -ge "$steps" ] && [ "$recorded" -le $((steps + jumps)) ] ||
			fail "$recorded calls of step() recorded, $steps made, $jumps jumps"
		[ "$(count 'unwound("step")')" -le "$jumps" ] || fail "more unwound than jumps"
		check_count 0 'enter() && num("depth") > 2'
	fi
}

for stack in normal alt above; do
	check_signals sigs $stack return
	check_signals sigs $stack jump
	check_signals sigs $stack leap
done
[ ! -x "$programs/sigs-static" ] || {
	check_signals sigs-static normal jump
	check_signals sigs-static alt return
}
[ ! -x "$programs/sigs-musl" ] || check_signals sigs-musl alt return
[ ! -x "$programs/sigs-musl-dynamic" ] || check_signals sigs-musl-dynamic normal jump
