# SPDX-License-Identifier: GPL-3.0-or-later
# sonde -c FILE on programs that we did not write: each type; they do the same, and figures of one run agree with each other.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command gzip

head -c 30000 "$top_srcdir/doc/design.md" >input
cat >gzip.yaml <<'END'
instrumentation:
  - { type: invocation-counter, location: all, output: calls.txt }
  - { type: function-trace, location: all, limit: 2, output: trace.txt }
  - { type: block-counter, location: all, output: blocks.txt }
  - { type: trip-counter, location: all, output: trips.txt }
  - { type: branch-outcome, location: all, output: branches.txt }
  - { type: address-traces, location: all, output: addresses.txt }
  - { type: stride, location: all, output: strides.txt }
  - { type: alignment, location: all, output: alignment.txt }
  - { type: cache, location: all, output: cache.txt }
  - { type: working-set, location: all, output: set.txt }
  - { type: value, location: all, output: values.txt }
END
same_run -q -c gzip.yaml -o t -- gzip -c input

# column N FILE: its sum
column()
{
	awk -v n="$1" '!/^#/ && $n ~ /^[0-9]+$/ { s += $n } END { print s + 0 }' "$2"
}

accesses=$(grep -vc '^#' addresses.txt)
[ "$accesses" -gt 100000 ] || fail "only $accesses accesses"
[ "$(column 1 alignment.txt)" -eq "$accesses" ] || fail "$(column 1 alignment.txt) instead of $accesses accesses by instruction"
for file in strides cache set; do
	total=$(awk '$NF == "total" { print $1 }' $file.txt)
	[ "$total" -eq "$accesses" ] || fail "$total instead of $accesses accesses in $file.txt"
done
# each block ends in one of the ways of a branch, or without one
[ "$(column 1 branches.txt)" -gt 0 ] || fail "no branch was taken"
both=$(($(column 1 branches.txt) + $(column 2 branches.txt)))
[ "$both" -lt "$(column 1 blocks.txt)" ] || fail "more branches than blocks"
# a loop's head is executed once for each iteration
awk '!/^#/ && $1 ~ /^[0-9]+$/ { print $2 }' trips.txt | while read -r count; do
	awk '!/^#/ { print $1 }' blocks.txt | grep -qx "$count" || fail "no block was executed $count times, as a loop was"
done || exit 1
[ "$(grep -c enter trace.txt)" -le $((2 * $(grep -vc '^#' calls.txt))) ] || fail "more than two calls of a function"
check_contains values.txt '^# no such value was recorded'

# a library's functions, found without being named; variables of an interpreter
if command -v sqlite3 >/dev/null; then
	printf 'create table t(a); insert into t values (1), (2); select sum(a) from t;\n' >query
	printf 'instrumentation:\n  - { type: invocation-counter, location: function sqlite3_step, output: steps.txt }\n' >sqlite.yaml
	STDIN=query same_run -q -c sqlite.yaml -o t -- sqlite3 :memory:
	check_contains steps.txt '^ *[1-9][0-9]* +1  sqlite3_step$'
fi
python=/usr/bin/python3
if [ -x $python ] && sonde list -F PyDict_SetItem $python >/dev/null 2>&1; then
	cat >python.yaml <<-'END'
	instrumentation:
	  - { type: invocation-counter, location: function PyDict_SetItem, output: items.txt }
	  - { type: working-set, location: "function PyDict_SetItem, function PyDict_New", output: dicts.txt }
	  - { type: address-traces, location: function PyDict_New, limit: 10, output: new.txt }
	  - { type: block-counter, location: function PyDict_New, output: blocks.txt }
	END
	same_run -q -c python.yaml -o t -- $python -c 'print(sum(range(1000)))'
	check_contains items.txt '^ *[1-9][0-9]+ +1  PyDict_SetItem$'
	check_contains dicts.txt ' PyDict_SetItem$'
	[ "$(grep -c 'PyDict_New+0x' new.txt)" -eq 10 ] || { show new.txt; fail "not 10 accesses"; }
fi

# in bursts: fewer, and the file says so
printf 'instrumentation:\n  - { type: alignment, location: all, sample: "burst:1k,every:10k", output: sampled.txt }\n' >sample.yaml
same_run -q -c sample.yaml -o t -- gzip -c input
check_contains sampled.txt '^# memory accesses were recorded in '
[ "$(column 1 sampled.txt)" -lt $((accesses / 2)) ] || fail "$(column 1 sampled.txt) of $accesses accesses are no sample"

# all functions of a library, whose own names there are few of, and one of them by its file
if command -v xz >/dev/null && ldd "$(command -v xz)" 2>/dev/null | grep -q liblzma; then
	cat >xz.yaml <<-'END'
	instrumentation:
	  - { type: invocation-counter, location: library liblzma, output: lzma.txt }
	  - { type: trip-counter, location: library liblzma, output: loops.txt }
	  - { type: block-counter, location: "function lzma_code@liblzma", output: edges.txt, by: edge }
	END
	same_run -q -c xz.yaml -o t -- xz -1 -c input
	check_contains lzma.txt '^ *[1-9][0-9]* +1  lzma_code$'
	[ "$(column 1 loops.txt)" -gt 0 ] || { show loops.txt; fail "no loops"; }
	check_contains edges.txt ' lzma_code$'
	check_lacks edges.txt 'sub_'
fi

# fields of variables: of all elements of an array, by debug information
cat >particles.c <<'END'
#include <stdio.h>
struct vector { double x, y; };
static struct { struct vector pos; int mass; union { int i; float f; } u; } particles[100];
static int plain[10];
__attribute__((noinline)) static double walk(int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++) {
		particles[i].pos.x += 1;
		sum += particles[i].pos.y;
		if (i % 2)
			sum += particles[i].mass + particles[i].u.i;
	}
	plain[n % 10]++;
	return sum;
}
int main(void) { printf("%g\n", walk(100)); return 0; }
END
gcc -g -O1 -o particles particles.c || fail "gcc"

# accesses VARIABLES COUNT
accesses()
{
	printf 'instrumentation:\n  - { type: address-traces, location: all, variables: %s, output: of.txt }\n' "$1" >of.yaml
	same_run -q -c of.yaml -o t -- ./particles
	[ "$(grep -vc '^#' of.txt)" -eq "$2" ] || { show of.txt; fail "not $2 accesses to $1"; }
}
accesses particles 400
accesses particles.pos 300
accesses "['particles[].pos.x', plain]" 201
accesses particles.mass 50
accesses particles.u.i 50
refused()
{
	printf 'instrumentation:\n  - { type: address-traces, location: all, variables: %s, output: of.txt }\n' "$1" >of.yaml
	check_usage_error sonde -c of.yaml -o none ./particles
	check_contains err "$2"
}
refused particles.poss 'no such field of particles, which has \[\]\.pos\.x, '
refused plain.x 'no such field of plain'
refused partcles.pos "did you mean 'particles'"
strip -g particles
refused particles.pos 'compile it with -g$'
