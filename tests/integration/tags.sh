# SPDX-License-Identifier: GPL-3.0-or-later
# The compiler plugin sonde-tags.so: code stays as it is, byte for byte; names are those of the source; `sonde tags'.
. "$top_srcdir/tests/integration/lib.sh"
need_command python3
plugin=$(sonde tags --plugin 2>/dev/null) || skip "sonde-tags.so was not built: no plugin headers of GCC 12"
gcc=$TAGS_GCC gxx=$(command -v g++-12 || command -v g++) gfortran=$(command -v gfortran-12 || command -v gfortran)

# ---- programs with known answers ----

cat >names.c <<'END'
#include <stdio.h>
#include <string.h>
#define APART __attribute__((noinline, noclone))
struct cell { double x, y; struct cell *next; short tag[4]; };
double grid[64][64];
static _Thread_local long counter;
APART int pick(const int *a, const int *b, int n)
{
	int x = 0;
	for (int i = 0; i < n; i++) {
		if (a[i] < b[i])
			x = a[i];
	}
	return x;
}
APART double walk(struct cell *list)
{
	double sum = 0;
	while (list) {
		sum += list->y;
		list->tag[2] = 7;
		list = list->next;
	}
	return sum;
}
APART void fill(double by)
{
	for (int i = 0; i < 64; i++)
		for (int k = 0; k < 64; k++)
			grid[i][k] += by;
	counter++;
}
int main(void)
{
	int v[20] = { 3, 1, 4, 1, 5, 9, 2, 6 }, w[20] = { 2, 7, 1, 8, 2, 8 };
	struct cell two = { 1, 2, NULL, { 0 } }, one = { 3, 4, &two, { 0 } };
	fill(1.5);
	printf("%d %g %g %ld\n", pick(v, w, 20), walk(&one), grid[3][4], counter);
	return 0;
}
END
"$gcc" -O3 -fplugin="$plugin" -o names names.c || fail "$gcc"
"$gcc" -O3 -o plain names.c || fail "$gcc"
[ "$(./names)" = "$(./plain)" ] || fail "another output"
sonde -q --mem -o t -- ./names >/dev/null || fail "a program with tags"
check_status 0 sonde memory -b instruction -F fill t
check_contains out 'fill[+]0x[0-9a-f]+  grid.i..k.: double'
check_status 0 sonde memory -b instruction --csv t
check_contains out ',expression$'
check_status 0 sonde memory -b instruction --json t
check_contains out '"expression":"list->y: double"'
check_status 0 sonde memory --csv t
check_lacks out 'expression'
check_status 0 sonde tags --csv ./names pick walk fill
cp out names.csv
check_status 0 sonde tags --json ./names pick walk fill
python3 - names.csv out <<'END' || fail "names"
import csv, json, sys
rows = list(csv.DictReader(open(sys.argv[1])))
def need(what, function, access, expression, variable, type, loop, depth):
    found = [r for r in rows if r["function"] == function and r["access"] == access and r["expression"] == expression]
    if not found:
        sys.exit("no %s of %s in %s" % (access, expression, function))
    for r in found:
        got = (r["variable"], r["type"], r["loop"], r["depth"])
        if got != (variable, type, loop, depth):
            sys.exit("%s: %s" % (what, got))
    return found
for name in "ab":
    found = need("pick", "pick", "read", name + "[i]", name, "const int", "10", "1")
    vector = [r for r in found if r["vectorized"] == "1"]
    if not vector or any(r["if_converted"] != "1" or r["branch"] != "11" or int(r["size"]) < 16 for r in vector):
        sys.exit("the loop of pick is not vectorized with its branch converted")
    scalar = [r for r in found if r["vectorized"] == "0"]
    if not scalar or any(r["size"] != "4" or r["file"][-7:] != "names.c" or r["line"] != "11" for r in scalar):
        sys.exit("the rest of pick")
need("a field", "walk", "read", "list->y", "list", "double", "19", "1")
need("an array in it", "walk", "write", "list->tag[2]", "list", "short int", "19", "1")
need("a pointer", "walk", "read", "list->next", "list", "struct cell *", "19", "1")
for access in "read", "write":
    found = need("two loops", "fill", access, "grid[i][k]", "grid", "double", "29", "2")
    if any(r["vectorized"] != "1" or r["if_converted"] != "0" for r in found):
        sys.exit("fill is not vectorized")
if not [r for r in rows if r["function"] == "fill" and r["variable"] == "counter"]:
    sys.exit("no thread-local variable")
ours = [json.loads(line) for line in open(sys.argv[2])]
if [(o["address"], o.get("expression", ""), o["access"]) for o in ours] != \
   [(int(r["address"], 16), r["expression"], r["access"]) for r in rows]:
    sys.exit("JSON and CSV differ")
END
check_status 0 sonde tags --csv --untagged ./names pick walk fill main
[ "$(wc -l <out)" -eq 1 ] || { show out; fail "accesses without tags"; }
check_status 0 sonde tags ./names pick
check_contains out 'a\[i\]: const int; loop at line 10, depth 1; vectorized; if-converted \(branch at line 11\)$'
check_contains out '^[0-9]+ of [0-9]+ instructions that access memory have tags \(100'

# not optimized: each variable is in memory
"$gcc" -O0 -fplugin="$plugin" -o names0 names.c || fail "$gcc -O0"
check_status 0 sonde tags --csv --untagged ./names0 pick walk fill main
[ "$(wc -l <out)" -eq 1 ] || { show out; fail "accesses without tags at -O0"; }
check_status 0 sonde tags --csv ./names0 pick
check_contains out '"names.c",11,"read",4,"variable","a\[i\]","a","const int","pick",10,1,'
check_contains out ',4,"variable","i","i","int",'

# ---- the section ----

readelf -SW names >sections
check_contains sections '\.sonde\.tags +PROGBITS +0000000000000000 [0-9a-f]+ [0-9a-f]+ 00 +[^A ]* +[0-9]'
cp names stripped && strip stripped
check_status 0 sonde tags --csv ./stripped
check_contains out '"list->y"'
"$gcc" -O3 -ffunction-sections -Wl,--gc-sections -fplugin="$plugin" -o parts names.c || fail "gc-sections"
check_status 0 sonde tags --csv ./parts pick walk fill
cut -d, -f 2-15 names.csv | sort >all.csv
cut -d, -f 2-15 out | sort >parts.csv
check_same all.csv parts.csv "tags of functions in sections of their own"

cat >use.cc <<'END'
#include <cstdio>
#include <string>
#include <vector>
struct body { double pos[3], v[3]; };
__attribute__((noinline)) void step(std::vector<body> &b, double by)
{
	for (size_t i = 0; i < b.size(); i++)
		for (int k = 0; k < 3; k++)
			b[i].pos[k] += by * b[i].v[k];
}
void other(std::vector<std::string> &);
int main()
{
	std::vector<body> b(10, body{ { 1, 2, 3 }, { 4, 5, 6 } });
	std::vector<std::string> s(3, "a");
	step(b, .5);
	other(s);
	printf("%g %zu\n", b[3].pos[2], s.size());
}
END
cat >other.cc <<'END'
#include <string>
#include <vector>
void other(std::vector<std::string> &s)
{
	s.push_back("b");
}
END
if [ -n "$gxx" ]; then
	"$gxx" -O2 -fplugin="$plugin" -o use use.cc other.cc 2>err || { show err; fail "C++, with functions in several objects"; }
	[ "$(./use)" = "6 4" ] || fail "C++: another output"
	check_status 0 sonde tags --csv ./use 'step*'
	check_contains out '"write",8,"variable","b\[i\]\.pos\[k\]","b\[i\]","double"'
fi

cat >stencil.f90 <<'END'
subroutine stencil(n, u, v, w)
  integer, intent(in) :: n
  real(8), intent(in) :: v(0:n+1, 0:n+1), w(:)
  real(8), intent(inout) :: u(n, n)
  integer :: i, j
  do j = 1, n
    do i = 1, n
      u(i, j) = 0.25d0 * (v(i-1, j) + v(i+1, j)) &
              + w(i)
    end do
  end do
end subroutine
END
# fortran ACCESS EXPRESSION VARIABLE
fortran()
{
	grep -Fq "\"$1\",8,\"variable\",\"$2\",\"$3\",\"real(kind=8)\",\"stencil\",7,2," out || { show out; fail "Fortran: no $1 of $2"; }
}
if [ -n "$gfortran" ]; then
	"$gfortran" -O0 -fplugin="$plugin" -shared -fPIC -o stencil.so stencil.f90 || fail "$gfortran"
	check_status 0 sonde tags --csv ./stencil.so 'stencil*'
	fortran read 'v(i-1, j)' v
	fortran read 'v(i+1, j)' v
	fortran read 'w(i)' w
	fortran write 'u(i, j)' u
fi

# ---- what cannot be ----

# plugin_error PATTERN FLAG...: one line, from the compiler.
plugin_error()
{
	local pattern=$1
	shift
	! "$gcc" -fplugin="$plugin" "$@" -c -o refused.o names.c 2>err || fail "accepted: $*"
	[ "$(grep -c 'sonde-tags' err)" -eq 1 ] || { show err; fail "not one line: $*"; }
	check_contains err "$pattern"
}
plugin_error 'cannot be used with .-flto' -flto
echo 'int v; int f(void) { return v; }' >small.c
! "$gcc" -m32 -fplugin="$plugin" -S -o small.s small.c 2>err || fail "accepted: -m32"
check_contains err 'for x86-64 code only'
check_usage_error sonde tags ./plain
check_contains err 'has no tags; compile it'
check_usage_error sonde tags ./names nowhere
check_usage_error sonde tags
check_usage_error sonde tags --csv --json ./names
check_usage_error sonde tags --plugin ./names
python3 - names <<'END'
import sys
d = open(sys.argv[1], "rb").read()
at = d.index(b"STAG")
open("newer", "wb").write(d[: at + 4] + b"\2" + d[at + 5 :])
after = d.index(b"STAG", at + 4)
open("damaged", "wb").write(d[:after] + b"X" + d[after + 1 :])
END
chmod +x newer damaged
check_usage_error sonde tags ./newer
check_contains err 'version 2 of the format, this Sonde reads version 1'
check_status 0 sonde tags ./damaged
check_contains err 'its tags are damaged after the first [0-9]'
check_contains out ' counter: long int$'

# ---- code is what it is without ----

cat >lines.f90 <<'END'
subroutine axpy(n, a, x, y, z)
  integer, intent(in) :: n
  real(8), intent(in) :: a, x(n), z(:)
  real(8), intent(inout) :: y(n)
  integer :: i
  do i = 1, n
    if (x(i) > a) y(i) = y(i) + a * x(i) + z(i)
  end do
end subroutine
END
files=("$top_srcdir"/tests/bench/mem/{bt,cg,ep,ft,gs,gups,is,join,lu,mg,sp,stream,tree}.c)
files+=("$top_srcdir"/tests/programs/{fn_calls,fn_interp,fn_longjmps,fn_stacks,fn_switches,mem_atomics,mem_lists,mem_sorts}.c)
files+=("$top_srcdir"/tests/programs/{mem_strings,mem_vectors,mem_widths,random,args_mix}.c names.c)
[ -z "$gxx" ] || files+=("$top_srcdir"/tests/programs/{fn_throws,fn_virtual}.cc use.cc other.cc)
[ -z "$gfortran" ] || files+=(lines.f90)

# both NAME COMPILER FLAG...: NAME.a.o without the plugin, NAME.b.o with it
cat >both <<'END'
name=$1
shift
"$@" -c -o $name.a.o && "$@" -fplugin="$plugin" -c -o $name.b.o || echo "$*" >>failed
END
export plugin
# Each file with one of three; with all of them in tests/stress/tags.sh, which sets this.
levels=('-O0 -g' '-O2 -g' '-O3 -march=native')
n=0 turn=0
for file in "${files[@]}"; do
	case $file in
	*.cc) compiler=$gxx ;;
	*.f90) compiler=$gfortran ;;
	*) compiler=$gcc ;;
	esac
	turn=$((turn + 1))
	for flags in "${all_levels[@]-${levels[turn % 3]}}"; do
		n=$((n + 1))
		echo "$n $compiler -w -fopenmp -I$top_srcdir/tests/programs -I$top_srcdir/modules/include $flags $file"
	done
done >commands
xargs -P "$(nproc)" -L 1 bash both <commands || fail "cannot compile"
[ ! -e failed ] || { show failed; fail "does not compile"; }
[ $n -ge 27 ] || fail "only $n objects"
pairs=()
for i in $(seq $n); do
	pairs+=("$i.a.o" "$i.b.o")
done
python3 "$top_srcdir/tests/integration/tags-same.py" "${pairs[@]}" >same.txt || { show same.txt; fail "other code"; }
check_contains same.txt "^$n pairs, $n with tags"
! python3 "$top_srcdir/tests/integration/tags-same.py" 1.a.o 2.b.o >same.txt || fail "other code is not seen"
