# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde dump --mem`, its formats, `sonde memory` and the part of `sonde info`, on accesses that are known.
. "$top_srcdir/tests/integration/lib.sh"
need_program accesses
need_ptrace

# equals WANTED GOT WHAT
equals()
{
	[ "$1" = "$2" ] || fail "$3: $2 instead of $1"
}

# lines FILE REGEX WANTED
lines()
{
	equals "$3" "$(grep -Ec -- "$2" "$1")" "lines of $1 with $2"
}

# bytes_at OFFSET N: N bytes of `records`, as one number.
bytes_at()
{
	od -A n -t "x$2" -j "$1" -N "$2" records | tr -d ' '
}

check_status 0 sonde --mem=touch -o t -- "$programs/accesses"
read -r loaded stored modified <out

# ---- text ----

check_status 0 sonde dump --mem t
mv out text
lines text ' load ' 1009
lines text ' store ' 106
lines text ' modify ' 10
lines text ' prefetch ' 3
lines text ' stack ' 3
lines text '^[0-9]+\.[0-9]+ [a-z]+ +[0-9]+ 0x[0-9a-f]{12,16} (stack )?touch\+0x[0-9a-f]+$' 1128
# in their order: the k-th load is there
awk '$2 == "load" && $3 == 8 && ++n <= 1000 { print $4 }' text >loads
for k in 1 500 1000; do
	equals "$(printf '0x%012x' $((0x$loaded + 8 * (k - 1))))" "$(sed -n ${k}p loads)" "load $k"
done
awk '$2 == "store" && $3 == 4 { print $4 }' text >stores
equals "$(printf '0x%012x' $((0x$stored + 4096 * 99)))" "$(sed -n 100p stores)" "the last store"
equals 10 "$(grep -c " modify  *1 0x0*$modified touch" text)" "modifications of one place"

check_status 0 sonde dump --mem --lines t
lines out ' touch\+0x[0-9a-f]+ .*accesses\.c:[0-9]+$' 1128
check_status 0 sonde dump --mem -f 'tou*' t
check_same text out "all that touch did"
check_usage_error sonde dump --mem -f nothing t
thread=$(sed -n '1s/ .*//p' text)
check_status 0 sonde dump --mem -t "$thread" t
check_same text out "the only thread"
check_status 0 sonde dump --mem -o file t
check_same text file "into a file"
if command -v jq >/dev/null; then
	check_status 0 sonde dump --mem --json --lines t
	equals 1128 "$(jq -s 'map(select(.function == "touch" and .offset >= 0 and .line > 0)) | length' out)" JSON
	equals 3 "$(jq -s 'map(select(.stack)) | length' out)" "stack in JSON"
	equals 1009 "$(jq -s 'map(select(.type == "load")) | length' out)" "loads in JSON"
	check_status 0 sonde dump --mem --format=json t
	equals "0x$loaded" "$(jq -r -s '.[0].addr' out)" "the first address in JSON"
fi

# ---- formats of others ----

check_status 0 sonde dump --mem --format=lackey t
lines out '^ L [0-9a-f]{8,16},[0-9]+$' 1009
lines out '^ S [0-9a-f]{8,16},[0-9]+$' 106
lines out '^ M [0-9a-f]{8,16},1$' 10
equals 1125 "$(wc -l <out)" "lines for lackey"
equals " L $loaded,8" "$(head -1 out)" "lackey's first line"

check_status 0 sonde dump --mem --format=din t
lines out '^0 [0-9a-f]+$' 1019
lines out '^1 [0-9a-f]+$' 116
equals 1135 "$(wc -l <out)" "lines for Dinero"
equals "0 $loaded" "$(head -1 out)" "Dinero's first line"

check_status 0 sonde dump --mem --format=memtrace t
lines out '^0x[0-9a-f]{16}: +[0-9]+, r$' 1019
lines out '^0x[0-9a-f]{16}: +[0-9]+, w$' 116
equals 1136 "$(wc -l <out)" "lines of memtrace, with its first"

# a record each, but the load and store of an element of movsb are one
check_status 0 sonde dump --mem --format=champsim -o records t
equals $(((1125 - 5) * 64)) "$(wc -c <records)" "bytes for ChampSim"
equals "$(printf %016x 0x$loaded)" "$(bytes_at 32 8)" "ChampSim's first source"
equals "$(printf %016x 0x$stored)" "$(bytes_at $((1000 * 64 + 16)) 8)" "ChampSim's first destination"
equals "$(printf %016x 0x$modified)" "$(bytes_at $((1100 * 64 + 16)) 8)" "a modification's destination"
equals "$(printf %016x 0x$modified)" "$(bytes_at $((1100 * 64 + 32)) 8)" "a modification's source"
equals "$(printf %016x 0x$modified)" "$(bytes_at $((1110 * 64 + 32)) 8)" "what movsb reads"
equals "$(printf %016x $((0x$modified + 64)))" "$(bytes_at $((1110 * 64 + 16)) 8)" "what movsb writes"
equals 0000000000000000 "$(bytes_at 8 8)" "branches and registers"
if command -v jq >/dev/null; then
	ip=$(sonde dump --mem --json t | head -1 | jq -r .insn)
	equals "$(printf %016x "$ip")" "$(bytes_at 0 8)" "ChampSim's first instruction"
fi

# drmemtrace: records of 12 bytes: type, size, address
check_status 0 sonde dump --mem --format=drmemtrace -o records t
equals 0019 "$(bytes_at 0 2)" "the first record is a header"
equals 0000000000000004 "$(bytes_at 4 8)" "of version"
equals "${thread%.*} ${thread#*.}" "$(printf '%d %d' "0x$(bytes_at $((12 * 6 + 4)) 8)" "0x$(bytes_at $((12 * 3 + 4)) 8)")" "process and thread"
now=$(($(date +%s) + 11644473600)) then=$((0x$(bytes_at $((12 * 7 + 4)) 8) / 1000000))
[ $((now - then)) -ge 0 ] && [ $((now - then)) -lt 3600 ] || fail "recorded at $then, which is not now: $now"
# what is in the text, with both parts of a modification
awk '$2 == "load" || $2 == "modify" { print "r", $3, $4 } $2 == "store" || $2 == "modify" { print "w", $3, $4 }
	$2 == "prefetch" { print "p", $3, $4 }' text | sed 's/0x0*//' >wanted
od -A n -v -w12 -t x2 records | awk '$1 ~ /^000[012]$/ {
	print substr("rwp", $1 + 1, 1), $2, $6 $5 $4 $3 }' | while read -r kind size addr; do
	echo "$kind $((0x$size)) $addr"; done | sed 's/ 0*\([0-9a-f]*\)$/ \1/' >got
check_same wanted got "accesses for drmemtrace"
equals "0017 001a" "$(od -A n -v -w12 -t x2 records | tail -n 2 | awk '{ printf "%s%s", n++ ? " " : "", $1 }')" "the end"

# ---- several threads ----

check_status 0 sonde --mem=touch -o many -- "$programs/accesses" 3
check_status 0 sonde dump --mem many
equals $((4 * 1128)) "$(wc -l <out)" "accesses of four threads"
equals 4 "$(cut -d' ' -f1 out | uniq | wc -l)" "threads, one behind the other"
check_usage_error sonde dump --mem --format=din many
check_contains err '4 threads'
check_status 0 sonde dump --mem --format=din -o folder many
[ ! -s out ] || fail "something on stdout"
equals 4 "$(find folder -name '*.din' | wc -l)" "files of threads"
for file in folder/*; do
	equals 1135 "$(wc -l <"$file")" "lines of $file"
done
thread=$(cd folder && find . -name '*.din' | sed -n '1s/^\.\/\(.*\)\.din$/\1/p')
check_status 0 sonde dump --mem --format=din -t "$thread" many
check_same "folder/$thread.din" out "one thread of four"

# ---- ranks ----

mkdir job
cp -r t job/rank-0
cp -r many job/rank-1
check_status 0 sonde dump --mem job
equals $((5 * 1128)) "$(wc -l <out)" "accesses of two ranks"
check_status 0 sonde dump --mem --rank 1 job
lines out '^1:[0-9]+\.[0-9]+ ' $((4 * 1128))
check_usage_error sonde dump --mem --rank 7 job
check_status 0 sonde memory job
check_contains out "^ *$((5 * 1125)) .* touch$"

# ---- the profile ----

check_status 0 sonde memory t
check_contains out '^ *1125 .* touch$'
check_status 0 sonde memory --csv -b instruction t
grep -q '^"touch+0x[0-9a-f]* accesses.c:[0-9]*",1000,8000,1000,0,0,999,999,0,0,8,100.000,8000,125,"touch"' out ||
	{ show out; fail "the loads' row"; }
grep -q ',100,400,0,100,0,99,0,98,1,4096,100.000,6400,100,"touch"' out || { show out; fail "the stores' row"; }
grep -q ',10,20,10,10,0,9,9,0,0,0,100.000,64,' out || { show out; fail "the modifications' row"; }
check_status 0 sonde memory --no-stack t
check_contains out '^ *1122 .* touch$'
check_status 0 sonde memory -b loop t
check_contains out ' 1000 .* touch, loop at accesses\.c:[0-9]+'
check_contains out 'touch, in no loop$'
check_status 0 sonde memory -b line -n 1 t
check_contains out 'accesses\.c:[0-9]+$'
check_status 0 sonde memory -t "$thread" many
check_contains out '^ *1125 '
if command -v jq >/dev/null; then
	check_status 0 sonde memory --json t
	equals 1125 "$(jq 'select(.type == "function") | (.reuse | add) + .first' out)" "reuse and first touches"
	equals 1 "$(jq 'select(.type == "total") | .sampled' out)" "samples"
fi

# ---- info ----

check_status 0 sonde info t
check_contains out '^memory +1128 accesses in 1 stream$'
check_contains out '^ +1009 loads of 8023 bytes$'
check_contains out '^ +106 stores of 413 bytes$'
check_contains out '^ +10 modifications of 10 bytes$'
check_contains out '^ +3 prefetches'
check_contains out '^recorded +1 function, memory accesses of 1'
check_contains out '^state +intact$'
check_status 0 sonde info -t many
equals 4 "$(grep -Ec ' 1009 +106 +10 +3 ' out)" "rows of threads"

# ---- bad input ----

check_status 0 sonde -F touch -o events -- "$programs/accesses"
for verb in 'dump --mem' memory; do
	check_usage_error sonde $verb nowhere
	check_usage_error sonde $verb /etc/passwd
	check_usage_error sonde $verb t many
	check_usage_error sonde $verb -t 1 t
	check_usage_error sonde $verb events
	check_contains err 'no memory accesses'
done
check_usage_error sonde memory -f nothing t
check_usage_error sonde memory --csv --json t
check_usage_error sonde memory -b cache t
check_usage_error sonde dump --mem --format=gzip t
check_usage_error sonde dump --mem --json --format=din t
check_usage_error sonde dump --mem --from 1s t
check_usage_error sonde dump --lines t
check_usage_error sonde dump --format=din t
check_usage_error sonde dump --mem -o nowhere/file t
if [ -w /dev/full ]; then
	check_status 2 sonde dump --mem -o /dev/full t
	equals 1 "$(wc -l <err)" "lines of complaint about a full disk"
fi
# a file is there when it is whole, and not before
echo before >kept
(ulimit -f 1; trap '' XFSZ; sonde dump --mem -o kept many 2>err) && fail "a file that cannot grow is no error"
equals 1 "$(wc -l <err)" "lines of complaint about a file that cannot grow"
equals before "$(cat kept)" "a file that could not be written over"
(ulimit -f 1; trap '' XFSZ; sonde dump --mem --format=din -o parts/ many 2>err) && fail "files that cannot grow are no error"
equals '' "$(ls parts)" "files that could not be written"
check_status 2 sonde dump --mem -F nosuch -o kept many
equals before "$(cat kept)" "what was not to be written over"
check_status 0 sonde dump --mem many
mv out wanted
check_status 0 sonde dump --mem -o - many
check_same wanted out "standard output"

# A damaged stream: the rest is shown, and the loss is told.
cp -r many damaged
stream=$(find damaged -name '[0-9]*.memory' | sort | head -1)
printf 'xxxx' | dd of="$stream" bs=1 seek=120 conv=notrunc 2>/dev/null
check_status 2 sonde dump --mem damaged
equals $((3 * 1128)) "$(wc -l <out)" "accesses of the other threads"
check_contains err 'missing'
check_status 1 sonde memory damaged
check_contains out '^ *3375 '
check_status 2 sonde info damaged
check_contains out '^damage '
: >"$stream"
check_status 2 sonde info damaged
check_contains out '^damage '
# Sonde was killed: what is there is shown, with a warning.
cp -r many unended
grep -v '"type":"end"' many/metadata >unended/metadata
for reader in "dump --mem" memory; do
	check_status 0 sonde $reader unended
	check_contains err '^sonde: warning: unended: the recording has no end: '
	[ "$(wc -l <err)" -eq 1 ] || { show err; fail "not one line"; }
	check_status 0 sonde $reader many
	[ ! -s err ] || { show err; fail "warnings"; }
done
# Descriptions that are no such file.
cp /etc/passwd damaged/code.memory
check_usage_error sonde dump --mem damaged
check_usage_error sonde memory damaged
rm damaged/code.memory
check_usage_error sonde dump --mem damaged
check_status 2 sonde info damaged
exit 0
