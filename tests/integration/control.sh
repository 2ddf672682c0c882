# SPDX-License-Identifier: GPL-3.0-or-later
# A recording that runs is asked how it stands, is written out, switched and ended; the program does not notice.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/steps.sh"
need_ptrace
need_program steps

# value ROW: what `sonde ctl status' says in it.
value()
{
	sed -n "s/^$1  *//p" status.txt
}

# A recorder that was killed is still about to go.
is_removed()
{
	sonde ctl t status >/dev/null 2>&1
	[ ! -e "$1" ] && [ ! -e t/control ]
}

for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	begin $program -F work
	step 100
	socket=$(cat t/control)
	[ "$(stat -c %a "$socket")" = 600 ] || fail "others may use the socket"
	sonde ctl t status >status.txt || fail "no status"
	[ "$(value events)" -eq 600 ] || { show status.txt; fail "other than 600 events"; }
	[ "$(value threads)" -eq 3 ] || { show status.txt; fail "other than 3 threads"; }
	[ "$(value lost)" = "nothing so far" ] || { show status.txt; fail "lost"; }
	check_contains status.txt "^process +[0-9]+ $program, 3 threads$"
	check_contains status.txt '^recording +on for '

	# what has been recorded so far is in the trace
	for n in 300 600; do
		sonde ctl t flush || fail "no flush"
		sonde dump --json t 2>/dev/null >events.json
		check_calls $n work
		step 100
	done

	# ended while the program runs
	sonde ctl t stop || fail "no stop"
	[ ! -e t/control ] && [ ! -e "$socket" ] || fail "the socket is still there"
	step 100
	events t
	check_calls 900 work
	check_contains info.txt '^ended +went on without Sonde$'
	check_usage_error sonde ctl t status
	check_contains err 'no recording runs there'
	finish 7
	[ ! -s steps.err ] || { show steps.err; fail "messages"; }
	printf '100\n100\n100\n100\n' | cmp -s - steps.out || { show steps.out; fail "the program's output"; }
done

# switched off, nothing is recorded, and nothing else changes
for how in "-F work" "-F * --depth=9" "-F work --threshold-calls=100000" "-m $modules/work.c"; do
	for program in steps steps-static; do
		[ -x "$programs/$program" ] || continue
		set -f
		begin $program $how
		set +f
		step 100
		sonde ctl t off
		sonde ctl t off
		step 1000
		sonde ctl t status >status.txt
		check_contains status.txt '^recording +off for '
		sonde ctl t on
		step 100
		finish 7
		events t
		check_calls 600 work
		check_contains info.txt '^switched +off 1 time, '
		printf '100\n1000\n100\n' | cmp -s - steps.out || { show steps.out; fail "the program's output"; }
	done
done
begin steps -F work --clock=none
step 100
sonde ctl t off
step 1000
finish 7
sonde report t >report.txt
check_contains report.txt '\b300 .*work'
check_contains report.txt '^switched +off 1 time: '

# total OPTION...: ns that the report has for enclose()
total()
{
	sonde report --csv "$@" t | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i }
		/enclose/ { print $col["total_ns"] }'
}

# a call that is open meanwhile goes on, without the time
begin steps -F 'enclose,work'
step enter 100
sonde ctl t off
sleep 0.3
step 100
sonde ctl t on
step 100 leave
finish 7
events t
check_calls 1 enclose
check_calls 600 work
[ $(($(total --raw) - $(total))) -ge 300000000 ] || fail "time without recording counts"

# ... or ends, or begins
begin steps -F 'enclose,work'
step enter 100
sonde ctl t off
step leave
sonde ctl t on
step 100 enter leave enter
sonde ctl t off
step leave enter
sonde ctl t on
step 100 leave
finish 7
events t
check_count 3 'enter("enclose")'
check_count 1 'unwound("enclose")'
check_count 2 'returned("enclose")'
check_calls 900 work
for verb in report graph replay; do
	check_status 0 sonde $verb t
done

# switched on by a trigger, and off again; how often work() is called in a phase that counts
for program in steps steps-static; do
	[ -x "$programs/$program" ] || continue
	for how in "-F work" "-F work --depth=5" "-m $modules/work.c"; do
		begin $program --start-off --trigger=begin_phase=on,end_phase=off $how
		step 1000 begin 100 end 1000 begin 200 begin end end 1000
		finish 7
		events t
		check_calls 900 work
		check_calls 3 begin_phase
		check_count 0 'enter("end_phase")'
		check_contains info.txt '^switched +off 3 times, '
	done
done
begin steps -F work --clock=none --trigger='end_*=off'
step 100 end 1000
finish 7
sonde report t >report.txt
check_contains report.txt '\b300 .*work'
begin steps -F work --trigger=nonsuch=off
finish 7
check_contains steps.err "nonsuch"

# by a signal, which the program does not get
is_switched()
{
	sonde ctl t status >status.txt && grep -Eq "^recording +$1 for" status.txt
}
begin steps -F work --start-off --signal=USR2
step 1000
await 20 is_switched off
kill -USR2 "$sonde"
await 20 is_switched on
step 100
kill -USR2 "$sonde"
await 20 is_switched off
step 1000
finish 7
events t
check_calls 300 work
# ... unless it is another one
begin steps -F work --signal=USR2
step 10
kill -USR1 "$sonde"
ends $((128 + 10))
exec 5>&-

for bad in --signal=KILL --signal=nonsuch --signal= --trigger= --trigger=work --trigger==on --trigger=work=maybe \
	--trigger=work=on, --trigger=/\(/=on; do
	check_usage_error sonde -o bad -F work $bad -- true
done

# several programs: each is asked, and all end at once
rm -rf in t steps.out
mkfifo in
command sonde -o t -F work -- sh -c "$programs/steps; exit 3" <in >steps.out 2>steps.err &
sonde=$!
exec 5>in
await 20 [ -e steps.out ]
done=0
step 100
[ "$(find t -name control)" = t/control ] || fail "more than one socket"
sonde ctl t status >status.txt
[ "$(value events)" -eq 600 ] && [ "$(grep -c '^process ' status.txt)" -eq 2 ] || { show status.txt; fail "not all of the job"; }
sonde ctl t off
step 100
sonde ctl t on
sonde ctl t stop || fail "the programs' recordings do not end"
step 100
finish 3
sonde report t >report.txt
check_contains report.txt '\b300\b.* work$'

# ... and what one of them does is done in all, and in what is executed then
is_job()
{
	is_switched "$2" && [ "$(grep -c '^process ' status.txt)" -eq "$1" ]
}
# two COMMAND: a shell's, with what is in "in" and in "in2"; and wait for the first line of either
two()
{
	rm -rf in in2 t steps.out out2
	mkfifo in in2
	command sonde -o t --start-off --trigger=begin_phase=on,end_phase=off -F work -- sh -c "$1" <in >steps.out 2>steps.err &
	sonde=$!
	exec 5>in 6<>in2
	await 20 [ -e steps.out ]
	done=0
}
has_lines2()
{
	[ -e out2 ] && [ "$(wc -l <out2)" -ge "$1" ]
}
two "$programs/steps <in2 >out2 & $programs/steps; wait"
step 10
echo 10 >&6
await 20 has_lines2 1
step begin
await 20 is_job 3 on
echo 20 >&6
await 20 has_lines2 2
step end
await 20 is_job 3 off
echo 1000 >&6
await 20 has_lines2 3
exec 6>&-
finish 0
sonde report t >report.txt
check_contains report.txt '\b60\b.* work$'

two "$programs/steps; $programs/steps <in2 >out2"
step 10 begin
await 20 is_job 2 on
exec 5>&-
echo 20 >&6
await 20 has_lines2 1
exec 6>&-
finish 7
sonde report t >report.txt
check_contains report.txt '\b60\b.* work$'

# the busiest functions, once, and until the end
begin steps -F 'work,enclose'
step 100
check_status 0 sonde top -c 1 t
check_contains out '\b300\b.* work\b'
check_lacks out $'\033'
check_lacks out '^warning'
[ ! -s err ] || { show err; fail "top complains"; }
sonde top -d 100ms t >top.txt 5>&- &
top=$!
step 100
await 20 grep -Eq '\b600\b.* work\b' top.txt
finish 7
wait "$top" || fail "status of top"
check_usage_error sonde top t
check_usage_error sonde top -d 1ms t
check_usage_error sonde top t t

# nothing is left by a recorder that was killed, once somebody looks; where no other recorder does
XDG_RUNTIME_DIR=$(mktemp -d)
export XDG_RUNTIME_DIR
begin steps -F work
step 1
socket=$(cat t/control)
kill -KILL "$(child_of "$sonde" sonde)"
await 20 is_removed "$socket"
check_usage_error sonde ctl t status
step 1
finish 7
rmdir "$XDG_RUNTIME_DIR" || fail "a socket is left"
unset XDG_RUNTIME_DIR

# what is in the file is not believed
mkdir -p odd
: >odd/.sonde
for text in '' 'relative' '/tmp' "/$(printf 'x%.0s' $(seq 200))" "$(printf '/a\tb')"; do
	printf '%s\n' "$text" >odd/control
	check_usage_error sonde ctl odd status
done
check_usage_error sonde ctl
check_usage_error sonde ctl t nonsense
check_usage_error sonde ctl t status more
check_usage_error sonde ctl nowhere status
