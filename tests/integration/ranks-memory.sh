# SPDX-License-Identifier: GPL-3.0-or-later
# Analysis ranks: sonde memory of a trace of several ranks, the same as by one process.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
limit=(timeout --foreground -s KILL 120)

cat >prog.c <<'EOF'
#include <stdlib.h>
static long a[1 << 16];
__attribute__((noinline)) void solve(long n)
{
	for (long i = 0; i < n; i++)
		a[i * 9 & 65535] += i;
}
__attribute__((noinline)) void other(long n)
{
	for (long i = 0; i < n; i++)
		a[i & 1023] ^= i;
}
int main(int argc, char **argv)
{
	solve(atol(argv[argc - 1]));
	other(1000);
	return 0;
}
EOF
$CC -O1 -g -o prog prog.c || fail "prog does not compile"
for rank in 0 1 2 3 4; do
	export OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=5 PMIX_NAMESPACE=job
	sonde --mem -o all ./prog $((1000 * (rank + 1))) || fail "rank $rank is not recorded"
	sonde -q --mem --sample=burst:1k,every:3k -o sampled ./prog $((10000 * (rank + 1))) || fail "rank $rank is not sampled"
done
unset OMPI_COMM_WORLD_RANK OMPI_COMM_WORLD_SIZE PMIX_NAMESPACE
[ "$(ls -d all/rank-* | wc -l)" -eq 5 ] || fail "ranks: $(ls all)"
sonde --mem -o one ./prog 1000 || fail "no trace without ranks"
cp -r all bad
stream=$(ls bad/rank-3/[0-9]*.memory)
printf '\377\377\377\377' | dd of="$stream" bs=1 seek=$(($(stat -c %s "$stream") / 2)) conv=notrunc 2>/dev/null

# same_with FAMILY RANKS ARGUMENT...
same_with()
{
	local family=$1 ranks=$2 wanted=0 got=0
	shift 2
	rm -f ./*/memory-profile* ./*/rank-*/memory-profile*
	sonde memory "$@" >alone.out 2>alone.err || wanted=$?
	"${limit[@]}" "mpirun.$family" -np "$ranks" sonde memory "$@" >ranks.out 2>ranks.err || got=$?
	[ "$got" -eq "$wanted" ] || { show ranks.err; fail "$ranks ranks of $family, memory $*: $got in place of $wanted"; }
	check_same alone.out ranks.out "memory $* with $ranks ranks of $family"
	grep '^sonde:' alone.err >alone.said
	grep '^sonde:' ranks.err >ranks.said
	check_same alone.said ranks.said "what memory $* says with $ranks ranks of $family"
}

export OMPI_MCA_rmaps_base_oversubscribe=1
tried=0
for family in openmpi mpich; do
	command -v "mpirun.$family" >/dev/null && [ -r "$top_builddir/launcher/ranks/$family.so" ] || continue
	tried=1
	same_with $family 2 --csv -b loop all
	[ -s alone.out ] || fail "memory of all is empty"
	same_with $family 3 all
	same_with $family 3 --json -b instruction all
	same_with $family 2 -r 2 all
	same_with $family 2 --csv sampled
	same_with $family 2 one
	same_with $family 2 bad
	[ -s alone.said ] || fail "nothing is said of damage"
	same_with $family 2 nowhere
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"
exit 0
