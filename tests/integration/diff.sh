# SPDX-License-Identifier: GPL-3.0-or-later
# sonde diff: by what the program itself was asked to do.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >prog.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
static long a[1 << 16];
#ifdef NEW
__attribute__((noinline)) void fresh(long i) { a[i & 7] ^= i; }
#else
__attribute__((noinline)) void old(long i) { a[i & 7] ^= i; }
#endif
__attribute__((noinline)) void many(long i) { a[i & 255] += i; }
__attribute__((noinline)) void few(long i) { a[i & 255] ^= i; }
__attribute__((noinline)) void loops(long n, long m)
{
	for (long i = 0; i < n; i++)
		a[i & 255] += i;
	for (long i = 0; i < m; i++)
		a[i * 8 & 65535] += i;
}
int main(int argc, char **argv)
{
	for (long i = 0; i < atol(argv[1]); i++)
		many(i);
	for (long i = 0; i < 100; i++)
		few(i);
#ifdef NEW
	fresh(argc);
#else
	old(argc);
#endif
	loops(1000, atol(argv[2]));
	printf("%ld\n", a[1]);
	return 0;
}
EOF
mkdir one two
$CC -O1 -g -o one/prog prog.c && $CC -O1 -g -DNEW -o two/prog prog.c || fail "prog does not compile"
for i in 1 2 3; do
	sonde -F '*' -o a$i one/prog $((100 + i)) 1 >prog.out || fail "no trace a$i"
	sonde -F '*' -o b$i two/prog $((200 + i)) 1 >prog.out || fail "no trace b$i"
done
sonde --mem -o ma one/prog 100 8192 >prog.out || fail "no trace ma"
sonde --mem -o mb two/prog 100 16384 >prog.out || fail "no trace mb"

# ---- figures: calls are known ----

check_status 0 sonde diff -m calls --csv a1 b1
check_contains out '^function,"many","prog","",calls,101,201,100,99\.010,,0$'
check_contains out '^function,"few","prog","",calls,100,100,0,0\.000,,0$'
check_contains out '^function,"fresh","prog","",calls,0,1,1,,,0$'
check_contains out '^function,"old","prog","",calls,1,0,-1,-100\.000,,0$'
check_lacks out ',self,'
[ "$(sed -n 2p out | cut -d, -f2)" = '"many"' ] || { show out; fail "what has changed most is not first"; }
[ "$(tail -n 1 out | cut -d, -f1)" = whole ] || { show out; fail "the whole is not last"; }

# ... and of repetitions: 2.776 * sqrt(1 * 2/3), by Student's distribution with four degrees of freedom
check_status 0 sonde diff -m calls --csv a1 a2 a3 -- b1 b2 b3
check_contains out '^function,"many","prog","",calls,102,202,100,98\.039,2\.2665.*,1$'
check_status 0 sonde diff -m calls --csv a1 -- a2 a3
check_contains out '^function,"many","prog","",calls,101,102\.5,1\.5,1\.485,11\.00.*,0$'
check_status 0 sonde diff a1 a2 a3 -- b1 b2 b3
check_contains out '^ +A +B +change +change% +noise +calls A +calls B  function, by self$'
check_contains out ' new .* 0 +1  fresh \[prog\]$'
check_contains out ' gone .* 1 +0  old \[prog\]$'
check_contains out ' 102 +202  many \[prog\]$'
check_status 0 sonde diff a1 b1
check_contains out '^One trace on each side'
check_status 0 sonde diff -n 1 -m calls a1 b1
check_contains out '^[0-9]+ more have changed; --all shows them$'

# times, and all that is asked of a trace, as report has it
sonde report --csv -a a1 >report || fail "no report"
sonde diff --csv a1 b1 >out || fail "no diff"
for function in many few main; do
	self=$(awk -F, -v f="\"$function\"" '$1 == f { print $7 }' report)
	check_contains out "^function,\"$function\",\"prog\",\"\",self,$self,"
done
if command -v jq >/dev/null; then
	sonde diff --json a1 a2 -- b1 b2 >out || fail "no JSON"
	[ "$(jq -c 'select(.name == "many" and .metric == "calls") | [.a, .b, .change]' out)" = '[[101,102],[201,202],100]' ] ||
		{ show out; fail "JSON has other values"; }
fi

# ---- loops ----

check_status 0 sonde diff --csv ma mb
check_contains out '^loop,"loops, loop 1","prog","prog\.c:[0-9]+",accesses,1000,1000,0,'
check_contains out '^loop,"loops, loop 2","prog","prog\.c:[0-9]+",accesses,8192,16384,8192,100\.000,'
check_contains out '^loop,"loops, loop 2","prog","prog\.c:[0-9]+",misses,81[0-9][0-9],163[0-9][0-9],'
check_status 0 sonde diff -m accesses ma mb
check_contains out ' loops, loop 2 at prog\.c:[0-9]+ \[prog\]$'
check_lacks out 'by self'

# ---- for continuous integration ----

check_status 1 sonde diff -m calls --fail-above=5% a1 a2 a3 -- b1 b2 b3
check_contains err '^sonde: many: 98\.0 % more calls than in A; 1 other has grown, too$'
check_status 0 sonde diff -m calls --fail-above=99% a1 a2 a3 -- b1 b2 b3
check_status 0 sonde diff -m calls --fail-above=5% b1 b2 b3 -- a1 a2 a3
check_status 0 sonde diff -m calls --fail-above=1% a1 -- a2 a3 # noise
check_status 1 sonde diff -m calls --fail-above=0.5% a1 a2
check_status 0 sonde diff -m calls --fail-above=60 --min-share=90% a1 b1
check_status 1 sonde diff --fail-above=5% -m accesses ma mb
check_status 0 sonde diff --fail-above=5% -m accesses ma ma

# ---- what is wrong ----

check_usage_error sonde diff a1
check_usage_error sonde diff a1 a2 a3
check_contains err 'A\.\.\. -- B\.\.\.'
check_usage_error sonde diff a1 --
check_usage_error sonde diff -- a1
check_usage_error sonde diff a1 nowhere
check_usage_error sonde diff --fail-above=much a1 b1
check_usage_error sonde diff --fail-above=-1 a1 b1
check_usage_error sonde diff --min-share=1% a1 b1
check_usage_error sonde diff -m misses a1 b1
check_usage_error sonde diff --csv --json a1 b1
check_usage_error sonde diff a1 ma
check_contains err 'neither calls nor memory accesses are in all of the traces$'
sonde --mem -F '*' -o both one/prog 100 8192 >prog.out || fail "no trace with both"
check_status 0 sonde diff --csv both ma
check_contains err 'ma has no calls: they are not compared$'
check_contains out '^whole,.*,accesses,'
check_lacks out '^function,'

# Damage is said, and the rest compared.
cp -r a1 bad
events=$(ls bad/*.sonde)
size=$(stat -c %s "$events")
printf '\377\377\377\377' | dd of="$events" bs=1 seek=$((size / 2)) conv=notrunc 2>/dev/null
check_status 2 sonde diff bad b1
[ -s err ] || fail "nothing is said of damage"
