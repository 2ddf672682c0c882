# SPDX-License-Identifier: GPL-3.0-or-later
# Modules that take memory accesses: what they are given is what the trace holds.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ends threads forks

# accesses DIR: those in the trace, one a line, go to accesses.txt.
accesses()
{
	sonde dump --mem "$1" >accesses.txt 2>dump.err || { show dump.err; fail "sonde dump --mem $1"; }
	[ ! -s dump.err ] || { show dump.err; fail "sonde dump --mem $1 complains"; }
}

# counted FILE: in the order of memcount's table: loads, stores, modifies, prefetches, all, bytes.
counted()
{
	awk '$1 == "all" { print $2, $3, $4, $5, $6, $7 }' "$1"
}

dumped()
{
	awk '{ n[$2]++; bytes += $3; all++ }
	     END { print n["load"] + 0, n["store"] + 0, n["modify"] + 0, n["prefetch"] + 0, all + 0, bytes + 0 }' accesses.txt
}

# check_counts PROGRAM...: memcount counts what memtrace keeps, in all and by thread.
check_counts()
{
	rm -rf t
	same_run -q --no-follow -o t -m memcount,memtrace -- "$@"
	accesses t
	[ "$(dumped)" = "$(counted t/memcount.txt)" ] || {
		show t/memcount.txt
		fail "$*: $(dumped) in the trace, $(counted t/memcount.txt) counted"
	}
	[ "$(wc -l <accesses.txt)" -ge 100 ] || fail "$*: hardly any accesses"
	awk '{ sub(/.*\./, "", $1); n[$1]++ } END { for (tid in n) print tid, n[tid] }' accesses.txt | sort >by-dump
	# the name may be empty, or have blanks
	awk 'NR > 1 && $1 != "all" && !/missing/ { print $(NF - 6), $(NF - 1) }' t/memcount.txt | sort >by-count
	check_lacks t/memcount.txt missing
	check_same by-dump by-count "accesses by thread of $*"
}
check_counts "$programs/ends" 1000 return
check_counts "$programs/ends" 1000 exit
check_counts "$programs/threads" 4 3 200
check_counts "$programs/forks" 7
for program in ends-static ends-musl; do
	[ -x "$programs/$program" ] && check_counts "$programs/$program" 1000 return
done

# Alone it keeps nothing, its table is in the trace, and reports show the sums.  It is printed on a terminal only.
rm -rf t
LC_ALL=C script -qec "sonde -o t -m memcount -- '$programs/ends' 1000 return" typescript </dev/null >/dev/null
tr -d '\r' <typescript | grep -A 20 '^thread ' | grep -v '^Script' | sed '/^$/d' >printed
check_same printed t/memcount.txt "the table"
rm -rf t
check_status 3 sonde -o t -m memcount -- "$programs/ends" 1000 return
[ ! -s err ] || fail "standard error is no terminal, and is written to"
check_contains t/memcount.txt '^all +[1-9]'
check_status 0 sonde memory t
sed 1d out >shown # what it is
check_same shown t/memcount.txt "the table that is shown"
for format in csv json; do
	check_usage_error sonde memory --$format t
	check_contains err 'they went to modules; what one found is in t/memcount.txt$'
done
check_usage_error sonde dump --mem t
for file in t/*.memory; do
	[ ! -e "$file" ] || fail "$file was written"
done
sonde report --csv t >report.csv || fail "sonde report"
set -- $(counted t/memcount.txt)
[ "$1" -gt 1000 ] || fail "$1 loads"
check_contains report.csv "loads.*[^0-9]$1([^0-9]|\$)"
check_contains report.csv "stores.*[^0-9]$2([^0-9]|\$)"

# Those of some functions alone.
rm -rf u
check_status 3 sonde -q -o u --mem=work -m memcount -- "$programs/ends" 1000 return
set -- "$5" $(counted u/memcount.txt)
[ "$6" -ge 1000 ] && [ "$6" -lt "$1" ] || fail "$6 accesses of work() among $1"

# A module of the user's own, with a wrapper besides; it is given what is in the trace, too.
rm -rf t
same_run -q -o t -m "$modules/sizes.c,memtrace" -- "$programs/ends" 1000 return
accesses t
check_contains t/sizes.txt '^calls 0$'
check_contains t/metadata '"type":"thread-end".*"counters":\[\[[0-9]+,1000\]'
awk '{ n[$1]++; bytes[$1] += $3; if ($5 == "stack") stack[$1]++ }
     END { for (t in n) print t, n[t], "accesses", bytes[t], "bytes", stack[t] + 0, "stack 0 odd" }' accesses.txt >by-dump
grep -v calls t/sizes.txt | sed 's/ odd .*/ odd/' >by-module
check_same by-dump by-module "what sizes was given"
check_contains t/sizes.txt ' odd [1-9][0-9]* instructions 0 gaps$'

# Several at once: all are given all.
rm -rf t
same_run -q -o t -m "$modules/sizes.c,memcount" -- "$programs/threads" 4 3 200
set -- $(counted t/memcount.txt)
[ "$(awk '/accesses/ { n += $2; bytes += $4 } END { print n, bytes }' t/sizes.txt)" = "$5 $6" ] ||
	fail "sizes and memcount were given different accesses"

# A profile without a trace is that of the trace.
rm -rf t
same_run -q -o t -m memprofile,memtrace -- "$programs/threads" 4 3 200
{ sonde memory -n 30 t && echo && sonde memory -n 30 -b loop t; } >profile.txt || fail "sonde memory"
check_same profile.txt t/memprofile.txt "the profile"
rm -rf t
check_status 3 sonde -o t -m memprofile -- "$programs/ends" 1000 return
check_contains t/memprofile.txt '^ +[1-9].* main$'
check_status 0 sonde memory t
sed -i '1d' out # what it is
check_same out t/memprofile.txt "the profile that is shown"
check_usage_error sonde memory --csv t
check_usage_error sonde dump --mem t
check_status 0 sonde info t

# Caches without a trace are those of the trace.
rm -rf t
same_run -q -o t -m cachesim,memtrace --system=opteron --system=xeon-x5550 -- "$programs/threads" 4 3 200
{ sonde cache --system=opteron --system=xeon-x5550 -n 30 t && echo &&
	sonde cache --system=opteron --system=xeon-x5550 -n 30 -b loop t; } >caches.txt || fail "sonde cache"
check_same caches.txt t/cachesim.txt "the caches"
rm -rf t
same_run -q -o t -m cachesim,memtrace --system=opteron --sets=1/4 --workers=3 -- "$programs/threads" 4 3 200
{ sonde cache --system=opteron --sets=1/4 --workers=1 -n 30 t && echo && sonde cache --system=opteron --sets=1/4 -n 30 -b loop t; } >caches.txt ||
	fail "sonde cache --sets"
check_contains caches.txt 'one in 4 sets is simulated'
check_same caches.txt t/cachesim.txt "one in 4 sets"
rm -rf t
check_status 3 sonde -o t -m cachesim --system=opteron -- "$programs/ends" 1000 return
check_contains t/cachesim.txt '^system      opteron'
rm -rf t
check_usage_error sonde -o t -m memcount --system=opteron -- true
check_contains err '^sonde: --system is for a module that simulates caches'
check_usage_error sonde -o t -m memcount --sets=1/4 -- true
check_contains err '^sonde: --sets is for a module that simulates caches'
check_usage_error sonde -o t -m cachesim --sets=1/3 -- true
check_contains err 'sets=1/3: 1/2, 1/4'
check_usage_error sonde -o t -m cachesim --system=nothing -- true
check_contains err 'neither a system'

# The end of a program that is killed: what is there is in the trace.
rm -rf t
check_status 137 sonde -o t -m memcount -- "$programs/ends" 1000 tkill
check_contains t/memcount.txt '^all '

# Loops that never end, and need no words: of a thread when main() returns, of a child that is killed.
cat >spins.c <<'X'
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int v[1024];

static void *spin(void *p)
{
	for (unsigned i = 0;; i++) {
		v[i & 1023]++;
		__asm__ volatile("" ::: "memory");
	}
	return p;
}

/* Dies of the timer when it has had 50 ms; its end is looked at every half second. */
static void spin_in_child(void)
{
	struct itimerval timer = { .it_value.tv_usec = 20000 };
	siginfo_t info;

	if (fork() == 0) {
		setitimer(ITIMER_VIRTUAL, &timer, NULL);
		spin(NULL);
	}
	waitid(P_ALL, 0, &info, WEXITED | WNOWAIT);
	usleep(700000);
	wait(NULL);
}

static void spin_in_thread(void)
{
	struct timespec used = { 0 };
	pthread_t thread;
	clockid_t clock;

	pthread_create(&thread, NULL, spin, NULL);
	pthread_getcpuclockid(thread, &clock);
	while (used.tv_sec == 0 && used.tv_nsec < 20000000) {
		usleep(10000);
		clock_gettime(clock, &used);
	}
}

int main(int argc, char **argv)
{
	(void)argv;
	if (argc > 1)
		spin_in_child();
	else
		spin_in_thread();
	return 0;
}
X
"$CC" -O2 -o spins spins.c -pthread || fail "$CC"
for how in '' child; do
	for module in memcount "$modules/sizes.c"; do
		rm -rf t
		check_status 0 sonde -q -o t -m "$module" -- ./spins $how
		cat t/*.txt >table
		check_contains table '(^| )[0-9]{5,} accesses|^all .* [0-9]{5,}$'
	done
done
check_contains t/metadata '"type":"process-end".*"signal":26'

# Chunks that are lost, and such as begin anew: both miss the same.
cat >gathers.c <<'X'
#include <stdlib.h>

static int from[100000], sum[64];

int main(int argc, char **argv)
{
	for (int i = 0; i < 100000; i++)
		from[i] = rand() & 63;
	for (int k = 0; k < atoi(argv[argc - 1]); k++)
		for (int i = 0; i < 100000; i++)
			sum[from[i]]++;
	return sum[0] == 1;
}
X
"$CC" -O2 -o gathers gathers.c || fail "$CC"
for options in "--overflow=drop --mem-buffer=256K" "--sample=burst:1ms,every:10ms"; do
	rm -rf t
	check_status 0 sonde -q --mem $options -o t -m memcount,memtrace -- ./gathers 20
	sonde dump --mem t 2>/dev/null | grep -v ' off' >accesses.txt
	[ "$(dumped)" = "$(counted t/memcount.txt)" ] || {
		show t/memcount.txt
		fail "$options: $(dumped) in the trace, $(counted t/memcount.txt) counted"
	}
done

# Listed as what they are.
check_status 0 sonde module list memcount
check_contains out 'memcount .*; memory accesses$'
check_status 0 sonde module list "$modules/sizes.c"
check_contains out '; 1 function, memory accesses$'

# What cannot be loaded into Sonde: one line, before anything runs.
rm -rf t
check_status 2 sonde -o t -m "$modules/unlinked.c" -- "$programs/ends" 10 return
[ "$(wc -l <err)" -eq 1 ] || { show err; fail "not one line"; }
check_contains err 'unlinked.*sonde_test_nowhere'
[ ! -e t ] || fail "a trace was made"

# Such a module is as good as --mem for other options; others are not.
rm -rf t
check_status 3 sonde -q -o t -m memcount --libs=libc --mem-stack=no --mem-buffer=256K -- "$programs/ends" 10 return
sonde info t >info
check_contains info '^chosen by  *--libs=libc$'
check_contains info '^ *--mem=[*]$'
for option in --libs --mem-stack=no --mem-buffer=1M --overhead=5; do
	check_usage_error sonde -o t -m "$modules/work.c" $option -- "$programs/ends" 10 return
done

# A module's fault ends the recording, not the program; whose fault it was is told.
cat >faults.c <<'X'
#include <sonde/module.h>
SONDE_MODULE("faults", "dereferences a null pointer");
SONDE_ON_MEMORY(batch)
{
	*(volatile int *)batch->thread->data = 1;
}
X
plain=0
"$programs/ends" 1000 return >plain.out || plain=$?
rm -rf t
sonde -o t -m ./faults.c -- "$programs/ends" 1000 return >out 2>err && fail "the fault was not noticed"
await 10 cmp -s plain.out out
check_contains err '^sonde: module faults: Segmentation fault .* the program goes on$'
sonde info t >info
check_contains info '^state  *unfinished$'
