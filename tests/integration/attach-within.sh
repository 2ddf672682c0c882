# SPDX-License-Identifier: GPL-3.0-or-later
# A thread that waits in a system call which was led to Sonde's code is no reason to leave anything there, however often; nor does the
# call return for that.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_program lingers

# is_within: in readv()?
is_within()
{
	grep -qs '^19 ' "/proc/$target"/task/*/syscall
}

for program in lingers lingers-static; do
	[ -x "$programs/$program" ] || continue
	start "$programs/$program"
	for libs in '' --libs; do
		attach_begin -F '*' $libs
		echo in >&9
		await 20 is_within
		kill -INT "$attached"
		attach_end
		check_left
		attach_briefly -F '*' $libs
		check_left
		is_within || fail "the system call has returned"
		echo out >&9
		await 20 eval '! is_within'
	done
	finish
	check_contains target.out '^rounds 2, wrong 0$'
done
