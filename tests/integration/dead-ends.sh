# SPDX-License-Identifier: GPL-3.0-or-later
# Each verb on traces of each kind: one that finds nothing of what it shows says why, and what shows
# what there is.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >work.c <<-'END'
	#include <pthread.h>
	#include <stdlib.h>
	__attribute__((noinline)) double sum(double *v, int n)
	{
		double s = 0;
		for (int i = 0; i < n; i++)
			s += v[i] = v[i] * 0.5 + i;
		return s;
	}
	__attribute__((noinline)) void *worker(void *v)
	{
		for (int i = 0; i < 10; i++)
			sum(v, 100);
		return v;
	}
	__attribute__((noinline)) void start_all(int n)
	{
		pthread_t t[4];
		for (int i = 0; i < n; i++)
			pthread_create(&t[i], NULL, worker, calloc(100, 8));
		for (int i = 0; i < n; i++)
			pthread_join(t[i], NULL);
	}
	__attribute__((noinline)) void never(void) { for (volatile int i = 0; i < 3; i++) ; }
	int main(int argc, char **argv)
	{
		(void)argv;
		if (argc > 7)
			never();
		start_all(3);
		worker(calloc(100, 8));
		return 0;
	}
END
$CC -g -O1 -fno-inline -o work work.c -lpthread || $CC -g -O1 -o work work.c -lpthread

# A module that keeps no accesses: what it found is shown by the verbs that one tries.
check_status 0 sonde -q -m memprofile -o found -- ./work
grep -q ' sum$' found/memprofile.txt || fail "memprofile found nothing"
for verb in report memory; do
	check_status 0 sonde $verb found
	check_contains out '^what module memprofile found: found/memprofile\.txt$'
	check_contains out ' sum$'
done
check_status 0 sonde graph found
check_contains out 'no calls were recorded'
check_contains out 'found/memprofile\.txt'
for verb in dump replay 'graph --folded' 'report --csv' 'report --json'; do
	# shellcheck disable=SC2086
	check_status 0 sonde $verb found
	check_contains err 'no calls were recorded'
	check_contains err 'found/memprofile\.txt'
done
for verb in 'memory --csv' 'dump --mem'; do
	# shellcheck disable=SC2086
	check_usage_error sonde $verb found
	check_contains err 'no memory accesses.*found/memprofile\.txt'
done
check_status 0 sonde info found
check_contains out '^found +found/memprofile\.txt, by module memprofile$'
printf 'a\033[2Jb\n' >>found/memprofile.txt
check_status 0 sonde memory found
check_contains out '^a\?\[2Jb$'

# Besides other things it is only named.
check_status 0 sonde -q -F sum -m memcount -o both -- ./work
check_status 0 sonde report both
check_contains out ' sum$'
check_contains out '^what module memcount found: both/memcount\.txt$'
check_lacks out '^all '

# Memory accesses alone; calls alone; counted calls alone.
check_status 0 sonde -q --mem=sum -o accesses -- ./work
check_status 0 sonde -q -F sum -o calls -- ./work
check_status 0 sonde -q -F sum --clock=none -o counted -- ./work
for verb in report graph; do
	check_status 0 sonde $verb accesses
	check_contains out "no calls were recorded, but memory accesses: .sonde memory' shows them"
done
for verb in dump replay; do
	check_status 0 sonde $verb accesses
	check_contains err "no calls were recorded, but memory accesses: .sonde memory' shows them"
	check_status 0 sonde $verb counted
	check_contains err "calls were counted, not recorded: .sonde report' shows how many"
	check_status 0 sonde $verb calls
	[ ! -s err ] || { show err; fail "complained of a trace with calls"; }
done
check_status 0 sonde graph counted
check_contains out "calls were counted, not recorded: .sonde report' shows how many"
for trace in calls counted; do
	check_usage_error sonde memory $trace
	check_contains err "no memory accesses were recorded, but calls: .sonde report' shows them"
done

# Nothing at all, and why.
check_status 0 sonde -q -F nosuch -o nothing -- ./work
check_status 0 sonde report nothing
check_contains out 'no calls were recorded: no function was like what was chosen'
check_status 0 sonde info nothing
check_contains out '^chosen by +-F nosuch$'
check_status 0 sonde -q -F _start -o nothing -- ./work
check_status 0 sonde report nothing
check_contains out "no calls were recorded: none of the functions that were chosen can be; .sonde info' says why"
check_status 0 sonde -q -F never -o nothing -- ./work
check_status 0 sonde report nothing
check_contains out 'no calls were recorded: the program did not call the function that was instrumented'
check_status 0 sonde -q -F sum --time=1000s -o nothing -- ./work
check_status 0 sonde report nothing
check_contains out 'no calls were recorded: no call took as long as --time asks for'
check_status 0 sonde -q --mem=never -o nothing -- ./work
check_usage_error sonde memory nothing
check_contains err 'the program did not call the function'
check_status 0 sonde -q -m posixio -o nothing -- ./work
check_status 0 sonde report nothing
check_contains out 'the program called no function that the module wraps'

# No trace; the wrong thing in its place; the wrong order.
check_usage_error sonde report
check_contains err "sonde\.data: no such trace; .sonde -F '\*' PROGRAM' records one"
check_status 0 sonde -q -F main -- ./work
for verb in report graph replay dump memory info; do
	check_usage_error sonde $verb ./work
	check_contains err "work: a program, not a trace; .sonde -F '\*' \./work' records one of it"
	check_usage_error sonde $verb work.c
	check_contains err 'work\.c: not a trace, which is a folder'
	check_usage_error sonde $verb main
	check_contains err 'main: no such trace; if it is a function of sonde\.data: -F main'
done
check_status 127 sonde reprot
check_contains err "reprot: neither a verb nor a program in .PATH; did you mean 'sonde report'\?"
check_status 127 sonde nosuchprogram
check_lacks err 'did you mean'
check_status 0 sonde -o nothing -- ./work
check_contains err "warning: nothing is recorded: -F PATTERN"
check_status 0 sonde report nothing
check_contains out "no calls were recorded: nothing was chosen; .sonde -F '\*' PROGRAM' records calls"
check_status 0 sonde -F main --follow='no*' -o nothing -- ./work
check_contains err "warning: nothing is recorded: no program that was executed is like --follow says"
check_lacks err "-F PATTERN"

# A time in which nothing happened.
for verb in dump replay 'export -f csv' 'export -f chrome'; do
	# shellcheck disable=SC2086
	check_status 0 sonde $verb --from=1000s
	check_contains err 'nothing was recorded from --from to --to'
	# shellcheck disable=SC2086
	check_status 0 sonde $verb --from=1ns
	check_lacks err 'nothing was recorded'
done

# A module is called what the user calls it, also if it was compiled into a cache.
echo 'int none;' >none.c
check_usage_error sonde -m ./none.c -o nothing -- ./work
check_contains err '\./none\.c: not usable as a module: it has no SONDE_MODULE'

# Without symbols there are other names.
$CC -O1 -s -o stripped work.c -lpthread
check_status 0 sonde -F main -o nothing -- ./stripped
check_contains err "-F main: there are no symbols; .sonde list -F '\*'' shows what functions are called"
check_status 2 sonde list ./stripped
check_contains err "sonde list -F '\*'"

# A recorder that was killed: each verb says that the recording has no end.
cat >waits.c <<-'END'
	#include <unistd.h>
	__attribute__((noinline)) int tick(int n) { for (volatile int i = 0; i < 9; i++) n += i; return n; }
	int main(void)
	{
		tick(1);
		write(1, "ready\n", 6);
		sleep(20);
		return 0;
	}
END
$CC -O1 -o waits waits.c
mkfifo fifo
command sonde -q -F '*' --mem -o killed -- ./waits >fifo &
pid=$!
read -r line <fifo
child=$(child_of $pid waits)
recorder=$(child_of $pid sonde)
kill -KILL $pid "$recorder" "$child"
wait $pid 2>/dev/null
for verb in report graph replay dump; do
	check_status 0 sonde $verb killed
	cat out err >both.txt
	check_contains both.txt 'the recording has no end'
done
check_usage_error sonde memory killed
check_contains err 'no memory accesses were recorded: the recording has no end'

# What was left alone: the same number everywhere, by name with -v.
check_status 0 sonde -q --eager -F '*' -o all -- ./work
check_status 0 sonde list -F '*' ./work
read -r usable known <<<"$(sed -n 's|^\./work: \([0-9]*\) of \([0-9]*\) functions can be recorded.*|\1 \2|p' out)"
check_status 0 sonde list ./work
check_contains out "^\./work: modules can wrap [0-9]+ of [0-9]+ functions.*; -F can record $usable of $known without a module\$"
check_status 0 sonde info all
check_contains out "^recorded +$usable functions; $((known - usable)) left alone \(-v: which\):$"
check_lacks out '_start'
check_status 0 sonde info -v all
check_contains out '^ +[0-9]+ not instrumented: does not return like other functions$'
check_contains out '^ +_start$'
check_status 0 sonde -v -F '*' -o all -- ./work
check_contains err 'left alone: _start$'

# Whose paths begin elsewhere than in main().
check_status 0 sonde -q -F 'main,start_all,worker,sum' -o threads -- ./work
check_status 0 sonde graph -a threads
check_contains out '  worker  \(threads 2 to 4, started while thread 1 was in start_all\)$'
check_contains out '  main$'
check_contains out '    worker$'
check_status 0 sonde graph -a --by-thread threads
check_lacks out 'started while'

# One of a kind is not several.
for trace in found both accesses calls nothing all threads; do
	for verb in report graph info; do
		check_status 0 sonde $verb $trace
		check_lacks out '(^|[^0-9.])1 [a-z]*(threads|events|functions|symbols|calls|processes|ranks|paths|places)\b'
	done
done
check_status 0 sonde list -F sum ./work
check_lacks out ' 1 functions'
