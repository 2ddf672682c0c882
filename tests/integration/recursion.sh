# SPDX-License-Identifier: GPL-3.0-or-later
# Functions that call themselves and one another: every call is recorded, at its depth.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program recurse

# 50,000 frames of the program's and as many of wrappers.
ulimit -s 65536 2>/dev/null || ulimit -s unlimited 2>/dev/null || skip "the stack is limited"

check_recursion()
{
	same_run -o t -m "$modules/recurse.c" -- "$programs/$1" 50000 15
	check_contains traced.out '^calls: down 50001 ping 25001 pong 25000 fib 1973$'
	events t
	check_calls 50001 down
	check_calls 25001 ping
	check_calls 25000 pong
	check_calls 1973 fib
	# down(n) and, by turns, ping(n) and pong(n) are called by the one with n + 1
	check_count 50001 'enter("down") && num("n") + num("depth") == 50000'
	check_count 50001 'returned("down") && num("result") + num("depth") == 50000'
	check_count 50001 '(enter("ping") || enter("pong")) && num("n") + num("depth") == 50000'
	check_count 1 'enter("fib") && num("depth") == 0'
	check_count 2 'enter("fib") && num("depth") == 1'
	check_count 4 'enter("fib") && num("depth") == 2'
	check_count 2 'enter("fib") && num("depth") == 14'
}
check_recursion recurse
[ ! -x "$programs/recurse-static" ] || check_recursion recurse-static
