# SPDX-License-Identifier: GPL-3.0-or-later
# C++ exceptions pass through wrapped functions and their wrappers.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program throws

# Of 900 calls 300 return, 300 throw a string, 300 a number, of which catches() rethrows the odd ones.
check_exceptions()
{
	same_run -o t -m "$modules/jumps.c" -- "$programs/$1" 900
	check_contains traced.out '^300 returned, 300 errors .*, 150 numbers, 900 destroyed, box 904'
	events t
	for function in outer middle inner; do
		check_count 900 "enter(\"$function\")"
		check_count 300 "returned(\"$function\")"
		check_count 600 "unwound(\"$function\")"
	done
	check_count 900 'enter("catches")'
	check_count 450 'returned("catches")'
	check_count 450 'unwound("catches")'
	check_count 900 'enter("catches") && num("depth") == 0'
	check_count 300 'enter("work") && num("depth") == 1'
	check_calls 300 work
	# a C++ name is shown as people write it
	check_count 1 'has("shapes::box<long>::add") && num("a") == 900'
	check_count 1 'has("shapes::box<long>::add") && num("result") == 904'
}
check_exceptions throws
[ ! -x "$programs/throws-static" ] || check_exceptions throws-static
