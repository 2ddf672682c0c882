#!/bin/bash
# SPDX-License-Identifier: GPL-3.0-or-later
# Arguments and what functions return, from DWARF (--args): of programs that say themselves what these are, in C, C++ and Fortran,
# by the compilers that there are, optimized and not.
. "$top_srcdir/tests/integration/lib.sh"
need_program args_mix

source=$top_srcdir/tests/programs/args_mix.c

# said DIR: calls and their values, as the program says them.
said()
{
	sonde dump "$1" | awk '/ (enter|leave) / { sub(/^.* (enter|leave) +/, ($0 ~ / enter / ? "enter" : "leave") " "); print }'
}

# agrees PROGRAM [OPTION...]: what is recorded is what the program says.
agrees()
{
	local program=$1
	shift
	rm -rf t
	same_run -o t -F integers,floats,named,structures,returns_large,strings "$@" --args -- "$program"
	sonde info t >info.txt || fail "sonde info"
	check_contains info.txt '^state +intact$'
	# the strings' escapes are those of dump; a text that the program cannot print as it is is marked in it
	said t | sed 's/^\(enter\|leave\) \+/\1 /' >recorded
	sed -e 's/ *$//' traced.out >told
	[ "$(wc -l <told)" -gt 20 ] || fail "the program says nothing"
	check_same told recorded "what $program says, and what was recorded,"
}

agrees "$programs/args_mix"
agrees "$programs/args_mix" --eager
agrees "$programs/args_mix" --depth=3
for compiler in gcc clang; do
	command -v $compiler >/dev/null || continue
	for level in -O0 -O1 -O2 -O3; do
		$compiler -g $level -pthread -o "mix$level" "$source" 2>/dev/null || continue
		agrees "./mix$level"
	done
done
$programs/args_mix >/dev/null
if [ -x "$programs/args_mix-static" ]; then
	agrees "$programs/args_mix-static"
fi

# threads, with recording that wraps around in the buffers: each call has its own values
sonde -q -o threads --buffer=64K -F silent -A -- "$programs/args_mix" 20000 || fail "threads"
events threads
check_count 80000 'enter("silent") && num("c") == num("a") + 1 && num("b") == 3'
check_count 80000 'returned("silent") && num("return") % 4 == 3'

# some functions, some arguments
sonde -q -o some -F 'integers,floats,named' --args=integers:a,i,return --args='named:c' -- "$programs/args_mix" >/dev/null || fail "some"
said some >recorded
check_contains recorded '^enter integers a=-1 i=-9223372036854775808$'
check_contains recorded '^leave integers return=-8$'
check_contains recorded '^enter named c="RED"$'
check_contains recorded '^leave named$'
check_contains recorded '^enter floats$'

# clones do not take what the prototype says
cat >clone.c <<'END'
#include <stdio.h>
static __attribute__((noinline)) int scaled(int k, int unused, int by) { printf("%d\n", k * by); return k * by; }
int main(int argc, char **argv) { return scaled(argc, 1, 10) + scaled(argc + 4, 2, 10) == 60 ? 0 : 1; }
END
if command -v gcc >/dev/null && gcc -g -O2 -o clone clone.c && nm clone | grep -q 'scaled\.constprop'; then
	same_run -o clone.data -F 'scaled*' -A -- ./clone
	said clone.data >recorded
	check_contains recorded '^enter scaled[^ ]* k=1 unused="<optimized out>" by=10$'
	check_contains recorded '^enter scaled[^ ]* k=5 unused="<optimized out>" by=10$'
fi

# C++: this, references, names of both kinds
if command -v g++ >/dev/null; then
	cat >class.cc <<'END'
#include <cstdio>
#include <string>
namespace space {
enum class shape { round, square };
struct counter {
	int n;
	__attribute__((noinline)) int add(int by, shape s, const std::string text, double &out);
};
int counter::add(int by, shape s, const std::string text, double &out)
{
	out = by;
	std::printf("%d %d %zu\n", by, (int)s, text.size());
	return n += by;
}
}
int main()
{
	space::counter c{ 5 };
	double d = 0;
	return c.add(7, space::shape::square, "abc", d) == 12 && d == 7 ? 0 : 1;
}
END
	for level in -O0 -O2; do
		g++ -g $level -o class class.cc || fail "g++"
		rm -rf class.data
		same_run -o class.data -F 'space::counter::add' -A -- ./class
		said class.data >recorded
		check_contains recorded 'enter .*add.* this=0x[0-9a-f]+ by=7 s="square" text=0x[0-9a-f]+ out=0x[0-9a-f]+$'
		check_contains recorded 'leave .*add.* return=12$'
		sonde replay class.data >replayed || fail "replay"
		check_contains replayed ' space::counter::add\(this=0x[0-9a-f]+ by=7 s="square" .*\) = 12;$'
	done
fi

# Fortran: by reference, hidden lengths
if command -v gfortran >/dev/null; then
	cat >solve.f90 <<'END'
module m
contains
  function solve(n, tol, name, single, flag) result(r)
    integer, intent(in) :: n
    real(8), intent(in) :: tol
    character(len=*), intent(in) :: name
    real(4), intent(in) :: single
    logical, intent(in) :: flag
    real(8) :: r
    r = n * tol + single
    if (flag) print *, name, r
  end function
end module
program p
  use m
  real(8) :: x
  x = solve(4, 0.25d0, "abc", 1.5, .true.)
  x = x + solve(-3, 1d0, "defgh", -2.5, .false.)
  print *, x
end program
END
	for level in -O0 -O2; do
		gfortran -g $level -fno-inline -fno-ipa-cp -fno-ipa-sra -o solve solve.f90 || fail "gfortran"
		rm -rf solve.data
		same_run -o solve.data -F '*solve*' -A -- ./solve
		said solve.data >recorded
		check_contains recorded 'enter .*solve n=4 tol=0\.25 name=.* single=1\.5 flag="true"$'
		check_contains recorded 'leave .*solve return=2\.5$'
		check_contains recorded 'enter .*solve n=-3 tol=1 name=.* single=-2\.5 flag="false"$'
	done
fi

# without debug information: one line, and the rest is recorded
cat >bare.c <<'END'
int twice(int n) { return 2 * n; }
int main(void) { return twice(0); }
END
if command -v gcc >/dev/null; then
	gcc -O0 -o bare-program bare.c || fail "gcc"
	sonde -o bare2 -F 'twice' -A -- ./bare-program 2>err || fail "without debug information"
	[ "$(grep -c 'no debug information' err)" -eq 1 ] || { show err; fail "not one line about debug information"; }
	events bare2
	check_count 1 'enter("twice")'
	check_count 1 'returned("twice")'
fi

# what does not go together, and names that are not there
check_usage_error sonde -A -- true
check_usage_error sonde -F x --time=1us -A -- true
check_usage_error sonde -F x --overhead=5% -A -- true
check_usage_error sonde -F x --clock=none -A -- true
for form in --args=integers:aa -A=integers:aa -Aintegers:aa; do
	sonde -o names -F integers $form -- "$programs/args_mix" >/dev/null 2>err
	check_contains err "integers has no argument 'aa', but a,b,c,"
done
sonde -o names2 -F integers --args=integer -- "$programs/args_mix" >/dev/null 2>err
check_contains err '^sonde: .*--args integer: '
exit 0
