# SPDX-License-Identifier: GPL-3.0-or-later
# Tail calls are calls: who calls whom, and how often, is what callgrind says; and with --tail-calls=jump what
# happens on the stack.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program tails

# edges DIR [OPTION...]: "CALLER CALLEE CALLS" of the program's own functions
edges()
{
	sonde dump --json "$@" >events.json || fail "sonde dump"
	awk -F'"' '
	function value(key) {
		match($0, "\"" key "\":[0-9]+")
		return substr($0, RSTART + length(key) + 3, RLENGTH - length(key) - 3)
	}
	/"type":"enter"/ {
		match($0, "\"function\":\"[^\"]*\"")
		f = substr($0, RSTART + 12, RLENGTH - 13)
		depth = value("depth")
		path[depth] = f
		if (depth > 0)
			calls[path[depth - 1] " " f]++
	}
	END {
		for (edge in calls)
			print edge, calls[edge]
	}' events.json | grep -vE '^(frame_dummy|__do_global)' | sort >edges
}

# paths DIR [OPTION...]: of calls, but for those in ping()
paths()
{
	sonde graph --raw --folded --all "$@" | sed 's/ [0-9]*$//' | grep '^main' | sort
}

# check_paths WHAT [OPTION...]: they are those in the file wanted.  What begins and ends at the same tick takes no time, and has no line.
check_paths()
{
	local what=$1
	shift
	for _ in 1 2 3 4 5; do
		paths t "$@" >found
		cmp -s wanted found && return
		same_run -q -F '*' -o t -- "$programs/tails"
	done
	check_same wanted found "$what"
}

same_run -q -F '*' -o t -- "$programs/tails"

cat >wanted <<'END'
main
main;by_object
main;by_object;phase_b
main;by_object;phase_b;heavy
main;by_table
main;by_table;heavy
main;by_table;phase_a
main;by_table;phase_a;heavy
main;has_work
main;has_work;work
main;leads_to_jump
main;leads_to_jump;jumps
main;phase_a
main;phase_a;heavy
main;phase_b
main;phase_b;heavy
main;ping
main;ping;pong
main;says
END
check_paths "paths of calls"

cat >wanted <<'END'
main
main;by_object
main;by_table
main;has_work
main;heavy
main;leads_to_jump
main;leads_to_jump;jumps
main;phase_a
main;phase_b
main;ping
main;pong
main;says
main;work
END
check_paths "paths on the stack" --tail-calls=jump

# A caller's time is that of what it jumps to, and longer.
sonde report --csv t >report.csv || fail "sonde report"
sonde report --csv --tail-calls=jump t >jump.csv || fail "sonde report --tail-calls=jump"
# column FILE FUNCTION NAME
column()
{
	awk -F, -v function_name="$2" -v name="$3" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
		$at["function"] == "\"" function_name "\"" { print $at[name] }' "$1"
}
total=$(column report.csv heavy total_ns)
[ -n "$total" ] || fail "no total of heavy()"
sum=$(($(column report.csv phase_a total_ns) + $(column report.csv phase_b total_ns)))
jump=$(($(column jump.csv phase_a total_ns) + $(column jump.csv phase_b total_ns)))
[ "$sum" -gt $((total * 9 / 10)) ] || fail "phases take $sum ns, and heavy(), which they call, $total"
[ "$jump" -lt $((total / 10)) ] || fail "phases take $jump ns until they jump, and heavy() $total"
for name in phase_a phase_b heavy ping pong; do
	[ "$(column report.csv $name calls)" = "$(column jump.csv $name calls)" ] || fail "calls of $name differ"
done

# Indented by what is open.
sonde replay t >replay || fail "sonde replay"
check_contains replay '    phase_b\(\) \{$'
check_contains replay '      heavy\(\);$'
sonde replay --tail-calls=jump t >replay || fail "sonde replay --tail-calls=jump"
check_contains replay '    phase_b\(\);$'
check_status 2 sonde graph --tail-calls=perhaps t

# To functions of modules; and into libraries, by way of slots that are bound.
export LD_BIND_NOW=1
same_run -q -m "$modules/work.c" -F has_work -o w -- "$programs/tails"
edges w
echo "has_work work 3" >wanted
check_same wanted edges "calls of a wrapped function"
same_run -q -F 'says,main' -F 'puts@libc.so*' -o l -- "$programs/tails"
edges l
printf 'main says 3\nsays puts 3\n' >wanted
check_same wanted edges "calls of a library's function"

command -v valgrind >/dev/null || exit 0
valgrind --tool=callgrind --compress-strings=no --compress-pos=no --callgrind-out-file=callgrind.out \
	"$programs/tails" >plain.out 2>callgrind.err || { show callgrind.err; skip "callgrind does not run"; }
awk -F= '
	/^fn=/ { caller = $2 }
	/^cfn=/ { callee = $2 }
	/^calls=/ { split($2, v, " "); calls[caller " " callee] += v[1] }
	END {
		for (edge in calls)
			print edge, calls[edge]
	}' callgrind.out >callgrind.edges
# Of loops callgrind makes cycles; libraries are not recorded.
names='phase_a|phase_b|by_table|by_object|says|has_work|leads_to_jump|jumps'
own="^(main|$names) (heavy|work|$names) "
grep -E "$own" callgrind.edges | sort >wanted
[ "$(wc -l <wanted)" -ge 9 ] || { show wanted; fail "callgrind shows too few calls"; }
edges t
grep -E "$own" edges >found
check_same wanted found "calls (callgrind, sonde)"
