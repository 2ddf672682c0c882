# SPDX-License-Identifier: GPL-3.0-or-later
# OpenMP: loops, tasks and nested teams of GNU's runtime, with the pthread module and our own.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command gcc

gcc -O2 -fopenmp -o team "$top_srcdir/tests/programs/team.c" 2>gcc.err || skip "gcc has no OpenMP here"
same_run -o t -m "$modules/work.c" -m pthread,memory -- ./team 20000
events t
# the loop; leaves of fib(15); 2 times 3 threads
check_calls $((20000 + 987 + 6)) work
check_calls "$(count 'enter("pthread_create")')" pthread_create
[ "$(count 'enter("pthread_create")')" -ge 3 ] || fail "no threads"
[ "$(grep -c '"type":"thread-end"' t/metadata)" -ge 4 ] || fail "too few threads"

OMP_WAIT_POLICY=active same_run -o t -m "$modules/work.c" -- ./team 100000
events t
check_calls $((100000 + 987 + 6)) work

if gcc -O2 -fopenmp -static -o team-static "$top_srcdir/tests/programs/team.c" 2>gcc.err; then
	same_run -o t -m "$modules/work.c" -m pthread -- ./team-static 20000
	events t
	check_calls $((20000 + 987 + 6)) work
fi
