# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde --blocks` and `sonde blocks DIR`: counts of what is known, in threads, children, executed and killed programs; what cannot be
# asked for.  Counts of difficult code are compared with an oracle in blocks-oracle.sh.
. "$top_srcdir/tests/integration/lib.sh"
need_command python3

cat >counted.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
static double x[64];
static volatile double total;
APART double sum(int n)
{
	double s = 0;
	for (int i = 0; i < n; i++)
		s += x[i] * 3;
	return s;
}
APART int nested(int n)
{
	int r = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			r += k ^ n;
	return r;
}
APART void *work(void *arg)
{
	for (int i = 0; i < 10; i++)
		x[0] += sum(20);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[3];
	if (argc > 1 && strcmp(argv[1], "threads") == 0) {
		for (int i = 0; i < 3; i++)
			pthread_create(&t[i], NULL, work, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(t[i], NULL);
	} else if (argc > 1 && strcmp(argv[1], "forks") == 0) {
		total += nested(5);
		if (fork() == 0) {
			total += nested(7);
			_exit(0);
		}
		wait(NULL);
		if (fork() == 0)
			execl("/proc/self/exe", "counted", "once", (char *)NULL);
		wait(NULL);
	} else if (argc > 1 && strcmp(argv[1], "killed") == 0) {
		total += nested(9);
		raise(SIGKILL);
	} else {
		for (int i = 1; i <= 100; i++)
			total += nested(i % 10) + sum(i % 4);
	}
	printf("%g\n", x[0]);
	return 0;
}
END
"$CC" -g -O1 -fno-unroll-loops -fno-tree-vectorize -o counted counted.c -pthread -lm || fail "$CC"

# function TRACE NAME: how often it was called
calls()
{
	check_status 0 sonde blocks --csv "$1"
	python3 -c 'import csv, sys
for r in csv.DictReader(open("out")):
    if r["function"] == sys.argv[1]: print(r["count"])' "$2"
}

same_run -q --blocks -o t -- ./counted
[ "$(calls t nested)" = 100 ] || fail "calls of nested: $(calls t nested)"
[ "$(calls t sum)" = 100 ] || fail "calls of sum"
check_status 0 sonde blocks -b loop --csv -F 'nested,sum' t
python3 - out <<'END' || { show out; fail "loops"; }
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
# a compiler tests conditions before loops: entered only if there is an iteration
outer = sum(i % 10 for i in range(1, 101))
inner = sum(k for i in range(1, 101) for k in range(i % 10))
def loop(name, depth): return [r for r in rows if r["function"] == name and r["depth"] == str(depth)][0]
def has(r, body, entries): return int(r["count"]) - body in (0, int(r["entries"])) and int(r["entries"]) in entries
good = has(loop("nested", 1), outer, (90, 100)) and has(loop("nested", 2), inner, range(360, outer + 1))
sys.exit(not (good and has(loop("sum", 1), sum(i % 4 for i in range(1, 101)), (75, 100))))
END
check_status 0 sonde blocks --mix -F sum t
check_contains out '^ *300 .*floating point operations'
check_contains out 'flops a byte'
check_status 0 sonde blocks -b line t
check_contains out "^ *150  counted.c:$(sed -n '/s += x/=' counted.c)\$"
check_status 0 sonde blocks --json -b block -F nested t
cp out json
check_status 0 sonde blocks --csv -b block -F nested t
python3 - json out <<'END' || fail "JSON"
import csv, json, sys
ours = [json.loads(l) for l in open(sys.argv[1])]
rows = list(csv.DictReader(open(sys.argv[2])))
sys.exit(not ours or [(o["id"], str(o["count"]), str(o["instructions"])) for o in ours] != [(r["id"], r["count"], r["instructions"]) for r in rows])
END
check_status 0 sonde blocks --csv ./counted nested
python3 -c 'import csv, sys
ids = {r["id"] for r in csv.DictReader(open("out"))}
import json
sys.exit(not all(json.loads(l)["id"] in ids for l in open("json")))' || fail "ids are not those of the program"

# ---- threads, children, programs that are executed, killed ones ----

same_run -q --eager --blocks -o t -- ./counted threads
cp -r t t0
[ "$(calls t sum)" = 30 ] || fail "calls of sum by threads: $(calls t sum)"
check_status 0 sonde blocks -b thread -F sum t
[ "$(grep -c '[0-9]\.[0-9]*$' out)" -eq 3 ] || { show out; fail "three threads"; }
tid=$(sed -n '2s/.*\.//p' out)
check_status 0 sonde blocks -F sum -t "$tid" t
check_contains out '^ *10 .* sum'
same_run -q --blocks -o t -- ./counted forks
[ "$(calls t nested)" = 102 ] || fail "calls of nested in children: $(calls t nested)"
check_status 0 sonde blocks --process=counted -F nested t
sonde -q --blocks -o t -- ./counted killed
[ $? -eq 137 ] || fail "the status of a program that is killed"
sonde blocks -F nested t >out 2>err || fail "sonde blocks"
check_contains out '^ *1 .* nested'
check_contains err 'did not end by itself'

# ---- with modules that wrap ----

check_status 0 sonde blocks --csv -b block t0
cp out alone
same_run -q --blocks -m posixio,pthread -o m -- ./counted threads
check_status 0 sonde blocks --csv -b block m
cmp -s alone out || { diff alone out; fail "with modules counts differ"; }
check_status 0 sonde report m
check_contains out ' 3 .* pthread *pthread_create'

# ---- a function whose windows have places only while a jump stands at its entry ----

{
	printf '\t.text\n\t.globl chain\n\t.type chain, @function\nchain:\tsub $8, %%rsp\n\tcall one\n\ttest %%eax, %%eax\n\tjne 2f\n'
	printf '1:\txor %%eax, %%eax\n3:\tadd $8, %%rsp\n\tret\n\t.p2align 3\n2:'
	printf '\t.rept 60\n\tcall one\n\ttest %%eax, %%eax\n\tje 1b\n\t.endr\n\tcall one\n\tjmp 3b\n\t.size chain, . - chain\n'
	printf '\t.section .note.GNU-stack, "", @progbits\n'
} >chain.s
printf 'int chain(void);\nint one(void) { static volatile int n; return ++n; }\nint main(void) { return chain() != 62; }\n' >chained.c
"$CC" -O1 -fno-inline -o chained chained.c chain.s || fail "$CC"
check_status 0 sonde -q --blocks -o c -- ./chained
check_lacks err 'could not be described'
[ "$(calls c one)" = 62 ] && [ "$(calls c chain)" = 1 ] || fail "a chain of calls"

# ---- messages ----

check_status 0 sonde report t
cat out err | grep -q 'sonde blocks' || { show out err; fail "report does not say what there is"; }
size=$(stat -c %s t/code.blocks)
truncate -s $((size - 10)) t/code.blocks
check_status 1 sonde blocks t
sonde -q -F nested -o f -- ./counted >out
sonde blocks f >out 2>err
[ $? -eq 2 ] || fail "a trace without counts"
check_contains err "no blocks were counted"
check_usage_error sonde --blocks -F nested -- ./counted
check_usage_error sonde --blocks=nested --mem -- ./counted
check_usage_error sonde --blocks -m memcount -- ./counted
check_usage_error sonde --blocks --start-off -- ./counted
check_usage_error sonde attach --blocks 1
check_usage_error sonde blocks --mix --csv t
check_usage_error sonde blocks -b loop ./counted
check_usage_error sonde blocks t nested
