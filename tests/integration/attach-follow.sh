# SPDX-License-Identifier: GPL-3.0-or-later
# What a process that was attached to executes is recorded like what it does itself, and left with it.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/attach-lib.sh"
need_attach
need_command jq
need_program ends ends-static busy

# programs DIR: the programs that were recorded, by base name, each once, one line.
programs()
{
	cat "$1"/metadata "$1"/process-*/metadata 2>/dev/null | jq -r 'select(.type == "trace") | .program' |
		sed 's#.*/##' | sort -u | tr '\n' ' '
}

cat >job.sh <<END
echo ready
n=0
while [ ! -e stop ]; do
	"$programs/ends" 3 return
	[ \$? -eq 3 ] || echo wrong status
	"$programs/ends-static" 4 return | cat >/dev/null
	n=\$((n + 1))
	echo \$n >rounds
done
read -r line
[ ! -e executed ] || exec "$programs/ends" 2 return >/dev/null
END
shell=$(readlink -f "$(command -v bash)")

# a shell's descriptors come and go
check_shell_left()
{
	code_of "$target" | cksum >code.after
	check_same code.before code.after "the code of the shell"
	! grep memfd:sonde "/proc/$target/maps" || fail "something of ours is mapped in the shell"
}

# two rounds from the beginning to the end are seen
two_rounds()
{
	local n
	n=$(cat rounds)
	await 60 eval '[ "$(cat rounds)" -gt $((n + 2)) ]'
}

start bash job.sh
await 20 test -s rounds
attach_begin -F work
two_rounds
kill -INT "$attached"
attach_end
check_shell_left
[ "$(programs t | tr ' ' '\n' | grep -c '^ends')" -eq 2 ] || fail "recorded: $(programs t)"
[[ " $(programs t)" == *" ${shell##*/} "* ]] || fail "recorded: $(programs t)"
check_status 0 sonde report --process=ends-static t
check_contains out ' work$'

# those of some names only; none
attach_begin -F work --follow=ends-static
two_rounds
kill -INT "$attached"
attach_end
check_shell_left
check_status 0 sonde report --process=ends-static t
check_status 0 sonde report t
awk '/ ends 3 return$/ && $4 > 0 { exit 1 }' out || { show out; fail "events of what was not to be followed"; }
attach_begin -F '*' --no-follow
two_rounds
kill -INT "$attached"
attach_end
check_shell_left
[ "$(programs t)" = "${shell##*/} " ] || fail "recorded with --no-follow: $(programs t)"

# the process itself executes another program, which ends
touch executed
attach_begin -F work
touch stop
echo >&9
exec 9>&-
status=0
wait "$target" || status=$?
[ "$status" -eq 3 ] || fail "exit status $status of what the process executed"
attach_end
[ ! -s target.err ] || { show target.err; fail "messages of the target"; }
check_lacks target.out wrong
[[ " $(programs t)" == *" ends "* ]] || fail "recorded: $(programs t)"

# what was executed, and still runs, is left, too
cat >server.sh <<END
echo ready
read -r line
"$programs/busy" 2 <child.in >child.out
echo status \$?
END
mkfifo child.in
start bash server.sh
attach_begin -F '*'
echo >&9
exec 8>child.in
await 20 grep -qs ready child.out
child=$(child_of "$target" busy)
await 20 grep -qs mix t/process-*/metadata
check_status 0 sonde detach "$target"
attach_end
! grep memfd:sonde "/proc/$child/maps" || fail "something of ours is mapped in what was executed"
check_status 0 sonde report --process=busy t
check_contains out ' mix( |$)'
echo >&8
wait "$target" || fail "exit status $?"
check_contains child.out '^wrong 0, signals missed 0, handler kept, rounds many$'
check_contains target.out '^status 0$'
