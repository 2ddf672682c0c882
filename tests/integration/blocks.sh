# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde blocks`: blocks, loops and what is in them, as objdump and the source say; ids that stay the same.
. "$top_srcdir/tests/integration/lib.sh"
need_command objdump
need_command python3

cat >loops.c <<'END'
#include <stdio.h>
#define APART __attribute__((noinline, noclone))
APART int nested(const int *v, int n)
{
	int sum = 0;
	for (int i = 0; i < n; i++)
		for (int k = 0; k < v[i]; k++)
			sum += k ^ v[k];
	return sum;
}
APART double scale(double *x, double *y, double a, int n)
{
	double sum = 0;
	for (int i = 0; i < n; i++) {
		y[i] = a * x[i] + 1.0;
		sum += y[i];
	}
	return sum;
}
APART int once(int n) { return n * 3 + 1; }
int main(int argc, char **argv)
{
	int v[4] = { 1, 2, 3, argc };
	double x[4] = { 1, 2 }, y[4];
	printf("%d %g\n", nested(v, 4) + once(argc), scale(x, y, argc, 4));
	return argv == 0;
}
END
"$CC" -g -O1 -fno-unroll-loops -Wl,--build-id -o loops loops.c || fail "$CC"

# compare FILE CSV: each block has as many instructions as objdump shows in its bytes; each function that is known for certain has all
# but padding.  Prints blocks and functions.
compare()
{
	objdump -d --no-show-raw-insn "$1" >text
	python3 - text "$2" <<-'END'
	import bisect, csv, re, sys
	at, pad = [], set()
	for line in open(sys.argv[1], errors="replace"):
	    m = re.match(r" *([0-9a-f]+):\t(.*)", line)
	    if m:
	        at.append(int(m.group(1), 16))
	        if re.search(r"\b(nop[wl]?|xchg +%ax,%ax|int3)\b", m.group(2)):
	            pad.add(at[-1])
	at.sort()
	rows = list(csv.DictReader(open(sys.argv[2])))
	bad = 0
	for r in rows:
	    a, n = int(r["address"], 16), int(r["size"])
	    theirs = bisect.bisect_left(at, a + n) - bisect.bisect_left(at, a)
	    ours = int(r["instructions"])
	    parts = sum(int(r[k]) for k in ("branches calls returns integer logic shifts moves float vector nops system").split())
	    if theirs != ours and r["sure"] == "1":
	        bad += 1
	        print("block", r["address"], r["function"], ours, "objdump", theirs, file=sys.stderr)
	    if parts != ours:
	        sys.exit("block %s: %d instructions, %d of a class" % (r["address"], ours, parts))
	if bad:
	    sys.exit("%d of %d blocks differ" % (bad, len(rows)))
	print(len(rows))
	END
}

check_status 0 sonde blocks --csv ./loops nested scale once
cp out own.csv
compare ./loops own.csv >n || fail "blocks of our program"
python3 - own.csv <<'END' || fail "loops, or what is in them"
import csv, sys
rows = list(csv.DictReader(open(sys.argv[1])))
def of(name): return [r for r in rows if r["function"] == name]
def need(what, good):
    if not good: sys.exit(what)
nested, scale, once = of("nested"), of("scale"), of("once")
heads = [r for r in nested if r["head"] == "1"]
need("two loops", len(heads) == 2 and {r["depth"] for r in heads} == {"1", "2"})
inner = [r for r in heads if r["depth"] == "2"][0]
outer = [r for r in heads if r["depth"] == "1"][0]
need("parent", inner["parent"] == outer["id"] and inner["loop"] == inner["id"] and outer["parent"] == "")
need("lines", all(r["file"].endswith("loops.c") and 3 <= int(r["line"]) <= 10 for r in nested))
body = [r for r in scale if r["depth"] == "1"]
need("a loop", {r["loop"] for r in body} == {[r for r in body if r["head"] == "1"][0]["id"]})
need("flops", sum(int(r["flops_scalar"]) for r in body) == 3)
need("memory", sum(int(r["loads_bytes"]) for r in body) >= 8 and sum(int(r["stores_bytes"]) for r in body) == 8)
need("no loop", all(r["depth"] == "0" and r["loop"] == "" for r in once) and any(r["ends"] == "return" for r in once))
ids = {r["id"] for r in rows}
need("ids", len(ids) == len(rows) and all(r[k] in ids | {""} for r in rows for k in ("target", "next", "loop", "parent")))
END

# ---- all forms say the same, and ids stay ----

check_status 0 sonde blocks --csv ./loops
cp out first.csv
grep -q '"main"' first.csv || fail "without a pattern main is not shown"
mkdir other
cp loops other/copied
check_status 0 sonde blocks --csv other/copied
check_same first.csv out "blocks of a copy"
check_status 0 sonde blocks --json ./loops nested
python3 - out own.csv <<'END' || fail "JSON"
import csv, json, sys
ours = [json.loads(l) for l in open(sys.argv[1])]
rows = [r for r in csv.DictReader(open(sys.argv[2])) if r["function"] == "nested"]
same = [(o["id"], str(o["instructions"]), str(o["loads"]), o.get("loop", "")) for o in ours] == \
    [(r["id"], r["instructions"], r["loads"], r["loop"]) for r in rows]
sys.exit(not (ours and same))
END
check_status 0 sonde blocks ./loops nested
check_contains out '^nested: [0-9]* blocks, 2 loops$'
check_contains out 'head of a loop, depth 2; loops.c:'
"$CC" -g -O1 -fno-unroll-loops -Wl,--build-id=none -o without loops.c || fail "$CC"
check_status 0 sonde blocks --csv ./without nested
cut -d, -f1 out >ids
cp without stripped && strip -g stripped
check_status 0 sonde blocks --csv ./stripped nested
cut -d, -f1 out >ids.again
check_same ids ids.again "ids without a build-id"

# ---- programs of others ----

for program in gzip sqlite3 /lib/x86_64-linux-gnu/libc.so.6; do
	path=$(command -v $program) || continue
	[ -r "$path" ] || continue
	check_status 0 sonde blocks --csv "$path"
	cp out theirs.csv
	compare "$path" theirs.csv >n || fail "$path"
	echo "$path: $(cat n) blocks"
	[ "$(cat n)" -gt 500 ] || fail "$path: only $(cat n) blocks"
done

check_usage_error sonde blocks ./loops nowhere
