# SPDX-License-Identifier: GPL-3.0-or-later
# Modules are given memory accesses in the program's own threads: the same as in Sonde's process, whatever the program
# does meanwhile, and the program does not see it.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ends threads loads spawns jumps
sources=$top_srcdir/tests/programs
both=$modules/order.c,memcount

# tables DIR: what the modules saw, without what differs from run to run: names, numbers, addresses.
tables()
{
	awk 'NR > 1 { if ($1 != "all") $1 = ""; print $(NF - 6), $(NF - 5), $(NF - 4), $(NF - 3), $(NF - 2), $(NF) }' OFS=' ' "$1/memcount.txt" |
		sed 's/^[^ ]* //' | sort
	awk '{ $7 = ""; print }' "$1/order.txt" | sort
	grep -h 'missing' "$1/memcount.txt"
}

# by_place [OPTION...] -- COMMAND...: collector, inproc
by_place()
{
	local place
	for place in collector inproc; do
		rm -rf "t.$place"
		same_run -q --mem --analyze=$place -m "$both" -o "t.$place" "$@"
		tables "t.$place" >"tables.$place"
		check_lacks "tables.$place" missing
		check_lacks "t.$place/order.txt" '[^ 0]+ gaps'
	done
	check_same tables.collector tables.inproc "what modules see of $*"
	[ "$(sed -n 's/ .*//p' t.inproc/order.txt | sort -n | tail -n 1)" -ge 50 ] || fail "hardly any accesses: $*"
}

# ---- programs of all kinds ----

for how in return exit _exit quick abort exec leader; do
	by_place -- "$programs/ends" 1000 $how
done
by_place -- "$programs/threads" 300 5 200
by_place -- "$programs/spawns" 3
by_place --libs=libplug.so --libs=libouter.so -- "$programs/loads" 5 0
by_place -- "$programs/jumps" 1000
by_place -F work -- "$programs/threads" 4 3 200
by_place -N work -- "$programs/ends" 1000 return
by_place --overflow=drop -- "$programs/ends" 1000 return
for program in ends-static ends-static-pie ends-musl ends-musl-dynamic; do
	[ ! -x "$programs/$program" ] || by_place -- "$programs/$program" 1000 return
done

cat >busy.c <<'X'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int from[20000];

/* Words for each turn: a buffer is full after some thousand of them. */
static __attribute__((noinline)) void work(int times, volatile long *turns)
{
	volatile int sum[64] = { 0 };
	double kept = times;

	for (int k = 0; k < times; k++)
		for (int i = 0; i < 20000; i++) {
			sum[from[i]] += i;
			kept = kept * 0.5 + i;
			++*turns;
		}
	if (kept < 0)
		abort();
}

static void *thread(void *times)
{
	volatile long turns = 0;

	work((int)(long)times, &turns);
	return NULL;
}

/* Stacks of the least size. */
static void threads(int n, int times)
{
	pthread_attr_t attr;
	pthread_t t[4];

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	for (int i = 0; i < n; i += 4) {
		for (int k = 0; k < 4; k++)
			pthread_create(&t[k], &attr, thread, (void *)(long)times);
		for (int k = 0; k < 4; k++)
			pthread_join(t[k], NULL);
	}
}

static void forks(int n, int times)
{
	int status;

	for (int i = 0; i < n; i++) {
		thread((void *)(long)times);
		if (fork() == 0) {
			threads(i & 1 ? 4 : 0, times);
			thread((void *)(long)times);
			_exit(i);
		}
		wait(&status);
		printf("%d\n", WEXITSTATUS(status));
	}
}

static void kills(int n)
{
	volatile long *turns = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			work(1 << 20, &turns[i]);
		usleep(2000 + 3000 * i);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		printf("%d %ld\n", pid, turns[i]);
	}
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), times = argc > 3 ? atoi(argv[3]) : 1;

	for (int i = 0; i < 20000; i++)
		from[i] = rand() & 63;
	if (strcmp(argv[1], "threads") == 0)
		threads(n, times);
	if (strcmp(argv[1], "forks") == 0)
		forks(n, times);
	if (strcmp(argv[1], "kills") == 0)
		kills(n);
	if (strcmp(argv[1], "exec") == 0) {
		thread((void *)(long)times);
		execl("/bin/echo", "echo", "another", NULL);
	}
	puts("done");
	return 0;
}
X
"$CC" -O2 -o busy busy.c -pthread || fail "$CC"
for buffer in 256K 2M; do
	by_place --mem-buffer=$buffer -- ./busy threads 40 5
	by_place --mem-buffer=$buffer -- ./busy forks 4 10
	by_place --mem-buffer=$buffer -- ./busy exec 1 30
done
by_place -- ./busy threads 400 1

# ---- programs that we did not write, as far as they are there ----

have()
{
	command -v "$1" >/dev/null
}
seq 1 5000 >numbers
cat >script.sql <<'X'
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 300)
	insert into t select i, 'row ' || (i * 7919 % 501), i / 3.0 from n;
select count(*), sum(a), round(avg(c), 3), max(b) from t;
select nothing from t;
X
have gzip && by_place --mem-buffer=256K -- gzip -n -c numbers
have xz && by_place --mem-buffer=256K --libs=liblzma.so.5 -- xz -T1 -1 -c numbers
have sqlite3 && STDIN=script.sql by_place --mem-buffer=256K --libs=libsqlite3.so.0 -- sqlite3
# What these do depends on addresses.
same_anyway()
{
	rm -rf t
	same_run -q --mem --mem-buffer=256K --analyze=inproc -m "$both" -o t "$@"
	check_lacks t/memcount.txt missing
	[ "$(awk '$1 == "all" { print $6 }' t/memcount.txt)" -ge 100000 ] || fail "hardly any accesses: $*"
}
[ ! -x /usr/bin/python3 ] || same_anyway -- /usr/bin/python3 -c 'print(sorted(str(i * 7919 % 1009) for i in range(2000))[:5])'
have perl && same_anyway -- perl -e 'my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1..2000; print join(",", map { length $h{$_} } sort keys %h), "\n"'
have xz && same_anyway --libs=liblzma.so.5 -- xz -T2 -1 -c numbers
have bash-static && same_anyway -- bash-static -c 'for ((i = 0; i < 300; i++)); do a[$((i % 7))]+=$i; done; echo ${#a[3]}; exit 3'

# ---- what there is no room for in the program ----

# Above 1 MiB for a thread: the collector goes on with what the program has begun.
for place in collector inproc; do
	same_run -q --mem --analyze=$place -m "$modules/large.c,memcount" -o t.$place -- ./busy threads 8 5
	check_contains t.$place/large.txt "^$(awk '$1 == "all" { print $6 }' t.$place/memcount.txt) accesses 0 gaps"
done
check_same t.collector/large.txt t.inproc/large.txt "with much data"

# A module that wraps functions as well.
for program in ends ends-static; do
	[ -x "$programs/$program" ] || continue
	for place in collector inproc; do
		same_run -q --analyze=$place -m "$modules/wrapload.c" -o t.$place -- "$programs/$program" 1000 return
		sonde report --csv t.$place | grep counter | sort >tables.$place
	done
	check_same tables.collector tables.inproc "what a module with a wrapper counts in $program"
	check_contains tables.inproc 'calls.*[^0-9]1000[^0-9]'
done

# Sampled: as many accesses of a turn as of any other.
rm -rf t
check_status 0 sonde -q --mem=work --sample=burst:1ms,every:5ms --analyze=inproc -m memcount -o t -- ./busy threads 4 200
check_lacks t/memcount.txt missing
check_contains t/memcount.txt '^all +[1-9]'

# ---- killed in the middle ----

# A turn is two stores: what was done is counted, wherever that came to its end. If it is not known that a child was
# killed, as many turns more as there might be zeros in its buffer.
rm -rf t
check_status 0 sonde -q --mem=work --mem-buffer=256K --analyze=inproc -m memcount -o t -- ./busy kills 25
check_lacks t/memcount.txt missing
awk 'NR == FNR { turns[$1] = $2; next }
     $1 != "all" && $(NF - 6) in turns { d = $(NF - 4) + $(NF - 3) - 2 * turns[$(NF - 6)]; n++
	if (d < 0 || d > 20000) { print; bad++ } }
     END { print n " children that were killed"; exit bad > 0 || n < 15 }' out t/memcount.txt || { show out; fail "stores of killed children"; }

# Sonde itself: the program goes on.
rm -rf t
command sonde -q --mem --analyze=inproc -m memcount -o t -- ./busy threads 8 1500 >out 2>&1 &
sonde=$!
child_of $sonde busy >/dev/null
recorder=$(child_of $sonde sonde) || exit
sleep 0.2
kill -KILL $sonde $recorder
await 30 eval 'grep -q done out'

# ---- signals ----

if setarch -R true 2>/dev/null; then
	"$CC" -O2 -w -I"$sources" -o timers "$sources/mem_timers.c" || fail "$CC"
	for interval in 000 057 113; do
		rm -rf t
		env -i PATH="$PATH" LD_BIND_NOW=1 XDG_CACHE_HOME="$XDG_CACHE_HOME" \
			setarch -R "${limit[@]}" sonde -q --mem -N 'tick*' --mem-buffer=256K --analyze=inproc \
			-m "$both" -o t -- ./timers $interval >out 2>err || { show out err; fail "timers $interval"; }
		cp t/order.txt order.$interval
		check_same order.000 order.$interval "accesses and their order with a signal each $interval microseconds"
	done
	check_contains err '[1-9][0-9]* signals'
	check_contains order.113 ' 0 gaps$'
fi

# ---- the trace ----

rm -rf t
check_status 3 sonde -o t --analyze=inproc -m memcount -- "$programs/ends" 1000 return
check_same err t/memcount.txt "the table"
sonde info t >info.txt || fail "sonde info"
check_contains info.txt '^state +intact$'
sonde report --csv t >report.csv || fail "sonde report"
check_contains report.csv "loads.*[^0-9]$(awk '$1 == "all" { print $2 }' err)([^0-9]|\$)"

# ---- what cannot be: one line, before anything runs ----

rm -rf t
for module in cachesim memprofile memtrace memcount,memtrace "$modules/sizes.c" "$modules/shared.c" "$modules/unlinked.c"; do
	check_usage_error sonde -o t --analyze=inproc -m "$module" -- sh -c 'echo runs'
	check_contains err 'analyze=collector'
	[ ! -e t ] || fail "a trace was made"
done
check_contains err 'unlinked.*sonde_test_nowhere'
check_usage_error sonde -o t --analyze=inproc -m "$modules/shared.c" -- sh -c 'echo runs'
check_contains err "variable, \`loaded'"
check_usage_error sonde -o t --analyze=inproc --mem -- sh -c 'echo runs'
check_usage_error sonde -o t --analyze=somewhere -m memcount -- sh -c 'echo runs'
