# SPDX-License-Identifier: GPL-3.0-or-later
# A trace as a page: its data are what other verbs say, nothing in a trace is taken for a part of the page, and the page runs.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
need_program jumps threads throws

# check_page TRACE [KIND=FILE...]: the data; the page runs without an error, if there is a browser.
check_page()
{
	check_status 0 sonde report --html page.html "$1"
	[ ! -s out ] || fail "--html wrote to standard output"
	sonde report --json --all "$1" >report.json || fail "report"
	sonde export -f csv "$1" >calls.csv || fail "export"
	sonde export -f folded "$1" >graph.folded || fail "export folded"
	python3 "$top_srcdir/tests/integration/html.py" page.html report=report.json calls=calls.csv folded=graph.folded \
		"${@:2}" || fail "the page of $1"
	check_runs
}

# A page that has run to its end says so.
check_runs()
{
	command -v chromium >/dev/null || return 0
	"${limit[@]}" chromium --headless --no-sandbox --disable-gpu --user-data-dir="$PWD/browser" --dump-dom "file://$PWD/page.html" \
		>dom 2>browser.err || { show browser.err; fail "chromium"; }
	grep -q 'data-ready="yes"' dom || { show dom browser.err; fail "the page does not run to its end"; }
	! grep -q 'data-error' dom || { show dom; fail "the page fails"; }
}

sonde -q -F '*' -m memory -o t -- "$programs/threads" 3 2 10 >/dev/null || fail "threads"
check_page t
sonde -q -F '*' -o t -- "$programs/throws" 30 >/dev/null || fail "throws"
check_page t

# More calls than a page has room for.
cat >many.c <<'END'
#include <stdlib.h>
__attribute__((noinline)) static long leaf(long n) { __asm__ volatile(""); return n + 1; }
__attribute__((noinline)) static long several(long n) { for (int i = 0; i < 50; i++) n = leaf(n); return n; }
int main(int argc, char **argv) { long n = 0; (void)argc; for (long i = atol(argv[1]); i; i--) n = several(n); return n == 1; }
END
gcc -O1 -o many many.c || skip "no compiler"
sonde -q -F '*' -o t -- ./many 9000 || fail "many"
check_page t
grep -q '"cell":[1-9]' page.html || fail "no calls are drawn together"

# Names, arguments and bytes that a page must not take for its own.
bad=$'a<script>document.documentElement.dataset.error=1<b>"\'&\xff\x01\\'
cp many "$bad"
sonde -q -F '*' -o t -- ./"$bad" 3 '</script><script>document.documentElement.dataset.error=2</script>' || fail "bad names"
check_page t
check_lacks page.html 'dataset.error=2</script>'

# What memory is accessed by.
sonde -q --mem -F '*' -o t -- gzip -c "$top_srcdir/NEWS" >/dev/null || fail "gzip"
sonde memory --json -b loop t >loops.json || fail "memory"
check_page t memory=loops.json

# OpenMP and MPI, where these are.
if gcc -O2 -g -fopenmp -o kernels "$top_srcdir/tests/programs/omp_kernels.c" -lm 2>gcc.err; then
	OMP_NUM_THREADS=3 OMP_SCHEDULE=dynamic,256 sonde -q -m openmp -F '*' -o t -- ./kernels >/dev/null || fail "kernels"
	sonde report --omp --json t >omp.json || fail "report --omp"
	check_page t omp=omp.json
fi
if command -v mpirun.mpich >/dev/null && [ -x "$programs/mpi_waits-mpich" ]; then
	rm -rf t
	"${limit[@]}" mpirun.mpich -np 2 sonde -q -m mpi -o t -- "$programs/mpi_waits-mpich" 50 >printed 2>err || { show printed err; fail "mpi_waits"; }
	sonde report --mpi --json t >mpi.json || fail "report --mpi"
	check_page t mpi=mpi.json
fi

# Only one thread, to standard output.
sonde -q -F '*' -o t -- "$programs/threads" 3 2 10 >/dev/null || fail "threads"
check_status 0 sonde report --html - t
grep -q '^</html>' out || fail "no page on standard output"
check_usage_error sonde report --html page2.html --thread 1 t
check_usage_error sonde report --html page2.html --csv t
check_usage_error sonde report --html page2.html --limit 3 t
check_usage_error sonde report --html no/page2.html t
check_usage_error sonde report --html page2.html no-trace
[ ! -e page2.html ] || fail "a file is left of what could not be made"

# Half a trace.
for file in t/*.thread t/*/*.thread t/thread* t/*; do
	[ -f "$file" ] && [ "${file##*/}" != metadata ] && [ "$(stat -c %s "$file")" -gt 200 ] && truncate -s -100 "$file"
done
sonde report --html page.html t >out 2>err
status=$?
[ $status -le 2 ] || fail "exit status $status for a trace that is cut off"
if [ $status -ne 2 ]; then
	check_runs
fi
exit 0
