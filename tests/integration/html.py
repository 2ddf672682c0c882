# SPDX-License-Identifier: GPL-3.0-or-later
"""The data of a page of `sonde report --html', compared with what other verbs say of the trace.

    html.py PAGE report=REPORT.json calls=CALLS.csv folded=GRAPH.folded mpi=MPI.json omp=OMP.json memory=LOOPS.json
"""
import base64, collections, csv, json, re, sys


def unpack(data):
    """Slices as (track, depth, start, end, name, flags, calls, busy); the format is told in launcher/html/data.js."""
    stream = iter(base64.b64decode(data["slices"], validate=True))

    def number():
        value = shift = 0
        for byte in stream:
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise ValueError("the slices end too early")

    for track in range(len(data["tracks"])):
        for depth in range(number()):
            end = 0
            for _ in range(number()):
                start = end + number()
                end = start + number()
                name = number()
                several = name & 1
                calls = number() if several else 1
                busy = number() if several else end - start
                yield track, depth, start, end, name >> 2, name & 3, calls, busy
    assert next(stream, None) is None, "more than the slices"


files = dict(argument.split("=", 1) for argument in sys.argv[2:])
page = open(sys.argv[1], "rb").read().decode("utf-8")
assert len(page) < 15_000_000
scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, re.S)
assert [s[0] for s in scripts] == [' type="application/json" id="data"', ""], "scripts that the page does not have by itself"
assert not re.search(r"(src|href)=|url\(|import\(|fetch\(", page), "the page loads something"
data = json.loads(scripts[0][1])
names = data["names"]

# The table is that of the report.
report = json.load(open(files["report"]))
assert data["events"] == report["events"] and data["threads"] == report["threads"]
table = [[names[r[0]], names[r[1]], r[4], r[5], r[6], r[7], r[8], r[9], r[10]] for r in data["functions"]]
rows = [[f["function"], f["module"], f["calls"]] + [f.get(k + "_ns", 0) for k in ("total", "self", "average", "min", "max", "wait")]
        for f in report["tables"][0]["functions"]]
assert table == rows, (table[:3], rows[:3])

# Each row of the time line has all calls of its depth, and their time, whether they are drawn one by one or not.
wanted, found, named = (collections.defaultdict(lambda: [0, 0]) for _ in range(3))
functions = collections.Counter()
for c in csv.DictReader(open(files["calls"], encoding="utf-8", errors="replace")):
    if not c["duration_ns"]:  # a point, or a mark where events are missing
        continue
    for key in ((c["pid"], c["tid"]), "all"):
        wanted[key][0] += 1
        wanted[key][1] += int(c["duration_ns"])
    functions[c["function"]] += 1
last = {}
processes = [names[p[0]] for p in data["processes"]]
for track, depth, start, end, name, flags, calls, busy in unpack(data):
    process, tid = data["tracks"][track][:2]
    pid = processes[process].rsplit(" ", 1)[1]
    assert last.get((track, depth), 0) <= start <= end, "slices of a row overlap"
    last[track, depth] = end
    assert calls == 1 or data["cell"], "calls together, although there is room"
    assert calls == 1 or busy <= end - start, "more time in calls than there is"
    for key in ((pid, str(tid)), "all"):
        found[key][0] += calls
        found[key][1] += busy
    kinds = {k[0]: k[1] for k in data["kinds"]}
    named[names[kinds.get(name, name)]][0] += calls
assert not data["deeper"] and found == wanted, (dict(found), dict(wanted))
if not data["cell"]:
    assert {n: v[0] for n, v in named.items()} == dict(functions), "calls by name"

# Paths of the flame graph.
if "folded" in files:
    folded = collections.Counter()
    for line in open(files["folded"], encoding="utf-8", errors="replace"):
        path, self_ns = line.rsplit(" ", 1)
        folded[path] += int(self_ns)
    paths, drawn = [""], collections.Counter()
    for parent, name, calls, total, self_ns, wait in data["flame"][1:]:
        paths.append(paths[parent] + ";" * (parent > 0) + names[name])
        if self_ns:
            drawn[paths[-1]] += self_ns
    assert drawn == folded, (drawn - folded, folded - drawn)


def same(drawn, wanted, what):
    drawn, wanted = collections.Counter(map(tuple, drawn)), collections.Counter(map(tuple, wanted))
    assert drawn and drawn == wanted, (what, drawn - wanted, wanted - drawn)


if "mpi" in files:
    mpi = json.load(open(files["mpi"]))
    same(data["mpi_pairs"], [[p[k] for k in ("from", "to", "messages", "bytes")] for p in mpi["matrix"]], "matrix")
    same([[r[0], names[r[1]]] + r[2:] for r in data["mpi_calls"]],
         [[c[k] for k in ("rank", "function", "calls", "time_ns", "sent", "received", "late_sender_ns", "late_receiver_ns", "barriers_ns",
                          "collectives_ns")] for c in mpi["calls"]], "calls of MPI")
    assert data["messages_every"] == 1 and len(data["messages"]) == data["messages_all"] == sum(p["messages"] for p in mpi["matrix"])
    ranks = [data["processes"][t[0]][2] for t in data["tracks"]]
    same(collections.Counter((ranks[m[0]], ranks[m[1]]) for m in data["messages"]).items(),
         [[(p["from"], p["to"]), p["messages"]] for p in mpi["matrix"]], "messages")
if "omp" in files:
    same([[("region", "loop", "task")[r[0]]] + r[2:12] + [r[13]] for r in data["omp"]],
         [[r[k] for k in ("type", "schedule", "count", "threads", "time_ns", "team_ns", "work_ns", "barriers_ns", "locks_ns", "tasks_ns",
                          "idle_ns", "chunks")] for r in json.load(open(files["omp"]))["rows"]], "regions")
    classes = {names[k[0]].split(" /")[0].split(":")[0]: k[2] for k in data["kinds"]}
    assert any(n.startswith("omp implicit task") and c == 1 for n, c in classes.items()), "OpenMP's work"
    assert any(n.startswith("omp barrier") and c == 2 for n, c in classes.items()), "OpenMP's waiting"
if "memory" in files:
    loops = [json.loads(line) for line in open(files["memory"])]
    loops = [r for r in loops if r["type"] == "loop"]
    same([[names[r[0]]] + r[3:11] for r in data["memory"]],
         [[r[k] for k in ("name", "accesses", "bytes", "loads", "stores", "sequential", "strided", "random", "footprint")] for r in loops],
         "loops")
    curve = data["memory_curves"][0]
    assert curve[0] == "all" and curve[1] == sum(r["accesses"] for r in loops)
    assert len(curve[2]) == len(data["memory_sizes"]) and all(a >= b for a, b in zip(curve[2], curve[2][1:])), "a larger cache misses more"
print(f"{found['all'][0]} calls, {len(data['functions'])} functions, cell {data['cell']} ns")
