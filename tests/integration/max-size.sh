# SPDX-License-Identifier: GPL-3.0-or-later
# --max-size: files of events never take more than that; the newest events of each thread are there, and what was removed is counted.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/steps.sh"
need_ptrace
need_program steps threads

most=65536

# size FOLDER: bytes of files of events, also of those that are being made
size()
{
	cat "$1"/*.sonde "$1"/*.sonde.new 2>/dev/null | wc -c
}

# removed: what the trace says
removed()
{
	sed -n 's/^max-size .*; \([0-9]*\) older ones were not kept$/\1/p' info.txt
}

# check_kept EVENTS: so many there were
check_kept()
{
	local kept
	kept=$(grep -Ec '"type":"(enter|leave)"' events.json)
	[ "$(size t)" -le $most ] || { ls -l t; fail "more than $most bytes"; }
	[ "$kept" -gt 0 ] && [ "$kept" -lt "$1" ] || fail "$kept events of $1 were kept"
	[ $((kept + $(removed))) -eq "$1" ] || fail "$kept events and $(removed) older ones are not $1"
	check_contains info.txt "^events +$kept$"
	check_contains info.txt '^state +intact$'
}

for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	begin $program -F 'work,begin_phase' --max-size=64K
	step 100 begin
	for n in 1 2 3; do
		step "main 1000000"
		[ "$(size t)" -le $most ] || { ls -l t; fail "more than $most bytes"; }
		# whoever reads meanwhile
		check_status 0 sonde report t
	done
	step begin
	finish 7
	events t
	check_kept 6000604
	# threads that did little have all of it, and the newest of the other one are there
	check_calls 1 begin_phase
	[ "$(awk 'match($0, /"tid":[0-9]+/) { n[substr($0, RSTART, RLENGTH)]++ } END { for (t in n) print n[t] }' events.json | sort -n |
		head -n 2 | tr '\n' ' ')" = "200 200 " ] || fail "not all of threads that did little"
	printf '100\nbegin\nmain 1000000\nmain 1000000\nmain 1000000\nbegin\n' | cmp -s - steps.out || { show steps.out; fail "output"; }
	check_status 0 sonde report t
	check_contains out '^max-size +the newest events of each thread; [1-9]'
	for verb in graph replay; do
		check_status 0 sonde $verb t
	done
done

# threads that have ended, too
rm -rf t
sonde -o t -F work --max-size=64K -- "$programs/threads" 50 2 20000 >out.txt
"$programs/threads" 50 2 20000 | cmp -s - out.txt || fail "the program's output"
events t
check_kept $((2 * (52 * 20000 + 49 * 50 / 2 + 1)))

# what is there when the recorder is killed can be read, and is not taken for all
begin steps -F work --max-size=64K
step "main 1500000"
kill -KILL "$(child_of "$sonde" sonde)"
step 10
finish 7
check_status 0 sonde report t
check_contains out '^max-size +the newest events of each thread; [1-9]'
[ "$(size t)" -le $most ] || { ls -l t; fail "more than $most bytes"; }

# each program has so much
rm -rf t
printf 'main 1000000\n' >lines
sonde -o t -F work --max-size=64K -- sh -c "$programs/steps <lines; $programs/steps <lines; exit 3" >out.txt && fail "exit status 0"
[ "$(find t -name 'process-*' -type d | wc -l)" -eq 2 ] || fail "not both programs"
for folder in t/process-*; do
	[ "$(size "$folder")" -le $most ] || { ls -l "$folder"; fail "more than $most bytes"; }
done
events t
[ $(($(removed) + $(grep -Ec '"type":"(enter|leave)"' events.json))) -eq 4000000 ] || { show info.txt; fail "not all is accounted for"; }

for bad in --max-size=1 --max-size=x --max-size= '--max-size=1M --flight=1M' '--max-size=1M --mem'; do
	check_usage_error sonde -o bad -F work $bad -- true
done
