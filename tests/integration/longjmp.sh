# SPDX-License-Identifier: GPL-3.0-or-later
# Functions left by longjmp are closed in the trace; what is called later is recorded, at its depth.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program jumps

for program in jumps jumps-static jumps-musl jumps-musl-dynamic; do
	[ -x "$programs/$program" ] || continue
	same_run -o t -m "$modules/jumps.c" -- "$programs/$program" 1000
	check_contains traced.out '^500 returned, 500 jumped$'
	events t
	for function in outer middle inner; do
		check_count 1000 "enter(\"$function\")"
		check_count 500 "returned(\"$function\")"
		check_count 500 "unwound(\"$function\")"
		check_count 500 "unwound(\"$function\") && num(\"i\") == \"\""
	done
	check_calls 2000 work
	check_count 1000 'enter("outer") && num("depth") == 0'
	check_count 1000 'enter("inner") && num("depth") == 2'
	check_count 500 'unwound("inner") && num("depth") == 2'
	check_count 500 'unwound("outer") && num("depth") == 0'
	check_count 999 'enter("work") && num("depth") == 0 && num("i") < 0'
	check_count 999 'enter("work") && num("depth") == 3 && num("i") > 0'
done
