# SPDX-License-Identifier: GPL-3.0-or-later
# For scripts that compare runs of small programs, built in many ways, with what an oracle sees.
sources=$top_srcdir/tests/programs

# compile PROGRAM COMPILER FLAG...: into ./PROGRAM
compile()
{
	local name=$1 compiler=$2 source=$sources/$1.c libs="-lm -ldl -pthread"
	shift 2
	if [ -e "$sources/$name.cc" ]; then
		source=$sources/$name.cc
		case $compiler in gcc) compiler=g++ ;; *) compiler=clang++ ;; esac
	fi
	case $name in *_team) libs="$libs -fopenmp" ;; esac
	"$compiler" -w "$@" -I"$sources" -o "$name" "$source" $libs || fail "$name does not compile: $compiler $*"
}

# one_job ARGUMENT...: if the script is called for one of compare_all()'s jobs, does that with one(), and ends; `both' is as said there.
both=
one_job()
{
	case ${1-} in
	one) ;;
	both) both=1 ;;
	*) return ;;
	esac
	shift
	one "$@"
	exit 0
}

# compare_all PROGRAMS BUILDS MATRIX [EAGER]: a job for each program and build: this script, with the arguments
# "one PROGRAM BUILD COMPILER FLAG...".  Builds are what builds() prints, a line each; those that are possible(), and,
# unless BUILDS names them or MATRIX is not empty, those that are there by_default() of the compiler that Sonde was built
# with. With EAGER every second job (all, where BUILDS or MATRIX choose them) begins with "both" in place of "one": functions
# are instrumented when they are called first, and, in another run, all at the start.
compare_all()
{
	local program build compiler flags status step=2
	for program in $1; do
		builds | while read -r build compiler flags; do
			[ -z "$2" ] || case " $2 " in *" $build "*) ;; *) continue ;; esac
			[ "$3$2" ] || { [ "$compiler" = "$BUILT_WITH" ] && by_default "$program" "$build"; } || continue
			command -v "$compiler" >/dev/null && possible "$program" "$build" || continue
			echo "one $program $build $compiler $flags"
		done
	done >jobs
	[ -z "$3$2" ] || step=1
	[ -z "${4-}" ] || sed -i "1~${step}s/^one/both/" jobs
	[ -s jobs ] || fail "nothing to do"
	# One line is one job; the folders of those that failed stay.
	xargs -P "$(nproc)" -L 1 bash "$0" <jobs >log 2>&1
	status=$?
	grep -v ' agree$' log
	echo "$(grep -c ' agree$' log) of $(wc -l <jobs) agree"
	[ "$status" -eq 0 ] || exit 1
}
