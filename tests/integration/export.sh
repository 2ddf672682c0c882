# SPDX-License-Identifier: GPL-3.0-or-later
# What is exported is what was recorded, in each format, properly nested.
. "$top_srcdir/tests/integration/lib.sh"
. "$top_srcdir/tests/integration/exported.sh"
need_ptrace
need_command python3
need_program jumps threads throws

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
if command -v gzip >/dev/null; then
	seq 5000 >numbers
	sonde -q -F '*' --libs -m posixio -o t -- gzip -c numbers >numbers.gz || fail "gzip"
	check_formats
fi

# what was recorded with a call comes along
check_contains trace.csv ',posixio,returned,".*='
check_contains trace.chrome '"cat":"posixio"'

# parts of it
sonde -q -F '*' -o t -- "$programs/jumps" 30 || fail "jumps"
for format in chrome csv ctf speedscope; do
	exported $format -F work
	[ -s exported ] || continue
	[ "$(sed -n '/calls=/!p' exported)" = 'work 60' ] || { show exported; fail "$format: not work() alone"; }
done
exported csv -N work --from 0 --to 1ns

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
file=$(find cut -name '[0-9]*.sonde' | head -n 1)
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
check_usage_error sonde export -f csv -o no/such/folder t
(ulimit -f 1; trap '' XFSZ; sonde export -f chrome -o kept t 2>err) && fail "a file that cannot grow is no error"
[ "$(cat kept)" = before ] || fail "half a file"
[ "$(find . -name 'kept*' | wc -l)" -eq 1 ] || fail "something is left of a file that could not be written"

check_usage_error sonde export -f ctf t
check_status 2 sonde export -f ctf -o no/such/folder t
mkdir folder
check_usage_error sonde export -f ctf -o folder t
(ulimit -f 1; trap '' XFSZ; sonde export -f ctf -o folder.2 t 2>err) && fail "a folder that cannot be written is no error"
[ "$(find . -name 'folder*' | wc -l)" -eq 1 ] || fail "something is left of a folder that could not be written"

# files that grow while they are written, and cannot: one line says why, and nothing is left
sonde -q -F '*' -o lost -- "$programs/jumps" 30000 >jumped || fail "jumps"
for format in chrome csv ctf perfetto speedscope ${otf2:+otf2}; do
	(ulimit -f 4; trap '' XFSZ; sonde export -f $format -o grown lost 2>err) && fail "$format: a file that cannot grow is no error"
	[ "$(wc -l <err)" -eq 1 ] && grep -q '^sonde: grown: File \(is \)\?too large$' err || { show err; fail "$format: not one line that says why"; }
	[ "$(find . -name 'grown*' | wc -l)" -eq 0 ] || fail "$format: something is left"
done

# events that are missing
file=$(find lost -name '[0-9]*.sonde' | head -n 1)
printf XXXXXXXX | dd of="$file" bs=1 seek=$(($(stat -c %s "$file") / 2)) conv=notrunc 2>dd.err || fail "dd"
sonde export -f ctf -o lost.ctf lost 2>err
check_contains err 'damaged: .*checksum'
if command -v babeltrace2 >/dev/null; then
	babeltrace2 --clock-cycles --no-delta lost.ctf >decoded 2>err || fail "babeltrace2"
	check_contains err 'discarded [0-9]+ events'
	sonde export -f chrome -o lost.json lost 2>err
	for format in ctf chrome; do
		[ $format = ctf ] && file=decoded || file=lost.json
		python3 "$top_srcdir/tests/integration/exported.py" $format $file | sed 's/ points=[0-9]*//' >$format.lost || fail "$format with events missing"
	done
	check_same chrome.lost ctf.lost "events are missing: ctf, and not chrome,"
fi

if [ "$otf2" ]; then
	check_usage_error sonde export -f otf2 t
	mkdir there
	check_usage_error sonde export -f otf2 -o there t
	check_usage_error sonde export -f otf2 -o no/such/folder t
	[ ! -e no ] || fail "folders were made that may be misspelled"
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
