/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An unwind table as it may be in a program's memory: nothing outside of it is read, and what comes out is a rule.
 *
 * Input: the offset of .eh_frame_hdr (4 bytes; beyond the segment: there is none), its size (4 bytes), where the code begins, from the segment on (8 bytes), the segment.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/stacks/stacks.h"
#include "tests/fuzz/require.h"

#define HEAD 16
#define PAGE 4096u
#define PLACES 512

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(struct rt_rule rule)
{
	REQUIRE(rule.kind <= RT_RULE_AT_BP && rule.from <= RT_BP_LOST);
	REQUIRE(rule.kind > RT_RULE_OUTERMOST || (!rule.cfa && !rule.bp && !rule.from));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const size_t bytes = size < HEAD ? 0 : size - HEAD, room = (bytes + PAGE - 1) / PAGE * PAGE;
	struct rt_unwind_file f = { .end = UINT64_MAX };
	uint32_t header[2];
	uint64_t code;
	uint8_t *mem;

	if (!bytes || bytes > 1 << 20)
		return 0;
	/* its end is that of what can be read */
	mem = mmap(NULL, room + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(mem != MAP_FAILED && mprotect(mem + room, PAGE, PROT_NONE) == 0);
	memcpy(mem + room - bytes, data + HEAD, bytes);
	memcpy(header, data, sizeof(header));
	memcpy(&code, data + 8, sizeof(code));
	f.tables = (uint64_t)(uintptr_t)(mem + room - bytes);
	f.tables_end = f.tables + bytes;
	f.header = header[0] < bytes ? f.tables + header[0] : 0;
	f.header_end = f.header + (header[1] < f.tables_end - f.header ? header[1] : f.tables_end - f.header);
	for (uint64_t i = 0; i < PLACES; i++)
		check(rt_cfi_rule(&f, f.tables + code + i * (1 + i / 16)));
	munmap(mem, room + PAGE);
	return 0;
}
