# SPDX-License-Identifier: GPL-3.0-or-later
# OpenMP: loops, tasks and nested teams of GNU's runtime, with the pthread module and our own; then the openmp module.
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

OMP_WAIT_POLICY=active same_run -o t -m "$modules/work.c" -- ./team 30000
events t
check_calls $((30000 + 987 + 6)) work

if gcc -O2 -fopenmp -static -o team-static "$top_srcdir/tests/programs/team.c" 2>gcc.err; then
	same_run -o t -m "$modules/work.c" -m pthread -- ./team-static 20000
	events t
	check_calls $((20000 + 987 + 6)) work
fi

# ---- the openmp module ----

program=$top_srcdir/tests/programs/omp_constructs.c
export OMP_CANCELLATION=true
check="python3 $top_srcdir/tests/integration/openmp.py events.json"

gcc -O2 -g -fopenmp -o constructs "$program"
gcc -O0 -s -fopenmp -o constructs-stripped "$program"
for p in constructs constructs-stripped; do
	same_run -o t -m openmp -- ./$p
	events t
	$check || fail "$p: the order of events"
done
# The trace says what each address of code is: here the line of the first loop, and that it is a function of the program.
same_run -o t -m openmp -- ./constructs
line=$(grep -n 'for schedule(static) reduction' "$program" | cut -d: -f1)
grep -q '"type":"code".*"function":"loops._omp_fn.0","file":"[^"]*omp_constructs.c","line":'"$line}" t/metadata ||
	{ grep '"code"' t/metadata | head; fail "no line of the first loop"; }
if gcc -O2 -fopenmp -static -o constructs-static "$program" 2>gcc.err; then
	same_run -o t -m openmp -- ./constructs-static
	events t
	$check || fail "static: the order of events"
fi
# Another runtime in its place counts the same, but for who sees that a loop was cancelled.
libomp=$(ls /usr/lib/llvm-*/lib/libomp.so.5 /usr/lib/x86_64-linux-gnu/libomp.so.5 2>/dev/null | head -1)
counts()
{
	sonde dump --json t | grep -vE '"resumed":1|"followed"' | grep -E '"type":"(enter|point)"' |
		grep -oE '"omp (parallel|implicit task|loop|critical|atomic|lock|lock wait|ordered|section|sections|single|barrier|task create|taskloop|cancel)"' |
		sort | uniq -c
}
if [ -n "$libomp" ]; then
	same_run -o t -m openmp -- ./constructs 3 plain
	counts >libgomp.counts
	(
		export LD_PRELOAD=$libomp
		same_run -o t -m openmp -- ./constructs 3 plain
	) || exit
	counts >libomp.counts
	check_same libgomp.counts libomp.counts "what libomp does"
fi
# What GCC made of regions before 4.9, and locks by Fortran's names
old=$top_srcdir/tests/programs/omp_old.c
check_old()
{
	same_run -o t -m openmp -- ./$1
	events t
	check_calls 9 "omp parallel"
	check_calls 24 "omp implicit task"
	check_calls 6 "omp loop"
	check_calls 30 "omp chunk"
	check_calls 5 "omp section"
	check_calls 15 "omp lock wait"
	check_count 0 'has("orphan\":true") || has("unwound\":true")'
}
gcc -O2 -fopenmp -o old "$old"
check_old old
[ -z "$libomp" ] || (export LD_PRELOAD=$libomp; check_old old) || exit
if gcc -O2 -fopenmp -static -o old-static "$old" 2>gcc.err; then
	check_old old-static
fi
# Clang's programs; one with more variables than registers hold.
if command -v clang >/dev/null && clang -O2 -w -g -fopenmp -o constructs-clang "$program" -latomic 2>clang.err; then
	same_run -o t -m openmp -- ./constructs-clang
	events t
	$check clang || fail "Clang: the order of events"
	# Teams of one thread, which the runtime makes in another way
	same_run -o t -m openmp -- ./constructs-clang 1
	events t
	check_calls 18 "omp parallel"
	check_calls 21 "omp implicit task"
	check_calls 193 "omp task create"
	check_count 0 'has("orphan\":true") || has("unwound\":true")'
	for n in 1 28 29; do
		{
			echo '#include <stdio.h>'
			echo 'int main(void) {'
			seq $n | sed 's/.*/long v& = &;/'
			echo '#pragma omp parallel num_threads(3)'
			echo '{'
			echo '#pragma omp critical'
			echo '{'
			seq $n | sed 's/.*/v& += v1 + &;/'
			echo '} } long s = 0;'
			seq -f 's = s * 3 + v%g;' $n
			echo 'printf("%ld\n", s); }'
		} >many.c
		clang -O1 -w -fwrapv -fopenmp -o many many.c || fail "many.c"
		same_run -o t -m openmp -- ./many
		events t
		check_calls 3 "omp implicit task"
	done
fi
# More threads than processors; with functions recorded as well
same_run -o t -m openmp -F '*_omp_fn*,fib' -- ./constructs 3
events t
check_calls 177 fib
check_calls 54 "omp implicit task"

# ---- report --omp ----

# Figures of a program that sleeps, so that it does not matter how many processors there are: work is never less than what it
# slept, all shares are the team's time, and of a loop whose iterations take longer and longer one half takes more than the other.
cat >sleeps.c <<'EOF'
#include <time.h>
static void nap(long us)
{
	nanosleep(&(struct timespec){ .tv_nsec = us * 1000 }, 0);
}
int main(void)
{
	for (int r = 0; r < 2; r++) {
#pragma omp parallel num_threads(2)
		{
#pragma omp for schedule(dynamic, 2)
			for (int i = 0; i < 40; i++)
				nap(i * 100);
#pragma omp critical
			nap(3000);
		}
#pragma omp parallel num_threads(2)
#pragma omp single
		for (int i = 0; i < 10; i++)
#pragma omp task
			nap(1000);
	}
	return 0;
}
EOF
gcc -O2 -g -fopenmp -o sleeps sleeps.c
same_run -o t -m openmp -- ./sleeps
sonde report --omp --csv t >omp.csv || fail "report --omp --csv"
python3 - <<'EOF' || fail "report --omp"
import csv
rows = list(csv.DictReader(open("omp.csv")))
by = {(r["kind"], r["line"]): {k: float(v) if k.endswith("_ns") or k in ("count", "chunks", "imbalance", "compared", "threads")
                               else v for k, v in r.items()} for r in rows}
assert sorted(by) == [("loop", "9"), ("region", "17"), ("region", "9"), ("task", "20")], sorted(by)
for r in by.values():
    parts = sum(r[k] for k in ("work_ns", "barriers_ns", "locks_ns", "tasks_ns", "idle_ns"))
    assert abs(parts - r["team_ns"]) <= 0.01 * r["team_ns"], r
region, loop, task = by["region", "9"], by["loop", "9"], by["task", "20"]
slept = 2 * sum(range(40)) * 1e5
assert region["count"] == 2 and region["threads"] == 2 and task["count"] == 20 and loop["chunks"] == region["chunks"] == 40
assert loop["work_ns"] >= slept and region["work_ns"] >= slept + 4 * 3e6 and task["work_ns"] >= 20e6
assert by["region", "17"]["work_ns"] >= 20e6, "tasks run at the end of a region are work"
assert region["locks_ns"] > 0 and loop["team_ns"] <= region["team_ns"]
assert loop["compared"] == 2 and loop["static_ns"] >= 0.7 * slept > 0, loop
assert loop["static_ns"] > loop["dynamic_k_ns"] >= 0.5 * slept, loop
EOF
check_status 0 sonde report --omp t
check_contains out '^ +2 +2 .* omp for dynamic,2 sleeps.c:9$'
check_contains out 'dynamic,k'
sonde export -f chrome t >chrome.json || fail "export"
python3 - <<'EOF' || fail "chrome"
import collections, json
names = collections.Counter(e.get("name") for e in json.load(open("chrome.json"))["traceEvents"])
assert names["omp parallel sleeps.c:17"] == 2 and names["omp task sleeps.c:20"] == 20 and names["omp chunk"] == 40, names
EOF
sonde export -f perfetto -o perfetto.bin t && grep -qa 'omp implicit task sleeps.c:9' perfetto.bin || fail "perfetto"
if grep -q '^#define HAVE_OTF2 1' "$top_builddir/config.h" && command -v otf2-print >/dev/null; then
	sonde export -f otf2 -o otf2 t && otf2-print -G otf2/traces.otf2 >otf2.txt || fail "otf2"
	for role in "parallel:PARALLEL" "loop:LOOP" "critical:CRITICAL" "barrier:BARRIER" "task create:TASK_CREATE" "chunk:FUNCTION"; do
		grep -q "^REGION .*\"omp ${role%%:*}\".* Role: ${role#*:}, Paradigm: OPENMP" otf2.txt || fail "otf2: $role"
	done
fi
sonde report --omp --json t | python3 -c 'import json, sys; assert len(json.load(sys.stdin)["rows"]) == 4' || fail "JSON"
check_usage_error sonde report --omp -t 1 t
same_run -o t -m pthread -- ./sleeps
check_usage_error sonde report --omp t

# ---- attach ----

# Attached and detached while tasks are waiting to be run.
cat >forever.c <<'EOF'
#include <stdio.h>
#include <unistd.h>
int main(void)
{
	long n = 0, m = 0;

	for (; access("stop", F_OK) != 0; m++)
#pragma omp parallel num_threads(3)
	{
#pragma omp single
		for (int i = 0; i < 300; i++) {
#pragma omp task firstprivate(i)
			for (int k = 0; k < 100; k++)
#pragma omp atomic
				n += i;
		}
#pragma omp for schedule(dynamic, 3)
		for (int i = 0; i < 100; i++)
#pragma omp atomic
			n += i;
	}
	puts(n == m * (299 * 300 / 2 * 100 + 99 * 100 / 2) ? "right" : "wrong");
}
EOF
gcc -O2 -fopenmp -o forever forever.c
./forever >forever.out &
pid=$!
for i in 1 2 3; do
	rm -rf t
	sonde attach -o t --duration=0.3s -m openmp $pid 2>err || { show err; fail "attach"; }
	[ "$(sonde report --csv t | grep -c '"omp ')" -ge 5 ] || fail "attached: little was recorded"
done
touch stop
wait $pid || fail "exit status $?"
[ "$(cat forever.out)" = right ] || fail "attached: wrong results"
