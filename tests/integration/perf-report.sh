# SPDX-License-Identifier: GPL-3.0-or-later
# --perf-map: perf finds the names.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command perf
need_program recurse
perf record -q -o /dev/null true >/dev/null 2>&1 || skip "perf may not record here"

check_status 0 perf record -q -o data -- "$top_builddir/sonde" -q -F 'fib' --perf-map -o t -- "$programs/recurse" 10 24
perf report -i data --stdio --comm recurse -F dso,sym >report.txt 2>&1 || { show report.txt; fail "perf report"; }
check_contains report.txt '\[JIT\] tid [0-9]+ .* fib'
rm -f "/tmp/perf-$(perf script -i data --comm recurse -F pid 2>/dev/null | head -n 1 | tr -d ' ').map"
