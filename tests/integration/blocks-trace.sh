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
# STATIC DUMP: from each block control goes to one that may come next, into a function that is called, or back to the block after a call.
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
        good = not last or addr in open_calls or e["offset"] == 0
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

# ---- callgrind's format: what `sonde blocks' says ----

check_status 0 sonde export -f callgrind -o profile o
sonde export -f callgrind t >other || fail "sonde export of counts"
check_same profile other "counts and order in callgrind's format"
sonde blocks --csv -b function o | python3 -c 'import csv, sys
rows = list(csv.DictReader(sys.stdin))
sums = [sum(int(r[k]) for r in rows) for k in ("instructions", "loads", "stores", "modifications")]
print("summary: %d %d %d" % (sums[0], sums[1] + sums[3], sums[2] + sums[3]))' >sum
grep -q -x -F "$(cat sum)" profile || { show sum profile; fail "sums in callgrind's format"; }
awk '/^[0-9]+ / { a += $2; b += $3; c += $4 } END { print "summary: " a, b, c }' profile >lines
check_same lines sum "sums of lines in callgrind's format"
if command -v callgrind_annotate >/dev/null; then
	check_status 0 callgrind_annotate --auto=no profile
	check_contains out 'ordered.c:tree'
fi

# ---- messages ----

check_usage_error sonde --blocks=trace --mem -- ./ordered
check_usage_error sonde --blocks=trace --blocks=count -- ./ordered
check_usage_error sonde --blocks=trace --flight=1M -- ./ordered
check_usage_error sonde --blocks=trace --mem-stack=no -- ./ordered
check_usage_error sonde dump --blocks --mem o
check_usage_error sonde dump --blocks --format=din o
check_usage_error sonde attach --blocks=trace 1
sonde --blocks=trace -m memcount -o m -- ./ordered >out 2>err
[ $? -eq 2 ] && [ ! -e m ] || fail "with a module that takes memory accesses"
check_contains err 'memory accesses'
rm o/code.blocks
check_status 2 sonde blocks o
check_contains err 'sonde dump --blocks'
check_status 0 sonde dump --blocks o
