# SPDX-License-Identifier: GPL-3.0-or-later
# Killed while a program is being started, sonde takes it along, and later does not: the program is gone, or runs to
# its end as it would. A program that is killed while it is being started is an end like any other.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
rounds=${SONDE_TEST_ROUNDS:-3}

# check_killed WHO OPTION... -- PROGRAM...
check_killed()
{
	local who=$1 options=()
	shift
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	"$@" >expected || fail "$*"
	"${limit[@]}" python3 "$top_srcdir/tests/integration/start-killed.py" "$who" "$rounds" expected \
		"$top_builddir/sonde" -o t "${options[@]}" -- "$@" || fail "$who killed: ${options[*]} -- $*"
}

lines='for i in range(2000): print(i)'
for who in sonde recorder program; do
	check_killed "$who" --mem -- python3 -c "$lines"
	check_killed "$who" -F '*' --libs -- python3 -c "$lines"
	! command -v bash-static >/dev/null || check_killed "$who" --mem -- bash-static -c 'echo done'
done
