# SPDX-License-Identifier: GPL-3.0-or-later
# Another tool counts, too: what Valgrind's lackey says each instruction of static programs loads and stores, with all of the C
# library, against what is recorded.
#
# In the program's own functions both have to agree, instruction by instruction.  In the C library's they do not always:
#	- Valgrind shows the program another processor, no vDSO, and other auxiliary values, so start-up code
#	  (processor features, tunables, the search of the vDSO) goes other ways, and so do functions that were chosen
#	  by the processor's features, and those that look at how addresses are aligned;
#	- Sonde's code is where the heap would grow, so malloc() maps memory instead;
#	- lackey counts a locked compare-and-exchange as two loads and a store.
# So of all accesses 40 % have to be in functions that agree wholly; those that do not are named, and those of which nothing
# is in the trace, with what lackey counts in them.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command valgrind gcc nm
[ -x "$top_builddir/tests/oracle/memcompare" ] || skip "tests/oracle/memcompare was not built"
sources=$top_srcdir/tests/programs
echo 'int main(void) { return 0; }' >empty.c
gcc -static -o empty empty.c 2>/dev/null || skip "no static C library"
# what Valgrind has not, or what differs between processors that it shows and the real one
tunables=glibc.cpu.hwcaps=-AVX512F,-AVX512VL,-AVX512BW,-AVX512CD,-AVX512DQ,-ERMS,-FSRM,-RTM,-AVX2,-AVX_Fast_Unaligned_Load,-BMI2

# functions PROGRAM: ADDRESS SIZE NAME, ascending
functions()
{
	nm -S --defined-only "$1" | awk 'NF == 4 && $3 ~ /^[tTwWiI]$/ { print $1, $2, $4 }' | sort -u -k1,1 |
		sed 's/^0*//; s/ 0*/ /'
}

# compare PROGRAM FLAG...
compare()
{
	local name=$1 own
	shift
	gcc -w "$@" -static -fno-pie -no-pie -I"$sources" -o "$name" "$sources/$name.c" -lm -pthread || fail "$name does not compile"
	gcc -w "$@" -fno-pie -c -I"$sources" -o "$name.o" "$sources/$name.c" || fail "$name does not compile"
	functions "$name" >functions
	own=$(functions "$name.o" | cut -d' ' -f3 | sort -u)
	env -i GLIBC_TUNABLES="$tunables" valgrind --tool=lackey --trace-mem=yes --log-file=lackey "./$name" >plain.out 2>plain.err ||
		fail "$name fails in Valgrind"
	env -i PATH="$PATH" GLIBC_TUNABLES="$tunables" timeout -s KILL 60 sonde -q --mem -o t -- "./$name" >traced.out ||
		fail "$name fails"
	check_same plain.out traced.out "stdout of $name"
	"$top_builddir/tests/oracle/memcompare" -p t >accesses || fail "the trace of $name"
	awk -v functions=functions -f "$top_srcdir/tests/integration/lackey.awk" lackey accesses >difference
	for function in $own; do
		! grep -F "differs $function at" difference || fail "$name: $function differs"
	done
	awk -v name="$name" '
		/^differs/ { others = others " " $2; next }
		{ print name " (" $0 "); libc differs in:" others; good = $5 * 10 > $1 * 4 }
		END { exit !good }' difference || { cat difference; fail "$name: too little agrees"; }
	rm -rf t
}

compare mem_lists -O2
compare mem_sorts -O2
compare mem_loops -O0
compare mem_widths -O1
compare mem_matrix -O3
compare mem_switches -O2
