#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""A second reader of Sonde's traces, written from doc/trace-format.md alone.

usage: tracefmt_reader.py DIR...

Prints one line an event, thread by thread, in the order of file names: file, ticks, nanoseconds, kind, depth,
function, time of the enter, values. `tracefmt_lines` prints the same by the library; the two have to agree.
"""
import ctypes
import json
import os
import re
import struct
import sys

WHAT = {1: "enter", 2: "leave", 3: "point", 4: "orphan", 5: "unwound", 6: "lost", 7: "unwound", 8: "tail", 9: "waited"}
TYPES = ["", "i32", "i64", "u32", "u64", "f64", "ptr", "bytes", "str"]
MASK = (1 << 64) - 1


class Damage(Exception):
    pass


def xxh64(data):
    """XXH64 with seed 0."""
    p1, p2, p3, p4, p5 = (11400714785074694791, 14029467366897019727, 1609587929392839161,
                          9650029242287828579, 2870177450012600261)

    def rotate(x, r):
        return (x << r | x >> (64 - r)) & MASK

    def mix(acc, lane):
        return rotate((acc + lane * p2) & MASK, 31) * p1 & MASK

    at, n = 0, len(data)
    if n >= 32:
        v = [(p1 + p2) & MASK, p2, 0, -p1 & MASK]
        for at in range(0, n - 31, 32):
            v = [mix(a, lane) for a, lane in zip(v, struct.unpack_from("<4Q", data, at))]
        at += 32
        h = sum(rotate(a, r) for a, r in zip(v, (1, 7, 12, 18))) & MASK
        for a in v:
            h = ((h ^ mix(0, a)) * p1 + p4) & MASK
    else:
        h = p5
    h = (h + n) & MASK
    while n - at >= 8:
        h = (rotate(h ^ mix(0, struct.unpack_from("<Q", data, at)[0]), 27) * p1 + p4) & MASK
        at += 8
    if n - at >= 4:
        h = (rotate(h ^ struct.unpack_from("<I", data, at)[0] * p1 & MASK, 23) * p2 + p3) & MASK
        at += 4
    for byte in data[at:]:
        h = rotate(h ^ byte * p5 & MASK, 11) * p1 & MASK
    h = (h ^ h >> 33) * p2 & MASK
    h = (h ^ h >> 29) * p3 & MASK
    return h ^ h >> 32


ZSTD = ctypes.CDLL("libzstd.so.1")
ZSTD.ZSTD_decompress.restype = ctypes.c_size_t
ZSTD.ZSTD_decompress.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]


def decompress(packed, raw):
    out = ctypes.create_string_buffer(raw + 1)
    if ZSTD.ZSTD_decompress(out, raw, packed, len(packed)) != raw:
        raise Damage("zstd")
    return out.raw[:raw]


class Bytes:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if n > len(self.data) - self.at:
            raise Damage("end")
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7f) << shift
            shift += 7
            if value > MASK or shift > 70:
                raise Damage("varint")
            if byte < 0x80:
                return value


# --- metadata

def plain(text):
    """U+F700..U+F7FF stand for bytes."""
    out = b""
    for c in text:
        out += bytes([ord(c) - 0xf700]) if 0xf700 <= ord(c) <= 0xf7ff else c.encode()
    return out


class Metadata:
    def __init__(self, directory):
        self.functions, self.events, self.points = {}, {}, []
        self.start = None
        with open(os.path.join(directory, "metadata"), "rb") as f:
            lines = f.read().split(b"\n")[:-1]
        for line in lines:
            try:
                self.line(json.loads(line))
            except (ValueError, KeyError, TypeError):
                pass

    def line(self, line):
        kind = line["type"]
        if kind in ("trace", "clock", "end"):
            point = (int(line["tsc"]), int(line["mono"]))
            if not self.points or (point[0] > self.points[-1][0] and
                                   point[1] > self.points[-1][1]):
                self.points.append(point)
        if kind == "trace":
            self.start = line
        elif kind == "function":
            self.functions[line["id"]] = plain(line.get("demangled", line["name"]))
        elif kind == "functions":
            for number, event, name, _, *demangled in line["list"]:
                self.functions[number] = plain(demangled[0] if demangled else name)
                self.events[event] = self.events[event + 1] = (number, [])
        elif kind == "event":
            fields = [f for f in line.get("fields", []) if f[1] not in ("wait", "apart")]
            self.events[line["id"]] = (line["function"], fields)

    def nanoseconds(self, ticks):
        p = self.points
        if len(p) == 1:
            a, b = p[0], (p[0][0] + 1, p[0][1] + 1)
        elif ticks < p[0][0] or ticks >= p[-1][0]:
            a, b = p[0], p[-1]
        else:
            i = max(k for k in range(len(p) - 1) if p[k][0] <= ticks)
            a, b = p[i], p[i + 1]
        product = (ticks - a[0]) * (b[1] - a[1])
        quotient = abs(product) // (b[0] - a[0])
        return max(0, a[1] + (quotient if product >= 0 else -quotient) - self.start["mono"])


# --- a chunk

def planes(source, count, width):
    columns = [source.take(count) for _ in range(width)]
    return [sum(c[i] << 8 * k for k, c in enumerate(columns)) for i in range(count)]


def decode(coding, first, stored):
    out, last = [], first
    for s in stored:
        if coding == 0:
            out.append((first + s) & MASK)
            continue
        if coding == 1:
            last = (last + (s >> 1 ^ -(s & 1))) & MASK
        elif coding == 2:
            last ^= s
        else:
            raise Damage("coding")
        out.append(last)
    return out


class Entry:
    def __init__(self, source):
        self.what = source.byte()
        if self.what not in WHAT:
            raise Damage("what")
        self.id = source.varint()
        self.closer = source.varint() if self.what in (1, 8) else 0
        self.count = source.varint()
        self.base = source.varint()
        self.width = source.byte()
        self.fields = []
        for _ in range(source.byte()):
            kind, coding, width, first = (source.byte(), source.byte(), source.byte(),
                                          source.varint())
            size = source.varint() if TYPES[kind] == "str" else 0
            self.fields.append((TYPES[kind], coding, width, first, size))
        self.times, self.values, self.next = [0] * self.count, [], 0

    def read_values(self, source):
        for kind, coding, width, first, size in self.fields:
            column = decode(coding, first, planes(source, self.count, width))
            if kind == "str":
                if sum(column) != size:
                    raise Damage("strings")
                column = [source.take(n) for n in column]
            self.values.append([self.text(kind, v) for v in column])

    @staticmethod
    def text(kind, v):
        if kind == "str":
            return v.hex()
        if kind in ("i32", "i64"):
            return str(v - (1 << 64) if v >> 63 else v)
        return "%x" % v if kind in ("f64", "ptr") else str(v)


class Chunk:
    SIZE = 80

    def __init__(self, data, at):
        header = data[at:at + self.SIZE]
        if len(header) < self.SIZE or header[:8] != b"SondeChk":
            raise Damage("no chunk")
        (self.seq, self.packed, self.raw, self.n, self.start, self.first, self.last, self.depth, _,
         self.body_hash, header_hash) = struct.unpack_from("<IIIIQQQQQQQ", header, 8)
        if header_hash != xxh64(header[:72]):
            raise Damage("header")
        self.body = data[at + self.SIZE:at + self.SIZE + self.packed]

    def unpack(self):
        if len(self.body) < self.packed or xxh64(self.body) != self.body_hash:
            raise Damage("body")
        source = Bytes(decompress(self.body, self.raw))
        self.entries = [Entry(source) for _ in range(source.varint())]
        width = source.byte()
        if width not in (1, 2):
            raise Damage("operations")
        operations = struct.unpack("<%d%s" % (self.n, " BH"[width]), source.take(width * self.n))
        for k in range(8):
            for e in self.entries:
                if e.width > k:
                    for i, byte in enumerate(source.take(e.count)):
                        e.times[i] |= byte << 8 * k
        for e in self.entries:
            e.read_values(source)
        if source.at != len(source.data):
            raise Damage("too long")
        return list(self.events(operations))

    def events(self, operations):
        opened, ticks, old = [], self.start, self.depth
        unwind = [e for e in self.entries if e.what == 7]
        for op in operations:
            shown = None
            if op == 0:
                if not opened or not opened[-1].closer:
                    raise Damage("return")
                e = self.entries[opened.pop().closer - 1]
            elif op == 1:
                if not opened or len(unwind) != 1:
                    raise Damage("unwind")
                e, shown = unwind[0], opened.pop()
            elif op - 2 < len(self.entries):
                e = self.entries[op - 2]
                if e.what in (1, 8):
                    opened.append(e)
                elif e.what == 2 and opened:
                    opened.pop()
                elif e.what in (2, 5):
                    if opened or not old:
                        raise Damage("leave")
                    old -= 1
            else:
                raise Damage("operation")
            if e.next == e.count:
                raise Damage("count")
            i, e.next = e.next, e.next + 1
            ticks += e.base + e.times[i]
            yield WHAT[e.what], ticks, (shown or e).id, [column[i] for column in e.values]
        if ticks != self.last:
            raise Damage("last")


# --- a file

def chunks(data):
    """What a file holds, without its index: chunks, and None where some are missing."""
    at, seq, gap = 64, 0, False
    while at < len(data):
        try:
            chunk = Chunk(data, at)
        except Damage:
            if data[at:at + 8] == b"SondeIdx":
                break
            gap = True
            at = data.find(b"SondeChk", at + 1)
            if at < 0:
                break
            continue
        if gap or chunk.seq != seq:
            yield None
        gap, seq = False, chunk.seq + 1
        at += Chunk.SIZE + chunk.packed
        yield chunk
    if gap:
        yield None


class Thread:
    def __init__(self, metadata, name):
        self.metadata, self.name = metadata, name
        self.frames, self.unknown, self.now = [], 0, 0
        self.lines = []

    def line(self, ticks, kind, function="?", entered=None, values=()):
        time = self.metadata.nanoseconds(ticks)
        entered = time if entered is None else entered
        depth = len(self.frames) + self.unknown
        self.lines.append(" ".join([self.name, str(ticks), str(time), kind, str(depth), function,
                                    str(entered)] + list(values)))
        self.now = ticks

    def pop(self):
        if self.frames:
            return self.frames.pop()
        self.unknown -= 1
        return None, "?"

    def event(self, kind, ticks, number, values):
        if kind == "waited":
            return
        if kind == "lost":
            self.line(ticks, kind, "?", None, values)
            return
        function = "?"
        if number in self.metadata.events:
            function = self.metadata.functions[self.metadata.events[number][0]].hex()
        entered = None
        if kind in ("leave", "unwound"):
            entered, opened = self.pop()
            function = opened if function == "?" else function
        self.line(ticks, kind, function, entered, values)
        if kind in ("enter", "tail"):
            self.frames.append((self.metadata.nanoseconds(ticks), function))

    def read(self, data):
        after_gap = False
        for chunk in chunks(data):
            try:
                if not chunk:
                    raise Damage("missing")
                events = chunk.unpack()
            except Damage:
                self.lines.append("%s damage" % self.name)
                after_gap = True
                continue
            if after_gap or len(self.frames) + self.unknown != chunk.depth:
                self.frames, self.unknown, after_gap = [], chunk.depth, False
            for event in events:
                self.event(*event)
        return self.lines


def read_directory(directory):
    metadata = Metadata(directory)
    for name in sorted(os.listdir(directory)):
        if not name.endswith(".sonde"):
            continue
        with open(os.path.join(directory, name), "rb") as f:
            data = f.read()
        for line in Thread(metadata, name).read(data):
            print(line)


def folders(directory, pattern):
    return [os.path.join(directory, d) for d in sorted(os.listdir(directory)) if re.fullmatch(pattern, d)]


def read_rank(directory):
    if os.path.exists(os.path.join(directory, "metadata")):
        read_directory(directory)
    for program in folders(directory, r"process-[1-9]\d*(\.\d+)?"):
        read_directory(program)


def main():
    for directory in sys.argv[1:]:
        for rank in folders(directory, r"rank-\d+(\.\d+)?"):
            read_rank(rank)
        read_rank(directory)


if __name__ == "__main__":
    main()
