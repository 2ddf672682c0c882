#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-3.0-or-later
"""tags-same.py WITHOUT WITH...: pairs of ELF objects, of which the second one was compiled with the plugin: all sections in
memory have to be the same, with their relocations.  Prints how many pairs, and how many of them have tags; exit status 1 after a
line for each that differs, and if none has tags."""
import struct
import sys


class Object:
    def __init__(self, path):
        self.data = open(path, "rb").read()
        shoff, = struct.unpack_from("<Q", self.data, 0x28)
        num, names = struct.unpack_from("<HH", self.data, 0x3C)
        if not num:
            num, = struct.unpack_from("<Q", self.data, shoff + 0x20)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, shoff + 64 * i) for i in range(num)]
        self.names = [self.string(self.sections[names], s[0]) for s in self.sections]

    def string(self, table, offset):
        start = table[4] + offset
        return self.data[start : self.data.index(b"\0", start)].decode()

    def content(self, s):
        return b"" if s[1] == 8 else self.data[s[4] : s[4] + s[5]]  # SHT_NOBITS

    def symbol(self, table, index):
        name, info, _, section, value, _ = struct.unpack_from("<IBBHQQ", self.content(table), 24 * index)
        if info & 15 == 3:  # a section
            return self.names[section]
        return self.string(self.sections[table[6]], name)

    def relocations(self, s):
        text = []
        for offset, info, addend in struct.iter_unpack("<QQq", self.content(s)):
            text.append((offset, info & 0xFFFFFFFF, addend, self.symbol(self.sections[s[6]], info >> 32)))
        return text

    def in_memory(self):
        found = []
        for name, s in zip(self.names, self.sections):
            if s[2] & 2:  # SHF_ALLOC
                found.append((name, s[1], s[2], s[5], s[8], self.content(s)))
            elif s[1] == 4 and self.sections[s[7]][2] & 2:  # SHT_RELA of one
                found.append((name, self.relocations(s)))
        return found


def main(paths):
    different = tagged = 0
    for without, with_tags in zip(paths[::2], paths[1::2]):
        a, b = Object(without), Object(with_tags)
        tagged += ".sonde.tags" in b.names
        if ".sonde.tags" in a.names:
            print("%s has tags" % without)
            different += 1
        elif a.in_memory() != b.in_memory():
            print("%s differs" % with_tags)
            different += 1
    print("%d pairs, %d with tags" % (len(paths) // 2, tagged))
    return different != 0 or not tagged


sys.exit(main(sys.argv[1:]))
