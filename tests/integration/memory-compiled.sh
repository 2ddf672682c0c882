# SPDX-License-Identifier: GPL-3.0-or-later
# Traces of real programs are read in the same way by compiled descriptions and by the interpreter (SONDE_MEM_COMPILE=0): all
# accesses, and how many there are.
. "$top_srcdir/tests/integration/lib.sh"
need_program accesses
need_ptrace

# both VERB...: what `sonde VERB` writes, in both ways
both()
{
	check_status 0 sonde "$@"
	mv out compiled
	SONDE_MEM_COMPILE=0 check_status 0 sonde "$@"
	check_same out compiled "sonde $*, interpreted and compiled"
}

# compare NAME COMMAND...
compare()
{
	local name=$1
	shift
	timeout -s KILL 100 sonde -q --mem -o "$name" -- "$@" >/dev/null 2>&1 || fail "$* failed under sonde"
	both dump --mem "$name"
	[ "$(wc -l <compiled)" -gt 1000 ] || fail "$*: hardly any accesses"
	both info "$name"
	rm -rf "$name" compiled out
}

seq 1 4000 >numbers
compare accesses "$programs/accesses"
command -v gzip >/dev/null && compare gzip gzip -k -f numbers
command -v perl >/dev/null &&
	compare perl perl -e 'for (1 .. 2000) { $n{$_ * 7919 % 101} .= "$_ " } print length $n{7}'
exit 0
