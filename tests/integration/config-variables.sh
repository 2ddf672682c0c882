# SPDX-License-Identifier: GPL-3.0-or-later
# A configuration's variables that have no address of their own: of functions and threads, and blocks of the heap; programs that say themselves how
# often they are accessed.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
sources=$top_srcdir/tests/programs
export XDG_CACHE_HOME=$PWD/cache

begin()
{
	n=0
	echo instrumentation: >of.yaml
}

# entry VARIABLE [LOCATION [TYPE]]
entry()
{
	n=$((n + 1))
	printf "  - { type: %s, location: '%s', variables: '%s', output: of%d.txt }\n" "${3:-address-traces}" "${2:-all}" "$1" $n >>of.yaml
}

# counts N...: the accesses of all entries
counts()
{
	same_run -q -c of.yaml -o t -- ./program
	for i in $(seq $n); do
		grep -vc '^#' of$i.txt
	done | tr '\n' ' ' >got
	printf '%s ' "$@" >expected
	check_same expected got "accesses to variables: $(cat of.yaml)"
}

compilers=$CC
[ -z "$(command -v clang)" ] || compilers="$CC clang"
for compiler in $compilers; do
	for flags in -O0 -O1; do
		$compiler $flags -g -pthread -o program "$sources/var_c.c" || fail "$compiler"
		begin
		entry frames:array
		entry 'array in frames'
		entry array 'function frames, function fill'
		entry frames:array 'function fill'
		entry recurse:here
		entry frames:outer.y
		entry 'outer.x'
		entry thread:mine
		entry per_thread
		entry local_statics:last
		counts 32 32 32 32 90 1 0 24 80 1
	done
done

# other threads' stacks; all types
"$CC" -O1 -g -w -pthread -o program "$sources/var_threads.c" || fail "$CC"
begin
entry shares:table
entry 'shares:jobs[].table'
entry jobs all false-sharing
entry table all false-sharing
entry table all stride
entry table all alignment
entry table all cache
entry table all working-set
same_run -q -c of.yaml -o t -- ./program
[ "$(grep -vc '^#' of1.txt)" -eq 8000 ] || fail "not 8000 accesses to shares:table"
[ "$(grep -vc '^#' of2.txt)" -eq 12 ] || fail "not 12 accesses to shares:jobs[].table"
check_contains of3.txt 'false sharing: '
check_contains of3.txt ' in work at var_threads.c:'
check_lacks of4.txt 'false sharing:'
for i in 5 6 7 8; do
	check_contains of$i.txt ' shares|work'
	check_lacks of$i.txt 'no memory was accessed'
done

# blocks of the heap, by the lines that allocate them
for flags in -O0 -O2; do
	"$CC" $flags -g -pthread -o program "$sources/var_heap.c" || fail "$CC"
	./program >known
	begin
	while read -r line count; do
		call=$(sed -n "${line}s/.*[ (]\([a-z_]*alloc\|posix_memalign\)(.*/\1/p" "$sources/var_heap.c")
		entry "$call at var_heap.c:$line"
	done <known
	counts $(cut -f2 known)
done
# a function's, also where only other functions are measured; in a profile; fields
"$CC" -O1 -g -pthread -o program "$sources/var_bursts.c" || fail "$CC"
begin
entry 'malloc in make_odd' 'function use_odd'
entry 'calloc in make_even' 'function use_odd'
entry 'malloc[] in make_kept' all working-set
same_run -q -c of.yaml -o t -- ./program 20
[ "$(grep -vc '^#' of1.txt)" -ge 1600 ] || fail "few accesses to malloc in make_odd"
check_contains of2.txt '^# no memory was accessed there$'
check_contains of3.txt ' use_kept$'
check_lacks of3.txt ' use_(odd|even|grown)$'
# of a trace without allocations
check_status 0 sonde -q --mem -o without -- ./program 20
check_status 0 sonde config output of.yaml without
check_contains of1.txt '^# blocks of the heap are not known: .*-m memory'

# ---- what is not there ----

"$CC" -O1 -g -pthread -o frames "$sources/var_c.c" || fail "$CC"
# refused VARIABLE PROGRAM MESSAGE [LOCATION]
refused()
{
	begin
	entry "$1" "${4:-all}"
	rm -f of1.txt
	check_usage_error sonde -c of.yaml -o none ./$2
	check_contains err "^sonde: of.yaml: line 2, column [0-9]+: $3"
	[ ! -e none ] && [ ! -e of1.txt ] || fail "$1: it has been run"
}
refused frames:arra frames "arra: no such variable of frames; did you mean 'array'\?$"
refused frams:array frames "frams: no such function; did you mean 'frames'\?$"
refused frames:outer.z frames 'outer.z: no such field of outer, which has \.x, \.y$'
refused per_thred frames "per_thred: no such variable .*; did you mean 'per_thread'\?$"
refused array frames "array: no such variable .*; 'frames:array' is one$" 'function recurse'
refused 'malloc in make_od' program "make_od: no such function; did you mean 'make_odd'\?$"
refused 'malloc at var_bursts.c:23' program 'malloc at var_bursts.c:23: there is no call of malloc; lines 18 and 28 have one$'
refused 'malloc at bursts.c:18' program 'malloc at bursts.c:18: no code of '
refused 'free at var_bursts.c:18' program "free at var_bursts.c:18: 'free' is none of malloc, "
refused 'malloc at var_bursts.c' program "'malloc at var_bursts.c': not like 'malloc at solve.c:12'$"
strip -g frames
refused frames:array frames 'array: no variables of frames are known by debug information \(-g\)$'
begin
entry per_thread
mv frames program
counts 80
mv program frames
refused 'frames:' frames "'frames:': not like 'f:counter' or 'malloc in f'$"
