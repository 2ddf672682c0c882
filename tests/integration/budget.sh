# SPDX-License-Identifier: GPL-3.0-or-later
# A budget for calls: counts are exact, whatever was recorded and what was counted; what was recorded has both its ends; and each
# view says what was counted.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program hot throws

# calls FUNCTION: how often it was called, by the report t.csv.
calls()
{
	awk -F, -v name="\"$1\"" '$1 == name { print $4 }' t.csv
}

check_total() # WANTED FUNCTION
{
	[ "$(calls "$2")" = "$1" ] || { show t.csv; fail "$(calls "$2") calls of $2(), not $1"; }
}

# Entries that were recorded and not left by longjmp() or the like were left by a return.
check_pairs() # FUNCTION
{
	local enters returns
	enters=$(count "enter(\"$1\") || unwound(\"$1\")")
	returns=$(count "returned(\"$1\") && !has(\"orphan\")")
	[ $((enters - 2 * $(count "unwound(\"$1\")"))) = "$returns" ] ||
		fail "$enters entries and returns by a jump of $1(), $returns others"
}

# record N WAY: hot WAY N, as it is without Sonde; tiny and other are what it counted itself.
record()
{
	sonde -q -F '*' --overhead=0.5% -o t "$programs/hot" "$2" "$1" >out || fail "hot $2 failed"
	read -r tiny other <out
	sonde report --all --csv t >t.csv || fail "no report of hot $2"
	check_total "$tiny" tiny
	grep -q '"type":"chosen".*"counted":true' t/metadata || { show t/metadata; fail "hot $2: nothing was counted"; }
	check_contains t/metadata '"type":"budget","overhead":5000'
}

record 5000000 loop
check_total 10 outer
check_total 50 rare
check_total 50 busy
events t
check_pairs tiny
check_count 10 'enter("outer")'
check_count 10 'returned("outer")'
check_count 0 'unwound("tiny")'
sonde report t >report.txt
check_contains report.txt '^budget +0\.5 %: [0-9]+ calls of [0-9]+ functions? were counted, those in [0-9]+ bursts?'
check_contains report.txt '^ *5000050 +~.*~.* tiny$'
sonde info t >info.txt
check_contains info.txt '^budget +0\.5 % for calls: [0-9]+ calls of'
check_contains info.txt 'cost about [0-9.]+ % of [0-9.]+ s of CPU time'
sonde info -v t >info.txt
check_contains info.txt '^ +[0-9.]+ s counted: +tiny$'
sonde graph --all t >graph.txt
check_contains graph.txt '~tiny$'
check_lacks graph.txt '~rare$'
sonde replay -F rare t >replay.txt 2>replay.err
check_contains replay.err 'budget of 0\.5 %'
check_lacks replay.txt '~rare'

# what is counted by then is not any more when the program switches recording off: the 50 calls by rare()
sonde -q -F '*' --overhead=0.5% --trigger='rare=off' -o t "$programs/hot" loop 5000000 >out || fail "hot with a trigger failed"
sonde report --all --csv t >t.csv
check_total 5000000 tiny

record 1500000 threads
events t
check_pairs tiny
check_count 4 'enter("outer")'
check_count 4 'returned("outer")'

record 1500000 forks
events t
check_pairs tiny
check_count 3 'enter("outer")'

record 5000000 signals
check_total "$other" note
events t
check_pairs tiny
check_pairs note
check_count 1 'returned("outer")'

record 2000000 jumps
check_total "$other" jumper

# exceptions pass, and are counted
same_run -q -F '*' --overhead=0.1% -o t -- "$programs/throws" 900
sonde report --all --csv t >t.csv
for function in outer middle inner; do
	check_total 900 $function
done

# nothing is counted that is not called often
check_total 300 work

check_usage_error sonde -F '*' --overhead=5% --depth=3 true
check_contains err 'not with --depth'
check_usage_error sonde --overhead=5% true
check_contains err 'neither -F nor --mem'
