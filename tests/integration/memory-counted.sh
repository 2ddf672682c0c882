# SPDX-License-Identifier: GPL-3.0-or-later
# Modules that only count accesses are fed from counters of edges between blocks, and streams of what these do not say.  What they
# are given is what they would be given of streams alone (--analyze=collector), of difficult code, and of programs of Debian.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command setarch gcc
setarch -R true 2>/dev/null || skip "address space randomization cannot be switched off"
. "$top_srcdir/tests/integration/matrix.sh"

run()
{
	env -i PATH="$PATH" LC_ALL=C LD_BIND_NOW=1 OMP_WAIT_POLICY=passive setarch -R timeout -s KILL 120 "$@"
}

# table TRACE: one line for each thread, whatever its number is, and its name, which is not known of processes that end soon
table()
{
	awk '/missing/ { print "missing" } NR > 1 { print ($1 == "all"), $(NF - 5), $(NF - 4), $(NF - 3), $(NF - 2), $(NF - 1), $NF }' \
		"$1/memcount.txt" | sort
}

# same_counts NAME OPTION... -- PROGRAM...
same_counts()
{
	local name=$1 status
	shift
	rm -rf counted stream
	run sonde -v -o counted -m memcount "$@" >counted.out 2>counted.err </dev/null
	status=$?
	[ "$status" -ne 77 ] || { echo "$name: not on this processor"; return; }
	run sonde -q -o stream -m memcount --analyze=collector "$@" >stream.out 2>stream.err </dev/null
	[ $? -eq "$status" ] || { show counted.err stream.err; fail "$name: ends with $status, with streams differently"; }
	check_same counted.out stream.out "stdout of $name"
	table counted >counted.table
	table stream >stream.table
	check_same stream.table counted.table "accesses of $name"
	[ "$(awk '$1 == "all" { print $6 }' counted/memcount.txt)" -gt 100 ] || fail "$name: hardly any accesses"
}

# streamed: bytes of memory streams, of the last that was counted
streamed()
{
	sed -n 's/^sonde: \([0-9]*\) bytes of memory streams$/\1/p' counted.err
}

for name in mem_jumps mem_lists mem_loops mem_odd mem_signals mem_stacks mem_strings mem_throws mem_vectors \
	mem_widths mem_avx512 fn_longjmps fn_signals fn_throws fn_odd fn_interp; do
	compile "$name" gcc -O2 -g
	case $name in
	mem_lists) same_counts "$name without stack" --mem-stack=no -- "./$name" ;;
	esac
	same_counts "$name" -- "./$name"
	case $name in
	mem_lists | fn_interp) [ "$(streamed)" = 0 ] || fail "$name: $(streamed) bytes were written to streams" ;;
	mem_vectors) [ "$(streamed)" -gt 0 ] || fail "$name: nothing was written to streams" ;;
	esac
done
compile mem_strings gcc -O1 -static-pie
same_counts "mem_strings, static" -- ./mem_strings

# Children and threads are counted for themselves; while recording is off nothing is.
cat >several.c <<'END'
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int v[64];

static void *work(void *arg)
{
	for (int i = 0; i < 1000; i++)
		v[i & 63] = i;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argv;
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	if (fork() == 0) {
		work(NULL);
		_exit(0);
	}
	wait(NULL);
	for (int i = 0; i < 2 && argc > 1; i++) {
		puts("ready");
		fflush(stdout);
		getchar();
		work(NULL);
	}
	return 0;
}
END
gcc -O1 -o several several.c -pthread || fail "gcc"
# stores TRACE: of each thread that has made any
stores()
{
	awk 'NR > 1 && $1 != "all" && $(NF - 4) { print $(NF - 4) }' "$1/memcount.txt" | paste -sd ' '
}

ready()
{
	[ "$(grep -c ready ready.out)" -eq "$1" ]
}

check_status 0 sonde -q -o t --mem=work -m memcount -- ./several
[ "$(stores t)" = "1000 1000" ] || { show t/memcount.txt; fail "a thread, or a child, did not store 1000 times"; }
mkfifo input
sonde -q -o u --mem=work -m memcount -- ./several twice <input >ready.out &
recorder=$!
exec 3>input
await 60 ready 1
check_status 0 sonde ctl u off
echo >&3
await 60 ready 2
check_status 0 sonde ctl u on
echo >&3
wait "$recorder" || fail "it does not end as it should"
exec 3>&-
[ "$(stores u)" = "1000 1000 1000" ] || { show u/memcount.txt; fail "what was done while recording was off is counted, or what was not"; }
