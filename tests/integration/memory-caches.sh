# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde memory': misses in the machine's caches or others, sorted by what is shown; and profiles that are kept in the trace.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3

"$CC" -O2 -g -I"$top_srcdir/tests/programs" -o caches "$top_srcdir/tests/programs/mem_caches.c" || fail "$CC"
check_status 0 sonde --mem -o t -- "$PWD/caches"

# ---- the machine's caches ----

l1=$(cat /sys/devices/system/cpu/cpu0/cache/index0/size 2>/dev/null)
if [ -n "$l1" ]; then
	grep -q '"caches":\[[0-9,]*\]' t/metadata || { show t/metadata; fail "no caches in the metadata"; }
	check_status 0 sonde memory t
	check_contains out '^caches  *L1 .*, of the machine where it was recorded$'
	check_status 0 sonde memory --json t
	check_contains out "\"caches\":\[{\"name\":\"L1\",\"bytes\":$((${l1%K} * 1024)),"
fi
# a trace that does not tell, such as an older one
cp -r t old
sed -i 's/"caches":\[[0-9,]*\],//' old/metadata
check_status 0 sonde memory old
check_contains out '^caches  *L1 .*the trace does not tell|^caches .*as usual'

# ---- columns, and what they are sorted by ----

sorted_by()	# KEY COLUMN
{
	check_status 0 sonde memory --cache=4K,64K,1M --csv -s $1 t
	python3 -c "
import csv, sys
v = [int(row['$2']) for row in csv.DictReader(open('out'))]
sys.exit(len(v) < 3 or v != sorted(v, reverse=True) or not v[0])" || { show out; fail "-s $1 is not by $2"; }
	check_status 0 sonde memory --cache=4K,64K,1M -s $1 t
	check_contains out ' L1 misses  *L2 misses  *L3 misses '
}
sorted_by misses L1_misses
sorted_by L1 L1_misses
sorted_by L2 L2_misses
sorted_by L3 L3_misses
sorted_by seq sequential
sorted_by strided strided
sorted_by footprint footprint_bytes
check_status 0 sonde memory --cache=300 t
check_contains out '^caches  *L1 300 B, as --cache says$'
# 4 lines or 4 lines and a bit hold the same
sonde memory --cache=256 --csv t | sed 1d >256.csv
sonde memory --cache=300 --csv t | sed 1d >300.csv
check_same 256.csv 300.csv "caches of four lines"
for wrong in 0 63 32k, 1M,32K 32K,32K 1K,2K,3K,4K,5K x 32Q '' 99999999999G -1; do
	check_usage_error sonde memory --cache="$wrong" t
done
check_usage_error sonde memory --cache=32K,1M -s L3 t
check_contains err 'there are 2 caches'
check_usage_error sonde memory -s half t

# no row of accesses without a footprint
sonde memory --csv -b instruction t | python3 -c "
import csv, sys
sys.exit(any(int(r['accesses']) and not int(r['footprint_bytes']) for r in csv.DictReader(sys.stdin)))" ||
	fail "a footprint of nothing"

# ---- kept ----

kept()
{
	ls -i "$1" | grep memory-profile || true
}
rm -f t/memory-profile.*
cp -r t fresh
check_status 0 sonde memory t
mv out first
kept t >files
[ "$(wc -l <files)" -eq 1 ] || { show files; fail "not one profile is kept"; }
[ "$(stat -c %a t/memory-profile.*)" = 600 ] || fail "mode $(stat -c %a t/memory-profile.*)"
check_status 0 sonde memory t
check_same first out "what is kept"
kept t | diff files - || fail "it was made again"
check_status 0 sonde memory -b line t
kept t | diff files - || fail "it was made again, for lines"
# other options, other figures
check_status 0 sonde memory --no-stack --cache=2K t
mv out got
cp -r fresh other
check_status 0 sonde memory --no-stack --cache=2K other
check_same out got "other options"
# elsewhere, by another path: the same content (the other options' profile may have taken the place of the first)
rm -f t/memory-profile.*
check_status 0 sonde memory t
cp -r t moved
kept moved >files
(cd moved && sonde memory . >../out) || fail "moved"
check_same first out "moved"
kept moved | diff files - || fail "it was made again, elsewhere"
# whatever is in there, the figures are right
name=$(basename $(ls t/memory-profile.* | head -1))
bytes=$(wc -c <t/$name)
for damage in truncate empty flip noise folder link; do
	rm -rf bad && cp -r t bad
	case $damage in
	truncate) head -c $((bytes / 2)) t/$name >bad/$name ;;
	empty) : >bad/$name ;;
	flip) printf 'x' | dd of=bad/$name bs=1 seek=$((bytes / 3)) conv=notrunc 2>/dev/null ;;
	noise) head -c "$bytes" /dev/urandom >bad/$name ;;
	folder) rm bad/$name && mkdir bad/$name ;;
	link) rm bad/$name && echo mine >victim && ln -s ../victim bad/$name ;;
	esac
	check_status 0 sonde memory bad
	check_same first out "kept: $damage"
done
[ "$(cat victim)" = mine ] || fail "what a link leads to was written to"
# never of other accesses: a stream or the metadata changed
stream=$(find t -name '[0-9]*.memory')
cp -r t damaged
printf 'xxxx' | dd of="damaged/$(basename "$stream")" bs=1 seek=120 conv=notrunc 2>/dev/null
kept damaged >files
status=0
sonde memory damaged >out 2>err || status=$?
[ $status != 0 ] || ! cmp -s out first || fail "a damaged trace looks whole"
kept damaged | diff files - || fail "a damaged profile is kept"
# what cannot be written is not kept, and nothing is said of it
if [ "$(id -u)" != 0 ]; then
	cp -r fresh readonly
	chmod a-w readonly
	check_status 0 sonde memory readonly
	check_same first out "a folder that cannot be written to"
	[ ! -s err ] || { show err; fail "complaints"; }
	chmod u+w readonly
fi
(trap '' XFSZ && ulimit -f 1 && exec sonde memory fresh) 2>err | cat >out
check_same first out "no room"
[ -z "$(find fresh -name '*memory-profile*')" ] || fail "a part of a profile is kept"
[ ! -s err ] || { show err; fail "complaints"; }
exit 0
