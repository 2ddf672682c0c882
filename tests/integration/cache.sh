# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde cache': misses of a program that are known; rows, systems, files that describe them, and what is wrong with those.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3

cat >streams.c <<'E2'
#include <stdio.h>
#include <stdlib.h>
#define LINES 1000
struct line { long v[8]; };
__attribute__((noinline, noclone)) void write_once(volatile struct line *a)
{
	for (int i = 0; i < LINES; i++)
		a[i].v[0] = i;
}
__attribute__((noinline, noclone)) long read_again(volatile struct line *a, int times)
{
	long sum = 0;
	for (int t = 0; t < times; t++)
		for (int i = 0; i < LINES; i++)
			sum += a[i].v[1];
	return sum;
}
int main(void)
{
	struct line *a = aligned_alloc(4096, 64 * 1024);
	write_once(a);
	printf("%d\n", read_again(a, 5) >= 0);
	return 0;
}
E2
sed -i 's/^	write_once(a);/	for (int i = 0; i < LINES; i++)\n		a[i].v[1] = 0;\n&/' streams.c
"$CC" -O1 -g -o streams streams.c || fail "$CC"
same_run --mem='write_once,read_again' -o t -- "$PWD/streams"

cat >small.yaml <<'E2'
name: small
about: less than the array
caches:
  - { name: L1, size: 32K, ways: full, line: 64 }
  - { name: L2, size: 64K, ways: full, line: 64 }
tlbs:
  - { name: TLB, entries: 16, ways: full, page: 4K }
---
name: through
caches:
  - { name: C, size: 64K, ways: full, line: 64, write: through }
E2

# level NAME SYSTEM LEVEL COLUMN...: figures of a row, from the file csv
level()
{
	python3 -c "
import csv, sys
for r in csv.DictReader(open('csv')):
    if [r['name'], r['system'], r['level']] == sys.argv[1:4]:
        print(*[r[k] for k in sys.argv[4:]])" "$@"
}

# check_level NAME SYSTEM LEVEL HITS MISSES
check_level()
{
	local got
	got=$(level "$1" "$2" "$3" hits misses)
	[ "$got" = "$4 $5" ] || { show csv; fail "$1 in $3 of $2: '$got' instead of '$4 $5'"; }
}

# ---- what is known ----

check_status 0 sonde cache --no-stack --system=./small.yaml --csv t
mv out csv
# each line of 1000 misses once when it is written, and each time in 512 lines when they are read in turn
check_level write_once small L1 0 1000
check_level write_once small L2 0 1000
check_level read_again small L1 0 5000
check_level read_again small L2 5000 0
check_level write_once small TLB 984 16
check_level read_again small TLB 5000 0
# what was written leaves the first level: but for the 512 that are still there when reading begins
[ "$(level write_once small L1 written)" = 488 ] || { show csv; fail "not 488 lines were written back"; }
[ "$(level read_again small L1 written)" = 512 ] || { show csv; fail "not 512 lines were written back"; }
# stores do not bring lines into a write-through cache
check_level write_once through C 0 1000
[ "$(level write_once through C written)" = 1000 ] || { show csv; fail "not all was written through"; }
check_level read_again through C 4000 1000
[ "$(level read_again through C accesses)" = 5000 ] || { show csv; fail "not 5000 accesses"; }

# ---- why, and how long ----

sed '/^---/,$d; s/64 }/64, latency: 4 }/; s/page: 4K }/page: 4K, latency: 0 }/' small.yaml >slow.yaml
sed -i 's/\(64K.*latency: \)4/\114/; $a memory: 200\nwalk: 30' slow.yaml
check_status 0 sonde cache --no-stack --classify --system=./slow.yaml --csv t
mv out csv
[ "$(level write_once small L1 compulsory capacity conflict cycles)" = "1000 0 0 200480" ] || { show csv; fail "write_once"; }
[ "$(level read_again small L1 compulsory capacity conflict cycles)" = "0 5000 0 70000" ] || { show csv; fail "read_again"; }
check_status 0 sonde cache --no-stack --classify --system=./slow.yaml t
check_contains out 'accesses  *L1 misses  *L1 compulsory  *L1 capacity  *L1 conflict  *L1 writes .* TLB misses  *cycles  *function$'
check_contains out '^ *5000  *5000 \(100.0%\)  *0  *5000  *0 .* 70000  read_again$'
check_status 0 sonde cache --no-stack --classify --system=./slow.yaml --json t
check_contains out '"type":"total","system":"small".*"cycles":270480.*"compulsory":1000,"capacity":5000,"conflict":0'
check_status 0 sonde cache --no-stack --system=./small.yaml --json t
check_lacks out '"cycles"|"conflict"'
# without latencies of TLBs, what these do takes no time
sed '/^walk/d' slow.yaml >caches.yaml
check_status 0 sonde cache --no-stack --system=./caches.yaml --csv t
mv out csv
[ "$(level write_once small L1 cycles)" = 200000 ] || { show csv; fail "cycles without those of TLBs"; }
check_status 0 sonde cache --no-stack --system=epyc-7002 --json t
check_contains out '"type":"total","system":"epyc-7002".*"cycles":[1-9]'
check_status 0 sonde cache --no-stack --system=epyc-7002 t
check_contains out 'L3 16.00 MiB 16-way 64 B lines in 34 cycles, memory in 415 cycles$'

# ---- what is known or guessed of later accesses ----

cat >ahead.yaml <<'E2'
name: opt
caches:
  - { name: L1, size: 32K, ways: full, line: 64, policy: opt }
  - { name: L2, size: 64K, ways: full, line: 64 }
---
name: next-line
caches:
  - { name: L1, size: 32K, ways: full, line: 64, prefetch: next-line }
---
name: stride
caches:
  - { name: L1, size: 32K, ways: full, line: 64, prefetch: stride }
E2
check_status 0 sonde cache --no-stack --system=./ahead.yaml --csv t
mv out csv
# of 1000 lines in turn, 511 stay in 512 until they are read again
check_level write_once opt L1 0 1000
check_level read_again opt L1 2560 2440
[ "$(level read_again opt L2 misses)" = 0 ] || { show csv; fail "what is behind opt"; }
# 16 pages, of which the first may begin in the midst of a row of lines; what is brought is there when it is asked for
check_level write_once next-line L1 500 500
check_level read_again next-line L1 2500 2500
[ "$(level read_again next-line L1 prefetched)" = 2500 ] || { show csv; fail "lines that were prefetched"; }
[ "$(level write_once stride L1 misses)" -le 18 ] || { show csv; fail "write_once with strides"; }
[ "$(level read_again stride L1 misses)" -le 95 ] || { show csv; fail "read_again with strides"; }
check_status 0 sonde cache --system=./ahead.yaml t
check_contains out 'L1 misses  *L1 writes  *L1 prefetched  *function$'
check_contains out 'fully associative 64 B lines with stride prefetching$'
check_status 0 sonde cache --system=./ahead.yaml --json t
check_contains out '"type":"total","system":"stride".*"prefetched":[1-9]'
check_contains out '"prefetch":"next-line"'
check_usage_error sonde cache --system=./ahead.yaml --classify t
check_contains err 'opt has policy opt, which excludes --classify'
check_usage_error sonde -m cachesim --system=./ahead.yaml -o never -- "$PWD/streams"
check_contains err 'opt has policy opt; what will be accessed is known when'
[ ! -e never ] || fail "there is a trace"

# ---- instructions ----

check_status 0 sonde -q --mem='write_once,read_again' --blocks -o b -- "$PWD/streams"
check_status 0 sonde blocks --csv b
mv out counted
check_status 0 sonde cache --no-stack --system=./small.yaml --json b
python3 - out counted <<'E2' || { show out counted; fail "instructions, or misses for each thousand"; }
import csv, json, sys
counted = {r["function"]: int(r["instructions"]) for r in csv.DictReader(open(sys.argv[2]))}
rows = [r for r in map(json.loads, open(sys.argv[1])) if r["type"] != "system"]
assert len(rows) == 6 # of two systems
for r in rows:
    assert r["instructions"] == counted.get(r.get("name"), sum(counted.values())) > r["accesses"]
E2
check_status 0 sonde cache --no-stack --system=./small.yaml b
check_contains out '^accesses +L1 misses +L1 mpki +L1 writes'
python3 - out counted <<'E2' || { show out counted; fail "misses for each thousand"; }
import csv, sys
counted = {r["function"]: int(r["instructions"]) for r in csv.DictReader(open(sys.argv[2]))}
row = next(l.split() for l in open(sys.argv[1]) if l.rstrip().endswith("read_again"))
misses, mpki = int(row[1]), row[3]
assert mpki == "%.2f" % (1000 * misses / counted["read_again"]), row
E2
check_status 0 sonde cache --no-stack --system=./small.yaml t
check_lacks out mpki

# ---- some sets ----

cat >sets.yaml <<'E2'
name: sets
caches:
  - { name: L1, size: 32K, ways: 8, line: 64 }
tlbs:
  - { name: TLB, entries: 16, ways: full, page: 4K }
E2
check_status 0 sonde cache --no-stack --sets=1/8 --system=./sets.yaml --csv t
mv out csv
check_level read_again sets TLB 5000 0
python3 -c "
import csv, sys
for r in csv.DictReader(open('csv')):
    misses, all = int(r['misses']), int(r['accesses'])
    assert misses + int(r['hits']) == all, r
    assert r['level'] == 'TLB' or (misses % 8 == 0 or misses == all) and 0.9 * all <= misses <= all, r" || fail "sets"
check_status 0 sonde cache --no-stack --sets=1/8 --system=./sets.yaml t
check_contains out "one in 8 sets is simulated; error of the whole program's misses: L1 [0-9.]+%, TLB none$"
check_status 0 sonde cache --no-stack --sets=1/8 --system=./sets.yaml --json t
check_contains out '"type":"total".*"error_percent":[0-9.]+'
check_status 0 sonde cache --system=epyc-7002 --system=power5 --system=xeon-x5550 --workers=1 --csv t
mv out one
check_status 0 sonde cache --system=epyc-7002 --system=power5 --system=xeon-x5550 --workers=3 --csv t
check_same one out "one thread and three that simulate"
check_usage_error sonde cache --workers=0 t
check_usage_error sonde cache --workers=2 --curve t
check_usage_error sonde cache --sets=1/3 t
check_usage_error sonde cache --sets=1/4 --classify t

# ---- curves ----

# 1000 lines in turn: 1024 are enough
check_status 0 sonde cache --no-stack --curve --system=./small.yaml --csv t
python3 -c "
import csv, sys
rows = {(r['name'], int(r['bytes'])): (int(r['accesses']), int(r['misses'])) for r in csv.DictReader(open('out'))}
sys.exit(rows['read_again', 32768] != (5000, 5000) or rows['read_again', 65536] != (5000, 0) or
         rows['write_once', 65536] != (1000, 1000) or rows['write_once', 1024] != (1000, 1000))" || { show out; fail "curves"; }
check_status 0 sonde cache --no-stack --curve --system=./small.yaml t
check_contains out '^read_again: 5000 accesses$'
check_contains out '^ *32.00 KiB  *100.0%  #*  L1 of small$'
check_contains out '^ *64.00 KiB  *0.0%  \.*  L2 of small, C of through$'
check_contains out '^total: 6000 accesses$'
check_status 0 sonde cache --no-stack --curve --system=./small.yaml --json t
python3 -c "
import json
v = [json.loads(l) for l in open('out')]
total = [x for x in v if x['type'] == 'total'][0]
assert total['accesses'] == 6000
assert [s['misses'] for s in total['sizes'] if s['bytes'] in (32768, 65536)] == [6000, 1000]" || { show out; fail "JSON of curves"; }
check_usage_error sonde cache --curve --classify t
check_usage_error sonde cache --curve -s L2 t

# ---- rows ----

check_status 0 sonde cache --no-stack --system=./small.yaml t
check_contains out '^system      small: less than the array$'
check_contains out '^system      through$'
check_contains out 'each thread has all of it for itself'
check_contains out 'accesses  *L1 misses  *L1 writes  *L2 misses  *L2 writes  *TLB misses  *function$'
check_contains out '^ *5000  *5000 \(100.0%\) .* read_again$'
check_contains out '^ *6000  *6000 \(100.0%\) .* total$'
for by in function loop line instruction thread; do
	check_status 0 sonde cache --no-stack --system=small.yaml --csv -b $by t
	python3 -c "
import csv, sys
rows = [r for r in csv.DictReader(open('out')) if r['system'] == 'small' and r['level'] == 'L1']
sys.exit(sum(int(r['misses']) for r in rows) != 6000 or sum(int(r['accesses']) for r in rows) != 6000)" ||
		{ show out; fail "by $by the sums differ"; }
done
check_contains out '"small","L1","[0-9]+\.[0-9]+",6000,5000,1000,0,6000,1000,'
check_status 0 sonde cache --no-stack --system=small.yaml -b line --csv t
check_contains out 'streams.c:15",5000'
check_status 0 sonde cache --system=small.yaml -F write_once --csv t
check_contains out write_once
check_lacks out read_again
check_status 0 sonde cache --system=small.yaml -s name -n 1 t
check_contains out '^\.\.\. and 1 more'

check_status 0 sonde cache --no-stack --system=small.yaml --json t
python3 -c "
import json, sys
v = [json.loads(l) for l in open('out')]
total = [x for x in v if x['type'] == 'total' and x['system'] == 'small'][0]
system = [x for x in v if x['type'] == 'system' and x['name'] == 'small'][0]
sys.exit(total['levels'][0]['misses'] != 6000 or system['levels'][1]['bytes'] != 65536 or
         system['levels'][2]['page'] != 4096)" || { show out; fail "JSON"; }

# ---- systems ----

check_status 0 sonde cache --list
check_contains out '^a64fx  *Fujitsu A64FX'
check_contains out 'L1 64.00 KiB 4-way 256 B lines, L2 8.000 MiB 16-way'
check_status 0 sonde cache --list --json
python3 -c "
import json
v = [json.loads(l) for l in open('out')]
assert len(v) >= 24 and all(x['source'] for x in v)
print(*[x['name'] for x in v if x['name'] != 'host'])" >names || fail "--list --json"
for name in $(cat names); do
	set -- "$@" --system="$name"
done
check_status 0 sonde cache "$@" --csv t
[ "$(cut -d, -f1 out | sort -u | wc -l)" -eq $(($(wc -w <names) + 1)) ] || { show out; fail "not all systems"; }
if [ -r /sys/devices/system/cpu/cpu0/cache/index0/ways_of_associativity ]; then
	check_status 0 sonde cache t
	check_contains out '^system      host: this machine$'
	mv out host
	check_status 0 sonde cache --system=host t
	check_same host out "this machine's, named"
fi

# ---- cores ----

cat >share.c <<'E2'
#include <pthread.h>
#include <stdio.h>
#define TIMES 20000
static struct { volatile long near[8], far[2][8]; } s __attribute__((aligned(4096)));
__attribute__((noinline, noclone)) void one_line(long me)
{
	for (int i = 0; i < TIMES; i++)
		s.near[me]++;
}
__attribute__((noinline, noclone)) void two_lines(long me)
{
	for (int i = 0; i < TIMES; i++)
		s.far[me][0]++;
}
static void *run(void *arg)
{
	two_lines((long)arg);
	one_line((long)arg);
	return NULL;
}
int main(void)
{
	pthread_t t[2];
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, run, (void *)i);
	for (long i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", s.near[0] + s.near[1] + s.far[0][0] + s.far[1][0]);
	return 0;
}
E2
"$CC" -O1 -g -pthread -o share share.c || fail "$CC"
same_run --mem='one_line,two_lines' -o s -- "$PWD/share"
cat >two.yaml <<'E2'
name: two
cores: 2
caches:
  - { name: L1, size: 32K, ways: 8, line: 64 }
  - { name: L2, size: 1M, ways: 16, line: 64, shared: all }
---
name: one
cores: 2
threads: [1, 1]
caches:
  - { name: L1, size: 32K, ways: 8, line: 64 }
E2
check_status 0 sonde cache --cores --no-stack --system=./two.yaml --csv s
mv out csv
check_level one_line one L1 79999 1
check_level two_lines one L1 79998 2
[ "$(level one_line one L1 invalidated upgrades transfers)" = "0 0 0" ] || { show csv; fail "one core"; }
[ "$(level two_lines two L1 invalidated misses transfers)" = "0 2 0" ] || { show csv; fail "lines of one core alone"; }
[ "$(level two_lines two L2 hits misses invalidated)" = "0 2 " ] || { show csv; fail "second level"; }
python3 -c "
import csv
r = [r for r in csv.DictReader(open('csv')) if (r['name'], r['system'], r['level']) == ('one_line', 'two', 'L1')][0]
n, misses = int(r['invalidated']), int(r['misses'])
assert int(r['hits']) + misses == 80000 and 1 <= n <= misses <= n + 1 and 1 <= int(r['transfers']) <= misses, r" ||
	{ show csv; fail "a line of two cores"; }
check_status 0 sonde cache --system=./two.yaml s
check_contains out 'each thread has all of it for itself'
check_lacks out 'invalidated'
check_status 0 sonde cache --system=./two.yaml --system=power5 --by=thread --classify s
check_status 0 sonde cache --cores --system=./two.yaml s
check_contains out '2 cores; threads take turns by the times in the trace'
check_contains out 'L1 writes  *L1 invalidated  *upgrades  *transfers  *L2 misses  *L2 writes  *function$'
check_status 0 sonde cache --cores --system=./two.yaml --json s
check_contains out '"type":"total","system":"two".*"invalidated":[1-9].*"upgrades":[0-9]+,"transfers":[1-9]'
check_contains out '"shared":2'
sed '/^---/,$d' two.yaml >only.yaml
check_status 0 sonde cache --lines --no-stack --system=./only.yaml --csv s
python3 -c "
import csv, sys
rows = list(csv.DictReader(open('out')))
n, = [r for r in rows if r['stores'] == '40000']
assert n['caches'] == '2' and 1 <= int(n['invalidated_least']) <= int(sys.argv[1]) <= int(n['invalidated_most']) <= 80000, n
assert len(rows) == 1, rows" "$(level one_line two L1 invalidated)" || { show out; fail "lines"; }
check_status 0 sonde cache --lines --system=./only.yaml s
check_contains out '^invalidations:  *at most  *transfers:  *at most  *accesses  *stores  *caches  *address  *process$'
check_status 0 sonde cache --lines --system=./only.yaml --json s
check_contains out '"type":"line".*"stores":40000,"invalidated_least":[1-9][0-9]*,"invalidated_most":[1-9]'
check_usage_error sonde cache --lines --system=./two.yaml s
check_usage_error sonde cache --lines --system=power5 s
check_usage_error sonde cache --lines --system=./only.yaml -F one_line s
check_usage_error sonde cache --lines --system=./only.yaml -b line s
check_usage_error sonde cache --cores --system=./two.yaml --system=power5 s
check_contains err "power5: which cores have its caches together is not known; a file with 'cores:' can say it"
check_usage_error sonde cache --cores --system=./two.yaml --classify s
check_usage_error sonde cache --cores --system=./two.yaml -b thread s
check_usage_error sonde cache --cores --system=./two.yaml --curve s
check_usage_error sonde cache --cores --system=./two.yaml --sets=1/2 s
# of systems that are shipped: threads of one core complex have its last level together, and take lines from each other
check_status 0 sonde cache --cores --no-stack --system=epyc-7002 --system=xeon-x7460 --csv s
mv out csv
[ "$(level two_lines epyc-7002 L3 misses)" = 2 ] || { show csv; fail "cores of a system that is shipped"; }
[ "$(level one_line xeon-x7460 L1 invalidated)" -gt 0 ] || { show csv; fail "lines taken in a system that is shipped"; }
check_status 0 sonde cache --list --json
check_contains out '"name":"xeon-x7460".*"cores":6.*"name":"L2".*"shared":2.*"name":"L3".*"shared":6'

# ---- what is wrong ----

printf 'name: x\ncaches:\n  - { name: L1, size: 32K, ways: 7, line: 64 }\n' >bad.yaml
check_usage_error sonde cache --system=bad.yaml t
check_contains err '^sonde: bad.yaml: line 3, column 5: it is not a whole number of sets'
check_usage_error sonde cache --system=nothing t
check_contains err "neither a system"
check_usage_error sonde cache --system=./nothing t
check_contains err 'No such file'
check_usage_error sonde cache --system=. t
check_usage_error sonde cache --system=/dev/zero t
check_usage_error sonde cache --csv --json t
check_usage_error sonde cache --list t
check_usage_error sonde cache --system=a64fx nothing
check_usage_error sonde cache --system=a64fx -F nothing t
