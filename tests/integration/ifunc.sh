# SPDX-License-Identifier: GPL-3.0-or-later
# Functions whose code is chosen at start-up: it is the code chosen that is wrapped.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program picks

for program in picks picks-static; do
	[ -x "$programs/$program" ] || continue
	# glibc's mempcpy may enter memcpy's code after its first instruction: then it is left alone,
	# and that is said
	same_run -q -o t -m "$modules/picks.c" -- "$programs/$program" 1000
	sonde -o told -m "$modules/picks.c" -- "$programs/$program" 1 2>told.err >/dev/null
	events t
	if grep -q 'memcpy is not wrapped: a branch goes into' told.err; then
		check_count 0 'enter("memcpy")'
	else
		check_count 1000 'enter("memcpy") && num("n") == 7777'
	fi
	check_count 1000 'returned("strlen") && num("n") == 7777'
	check_calls 1000 pick
	check_count 0 'unwound()'
done
