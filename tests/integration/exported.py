#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""usage: exported.py FORMAT FILE

Reads what `sonde export' wrote, checks that each thread's calls are properly nested and its times do not go back, and prints a line
"PID.TID calls=N points=N unwound=N open=N" for each thread, sorted, then "NAME N" for each function, then "messages=N" if there are
any, each of which begins and ends once. FORMAT perfetto: FILE is what
protoc --decode made of it with perfetto.proto; otf2, ctf: what otf2-print, and babeltrace2 --clock-cycles --no-delta, made of it.
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
begun, ended = {}, {}  # messages: when


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


def message(ends, number, time):
    into = ended if ends else begun
    assert number not in into, f"message {number} twice"
    into[number] = time


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
        elif e["ph"] in ("s", "f"):
            assert stacks[thread], f"{thread}: an arrow outside of all calls: {e}"
            message(e["ph"] == "f", e["id"], e["ts"])
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

    def record(lines):
        m = collections.defaultdict(list)
        for line in lines:
            line = line.strip()
            if line == "}":
                break
            if line.endswith("{"):
                m[line[:-1].strip()].append(record(lines))
            else:
                key, value = line.split(": ", 1)
                m[key].append(value.strip('"'))
        return m

    with open(path) as f:
        for line in f:
            assert line == "packet {\n", line
            p = record(f)
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
                name = interned[e["name_iid"][0]] if e["name_iid"] else e["name"][0] if e["name"] else None
                for number in e["flow_ids"]:
                    message(False, number, int(p["timestamp"][0]))
                for number in e["terminating_flow_ids"]:
                    message(True, number, int(p["timestamp"][0]))
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
    """Lines "EVENT LOCATION TIME ...", and those that define locations, groups and communicators before them."""
    groups, locations = {}, {}
    members, comms = {}, {}  # of a communicator, by number: locations by rank; between two groups: both
    sent, received = collections.Counter(), collections.Counter()
    requests, collectives = collections.defaultdict(set), collections.Counter()
    teams, open_parts = collections.Counter(), collections.Counter()

    def channel(sender, location, rest):
        """Who, to whom, in what, with which tag; and the rest of it."""
        comm = re.search(r'Communicator: ".*?" <(\d+)>', rest).group(1)
        peer = int(re.search(r"(?:Receiver|Sender): (\d+)", rest).group(1))
        tag = re.search(r"Tag: (\d+)", rest).group(1)
        sides = comms[comm]
        other = sides[-1] if location in sides[0] else sides[0]
        return (location, other[peer], comm, tag) if sender else (other[peer], location, comm, tag)

    for line in open(path):
        kind, _, rest = line.partition(" ")
        if kind == "LOCATION_GROUP":
            number, pid = re.match(r' *(\d+) .*?Name: ".* (\d+)"', rest).groups()
            groups[number] = pid
        elif kind == "LOCATION":
            number, tid, group = re.match(r' *(\d+) .*?Name: ".* (\d+)" .*Group: ".*" <(\d+)>', rest).groups()
            locations[number] = f"{groups[group]}.{tid}"
        elif kind == "GROUP":
            members[rest.split()[0]] = re.findall(r'<(\d+)>', rest.partition("Member")[2])
        elif kind == "COMM":
            number, group = re.match(r' *(\d+) .*Group: ".*?" <(\d+)>', rest).groups()
            comms[number] = [members[group]]
        elif kind == "INTER_COMM":
            number, a, b = re.match(r' *(\d+) .*Group A: ".*?" <(\d+)>.*Group B: ".*?" <(\d+)>', rest).groups()
            comms[number] = [members[a], members[b]]
        elif kind in ("ENTER", "LEAVE"):
            location, time, name = re.match(r' *(\d+) +(\d+) +Region: "(.*)" <\d+>', rest).groups()
            if kind == "ENTER":
                enter(locations[location], int(time), name)
            else:
                assert leave(locations[location], int(time)) == name, line
        elif kind.startswith("THREAD_"):
            location, time = re.match(r" *(\d+) +(\d+)", rest).groups()
            at(locations[location], int(time))
            region = stacks[locations[location]]
            if kind in ("THREAD_FORK", "THREAD_JOIN"):
                assert region[-1] == "omp parallel" and "Model: \"OpenMP\"" in rest, line
            else:
                team = comms[re.search(r'Thread Team: ".*?" <(\d+)>', rest).group(1)][0]
                assert location in team and "omp implicit task" not in region[-1:], line
            begins, what = {"THREAD_FORK": (1, "regions"), "THREAD_JOIN": (-1, "regions"), "THREAD_TEAM_BEGIN": (1, "parts"),
                            "THREAD_TEAM_END": (-1, "parts")}[kind]
            open_parts[location, what] += begins
            teams[what] += begins > 0
            assert open_parts[location, what] >= 0, line
        elif kind.startswith("MPI_"):
            location, time = re.match(r" *(\d+) +(\d+)", rest).groups()
            at(locations[location], int(time))
            assert stacks[locations[location]], f"outside of all calls: {line}"
            request = re.search(r"Request: (\d+)", rest)
            if kind in ("MPI_SEND", "MPI_ISEND"):
                sent[channel(True, location, rest)] += 1
            elif kind in ("MPI_RECV", "MPI_IRECV"):
                received[channel(False, location, rest)] += 1
            if request:
                requests[request.group(1)].add(kind)
            collectives[location] += {"MPI_COLLECTIVE_BEGIN": 1, "MPI_COLLECTIVE_END": -1}.get(kind, 0)
    assert sent == received, (sent - received, received - sent)
    for number, kinds in requests.items():
        assert kinds in ({"MPI_ISEND", "MPI_ISEND_COMPLETE"}, {"MPI_IRECV_REQUEST", "MPI_IRECV"},
                         {"MPI_IRECV_REQUEST", "MPI_REQUEST_CANCELLED"}), (number, kinds)
    assert not any(collectives.values()), collectives
    assert not any(open_parts.values()), open_parts
    assert teams["regions"] == names["omp parallel"] and teams["parts"] == names["omp implicit task"], teams
    for i in range(sum(sent.values())):
        message(False, i, 0)
        message(True, i, 0)


def ctf(path):
    """Lines "[TIME] HOST EVENT: { CONTEXT }, { FIELDS }"."""
    addresses = {}
    for line in open(path, errors="surrogateescape"):
        time, name, pid, tid, fields = re.match(r"\[(\d+)\] .*?(\S*:.*?): \{ vpid = (\d+), vtid = (\d+), procname = \".*?\" \}, \{(.*)\}", line).groups()
        thread = f"{pid}.{tid}"
        if name.startswith("lttng_ust_statedump:"):
            at(thread, int(time))
            continue
        address, function = re.match(r' addr = (\w+), func = \( "((?:[^"\\]|\\.)*)" : container = \d+ \)', fields).groups()
        if name == "lttng_ust_cyg_profile:func_entry":
            enter(thread, int(time), function)
            addresses.setdefault(thread, []).append(address)
        elif name == "lttng_ust_cyg_profile:func_exit":
            end = re.search(r', end = \( "(\w+)" : container', fields).group(1)
            assert leave(thread, int(time), end if end != "returned" else None) == function, line
            assert addresses[thread].pop() == address, line
        else:
            point(thread, int(time))


{"chrome": chrome, "ctf": ctf, "otf2": otf2, "speedscope": speedscope, "csv": table, "perfetto": perfetto}[sys.argv[1]](sys.argv[2])
for thread, stack in stacks.items():
    assert not stack, f"{thread}: {stack} have no end"
for thread in sorted(threads):
    print(thread, *(f"{k}={threads[thread][k]}" for k in ("calls", "points", "unwound", "open")))
for name in sorted(names):
    print(name, names[name])
assert begun.keys() == ended.keys(), begun.keys() ^ ended.keys()
assert all(begun[i] <= ended[i] for i in begun)
if begun:
    print(f"messages={len(begun)}")
