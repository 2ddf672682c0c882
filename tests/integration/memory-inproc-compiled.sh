# SPDX-License-Identifier: GPL-3.0-or-later
# The program's threads run machine code that Sonde makes for them (--analyze=program): it is used, what modules see is the same
# as where it is not, in all processes, and the program can do without it.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

cat >hot.c <<'X'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static int from[20000];
static volatile int ticks;

/* Short loops of all kinds, and ways that only the data tell. */
__attribute__((noinline)) long work(int times)
{
	long sum = 0;

	for (int k = 0; k < times; k++)
		for (int i = 0; i < 20000; i++) {
			int *p = &from[from[i] % 19000], n = from[i] % 13;

			switch (from[i] % 5) {
			case 0:
				for (int j = 0; j < n; j++)
					sum += p[j];
				break;
			case 1:
				for (int *q = p + n; q > p; q -= 3)
					sum ^= *q;
				break;
			case 2:
				while (n & 3)
					sum += p[n--];
				break;
			default:
				p[n] ^= i & 1;
				p[n] ^= i & 1;
			}
		}
	return sum;
}

static void *thread(void *times)
{
	return (void *)work((int)(long)times);
}

static void threads(int n, int times)
{
	pthread_t t[8];

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, thread, (void *)(long)times);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

static long late(const char *name, int times)
{
	void *library = dlopen(name, RTLD_NOW);
	long (*f)(int) = library ? (long (*)(int))dlsym(library, "late_work") : NULL;

	if (!f) {
		printf("%s\n", dlerror());
		exit(1);
	}
	return f(times);
}

static void forks(int n, int times)
{
	int status;

	for (int i = 0; i < n; i++) {
		work(times);
		if (i == 1)
			late("./libone.so", times);
		if (fork() == 0) {
			if (i == 2)
				late("./libtwo.so", times);
			threads(i & 1 ? 3 : 0, times);
			work(times);
			_exit(i);
		}
		if (i == 2)
			late("./libthree.so", times);
		wait(&status);
		printf("%d\n", WEXITSTATUS(status));
	}
}

static void tick(int sig)
{
	(void)sig;
	ticks++;
}

/* Handlers come while code runs that is instrumented. */
static void timers(int times)
{
	struct itimerval every = { { 0, 300 }, { 0, 300 } };

	signal(SIGPROF, tick);
	setitimer(ITIMER_PROF, &every, NULL);
	printf("%ld\n", work(times));
	if (!ticks)
		puts("no signals");
}

int main(int argc, char **argv)
{
	int n = atoi(argv[2]), times = atoi(argv[3]);

	for (int i = 0; i < 20000; i++)
		from[i] = rand() % 20000;
	if (strcmp(argv[1], "threads") == 0)
		threads(n, times);
	if (strcmp(argv[1], "forks") == 0)
		forks(n, times);
	if (strcmp(argv[1], "timers") == 0)
		timers(times);
	if (strcmp(argv[1], "alone") == 0)
		printf("%ld\n", work(times));
	if (strcmp(argv[1], "sleep") == 0) {
		work(times);
		pause();
	}
	puts("done");
	return 0;
}
X
cat >late.c <<'X'
static int table[4096];

__attribute__((noinline)) long late_work(int times)
{
	long sum = 0;

	for (int k = 0; k < times * 20; k++)
		for (int i = 0; i < 4000; i++) {
			table[i] += i & k;
			for (int j = table[i] & 7; j > 0; j--)
				sum += table[i + j];
		}
	return sum;
}
X
"$CC" -O2 -o hot hot.c -pthread -ldl || fail "$CC"
for library in one two three; do
	"$CC" -O2 -shared -fPIC -o lib$library.so late.c || fail "$CC"
done
"$CC" -O2 -static -o hot-static hot.c -pthread -ldl 2>/dev/null || rm -f hot-static

# made PLACE: of a run with -v, that code was made and entered, or not.
made()
{
	case $1 in
	program)
		check_contains traced.err '^sonde: [1-9][0-9]* pieces of code made for the program.s threads .[0-9]* bytes., entered [1-9][0-9]+ times;'
		;;
	*)
		check_lacks traced.err 'pieces of code made'
		;;
	esac
}

# run PLACE MODULE [OPTION...] -- COMMAND...: as without Sonde, but for what that says
run()
{
	local place=$1 module=$2 where=$1 status=0 options=() compile=1
	shift 2
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	[ "$place" != interpreted ] || { where=program; compile=0; }
	rm -rf "t.$place"
	"$@" >plain.out </dev/null 2>/dev/null || status=$?
	# static programs look at all of their environment
	SONDE_MEM_COMPILE=$compile check_status $status sonde -v --mem --analyze=$where -m "$module" -o "t.$place" \
		"${options[@]}" -- "$@"
	check_same plain.out out "stdout of $*"
	mv err traced.err
	made "$place"
}

# everywhere [OPTION...] -- COMMAND...: counted, and one by one
everywhere()
{
	local place
	for place in collector interpreted program; do
		run $place memcount "$@"
		awk 'NR > 1 { if ($1 != "all") $1 = ""; print $(NF - 5), $(NF - 4), $(NF - 3), $(NF - 2), $(NF - 1), $NF }' \
			t.$place/memcount.txt | sort >counts.$place
		run $place "$modules/order.c" "$@"
		awk '{ $7 = ""; print }' t.$place/order.txt | sort >order.$place
		check_lacks t.$place/order.txt '[^ 0]+ gaps'
	done
	for place in interpreted program; do
		check_same counts.collector counts.$place "counts of $*, $place"
		check_same order.collector order.$place "accesses of $*, $place"
	done
	[ "$(sed -n 's/ .*//p' order.program | sort -n | tail -n 1)" -ge 100000 ] || fail "hardly any accesses: $*"
}

# Of static memory and the first stack also addresses, where they can be the same in each run.
if setarch -R true 2>/dev/null; then
	limit=(setarch -R "${limit[@]}")
	for place in collector interpreted program; do
		run $place "$modules/order.c" -- ./hot alone 1 60
		check_contains t.$place/order.txt '^[0-9]{6,} accesses .* 0 gaps$'
	done
	check_same t.collector/order.txt t.interpreted/order.txt "all of what is accessed, interpreted"
	check_same t.collector/order.txt t.program/order.txt "all of what is accessed"
fi
# A chunk that the program's thread cannot look at, since a function was first called in it, leaves nothing behind: what was called
# before, by this trace, is instrumented from the start, main() is not.
rm -rf "$XDG_CACHE_HOME" ~/.cache/sonde
check_status 0 sonde -q --mem=threads,thread,work,frame_dummy,register_tm_clones -o t -- ./hot threads 1 4
run program memcount --mem-buffer=256K -- ./hot threads 1 4
awk '$1 == "all"' t.program/memcount.txt >counts.program
run collector memcount --mem-buffer=256K -- ./hot threads 1 4
awk '$1 == "all"' t.collector/memcount.txt >counts.collector
check_same counts.collector counts.program "counts, main() instrumented later than others"

everywhere --mem-buffer=256K -- ./hot threads 1 4
everywhere --mem-buffer=256K -- ./hot threads 4 20
everywhere -- ./hot threads 2 60
everywhere --mem-buffer=256K --libs=libone.so --libs=libtwo.so --libs=libthree.so -- ./hot forks 4 10
[ ! -x hot-static ] || everywhere --mem-buffer=256K -- ./hot-static threads 1 20

# A solver for blocks of 5 x 5, unrolled: a basic block of three hundred accesses.
cat >solver.c <<'X'
#include <stdio.h>

#define N 1000
#define SUM(i, j) c[i][j] -= a[i][0] * b[0][j] + a[i][1] * b[1][j] + a[i][2] * b[2][j] + a[i][3] * b[3][j] + a[i][4] * b[4][j];
#define ROW(i) SUM(i, 0) SUM(i, 1) SUM(i, 2) SUM(i, 3) SUM(i, 4)

typedef double block[5][5];
static block a[N], b[N], c[N];

__attribute__((noinline)) static void multiply(block c, block a, block b)
{
	ROW(0) ROW(1) ROW(2) ROW(3) ROW(4)
}

int main(void)
{
	for (int i = 0; i < N; i++)
		for (int k = 0; k < 25; k++) {
			a[i][k / 5][k % 5] = (i + k) % 31;
			b[i][k / 5][k % 5] = (i + k) % 17;
		}
	for (int i = 0; i < 100 * N; i++)
		multiply(c[i % N], a[i * 7 % N], b[i * 11 % N]);
	printf("%g\n", c[7][1][2]);
	return 0;
}
X
"$CC" -O3 -o solver solver.c || fail "$CC"
everywhere --mem-buffer=256K -- ./solver
bytes=$(sed -n 's/.* threads .\([0-9]*\) bytes.*/\1/p' traced.err)
[ "$bytes" -gt 5000 ] || fail "$bytes bytes of code: the block's is not there"

# Handlers, which make accesses of their own, as often as the timer expires.
for place in interpreted program; do
	run $place memcount -N tick --mem-buffer=256K -- ./hot timers 1 200
	grep ^all t.$place/memcount.txt | sed 's/ [0-9]* *[0-9]*$//' >counts.$place
	check_lacks out 'no signals'
done
check_same counts.interpreted counts.program "counts with signals"

# ---- memory of it in the program ----

rm -rf t
command sonde -q --mem --analyze=program -m memcount -o t -- ./hot sleep 1 40 >out 2>&1 &
sonde=$!
hot=$(child_of $sonde hot)
await 30 grep -q 'S (sleeping)' "/proc/$hot/status"
await 30 grep -q 'sonde-compiled' "/proc/$hot/maps" # else the program has no memory for code
sleep 0.3
grep 'sonde-compiled' "/proc/$hot/maps" >maps
check_contains maps ' r-xs '
check_contains maps ' rw-s '
check_lacks maps ' .wx. '
ls -l "/proc/$hot/fd" | sed "s,$top_builddir,," >fds
check_lacks fds 'sonde'
kill -TERM "$hot"
wait $sonde

# ---- where there can be none ----

cat >refuse.c <<'X'
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARG(i) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i]))

/* usage: refuse COMMAND...: runs it where 64 MiB of a file cannot be mapped to be read and executed. */
int main(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 5),
		ARG(1),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 64 << 20, 0, 3),
		ARG(2),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROT_READ | PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0)
		return 77;
	execvp(argv[1], argv + 1);
	return 1;
}
X
run program memcount -- ./hot threads 1 40
grep ^all t.program/memcount.txt >counts.program
if "$CC" -o refuse refuse.c && ./refuse true; then
	rm -rf t
	check_status 0 timeout -s KILL 60 ./refuse sonde -v --mem --analyze=program -m memcount -o t -- ./hot threads 1 40
	check_contains err 'could not be mapped there: they interpret'
	[ "$(grep -c 'could not be mapped' err)" -eq 1 ] || fail "said more than once"
	check_lacks err 'pieces of code made'
	grep ^all t/memcount.txt >counts.refused
	check_same counts.program counts.refused "counts, where nothing can be executed"
fi

# A gigabyte of address space, for the program and for Sonde.
(
	ulimit -v 1048576
	rm -rf t
	check_status 0 sonde -v --mem --analyze=program -m memcount -o t -- ./hot threads 1 40
	check_lacks err 'pieces of code made'
	grep ^all t/memcount.txt >counts.limited
	check_same counts.program counts.limited "counts, with little address space"
) || exit 1
