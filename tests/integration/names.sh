# SPDX-License-Identifier: GPL-3.0-or-later
# One pattern language for names of functions: each pattern chooses the same functions in each verb that
# takes one, by each spelling of the option; what matches nothing names what may have been meant.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command c++

cat >num.cc <<-'END'
	#include <cstdlib>
	#define KEEP __attribute__((noinline))
	namespace num {
	template <class T> KEEP T solve(T x, int n) { for (int i = 0; i < n; i++) x = x / 2 + 1; return x; }
	struct grid { double v[64]; KEEP void fill(double x); };
	KEEP void grid::fill(double x) { for (double &a : v) a = x; }
	KEEP double sum(const grid &g) { double s = 0; for (double a : g.v) s += a; return s; }
	}
	KEEP static int helper(int n) { for (volatile int i = 0; i < 3; i = i + 1) n += i; return n; }
	extern "C" KEEP int relax_(int n) { for (volatile int i = 0; i < 3; i = i + 1) n -= i; return n; }
	int main(int argc, char **)
	{
		num::grid g;
		g.fill(num::solve(1.0 * argc, 9));
		return num::sum(g) > 1e9 || num::solve(argc, 3) > 100 || relax_(helper(argc)) != argc;
	}
END
c++ -g -O1 -fno-ipa-cp -o num num.cc
same_run -q -F '*' --mem='*' -o t -- ./num

# The functions that are named in a file, without what stands around them; sorted. Paths are no names.
all='main helper relax_ num::solve<double> num::solve<int> num::grid::fill num::sum'
found()
{
	local name text
	text=$(sed "s#$PWD/##g" "$1")
	for name in $all; do
		[[ $text != *"$name"* ]] || printf '%s ' "$name"
	done
}

# chosen WANTED FILE COMMAND...
chosen()
{
	local wanted=$1
	shift
	check_status 0 "$@"
	[ ! -s err ] || { show err; fail "complained: $*"; }
	[ "$(found out)" = "$wanted" ] || { show out; fail "$(found out)instead of $wanted: $*"; }
}

# pattern WANTED PATTERN [OPTIONS]: the same of all verbs, with the option's new and old spellings.
pattern()
{
	local wanted=$1 p=$2 option
	for option in -F -f --functions= --function=; do
		[[ $option == *= ]] && set -- "$option$p" || set -- "$option" "$p"
		chosen "$wanted" sonde report --csv "$@" t
		chosen "$wanted" sonde dump --flat "$@" t
		chosen "$wanted" sonde dump --mem "$@" t
		chosen "$wanted" sonde memory --csv "$@" t
	done
	# graph and replay show callers and callees as well
	check_status 0 sonde replay -F "$p" t
	check_status 0 sonde graph -F "$p" t
	sed -n 's/^what \(.*\) calls:$/\1/p' out >shown
	[ "$(found shown)" = "$wanted" ] || { show out; fail "$(found shown)instead of $wanted: graph -F $p"; }
	check_status 0 sonde graph t "$p"
	sed -n 's/^what \(.*\) calls:$/\1/p' out >shown
	[ "$(found shown)" = "$wanted" ] || { show out; fail "$(found shown)instead of $wanted: graph t $p"; }
	chosen "$wanted" sonde list -F "$p" ./num
	chosen "$wanted" sonde list ./num "$p"
	check_status 0 sonde disasm -O ./num "$p"
	grep ': at [0-9a-f]*, ' out >shown
	[ "$(found shown)" = "$wanted" ] || { show shown; fail "$(found shown)instead of $wanted: disasm $p"; }
	same_run -q -F "$p" -o one -- ./num
	check_status 0 sonde report --csv one
	[ "$(found out)" = "$wanted" ] || { show out; fail "$(found out)instead of $wanted: record -F $p"; }
}

pattern 'num::solve<double> num::solve<int> ' num::solve
pattern 'num::solve<double> ' 'num::solve<double>'
pattern 'num::solve<int> ' 'num::solve(int, int)'
pattern 'num::grid::fill num::sum ' 'num::grid*,num::sum'
pattern 'num::solve<double> num::solve<int> num::sum ' '/^num::s/'
pattern 'helper relax_ ' 'help*,relax'
pattern 'helper ' 'helper@num'
pattern 'helper ' '@num.cc:9'

# But not these.
chosen 'main helper relax_ ' sonde report --csv -N '/num::/' t
chosen 'main helper relax_ ' sonde dump --flat -N 'num::*' t
chosen 'main helper relax_ ' sonde memory --csv -N 'num::*' t
chosen 'num::sum ' sonde memory --csv -F 'num::*' -N '*solve*,num::grid::*' t
chosen 'main helper relax_ ' sonde replay -N 'num::*' t
chosen 'main helper relax_ ' sonde replay --no-function='num::*' t

# What matches nothing is told, also beside what does.
for verb in 'report -F' 'dump -F' 'dump --mem -F' 'memory -F' 'graph -F' 'replay -F'; do
	# shellcheck disable=SC2086
	check_usage_error sonde $verb solve t
	check_contains err "t: .*solve: no such function in the trace; did you mean 'num::solve<(double|int)>'"
	# shellcheck disable=SC2086
	check_status 0 sonde $verb helper,hepler t
	check_contains err "^sonde: warning: .*hepler: no such function in the trace; did you mean 'helper'\?$"
	# shellcheck disable=SC2086
	check_usage_error sonde $verb '/(/' t
	# shellcheck disable=SC2086
	check_usage_error sonde $verb 'helper@libnone' t
	check_contains err 'no such library in the trace'
done
check_usage_error sonde list -F solve ./num
check_contains err "num::solve<"
check_usage_error sonde list ./num 'num::sums'
check_contains err "^sonde: \./num: num::sums: no such function; did you mean 'num::sum'\?$"
check_status 0 sonde list ./num 'num::sums,helper'
check_contains err "^sonde: warning: num::sums: no such function; did you mean 'num::sum'\?$"
check_usage_error sonde disasm ./num 'num::Sum'
check_contains err "did you mean 'num::sum'"
check_usage_error sonde disasm ./num 'num::sum(int)'
check_contains err "did you mean 'num::sum\\(num::grid const&\\)'"
check_status 0 sonde -F sum -o one -- ./num
check_contains err "warning: -F sum: no such function; did you mean 'num::sum'\?$"
check_status 0 sonde --mem=sum -o one -- ./num
check_contains err "warning: --mem sum: no such function; did you mean 'num::sum'\?$"

# A module for some functions of a library.
c++ -g -O1 -fno-ipa-cp -shared -fPIC -o libnum.so num.cc
check_status 0 sonde module new some --library ./libnum.so 'num::sum,num::grid::*'
grep -o 'SONDE_WRAP[^(]*([^,]*' some.c >wraps || grep -n 'sum\|fill' some.c >wraps
check_contains some.c 'num.*sum'
check_contains some.c 'fill'
check_lacks some.c 'solve'
check_usage_error sonde module new other --library ./libnum.so 'num::sums'
check_contains err "num::sums: no such function; did you mean 'num::sum'"

# Libraries, by the same option as for recording.
check_status 0 sonde list --libs=libc -F qsort ./num
check_contains out 'libc\.so\.6: 1 of 1 '
check_status 0 sonde list ./num 'qsort@libc'
check_contains out ' qsort$'
check_status 0 sonde list -l ./num qsort
check_contains out ' qsort$'

# Fortran: procedures of modules by their own name.
command -v gfortran >/dev/null || exit 0
cat >phys.f90 <<-'END'
	module phys
	contains
	  subroutine relax(x)
	    double precision, intent(inout) :: x(:)
	    x = x * 0.5d0
	  end subroutine
	end module
	subroutine outer(n)
	  integer :: n
	  n = n + 1
	end subroutine
	program p
	  use phys
	  double precision :: x(10)
	  integer :: n = 1
	  x = 1
	  call relax(x)
	  call outer(n)
	  if (n /= 2) stop 1
	end program
END
gfortran -g -O0 -o phys phys.f90 || skip "gfortran does not work"
for p in relax phys::relax 'phys::*' '/^phys::/' __phys_MOD_relax; do
	same_run -q -F "$p" -o f -- ./phys
	check_status 0 sonde report --csv f
	[ "$(grep -c '__phys_MOD_relax' out)" -eq 1 ] || { show out; fail "not recorded: $p"; }
	check_status 0 sonde report --csv -F "$p" f
	check_contains out '__phys_MOD_relax'
done
same_run -q -F outer -o f -- ./phys
check_status 0 sonde report --csv f
check_contains out 'outer_'
check_status 0 sonde -F Relaxx -o f -- ./phys
check_contains err "did you mean 'phys::relax'"
