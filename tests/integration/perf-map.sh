# SPDX-License-Identifier: GPL-3.0-or-later
# --perf-map: what it names is where perf looks for names.  That perf finds them: perf-report.sh.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

check_status 0 sonde -q -F '*' --perf-map -o t -- bash -c 'cat /proc/$$/maps; echo $$'
pid=$(tail -n 1 out)
mv "/tmp/perf-$pid.map" names || fail "no map"
check_contains names '^[0-9a-f]+ [0-9a-f]+ \[sonde\]$'
check_contains names '^[0-9a-f]+ [0-9a-f]+ main$'
check_lacks out 'memfd:sonde-code'
# a copy of the code in each place; the runtime's data lies among it
awk 'NR == FNR { if ($2 ~ /x/ && $6 ~ /^\/SYSV/) { split($1, range, "-"); from[++n] = range[1]; to[n] = range[2] } next }
	{ at = sprintf("%12s", $1); gsub(" ", "0", at); in_one = 0
	  for (i = 1; i <= n; i++) in_one += at >= from[i] && at < to[i]
	  if (!in_one) { print "not in a segment: " $0; bad = 1 } }
	END { exit bad || n < 2 || FNR < 100 }' out names || fail "functions that perf would not look up"
ipcs -m | awk -v uid="$(id -un)" '$3 == uid && $6 == 0 && /dest/ { exit 1 }' || fail "a segment stays"
