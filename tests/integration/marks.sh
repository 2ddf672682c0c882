# SPDX-License-Identifier: GPL-3.0-or-later
# Phases and counters that a program marks by sonde/mark.h and mark.f90: nothing without Sonde; with it they are what `report --phase'
# shows, and a phase's functions are those that were called in it.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command jq
api=$top_srcdir/modules/include

cat >marked.c <<'END'
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <sonde/mark.h>

#ifdef __cplusplus
extern "C"
#endif
void other_file(void);

__attribute__((noinline)) static double work(int n)
{
	volatile double sum = 0;

	for (int i = 0; i < n; i++)
		sum = sum + sqrt(i);
	return sum;
}

static void *thread(void *arg)
{
	if (arg)
		sonde_phase_begin("own");
	for (int i = 0; i < 7; i++)
		work(1000);
	if (arg)
		sonde_phase_end("own");
	return NULL;
}

static void run_thread(void *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, thread, arg);
	pthread_join(t, NULL);
}

int main(void)
{
	double sum = work(10);

	sonde_phase_begin("setup");
	sum += work(1000);
	sonde_phase_end("setup");
	for (int step = 0; step < 4; step++) {
		sonde_phase_begin("step");
		sum += work(1000);
		sonde_phase_begin("solve");
		for (int i = 0; i < 5; i++)
			sum += work(1000);
		sonde_counter("residual", 1.0 / (1 << step));
		sonde_phase_end("solve");
		sonde_phase_end("step");
	}
	sonde_phase_end("nothing");
	sonde_phase_begin("threads");
	run_thread(NULL);
	run_thread(&sum);
	sonde_phase_end("threads");
	sonde_phase_begin("outer");
	sonde_phase_begin("solve"); /* ends with the outer one */
	sum += work(1000);
	sonde_phase_end("outer");
	other_file();
	sonde_phase_begin("rest"); /* never ends */
	printf("%.3f\n", sum);
	return 3;
}
END
cat >other.c <<'END'
#include <sonde/mark.h>
#ifdef __cplusplus
extern "C"
#endif
void other_file(void)
{
#ifdef __cplusplus
	sonde::phase now("other");
#else
	sonde_phase_begin("other");
	sonde_phase_end("other");
#endif
}
END

# phases: count, threads and name of each phase, by name
phases()
{
	check_status 0 sonde report --phase --json t
	jq -r '.rows[] | select(.type == "phase") | "\(.depth) \(.name) \(.count) \(.threads) \(.open)"' out | sort >phases
}

cat >wanted <<'END'
0 other 1 1 0
0 outer 1 1 0
0 own 1 1 0
0 rest 1 1 1
0 setup 1 1 0
0 step 4 1 0
0 threads 1 1 0
1 solve 1 1 0
1 solve 4 1 0
END

# calls PHASE: of work(), and all self times of that phase are its time
calls()
{
	check_status 0 sonde report --raw --phase="$1" --json t
	jq -r '.tables[0].functions[] | select(.function == "work") | .calls' out >calls
	[ "$(cat calls)" = "$2" ] || fail "$(cat calls) calls of work in $1 instead of $2"
}

variants=0
variant()
{
	local name=$1
	shift
	"$@" -I"$api" -o "$name" -lm -pthread 2>compile.err || { show compile.err; return; }
	[ ! -s compile.err ] || { show compile.err; fail "$name: warnings"; }
	variants=$((variants + 1))
	same_run -q -m mark -F work,main -o t -- "./$name"
	phases
	check_same wanted phases "phases of $name"
}
ulimit -c 0
warn="-Wall -Wextra -Wpedantic -Werror"
variant c0 "$CC" $warn -g -O0 marked.c other.c
variant c2 "$CC" $warn -g -O2 marked.c other.c
calls setup 1
calls step 24
calls step/solve 20
calls solve 21
calls outer/solve 1
calls own 7
calls threads 7
calls 's*' 26

# what is in a phase has its time, to the last thread: that of the calls that were open before, too
check_status 0 sonde report --raw --phase=step --json t
jq -e '.tables[0] | .time_ns as $t | [.functions[].self_ns] | add | . <= $t + 20 and . >= $t - 20' out >/dev/null ||
	{ show out; fail "self times do not add up to the phase's"; }
jq -e '.tables[0].functions[] | select(.function == "main") | .calls == 0 and .total_ns > 0' out >/dev/null || fail "main is not in the phase"
step=$(jq .tables[0].time_ns out)
check_status 0 sonde report --phase --json t
[ "$(jq '.rows[] | select(.name == "step") | .total_ns' out)" = "$step" ] || fail "step does not take as long in both reports"
jq -e '.rows[] | select(.type == "counter") | .name == "residual" and .count == 4 and .last == 0.125 and .sum == 1.875 and
	.least == 0.125 and .most == 1' out >/dev/null || fail "the counter"
jq -e '.strays == 1 and .left_out == 0 and .lost == 0' out >/dev/null || fail "strays"

check_status 0 sonde report --phase t
check_contains out ' step$'
check_contains out '   solve$'
check_contains out ' rest  \(1 open\)$'
check_contains out '^ +4 +1 +0.125 +0.46875 +0.125 +1  residual$'
check_status 0 sonde report --phase --csv t
check_contains out '^phase,"solve","step/solve",4,1,0,'
check_status 0 sonde report --phase=solve t
check_contains out '^phase +solve: 5 times'
check_usage_error sonde report --phase=nonsuch t
check_contains err "no phase 'nonsuch'"
check_usage_error sonde report --phase -s self t
check_usage_error sonde report --phase --mpi t
check_usage_error sonde report --phase=a --phase=b t

# stripped, static, with another compiler, as C++, linked at once
variant stripped "$CC" -O2 -s marked.c other.c
variant static "$CC" -O2 -static marked.c other.c
variant static-stripped "$CC" -O2 -static -s marked.c other.c
variant lto "$CC" -O3 -flto marked.c other.c
command -v clang >/dev/null && variant clang clang $warn -O2 marked.c other.c
command -v g++ >/dev/null && variant cxx g++ -Wall -Wextra -Werror -x c++ -O2 marked.c other.c
command -v clang++ >/dev/null && variant clangxx clang++ -Wall -Wextra -Werror -x c++ -O0 marked.c other.c
[ $variants -ge 2 ] || fail "nothing could be compiled"

# without marks
check_status 3 sonde -q -F main -o none -- ./c2
check_usage_error sonde report --phase none
check_contains err 'has no marks'

command -v gfortran >/dev/null || exit 0
cat >marked.f90 <<'END'
program marked
  use sonde_mark
  implicit none
  integer :: step
  character(len=20) :: name

  name = "in a variable"
  call sonde_phase_begin("run")
  do step = 1, 3
    call sonde_phase_begin(name)
    call sonde_counter("step", real(step, kind(1d0)))
    call sonde_phase_end(name)
  end do
  call sonde_phase_end("run")
  print '(i0)', step
end program
END
printf '%s\n' '0 run 1 1 0' '1 in a variable 3 1 0' | sort >wanted
for level in -O0 -O3; do
	gfortran -Wall -Wextra -Werror $level -o fortran "$api/sonde/mark.f90" marked.f90 2>err || { show err; skip "gfortran does not work"; }
	same_run -q -m mark -o t -- ./fortran
	phases
	check_same wanted phases "phases of Fortran $level"
done
