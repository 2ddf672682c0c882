# SPDX-License-Identifier: GPL-3.0-or-later
# Modules of the user's own: chains of wrappers, wrapped functions called by wrappers, hooks,
# counters, misspelt functions, errors of the compiler, the cache.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ends

# Two modules wrap work(): the first one given is the first one called.
# first: i + 1000, result - 3000; second: i + 20000, result - 60000; so the program sees no change.
check_chain()
{
	same_run -o t -m "$modules/$1.c" -m "$modules/$2.c" -- "$programs/ends" 100 exit
	events t
	check_count 200 'enter("work")'
	check_count 200 'returned("work")'
	check_count 100 "enter(\"work\") && has(\"\\\"module\\\":\\\"$1\\\"\") && num(\"depth\") == 0 && num(\"i\") < 100"
	check_count 100 "enter(\"work\") && has(\"\\\"module\\\":\\\"$2\\\"\") && num(\"depth\") == 1 && num(\"i\") >= $3"
	check_count 1 "returned(\"work\") && has(\"\\\"module\\\":\\\"$1\\\"\") && num(\"result\") == 298"
}
check_chain first second 1000
check_chain second first 20000
same_run -o t -m "$modules/second.c,$modules/work.c,$modules/first.c" -- "$programs/ends" 100 exit
events t
check_count 300 'enter("work")'
check_count 100 'enter("work") && has("\"module\":\"work\"") && num("depth") == 1 && num("i") >= 20000'

# What a wrapper calls between sonde_enter() and sonde_leave() is not recorded, and does not recurse.
# The program itself calls atoi() once, that is strtol().
same_run -o t -m "$modules/libc.c" -- "$programs/ends" 1000 return
events t
check_calls 1000 work
check_calls 1 strtol
check_count 1 'enter("strtol") && has("\"text\":\"1000\"")'
check_count 1000 'point("between") && num("one") == 1 && num("depth") == 1'
nested=$(sed -n 's/.*"type":"thread-end".*"nested":\([0-9]*\).*/\1/p' t/metadata)
[ "$nested" -eq 2000 ] || fail "$nested nested calls instead of 2000"

# Code at start and end, counters.
for program in ends ends-static ends-musl; do
	[ -x "$programs/$program" ] || continue
	same_run -o t -m "$modules/hooks.c" -- "$programs/$program" 1000 return
	events t
	check_count 1 'point("start") && num("calls") == 0'
	check_count 1 'point("exit") && num("calls") == 1000'
	check_contains t/metadata '"type":"thread-end".*"counters":\[\[[0-9]+,1000\]\]'
done

# A function that is not there: a warning that names those with similar names, and the program runs.
"$programs/ends" 5 exit >plain.out
for program in ends ends-static; do
	[ -x "$programs/$program" ] || continue
	check_status 3 sonde -o t -m "$modules/typo.c" -- "$programs/$program" 5 exit
	check_same plain.out out "stdout"
	check_contains err '^sonde: warning: module typo: there is no function works in the program.*did you mean .*work'
	check_lacks err wok
	check_status 3 sonde -q -o t -m "$modules/typo.c" -- "$programs/$program" 5 exit
	[ ! -s err ] || { show err; fail "-q is not quiet"; }
done

# What does not compile: the compiler's messages, exit status 2, nothing left, nothing run.
rm -rf t t.old
check_status 2 sonde -o t -m "$modules/broken.c" -- sh -c 'echo ran; touch ran'
check_contains err 'broken.c:.*error:.*no_such_variable'
check_contains err "^sonde: $modules/broken.c: not compiled"
[ ! -s out ] && [ ! -e ran ] || fail "the program ran"
[ ! -e t ] || fail "a failed compilation left a trace folder"
check_status 2 sonde -o t -m ./none.c -- true
check_status 2 sonde -o t -m "$modules/work.c" -m no-such-module -- true
echo 'int x;' >no-module.c
check_status 2 sonde -o t -m ./no-module.c -- true
echo >empty.so
check_status 2 sonde -o t -m ./empty.so -- true
[ ! -e t ] || fail "a failed start left a trace folder"

# The cache: one compilation for all; a module in it needs no compiler, one that changed does.
rm -rf cache
cat >mine.c <<'EOF'
#include <sonde/module.h>
#include "mine.h"
SONDE_MODULE("mine", "depends on a header");
SONDE_WRAP(int, work, (int i))
{
	sonde_point(POINT, SONDE_I32("i", i));
	return SONDE_REAL(work)(i);
}
EOF
echo '#define POINT "one"' >mine.h
for i in 1 2 3 4; do
	"${limit[@]}" sonde -o "t$i" -m ./mine.c -- "$programs/ends" 1000 exit >"out$i" 2>"err$i" &
	eval "pid$i=$!"
done
for i in 1 2 3 4; do
	status=0
	eval "wait \$pid$i" || status=$?
	[ "$status" -eq 3 ] || { show "err$i"; fail "exit status $status of one of four at once"; }
	[ ! -s "err$i" ] || { show "err$i"; fail "messages of one of four at once"; }
	events "t$i"
	check_count 1000 'point("one")'
done
[ "$(ls cache/sonde/*.so | wc -l)" -eq 1 ] || fail "compiled more than once: $(ls cache/sonde)"
cat >logged-cc <<EOF
#!/bin/sh
case " \$* " in *" -shared "*) echo compiled >>$PWD/compiler.log ;; esac
exec ${CC:-cc} "\$@"
EOF
chmod +x logged-cc
sleep 0.1 # what may have changed while it was used is not trusted
export CC=$PWD/logged-cc
for n in 1 2 3; do
	check_status 3 sonde -o t -m ./mine.c -- "$programs/ends" 10 exit
	events t
	check_count 10 'point("one")'
	[ "$(wc -l <compiler.log)" -eq 1 ] || fail "compiled once more in run $n"
done
sleep 0.01
echo '#define POINT "two"' >mine.h
CC=/nowhere/cc check_status 2 sonde -o t -m ./mine.c -- "$programs/ends" 10 exit
check_contains err '^sonde: .*/nowhere/cc'
check_status 3 sonde -o t -m ./mine.c -- "$programs/ends" 10 exit
events t
check_count 10 'point("two")'
[ "$(wc -l <compiler.log)" -eq 2 ] || fail "not compiled after a change of what it includes"
