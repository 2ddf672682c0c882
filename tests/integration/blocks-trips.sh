# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde --blocks=trips`: the least and the most trips of loops, in registers and in memory, with signals, exceptions, tables, forks and
# threads, are those of the order of blocks; of a loop that is entered while it is running they are not known.
. "$top_srcdir/tests/integration/lib.sh"
need_command python3

cat >trips.cc <<'END'
#include <csetjmp>
#include <csignal>
#include <cstdio>
#include <pthread.h>
#include <stdexcept>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
static volatile long sink;
static volatile int ticks;
static jmp_buf again;
APART static int odd(int i)
{
	if (i % 7 == 3)
		throw std::runtime_error("odd");
	return i;
}
APART int registers(int n)
{
	long s = 0;
	for (int i = 0; i < n; i++)
		s += (s >> 3) ^ i;
	sink = s;
	return n;
}
APART void handled(int n)
{
	for (int i = 0; i < n; i++)
		sink = sink + i;
}
APART int caught_within(int n)
{
	int s = 0;
	for (int i = 0; i < n; i++) {
		try {
			s += odd(i);
		} catch (std::exception &) {
			s--;
		}
	}
	return s;
}
APART int tables(const char *p)
{
	int n = 0;
	for (;; p++) {
		switch (*p) {
		case 0: return n;
		case 'a': n += 1; break;
		case 'b': n += 2; break;
		case 'c': n += odd(4); break;
		case 'd': n += 5; break;
		case 'e': n -= 1; break;
		case 'x': goto out;
		default: n++;
		}
	}
out:
	sink = sink + n;
	return n + 1;
}
APART int recursive(int depth)
{
	int s = 0;
	for (int i = 0; i < 3; i++)
		s += depth ? recursive(depth - 1) : registers(2);
	return s;
}
APART int called(int n)
{
	do {
		n--;
	} while (odd(n) > 4);
	return n;
}
static void on_alarm(int)
{
	ticks = ticks + 1;
	handled(10 + ticks % 5);
}
/* A signal after each instruction. */
static void step()
{
	signal(SIGTRAP, on_alarm);
	__asm__ volatile("pushfq; orq $0x100, (%%rsp); popfq" ::: "cc", "memory");
	for (int i = 0; i < 5; i++)
		registers(20 + i) + tables("aeb") + caught_within(2);
	__asm__ volatile("pushfq; andq $~0x100, (%%rsp); popfq" ::: "cc", "memory");
	printf("%d\n", ticks > 500);
}
static void *work(void *)
{
	for (int i = 50; i < 60; i++)
		registers(i);
	return NULL;
}
int main(int argc, char **)
{
	pthread_t t;
	int r = 0;
	for (int i = 1; i < 40; i++)
		r += registers(3 * i) + caught_within(i);
	r += tables("abcdefgh") + tables("abx") + tables("") + tables("eedcb") + recursive(3) + called(10) + called(7);
	volatile int jumps = 0;
	if (setjmp(again))
		jumps = jumps + 1;
	for (volatile int i = 0; i < 9; i = i + 1)
		if (registers(i + 200) == 208 && jumps < 2)
			longjmp(again, 1);
	if (argc > 2) {
		step();
	} else if (argc > 1) {
		struct itimerval at = { { 0, 300 }, { 0, 300 } };
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &at, NULL);
		while (ticks < 300)
			registers(250);
		at = (struct itimerval){};
		setitimer(ITIMER_REAL, &at, NULL);
	}
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	if (fork() == 0) {
		registers(5000);
		_exit(0);
	}
	wait(NULL);
	printf("%d\n", r);
	return 0;
}
END
"${CXX:-c++}" -g -O1 -fno-inline -fno-tree-vectorize -o trips trips.cc -pthread || fail "${CXX:-c++}"

# compare TRIPS ORDER LEAST: the same loops have the same trips; so many at least are known
compare()
{
	sonde blocks --csv -b loop "$1" >trips.csv && sonde blocks --csv -b loop "$2" >order.csv || fail "sonde blocks"
	python3 - "$3" <<-'PYTHON' || fail "$1, $2: other trips"
	import csv, sys
	def read(name):
	    return {r["id"]: r for r in csv.DictReader(open(name))}
	trips, order = read("trips.csv"), read("order.csv")
	same = 0
	for loop, r in trips.items():
	    if loop not in order or r["count"] != order[loop]["count"] or r["most_trips"] == "0":
	        continue
	    o = order[loop]
	    if any(r[c] != o[c] for c in ("entries", "least_trips", "most_trips")):
	        sys.exit("%s: %s" % (r["function"], [(c, r[c], o[c]) for c in ("entries", "least_trips", "most_trips")]))
	    same += 1
	print(same, "of", len(trips), "loops")
	sys.exit(same < int(sys.argv[1]))
	PYTHON
}

# trips FUNCTION: of its loop
trips()
{
	python3 -c 'import csv, sys
for r in csv.DictReader(open("trips.csv")):
    if r["function"].startswith(sys.argv[1]): print(r["entries"], r["least_trips"], r["most_trips"])' "$1"
}

same_run -q --blocks=trips -o t -- ./trips
same_run -q --blocks=trace -o o -- ./trips
compare t o 6
[[ $(trips registers) == *" 2 5000" ]] || fail "registers: $(trips registers)"
[[ $(trips recursive) == *" 0 0" ]] || fail "recursive: $(trips recursive)"
[ "$(trips called)" = "2 3 6" ] || fail "called: $(trips called)"

# in the midst of loops signals arrive, whose handler has loops
same_run -q --blocks=trips -o s -- ./trips alarm
sonde blocks --csv -b loop s >trips.csv || fail "sonde blocks"
[[ $(trips registers) == *" 2 5000" ]] || fail "registers, with signals: $(trips registers)"
[[ $(trips handled) == *" 10 14" ]] || fail "handled: $(trips handled)"

same_run -q --blocks=trips -o s -- ./trips after each
same_run -q --blocks=trace -o o -- ./trips after each
compare s o 8
[[ $(trips handled) == *" 10 14" ]] || fail "handled, after each instruction: $(trips handled)"

# programs of others
seq 1 2000 >numbers
others()
{
	local least=$1
	shift
	same_run -q --blocks=trips -o a -- "$@"
	same_run -q --blocks=trace -o b -- "$@"
	compare a b "$least"
	rm -rf a b
}
others 20 gzip -kc "$top_srcdir/LICENSE"
others 20 sort -n numbers
others 50 bash -c 'for ((i = 0; i < 300; i++)); do x=$((x + i)); done; echo $x; (exit 3); f() { [ $1 = 0 ] || f $(($1 - 1)); }; f 5'

# columns, and what cannot be asked for
check_status 0 sonde blocks -b loop t
grep -q '^ *2 .* 3  *6 .* called(int)' out || { show out; fail "columns"; }
check_status 2 sonde --blocks=trips:main --blocks=count:main -o none -- ./trips
grep -q 'count and trips exclude each other' err || { show err; fail "count beside trips"; }
[ ! -e none ] || fail "a trace was begun"
check_status 0 sonde -q --blocks=trips:registers -o some -- ./trips
check_status 0 sonde blocks --csv -b loop some
[ "$(grep -c . out)" = 2 ] || { show out; fail "loops of other functions"; }
