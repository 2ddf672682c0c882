# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: counts.py STEPS STATIC BLOCKS EDGES LOOPS ALONE [MISSING]

Compares what tests/oracle/counts saw of a file (STEPS) with counts of blocks, edges and loops (CSV of `sonde blocks -b block', edge,
loop), knowing the file's blocks (CSV of `sonde blocks FILE').  ALONE: names of functions that were left alone, one a line.  MISSING: so
many executions of an edge may be missing: of those to instructions that faulted and that a forked child executed in addition.
"""
import bisect, csv, sys

steps, static, counted, edges, loops, alone = sys.argv[1:7]
missing = int(sys.argv[7]) if len(sys.argv) > 7 else 0
blocks = {int(r["address"], 16): r for r in csv.DictReader(open(static))}
starts = sorted(blocks)
alone = {l.strip() for l in open(alone)}
bad = []


def block_of(addr):
    i = bisect.bisect_right(starts, addr) - 1
    return starts[i] if i >= 0 and addr < starts[i] + int(blocks[starts[i]]["size"]) else None


name = None
executed, taken, entered = {}, {}, {}
for line in open(steps):
    source, to, n, kind, file = line.split()
    source, to, n = int(source, 16), int(to, 16), int(n)
    executed[source] = executed.get(source, 0) + n
    a = block_of(source)
    if a is None or kind in ("call", "ret", "syscall", "trap") or to not in blocks:
        continue
    if blocks[a]["function"] == blocks[to]["function"]:
        taken[a, to] = taken.get((a, to), 0) + n

ours = {int(r["address"], 16): int(r["count"]) for r in csv.DictReader(open(counted))}
came = {}
for (a, b), n in taken.items():
    came[b] = came.get(b, 0) + n
for addr, r in blocks.items():
    # control came to it, but its first instruction faulted
    if came.get(addr) == ours.get(addr, 0) > executed.get(addr, 0):
        continue
    if r["function"] not in alone and ours.get(addr, 0) != executed.get(addr, 0):
        bad.append("block %x of %s: %d times, not %d" % (addr, r["function"], executed.get(addr, 0), ours.get(addr, 0)))
for addr in ours:
    if addr not in blocks:
        bad.append("block %x: there is none" % addr)

seen = {}
for r in csv.DictReader(open(edges)):
    pair = int(r["address"], 16), int(r["to_address"], 16)
    if 0 not in pair:
        seen[pair] = int(r["count"])
# control came to a block, but its first instruction faulted: where the order of blocks was recorded, it was not executed
faulted = {to: n - executed.get(to, 0) for to, n in came.items() if n > executed.get(to, 0) == ours.get(to, 0)}
for pair, n in seen.items():
    if not 0 <= taken.get(pair, 0) - n <= max(missing, faulted.get(pair[1], 0)):
        bad.append("edge %x to %x: %d times, not %d" % (*pair, taken.get(pair, 0), n))
for pair, n in taken.items():
    r = blocks[pair[0]]
    if pair not in seen and n > faulted.get(pair[1], 0) and r["function"] not in alone and r["ends"] not in ("switch", "tail", "tail-branch", "tail-indirect", "tail-fall"):
        bad.append("edge %x to %x of %s (%s): %d times, not counted" % (*pair, r["function"], r["ends"], n))

heads = {int(r["address"], 16): r for r in csv.DictReader(open(loops))}
for addr, r in blocks.items():
    if r["head"] == "1" and r["function"] not in alone and executed.get(addr, 0):
        if addr not in heads or int(heads[addr]["count"]) != executed[addr]:
            bad.append("loop %x: %d iterations" % (addr, executed[addr]))
for addr, r in heads.items():
    inside = {a for a, b in blocks.items() if b["function"] == blocks[addr]["function"]}
    loop = blocks[addr]["id"]

    def within(a):
        l = blocks[a]["loop"]
        while l and l != loop:
            l = blocks[int(l.split("-")[1], 16)]["parent"]
        return l == loop

    back = sum(n for (a, b), n in taken.items() if b == addr and within(a))
    if int(r["count"]) - back != int(r["entries"]):
        bad.append("loop %x: entered %d times, not %s" % (addr, int(r["count"]) - back, r["entries"]))
print("\n".join(bad[:20]))
if bad:
    sys.exit("%d differences" % len(bad))
print("%d blocks, %d edges, %d loops: agree" % (len(ours), len(seen), len(heads)))
