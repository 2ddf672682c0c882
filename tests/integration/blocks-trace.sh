# SPDX-License-Identifier: GPL-3.0-or-later
# `sonde --blocks=trace`: the order is one that the program's control flow allows, counts are those of counters, in threads, children and
# killed programs; `sonde dump --blocks`; what other verbs say of such a trace.  Difficult code: blocks-oracle.sh.
. "$top_srcdir/tests/integration/lib.sh"
need_ptrace
need_command python3

cat >ordered.c <<'END'
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#define APART __attribute__((noinline, noclone))
static volatile int total;
APART int twice(int n)
{
	int r = 0;
	for (int i = 0; i < n; i++)
		r += i % 3 ? i : -i;
	return r;
}
/* The same loop again within itself. */
APART int tree(int n)
{
	int r = 1;
	for (int i = 0; i < n; i++)
		r += tree(i) + (n == 3 ? twice(i) : 0);
	return r;
}
APART void *work(void *arg)
{
	total += tree(6);
	return arg;
}
int main(int argc, char **argv)
{
	pthread_t t[2];
	total += tree(5);
	if (argc > 1 && strcmp(argv[1], "threads") == 0) {
		for (int i = 0; i < 2; i++)
			pthread_create(&t[i], NULL, work, NULL);
		for (int i = 0; i < 2; i++)
			pthread_join(t[i], NULL);
	} else if (argc > 1 && strcmp(argv[1], "forks") == 0) {
		if (fork() == 0)
			_exit(tree(4) & 1);
		wait(NULL);
	} else if (argc > 1 && strcmp(argv[1], "runs") == 0) {
		for (;;) {
			usleep(1000);
			total = tree(5 - (total & 1));
		}
	} else if (argc > 1) {
		raise(SIGKILL);
	}
	printf("%d\n", total > 0);
	return 0;
}
END
"$CC" -g -O1 -fno-unroll-loops -fno-inline -o ordered ordered.c -pthread || fail "$CC"
sonde blocks --csv ./ordered >static || fail "sonde blocks"

cat >order.py <<'END'
# STATIC DUMP [BEGUN]: from each block control goes to one that may come next, into a function that is called, or back to the block after a call.
import csv, json, sys
blocks = {r["id"]: r for r in csv.DictReader(open(sys.argv[1]))}
threads = {}
for line in open(sys.argv[2]):
    e = json.loads(line)
    b, open_calls, last = blocks[e["block"]], *threads.get(e["tid"], ([], None))
    if int(b["size"]) != e["size"]:
        sys.exit("size of " + line)
    addr, ends = int(b["address"], 16), last and last["ends"]
    if ends == "call":
        open_calls.append(int(last["address"], 16) + int(last["size"]))
    if ends in ("fall", "jump", "branch"):
        good = e["block"] in (last["target"], last["next"])
    else:
        good = not last or addr in open_calls or e["offset"] == 0 or (sys.argv[3:] and not open_calls)
    if not good:
        sys.exit("after %s: %s" % (last, line))
    if ends != "call" or addr == open_calls[-1]:
        while ends not in ("fall", "jump", "branch") and addr in open_calls:
            if open_calls.pop() == addr:
                break
    threads[e["tid"]] = open_calls, b
print(len(threads), "threads")
END

# both [ARGUMENT]...: counts of both ways are the same
both()
{
	local by
	same_run -q --blocks=trace -o o -- ./ordered "$@"
	same_run -q --blocks -o t -- ./ordered "$@"
	for by in block edge loop line function; do
		sonde blocks --csv -b $by o | sed 's/,[0-9]*,[0-9]*$//' | sort >ours || fail "sonde blocks -b $by"
		sonde blocks --csv -b $by t | sed 's/,[0-9]*,[0-9]*$//' | sort >theirs
		check_same ours theirs "counts by $by ($*)"
	done
	sonde dump --blocks --json o >dump || fail "sonde dump --blocks"
	python3 order.py static dump >out || { show out; fail "the order of $*"; }
}

both
sonde blocks -b loop --csv -F 'tree,twice' o >out || fail "loops"
python3 - <<'END' || { show out; fail "trips"; }
import csv, sys
rows = {r["function"]: r for r in csv.DictReader(open("out"))}
# the loops are entered only if there is an iteration, or else leave at once
trips = lambda r: (int(r["least_trips"]), int(r["most_trips"]))
sys.exit(trips(rows["tree"]) not in ((1, 5), (1, 6)) or trips(rows["twice"]) not in ((1, 2), (1, 3)))
END
both threads
check_contains out '3 threads'
both forks
sonde -q --blocks=trace -o k -- ./ordered killed
[ $? -eq 137 ] || fail "the status of a program that is killed"
check_status 0 sonde blocks -F tree k
check_contains out ' 32 .*tree' # calls

# ---- a program that runs already ----

./ordered runs &
pid=$!
sonde attach -q --blocks=trace --duration=300ms -o a "$pid" || fail "sonde attach --blocks=trace"
sonde attach -q --blocks=trace --duration=300ms -o again "$pid" || fail "sonde attach --blocks=trace again"
kill -KILL "$pid"
for i in a again; do
	sonde dump --blocks --json "$i" >dump || fail "sonde dump --blocks $i"
	python3 order.py static dump begun >out || { show out; fail "the order of a program that ran already"; }
	check_status 0 sonde blocks -F tree "$i"
	check_contains out 'tree'
done

# ---- dump, library, other verbs ----

sonde dump --blocks -F twice o | cut -d' ' -f2,3 >out
check_contains out '^[0-9a-f]*-[0-9a-f]* twice[+]0x0$'
check_lacks out 'tree'
check_status 2 sonde dump --mem o
check_contains err 'sonde dump --blocks'
check_status 2 sonde memory o
check_contains err 'the order of blocks'
check_status 2 sonde dump --blocks t
check_contains err 'blocks=trace'
check_status 0 sonde report o
cat out err | grep -q 'order of blocks' || { show out err; fail "report does not say what there is"; }
check_status 0 sonde info o
check_contains out '[0-9] blocks in 2 streams'
check_status 0 sonde --blocks=trace:tree --sample=burst:100us,every:1ms -o s -- ./ordered threads
check_status 0 sonde dump --blocks s
check_lacks out ' twice[+]'
check_status 0 sonde --blocks=trace -F tree -o f -- ./ordered
check_status 0 sonde report f
check_contains out tree

# ---- callgrind's format: what `sonde blocks' says, and calls ----

cat >profile.py <<'END'
# STATIC DUMP PROFILE EXACT: own costs are those of the blocks, calls and what they cost those of a stack of calls.  EXACT: no: of counters
import csv, json, sys
blocks = {r["id"]: r for r in csv.DictReader(open(sys.argv[1]))}
def costs(b):
    n = lambda k: int(b[k])
    return n("instructions"), n("loads") + n("modifications"), n("stores") + n("modifications")
add = lambda a, b, sign=1: tuple(x + sign * y for x, y in zip(a, b))
zero = (0, 0, 0)
own, calls, stack, last, now = {}, {}, [], None, zero
def over():
    global stack
    key, entered = stack.pop()
    if key:
        calls[key] = (calls[key][0], add(calls[key][1], add(now, entered, -1)))
for line in open(sys.argv[2]):
    b = blocks[json.loads(line)["block"]]
    if last and last["ends"] == "return" and stack:
        over()
    if last and last["ends"] == "call" and last["called"] == b["address"]:
        key = last["function"], b["function"]
        calls[key] = (calls.get(key, (0, zero))[0] + 1, calls.get(key, (0, zero))[1])
        stack.append((key, now))
    elif last and last["ends"] in ("call", "return") and json.loads(line)["offset"] == 0:
        stack.append((None, now))
    now = add(now, costs(b))
    own[b["function"]] = add(own.get(b["function"], zero), costs(b))
    last = b
while stack:
    over()
theirs, links, called = {}, {}, None
for line in open(sys.argv[3]):
    word, _, rest = line.rstrip().partition("=")
    if word == "fn":
        fn = rest
    elif word == "cfn":
        callee = rest
    elif word == "calls":
        called = int(rest.split()[0])
    elif word.startswith("summary:"):
        total = tuple(int(x) for x in word.split()[1:])
    elif line[:1].isdigit():
        n = tuple(int(x) for x in line.split()[1:])
        if called:
            links[fn, callee] = (links.get((fn, callee), (0, zero))[0] + called, add(links.get((fn, callee), (0, zero))[1], n))
        else:
            theirs[fn] = add(theirs.get(fn, zero), n)
        called = None
exact = sys.argv[4] == "yes"
if own != theirs or total != now:
    sys.exit("own costs: %s, in the profile %s" % (own, theirs))
for key, (n, cost) in calls.items():
    if links.get(key) != (n, cost if exact else zero):
        sys.exit("%s: %s, in the profile %s" % (key, (n, cost), links.get(key)))
if ("tree", "tree") not in calls or links["(not recorded)", "main"][0] != 1:
    sys.exit("calls: %s" % links)
END
both
check_status 0 sonde export -f callgrind -o profile o
sonde export -f callgrind t >other || fail "sonde export of counts"
python3 profile.py static dump profile yes >out 2>&1 || { show out; fail "callgrind's format, of the order of blocks"; }
python3 profile.py static dump other no >out 2>&1 || { show out; fail "callgrind's format, of counters"; }
if command -v callgrind_annotate >/dev/null; then
	check_status 0 callgrind_annotate --auto=no profile
	check_contains out 'ordered.c:tree'
fi
sonde -q --mem -o memory -- ./ordered >out || fail "sonde --mem"
check_status 0 sonde export -f callgrind --system=opteron -o misses memory
python3 - misses profile <<'END' || { show misses; fail "misses in callgrind's format"; }
import sys
sums = [[int(x) for x in l.split()[1:]] for f in sys.argv[1:] for l in open(f) if l.startswith("summary:")]
(dr, dw, d1mr, d1mw, dlmr, dlmw), (ir, reads, writes) = sums
sys.exit((dr, dw) != (reads, writes) or not 0 < dlmr <= d1mr <= dr or not dlmw <= d1mw <= dw)
END
check_status 0 sonde cache --csv --system=opteron memory
python3 -c 'import csv; print(sum(int(r["misses"]) for r in csv.DictReader(open("out")) if r["level"] == "L1"))' >sum
awk '/^summary:/ { print $4 + $5 }' misses >lines
check_same sum lines "misses in callgrind's format"
check_status 2 sonde export -f callgrind --system=opteron o
check_contains err 'mem'
check_usage_error sonde export -f csv --system=host m

# ---- blocks beside memory accesses ----

rm -rf memory
same_run -q --mem -o memory -- ./ordered
same_run -q --mem --blocks -o beside -- ./ordered
sonde dump --blocks o | cut -d' ' -f2 >ours
sonde dump --blocks beside | cut -d' ' -f2 >theirs
check_same ours theirs "blocks in place of accesses, and beside them"
sonde dump --mem memory | sed 's/^[0-9.]* //; s/ 0x[0-9a-f]*//' >ours
sonde dump --mem beside | sed 's/^[0-9.]* //; s/ 0x[0-9a-f]*//' >theirs
[ -s ours ] || fail "sonde dump --mem"
check_same ours theirs "accesses alone, and with blocks"
sonde memory --csv memory | cut -d, -f1-4 >ours
sonde memory --csv beside | cut -d, -f1-4 >theirs
check_same ours theirs "sonde memory, of accesses alone, and with blocks"
check_status 0 sonde export -f callgrind --system=opteron -o misses beside
sonde info beside >out || fail "sonde info"
check_contains out 'memory accesses and the order of blocks of'
check_contains out '[0-9] accesses in 1 stream'
awk '/^summary:/ { print $2, $3, $4 }' misses >lines
awk '/^summary:/ { print $2, $3, $4 }' profile >sum
check_same sum lines "sums beside memory accesses"

# ---- by block, of both ----

sonde blocks --by=block --csv beside >blocks.csv || fail "sonde blocks"
sonde cache --by=block --csv --system=opteron beside >caches.csv || fail "sonde cache --by=block"
sonde memory --by=block --csv beside >accesses.csv || fail "sonde memory --by=block"
python3 - <<'END' || { show blocks.csv caches.csv accesses.csv; fail "accesses by block"; }
import csv
# Of each block that accesses memory: its executions times the accesses in it, which do not vary.
read = lambda name: csv.DictReader(open(name))
place = lambda r: (r["object"], int(r["address"], 16))
blocks = {place(r): r for r in read("blocks.csv")}
want = {k: sum(int(r[n]) for n in ("loads", "stores", "modifications")) for k, r in blocks.items() if r["varies"] == "0"}
want = {k: n for k, n in want.items() if n}
assert len(want) > 5
caches = {place(r): r for r in read("caches.csv") if r["level"] == "L1"}
profile = {place(r): r for r in read("accesses.csv")}
for found in caches, profile:
    assert not [r["name"] for k, r in found.items() if k not in blocks]
    assert want == {k: int(r["accesses"]) for k, r in found.items() if blocks[k]["varies"] == "0"}
for k, r in caches.items():
    assert r["instructions"] == blocks[k]["instructions"] and r["function"] == blocks[k]["function"] and r["line"] == blocks[k]["line"], r
END
for verb in cache memory; do
	check_status 2 sonde $verb --by=block memory
	check_contains err 'record --mem --blocks'
	[ ! -s out ] || fail "$verb: half of its output"
done
cp -r beside without
rm without/code.blocks
check_status 1 sonde memory --by=block without
check_contains err 'code.blocks is damaged or missing'
check_contains out 'tree, block not known'

# A recorder that is killed leaves accesses, and no blocks: then nothing is shown for each 1,000 instructions.
cat >long.c <<'END'
volatile int at, a[4096];
int main(void)
{
	for (;;)
		a[(at += a[(at * 7) & 4095] + 1) & 4095] = at;
}
END
"$CC" -O1 -o long long.c || fail "$CC"
command sonde -q --mem --blocks --mem-buffer=256K -o killed -- ./long &
sonde=$!
written()
{
	[ -n "$(find killed -name '*.memory' -size +64k 2>/dev/null)" ]
}
await 60 written
recorder=$(child_of $sonde sonde) || exit
kill -KILL $sonde "$recorder"
wait $sonde
# 1: it was killed while it wrote
sonde cache --system=opteron killed >out 2>err
[ $? -le 1 ] || { show out err; fail "accesses of a recorder that was killed"; }
check_contains out ' main$'
check_lacks out 'mpki'

# ---- messages ----

check_usage_error sonde --blocks=trace:tree --mem -- ./ordered
check_usage_error sonde --blocks=trace --blocks=count -- ./ordered
check_usage_error sonde --blocks=trace --flight=1M -- ./ordered
check_usage_error sonde --blocks=trace --mem-stack=no -- ./ordered
check_usage_error sonde dump --blocks --mem o
check_usage_error sonde dump --blocks --format=din o
sonde --blocks=trace -m memcount -o m -- ./ordered >out 2>err
[ $? -eq 2 ] && [ ! -e m ] || fail "with a module that takes memory accesses"
check_contains err 'memory accesses'
rm o/code.blocks
check_status 2 sonde blocks o
check_contains err 'sonde dump --blocks'
check_status 0 sonde dump --blocks o
