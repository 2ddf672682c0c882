# SPDX-License-Identifier: GPL-3.0-or-later
# Exceptions, and the ends of threads that are cancelled, pass wrappers of modules that only Sonde knows of.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program unwound

cat >passes.c <<'END'
#include <sonde/module.h>
SONDE_MODULE("passes", "functions that exceptions leave");
SONDE_WRAP(int, thrower, (int n))
{
	sonde_enter(SONDE_I32("n", n));
	int ret = SONDE_REAL(thrower)(n);
	sonde_leave();
	return ret;
}
SONDE_WRAP(int, passed, (int n))
{
	sonde_enter(SONDE_I32("n", n));
	int ret = SONDE_REAL(passed)(n);
	sonde_leave();
	return ret;
}
END
for program in unwound unwound-static; do
	[ -x "$programs/$program" ] || continue
	start "$programs/$program"
	for _ in 1 2; do
		attach_briefly -m ./passes.c -m posixio,pthread
		kill -0 "$target" || { show target.out target.err; fail "the target has ended"; }
	done
	sonde info t >info.txt || fail "sonde info"
	check_contains info.txt '^state +intact$'
	sonde report t >report.txt || fail "sonde report"
	check_contains report.txt ' thrower'
	check_contains report.txt ' read'
	finish
	check_contains target.out '^not caught 0, not destroyed 0$'
done
