# SPDX-License-Identifier: GPL-3.0-or-later
# Processes that cannot be attached to: one line that says why, exit status 2, no trace, and they go on.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program busy gsbase

# refused REASON PID...
refused()
{
	local reason=$1
	shift
	check_usage_error sonde attach -F '*' -o refused "$@"
	check_contains err "$reason"
	[ ! -e refused ] || fail "a trace of a process that was not attached to"
}

check_usage_error sonde attach
check_usage_error sonde attach -F '*'
check_usage_error sonde attach 1
check_contains err 'nothing is to be recorded'
check_usage_error sonde detach
check_usage_error sonde detach x
refused 'not the number of a process' name
refused 'not the number of a process' -- -5
refused 'no such process' 4194305
check_usage_error sonde detach 4194305

# a zombie: its parent does not wait
bash -c 'sleep 0.2 & echo $!; exec sleep 100' >zombie.pid &
parent=$!
await 20 test -s zombie.pid
read -r zombie <zombie.pid
await 20 grep -qs 'State:.Z' "/proc/$zombie/status"
refused 'ended already' "$zombie"
kill "$parent"

start "$programs/busy" 2
# some of its threads end at once
ls "/proc/$target/task" | sort >tasks
sleep 0.1
tid=$(ls "/proc/$target/task" | sort | comm -12 tasks - | grep -vx "$target" | head -n 1)
[ -n "$tid" ] || fail "no thread of process $target stays"
refused "a thread of process $target" "$tid"

kill -STOP "$target"
await 20 grep -q 'State:.T' "/proc/$target/status"
refused 'is stopped' "$target"
kill -CONT "$target"

if command -v strace >/dev/null; then
	strace -qq -e trace=none -o /dev/null -p "$target" &
	strace=$!
	await 20 grep -q "TracerPid:.$strace" "/proc/$target/status"
	refused "process $strace traces it already" "$target"
	kill "$strace"
	wait "$strace"
fi

check_usage_error sonde detach "$target"
check_contains err 'not recorded by'
attach_begin -F '*'
refused 'recorded already' "$target"
check_status 0 sonde detach "$target"
attach_end
check_left
finish
check_contains target.out '^wrong 0'

# The end of a process that sonde itself has started is its own.
command sonde -F work -o own -- sleep 100 2>/dev/null &
own=$!
sleeper=$(child_of "$own" sleep)
await 20 test -e own/metadata
await 20 grep -q "TracerPid:.0$" "/proc/$sleeper/status"
refused 'recorded already' "$sleeper"
check_usage_error sonde detach "$sleeper"
kill "$sleeper"
wait "$own"

# kernel threads, other users
if [ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ]; then
	[ "$(id -u)" -ne 0 ] || refused 'thread of the kernel' 2
fi
[ "$(id -u)" -eq 0 ] || refused 'another user|thread of the kernel' 1

# a seccomp filter, here one that allows everything; no rights are needed to have one
if command -v python3 >/dev/null; then
	cat >filtered.py <<-'END'
		import ctypes, struct, time
		allow = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
		program = struct.pack("HxxxxxxQ", 1, ctypes.addressof(allow))
		prctl = ctypes.CDLL(None, use_errno=True).prctl
		if prctl(38, 1, 0, 0, 0) == 0 and prctl(22, 2, program, 0, 0) == 0:
		    print("ready", flush=True)
		    time.sleep(100)
		print("none", flush=True)
	END
	python3 filtered.py >filtered.out 2>&1 &
	filtered=$!
	await 20 test -s filtered.out
	if grep -q '^Seccomp:.2$' "/proc/$filtered/status"; then
		refused 'seccomp filter' "$filtered"
		kill -0 "$filtered" || fail "the process with a seccomp filter has ended"
	fi
	kill "$filtered" 2>/dev/null
fi

# the GS base in use
"$programs/gsbase" 2000000000 >gsbase.out 2>&1 &
user=$!
# well in its loop
await 20 eval '[ "$(cut -d" " -f14 "/proc/$user/stat")" -gt 3 ]'
refused 'GS register' "$user"
kill "$user"
