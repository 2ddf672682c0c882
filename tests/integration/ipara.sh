# SPDX-License-Identifier: GPL-3.0-or-later
# Callers that know which registers the functions they call leave alone, wrapped or not.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_program ipara

check_ipara()
{
	same_run -o t -m "$modules/ipara.c" -- "$1" 1000
	events t
	# tick() by its own callers, and twice in each middle()
	check_calls 3000 tick
	check_calls 1000 twice
	check_calls 1000 half
	check_calls 1000 two
	check_calls 1000 middle
}
check_ipara "$programs/ipara"
[ ! -x "$programs/ipara-static" ] || check_ipara "$programs/ipara-static"

# At other levels, by other compilers, position-dependent too. Whatever is inlined or cloned is no
# function any more, so only the output counts here.
for cc in gcc clang; do
	command -v $cc >/dev/null || continue
	for flags in -O1 -O2 -O3 -Os '-O2 -fno-pie -no-pie' '-O3 -march=x86-64-v3' '-O2 -fomit-frame-pointer -fPIE -pie'; do
		# shellcheck disable=SC2086
		$cc $flags -o ipara "$top_srcdir/tests/programs/ipara.c" 2>cc.err || continue
		./ipara 1000 >plain.out 2>/dev/null || continue # a processor without these instructions
		check_status 0 sonde -q -o t -m "$modules/ipara.c" -- ./ipara 1000
		check_same plain.out out "output of $cc $flags"
		events t
		[ "$(count 'enter()')" -ge 5000 ] || fail "$cc $flags: only $(count 'enter()') calls"
	done
done
