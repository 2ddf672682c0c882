# SPDX-License-Identifier: GPL-3.0-or-later
# C libraries that make all their system calls at one place, with the number in eax: klibc, also as the library at a fixed address
# that is its own "dynamic linker", and dietlibc.  Handlers and programs that are executed are seen there.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >small.c <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile long in_handlers, ticks;
__attribute__((noinline)) long work(long i)
{
	for (volatile int k = 0; k < 3; k++)
		i += k;
	return i;
}
static void on_timer(int sig)
{
	ticks++;
	in_handlers += work(sig) - sig;
}
int main(int argc, char **argv)
{
	struct itimerval t = { { 0, 100 }, { 0, 100 } };
	long n = atol(argv[1]), sum = 0;
	int status = 0;

	signal(SIGALRM, on_timer);
	setitimer(ITIMER_REAL, &t, 0);
	for (long i = 0; i < n || ticks < 100; i++)
		sum += i < n ? work(i) : 0;
	t.it_value.tv_usec = 0;
	setitimer(ITIMER_REAL, &t, 0);
	printf("%ld %d\n", sum, in_handlers == 3 * ticks);
	fflush(stdout);
	if (fork() == 0) {
		char *args[] = { "sh", "-c", "exit 3", NULL };

		execve("/bin/sh", args, argv + argc);
		_exit(9);
	}
	while (wait(&status) < 0)
		;
	return status >> 8;
}
END

tried=
# try NAME COMPILER...: compiled so it does the same under Sonde
try()
{
	local name=$1
	shift
	command -v "$1" >/dev/null && "$@" -O1 -o "$name" small.c 2>/dev/null || return 0
	tried=yes
	./"$name" 300000 >plain.out || [ $? -eq 3 ] || fail "$name alone: status $?"
	for options in "-F *" --mem --blocks --blocks=trace "--mem -F *"; do
		set -f
		check_status 3 sonde -q $options -o t -- ./"$name" 300000
		set +f
		check_same plain.out out "what $name prints with $options"
		sonde info t >info.txt
		check_contains info.txt '^lost +nothing$'
	done
	sonde report t >report.txt
	check_contains report.txt " sh -c 'exit 3'\$"
	sonde -q -F work -F on_timer -o t -- ./"$name" 300000 >/dev/null
	sonde report --csv t >report.csv
	awk -F, '{ gsub(/"/, "") } { calls[$1] = $4 } END { exit calls["work"] != 300000 + calls["on_timer"] }' report.csv ||
		{ show report.csv; fail "$name: calls of work()"; }
}
try klibc-static klcc -static
try klibc-shared klcc -shared
try dietlibc diet gcc
[ "$tried" ] || skip "neither klibc nor dietlibc is here"
