// SPDX-License-Identifier: GPL-3.0-or-later
/*
 * The section .sonde.tags of a file that anybody may have made.  What is read lies within it, and what is found for an address
 * is of that address.
 *
 * Input: the section.
 */
#include <stdint.h>
#include <string.h>

#include "tags/read.h"
#include "tests/fuzz/require.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_string(const uint8_t *data, size_t size, const char *s)
{
	size_t at = (size_t)((const uint8_t *)s - data);

	REQUIRE(at < size && memchr(s, '\0', size - at));
}

static void check_tag(const uint8_t *data, size_t size, const struct tag *t)
{
	check_string(data, size, t->function);
	check_string(data, size, t->expr);
	check_string(data, size, t->variable);
	check_string(data, size, t->type);
	check_string(data, size, t->file);
	REQUIRE(t->begin <= t->end && t->fact.kind < TAGS_KINDS && !(t->fact.flags & ~(uint32_t)TAGS_FLAGS));
}

static void check_found(const struct tags *tags, uint64_t addr, uint64_t len)
{
	size_t n;
	const struct tag *t = tags_find(tags, addr, len, &n);

	REQUIRE(!t == !n);
	for (size_t i = 0; i < n; i++)
		REQUIRE(t[i].begin <= addr && t[i].end >= addr && t[i].end - addr >= len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct tags tags;
	enum tags_status status = tags_read(data, size, &tags);

	REQUIRE(status != TAGS_OTHER_VERSION || tags.version != TAGS_VERSION);
	for (size_t i = 0; i < tags.n; i++) {
		const struct tag *t = &tags.v[i];

		check_tag(data, size, t);
		REQUIRE(!i || tags.v[i - 1].begin <= t->begin);
		check_found(&tags, t->begin, t->end - t->begin);
		check_found(&tags, t->begin, 1);
		check_found(&tags, t->end, 3);
		check_found(&tags, t->begin - 1, 2);
	}
	check_found(&tags, 0, 1);
	check_found(&tags, UINT64_MAX, 15);
	tags_free(&tags);
	return 0;
}
