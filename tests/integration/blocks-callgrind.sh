# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde --blocks': each block of programs that others wrote is executed as often as Valgrind's callgrind says its first instruction is.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3 valgrind
valgrind --tool=callgrind --callgrind-out-file=/dev/null true >/dev/null 2>&1 || skip "callgrind does not run"
# What the dynamic linker does for a first call callgrind counts as done by the instruction that calls.
export LD_BIND_NOW=1

# BLOCKS PROFILE OBJECT LEAST: all blocks in a file of `sonde blocks', of which there are enough
cat >compare.py <<'END'
import csv, os, sys
counts, ours, call = {}, False, False
for line in open(sys.argv[2]):
    word, _, rest = line.rstrip().partition("=")
    if word == "ob":
        ours = os.path.basename(os.path.realpath(rest)) == os.path.basename(os.path.realpath(sys.argv[3]))
    elif word == "calls":
        call = True
    elif line.startswith("0x"):
        at, _, n = line.split()[:3]
        if ours and not call:
            counts[int(at, 16)] = counts.get(int(at, 16), 0) + int(n)
        call = False
blocks = [r for r in csv.DictReader(open(sys.argv[1])) if os.path.basename(r["object"]) == os.path.basename(sys.argv[3])]
if len(blocks) < int(sys.argv[4]):
    sys.exit("%d blocks" % len(blocks))
wrong = [r for r in blocks if counts.get(int(r["address"], 16)) != int(r["count"])]
for r in wrong[:10]:
    print(r["function"], r["address"], r["count"], "executions, of callgrind", counts.get(int(r["address"], 16)))
sys.exit(len(wrong) > 0)
END

# compare FUNCTIONS OBJECT LEAST COMMAND...: from the file in, if there is one
compare()
{
	local functions="$1" object="$2" least="$3" in=/dev/null
	shift 3
	[ ! -e in ] || in=in
	rm -rf t
	valgrind --tool=callgrind --dump-instr=yes --skip-plt=no --compress-strings=no --compress-pos=no --callgrind-out-file=profile "$@" \
		<$in >plain 2>err || { show err; fail "callgrind of $1"; }
	sonde -q --blocks="$functions" -o t -- "$@" <$in >ours || fail "sonde --blocks of $1"
	cmp plain ours || fail "$1 does something else"
	sonde blocks --by=block --csv t >blocks || fail "sonde blocks"
	python3 compare.py blocks profile "$object" "$least" >out 2>&1 || { show out; fail "counts of $1 in $object"; }
}

cat >kernel.c <<'END'
#include <stdio.h>
#define N 96
static double a[N][N], b[N][N], c[N][N];
int main(void)
{
	double sum = 0;
#pragma omp parallel for schedule(dynamic, 5)
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++)
			a[i][j] = i - j, b[i][j] = i % (j + 1);
#pragma omp parallel for reduction(+ : sum)
	for (int i = 0; i < N; i++)
		for (int j = 0; j < N; j++) {
			for (int k = 0; k < N; k++)
				c[i][j] += a[i][k] * b[k][j];
			if (c[i][j] > 0)
				sum += c[i][j];
		}
	printf("%g\n", sum);
	return 0;
}
END
if "$CC" -O2 -fopenmp -o kernel kernel.c 2>/dev/null; then
	OMP_NUM_THREADS=1 compare '*' kernel 10 ./kernel
fi
if command -v gzip >/dev/null; then
	head -c 60000 "$(command -v python3)" >in
	compare '*' "$(command -v gzip)" 100 gzip -c
	gzip -c <in >in.gz && mv in.gz in
	compare '*' "$(command -v gzip)" 100 gzip -dc
fi
if command -v sqlite3 >/dev/null; then
	cat >in <<'END'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i+1 from n where i<300) insert into t select i, 'name'||i, i*1.5 from n;
create index u on t(b);
select count(*), sum(a), max(b), avg(c) from t where b like 'name1%' and a > 17;
select b from t order by c desc limit 3;
END
	compare '*' "$(command -v sqlite3)" 100 sqlite3 :memory:
	library=$(ldd "$(command -v sqlite3)" | awk '/libsqlite3/ { print $3 }')
	[ -z "$library" ] || compare '*@libsqlite3*' "$library" 1000 sqlite3 :memory:
fi
