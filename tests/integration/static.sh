# SPDX-License-Identifier: GPL-3.0-or-later
# Statically linked programs and those of musl: the user's module works in them, also one that needs the C
# library; stripped ones run.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ends-static

for program in ends-static ends-static-pie ends-musl ends-musl-dynamic; do
	[ -x "$programs/$program" ] || continue
	for how in return exit _exit abort segv 9 exec; do
		same_run -o t -m "$modules/work.c" -- "$programs/$program" 1000 "$how"
		events t
		check_calls 1000 work
	done
done

# Modules that need the C library have their own.
slow_guest
for program in ends-static ends-static-pie ends-musl ends-musl-dynamic; do
	[ -x "$programs/$program" ] || continue
	# not all of them have the other function that it wraps
	same_run "${slow[@]}" -q -o t -m "$modules/libc.c" -- "$programs/$program" 1000 exit
	events t
	check_calls 1000 work
done

# The modules that Sonde ships need nothing.
for program in io_mix malloc_mix threads_locks; do
	for kind in static musl; do
		[ -x "$programs/$program-$kind" ] || continue
		# not every program has something for every module, which is said unless -q
		same_run -q -o t -m posixio,memory,pthread -- "$programs/$program-$kind"
		events t
		[ "$(count 'enter()')" -gt 100 ] || fail "$(count 'enter()') calls in $program-$kind"
	done
done

# Stripped and static: nothing to be found in them, which is said, and they run.
stripped()
{
	local name=$1
	shift
	[ -x "$1" ] && "$@" >plain.out 2>plain.err || return
	check_status 0 sonde -o t -m "$modules/work.c" -- "$@"
	check_same plain.out out "stdout of $name"
	check_contains err '^sonde: warning: .*work'
	check_status 0 sonde -q -o t -m posixio,memory -- "$@"
	check_same plain.out out "stdout of $name with posixio and memory"
	check_same plain.err err "stderr of $name"
	sonde info t >info.txt || fail "no trace of $name"
}
stripped bash /bin/bash-static -c 'for i in 1 2 3; do echo $i | tr 1-3 a-c; done; (exit 0)'
stripped busybox /bin/busybox sh -c 'echo one two | awk "{ print \$2 }"; seq 100 | md5sum; ls -d /'
cp "$programs/ends-static" ends-stripped
strip ends-stripped
check_status 3 "$PWD/ends-stripped" 10 exit
"$PWD/ends-stripped" 10 exit >plain.out
check_status 3 sonde -o t -m "$modules/work.c" -- "$PWD/ends-stripped" 10 exit
check_same plain.out out "stdout of a stripped program"
check_contains err '^sonde: warning: module work: '

# A static program has no libraries: no fault of --libs.
check_status 3 sonde -o t -F '*' --libs -- "$programs/ends-static" 10 exit
check_lacks err 'warning'
check_status 3 sonde -o t -F '*' --libs=libm -- "$programs/ends-static" 10 exit
check_contains err '^sonde: warning: --libs libm: the program is static, it has no libraries$'

# Neither symbols nor unwind tables, as klibc's programs and those that Go has linked with -s: of the first, what is found from
# the entry point on is known, here a function that does not return; of the second nothing is, and that is why.
cat >bare.c <<'END'
void _start(void)
{
	__asm__ volatile("syscall" : : "a"(231), "D"(3));
}
END
bare="$CC -O1 -static -nostdlib -fno-asynchronous-unwind-tables -fno-stack-protector -s"
$bare -o bare bare.c || fail "cannot compile"
check_status 3 sonde -o t -F '*' -- ./bare
check_contains err '^sonde: warning: none of the 1 function chosen can be recorded'
check_status 0 sonde list -v -F '*' ./bare
check_contains out ' sub_[0-9a-f]+  \(entry point.*\)  -- not instrumented: does not return like other functions$'
echo '__asm__(".section .go.buildinfo, \"a\"\n.quad 0\n.text");' >>bare.c
$bare -o gone bare.c || fail "cannot compile"
check_status 3 sonde -o t -F '*' -- ./gone
check_contains err '^sonde: warning: -F \*: no functions are known: code made by Go, without symbols'
