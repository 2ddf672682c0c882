# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde memory --by=variable|field|allocation|type': programs that say themselves how often their variables and blocks are accessed.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
sources=$top_srcdir/tests/programs
export XDG_CACHE_HOME=$PWD/cache

# ours BY KEY DIR: accesses as "KEY<tab>N", of the column KEY, by the functions that $only says
only=
ours()
{
	check_status 0 sonde memory -b $1 $only --csv $3
	mv out ours.csv
	python3 -c "
import collections, csv
sums = collections.Counter()
for row in csv.DictReader(open('ours.csv')):
    sums[row['$2']] += int(row['accesses'])
for line in open('expected'):
    name, n = line.rstrip('\n').split('\t')
    print(name, sums[name], sep='\t')" >ours
}

record=
# agrees COMPILER FLAG... SOURCE: every name has as many accesses as the program says
agrees()
{
	"$@" -g -pthread -o program || fail "$@"
	./program >expected || fail "$*: the program"
	check_status 0 sonde -q --mem $record -o t -- ./program
	check_same expected out "the output of $*"
	ours field name t
	check_same expected ours "accesses by field: $*"
}

for flags in -O0 -O1 -O2 -O3 '-O2 -no-pie -fno-pie'; do
	agrees "$CC" $flags "$sources/var_c.c"
done
echo 'int main(void) { return 0; }' >empty.c
if "$CC" -static -o empty empty.c 2>/dev/null; then
	# the C library, which is recorded as well, initializes what is thread-local
	"$CC" -O2 -g -c "$sources/var_c.c" -o own.o || fail "$CC"
	only=$(nm own.o | awk '$2 ~ /^[tT]$/ { printf "-F %s ", $3 }')
	agrees "$CC" -O2 -static "$sources/var_c.c"
	only=
fi
if [ -n "$(command -v g++)" ]; then
	agrees g++ -O0 "$sources/var_cc.cc"
	agrees g++ -O2 "$sources/var_cc.cc"
fi
if [ -n "$(command -v gfortran)" ]; then
	agrees gfortran -O0 "$sources/var_f.f90"
	agrees gfortran -O2 "$sources/var_f.f90"
	# nothing says where variables of a common block are whose functions were all inlined
	agrees gfortran -O3 -fwhole-program "$sources/var_f.f90"
fi
if [ -n "$(command -v clang)" ]; then
	# it names frames by registers, and no function that was inlined everywhere
	agrees clang -O0 "$sources/var_c.c"
	agrees clang -O1 "$sources/var_c.c"
	agrees clang -w -O0 "$sources/var_threads.c"
	agrees clang -w -O1 "$sources/var_threads.c"
fi
if [ -n "$(command -v clang++)" ]; then
	agrees clang++ -O0 "$sources/var_cc.cc"
fi

# ---- other threads' stacks ----

for flags in -O0 -O1; do
	agrees "$CC" $flags "$sources/var_threads.c"
done

# ---- blocks of the heap: fields by the type of pointers; by source line ----

record='-m memory'
for flags in -O0 -O1 -O2; do
	agrees "$CC" $flags "$sources/var_typed.c"
done
record=

for flags in -O0 -O2; do
	"$CC" $flags -g -pthread -o program "$sources/var_heap.c" || fail "$CC"
	./program >expected
	check_status 0 sonde -q --mem -m memory -o t -- ./program
	check_same expected out "the output"
	ours allocation line t
	check_same expected ours "accesses by allocation: $flags"
done
check_contains ours.csv '^"mmap( in others)?",5000,.*,heap,allocation,'
check_contains ours.csv '^"malloc in (main|in_turns)",600,.*,heap,allocation,'
# where there are no records of allocations, their blocks have no names
check_status 0 sonde -q --mem -o without -- ./program
check_status 0 sonde memory -b allocation without
check_lacks out 'malloc in'
check_contains out '\[unknown\]'

# ---- without debug information ----

"$CC" -O2 -pthread -o program "$sources/var_c.c" || fail "$CC"
check_status 0 sonde -q --mem -o t -- ./program
check_status 0 sonde memory -b field --csv t
check_contains out '^"numbers",64,.*,global,symbol,""$'
check_contains out '^"per_thread",80,.*,tls,symbol,""$'

# ---- what the table says of names; CSV, JSON and caches have the same ----

"$CC" -O1 -g -pthread -o program "$sources/var_c.c" || fail "$CC"
check_status 0 sonde -q --mem -o t -- ./program
check_status 0 sonde memory -b variable t
check_contains out ' numbers  \(global, long( int)?\[64\], var_c.c:[0-9]+\)$'
check_contains out '^accesses with the name of a variable or allocation: [0-9.]+%, by DWARF [0-9.]+%.*; without: '
check_status 0 sonde memory -b type t
check_contains out ' struct particle$'
check_status 0 sonde memory -b variable --json t
check_contains out '"type":"total",.*"named_accesses":\{"nothing":[0-9]+,"area":[0-9]+,'
check_contains out '"name":"numbers",.*"kind":"global","named_by":"DWARF","type":"long( int)?\[64\]","accesses":64,'
check_status 0 sonde cache --system=epyc-7003 -b variable --csv t
check_contains out '^"epyc-7003","L1","numbers",64,0,64,.*,global,DWARF,"long( int)?\[64\]"$'
check_status 0 sonde cache --curve -b field --json t
check_contains out '"name":"numbers\[\]",.*"kind":"global"'
check_usage_error sonde cache --cores --system=epyc-7003 -b field t
check_contains err 'excludes rows by field'
# of some functions only
check_status 0 sonde memory -b variable -F fill --csv t
check_lacks out '^"numbers"'
check_contains out '^"array in frames",32,'

# ---- in an archive, and where the file is another one by then ----

sonde memory -b field --csv t >before
check_status 0 sonde archive t
"$CC" -o program empty.c || fail "$CC"
sonde memory -b field --csv t >after
check_same before after "an archived trace"
rm -r t/objects
check_status 0 sonde memory -b field t
check_contains err 'program is not the file that was recorded: what its data are called is not known'
check_contains out '\[unknown\]'

# A library's function frees a block by a jump at its end, and so "from" where it was called itself: before the block of what it calls is allocated.
cat >around.c <<'END'
	#include <stdlib.h>
	void around(void (*f)(void))
	{
		void *volatile p = malloc(100);
		f();
		free(p);
	}
END
cat >called.c <<'END'
	#include <stdlib.h>
	void around(void (*f)(void));
	__attribute__((noinline)) static void called(void)
	{
		volatile long *p = malloc(100 * sizeof(*p));
		for (int i = 0; i < 100; i++)
			p[i] = i;
		free((void *)p);
	}
	int main(void)
	{
		for (int i = 0; i < 10; i++)
			around(called);
		return 0;
	}
END
"$CC" -O2 -fPIC -shared -o libaround.so around.c && "$CC" -O1 -g -o program called.c ./libaround.so || fail "the library"
check_status 0 sonde -q --mem -m memory -o t -- ./program
printf 'malloc[] in called\t1000\n' >expected
ours field name t
check_same expected ours 'a block that is allocated in a call by a library'

# What is passed on the stack is in the frame of who calls, whoever has called first.
cat >seventh.c <<'END'
	__attribute__((noipa)) static long last(long a, long b, long c, long d, long e, long f, long g)
	{
		return g;
	}
	__attribute__((noipa)) static long one(long n)
	{
		return last(1, 2, 3, 4, 5, 6, n) + 1;
	}
	__attribute__((noipa)) static long two(long n)
	{
		return last(1, 2, 3, 4, 5, 6, n) + 2;
	}
	int main(int argc, char **argv)
	{
		long sum = 0;
		for (int i = 0; i < 400; i++)
			sum += (i % 4 ? two : one)(i);
		return sum == argc;
	}
END
"$CC" -w -O1 -g -o program seventh.c || fail "$CC"
check_status 0 sonde -q --mem='one,two,last' -o t -- ./program
check_status 0 sonde memory -b variable -F last --csv t
cut -d, -f1,2 out | grep '^"n in' | sort >ours
printf '"n in one",100\n"n in two",300\n' >expected
check_same expected ours 'arguments on the stack'
