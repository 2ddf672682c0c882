# SPDX-License-Identifier: GPL-3.0-or-later
# Modules that need the C library, in programs that have another one or none: their own works, in threads, under signals, in
# children; the program does what it does without it, and its variables are its own.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program beside-static
[ -e /lib64/ld-linux-x86-64.so.2 ] || skip "no GNU dynamic linker where the ABI has it"
export GUEST_LOG=$PWD/log
slow_guest

# both WHAT CALLS: it runs, with the module and without, and the log says CALLS calls ("": any), none of them wrong
both()
{
	rm -f log
	same_run "${options[@]}" -q -o t -m "$modules/guest.c" -- "$programs/$program" $1
	check_contains log "^calls ${2:-[0-9]+} wrong 0\$"
}

for program in beside-static beside-musl beside-musl-dynamic; do
	[ -x "$programs/$program" ] || continue
	options=("${slow[@]}")
	both "calls 500" 500
	check_contains log '^exit: started 1$'
	events t
	check_calls 500 work
	both "threads 200 8" 8200
	events t
	check_calls 8200 work
	both "signals 100"
	sonde info t >info.txt
	check_contains info.txt '^left out +[0-9]+ calls? without wrapper, whose C library could not be entered$'
	# a child of one thread goes on, one of several does not
	both "forks 100" 200
	check_contains log '^calls 300 wrong 0$'
	sonde info t >info.txt
	check_contains info.txt '^left out +100 calls without wrapper'
	both "main 100" 200
	# handlers that do not return take the thread out of the module, to which nobody goes any more
	same_run "${slow[@]}" -q -o t -m "$modules/guest.c" -- "$programs/$program" jumps 100
	options=(--slow-guest)
	both "threads 20 4" 420
	both "signals 20"
done

# A module beside others; with functions, and memory accesses, of the program.
program=beside-static
for options in -mmemory,posixio "-F * -N on_timer" --mem --blocks; do
	set -f
	options=($options "${slow[@]}")
	set +f
	both "threads 50 4" 1050
done

# Exceptions of the program pass through its wrappers.
if [ -x "$programs/throws-static" ]; then
	"$programs/throws-static" 30 >plain.out 2>plain.err || plain=$?
	check_status "${plain:-0}" sonde "${slow[@]}" -q -o t -m "$modules/guest-says.c" -- "$programs/throws-static" 30
	check_same plain.out out "stdout of a program that throws"
	check_contains err '^outer 29$'
	# called before there is a thread control block
	check_contains err '^TLS is set up$'
fi

# No C library at all, and no thread control block; FS is set to something else on the way.
cat >bare.c <<'END'
static long block[2] = { 0, 0 };
static long call(long nr, long a, long b)
{
	long result;

	__asm__ volatile("syscall" : "=a"(result) : "a"(nr), "D"(a), "S"(b) : "rcx", "r11", "memory");
	return result;
}
__attribute__((noipa)) long work(long i)
{
	for (volatile int k = 0; k < 3; k++)
		i += k;
	return i;
}
void _start(void)
{
	long sum = 0;

	for (int i = 0; i < 10; i++)
		sum += work(i);
	if (FS >= 0) {
		block[0] = FS ? (long)block : 0;
		call(158, 0x1002, (long)block);
		sum += work(10);
	}
	call(NR, sum & 127, 0);
	__builtin_trap();
}
END
for how in "-DFS=-1 -DNR=60" "-DFS=-1 -DNR=231" "-DFS=0 -DNR=231" "-DFS=1 -DNR=231"; do
	$CC -O1 $how -fno-stack-protector -static -nostdlib -o bare bare.c || fail "cannot compile"
	./bare || plain=$?
	check_status "$plain" sonde "${slow[@]}" -q -o t -m "$modules/guest-says.c" -- ./bare
	check_contains err '^work 9$'
	case $how in *=-1*) ;; *) check_contains err '^work 10$' ;; esac
done

# klibc, linked statically.
if command -v klcc >/dev/null; then
	cat >small.c <<'END'
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) long work(long i)
{
	for (volatile int k = 0; k < 3; k++)
		i += k;
	return i;
}
int main(void)
{
	printf("%ld\n", work(5));
	exit(6);
}
END
	klcc -static -O1 -o small small.c || fail "cannot compile with klcc"
	check_status 6 sonde "${slow[@]}" -q -o t -m "$modules/guest-says.c" -- ./small
	check_contains out '^8$'
	check_contains err '^work 5$'
fi

# What cannot be loaded is said in a line, before the program has run.
printf '#include <sonde/module.h>\nSONDE_MODULE("lacks", "");\nint nowhere(void);\nSONDE_WRAP(long, work, (long i)) { return nowhere() + SONDE_REAL(work)(i); }\n' >lacks.c
check_status 125 sonde "${slow[@]}" -o refused -m ./lacks.c -- "$programs/beside-static" calls 5
check_contains err '^sonde: module .* needs a C library, which cannot be loaded beside the program: .*nowhere'
[ ! -s out ] && [ ! -e refused ] || fail "it ran, or left a trace folder"

# Debian's static shells, which are stripped: a module in C and C++ that wraps what signatures name.
libc=$($CC -print-file-name=libc.a)
if [ -e "$libc" ] && command -v g++ >/dev/null && { [ -x /bin/busybox ] || [ -x /bin/bash-static ]; }; then
	cat >counts.cc <<'END'
#include <cstdlib>
#include <fstream>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
static std::map<std::string, long> counts;
static std::mutex lock;
static struct report {
	~report()
	{
		std::ofstream log(std::getenv("GUEST_LOG"), std::ios::app);

		for (auto &c : counts)
			log << c.first << " " << c.second << std::endl;
	}
} at_end;
extern "C" __attribute__((visibility("hidden"))) void count(const char *name)
{
	std::lock_guard<std::mutex> guard(lock);

	try {
		if (++counts[name] % 2)
			throw std::runtime_error(name);
	} catch (std::exception &) {
	}
}
END
	cat >logs.c <<'END'
#include <stdio.h>
#include <sys/types.h>
#include <sonde/module.h>
SONDE_MODULE("logs", "logs and counts");
void count(const char *name);
static FILE *out;
__attribute__((constructor)) static void begin(void) { out = tmpfile(); }
SONDE_WRAP_IF_PRESENT(void *, malloc, (size_t n))
{
	sonde_enter();
	fprintf(out, "malloc %zu\n", n);
	count("malloc");
	void *p = SONDE_REAL(malloc)(n);
	sonde_leave();
	return p;
}
SONDE_WRAP_IF_PRESENT(ssize_t, write, (int fd, const void *b, size_t n))
{
	sonde_enter();
	fprintf(out, "write %d %zu\n", fd, n);
	count("write");
	ssize_t r = SONDE_REAL(write)(fd, b, n);
	sonde_leave();
	return r;
}
END
	$CC -O2 -fPIC -fvisibility=hidden -I"$top_srcdir/modules/include" -c logs.c && g++ -O2 -fPIC -c counts.cc &&
		g++ -shared -o logs.so logs.o counts.o || fail "cannot compile"
	sonde signature make "$libc" >/dev/null 2>&1 || fail "no signatures"
	shell()
	{
		[ -x "$1" ] || return 0
		rm -f log
		same_run "${slow[@]}" -q --no-follow -o t -m ./logs.so -- "$@"
		check_contains log '^malloc [0-9]+$'
	}
	shell /bin/busybox sh -c 'echo one two | awk "{ print \$2 }"; seq 100 | md5sum; (exit 4)'
	shell /bin/busybox sort /etc/services
	shell /bin/bash-static -c 'for i in 1 2 3; do echo $i; (echo $((i * 2)); exit 3); done; x=$(echo hi); echo $? $x; exit 5'
fi
