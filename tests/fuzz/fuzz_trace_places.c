/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads arbitrary bytes as pieces of code.places, and asks for places all over.
 *
 * Input: 2 bytes: length of the first piece's body; the rest is that of a second one.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "memtrace/pack/places.h"
#include "tests/fuzz/require.h"
#include "tracefmt/format.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile size_t sink;

static void ask(const struct mt_placed *p, uint32_t object, uint64_t addr)
{
	struct sonde_trace_place place = { 0 };

	mt_placed_find(p, object, addr, &place);
	sink += place.function ? strlen(place.function) : 0;
	sink += place.file ? strlen(place.file) : 0;
	sink += place.loop_file ? strlen(place.loop_file) : 0;
	REQUIRE(!place.function || addr - place.entry < place.size);
	REQUIRE(!place.file || place.line > 0);
	REQUIRE(!place.loop_file || (place.loop && place.loop_line > 0));
}

static void ask_line(void *arg, uint64_t addr, const char *file, int line)
{
	sink += addr + strlen(file);
	REQUIRE(line > 0);
	++*(size_t *)arg;
}

static void ask_all(const struct mt_placed *p)
{
	size_t nlines = 0;

	for (uint32_t object = 0; object < 4; object++) {
		for (uint64_t addr = 0; addr < 300; addr++)
			ask(p, object, addr);
		for (unsigned int shift = 0; shift < 64; shift++) {
			ask(p, object, UINT64_C(1) << shift);
			ask(p, object, (UINT64_C(2) << shift) - 1);
		}
		sink += mt_placed_has_lines(p, object);
		mt_placed_each_line(p, object, 0, UINT64_MAX, ask_line, &nlines);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mt_placed *p = mt_placed_open("/nowhere", 0);
	size_t first = size < 2 ? 0 : (data[0] | data[1] << 8) % (size - 1);

	REQUIRE(p && mt_placed_damage(p) == 1);
	if (size >= 2) {
		sink += mt_placed_add(p, data + 2, first);
		sink += mt_placed_add(p, data + 2 + first, size - 2 - first);
	}
	ask_all(p);
	mt_placed_close(p);
	return 0;
}
