# SPDX-License-Identifier: GPL-3.0-or-later
# Several processes at once: one trace with a part for each, ended together; what cannot be attached to is left out, with a line.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program busy

# another one, of which attach-lib.sh knows nothing
start_other()
{
	mkfifo other.in
	"$1" 2 <other.in >other.out 2>other.err &
	other=$!
	exec 8>other.in
	await 20 grep -qs ready other.out
	code_of "$other" | cksum >other.before
}

check_other_left()
{
	code_of "$other" | cksum >other.after
	check_same other.before other.after "the code of the other process"
	! grep memfd:sonde "/proc/$other/maps" || fail "something of ours is mapped in the other process"
}

check_both_recorded()
{
	sonde info t >info.txt || fail "sonde info"
	check_contains info.txt '^processes +2$'
	check_contains info.txt '^state +intact$'
	for pid in "$target" "$other"; do
		check_status 0 sonde report --process="$pid" t
		check_contains out ' mix( |$)'
	done
}

start "$programs/busy" 2
second=$programs/busy-static
[ -x "$second" ] || second=$programs/busy
start_other "$second"

# by the duration; the other one comes first
rm -rf t
check_status 0 sonde attach -o t -F '*' --duration=300ms "$other" "$target"
check_left
check_other_left
check_both_recorded

# by `sonde detach', by Ctrl-C, by `sonde ctl stop'
for how in detach INT stop; do
	attach_begin -F '*' "$other"
	await 20 eval 'grep -qs functions t/process-*/metadata'
	case $how in
	detach) check_status 0 sonde detach "$other" ;;
	INT) kill -INT "$attached" ;;
	stop) check_status 0 sonde ctl t stop ;;
	esac
	attach_end
	check_left
	check_other_left
	check_both_recorded
done

# some of them cannot be
rm -rf t
check_status 2 sonde attach -o t -F '*' --duration=300ms 4194305 "$target" x "$target" "$other"
check_contains err 'process 4194305: there is no such process'
check_contains err "'x' is not the number"
check_contains err "process $target: it is recorded already"
[ "$(wc -l <err)" -eq 3 ] || { show err; fail "a line for each that cannot be attached to"; }
check_both_recorded
rm -rf t
check_status 2 sonde attach -o t -F '*' 4194305 4194306
[ ! -e t ] || fail "a trace of nobody"

# one of them ends before the others are left
attach_begin -F '*' "$other"
await 20 eval 'grep -qs functions t/process-*/metadata'
echo >&8
wait "$other" || fail "exit status of the other process"
check_contains other.out '^wrong 0, signals missed 0, handler kept, rounds many$'
check_status 0 sonde detach "$target"
attach_end
check_left
check_both_recorded
finish
check_contains target.out '^wrong 0, signals missed 0, handler kept, rounds many$'
