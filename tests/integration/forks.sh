# SPDX-License-Identifier: GPL-3.0-or-later
# Forked children, their children and their threads are recorded, however they end.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program forks

for program in forks forks-static forks-musl forks-musl-dynamic; do
	[ -x "$programs/$program" ] || continue
	same_run -o t -m "$modules/work.c" -- "$programs/$program" 50
	# 24 of the parent, 1 + ... + 50 of the children, 5 times 7 of grandchildren, 10 times 3 of threads
	check_contains traced.out '^1364 calls, 10 killed, '
	events t
	check_calls 1364 work
	check_contains info.txt '^processes +56$'
	check_contains info.txt '^threads +66$'
	# child 49 calls work(0) ... work(49), in a process of its own
	pid=$(awk -F'"pid":' '/"i":49}/ { split($2, v, ","); print v[1] }' events.json)
	check_count 53 "enter(\"work\") && num(\"pid\") == $pid"
done
[ -s events.json ] || fail "no program was there"
