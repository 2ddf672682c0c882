# SPDX-License-Identifier: GPL-3.0-or-later
# Recording takes time, and the report takes that off again: two functions that take as long as each other do so in the
# report as well, though one of them makes twenty thousand recorded calls. The program itself says how long they take
# when nothing is recorded. All figures are of the shortest of many repeats, since the machine may be busy.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program balance tails

# shortest FILE FUNCTION: ns, of a CSV report
shortest()
{
	awk -F, -v name="\"$2\"" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$1 == name { print $at["min_ns"] }' "$1"
}

# ratio A B: in percent
ratio()
{
	echo $((100 * $1 / $2))
}

# What was measured is in the trace, and plausible.
measure()
{
	check_status 0 "$programs/balance" 100
	read -r parts once <err
	plain=$(ratio "$parts" "$once")
	check_status 0 sonde -q -F in_parts,part,at_once -o t "$programs/balance" 100
	[ "$(grep -c '"type":"cost"' t/metadata)" -eq 2 ] || fail "the cost of a call is not in the trace twice"
	check_status 0 sonde report --csv t
	mv out report.csv
	check_status 0 sonde report --csv --raw t
	mv out raw.csv
	traced=$(ratio "$(shortest report.csv in_parts)" "$(shortest report.csv at_once)")
	raw=$(ratio "$(shortest raw.csv in_parts)" "$(shortest raw.csv at_once)")
	echo "in parts, of at once: $plain % plain, $traced % in the report, $raw % as recorded"
}

# The cost is measured in a millisecond, in which the machine may be busier than in the shortest repeats: up to five times.
for _ in 1 2 3 4 5; do
	measure
	[ "$traced" -le $((plain / 6)) ] || break
done
[ "$raw" -gt $((plain + 20)) ] || fail "recording costs nothing: the test tells nothing"
[ "$traced" -lt $((plain + (raw - plain) / 2)) ] || fail "most of the cost is left"
[ "$traced" -gt $((plain / 6)) ] || fail "too much is taken off"

# The head says so, and what to do.
check_status 0 sonde report t
check_contains out '^recording   took about [0-9.]+ % of the time'
check_contains out "^            less with -N 'part' \(100 % of the calls\), or --time=5us$"
check_status 0 sonde report --raw t
check_lacks out '^recording'
check_status 0 sonde graph t
check_contains out 'without .* that recording took$'

# Threads that have to wait for Sonde: each call of part() is recorded, in a buffer that is always full. The wait is in
# the trace, and nobody's.
for _ in 1 2 3 4 5; do
	check_status 0 sonde -q --buffer=64K -F part,at_once,in_parts -o w "$programs/balance" 20
	check_status 0 sonde report --csv w
	mv out report.csv
	traced=$(ratio "$(shortest report.csv in_parts)" "$(shortest report.csv at_once)")
	[ "$traced" -ge $((2 * plain)) ] || break
done
[ "$traced" -lt $((2 * plain)) ] || fail "$traced % with a full buffer"

# Nothing to be taken off: modules; calls that were only counted; those that --time leaves out are not known.
check_status 0 sonde -q --clock=none -F '*' -o c "$programs/tails"
check_lacks c/metadata '"type":"cost"'
check_status 0 sonde -q --time=1us -F '*' -o c "$programs/tails"
check_lacks c/metadata '"type":"cost"'
