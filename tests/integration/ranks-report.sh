# SPDX-License-Identifier: GPL-3.0-or-later
# Analysis ranks: what mpirun starts several times prints once, and the same as one process.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
limit=(timeout --foreground -s KILL 120)

cat >prog.c <<'EOF'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static volatile long a[256];
__attribute__((noinline)) void inner(long i) { a[i & 255] += i; }
__attribute__((noinline)) void outer(long n)
{
	for (long i = 0; i < n; i++)
		inner(i);
}
int main(int argc, char **argv)
{
	for (int i = 0; i < atoi(argv[1]); i++)
		if (!fork()) {
			outer(i * atol(argv[2]));
			write(1, "", 1);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return argc - 3;
}
EOF
$CC -O1 -g -o prog prog.c || fail "prog does not compile"
sonde -F '*' -m posixio -o many ./prog 16 100 >prog.out || fail "no trace of several processes"
sonde -F '*' -o one ./prog 0 1 >prog.out || fail "no trace of one process"
# more than a million events: what one report has computed is kept for the next
sonde -F '*' -o kept ./prog 5 60000 >prog.out || fail "no trace with many events"

# Of each of some processes something is damaged.
cp -r many bad
n=0
for file in bad/*.sonde; do
	n=$((n + 1))
	[ $((n % 3)) -ne 0 ] || printf '\377\377\377\377' | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc 2>/dev/null
done

# said FILE: what sonde has said; mpirun says something of exit statuses.
said()
{
	grep '^sonde:' "$1"
	true
}

# same_with FAMILY RANKS STATUS ARGUMENT...
same_with()
{
	local family=$1 ranks=$2 wanted=$3 got=0
	shift 3
	rm -f ./*/report-sums*
	sonde report "$@" >alone.out 2>alone.err || got=$?
	[ "$got" -eq "$wanted" ] || { show alone.err; fail "report $*: $got"; }
	got=0
	rm -f ./*/report-sums*
	"${limit[@]}" "mpirun.$family" -np "$ranks" sonde report "$@" >ranks.out 2>ranks.err || got=$?
	[ "$got" -eq "$wanted" ] || { show ranks.err; fail "$ranks ranks of $family, report $*: $got"; }
	check_same alone.out ranks.out "report $* with $ranks ranks of $family"
	said alone.err >alone.said
	said ranks.err >ranks.said
	check_same alone.said ranks.said "what report $* says with $ranks ranks of $family"
}

export OMPI_MCA_rmaps_base_oversubscribe=1
tried=0
for family in openmpi mpich; do
	command -v "mpirun.$family" >/dev/null && [ -r "$top_builddir/launcher/ranks/$family.so" ] || continue
	tried=1
	same_with $family 2 0 many
	same_with $family 3 0 --csv -a many
	same_with $family 2 0 --json -b process many
	same_with $family 2 0 -b thread -n 2 --raw many
	same_with $family 3 0 one
	same_with $family 2 0 kept
	same_with $family 2 1 bad
	same_with $family 2 1 --csv bad
	same_with $family 2 2 nowhere
	# kept by the rank that prints, and found by all
	rm -f kept/report-sums*
	"${limit[@]}" mpirun.$family -np 2 sonde report kept >first 2>err || { show err; fail "no report of kept"; }
	ls kept/report-sums* >/dev/null || fail "$family: the sums are not kept"
	"${limit[@]}" mpirun.$family -np 2 sonde report kept >second 2>err || { show err; fail "no second report of kept"; }
	check_same first second "the second report of kept"
	# what is not shared is done once
	rm -f ./*.html
	sonde report --html alone.html many >out 2>err || { show err; fail "no page"; }
	"${limit[@]}" mpirun.$family -np 2 sonde report --html ranks.html many >out 2>err || { show err; fail "no page by two ranks"; }
	check_same alone.html ranks.html "the page by two ranks of $family"
	"${limit[@]}" mpirun.$family -np 2 sonde report --omp many >out 2>err && fail "--omp of a trace without OpenMP"
	[ "$(grep -c '^sonde:' err)" -eq 1 ] || { show err; fail "not said once"; }
	for verb in dump graph info "export -f csv" "report --help"; do
		sonde $verb many >alone.out || fail "$verb"
		"${limit[@]}" mpirun.$family -np 2 sonde $verb many >ranks.out 2>err || { show err; fail "$verb with two ranks"; }
		check_same alone.out ranks.out "$verb with two ranks of $family"
	done
done
[ $tried -eq 1 ] || skip "neither Open MPI nor MPICH"

# Without its MPI's plugin rank 0 does all, and says why.
OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 check_status 0 sonde report one
[ ! -s err ] || fail "something is said of a job of one rank"
PMIX_RANK=1 PMIX_NAMESPACE=job check_status 0 sonde report one
[ ! -s out ] && [ ! -s err ] || fail "another rank than 0 prints"
