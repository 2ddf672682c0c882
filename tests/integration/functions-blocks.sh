# SPDX-License-Identifier: GPL-3.0-or-later
# Wherever control comes to in programs that run, the control flow that Sonde finds in their files has a block
# (tests/oracle/blocks.c): what an indirect jump may lead to is never taken too small.
#
# BLOCKS_STEPS    of the system's programs, so many instructions (25000; 0: all)
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
oracle=$top_builddir/tests/oracle
. "$top_srcdir/tests/integration/matrix.sh"
[ -x "$oracle/stepper" ] && [ -x "$oracle/blocks" ] || skip "the oracle was not built"

# run FILE ARGUMENT...: what runs of it, and of LIBRARY if set
run()
{
	local file=$1 options=()
	shift
	[ -z "$library" ] || options=(-l "$library")
	"${limit[@]}" "$oracle/stepper" -b -n "$steps" "${options[@]}" -o list "$file" "$@" >/dev/null 2>&1 </dev/null
	for file in "$file" $library; do
		grep -q "^block [0-9a-f]* ${file##*/}\$" list || fail "nothing of $file ran"
		"$oracle/blocks" "$file" <list || failed=1
	done
}

failed=
steps=0
libc=$(realpath "$(ldd "$(command -v bash)" | sed -n 's/^\tlibc\.so.* => \([^ ]*\) .*/\1/p')")
for name in fn_calls fn_interp fn_longjmps fn_odd fn_signals fn_small fn_starts fn_switches fn_tails fn_virtual; do
	compile "$name" "$BUILT_WITH" -O2
	library=
	# with another program all of the time would go there
	[ "$name" != fn_signals ] || library=$libc
	run "$PWD/$name"
done

for name in bash-static busybox perl printf python3 sqlite3; do
	# /usr/bin: what other places have may be scripts
	[ -x "/usr/bin/$name" ] || continue
	library= steps=${BLOCKS_STEPS:-25000}
	case $name in
	bash-static) arguments=(-c 'for i in a b; do case $i in a) echo $((i + 1));; esac; done') ;;
	busybox) arguments=(awk 'BEGIN { print substr("abc", 2) * 3 }') ;;
	printf) arguments=('%5.3f-%x-%s|%-8ld|%+e|%*d' 3.14 255 text 99 1.5 4 2) library=$libc steps=0 ;;
	perl) arguments=(-e 'print join ",", map { $_ * 2 } 1 .. 3') ;;
	python3) arguments=(-S -E -c 'print(sorted({1: 2}.items()))') ;;
	sqlite3) arguments=(:memory: 'select 1 + 2;') ;;
	esac
	run "$(realpath "/usr/bin/$name")" "${arguments[@]}"
done
[ -z "$failed" ] || fail "control came to places where no block begins"
