# SPDX-License-Identifier: GPL-3.0-or-later
# Blocks of the heap have their names in bursts, too: calls of malloc() and free() between them are not in the stream of accesses.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace

"$CC" -O1 -g -pthread -o program "$top_srcdir/tests/programs/var_bursts.c" || fail "$CC"

# named OPTION...: each function has accessed blocks of one place alone
named()
{
	check_status 0 sonde -q --mem -m memory "$@" -o t -- ./program $rounds
	check_contains out '^done$'
	for which in 'odd malloc' 'even calloc' 'kept malloc' 'grown realloc'; do
		set -- $which
		check_status 0 sonde memory -b allocation -F use_$1 --no-stack --csv t
		awk -F, 'NR > 1 { print $1 }' out >names
		printf '"%s in make_%s"\n' $2 $1 >expected
		check_same expected names "what use_$1 has accessed"
	done
}

rounds=300
named
rounds=4000
named --sample=burst:200us,every:1ms
named --sample=burst:200k,every:1M
named --overhead=20
