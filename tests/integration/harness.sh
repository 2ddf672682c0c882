# SPDX-License-Identifier: GPL-3.0-or-later
# The test runner itself: statuses, the time limit, what a test leaves running, its folder.
. "$top_srcdir/tests/integration/lib.sh"

here=$PWD

# run_as_test SCRIPT-TEXT: through tests/run, as a test of its own named inner.sh
run_as_test()
{
	printf '%s\n' "$1" >"$here/inner.sh"
	(cd "$top_builddir" && "$top_srcdir/tests/run" "$here/inner.sh")
}

check_status 0 run_as_test 'exit 0'
[ ! -e "$top_builddir/tests/tmp/inner.sh" ] || fail "the folder of a passed test stays"

check_status 3 run_as_test 'echo kept >file; exit 3'
check_contains "$top_builddir/tests/tmp/inner.sh/file" '^kept$'
check_contains out 'exit status 3'

check_status 77 run_as_test '. "$top_srcdir/tests/integration/lib.sh"; skip "no reason"'
check_contains out '^SKIP: no reason$'

check_status 1 run_as_test '. "$top_srcdir/tests/integration/lib.sh"; check_status 1 true'
check_status 1 run_as_test '. "$top_srcdir/tests/integration/lib.sh"; echo a >f; check_lacks f a'
check_status 1 run_as_test '. "$top_srcdir/tests/integration/lib.sh"; echo a >f; check_contains f b'
check_status 1 run_as_test '. "$top_srcdir/tests/integration/lib.sh"; echo a >f; echo >g; check_same f g'

SONDE_TEST_TIMEOUT=1 check_status 124 run_as_test 'trap "" TERM INT; while :; do sleep 9; done'
check_contains out 'out of time'
check_status 137 run_as_test 'kill -KILL $$'
check_contains out 'killed'

# alive PID: a zombie, which waits for a parent that is not ours, is dead enough.
alive()
{
	grep -Eq '^State:[[:space:]][^ZX]' "/proc/$1/status" 2>/dev/null
}

# Its own children, and those that went away from it, are taken down.
for starter in '' setsid; do
	check_status 1 run_as_test "$starter sleep 60 & echo \$! >'$here/left'; sleep 0.2; exit 1"
	alive "$(cat left)" && fail "what the test started still runs: $starter sleep"
done
exit 0
