# SPDX-License-Identifier: GPL-3.0-or-later
# Ranks that are started at once share one trace folder; a later job replaces it as a whole.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >rank.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	int mark(int x) { return x + 1; }
	int main(int argc, char **argv)
	{
		int n = atoi(argv[1]), (*volatile f)(int) = mark, sum = 0;
		for (int i = 0; i < n; i++)
			sum = f(sum);
		printf("%d\n", sum);
		return argc != 2;
	}
END
$CC -O0 -o rank rank.c
cat >marks.c <<'END'
#include <sonde/module.h>
SONDE_MODULE("marks", "marks");
SONDE_WRAP(int, mark, (int x))
{
	sonde_enter(SONDE_I32("x", x));
	int result = SONDE_REAL(mark)(x);
	sonde_leave(SONDE_I32("result", result));
	return result;
}
END

tried=0
for launcher in mpirun.openmpi mpirun.mpich; do
	command -v $launcher >/dev/null || continue
	tried=1
	rm -rf t t.old
	for count in 10 20 30; do
		check_status 0 $launcher -np 4 sonde -q -o t -m ./marks.c ./rank $count
		[ "$(grep -cx $count out)" -eq 4 ] || { show out err; fail "$launcher: output of ranks"; }
		[ "$(cd t && echo rank-*)" = 'rank-0 rank-1 rank-2 rank-3' ] ||
			fail "$launcher: $(ls t)"
		check_status 0 sonde report --csv t
		check_contains out "(^|,)$((4 * count))(,|\$)"
	done
	[ "$(cd t.old && echo rank-*)" = 'rank-0 rank-1 rank-2 rank-3' ] || fail "$launcher: old trace"
	check_status 0 sonde report --csv t.old
	check_contains out "(^|,)80(,|\$)"
	[ "$(ls -d t*)" = "$(printf 't\nt.old')" ] || fail "left behind: $(ls -d t*)"

	# Two programs, one after the other, in each rank.
	check_status 0 $launcher -np 2 sh -c 'sonde -q -o u -m ./marks.c ./rank 1 &&
		sonde -q -o u -m ./marks.c ./rank 2'
	[ "$(cd u && echo rank-*)" = 'rank-0 rank-0.2 rank-1 rank-1.2' ] || fail "$launcher: $(ls u)"
	rm -rf u
done
[ $tried -eq 1 ] || skip "no mpirun.openmpi and no mpirun.mpich"
