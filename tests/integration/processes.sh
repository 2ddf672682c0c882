# SPDX-License-Identifier: GPL-3.0-or-later
# A trace of several programs and processes: all of it is shown together, and --process chooses.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

# Both programs have a main() and a work(), which are others.
cat >first.c <<-'END'
	#include <stdlib.h>
	#include <sys/wait.h>
	#include <unistd.h>
	int v[64];
	__attribute__((noinline)) int work(int n)
	{
		int s = 0;
		for (int i = 0; i < n; i++)
			s += v[i % 64] += i;
		return s;
	}
	int main(int argc, char **argv)
	{
		int n = argc > 1 ? atoi(argv[1]) : 0;
		if (argc > 2) {
			if (fork() == 0) {
				work(50);
				_exit(3);
			}
			wait(NULL);
		}
		while (n-- > 0)
			work(100);
		return 0;
	}
END
sed 's/return 0;/return 5;/' first.c >second.c
$CC -g -O1 -o first first.c
$CC -g -O1 -o second second.c

# record FOLDER PROGRAM...: the pid is in $pid.
record()
{
	local folder=$1 status=0
	shift
	sonde -q -o new -F main -F work --mem=work "$@" || status=$?
	[ $status -le 5 ] || fail "exit status $status: $*"
	pid=$(sed -n '1s/.*"pid":\([0-9]*\).*/\1/p' new/metadata) # not that of a child, which may be smaller
	mkdir -p "$(dirname "$folder")"
	mv new "${folder/PID/$pid}"
}

# calls: of all functions in the report out (--csv), sorted: "function file calls".
calls()
{
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ gsub(/"/, ""); sub(/.*\//, "", $at["path"]); print $at["function"], $at["path"], $at["calls"] }' out | sort
}

check_calls_are()
{
	printf '%s\n' "$@" >wanted
	calls >calls
	check_same wanted calls "the calls in the report"
}

record t ./first 3 fork
first=$pid
record t/process-PID ./second 10
second=$pid
record t/process-PID ./first 2
third=$pid
child=$(cd t && echo *.sonde | tr ' ' '\n' | sed 's/\..*//' | grep -vx "$first")
check_status 0 sonde info t
check_contains out '^state +intact$'

# All of it: the same function of the same file is one function, whatever the process.
check_status 0 sonde report --csv t
check_calls_are 'main first 2' 'main second 1' 'work first 6' 'work second 10'
check_status 0 sonde report t
check_contains out ' work \[first\]'
check_contains out ' work \[second\]'
check_status 0 sonde memory --csv t
check_contains out '^"?work"?,.*second'
check_contains out '^"?work"?,.*first'


# The tree of processes; a table for each.
check_status 0 sonde report t
check_contains out "^ *$first .* 8 +exit status 0 +first 3 fork\$"
check_contains out "^ *$child .* 2 +( |exit status 3) +first \(forked\)\$"
check_contains out "^ *$second .* 22 +exit status 5 +second 10\$"
check_contains out '^contents +3 programs, 4 processes, 4 threads, 38 events$'
[ "$(head -1 out)" = "$(head -1 out | grep '^ *process .* program$')" ] || { show out; fail "no tree"; }
check_status 0 sonde report -b process --csv t
check_contains out "^-1,$second,\"second\",\"work\",\"\",function,10,"
check_status 0 sonde report -b thread --csv t
check_contains out "^-1,$child,$child,\"(first)?\",\"first\",\"work\",\"\",function,1,"
check_status 0 sonde report -b process -F main t
check_contains out "^process $third first: "
# A program with children, and no other, is no tree.
check_status 0 sonde report --process="$first,$child" t
check_lacks out '^process'
check_status 0 sonde info t
check_contains out '^programs +3$'
check_contains out '^processes +4$'
check_contains out '^ended +exit status 0$'
check_contains out '^recorded +2 functions of second, memory accesses of 1'
check_contains out "^ *$second .* 22 +exit status 5 +second 10\$"

# What of which: names that both programs have, and whose events and accesses they are.
check_status 0 sonde graph --folded --all t
check_contains out '^main \[first\];work \[first\] '
check_contains out '^main \[second\];work \[second\] '
check_status 0 sonde memory t
check_contains out ' work \[first\]$'
check_contains out ' work \[second\]$'
check_status 0 sonde dump t
check_contains out " $second\.$second +second +enter +work\$"
check_contains out " $child\.$child +first +enter +work\$"
check_status 0 sonde dump --json t
check_contains out "\"pid\":$third,\"tid\":$third,\"number\":1,\"program\":\"first\","
check_status 0 sonde dump --mem t
check_contains out "^$second\.$second second (load|store) "
check_status 0 sonde dump --mem --json t
check_contains out "\"tid\":$second,\"number\":1,\"program\":\"second\",\"size\":4,"
mkdir each
check_status 0 sonde dump --mem -o each t
[ -s each/$first.$first.text ] && [ -s each/program-1.$second.$second.text ] || fail "dump -o: $(ls each)"
check_status 0 sonde replay t
check_contains out "PID\.TID PROGRAM +FUNCTION"
check_contains out " $second\.$second second +work\(\);"
# of one program none of this is said
for verb in dump replay 'dump --mem' 'dump --json'; do
	check_status 0 sonde $verb --process="$first,$child" t
	check_lacks out 'PROGRAM|program|first'
done
check_status 0 sonde graph --folded --all --process="$first,$child" t
check_contains out '^main;work '

# Some of it.
check_status 0 sonde report --csv --process=second t
check_calls_are 'main second 1' 'work second 10'
check_status 0 sonde report --csv --process="$third" t
check_calls_are 'main first 1' 'work first 2'
check_status 0 sonde report --process="$child" t
check_contains out '^contents +1 process, 1 thread, 2 events$'
check_lacks out '^ended'
check_status 0 sonde report --csv --process="$child" t
check_calls_are 'work first 1'
for chosen in "$child,second" "sec*,$child" "second --process=$child"; do
	check_status 0 sonde report --csv --process=$chosen t
	check_calls_are 'main second 1' 'work first 1' 'work second 10'
done

# By every verb that reads a trace.
check_status 0 sonde dump --process="$child" t
check_contains out 'work'
check_lacks out 'main'
check_status 0 sonde dump --mem --process="$child" t
[ "$(cut -d' ' -f1 out | sort -u)" = "$child.$child" ] || { show out; fail "dump --mem shows others"; }
check_status 0 sonde replay --process="$child" t
check_contains out 'work\(\);'
check_lacks out 'main'
check_status 0 sonde graph --all --process=second t
check_contains out '^1 thread: 22 events'
check_status 0 sonde memory --csv --process="$child" t
check_contains out '(^|,)101(,|$)' # a load and a store for each of 50, and the return
check_status 0 sonde memory --process=second t
check_lacks out '\[first\]'
check_status 0 sonde info --process=second t
check_contains out '^processes +1$'
check_contains out '^events +22$'
check_lacks out "code of.*first"

# Times are those since the start of the whole trace.
sonde dump t | awk '/ second / { print $1 }' >all
sonde dump --process=second t | awk '{ print $1 }' >some
[ "$(wc -l <some)" -eq 22 ] || { show some; fail "not 22 events"; }
check_same all some "times since the start"

# What is not there.
for verb in report graph info replay memory dump; do
	check_usage_error sonde $verb --process=secnd t
	check_contains err "no such program in the trace; did you mean 'second'\\?"
	check_usage_error sonde $verb --process=1,x t
	check_usage_error sonde $verb --process=, t
done
check_usage_error sonde report --process=1 t
check_contains err '--process 1: no such process in the trace'
check_usage_error sonde report --process='SEC*' t
check_contains err "did you mean 'second'"
check_status 0 sonde report --csv --process=second,frist t
check_calls_are 'main second 1' 'work second 10'
check_contains err "warning: --process frist: .* did you mean 'first'"

# A rank's programs are in its folder.
mkdir job
mv t job/rank-3
check_status 0 sonde report --csv -r 3 --process=second job
check_calls_are 'main second 1' 'work second 10'
