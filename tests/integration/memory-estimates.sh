# SPDX-License-Identifier: GPL-3.0-or-later
# Of bursts: what is said of all accesses is within the error that is stated, and each view says that they are bursts.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3
need_command setarch
export OMP_NUM_THREADS=1

# compare NAME HOW...: exact and sampled profiles.  19 of 20 intervals hold the true figure; they are asked for 9 of 10, and
# that none is far off.
compare()
{
	python3 - "$@" <<-'END'
	import csv, sys
	def read(path):
	    return {row["name"]: row for row in csv.DictReader(open(path))}
	exact, n, out, far = read("exact.csv"), 0, 0, 0
	for how in sys.argv[2:]:
	    for name, row in read(how + ".csv").items():
	        for key in "accesses", "bytes", "loads", "stores", "L1", "L2", "L3":
	            counted = not key.startswith("L")
	            error = row[key + ("_error" if counted else "_percent_error")]
	            if error == "" or (counted and not float(row[key])):
	                continue
	            got, error = float(row[key if counted else key + "_percent"]), float(error)
	            true = float(exact[name][key if counted else key + "_percent"])
	            error += 1 if counted else 0.02
	            n += 1
	            out += abs(got - true) > error
	            far += abs(got - true) > 3 * error
	            if abs(got - true) > error:
	                print(sys.argv[1], how, name, key, "is", true, "and not", got, "+-", error)
	print(sys.argv[1], ":", out, "of", n, "are not within their errors")
	sys.exit(n < 4 or far > 0 or out > 0.1 * n + 1)
	END
}

# profiles NAME CACHES COMMAND...
profiles()
{
	local name=$1 caches=$2 how
	shift 2
	setarch -R sonde -q --mem -o t -- "$@" >/dev/null 2>&1 </dev/null || fail "$name"
	sonde memory --csv --cache="$caches" t >exact.csv 2>/dev/null
	for how in burst:20k,every:100k burst:50k,every:200k; do
		setarch -R sonde -q --mem --sample=$how -o s -- "$@" >/dev/null 2>&1 </dev/null || fail "$name, $how"
		sonde memory --csv --cache="$caches" s >"$how.csv" 2>/dev/null
	done
	compare "$name" burst:20k,every:100k burst:50k,every:200k || fail "$name"
	rm -rf t s
}

kernel()	# NAME ARGUMENTS
{
	local name=$1
	shift
	"$CC" -O2 -g -w -fopenmp -std=gnu17 -o "$name" "$top_srcdir/tests/bench/mem/$name.c" -lm || fail "$name: $CC"
	profiles "$name" 4K,32K,256K ./"$name" "$@"
}
kernel is 200000 3
kernel stream 100000 10
kernel lu 20 2
kernel tree 50000 1
seq 1 60000 >numbers
command -v gzip >/dev/null && profiles gzip 4K,32K,256K gzip -k -f numbers
command -v sqlite3 >/dev/null &&
	profiles sqlite3 4K,32K,256K sqlite3 :memory: "CREATE TABLE t (a, b); WITH RECURSIVE n(i) AS
		(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000) INSERT INTO t SELECT i * 7919 % 20011, i FROM n;
		CREATE INDEX x ON t (a); SELECT sum(b) FROM t WHERE a BETWEEN 100 AND 10000;"

# ---- what bursts cannot tell is not told ----

check_status 0 sonde -F copy --mem --sample=burst:20k,every:100k -o s -- ./stream 100000 10
check_status 0 sonde memory --cache=1K,1M s
check_contains out '^sampled  *[0-9]* bursts by number, about [0-9.]* % of the accesses, [0-9.]* % of the CPU time$'
check_contains out '^ *accesses .* L1 misses  *L2 misses'
check_contains out '^ *[0-9]* \+-[0-9.]*% .* \([0-9.]*% \+-[0-9.]*%\)  *not known  total$'
check_contains out '^ *[0-9.]* [KM]iB  not known$'
grep -q '^4.000 MiB' out && fail "a size that bursts of 20,000 accesses cannot tell"

# ---- every view says so ----

check_status 0 sonde report s
check_contains out '^sampled  *memory accesses: [0-9]* bursts by number, '
check_status 0 sonde graph s
check_contains out '^memory accesses were sampled \([0-9]* bursts by number, '
check_status 0 sonde info s
check_contains out '^sampled  *[0-9]* bursts, '
for view in 'dump' 'dump --mem' replay 'memory --csv' 'memory --json'; do
	check_status 0 sonde $view s
	check_contains err '^sonde: memory accesses were sampled: [0-9]* bursts by number, about [0-9.]* % of the accesses, [0-9.]* % of the CPU time$'
done
# Sonde was killed before it could tell how much it is
cp -r s unended
awk '/"type":"sampled"/ && n++ { next } /"type":"(end|thread-end)"/ { next } { print }' s/metadata >unended/metadata
check_status 0 sonde memory unended
check_contains out '^sampled  *bursts by number, how many is not known$'
check_contains out 'figures are of the bursts alone'
check_status 0 sonde info unended
check_contains out '^sampled  *bursts by number, how many is not known$'
# by time: nothing is said of what was not recorded
check_status 0 sonde --mem --sample=burst:100us,every:1ms -o s -- ./stream 100000 200
check_status 0 sonde memory s
check_contains out '^sampled  *[0-9]* bursts? by time, [0-9.]* % of the CPU time$'
check_contains out 'figures are of the bursts alone'
# a module's profile, too
check_status 0 sonde -q -m memprofile --mem --sample=burst:20k,every:100k -o s -- ./stream 100000 10
check_contains s/memprofile.txt '^sampled  *[0-9]* bursts by number, '
# all in one burst: all is known
check_status 0 setarch -R sonde -q --mem --sample=burst:100M,every:200M -o s -- ./stream 100000 10
sonde memory --cache=1K,1M s >whole
check_status 0 setarch -R sonde -q --mem -o t -- ./stream 100000 10
sonde memory --cache=1K,1M t >all
for file in whole all; do
	sed -n 's/>= //; s/  */ /g; /total$/p; / [KM]iB .*%/p' $file >$file.figures
done
check_same all.figures whole.figures "one burst of all"
exit 0
