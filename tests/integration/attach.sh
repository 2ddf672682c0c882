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
	for name in nanosleep futex semaphore semop io_uring loop; do
		check_contains target.out "^$name: 0\$"
	done
	check_contains target.out '^sigtimedwait: 10$'
done

# Where a signal waits for a stopped thread to go on, its handler comes first, and then the call that it was stopped in has been interrupted.
cat >woken.c <<'END'
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t ticks;

static void tick(int sig)
{
	ticks += sig == SIGALRM;
}

int main(void)
{
	struct itimerval every = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction a = { .sa_handler = tick };
	struct pollfd line = { .fd = 0, .events = POLLIN };
	struct timespec long_time = { .tv_sec = 60 };
	int slept = 0;

	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &every, NULL);
	puts("ready");
	fflush(stdout);
	do
		slept += nanosleep(&long_time, NULL) == 0 || errno != EINTR;
	while (poll(&line, 1, 60000) < 0 && errno == EINTR);
	printf("slept %d times, %d\n", slept, ticks > 10);
	return 0;
}
END
"$CC" -O2 -o woken woken.c || fail "$CC"
start ./woken
for options in --mem -F --mem -F; do
	[ $options = -F ] && options='-F *'
	set -f
	attach_briefly $options --libs
	set +f
	check_left
done
finish
check_contains target.out '^slept 0 times, 1$'

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
