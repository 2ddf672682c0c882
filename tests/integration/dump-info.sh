# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde dump` and `sonde info`, on golden traces and on one of our own.
. "$top_srcdir/tests/integration/lib.sh"
golden=$top_srcdir/tests/golden/trace

# expect STATUS COMMAND...: runs it, keeps out and err.
expect()
{
	local wanted=$1
	shift
	"$@" >out 2>err
	local status=$?
	[ $status -eq "$wanted" ] || fail "$*: exit status $status, not $wanted: $(head -1 err)"
}

# Bad input: status 2, one line that begins with "sonde: ", nothing on stdout.
refuse()
{
	expect 2 "$@"
	[ ! -s out ] || fail "$*: there is half an output"
	[ "$(wc -l <err)" -eq 1 ] || fail "$*: not one line: $(cat err)"
	grep -q '^sonde: ' err || fail "$*: $(cat err)"
}

lines()
{
	[ "$(wc -l <out)" -eq "$1" ] || fail "$(wc -l <out) lines, not $1: $2"
}

# All events, by time, each once.
events=$(wc -l <"$golden/intact/expected")
expect 0 sonde dump "$golden/intact"
lines "$events" "events of the intact trace"
cut -c 1-16 out | sort -n -c || fail "not by time"
expect 0 sonde dump --by-thread "$golden/intact"
lines "$events" "events by thread"
for word in enter leave unwound point lost; do
	[ "$(awk -v w=$word '$3 == w || (w == "leave" && $3 == w)' out | wc -l)" -eq \
	  "$(awk -v w=$word '{ sub("orphan", "leave", $4) } $4 == w' "$golden/intact/expected" | wc -l)" ] ||
		fail "the number of $word is not as expected"
done
check_contains out 'file="line\\nfeed" buffer=0x7f1234'
check_contains out ' sum=13[.]666666666666666 done=1276365748640575935'

# Parts of it.
expect 0 sonde dump --thread 70.71 "$golden/intact"
lines "$(grep -c '^70.71' "$golden/intact/expected")" "events of a thread"
expect 0 sonde dump -t 70 -t 71 "$golden/intact"
lines "$events" "events of two threads"
expect 0 sonde dump --function 'f1()' --flat "$golden/intact"
[ -s out ] || fail "no events of f1()"
awk '$3 != "lost" && $4 !~ /^f1\(\)/ { bad = 1 } END { exit bad }' out || fail "other functions"
expect 0 sonde dump --function '_Z2f1*' --mangled --flat "$golden/intact"
grep -q '_Z2f1v' out || fail "no mangled names"

# JSON, if there is something that knows it.
if command -v jq >/dev/null; then
	expect 0 sonde dump --json "$golden/intact"
	lines "$events" "lines of JSON"
	jq -e -s 'all(.[]; .time >= 0 and .tid >= 70)' out >/dev/null || fail "not JSON"
	[ "$(jq -r 'select(.unwound) | .type' out | sort -u)" = leave ] || fail "no unwound in JSON"
fi

# Damage: what can be read is shown, and the status is 2.
for trace in bad-body bad-chunk-header missing-chunk times-disagree; do
	expect 2 sonde dump "$golden/$trace"
	lines "$(wc -l <"$golden/$trace/expected")" "events of $trace"
	grep -q ' lost ' out || fail "$trace: the loss is not shown"
	[ "$(wc -l <err)" -eq 1 ] || fail "$trace: not one line: $(cat err)"
	expect 2 sonde info --check "$golden/$trace"
	grep -q '^damage' out || fail "$trace: info finds no damage"
done
expect 0 sonde info --check "$golden/intact"
grep -q '^state  *intact' out || fail "info: not intact"
grep -q '^ended  *exit status 3' out || fail "info: no exit status"

# A killed recorder is no damage.
expect 0 sonde dump "$golden/killed"
expect 0 sonde info --check "$golden/killed"
grep -q '^unfinished' out || fail "info: not unfinished"
grep -q '^ended  *not recorded' out || fail "info: ended"

# Bad input.
mkdir empty
for verb in dump info; do
	refuse sonde $verb nowhere
	refuse sonde $verb empty
	refuse sonde $verb /etc/passwd
	refuse sonde $verb "$golden/intact" "$golden/killed"
	refuse sonde $verb --no-such-option
	refuse sonde $verb # no sonde.data here
done
refuse sonde dump --thread 1 "$golden/intact"
refuse sonde dump --rank 0 "$golden/intact"
refuse sonde dump --function nothing "$golden/intact"

# Ranks.
mkdir job
for rank in 0 1; do
	cp -r "$golden/intact" job/rank-$rank
done
expect 0 sonde dump job
lines $((2 * events)) "events of two ranks"
expect 0 sonde dump --rank 1 job
lines "$events" "events of rank 1"
awk '$2 !~ /^1:/ { bad = 1 } END { exit bad }' out || fail "other ranks"
expect 0 sonde info job
grep -q '^ranks  *2' out || fail "info: not two ranks"

# Bytes that are no text.
SONDE_TEST_SEED=1 "$top_builddir/tests/unit/tracefmt/generate" big 50000 || fail "no big trace"
expect 0 sonde dump big
check_contains out 'file="\\xff"'
check_contains out 'file="café"'

# The directory's default name; a closed pipe; a full disk.
cp -r "$golden/intact" sonde.data
expect 0 sonde dump
lines "$events" "events of sonde.data"
sonde dump big 2>err | head -1 >out
[ ! -s err ] || fail "a closed pipe is reported: $(cat err)"
if [ -w /dev/full ]; then
	sonde info >/dev/full 2>err
	[ $? -eq 2 ] || fail "a full disk goes unnoticed"
fi
exit 0
