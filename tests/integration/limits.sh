# SPDX-License-Identifier: GPL-3.0-or-later
# Tight places: a limited address space, no /dev/shm to speak of, no descriptors left, all closed.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program closes ends threads

# A program that closes every descriptor, also those that are not its own.
for program in closes closes-static; do
	[ -x "$programs/$program" ] || continue
	check_status 0 "$programs/$program" plain 100
	check_status 0 sonde -o t -m "$modules/work.c" -- "$programs/$program" traced 100
	check_same plain traced "what the program could close"
	[ ! -s err ] || { show err; fail "sonde has something to say"; }
	events t
	check_calls 600 work
	check_contains info.txt '^processes +2$'
done

# 64 MiB of address space, for the program and for Sonde.
(
	ulimit -v 65536
	same_run -o t -m "$modules/work.c" -- "$programs/ends" 100000 exit
	events t
	check_calls 100000 work
) || exit 1
# and with threads, of which each needs a buffer
(
	ulimit -v 131072
	ulimit -s 256
	same_run -o t -m "$modules/work.c" -- "$programs/threads" 50 20 100
	events t
	check_calls $((50 * 100 + 1225 + 20 * 100 + 190)) work
) || exit 1

# Few descriptors.
(
	ulimit -n 16
	same_run -o t -m "$modules/work.c" -- "$programs/threads" 0 40 100
	events t
	check_calls $((4000 + 780)) work
) || exit 1

# A /dev/shm of 64 KiB, as in containers.
cat >small-shm.sh <<'EOF'
mount -t tmpfs -o size=64k none /dev/shm || exit 77
. "$top_srcdir/tests/integration/lib.sh"
same_run -o t -m "$modules/work.c" -- "$programs/threads" 0 8 20000
events t
check_calls 160028 work
EOF
if unshare -m true 2>/dev/null; then
	status=0
	unshare -m bash small-shm.sh || status=$?
	[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || fail "with a small /dev/shm"
fi

# Less room for copies than there are functions: those that find none are left alone, the program runs.
(
	ulimit -v 4000000
	for options in "--mem --libs" "-F * --libs" --mem; do
		for program in "perl -e print(1)" "bash -c echo"; do
			set -f
			check_status 0 sonde -o t $options -- $program
			$program >plain.out
			set +f
			check_same plain.out out "stdout of $program with $options"
		done
	done
	sonde info t | grep -q 'no room for its copy within reach' || fail "there was room for all copies"
) || exit 1
