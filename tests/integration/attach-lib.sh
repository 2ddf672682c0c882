# SPDX-License-Identifier: GPL-3.0-or-later
# For tests of `sonde attach`, after lib.sh: one target at a time.

# need_attach: skip where processes that are not our children cannot be traced.
need_attach()
{
	need_ptrace
	[ "$(id -u)" -eq 0 ] || [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" -eq 0 ] ||
		skip "kernel.yama.ptrace_scope forbids it"
}

# code_of PID: its executable pages that come from files, as they are in memory.
code_of()
{
	local range perms rest first last
	while read -r range perms rest; do
		[[ $perms == *x* && $rest == */* && $rest != *memfd* ]] || continue
		first=$((16#${range%-*} / 4096)) last=$((16#${range#*-} / 4096))
		echo "$range"
		dd if="/proc/$1/mem" bs=4096 skip=$first count=$((last - first)) iflag=fullblock status=none ||
			fail "the code of process $1 cannot be read"
	done < <(cat "/proc/$1/maps") # at once: it changes all the time
}

# start COMMAND...: the target; it has said "ready", and ends when finish lets it.
start()
{
	rm -f target.in target.out
	mkfifo target.in
	"$@" <target.in >target.out 2>target.err &
	target=$!
	exec 9>target.in
	await 20 grep -qs ready target.out
	note_target
}

# is_settled: its code is as it was a moment ago; what is mapped changes as long as it starts.
is_settled()
{
	code_of "$target" | cksum >code.settled
	cmp -s code.settled code.before && return
	mv code.settled code.before
	return 1
}

# start_python3: three threads that compute and check; its last word is "right".
start_python3()
{
	start /usr/bin/python3 -u -c '
import sys, threading
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
over = False
def run(sums):
    while not over: sums.append(fib(12) == 144 and sorted(str(i) for i in range(50))[3] == "11")
all = [[] for _ in range(3)]
threads = [threading.Thread(target=run, args=(s,)) for s in all]
for t in threads: t.start()
print("ready")
sys.stdin.readline()
over = True
for t in threads: t.join()
print("right" if all and min(min(s) for s in all) else "wrong")
'
}

# note_target: how it is before anything is done to it.
note_target()
{
	rm -f code.before
	await 20 is_settled
	find "/proc/$target/fd" -type l | wc -l >fds.before
	grep -E '^Sig(Cgt|Ign)' "/proc/$target/status" >signals.before
}

# check_code: that of the target is as before.
check_code()
{
	kill -0 "$target" || { show target.out target.err; fail "the target has ended"; }
	code_of "$target" | cksum >code.after
	check_same code.before code.after "the code of the target"
}

# check_left: nothing of ours is in the target any more.
check_left()
{
	check_code
	find "/proc/$target/fd" -type l | wc -l >fds.after
	check_same fds.before fds.after "the number of descriptors"
	grep -E '^Sig(Cgt|Ign)' "/proc/$target/status" >signals.after
	check_same signals.before signals.after "the set of signals that are handled"
	! grep memfd:sonde "/proc/$target/maps" || fail "something of ours is mapped"
}

# finish: the target may end, and does so with status 0.
finish()
{
	local status=0
	echo >&9
	exec 9>&-
	wait "$target" || status=$?
	[ "$status" -eq 0 ] || { show target.out target.err; fail "exit status $status of the target"; }
	[ ! -s target.err ] || { show target.err; fail "messages of the target"; }
}

# attach_briefly OPTION...: records it into t for a moment.
attach_briefly()
{
	local status=0
	rm -rf t
	sonde attach -o t "$@" --duration=20ms "$target" >attach.out 2>attach.err || status=$?
	[ "$status" -eq 0 ] || { show attach.out attach.err; fail "exit status $status of sonde attach $*"; }
	[ ! -s attach.err ] || { show attach.err; fail "messages of sonde attach $*"; }
}

# attach_begin OPTION...: records it until something ends that; $attached is the recorder.
attach_begin()
{
	rm -rf t attach.err # what an earlier one has said
	command sonde attach -v -o t "$@" "$target" >attach.out 2>attach.err &
	attached=$!
	await 20 grep -qs 'attached:' attach.err
}

attach_end()
{
	local status=0
	wait "$attached" || status=$?
	[ "$status" -eq 0 ] || { show attach.out attach.err; fail "exit status $status of sonde attach"; }
}
