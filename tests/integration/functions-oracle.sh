# SPDX-License-Identifier: GPL-3.0-or-later
# Every function of small, difficult programs is recorded, in many builds, and compared, event by event,
# with what a single-stepper saw (tests/oracle/stepper.c).
#
# FUNCTIONS_MATRIX=full     all programs in all builds (a quarter of an hour)
# FUNCTIONS_PROGRAMS        only these ("fn_odd fn_tails")
# FUNCTIONS_BUILDS          only these ("gcc-O2 clang-O0")
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
stepper=$top_builddir/tests/oracle/stepper
. "$top_srcdir/tests/integration/matrix.sh"
all_programs="fn_calls fn_forks fn_interp fn_longjmps fn_odd fn_plugs fn_recursion fn_signals fn_small
	fn_stacks fn_starts fn_switches fn_tails fn_team fn_threads fn_throws fn_virtual"

# All builds: name, compiler, flags.
builds()
{
	cat <<-'END'
	gcc-O0          gcc   -O0
	gcc-O1          gcc   -O1 -fcf-protection=full
	gcc-O2          gcc   -O2 -g
	gcc-O3-nopie    gcc   -O3 -fno-pie -no-pie -fcf-protection=none
	gcc-Os-stripped gcc   -Os
	gcc-lto         gcc   -O2 -flto -flto-partition=one
	gcc-notables    gcc   -O2 -fno-asynchronous-unwind-tables -fcf-protection=full
	gcc-frame       gcc   -O2 -fno-omit-frame-pointer -fno-ipa-ra -mno-red-zone
	gcc-static      gcc   -O2 -static
	gcc-static-pie  gcc   -O1 -static-pie -fPIE
	gcc-native      gcc   -O3 -march=x86-64-v3 -funroll-loops -falign-functions=1 -falign-jumps=1 -falign-loops=1
	gcc-libs        gcc   -O2
	clang-O0        clang -O0
	clang-O2        clang -O2
	clang-O3-nopie  clang -O3 -fno-pie -no-pie -fcf-protection=full
	clang-Os        clang -Oz
	clang-stripped  clang -O1
	gcc-bare-stripped gcc -O2 -static
	gcc-barepie-stripped gcc -O2
	END
}

# Which of them a plain `make check` takes.
by_default()
{
	case $1/$2 in
	fn_plugs/*-O2) ;; # most of what is stepped is the dynamic linker
	fn_plugs/*) return 1 ;;
	*/gcc-O0 | */gcc-O2 | */clang-O2) ;;
	*/gcc-Os-stripped | */clang-O3-nopie) ;;
	fn_odd/gcc-static | fn_virtual/gcc-static | fn_small/gcc-static | fn_starts/gcc-static) ;;
	fn_switches/gcc-libs | fn_longjmps/gcc-libs | fn_signals/gcc-libs) ;;
	fn_signals/gcc-static | fn_signals/gcc-bare-stripped | fn_longjmps/gcc-static-pie) ;;
	fn_tails/gcc-bare-stripped | fn_calls/gcc-barepie-stripped | fn_switches/gcc-barepie-stripped) ;;
	fn_small/gcc-O1 | fn_small/gcc-native | fn_tails/gcc-notables | fn_tails/gcc-O3-nopie | fn_tails/clang-Os) ;;
	fn_calls/* | fn_switches/*) case $2 in *-static* | *-bare-* | *-libs) return 1 ;; esac ;;
	*) return 1 ;;
	esac
}

# What cannot be, or is the same as another.
possible()
{
	case $1/$2 in
	fn_plugs/*-static*) return 1 ;; # opens a library
	fn_team/*-static* | fn_threads/*-static*) return 1 ;; # what libraries do depends on who is first
	fn_team/*-libs | fn_threads/*-libs) return 1 ;;
	fn_throws/*-bare* | fn_virtual/*-bare*) return 1 ;; # exceptions need tables
	fn_plugs/*-bare* | fn_team/*-bare* | fn_threads/*-bare*) return 1 ;;
	fn_throws/*-static*) return 1 ;; # the unwinder sorts its tables, for minutes of single steps
	fn_team/clang*) return 1 ;;	# its OpenMP is another package
	fn_odd/gcc-lto) return 1 ;;	# names in assembly
	esac
}

# debug_file LIBRARY: prints =FILE if its symbols are in a file of their own
debug_file()
{
	local id
	id=$(readelf -n "$1" | sed -n 's/.*Build ID: \(..\)\(.*\)/\1\/\2/p')
	[ ! -e "/usr/lib/debug/.build-id/$id.debug" ] || echo "=/usr/lib/debug/.build-id/$id.debug"
}

# bare FILE: without unwind tables
bare()
{
	objcopy --remove-section=.eh_frame --remove-section=.eh_frame_hdr --remove-section=.gcc_except_table "$1"
}

# compare [SONDE-OPTION...]: one run with what one() has found of the program
compare()
{
	same_run -q "$@" "${sonde[@]}" -F '*' -o t -- "$program" "${arguments[@]}"
	check_same plain.out stepped.out "stdout of $name under the oracle"
	events t
	sonde dump --tail-calls=jump --by-thread --flat --mangled t >dump || fail "sonde dump"
	awk -v list=list -v unknown="$unknown" -v begin="$begin" \
		-f "$top_srcdir/tests/oracle/compare.awk" oracle dump >difference || {
		cat difference
		fail "$name ($build): differs from the oracle${1:+ with $1}"
	}
	rm -rf t
}

# one PROGRAM BUILD COMPILER FLAG...: in a folder of its own
one()
{
	local name=$1 build=$2 program=./$1 arguments=() oracle=() sonde=() libs=() unknown= begin= lib
	shift 2
	mkdir -p "$name.$build" && cd "$name.$build" || exit 1
	compile "$name" "$@"
	case $build in
	*-stripped)
		cp "$name" symbols
		strip "$name"
		# nor unwind tables: functions are found from the entry point on
		case $build in *-bare*) bare "$name" ;; esac
		oracle=(-s symbols)
		unknown=1
		;;
	esac
	case $name in
	fn_recursion) arguments=(50) ;;
	fn_plugs)
		"$1" -w -O2 -g -fPIC -shared -o libfn_plug.so "$sources/libfn_plug.c" || fail "no library"
		arguments=("$PWD/libfn_plug.so")
		oracle+=(-l libfn_plug.so)
		sonde=(-F '*@libfn_plug')
		;;
	esac
	case $build in
	*-libs)
		begin=__libc_start_main
		for lib in libc libm libstdc++ libgcc_s; do
			lib=$(ldd "$name" | sed -n "s/^\t$lib\.so.* => \([^ ]*\) .*/\1/p")
			[ -n "$lib" ] || continue
			sonde+=(--libs="$(basename "$lib")")
			lib=$(realpath "$lib")
			oracle+=(-l "$lib$(debug_file "$lib")")
			libs+=("$lib")
		done
		;;
	esac
	export OMP_WAIT_POLICY=passive LD_BIND_NOW=1
	timeout -s KILL 120 "$stepper" "${oracle[@]}" -o oracle "$program" "${arguments[@]}" >stepped.out ||
		[ $? -lt 128 ] || fail "$name ($build): the oracle fails"
	[ "$name" != fn_plugs ] || libs+=(./libfn_plug.so)
	for lib in "$program" "${libs[@]}"; do
		sonde list -F '*' --mangled "$lib" >listed || fail "sonde list"
		sed "s|^|$(basename "$lib") |" listed >>list
	done
	compare
	[ -z "$both" ] || compare --eager
	echo "$name ($build): $(cat difference)"
	cd .. && rm -rf "$name.$build"
}

one_job "$@"

[ -x "$stepper" ] || skip "tests/oracle/stepper was not built"
compare_all "${FUNCTIONS_PROGRAMS:-$all_programs}" "${FUNCTIONS_BUILDS:-}" "${FUNCTIONS_MATRIX:-}" eager
