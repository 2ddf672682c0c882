# SPDX-License-Identifier: GPL-3.0-or-later
# Misses by function, compared with Valgrind's cachegrind whose first cache is made fully associative: within 1 %.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command valgrind
need_command python3

"$CC" -O2 -g -I"$top_srcdir/tests/programs" -o caches "$top_srcdir/tests/programs/mem_caches.c" || fail "$CC"
./caches >native
check_status 0 sonde --mem -o t -- ./caches
check_same native out "what the program prints"
sizes="16384 65536 262144"
for size in $sizes; do
	valgrind --tool=cachegrind --cache-sim=yes --D1=$size,$((size / 64)),64 --cachegrind-out-file=cg.$size ./caches \
		>out 2>&1 || skip "cachegrind does not run here: $(tail -1 out)"
done
check_status 0 sonde memory --csv --cache=16K,64K,256K t
mv out memory.csv
python3 - $sizes <<'END' || fail "not within 1 %"
import csv, sys
rows = {row["name"]: row for row in csv.DictReader(open("memory.csv"))}
bad = 0
for cache, size in enumerate(sys.argv[1:], 1):
    misses, refs, events, function = {}, {}, [], None
    for line in open("cg." + size):
        if line.startswith("events:"):
            events = line.split()[1:]
        elif line.startswith("fn="):
            function = line[3:].strip()
        elif function and line[0].isdigit():
            count = dict(zip(events, map(int, line.split()[1:])))
            misses[function] = misses.get(function, 0) + count.get("D1mr", 0) + count.get("D1mw", 0)
            refs[function] = refs.get(function, 0) + count.get("Dr", 0) + count.get("Dw", 0)
    for name in "product", "stencil", "insert":
        got, want = int(rows[name]["L%d_misses" % cache]), misses[name]
        print(name, size, "accesses", rows[name]["accesses"], refs[name], "misses", got, want)
        bad += abs(got - want) > 0.01 * want + 5 or want < 100
        bad += abs(int(rows[name]["accesses"]) - refs[name]) > 0.01 * refs[name]
sys.exit(bad > 0)
END
exit 0
