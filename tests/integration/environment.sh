# SPDX-License-Identifier: GPL-3.0-or-later
# A program finds the same environment with Sonde as without: variables, auxiliary vector, open
# files, signals, limits, process group and terminal; and so do the programs that it starts.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program env

# Compiled first: with the little that `env -i` leaves there is no place to.
check_status 0 sonde -o t -m "$modules/work.c" -- true
module=$(echo cache/sonde/*.so)
[ -f "$module" ] || fail "where is the compiled module?"
module=$PWD/$module
sonde=$(type -P sonde)

# same_environment PROGRAM VARIABLE...
same_environment()
{
	local program=$programs/$1
	shift
	env -i "$@" "$program" child 'an argument' '' </dev/null >plain.out 2>plain.err
	env -i "$@" "$sonde" -o t -m "$module" -- "$program" child 'an argument' '' \
		</dev/null >traced.out 2>traced.err
	check_same plain.out traced.out "what $program was given"
	events t
	check_calls 2 work # one of them in the child, which executes the same program
}

for program in env env-static; do
	[ -x "$programs/$program" ] || continue
	same_environment "$program"
	check_contains traced.out '^TracerPid:[[:space:]]0$'
	check_contains traced.out '^LD_PRELOAD unset'
	same_environment "$program" ONE=1 TWO= HOME=/nowhere PATH=/usr/bin:/bin
	same_environment "$program" LONG="$(head -c 100000 /dev/zero | tr '\0' x)" LAST=1
done

# The user's own LD_PRELOAD works, and stays as it is.
cat >preloaded.c <<'EOF'
#include <unistd.h>
__attribute__((constructor)) static void hello(void)
{
	write(2, "preloaded\n", 10);
}
EOF
$CC -shared -fPIC -o preloaded.so preloaded.c || fail "not compiled"
same_environment env LD_PRELOAD="$PWD/preloaded.so" B=2
check_contains traced.out "^env LD_PRELOAD=$PWD/preloaded.so\$"
check_status 0 grep -c preloaded plain.err
check_contains out '^2$'
check_status 0 grep -c preloaded traced.err # and one that is sonde's
check_contains out '^3$'
same_environment env A=1 LD_PRELOAD= B=2

# The library of AddressSanitizer has to be the first that is loaded.
cat >sanitized.c <<'EOF'
#include <stdlib.h>
int main(void)
{
	volatile char *p = malloc(3);
	p[0] = 1;
	free((void *)p);
	return p[0];
}
EOF
for way in "gcc" "clang -shared-libasan -Wl,-rpath,$(clang -print-resource-dir 2>/dev/null)/lib/linux"; do
	$way -g -fsanitize=address -o sanitized sanitized.c 2>/dev/null && { ./sanitized >plain.out 2>plain.err || true; } || continue
	grep -q heap-use-after-free plain.err || continue
	status=0
	sonde -o sanitized.t -m memory,posixio -- ./sanitized >traced.out 2>traced.err || status=$?
	[ $status -eq 1 ] && grep -q heap-use-after-free traced.err || { show traced.err; fail "$way -fsanitize=address: $status"; }
	sonde report sanitized.t | grep -Eq 'memory +malloc$' || fail "$way -fsanitize=address: no malloc()"
done

# More than three files open, some signals ignored or blocked, other limits.
(
	exec 5</dev/null 9>/dev/null
	trap '' HUP USR1 CHLD
	ulimit -n 512 -c 0
	same_environment env A=1
) || exit 1
check_contains traced.out '^fds: 0 1 2 3 5 9( |$)'
check_contains traced.out '^signal 10: handler ignored$'

# Neither stdin nor stdout nor stderr are Sonde's; stdin reaches the program, unread by anyone else.
printf 'one\ntwo\n' >input
STDIN=input same_run -o t -m posixio -- cat
check_contains traced.out '^two$'
printf 'one\ntwo\n' | { sonde -o t -m posixio -- head -c 4; cat; } >rest
printf 'one\ntwo\n' | { head -c 4; cat; } >rest.plain
check_same rest.plain rest "what the program left in stdin"
same_environment env <&-
(same_environment env >&-) 2>/dev/null
check_status 0 sonde -o t -m "$module" -- "$programs/env" <&-
