# SPDX-License-Identifier: GPL-3.0-or-later
# Golden traces, intact and damaged, read as expected; and a second reader, written from
# doc/trace-format.md alone, sees the same in them and in freshly written traces.
set -u
unit=$top_builddir/tests/unit
failed=0

second_reader()
{
	PYTHONDONTWRITEBYTECODE=1 python3 "$top_srcdir/tests/unit/tracefmt/reader.py" "$1"
}

# same WHAT EXPECTED FOUND
same()
{
	cmp -s "$2" "$3" && return
	echo "$1 differs:"
	diff "$2" "$3" | head -5
	failed=1
}

have_python=yes
python3 -c 'import ctypes; ctypes.CDLL("libzstd.so.1")' 2>/dev/null || have_python=

for trace in "$top_srcdir"/tests/golden/trace/*/; do
	"$unit/tracefmt/lines" "$trace" >found || { echo "$trace cannot be read"; failed=1; }
	same "$trace" "$trace/expected" found
	[ -z "$have_python" ] || { second_reader "$trace" >second; same "$trace (second reader)" found second; }
done
[ -e found ] || { echo "no golden traces"; failed=1; }

if [ -n "$have_python" ]; then
	for seed in 1 2 3 $RANDOM; do
		SONDE_TEST_SEED=$seed "$unit/tracefmt/generate" "t$seed" 20000 || failed=1
		"$unit/tracefmt/lines" "t$seed" >found || failed=1
		second_reader "t$seed" >second || failed=1
		same "the trace of seed $seed (second reader)" found second
		[ "$(wc -l <found)" -ge 20000 ] || { echo "the trace of seed $seed is short"; failed=1; }
	done
else
	echo "no python3 with libzstd: the second reader did not run"
fi
exit $failed
