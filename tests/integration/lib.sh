# SPDX-License-Identifier: GPL-3.0-or-later
# Sourced first by every integration test; tests/run has set the environment (tests/env.sh.in) and
# made an empty current folder. A test ends at the first failed check.
#
#	. "$top_srcdir/tests/integration/lib.sh"
#	need_program ends
#	same_run -o t -m "$modules/work.c" -- "$programs/ends" 1000 return
#	events t
#	check_count 1000 'enter("work")'
set -u

modules=$top_srcdir/tests/integration/modules
export XDG_CACHE_HOME=$PWD/cache

# Before a command: its end after a minute. SIGKILL, since sonde blocks what it passes on.
limit=(timeout --foreground -s KILL 60)

sonde()
{
	"${limit[@]}" sonde "$@"
}

# child_of PID NAME: prints the child of that process that runs the program NAME (its comm), as
# soon as there is one.
child_of()
{
	local child
	for _ in $(seq 400); do
		child=$(pgrep -P "$1" -x "$2") && echo "$child" && return
		sleep 0.05
	done
	fail "process $1 does not start $2" >&2
}

# await SECONDS COMMAND...: until it succeeds.
await()
{
	local tries=$(($1 * 20))
	shift
	while ! "$@"; do
		[ $((tries -= 1)) -gt 0 ] || fail "not within the time: $*"
		sleep 0.05
	done
}

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

# installed NAME...: all of them are.
installed()
{
	local name
	for name; do
		command -v "$name" >/dev/null || return 1
	done
}

# need_command NAME...: skip unless these are installed.
need_command()
{
	local name
	for name; do
		installed "$name" || skip "no $name installed"
	done
}

# slow_guest: sets slow=(...), the option without which static programs have no C library for modules where FSGSBASE is missing.
slow_guest()
{
	slow=()
	sonde doctor | grep -q '^warn  fsgsbase' && slow=(--slow-guest)
	return 0
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
	"${limit[@]}" sonde "${options[@]}" -- "$@" <"${STDIN:-/dev/null}" >traced.out 2>traced.err || traced=$?
	if [ "$traced" -ne "$plain" ]; then
		show traced.out traced.err
		fail "exit status $traced with sonde, $plain without: $*"
	fi
	check_same plain.out traced.out "stdout of $*"
	check_same plain.err traced.err "stderr of $*"
}

# ---- what was recorded ----

# events DIR: its events go to events.json, one a line. The trace must be whole, or with
# damaged=expected only readable.
events()
{
	sonde info "$1" >info.txt 2>info.err || { show info.txt info.err; fail "sonde info $1"; }
	if [ "${damaged:-}" != expected ]; then
		check_contains info.txt '^state +intact$'
		check_contains info.txt '^lost +nothing$'
	fi
	sonde dump --json "$1" >events.json 2>dump.err || { show dump.err; fail "sonde dump $1"; }
	# that there is nothing to dump, and why, is no complaint
	! grep -qv ': no calls were recorded' dump.err || { show dump.err; fail "sonde dump $1 complains"; }
}

# count CONDITION...: prints for how many of the events in events.json each holds, joined by blanks. They are read once. A
# CONDITION is awk's, about one event, with these functions, where no FUNCTION means any:
#	enter(FUNCTION) returned(FUNCTION) unwound(FUNCTION) point(NAME) lost()
#	has(TEXT)	is TEXT in the event's JSON?
#	num(KEY)	number at this key: a field, depth, tid, ...; "" if there is none
count()
{
	local condition program= numbers= i=0
	for condition; do
		i=$((i + 1))
		program="$program ($condition) { n[$i]++ }
"
		numbers="$numbers n[$i] + 0"
		[ $i -eq $# ] || numbers="$numbers \" \""
	done
	awk '
	function is(type, key, name) {
		return index($0, "{\"type\":\"" type "\"") == 1 &&
		       (name == "" || index($0, "\"" key "\":\"" name "\""))
	}
	function has(text) { return index($0, text) != 0 }
	function enter(f) { return is("enter", "function", f) }
	function unwound(f) { return is("leave", "function", f) && has("\"unwound\":true") }
	function returned(f) { return is("leave", "function", f) && !has("\"unwound\":true") }
	function point(name) { return is("point", "name", name) }
	function lost() { return is("lost", "", "") }
	function num(key) {
		if (!match($0, "\"" key "\":-?[0-9.e+-]+"))
			return ""
		key = substr($0, RSTART, RLENGTH)
		sub(/^[^:]*:/, "", key)
		return key + 0
	}
	'"$program"'
	END { print'"$numbers"' }' events.json
}

# check_count [WANTED CONDITION]...
check_count()
{
	local wanted=() conditions=() numbers i
	while [ $# -gt 0 ]; do
		wanted+=("$1") conditions+=("$2")
		shift 2
	done
	read -r -a numbers < <(count "${conditions[@]}")
	for i in "${!wanted[@]}"; do
		[ "${numbers[i]-}" = "${wanted[i]}" ] || fail "${numbers[i]-} instead of ${wanted[i]} events with: ${conditions[i]}"
	done
}

# check_calls N FUNCTION: it was called N times, and returned every time.
check_calls()
{
	check_count "$1" "enter(\"$2\")" "$1" "returned(\"$2\")" 0 "unwound(\"$2\")"
}
