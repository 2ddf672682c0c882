# SPDX-License-Identifier: GPL-3.0-or-later
# Counts of all blocks, edges and loops of small, difficult programs, in several builds, are what a single-stepper counted
# (tests/oracle/counts.c): from counters, from the order of blocks, and from that beside memory accesses.
#
# BLOCKS_MATRIX=full    all programs in all builds (minutes)
# BLOCKS_PROGRAMS       only these ("fn_odd fn_tails")
# BLOCKS_BUILDS         only these ("gcc-O2 clang-O0")
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
oracle=$top_builddir/tests/oracle
. "$top_srcdir/tests/integration/matrix.sh"
all_programs="fn_calls fn_forks fn_interp fn_longjmps fn_loops fn_odd fn_recursion fn_signals fn_small fn_stacks fn_starts fn_switches
	fn_tails fn_threads fn_throws fn_virtual mem_loops mem_jumps mem_switches mem_signals mem_sorts"

builds()
{
	cat <<-'END'
	gcc-O0          gcc   -O0
	gcc-O2          gcc   -O2 -g
	gcc-O3          gcc   -O3 -funroll-loops -fno-pie -no-pie
	gcc-eager       gcc   -O2
	gcc-Os-stripped gcc   -Os
	gcc-static      gcc   -O1 -static
	clang-O0        clang -O0
	clang-O2        clang -O2
	END
}

by_default()
{
	case $1/$2 in
	fn_forks/gcc-O2 | fn_interp/gcc-O2 | fn_longjmps/gcc-O2 | fn_loops/gcc-O[023] | fn_odd/gcc-O[02] | fn_signals/gcc-O2 | fn_switches/gcc-O2) ;;
	fn_tails/gcc-O2 | fn_throws/gcc-O2 | mem_loops/gcc-O3 | mem_signals/gcc-O2 | fn_signals/gcc-eager | fn_threads/gcc-eager) ;;
	fn_loops/clang-O2 | fn_odd/clang-O2 | fn_signals/clang-O2 | fn_switches/clang-O2 | fn_tails/clang-O2 | fn_throws/clang-O0 | mem_signals/clang-O2) ;;
	*) return 1 ;;
	esac
}

possible()
{
	case $1/$2 in
	*_threads/*-static | *_signals/*-static | fn_throws/*-static) return 1 ;; # not the same twice, or for minutes
	fn_forks/*-static | fn_loops/*-static) return 1 ;; # the stepper misses the first steps of children that share memory
	esac
}

# Both have the same environment: what the C library does depends on it.
run()
{
	env -i PATH="$PATH" LD_BIND_NOW=1 setarch -R timeout -s KILL 120 "$@"
}

# compare_counts TEXT TRACE [MISSING]
compare_counts()
{
	local by
	for by in block edge loop; do
		sonde blocks --csv --mangled -b $by "$2" >$by 2>said || { show said; fail "$1: sonde blocks -b $by"; }
	done
	sonde info -v "$2" >info || fail "sonde info"
	sed -n 's/^ \{20,\}\([^ 0-9].*\)/\1/p' info >alone
	python3 "$top_srcdir/tests/oracle/counts.py" steps static block edge loop alone "${3-0}" >difference || {
		cat difference
		fail "$1: differs from the oracle"
	}
}

# one PROGRAM BUILD COMPILER FLAG...: in a folder of its own
one()
{
	local name=$1 build=$2 program=./$1 arguments=() sonde=() missing=0 status
	shift 2
	mkdir -p "$name.$build" && cd "$name.$build" || exit 1
	compile "$name" "$@"
	case $build in
	*-stripped) strip "$name" ;;
	*-eager) sonde=(--eager) ;;
	esac
	[ "$name" != fn_recursion ] || arguments=(50)
	run sonde -q "${sonde[@]}" --blocks -o t -- "$program" "${arguments[@]}" >traced.out 2>traced.err
	status=$?
	run "$oracle/counts" -o steps "$program" "${arguments[@]}" >stepped.out 2>stepped.err
	[ $? -eq "$status" ] || { show traced.err stepped.err; fail "$name ($build): ends with $status, differently stepped"; }
	check_same traced.out stepped.out "stdout of $name"
	sonde blocks --csv "$program" >static || fail "sonde blocks $program"
	run sonde -q "${sonde[@]}" --blocks=trace -o o -- "$program" "${arguments[@]}" >ordered.out 2>ordered.err
	[ $? -eq "$status" ] || { show ordered.err; fail "$name ($build): ends differently with --blocks=trace"; }
	check_same ordered.out stepped.out "stdout of $name with --blocks=trace"
	compare_counts "$name ($build)" t
	[ "$name" != fn_loops ] || missing=1
	compare_counts "$name ($build), in order" o $missing
	case $name/$build in *_signals/gcc-O2 | fn_tails/*-O2 | fn_switches/*-O2 | fn_throws/gcc-O2 | mem_loops/gcc-O3)
		run sonde -q "${sonde[@]}" --blocks=trips -o l -- "$program" "${arguments[@]}" >trips.out 2>trips.err
		[ $? -eq "$status" ] || { show trips.err; fail "$name ($build): ends differently with --blocks=trips"; }
		check_same trips.out stepped.out "stdout of $name with --blocks=trips"
		compare_counts "$name ($build), with trips" l
		;;
	esac
	case $build in gcc-O2 | gcc-O3 | clang-O2)
		run sonde -q "${sonde[@]}" --mem --blocks -o m -- "$program" "${arguments[@]}" >both.out 2>both.err
		[ $? -eq "$status" ] || { show both.err; fail "$name ($build): ends differently with --mem --blocks"; }
		check_same both.out stepped.out "stdout of $name with --mem --blocks"
		compare_counts "$name ($build), beside memory accesses" m $missing
		;;
	esac
	echo "$name ($build): $(tail -n 1 difference)"
	cd .. && rm -rf "$name.$build"
}

one_job "$@"

need_command setarch gcc
setarch -R true 2>/dev/null || skip "address space randomization cannot be switched off"
[ -x "$oracle/counts" ] || skip "tests/oracle/counts was not built"
compare_all "${BLOCKS_PROGRAMS:-$all_programs}" "${BLOCKS_BUILDS:-}" "${BLOCKS_MATRIX:-}"
