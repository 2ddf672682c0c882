# SPDX-License-Identifier: GPL-3.0-or-later
# Children that a process forks while it is recorded are recorded, too, and left with it; those of one that has ended are recorded
# until they end.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program family

for program in family family-static; do
	[ -x "$programs/$program" ] || continue
	start "$programs/$program"
	for _ in 1 2 3; do
		attach_begin -F '*'
		n=$(grep -c another target.out)
		await 20 eval '[ "$(grep -c another target.out)" -gt "$n" ]'
		sleep 0.05
		kill -INT "$attached"
		attach_end
		for child in $(pgrep -P "$target"); do
			! grep -s memfd:sonde "/proc/$child/maps" || fail "something of ours is mapped in child $child"
		done
		check_left
	done
	sonde info t >info.txt || fail "sonde info"
	check_contains info.txt '^state +intact$'
	[ "$(sed -n 's/^processes *//p' info.txt | head -1)" -ge 2 ] || { show info.txt; fail "no children"; }
	finish
	check_contains target.out '^right$'
done
