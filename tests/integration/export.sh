# SPDX-License-Identifier: GPL-3.0-or-later
# What is exported is what was recorded, in each format, properly nested.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
need_program jumps threads throws

# exported FORMAT: t in this format, as exported.py sees it, into the file exported.
exported()
{
	local file=trace.$1
	rm -rf "$file" exported
	check_status 0 sonde export -f "$1" -o "$file" "${options[@]}" t
	if [ "$1" = perfetto ]; then
		command -v protoc >/dev/null || return 0
		protoc -I"$top_srcdir/tests/integration" --decode=Trace perfetto.proto <"$file" >decoded || fail "protoc"
		! grep -q '^ *[0-9]* *[:{]' decoded || fail "fields that Perfetto does not have"
		file=decoded
	fi
	if [ "$1" = otf2 ]; then
		command -v otf2-print >/dev/null || return 0
		{ otf2-print -G "$file/traces.otf2" && otf2-print "$file/traces.otf2"; } >decoded 2>decoded.err || fail "otf2-print"
		[ ! -s decoded.err ] || { show decoded.err; fail "otf2-print warns"; }
		file=decoded
	fi
	python3 "$top_srcdir/tests/integration/exported.py" "$1" "$file" >exported || fail "$1"
}

otf2=
grep -q '^#define HAVE_OTF2 1' "$top_builddir/config.h" && otf2=otf2

# check_formats: each has all calls of t, and all have the same.
check_formats()
{
	local format calls
	sonde dump --json --tail-calls=jump t >events.json
	calls=$(count 'enter()')
	options=(--tail-calls=jump)
	for format in chrome csv perfetto speedscope $otf2; do
		exported $format
		[ -s exported ] || continue
		[ "$(awk '/calls=/ { sub(/.*calls=/, ""); n += $1 } END { print n }' exported)" -eq "$calls" ] ||
			{ show exported; fail "$format has not $calls calls"; }
		# speedscope and otf2 have neither points nor marks
		[ $format = chrome ] || [ $format = speedscope ] || [ $format = otf2 ] || check_same chrome.exported exported "$format, and not chrome,"
		[ $format != chrome ] || mv exported chrome.exported
	done
}

sonde -q -F '*' -m memory -o t -- "$programs/threads" 3 2 10 || fail "threads"
check_formats
sonde -q -F '*' -o t -- "$programs/jumps" 30 || fail "jumps"
check_formats
check_contains chrome.exported 'unwound=[1-9]'
sonde -q -F '*' -o t -- "$programs/throws" 30 || fail "throws"
check_formats
sonde -q -F '*' -m posixio -o t -- sh -c 'sh -c "exit 0"; cat /dev/null; exec true' || fail "sh"
check_formats
check_contains trace.chrome '"name":"sh, true '

# what was recorded with a call comes along
check_contains trace.csv ',posixio,returned,".*='
check_contains trace.chrome '"cat":"posixio"'

# parts of it
sonde -q -F '*' -o t -- "$programs/jumps" 30 || fail "jumps"
options=(-F work)
for format in chrome csv speedscope; do
	exported $format
	[ "$(sed -n '/calls=/!p' exported)" = 'work 60' ] || { show exported; fail "$format: not work() alone"; }
done
options=(-N work --from 0 --to 1ns)
exported csv

# call paths
for format in callgrind folded; do
	check_status 0 sonde export -f $format -o $format t
	check_usage_error sonde export -f $format -F work t
done
check_status 0 sonde graph --folded t
check_same folded out "folded"
check_contains callgrind '^c?fn=\([0-9]+\) inner$'
check_contains callgrind '^calls=30 0$'
if command -v callgrind_annotate >/dev/null; then
	callgrind_annotate callgrind >annotated 2>annotated.err && [ ! -s annotated.err ] || { show annotated.err; fail "callgrind_annotate"; }
	check_contains annotated ':main '
fi

# a trace that is cut off: what is there is whole
cp -r t cut
file=$(find cut -name '*.sonde' | head -n 1)
truncate -s -20 "$file"
status=0
sonde export -f chrome -o cut.json cut 2>err || status=$?
[ $status -eq 0 ] || [ $status -eq 2 ] || fail "exit status $status"
python3 "$top_srcdir/tests/integration/exported.py" chrome cut.json >exported || fail "a trace that is cut off"

# a file is there when it is whole, and not before
echo before >kept
if [ -w /dev/full ]; then
	check_status 2 sonde export -f csv -o /dev/full t
	sonde export -f csv t >/dev/full 2>err && fail "a full disk is no error"
fi
check_status 2 sonde export -f csv -o no/such/folder t
(ulimit -f 1; trap '' XFSZ; sonde export -f chrome -o kept t 2>err) && fail "a file that cannot grow is no error"
[ "$(cat kept)" = before ] || fail "half a file"
[ "$(find . -name 'kept*' | wc -l)" -eq 1 ] || fail "something is left of a file that could not be written"

if [ "$otf2" ]; then
	check_usage_error sonde export -f otf2 t
	mkdir there
	check_usage_error sonde export -f otf2 -o there t
	[ "$(find . -name 'there*' | wc -l)" -eq 1 ] || fail "something is left of an archive"
else
	check_usage_error sonde export -f otf2 -o there t
fi

sonde -q --mem -o memory -- "$programs/jumps" 3 || fail "--mem"
check_usage_error sonde export -f csv memory
check_contains err 'no calls were recorded'
check_usage_error sonde export
check_usage_error sonde export -f svg t
check_usage_error sonde export -f csv nowhere
