# SPDX-License-Identifier: GPL-3.0-or-later
# --counters: page faults are those that a function makes, samples of the task clock are about what it computed; what cannot be counted
# is left out, after a line.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command jq

cat >faults.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGES 300

__attribute__((noinline)) void touch(volatile char *p)
{
	for (int i = 0; i < PAGES; i++)
		p[4096 * i] = 1;
}

__attribute__((noinline)) void again(volatile char *p)
{
	for (int i = 0; i < PAGES; i++)
		p[4096 * i] = 2;
}

__attribute__((noinline)) void burn(void)
{
	struct timespec t;

	do {
		for (volatile int i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < 200000000);
}

int main(void)
{
	char *p = mmap(NULL, 4096 * PAGES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, 4096 * PAGES, MADV_NOHUGEPAGE);
	touch(p);
	again(p);
	burn();
	if (fork() == 0) {
		again(p); /* copies each page */
		_exit(0);
	}
	wait(NULL);
	puts("done");
	return 5;
}
END
"$CC" -O1 -g -o faults faults.c || fail "$CC"

# counted COUNTER FUNCTION
counted()
{
	jq -r "[.tables[].functions[] | select(.function == \"$2\") | .counters.\"$1\"] | add" out
}

"${limit[@]}" sonde -F touch,again,burn --counters=page-faults,task-clock -o t -- ./faults >out 2>err
! grep -q -- '--counters:.*not' err || skip "this system does not count page faults"

same_run -F touch,again,burn --counters=page-faults,task-clock --eager -o t -- ./faults
events t
check_status 0 sonde report --json t
# the child copies what it writes to, and its parent does not
n=$(counted page-faults touch)
[ "$n" -ge 300 ] && [ "$n" -le 320 ] || { show out; fail "$n page faults in touch"; }
n=$(counted page-faults again)
[ "$n" -ge 300 ] && [ "$n" -le 320 ] || { show out; fail "$n page faults in again"; }
n=$(counted task-clock burn)
[ "$n" -ge 50000000 ] || { show out; fail "task-clock: $n ns in burn"; }
[ "$(jq '[.tables[].functions[].blocked_ns] | add' out)" = 0 ] || fail "blocked without --blocked"
check_status 0 sonde report -b process t
check_contains out 'task-clock +page-faults'
check_contains out '~[0-9.]+ ms .* burn$'
check_lacks out 'blocked'
check_status 0 sonde report --csv t
check_contains out 'preempted_ns,task-clock,page-faults'

# hardware counters: they are there, or a line says that they are not, and the rest is
same_run -q -F touch,again,burn --counters=cycles,page-faults --blocked --eager -o t -- ./faults
check_status 0 sonde report --json t
n=$(counted page-faults touch)
[ "$n" -ge 300 ] && [ "$n" -le 320 ] || { show out; fail "$n page faults in touch, with others"; }
[ "$(jq '[.tables[].functions[].blocked_ns] | add' out)" != null ] || fail "blocked"

cp -r t cut
truncate -s 3000 cut/cpu.switches
check_status 1 sonde report cut

check_usage_error sonde --counters=page-faults,nonsuch -F touch -o t3 -- ./faults
check_contains err "there is no 'nonsuch'"
check_usage_error sonde --counters= -F touch -o t3 -- ./faults
check_usage_error sonde attach --counters=page-faults -F touch $$
