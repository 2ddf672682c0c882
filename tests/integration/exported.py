#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: exported.py FORMAT FILE

Reads what `sonde export' wrote, checks that each thread's calls are properly nested and its times do not go back, and prints a line
"PID.TID calls=N points=N unwound=N open=N" for each thread, sorted, then "NAME N" for each function. FORMAT perfetto: FILE is what
protoc --decode made of it with perfetto.proto; otf2: what otf2-print made of it.
"""
import collections
import csv
import json
import re
import sys

threads = collections.defaultdict(collections.Counter)
names = collections.Counter()
stacks = collections.defaultdict(list)
last = collections.defaultdict(float)


def at(thread, time):
    assert time >= last[thread], f"{thread}: time goes back at {time}"
    last[thread] = time


def enter(thread, time, name):
    at(thread, time)
    stacks[thread].append(name)
    names[name] += 1
    threads[thread]["calls"] += 1


def leave(thread, time, mark=None):
    at(thread, time)
    assert stacks[thread], f"{thread}: an end without a beginning at {time}"
    if mark:
        threads[thread][mark] += 1
    return stacks[thread].pop()


def point(thread, time):
    at(thread, time)
    threads[thread]["points"] += 1


def chrome(path):
    # viewers sort: what is open at a thread's end ends there, but is written last
    for e in sorted(json.load(open(path))["traceEvents"], key=lambda e: e.get("ts", 0)):
        thread = f"{e['pid']}.{e['tid']}"
        args = e.get("args", {})
        if e["ph"] == "B":
            enter(thread, e["ts"], e["name"])
        elif e["ph"] == "E":
            leave(thread, e["ts"], next((m for m in ("unwound", "open") if m in args), None))
        elif e["ph"] == "i":
            point(thread, e["ts"])
        else:
            assert e["ph"] == "M" and args["name"], e


def speedscope(path):
    trace = json.load(open(path))
    frames = [f["name"] for f in trace["shared"]["frames"]]
    for p in trace["profiles"]:
        assert p["type"] == "evented" and p["unit"] == "nanoseconds", p["type"]
        pid, tid = re.search(r" (\d+): (\d+) ", p["name"]).groups()
        thread = f"{pid}.{tid}"
        for e in p["events"]:
            assert p["startValue"] <= e["at"] <= p["endValue"], e
            if e["type"] == "O":
                enter(thread, e["at"], frames[e["frame"]])
            else:
                assert e["type"] == "C" and leave(thread, e["at"]) == frames[e["frame"]], e


def table(path):
    calls = collections.defaultdict(list)
    for row in csv.DictReader(open(path, newline="")):
        thread = f"{row['pid']}.{row['tid']}"
        if row["end"] in ("point", "lost"):
            threads[thread]["points"] += 1
            continue
        begin = int(row["start_ns"])
        calls[thread].append((begin, int(row["depth"]), begin + int(row["duration_ns"])))
        names[row["function"]] += 1
        threads[thread]["calls"] += 1
        if row["end"] != "returned":
            threads[thread][row["end"]] += 1
    for thread, rows in calls.items():  # by their ends
        opened = []
        for begin, depth, end in reversed(sorted(rows, key=lambda r: r[2])):
            while opened and (opened[-1][1] >= depth or opened[-1][0] >= end):
                opened.pop()
            assert not opened or opened[-1][0] <= begin <= end <= opened[-1][2], (thread, begin, end, opened[-1])
            opened.append((begin, depth, end))


def perfetto(path):
    """Text of protobuf: "key: value" and "key {" ... "}"."""
    tracks, interned, events = {}, {}, []
    flags = {}

    def message(lines):
        m = collections.defaultdict(list)
        for line in lines:
            line = line.strip()
            if line == "}":
                break
            if line.endswith("{"):
                m[line[:-1].strip()].append(message(lines))
            else:
                key, value = line.split(": ", 1)
                m[key].append(value.strip('"'))
        return m

    with open(path) as f:
        for line in f:
            assert line == "packet {\n", line
            p = message(f)
            flags[p["sequence_flags"][0]] = True
            for t in p["track_descriptor"]:
                for thread in t["thread"]:
                    assert t["parent_uuid"][0] in tracks, t
                    tracks[t["uuid"][0]] = f"{thread['pid'][0]}.{thread['tid'][0]}"
                for process in t["process"]:
                    assert process["process_name"][0], t
                    tracks[t["uuid"][0]] = None
            for names_of in p["interned_data"]:
                for n in names_of["event_names"]:
                    interned[n["iid"][0]] = n["name"][0]
            for e in p["track_event"]:
                marks = [a["name"][0] for a in e["debug_annotations"] if a["bool_value"]]
                name = interned[e["name_iid"][0]] if e["name_iid"] else None
                events.append((int(p["timestamp"][0]), e["type"][0], tracks[e["track_uuid"][0]], name, marks))
    for time, kind, thread, name, marks in sorted(events, key=lambda e: e[0]):
        if kind == "1":
            enter(thread, time, name)
        elif kind == "2":
            leave(thread, time, marks[0] if marks else None)
        else:
            point(thread, time)
    assert sorted(flags) == ["1", "2"], flags


def otf2(path):
    """Lines "EVENT LOCATION TIME ...", and those that define locations and groups before them."""
    groups, locations = {}, {}
    for line in open(path):
        kind, _, rest = line.partition(" ")
        if kind == "LOCATION_GROUP":
            number, pid = re.match(r' *(\d+) .*?Name: ".* (\d+)"', rest).groups()
            groups[number] = pid
        elif kind == "LOCATION":
            number, tid, group = re.match(r' *(\d+) .*?Name: ".* (\d+)" .*Group: ".*" <(\d+)>', rest).groups()
            locations[number] = f"{groups[group]}.{tid}"
        elif kind in ("ENTER", "LEAVE"):
            location, time, name = re.match(r' *(\d+) +(\d+) +Region: "(.*)" <\d+>', rest).groups()
            if kind == "ENTER":
                enter(locations[location], int(time), name)
            else:
                assert leave(locations[location], int(time)) == name, line


{"chrome": chrome, "otf2": otf2, "speedscope": speedscope, "csv": table, "perfetto": perfetto}[sys.argv[1]](sys.argv[2])
for thread, stack in stacks.items():
    assert not stack, f"{thread}: {stack} have no end"
for thread in sorted(threads):
    print(thread, *(f"{k}={threads[thread][k]}" for k in ("calls", "points", "unwound", "open")))
for name in sorted(names):
    print(name, names[name])
