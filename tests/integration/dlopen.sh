# SPDX-License-Identifier: GPL-3.0-or-later
# Libraries that a program loads itself are instrumented before their constructors run, again and
# again, and are found where the program looks for them.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program loads libplug.so libouter.so

# Each round: one call in the constructor, two by the program, one in the destructor.
check_loads()
{
	local rounds=$1 threads=$2 all
	all=$((rounds * (threads + 1)))
	same_run -o t -m "$modules/plug.c" -- "$programs/loads" "$rounds" "$threads"
	check_contains traced.out '^by another: 8$'
	events t
	check_calls "$all" work
	check_calls 1 outer_work
	# concurrent users of one library share a mapping, and its constructor
	if [ "$threads" -eq 0 ]; then
		check_calls $((4 * all + 3)) plug_work
		check_count $((all + 1)) 'enter("plug_work") && num("i") == 100'
		check_count $((all + 1)) 'enter("plug_work") && num("i") == 200'
	fi
	check_count $((2 * all)) 'enter("plug_work") && num("i") < 100 && num("depth") == 0'
	check_count 1 'enter("plug_work") && num("i") == 7 && num("depth") == 1'
}
check_loads 1 0
check_loads 20 0
check_loads 10 4

# dlopen() looks where its caller may, so with a wrapper as caller it would not find libouter.so.
"$programs/loads" 2 1 >plain.out
check_status 0 sonde -o t -m "$modules/dlopen.c" -- "$programs/loads" 2 1
check_same plain.out out "stdout with a wrapper for dlopen()"
if [ -s err ]; then
	check_contains err '^sonde: warning: module dlopen: dlopen is not wrapped: '
else
	events t
	check_calls 6 dlopen
fi

# Late libraries with the modules that Sonde ships, which wrap what the dynamic linker calls.
same_run -o t -m posixio,memory,pthread -- "$programs/loads" 5 4

# Code memory is not had back from libraries that are gone: there is an end to recording one that is loaded again and again, which
# is said once; the program does the same to its end, and what was recorded before is there.
"$programs/loads" 1100 0 >plain.out
for what in --mem= -F; do
	rm -rf t
	check_status 0 sonde "${what}plug_work@libplug*" -o t -- "$programs/loads" 1100 0
	check_same plain.out out "stdout of a program that loads a library 1,100 times"
	check_contains err 'libplug.so and what is loaded after it is not recorded: there is no room for more copies of code'
	[ "$(wc -l <err)" -eq 1 ] || { show err; fail "more than that"; }
done
recorded=$(sonde dump t | grep -c 'plug_work')
[ "$recorded" -ge 2000 ] || fail "$recorded lines of what was recorded before"
