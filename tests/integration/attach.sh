# SPDX-License-Identifier: GPL-3.0-or-later
# A process that runs is recorded and left, again and again: it does what it would have done, and its code, descriptors,
# and signal handlers are as before each time.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program blocked busy

# Waiting in all kinds of system calls; what each returns.
for program in blocked blocked-static; do
	[ -x "$programs/$program" ] || continue
	start "$programs/$program"
	for _ in 1 2; do
		attach_briefly -F '*'
		check_left
	done
	attach_briefly -F '*' --libs
	check_left
	attach_briefly -F '*' --clock=none
	check_left
	attach_briefly --mem
	check_left
	attach_briefly --mem --libs
	check_left
	finish
	for name in read recv poll ppoll select epoll_wait; do
		check_contains target.out "^$name: 1\$"
	done
	for name in nanosleep futex semaphore semop loop; do
		check_contains target.out "^$name: 0\$"
	done
	check_contains target.out '^sigtimedwait: 10$'
done

# 8 threads and a timer: in functions, in handlers, in the middle of what is patched.
for program in busy busy-static; do
	[ -x "$programs/$program" ] || continue
	start "$programs/$program" 8
	for _ in 1 2 3; do
		attach_briefly -F '*'
		check_left
	done
	# calls whose beginning nobody saw, and those whose end nobody will see, are no damage
	kill -STOP "$target" # the processors are for reading
	sonde info t >info.txt || fail "sonde info"
	check_contains info.txt '^lost +nothing$'
	check_contains info.txt '^state +intact$'
	sonde report t >report.txt || fail "sonde report"
	check_contains report.txt ' mix'
	kill -CONT "$target"
	attach_briefly -F '*' --depth=2
	check_left
	for _ in 1 2; do
		attach_briefly --mem
		check_left
	done
	kill -STOP "$target"
	check_status 0 sonde info t
	check_contains out '^lost +nothing$'
	check_contains out '^state +intact$'
	check_status 0 sonde memory t
	check_contains out ' mix( |$)'
	kill -CONT "$target"
	attach_briefly -q -F 'd*' --mem='l*,m*' --sample=burst:1ms,every:3ms
	check_left
	finish
	check_contains target.out '^wrong 0, signals missed 0, handler kept, rounds many$'
done

# It ends by itself, by `sonde detach', by Ctrl-C, with the program.
start "$programs/busy" 2
for how in detach INT TERM; do
	attach_begin -F '*'
	[ "$how" = detach ] || kill -"$how" "$attached"
	[ "$how" != detach ] || check_status 0 sonde detach "$target"
	attach_end
	check_left
	sonde info t >info.txt || fail "no trace after $how"
	check_contains info.txt 'went on without Sonde'
done
attach_begin -F '*'
finish
attach_end
sonde info t >info.txt || fail "no trace of a process that has ended"
check_contains info.txt '^state +intact'
