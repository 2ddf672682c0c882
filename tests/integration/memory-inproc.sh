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

# by_place [OPTION...] -- COMMAND...: collector, program
by_place()
{
	local place
	for place in collector program; do
		rm -rf "t.$place"
		same_run -q --mem --analyze=$place -m "$both" -o "t.$place" "$@"
		tables "t.$place" >"tables.$place"
		check_lacks "tables.$place" missing
		check_lacks "t.$place/order.txt" '[^ 0]+ gaps'
	done
	check_same tables.collector tables.program "what modules see of $*"
	[ "$(sed -n 's/ .*//p' t.program/order.txt | sort -n | tail -n 1)" -ge 50 ] || fail "hardly any accesses: $*"
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
	by_place --mem-buffer=$buffer -- ./busy threads 20 5
	by_place --mem-buffer=$buffer -- ./busy forks 4 10
	by_place --mem-buffer=$buffer -- ./busy exec 1 30
done
by_place -- ./busy threads 200 1

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
have xz && by_place --mem-buffer=256K --libs=liblzma.so.5 -- xz -T1 -0 -c numbers
have sqlite3 && STDIN=script.sql by_place --mem-buffer=256K --libs=libsqlite3.so.0 -- sqlite3
# What these do depends on addresses.
same_anyway()
{
	rm -rf t
	same_run -q --mem --mem-buffer=256K --analyze=program -m "$both" -o t "$@"
	check_lacks t/memcount.txt missing
	[ "$(awk '$1 == "all" { print $6 }' t/memcount.txt)" -ge 100000 ] || fail "hardly any accesses: $*"
}
[ ! -x /usr/bin/python3 ] || same_anyway -- /usr/bin/python3 -S -E -c 'print(sorted(str(i * 7919 % 1009) for i in range(500))[:5])'
have perl && same_anyway -- perl -e 'my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1..2000; print join(",", map { length $h{$_} } sort keys %h), "\n"'
have xz && same_anyway --libs=liblzma.so.5 -- xz -T2 -1 -c numbers
have bash-static && same_anyway -- bash-static -c 'for ((i = 0; i < 300; i++)); do a[$((i % 7))]+=$i; done; echo ${#a[3]}; exit 3'

# ---- by turns in the program and in Sonde's process ----

cat >moves.c <<'X'
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "tracefmt/ring.h"

static int values[4][4096];
static volatile int done;
static volatile long ticks;

__attribute__((noinline)) long work(int *v, int times)
{
	long sum = 0;

	for (int k = 0; k < times; k++)
		for (int i = 0; i < 4096; i++) {
			v[i] += v[(v[i] + i) & 4095] & 7;
			if (v[i] % 3 == 0)
				sum += v[i & 63];
		}
	return sum;
}

static void *thread(void *v)
{
	return (void *)work(v, 400);
}

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Where the collector says who hands accesses to modules. */
static struct ring_control *find_control(void)
{
	char line[512];
	unsigned long at, offset;
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof(line), maps))
		if (strstr(line, "sonde-rings") && strstr(line, " rw-") && sscanf(line, "%lx-%*x %*s %lx", &at, &offset) == 2 && !offset)
			return (struct ring_control *)at;
	return NULL;
}

static void *turns(void *control)
{
	struct ring_control *c = control;

	for (unsigned int n = 0; !done; n++) {
		c->analyze_here = n % 2;
		nanosleep(&(struct timespec){ .tv_nsec = 700000 + 100000 * (n % 7) }, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct itimerval every = { { 0, 900 }, { 0, 900 } };
	int threads = atoi(argv[1]);
	pthread_t t[4], other;
	struct ring_control *c = find_control();
	sigset_t prof;

	sigemptyset(&prof);
	sigaddset(&prof, SIGPROF);
	signal(SIGPROF, tick);
	pthread_sigmask(SIG_BLOCK, &prof, NULL);
	if (c)
		pthread_create(&other, NULL, turns, c);
	pthread_sigmask(SIG_UNBLOCK, &prof, NULL);
	if (argc > 2)
		setitimer(ITIMER_PROF, &every, NULL);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, thread, values[i]);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	done = 1;
	if (c)
		pthread_join(other, NULL);
	puts("done");
	return 0;
}
X
"$CC" -O2 -I"$top_srcdir" -o moves moves.c -pthread || fail "$CC"
for how in "1" "3" "2 signals"; do
	for place in collector auto program; do
		rm -rf t.$place
		check_status 0 setarch -R sonde -v --mem=work --mem-stack=no --mem-buffer=256K --analyze=$place -m "$modules/parts.c,memcount" \
			-o t.$place -- ./moves $how
		check_contains out '^done$'
		grep '^sonde:.*pieces of code' err >made.$place
		sort t.$place/parts.txt >parts.$place
		check_contains parts.$place '^[0-9]{6,} accesses .* 0 gaps$'
		grep ^all t.$place/memcount.txt >counts.$place
	done
	[ ! -s made.collector ] || fail "--analyze=collector prepares code for the program"
	for place in auto program; do
		check_same parts.collector parts.$place "what is accessed, by turns ($place), with $how threads"
		check_same counts.collector counts.$place "what is counted by turns ($place)"
		check_contains made.$place 'pieces of code made for the program.s threads .[0-9]* bytes., entered [1-9][0-9]* times'
	done
done

# ---- what there is no room for in the program ----

# Above 1 MiB for a thread: the collector goes on with what the program has begun.
for place in collector program; do
	same_run -q --mem --analyze=$place -m "$modules/large.c,memcount" -o t.$place -- ./busy threads 8 5
	check_contains t.$place/large.txt "^$(awk '$1 == "all" { print $6 }' t.$place/memcount.txt) accesses 0 gaps"
done
check_same t.collector/large.txt t.program/large.txt "with much data"

# A module that wraps functions as well.
for program in ends ends-static; do
	[ -x "$programs/$program" ] || continue
	for place in collector program; do
		same_run -q --analyze=$place -m "$modules/wrapload.c" -o t.$place -- "$programs/$program" 1000 return
		sonde report --csv t.$place | grep counter | sort >tables.$place
	done
	check_same tables.collector tables.program "what a module with a wrapper counts in $program"
	check_contains tables.program 'calls.*[^0-9]1000[^0-9]'
done

# Sampled: as many accesses of a turn as of any other.
rm -rf t
check_status 0 sonde -q --mem=work --sample=burst:1ms,every:5ms --analyze=program -m memcount -o t -- ./busy threads 4 200
check_lacks t/memcount.txt missing
check_contains t/memcount.txt '^all +[1-9]'

# ---- killed in the middle ----

# A turn is two stores: what was done is counted, wherever that came to its end. If it is not known that a child was
# killed, as many turns more as there might be zeros in its buffer.
rm -rf t
check_status 0 sonde -q --eager --mem=work --mem-buffer=256K --analyze=program -m memcount -o t -- ./busy kills 25
check_lacks t/memcount.txt missing
awk 'NR == FNR { turns[$1] = $2; next }
     $1 != "all" && $(NF - 6) in turns { d = $(NF - 4) + $(NF - 3) - 2 * turns[$(NF - 6)]; n++
	if (d < 0 || d > 20000) { print; bad++ } }
     END { print n " children that were killed"; exit bad > 0 || n < 15 }' out t/memcount.txt || { show out; fail "stores of killed children"; }

# Sonde itself: the program goes on.
rm -rf t
command sonde -q --mem --analyze=program -m memcount -o t -- ./busy threads 8 1500 >out 2>&1 &
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
			setarch -R "${limit[@]}" sonde -q --mem -N 'tick*' --mem-buffer=256K --analyze=program \
			-m "$both" -o t -- ./timers $interval >out 2>err || { show out err; fail "timers $interval"; }
		cp t/order.txt order.$interval
		check_same order.000 order.$interval "accesses and their order with a signal each $interval microseconds"
	done
	check_contains err '[1-9][0-9]* signals'
	check_contains order.113 ' 0 gaps$'
fi

# ---- the trace ----

rm -rf t
check_status 3 sonde -o t --analyze=program -m memcount -- "$programs/ends" 1000 return
sonde info t >info.txt || fail "sonde info"
check_contains info.txt '^state +intact$'
sonde report --csv t >report.csv || fail "sonde report"
check_contains report.csv "loads.*[^0-9]$(awk '$1 == "all" { print $2 }' t/memcount.txt)([^0-9]|\$)"

# ---- what cannot be: one line, before anything runs ----

rm -rf t
for module in cachesim memprofile memtrace memcount,memtrace "$modules/sizes.c" "$modules/shared.c" "$modules/unlinked.c"; do
	check_usage_error sonde -o t --analyze=program -m "$module" -- sh -c 'echo runs'
	check_contains err 'analyze=collector'
	[ ! -e t ] || fail "a trace was made"
done
check_contains err 'unlinked.*sonde_test_nowhere'
check_usage_error sonde -o t --analyze=program -m "$modules/shared.c" -- sh -c 'echo runs'
check_contains err "variable, \`loaded'"
check_usage_error sonde -o t --analyze=program --mem -- sh -c 'echo runs'
check_usage_error sonde -o t --analyze=somewhere -m memcount -- sh -c 'echo runs'
