# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced first by every integration test; tests/run has set the environment (tests/env.sh.in) and
# made an empty current folder. A test ends at the first failed check.
#
#	. "$top_srcdir/tests/integration/lib.sh"
#	need_program demo
#	same_run -o demo.sonde -- "$programs/demo"
#	check_contains report.txt 'strike_out'
set -u

# fail MESSAGE...: end the test as failed.
fail()
{
	echo "FAIL: $*"
	exit 1
}

# skip REASON...: end the test as skipped.
skip()
{
	echo "SKIP: $*"
	exit 77
}

# need_program NAME...: skip unless these programs of tests/programs were built. Programs are only
# left unbuilt where configure found no means to build them.
need_program()
{
	local name
	for name; do
		[ -x "$programs/$name" ] || skip "tests/programs/$name was not built"
	done
}

# need_command NAME...: skip unless these are installed.
need_command()
{
	local name
	for name; do
		command -v "$name" >/dev/null || skip "no $name installed"
	done
}

# need_ptrace: skip where the system forbids tracing one's own children.
need_ptrace()
{
	command -v strace >/dev/null || return 0
	strace -qq -o /dev/null true 2>/dev/null || skip "this system forbids ptrace"
}

# show FILE...: put files into the test's log.
show()
{
	local file
	for file; do
		echo "--- $file"
		head -c 4000 "$file"
	done
}

# check_status WANTED COMMAND...: its output goes to the files out and err.
check_status()
{
	local wanted=$1 got=0
	shift
	"$@" >out 2>err || got=$?
	[ "$got" -eq "$wanted" ] && return
	show out err
	fail "exit status $got instead of $wanted: $*"
}

# check_usage_error COMMAND...: exit status 2, nothing on stdout, exactly one line on stderr.
check_usage_error()
{
	check_status 2 "$@"
	[ ! -s out ] || { show out; fail "wrote to stdout: $*"; }
	[ "$(wc -l <err)" -eq 1 ] || { show err; fail "not one line of error: $*"; }
}

# check_same FILE1 FILE2 WHAT
check_same()
{
	cmp -s "$1" "$2" && return
	diff -u "$1" "$2" | head -40
	fail "${3:-$1} differs"
}

# check_contains FILE REGEX / check_lacks FILE REGEX: extended regular expressions.
check_contains()
{
	grep -Eq -- "$2" "$1" && return
	show "$1"
	fail "$1 has no line matching: $2"
}

check_lacks()
{
	grep -Eq -- "$2" "$1" || return 0
	show "$1"
	fail "$1 has a line matching: $2"
}

# same_run [SONDE-OPTION...] -- COMMAND...: the command must behave with sonde as it does without:
# stdout, stderr and exit status. They stay in plain.out, plain.err, traced.out, traced.err;
# STDIN, where set, is the file both read.
same_run()
{
	local options=() plain=0 traced=0
	while [ $# -gt 0 ] && [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	[ $# -ge 2 ] || fail "same_run: no command"
	shift
	"$@" <"${STDIN:-/dev/null}" >plain.out 2>plain.err || plain=$?
	sonde "${options[@]}" -- "$@" <"${STDIN:-/dev/null}" >traced.out 2>traced.err || traced=$?
	if [ "$traced" -ne "$plain" ]; then
		show traced.out traced.err
		fail "exit status $traced with sonde, $plain without: $*"
	fi
	check_same plain.out traced.out "stdout of $*"
	check_same plain.err traced.err "stderr of $*"
}
