# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks of the heap and variables on the stack have their names in bursts, too: calls of malloc() and free() between them, and calls and
# returns, are not in the stream of accesses.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

"$CC" -O1 -g -pthread -o program "$top_srcdir/tests/programs/var_bursts.c" || fail "$CC"

# has_all FUNCTION...: some burst has each of them, which may take a few runs if the machine is busy
has_all()
{
	sonde memory --csv t >functions || return
	for function; do
		grep -q "^\"$function\"" functions || return
	done
}

# named OPTION...: each function has accessed blocks of one place alone
named()
{
	for _ in 1 2 3 4 5; do
		check_status 0 sonde -q --mem -m memory "$@" -o t -- ./program $rounds
		check_contains out '^done$'
		! has_all use_odd use_even use_kept use_grown || break
	done
	for which in 'odd malloc' 'even calloc' 'kept malloc' 'grown realloc'; do
		set -- $which
		check_status 0 sonde memory -b allocation -F use_$1 --no-stack --csv t
		awk -F, 'NR > 1 { print $1 }' out >names
		printf '"%s in make_%s"\n' $2 $1 >expected
		check_same expected names "what use_$1 has accessed"
	done
}

rounds=300
named
rounds=4000
named --sample=burst:200us,every:1ms
named --sample=burst:200k,every:1M
rounds=20000
named --overhead=20

# The same functions are called with an array in the same place, alternately by each of two functions: where a burst begins in the midst of one, the frame of
# the other one, which has returned meanwhile, is not taken for it.
cat >stacks.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#define N 64
static __attribute__((noinline)) void use_one(volatile long *v, int times) { while (times--) for (int i = 0; i < N; i++) v[i]++; }
static __attribute__((noinline)) void use_two(volatile long *v, int times) { while (times--) for (int i = 0; i < N; i++) v[i]++; }
static __attribute__((noinline)) long first(void) { volatile long one[N] = { 0 }; use_one(one, 200); return one[1]; }
static __attribute__((noinline)) long second(void) { volatile long two[N] = { 0 }; use_two(two, 200); return two[1]; }
int main(int argc, char **argv)
{
	long sum = argc;
	for (int rounds = atoi(argv[1]); rounds--;)
		sum += first() + second();
	printf("%ld\n", sum);
	return 0;
}
END
"$CC" -O1 -g -o program stacks.c || fail "$CC"

# stacks ROUNDS OPTION...: what the functions accessed, by pointers, is in the frame that called them, or it is not known which
stacks()
{
	for _ in 1 2 3 4 5; do
		same_run --mem -q "${@:2}" -o t -- ./program "$1"
		! has_all use_one use_two || break
	done
	for which in 'one two' 'two one'; do
		set -- $which
		check_status 0 sonde memory -b variable -F use_$1 --csv t
		check_lacks out "^\"$2"
	done
}

stacks 20
check_contains out '^"two in second"'
stacks 2000 --sample=burst:20k,every:170k
stacks 2000 --sample=burst:50us,every:500us
