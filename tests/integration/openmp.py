#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""openmp.py EVENTS [clang]: the events of omp_constructs.c with 3 threads ("sonde dump --json") are as many as the program makes
when GCC, or Clang, has compiled it, and in an order that OpenMP allows."""
import json
import sys
from collections import Counter, defaultdict

clang = sys.argv[2:] == ["clang"]
counts, asked = Counter(), Counter()
stacks = defaultdict(list)
regions, created, ran, held = {}, {}, Counter(), defaultdict(list)
parts = defaultdict(list)
loops = defaultdict(lambda: [0, None])  # (region, number): iterations of chunks, iterations in all
nth = Counter()


def fail(event, why):
    sys.exit(f"openmp.py: {why}: {event}")


def region_of(stack):
    for e in reversed(stack):
        if "region" in e["fields"]:
            return e["fields"]["region"]
    return None


for line in open(sys.argv[1], encoding="utf-8"):
    event = json.loads(line)
    name, kind, stack = event["function"], event["type"], stacks[event["tid"]]
    fields = event.setdefault("fields", {})
    if not name.startswith("omp "):
        continue
    if kind == "point":
        counts[f'{name}:{event["name"]}'] += 1
        continue
    if kind == "leave":
        if event.get("unwound") or event.get("orphan") or not stack:
            fail(event, "not left as it was entered")
        begun = stack.pop()
        if begun["function"] != name:
            fail(event, f'left before {begun["function"]}')
        if name in ("omp critical", "omp atomic"):
            held[name, begun["fields"]["lock"]].append((begun["time"], event["time"]))
        if name == "omp parallel":
            regions[begun["fields"]["region"]] = (begun["time"], event["time"])
        if name in ("omp implicit task", "omp task"):
            parts[begun["fields"]["region"]].append((begun["time"], event["time"]))
        continue
    counts[name] += 1
    if fields.get("resumed"):
        counts[f"{name} resumed"] += 1
    if name == "omp loop":
        region = region_of(stack)
        key = region, nth[event["tid"], region]
        nth[event["tid"], region] += 1
        loops[key][1] = -(-(fields["to"] - fields["from"]) // fields["step"])
        event["key"] = key
    if name == "omp parallel":
        asked[fields["asked"]] += 1
    if name == "omp chunk":
        if not stack or stack[-1]["function"] != "omp loop":
            fail(event, "a chunk outside of a loop")
        loops[stack[-1]["key"]][0] += fields["end"] - fields["first"]
    if name in ("omp task create", "omp taskloop"):
        created[fields["task"]] = (event["time"], region_of(stack))
    if name == "omp task":
        if fields["task"] not in created or created[fields["task"]][1] != fields["region"]:
            fail(event, "a task of no such region")
        if stack and stack[-1]["function"] in ("omp barrier", "omp taskwait", "omp taskgroup wait"):
            fail(event, "a task in what is said to be waiting")
        ran[fields["task"]] += 1
    stack.append(event)

for tid, stack in stacks.items():
    if stack:
        fail(stack[-1], "never left")
for region, times in parts.items():
    begin, end = regions[region]
    if min(t[0] for t in times) < begin or max(t[1] for t in times) > end:
        fail(region, "a region that ends before its tasks, or begins after them")
for lock, times in held.items():
    times.sort()
    for a, b in zip(times, times[1:]):
        if b[0] < a[1]:
            fail(lock, "held twice at one time")
if asked[2] != 3:
    fail(asked, "not the three regions of num_threads(2)")
if set(created) != set(ran):
    fail(set(created) ^ set(ran), "tasks that were created and not run")
cancelled = [key for key, (some, of_all) in loops.items() if some != of_all]
# Clang asks for bounds of static loops and sections, too, and runs an untied task part by part.  The loop that is cancelled may have
# been done by then.
if len(loops) != (17 if clang else 13) or len(cancelled) > 1:
    fail(dict(loops), "chunks are not the loops")
if Counter(ran.values())[1] < (182 if clang else 195) or sum(ran.values()) != counts["omp task"]:
    fail(ran, "tasks that were run twice")

# Clang has no detached tasks here, devices only if it is asked to, atomic instructions and no sections.
wanted = {
    "omp parallel": 18, "omp implicit task": 51, "omp critical": 300, "omp critical wait": 300, "omp lock wait": 450,
    "omp lock:unset": 451, "omp lock:tested": 1, "omp ordered": 40, "omp ordered:posted": 361, "omp task create": 195,
    "omp taskloop": 3, "omp taskyield:called": 10, "omp cancel:asked": 1, "omp teams": 1, "omp single:executed": 3,
}
if clang:
    wanted |= {"omp loop": 51, "omp reduction": 14}
else:
    wanted |= {"omp parallel": 19, "omp implicit task": 54, "omp task create": 196, "omp atomic": 150, "omp loop": 39,
               "omp section": 5, "omp sections": 6, "omp target": 4, "omp event:fulfilled": 1, "omp single:executed": 4}
for name, n in wanted.items():
    if counts[name] != n:
        sys.exit(f"openmp.py: {counts[name]} instead of {n}: {name}")
groups = 3 + 3 * clang # of a reduction's tasks, in each thread
if counts["omp taskgroup"] != 3 or counts["omp taskgroup wait"] - counts["omp taskgroup wait resumed"] != groups:
    fail(counts, "taskgroups")
if counts["omp taskwait"] - counts["omp taskwait resumed"] != 88 + 2 + (not clang):
    fail(counts, "taskwaits")
