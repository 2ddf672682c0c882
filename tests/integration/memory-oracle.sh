# SPDX-License-Identifier: GPL-3.0-or-later
# Every memory access of small, difficult programs is recorded, in many builds, and compared, access by access, with
# what a single-stepper saw (tests/oracle/memsteps.c): kind, size, address, instruction.  In static programs all of libc is
# compared as well; not with threads there, whose locks are not taken in the same order twice.
#
# MEMORY_MATRIX=full    all programs in all builds (ten minutes)
# MEMORY_PROGRAMS       only these ("mem_odd mem_loops")
# MEMORY_BUILDS         only these ("gcc-O2 clang-O0")
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
oracle=$top_builddir/tests/oracle
. "$top_srcdir/tests/integration/matrix.sh"
all_programs="mem_atomics mem_avx512 mem_forks mem_jumps mem_lists mem_loops mem_matrix mem_odd mem_signals mem_sorts
	mem_stacks mem_strings mem_switches mem_team mem_threads mem_throws mem_vectors mem_widths
	fn_calls fn_forks fn_interp fn_longjmps fn_odd fn_recursion fn_signals fn_small
	fn_stacks fn_starts fn_switches fn_tails fn_team fn_threads fn_throws fn_virtual"

# All builds: name, compiler, flags.
builds()
{
	cat <<-'END'
	gcc-O0          gcc   -O0
	gcc-O1          gcc   -O1 -fcf-protection=full
	gcc-O2          gcc   -O2 -g
	gcc-O3-v3       gcc   -O3 -march=x86-64-v3
	gcc-O3-v4       gcc   -O3 -march=x86-64-v4 -mprefer-vector-width=512
	gcc-unrolled    gcc   -O3 -funroll-loops -fno-pie -no-pie
	gcc-Os-stripped gcc   -Os
	gcc-frame       gcc   -O2 -fno-omit-frame-pointer -mno-red-zone
	gcc-nostack     gcc   -O2 -fno-pie -no-pie
	clang-O0        clang -O0
	clang-O2        clang -O2
	clang-O3-v4     clang -O3 -march=x86-64-v4
	clang-Os-nopie  clang -Oz -fno-pie -no-pie
	gcc-static      gcc   -O2 -static
	gcc-static-pie  gcc   -O1 -static-pie
	END
}

# Which of them a plain `make check` takes.
by_default()
{
	case $1/$2 in
	mem_matrix/gcc-O0 | mem_throws/gcc-O0) return 1 ;;
	mem_odd/gcc-O2 | mem_signals/gcc-O* | mem_avx512/gcc-O2 | mem_vectors/gcc-O2) ;;
	mem_loops/*-v* | mem_matrix/gcc-O3-v* | mem_widths/gcc-unrolled) ;;
	mem_*/gcc-O2 | mem_*/clang-O2) ;;
	mem_sorts/gcc-nostack | mem_threads/gcc-nostack | mem_stacks/gcc-O0 | mem_lists/gcc-Os-stripped) ;;
	mem_lists/gcc-static | mem_strings/gcc-static-pie) ;;
	fn_odd/gcc-O2 | fn_signals/gcc-O2 | fn_virtual/gcc-O2) ;;
	*) return 1 ;;
	esac
}

# What cannot be.
possible()
{
	case $1/$2 in
	*/*-v3) grep -qw avx2 /proc/cpuinfo ;;
	*/*-v4) grep -qw avx512vl /proc/cpuinfo ;;
	*_threads/*-static* | *_team/*-static* | *_signals/*-static* | *_atomics/*-static*) return 1 ;;
	fn_throws/*-static*) return 1 ;; # minutes of single steps
	*_team/clang*) return 1 ;;	 # its OpenMP is another package
	esac
}

# Why nothing is recorded of some functions: they are the C library's start, or set the direction flag, look for where they
# are, or jump to what nobody can know.
may_be_left_alone='_start|_init|_fini|back_[bwlq]|threaded|offsets|run|three|until_zero|one_byte_tight|two_bytes|three_bytes|pushes|has_middle|close_calls|call_first(_aligned)?|flags|flags_out|carry_out|notrack|table_within|second_entry'

# Both have the same environment, so that the stack is at the same address.
run()
{
	env -i PATH="$PATH" LD_BIND_NOW=1 OMP_WAIT_POLICY=passive setarch -R timeout -s KILL 120 "$@"
}

# check_alone: the functions that memcompare names.
check_alone()
{
	local name
	for name in $(sed -n 's/.*left alone://p' difference); do
		[[ ${name%(*} =~ ^($may_be_left_alone)$ ]] || fail "nothing is recorded of $name"
	done
}

# compare [SONDE-OPTION...]: one run with what one() has found of the program
compare()
{
	local status
	# on a machine that others keep busy a first call may have gone on without an answer, which is said
	for _ in 1 2 3; do
		run sonde -q "$@" "${sonde[@]}" -o t -- "$program" "${arguments[@]}" >traced.out 2>traced.err
		status=$?
		! run sonde info t | grep -qE '^lost +[0-9]' || continue
		break
	done
	[ "$stepped" -eq "$status" ] || { show traced.err stepped.err; fail "$name ($build): ends with $status, differently stepped"; }
	check_same traced.out stepped.out "stdout of $name"
	"$oracle/memcompare" "${compared[@]}" steps t >difference || {
		cat difference
		fail "$name ($build): differs from the oracle${1:+ with $1}"
	}
	# other builds have other functions that are too small
	if [ "${MEMORY_MATRIX:-}${MEMORY_BUILDS:-}" ]; then
		sed -n "s/.*\(left alone:.*\)/$name ($build): \1/p" difference
	else
		case $build in
		*-stripped | *-static*) ;;	# names are missing, or libc's are there
		*) check_alone ;;
		esac
	fi
	rm -rf t
}

# one PROGRAM BUILD COMPILER FLAG...: in a folder of its own
one()
{
	local name=$1 build=$2 program=./$1 arguments=() sonde=(--mem) compared=() stepped
	shift 2
	mkdir -p "$name.$build" && cd "$name.$build" || exit 1
	compile "$name" "$@"
	case $build in
	*-stripped)
		# functions are found, too, that are in no table: of those the oracle knows nothing
		strip "$name"
		run sonde list -F '*' --csv "./$name" | awk -F '"' '/"unwind table"/ { print $4 }' | paste -sd, >in-tables
		sonde=(--mem="$(cat in-tables)")
		;;
	*-nostack) sonde+=(--mem-stack=no) compared=(-S) ;;
	esac
	[ "$name" != fn_recursion ] || arguments=(50)
	run "$oracle/memsteps" -o steps "$program" "${arguments[@]}" >stepped.out 2>stepped.err
	stepped=$?
	[ "$stepped" -ne 77 ] || { echo "$name ($build): not on this processor: agree"; exit 0; }
	compare
	[ -z "$both" ] || compare --eager
	echo "$name ($build): $(sed 's/; left.*//' difference)"
	cd .. && rm -rf "$name.$build"
}

one_job "$@"

[ -x "$oracle/memsteps" ] || skip "tests/oracle/memsteps was not built"
need_command setarch gcc
setarch -R true 2>/dev/null || skip "address space randomization cannot be switched off"
compare_all "${MEMORY_PROGRAMS:-$all_programs}" "${MEMORY_BUILDS:-}" "${MEMORY_MATRIX:-}" eager
